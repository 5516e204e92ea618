/*
 * Ring between exactly one producing and one consuming thread, of fixed-size slots that are filled
 * and read in place. A full ring is the producer's to count as a drop: nobody waits.
 *
 * The only atomics are head and tail; their acquire and release pairs are named in spsc.c.
 */
#ifndef HAWSER_DATAPLANE_SPSC_H
#define HAWSER_DATAPLANE_SPSC_H

#include "common/err.h"
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct spsc {
    /* fixed after spsc_init */
    uint32_t mask;
    size_t slot_size;
    uint8_t *slots;
    /* consumer's line */
    _Alignas(64) _Atomic uint32_t head;
    uint32_t tail_seen; /* consumer's last reading of tail */
    /* producer's line */
    _Alignas(64) _Atomic uint32_t tail;
    uint32_t head_seen; /* producer's last reading of head */
};

/* `slots` is a power of two; slots start zeroed. */
int spsc_init(struct spsc *r, uint32_t slots, size_t slot_size, struct err *e);
void spsc_done(struct spsc *r);

/* Slot by number, for setting up or tearing down what slots own; no other thread may use the ring
 * then. */
void *spsc_slot(struct spsc *r, uint32_t i);

/* Producer: the next free slot, or NULL when the ring is full. Seen by the consumer only after
 * commit. */
void *spsc_reserve(struct spsc *r);
void spsc_commit(struct spsc *r);

/* Producer: true when everything committed was released; what the consumer did is then visible
 * here. */
bool spsc_drained(const struct spsc *r);

/* Consumer: the oldest committed slot, or NULL. It stays the consumer's until release. */
void *spsc_peek(struct spsc *r);
void spsc_release(struct spsc *r);

#endif
