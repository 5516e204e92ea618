/* What a rule asks of a packet, as the API says it: {"protocol","source","destination",
 * "source_ports","destination_ports"}. The store keeps the same text. */
#ifndef HAWSER_CONTROLLER_FIREWALL_MATCH_H
#define HAWSER_CONTROLLER_FIREWALL_MATCH_H

#include "common/model/firewall.h"

struct json_at;
struct json_writer;

struct match_side {
    struct prefix prefixes[FIREWALL_SIDE_PREFIXES_MAX]; /* joined */
    size_t n_prefixes;
    struct hw_id groups[FIREWALL_SIDE_GROUPS_MAX]; /* rising */
    size_t n_groups;
};

struct rule_match {
    int protocol; /* 0–255 or FIREWALL_ANY_PROTOCOL */
    struct match_side source, destination;
    struct firewall_ports source_ports[FIREWALL_PORTS_MAX], destination_ports[FIREWALL_PORTS_MAX];
    size_t n_source_ports, n_destination_ports;
};

/* Everything. */
void rule_match_any(struct rule_match *m);
/* The members that `at` has, over what stands in *m. Ports without TCP or UDP are refused. */
int rule_match_read(const struct json_at *at, struct rule_match *m, struct err *e);
/* All five members into an open object. */
void rule_match_put(struct json_writer *w, const struct rule_match *m);
/* The stored text, to free; NULL when out of memory. */
char *rule_match_text(const struct rule_match *m);
int rule_match_parse(const char *text, struct rule_match *m, struct err *e);

#endif
