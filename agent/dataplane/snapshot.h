/*
 * Publish and retire: the control thread replaces an object that workers read without locks. A
 * worker holds the object between snapshot_enter and snapshot_leave, once per turn of its loop; the
 * leave is its quiescent point, and a sleeping worker has left. Swap, wait and free stand together
 * in snapshot_replace.
 */
#ifndef HAWSER_DATAPLANE_SNAPSHOT_H
#define HAWSER_DATAPLANE_SNAPSHOT_H

#include "common/err.h"
#include "common/limits.h"
#include <stdatomic.h>
#include <stdint.h>

struct snapshot_reader {
    _Alignas(64) _Atomic uint64_t
        holds; /* version entered under, 0 while outside; written by its worker */
};

struct snapshot_cell {
    _Atomic(void *) current;  /* written by the control thread */
    _Atomic uint64_t version; /* number of replacements, from 1; written by the control thread */
    unsigned readers;
    struct snapshot_reader reader[HW_WORKERS_MAX];
};

void snapshot_init(struct snapshot_cell *c, unsigned readers, void *first);

/* Worker `reader`: the current object, valid until its snapshot_leave. */
const void *snapshot_enter(struct snapshot_cell *c, unsigned reader);
void snapshot_leave(struct snapshot_cell *c, unsigned reader);

/* Control thread: the current object. */
void *snapshot_current(struct snapshot_cell *c);

/* Control thread: publishes `next`, waits until no worker can hold the old one, and frees it with
 * `free_fn`. HW_ETIMEOUT when a worker did not leave within timeout_ns: `next` is in force, and the
 * old object is given up rather than freed under a reader. */
int snapshot_replace(struct snapshot_cell *c, void *next, void (*free_fn)(void *),
                     uint64_t timeout_ns, struct err *e);

#endif
