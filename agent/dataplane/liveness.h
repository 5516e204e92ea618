/*
 * When a tunnel is probed and what the answers make of it (DESIGN section 7). Pure: time is passed
 * in, packets are sent and matched by the caller.
 *
 *   NO_SA    → PROBING   an outbound SA came into use: probed at once, then every 100 ms
 *   PROBING  → UP        first answer
 *   UP       → DOWN      `missed` probes in a row lost
 *   DOWN     → UP        an answer; probed every interval meanwhile
 *   any      → NO_SA     the SA is gone, the link is disabled, or the peer has a new boot id
 */
#ifndef HAWSER_DATAPLANE_LIVENESS_H
#define HAWSER_DATAPLANE_LIVENESS_H

#include "common/dp_proto.h"
#include <stdbool.h>
#include <stdint.h>

#define LIVENESS_FIRST_NS (100u * 1000000ull) /* between probes until the first answer */
#define LIVENESS_PROBES   64u                 /* outstanding probes that can still be matched */
#define LIVENESS_NEVER    UINT64_MAX

struct liveness_probe {
    uint64_t sent_ns; /* 0: answered or never sent */
    uint32_t seq;
    bool lost; /* counted as lost; a late answer still proves the path */
};

/* All fields: the tunnel's worker. */
struct liveness {
    uint8_t state;  /* enum dp_tunnel_state */
    uint8_t reason; /* enum dp_tunnel_reason */
    uint8_t missed;
    uint32_t lost_row; /* lost since the last answer */
    uint32_t next_seq, oldest_seq;
    uint64_t interval_ns;
    uint64_t rtt_ns;   /* of the last answer */
    uint64_t since_ns; /* of the last change of state */
    uint64_t next_ns;  /* when liveness_tick wants to be called; LIVENESS_NEVER: not */
    struct liveness_probe probe[LIVENESS_PROBES];
};

void liveness_init(struct liveness *l, uint64_t now_ns);
/* Changes the settings without touching the state. */
void liveness_settings(struct liveness *l, uint32_t interval_ms, unsigned missed);

/* An outbound SA is in use. Nothing changes when there was one already (a rekey). */
void liveness_start(struct liveness *l, uint64_t now_ns);
/* Back to NO_SA for a reason. */
void liveness_stop(struct liveness *l, enum dp_tunnel_reason reason, uint64_t now_ns);

/* At or after next_ns: judges old probes (*lost: newly lost ones) and may change the state. True:
 * the caller sends a probe with liveness_sent's number now. */
bool liveness_tick(struct liveness *l, uint64_t now_ns, uint32_t *lost);
/* A probe leaves now: its sequence number. */
uint32_t liveness_sent(struct liveness *l, uint64_t now_ns);
/* An authenticated answer to probe `seq` came inside ESP. False: it fits no outstanding probe. */
bool liveness_answered(struct liveness *l, uint32_t seq, uint64_t now_ns, uint64_t *rtt_ns);

#endif
