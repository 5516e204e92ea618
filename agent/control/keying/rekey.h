/* When a link's next epoch is due, and when a failed attempt is repeated. Pure: time and chance are
 * passed in. */
#ifndef HAWSER_AGENT_CONTROL_KEYING_REKEY_H
#define HAWSER_AGENT_CONTROL_KEYING_REKEY_H

#include <stdbool.h>
#include <stdint.h>

#define REKEY_NEVER          UINT64_MAX
#define REKEY_ALARM_FAILURES 3u

struct rekey {
    uint64_t due_ns;   /* the soft limit of time; REKEY_NEVER without keys */
    uint64_t retry_ns; /* nothing is tried before */
    uint64_t tried_ns; /* when the last attempt ended that brought no epoch; 0: none since one */
    unsigned failures; /* in a row */
    uint8_t wanted;    /* enum want_reason: an epoch is wanted whatever the age; 0: no */
    bool suspected;    /* by rekey_suspect() alone */
};

void rekey_init(struct rekey *r);
/* A new epoch is in use, and `soft_ns` from now the next is due. */
void rekey_keyed(struct rekey *r, uint64_t now, uint64_t soft_ns);
/* Keys of a known age were found in the dataplane. */
void rekey_adopted(struct rekey *r, uint64_t now, uint64_t age_ns, uint64_t soft_ns);
/* The first reason stays until an epoch has come. */
void rekey_want(struct rekey *r, uint8_t reason);
/* A reason that may yet turn out to be none; one that is there already, or comes later, goes before
 * it. */
void rekey_suspect(struct rekey *r, uint8_t reason);
/* An attempt failed: the next one 1, 2, 4 … 60 s later, ± 20 %. */
void rekey_failed(struct rekey *r, uint64_t now, uint32_t random);
/* This end's attempt gave way to the peer's: look again a little later, no failure. */
void rekey_yielded(struct rekey *r, uint64_t now, uint32_t random);
/* Nothing is tried before that time either. */
void rekey_not_before(struct rekey *r, uint64_t ns);
/* … nor sooner than `ns` after the last attempt that brought no epoch. */
void rekey_pace(struct rekey *r, uint64_t ns);
/* The suspicion was none; the limit of time stays. False: an epoch is wanted for another reason, or
 * not at all, and nothing changes. */
bool rekey_withdraw(struct rekey *r);
/* The waiting time ends now: something changed that may let the next attempt succeed. */
void rekey_hurry(struct rekey *r);

/* Back-off after that many failures. */
uint64_t rekey_backoff_ns(unsigned failures, uint32_t random);

/* An epoch is wanted (by limit or reason), whether or not it may be tried now. */
bool rekey_needed(const struct rekey *r, uint64_t now);
/* … and may be tried now. */
bool rekey_due(const struct rekey *r, uint64_t now);
/* When rekey_due() may next become true by time alone. */
uint64_t rekey_next_ns(const struct rekey *r);
bool rekey_alarm(const struct rekey *r);

#endif
