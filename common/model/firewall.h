/*
 * A gateway's ruleset: the section "firewall" of its config and of its report (docs/protocols.md).
 * Both are absent where there is no ruleset, so that such a config is understood by agents that
 * know of none, and one with rules is refused by them.
 */
#ifndef HAWSER_COMMON_MODEL_FIREWALL_H
#define HAWSER_COMMON_MODEL_FIREWALL_H

#include "common/err.h"
#include "common/id.h"
#include "common/ipaddr.h"
#include "common/limits.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FIREWALL_RULES_MAX          5000
#define FIREWALL_SIDE_PREFIXES_MAX  64
#define FIREWALL_SIDE_GROUPS_MAX    16
#define FIREWALL_GROUPS_MAX         1024 /* of one ruleset */
#define FIREWALL_GROUP_PREFIXES_MAX 1000
#define FIREWALL_PORTS_MAX          32
#define FIREWALL_REPORT_RULES_MAX   1000

#define FIREWALL_ANY_PROTOCOL (-1)
#define FIREWALL_ICMP         1 /* stands for ICMPv6 in IPv6 */
#define FIREWALL_TCP          6
#define FIREWALL_UDP          17

struct firewall_ports {
    uint16_t first, last;
};

/* Any of its prefixes, its groups' included, of the packet's family; empty: any address. */
struct firewall_side {
    struct prefix *prefixes;
    size_t n_prefixes;
    uint32_t *groups; /* indexes into groups[] */
    size_t n_groups;
};

struct firewall_rule {
    struct hw_id id;
    bool allow;
    bool log;
    int protocol; /* 0–255 or FIREWALL_ANY_PROTOCOL */
    struct firewall_side source, destination;
    /* None: any. With TCP and UDP alone. */
    struct firewall_ports source_ports[FIREWALL_PORTS_MAX];
    struct firewall_ports destination_ports[FIREWALL_PORTS_MAX];
    size_t n_source_ports, n_destination_ports;
};

struct firewall_group {
    struct hw_id id;
    struct prefix *prefixes;
    size_t n_prefixes;
};

struct firewall {
    bool present; /* false: no ruleset, everything below is zero */
    struct hw_id ruleset_id;
    bool base_allow;
    bool log_base;
    struct firewall_group *groups;
    size_t n_groups;
    struct firewall_rule *rules; /* the first that fits decides */
    size_t n_rules;
};

struct firewall_count {
    uint64_t packets, bytes;
};

struct firewall_rule_count {
    struct hw_id rule_id;
    struct firewall_count count;
};

/* How a ruleset stands on a gateway. Counters rise from when the agent made the rule's first. */
struct firewall_report {
    bool present;
    struct hw_id ruleset_id;
    bool applied;
    char error[HW_TEXT_MAX + 1]; /* "" = null */
    struct firewall_count base, established, invalid;
    struct firewall_rule_count *rules; /* those that changed */
    size_t n_rules;
};

struct json_writer;
struct json_at;

/* Member "firewall" of an open object; nothing when it isn't present. */
void firewall_put(struct json_writer *w, const struct firewall *f);
/* Reads it from `top`; absent and null are none. *f is zero before; firewall_done frees it, also
 * after a failure. */
int firewall_get(const struct json_at *top, struct firewall *f, struct err *e);
void firewall_done(struct firewall *f);
/* *out owns all of it. */
int firewall_copy(const struct firewall *f, struct firewall *out, struct err *e);

void firewall_report_put(struct json_writer *w, const struct firewall_report *r);
int firewall_report_get(const struct json_at *top, struct firewall_report *r, struct err *e);
void firewall_report_done(struct firewall_report *r);

#endif
