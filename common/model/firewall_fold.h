/*
 * A ruleset in the form that a lookup needs: boxes of addresses, protocol and ports in a few
 * layers, so that a packet is judged by one lookup a layer however many rules there are.
 *
 * Boxes of one layer and space never overlap. The lowest layer that has the packet decides, which
 * is the rule that comes first of all that fit. A later rule loses what earlier ones take from it:
 * what is wholly covered is dropped, what loses little is split, and what would fall to pieces goes
 * whole to a layer below those that it overlaps.
 *
 * The agent loads the result into the kernel; the controller asks it which rules no packet can
 * meet and whether a ruleset is too large.
 */
#ifndef HAWSER_COMMON_MODEL_FIREWALL_FOLD_H
#define HAWSER_COMMON_MODEL_FIREWALL_FOLD_H

#include "common/model/firewall.h"

#define FOLD_BOXES_MAX 20000 /* of all spaces together */
/* What it may cost, since a combination that earlier rules cover takes time and leaves no box:
 * combinations looked at, and comparisons of boxes (about a second). */
#define FOLD_TRIES_MAX    (4 * FOLD_BOXES_MAX)
#define FOLD_COMPARED_MAX 300000000u
#define FOLD_LAYERS_MAX   16
#define FOLD_HULL         64

__extension__ typedef unsigned __int128 fold_value;

enum fold_dimension {
    FOLD_SOURCE,
    FOLD_DESTINATION,
    FOLD_PROTOCOL,
    FOLD_SOURCE_PORT, /* it and the next: 0 where the space has no ports */
    FOLD_DESTINATION_PORT,
    FOLD_DIMENSIONS
};

struct fold_box {
    fold_value low[FOLD_DIMENSIONS], high[FOLD_DIMENSIONS]; /* both belong to it */
    uint32_t rule;                                          /* index into the ruleset's rules */
    unsigned layer;
};

/* Packets of one family, with ports (TCP and UDP) or without. */
struct fold_space {
    unsigned family; /* 4 or 6 */
    bool ports;
    bool source_ports; /* some rule asks for them */
    unsigned layers;   /* boxes have less than this */
    struct fold_box *boxes;
    size_t n_boxes, room;
    struct fold_box *hulls; /* one around each FOLD_HULL boxes; folding alone uses them */
};

enum fold_fate {
    FOLD_MET,     /* some packet meets the rule */
    FOLD_EMPTY,   /* its own parts exclude each other: addresses of different families */
    FOLD_COVERED, /* earlier rules take all of it */
};

struct fold_rule {
    enum fold_fate fate;
    uint32_t by; /* the last of the rules that cover it */
};

#define FOLD_SPACES 4

struct firewall_fold {
    struct fold_space spaces[FOLD_SPACES];
    struct fold_rule *rules;
    size_t n_rules;
    size_t tried; /* of FOLD_TRIES_MAX */
    uint64_t compared;
};

/* HW_ETOOBIG, naming the rule: more boxes, layers or work than the limits above. */
int firewall_fold(const struct firewall *f, struct firewall_fold *out, struct err *e);
void firewall_fold_done(struct firewall_fold *fold);

/* As a number that compares as addresses of one family do. */
fold_value fold_address(const struct ipaddr *a);

#endif
