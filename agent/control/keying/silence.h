/*
 * Keys that stand although nobody answers: a link sends by its newest epoch, but no tunnel's probe
 * has come back for longer than it can take. Then the two ends may not hold the same keys, and only
 * new ones help. Pure: time and chance are passed in.
 */
#ifndef HAWSER_AGENT_CONTROL_KEYING_SILENCE_H
#define HAWSER_AGENT_CONTROL_KEYING_SILENCE_H

#include "common/dp_proto.h"
#include <stdbool.h>
#include <stdint.h>

#define SILENCE_NEVER        UINT64_MAX
#define SILENCE_ALARM_EPOCHS 3u /* epochs in a row by which nothing was answered */
#define SILENCE_DETECTIONS   3u /* times the tunnels' own detection time … */
/* … but at least this long */
#define SILENCE_PATIENCE_MIN_NS (5 * 1000000000ull)

struct silence {
    bool up[HW_TUNNELS_PER_LINK_MAX];
    unsigned n_up;
    bool unanswered;   /* no tunnel was up at any time since the newest epoch is in use */
    uint64_t since_ns; /* no tunnel is up since then, or the newest epoch is in use since then */
    uint64_t extra_ns; /* waited beyond the patience: epochs alone did not help so far */
    unsigned epochs;   /* in a row that ended in silence */
};

/* Nothing is known to be up, and no epoch is to blame for it. */
void silence_init(struct silence *s, uint64_t now);
/* A tunnel's state as the dataplane tells it. True: the link has just ended its silence. */
bool silence_tunnel(struct silence *s, unsigned tunnel, enum dp_tunnel_state state, uint64_t now);
/* A new epoch of that many tunnels is in use. After 1, 2, 3 … silent ones in a row it is given 1,
 * 2, 4 … 60 s more. */
void silence_switched(struct silence *s, unsigned tunnels, uint64_t now, uint32_t random);

/* How long a silence of such tunnels may last. */
uint64_t silence_patience_ns(uint32_t interval_ms, unsigned missed);
/* When it has lasted so long, and what was added; SILENCE_NEVER: some tunnel is up. */
uint64_t silence_due_ns(const struct silence *s, uint64_t patience_ns);
/* It has lasted so long, whatever was added. */
bool silence_lasts(const struct silence *s, uint64_t patience_ns, uint64_t now);
bool silence_alarm(const struct silence *s);

#endif
