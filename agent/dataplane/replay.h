/*
 * Anti-replay window (RFC 4303 section 3.4.3): check() before the ICV is verified, commit() after.
 * One SA, one thread. The window is exact: top − window + 1 … top may still arrive, each once.
 */
#ifndef HAWSER_DATAPLANE_REPLAY_H
#define HAWSER_DATAPLANE_REPLAY_H

#include <stdbool.h>
#include <stdint.h>

#define REPLAY_WINDOW_MIN 64
#define REPLAY_WINDOW_MAX 8192

struct replay {
    uint64_t top;    /* highest authenticated sequence number; 0: none yet */
    uint32_t window; /* power of two */
    bool esn;
    uint64_t bits[REPLAY_WINDOW_MAX / 64]; /* ring: bit seq % window */
};

/* window: a power of two from REPLAY_WINDOW_MIN to REPLAY_WINDOW_MAX. */
void replay_init(struct replay *r, uint32_t window, bool esn);
/* The full sequence number for the low half seen on the wire (RFC 4303 appendix A2.2); without ESN,
 * itself. */
uint64_t replay_infer(const struct replay *r, uint32_t seq_low);
/* May this sequence number still be accepted? Zero never. */
bool replay_check(const struct replay *r, uint64_t seq);
/* Marks it as seen, after replay_check() and a good ICV. */
void replay_commit(struct replay *r, uint64_t seq);

#endif
