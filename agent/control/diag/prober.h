/*
 * Sends the probes of one command in rounds and hands back what answers them: sockets, matching and
 * time. At the event loop; never blocks. How often may be sent is the budget's affair, which all
 * commands share.
 */
#ifndef HAWSER_AGENT_CONTROL_DIAG_PROBER_H
#define HAWSER_AGENT_CONTROL_DIAG_PROBER_H

#include "agent/control/diag/probe.h"
#include "common/err.h"
#include "common/evloop.h"
#include <stdbool.h>
#include <stdint.h>

/* 100 packets a second over all commands. */
struct diag_budget {
    uint64_t next_ns; /* when the next packet may go */
};
/* Takes a packet's place: 0, or how many ns until there is one. */
uint64_t diag_budget_take(struct diag_budget *b, uint64_t now);

struct prober;

struct prober_params {
    struct evloop *loop;
    struct diag_budget *budget;
    struct ipaddr target;
    struct ipaddr source; /* family 0: by the route */
    bool marked;          /* on the underlay: never into hawser0 */
    bool udp;
    uint16_t port;
};

struct prober_handler {
    /* `first`: the first answer to this probe. rtt_ns since it was sent. May start nothing. */
    void (*reply)(void *arg, const struct probe *p, const struct probe_reply *r, uint64_t rtt_ns,
                  bool first);
    /* All of the round are answered, or the patience after the last one is over. May start the
     * next round or free the prober. */
    void (*round_over)(void *arg, const struct err *why); /* why: it could not go on */
};

/* HW_ENOTFOUND: no route. */
int prober_new(const struct prober_params *p, const struct prober_handler *h, void *arg,
               struct prober **out, struct err *e);
void prober_free(struct prober *p);
const struct probe_flow *prober_flow(const struct prober *p);
/* MTU of the way out: the interface's, and where it is smaller the route's own. */
unsigned prober_device_mtu(struct prober *p);
unsigned prober_sent(const struct prober *p);

struct prober_round {
    uint8_t ttl;
    uint16_t size;
    bool dont_fragment;
    unsigned count;
    uint64_t delay_ns; /* before the first */
    uint64_t interval_ns, timeout_ns;
};
/* Replaces a round under way. */
void prober_start(struct prober *p, const struct prober_round *r);
/* Ends the round at the loop's next turn: what was learned suffices. */
void prober_stop(struct prober *p);

#endif
