/*
 * What the dataplane holds of one link, as this end has installed or adopted it: up to SA_SET_MAX
 * epochs, one of them active (sent by). Pure bookkeeping; the caller carries out what sa_set_due()
 * and the others name.
 */
#ifndef HAWSER_AGENT_CONTROL_KEYING_SA_SET_H
#define HAWSER_AGENT_CONTROL_KEYING_SA_SET_H

#include "common/dp_proto.h"
#include <stdbool.h>
#include <stdint.h>

#define SA_SET_MAX     8 /* more than three inbound never stand; a dump may show leftovers */
#define SA_INBOUND_MAX 3
#define SA_NO_END      UINT64_MAX

struct sa_epoch {
    uint64_t epoch;
    bool active;      /* every tunnel sends by it */
    bool confirmed;   /* the peer is known to send by it as well */
    unsigned in, out; /* SAs there are of each direction */
    uint8_t suite;
    bool esn;
    struct hw_id peer_boot;
    struct dp_peer_cert peer_cert; /* by which the keys came */
    uint64_t installed_ns;
    uint64_t in_ends_ns; /* retire the inbound SAs then; SA_NO_END: not planned */
    uint32_t spi_in[HW_TUNNELS_PER_LINK_MAX]; /* 0: none of this tunnel (any more) */
};

struct sa_set {
    struct sa_epoch e[SA_SET_MAX]; /* in rising order of epoch */
    unsigned n;
    uint64_t highest;     /* ever installed, also when gone again: epochs only rise */
    uint64_t switched_ns; /* when the active one became it */
};

/* NULL when absent. */
struct sa_epoch *sa_set_find(struct sa_set *s, uint64_t epoch);
const struct sa_epoch *sa_set_active(const struct sa_set *s);

/* A new epoch, above all others: its SAs are about to be installed. NULL when there is no room
 * (sa_set_surplus). */
struct sa_epoch *sa_set_add(struct sa_set *s, uint64_t epoch, uint64_t now);
void sa_set_remove(struct sa_set *s, uint64_t epoch);
void sa_set_clear(struct sa_set *s);

/* The inbound epoch that has to go so that one more can come, or NULL while there is room. Never
 * the active one. */
struct sa_epoch *sa_set_surplus(struct sa_set *s);

/* Every tunnel sends by `epoch` from now on: inbound SAs of older ones get their end. */
void sa_set_switch(struct sa_set *s, uint64_t epoch, uint64_t now);
/* The peer no longer sends by `epoch` and older ones: their inbound SAs end soon. Epochs that
 * nothing newer has followed are left alone. */
void sa_set_peer_deleted(struct sa_set *s, uint64_t epoch, uint64_t now);
/* The inbound SAs of an older epoch whose time is over; NULL when there is none yet. */
struct sa_epoch *sa_set_due(struct sa_set *s, uint64_t now);
/* When sa_set_due() next answers; SA_NO_END: never. */
uint64_t sa_set_next_ns(const struct sa_set *s);

/* The newest epoch installed both ways but not sent by yet; NULL when there is none. */
struct sa_epoch *sa_set_pending(struct sa_set *s);

/* Takes the SAs that a dump shows of this link, replacing what was known; `highest` only rises. An
 * outbound epoch of which some tunnels send already counts as pending. */
void sa_set_adopt(struct sa_set *s, const struct hw_id *link, const struct dp_dump_sa *sas,
                  size_t n_sas, uint64_t now);

#endif
