/*
 * The rule of confirmed apply (DESIGN section 4) as a state machine without clock or sockets:
 * whoever runs it says what happened and when.
 *
 * Any authenticated exchange with the controller after an apply confirms it. If none came within
 * the timeout, the controller had been reachable before, and its addresses now give no answer at
 * all, the new config has cut the path: back. Any answer (a TCP reset, a failed handshake) proves
 * that the path is open and the controller is what fails: the config stays, unconfirmed, until the
 * controller is back.
 */
#ifndef HAWSER_AGENT_CONTROL_CONFIRM_H
#define HAWSER_AGENT_CONTROL_CONFIRM_H

#include <stdbool.h>
#include <stdint.h>

enum confirm_action { CONFIRM_NOTHING, CONFIRM_DO, CONFIRM_ROLL_BACK };

struct confirm {
    bool waiting;
    bool reachable_before;
    bool path_proven; /* an answer of any kind came after the apply */
    bool silent;      /* an attempt begun after the apply got no answer, and none since got one */
    uint64_t applied_ns, timeout_ns;
};

/* A candidate came into force. */
void confirm_applied(struct confirm *c, uint64_t now_ns, uint64_t timeout_ns,
                     bool reachable_before);
/* Another config is in force, or this one is settled otherwise. */
void confirm_cancel(struct confirm *c);

/* An authenticated exchange has ended; `started_ns`: when its request left. */
enum confirm_action confirm_exchange(struct confirm *c, uint64_t started_ns);
/* An attempt ended without one; `answered`: some sign of life came from the address. */
void confirm_failure(struct confirm *c, uint64_t started_ns, bool answered);
/* Time passed. */
enum confirm_action confirm_tick(struct confirm *c, uint64_t now_ns);
/* When confirm_tick is worth calling next; 0: not at all. */
uint64_t confirm_deadline(const struct confirm *c);

#endif
