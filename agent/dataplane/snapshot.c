#include "agent/dataplane/snapshot.h"

#include "common/clock.h"
#include <sched.h>

void snapshot_init(struct snapshot_cell *c, unsigned readers, void *first)
{
    c->readers = readers;
    atomic_init(&c->current, first);
    atomic_init(&c->version, 1);
    for (unsigned i = 0; i < HW_WORKERS_MAX; i++)
        atomic_init(&c->reader[i].holds, 0);
}

/*
 * Sequentially consistent on purpose: the reader announces itself and then loads the pointer, the
 * publisher swaps the pointer and then looks at the announcements. With anything weaker both could
 * read the old value (the pattern of Dekker's algorithm). It costs one locked instruction a turn,
 * not a packet.
 */
const void *snapshot_enter(struct snapshot_cell *c, unsigned reader)
{
    uint64_t v = atomic_load_explicit(&c->version, memory_order_acquire);
    atomic_exchange_explicit(&c->reader[reader].holds, v, memory_order_seq_cst);
    return atomic_load_explicit(&c->current, memory_order_seq_cst);
}

/* Release: every read of the object is over before the publisher sees 0 (its load acquires). */
void snapshot_leave(struct snapshot_cell *c, unsigned reader)
{
    atomic_store_explicit(&c->reader[reader].holds, 0, memory_order_release);
}

void *snapshot_current(struct snapshot_cell *c)
{
    return atomic_load_explicit(&c->current, memory_order_relaxed);
}

/* A reader that announced version v or later loaded the pointer after the swap that made v. */
static int has_let_go(struct snapshot_cell *c, unsigned reader, uint64_t v)
{
    uint64_t holds = atomic_load_explicit(&c->reader[reader].holds, memory_order_seq_cst);
    return holds == 0 || holds >= v;
}

int snapshot_replace(struct snapshot_cell *c, void *next, void (*free_fn)(void *),
                     uint64_t timeout_ns, struct err *e)
{
    void *old = atomic_exchange_explicit(&c->current, next, memory_order_seq_cst);
    uint64_t v = atomic_fetch_add_explicit(&c->version, 1, memory_order_seq_cst) + 1;
    uint64_t deadline = clock_mono_ns() + timeout_ns;
    for (unsigned i = 0; i < c->readers; i++) {
        while (!has_let_go(c, i, v)) {
            if (clock_mono_ns() > deadline)
                return err_set(e, HW_ETIMEOUT, "worker %u holds the old tables", i);
            sched_yield();
        }
    }
    if (old != NULL)
        free_fn(old);
    return 0;
}
