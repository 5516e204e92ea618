/*
 * One SA in the form the hot path uses (cold form: struct dp_sa_install, whose entry is wiped after
 * sa_new()). Made and freed by the control thread; between hand-over and return its one worker
 * alone touches it, so sequence numbers and counters are plain integers.
 */
#ifndef HAWSER_DATAPLANE_SA_H
#define HAWSER_DATAPLANE_SA_H

#include "agent/dataplane/aead.h"
#include "agent/dataplane/replay.h"
#include "common/dp_proto.h"
#include <stdbool.h>
#include <stdint.h>

enum sa_event {
    SA_EVENT_FIRST = 1, /* inbound: first authenticated packet */
    SA_EVENT_SOFT = 2,  /* soft limit of bytes or packets passed */
    SA_EVENT_HARD = 4,  /* hard limit reached: nothing more is sealed or opened */
};

struct sa {
    /* set by sa_new(), read-only from then on */
    struct aead_key *key;
    const struct aead_provider *aead;
    uint32_t spi;
    uint8_t salt[ESP_SALT_LEN];
    uint8_t esn;
    uint8_t direction;                                           /* enum dp_direction */
    uint8_t suite;                                               /* enum esp_suite_id */
    uint16_t tunnel;                                             /* number within its link */
    uint64_t soft_bytes, hard_bytes, soft_packets, hard_packets; /* UINT64_MAX: none */
    uint64_t installed_ns,
        expires_ns; /* CLOCK_MONOTONIC; expires: UINT64_MAX is never, judged by the engine */
    uint64_t epoch;
    struct hw_id link, peer_boot;
    struct dp_peer_cert peer_cert; /* the agent's */

    /* set by the engine before hand-over */
    void *owner; /* its tunnel */

    /* its worker, one cache line apart from the above */
    uint64_t seq __attribute__((aligned(64))); /* outbound: last number sent */
    uint64_t bytes, packets; /* inner bytes and packets sealed, or opened and accepted */
    uint64_t auth_failures, replays;
    uint8_t seen;         /* events that were ever raised */
    uint8_t events;       /* enum sa_event bits not yet taken; see sa_take_events() */
    struct replay replay; /* inbound */
};

/* Entry i of an installation. The key is expanded here and kept nowhere else. */
int sa_new(const struct aead_provider *aead, const struct dp_sa_install *m, unsigned i,
           uint64_t now_ns, struct sa **out, struct err *e);
/* Wipes. NULL is accepted. */
void sa_free(struct sa *sa);

/* Counts one packet against the limits. For esp_out.c and esp_in.c. */
static inline void sa_count(struct sa *sa, size_t bytes)
{
    sa->bytes += bytes;
    sa->packets++;
    if (__builtin_expect(sa->bytes < sa->soft_bytes && sa->packets < sa->soft_packets, 1))
        return;
    uint8_t ev = SA_EVENT_SOFT;
    if (sa->bytes >= sa->hard_bytes || sa->packets >= sa->hard_packets)
        ev |= SA_EVENT_HARD;
    sa->events |= (uint8_t)(ev & ~sa->seen);
    sa->seen |= ev;
}
static inline bool sa_exhausted(const struct sa *sa)
{
    return (sa->seen & SA_EVENT_HARD) != 0;
}
/* Events since the last call; each is reported once in the SA's life. After each batch. */
static inline uint8_t sa_take_events(struct sa *sa)
{
    uint8_t ev = sa->events;
    sa->events = 0;
    return ev;
}

#endif
