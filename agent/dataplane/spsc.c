#include "agent/dataplane/spsc.h"

#include <stdlib.h>
#include <string.h>

int spsc_init(struct spsc *r, uint32_t slots, size_t slot_size, struct err *e)
{
    if (slots == 0 || (slots & (slots - 1)) != 0)
        return err_set(e, HW_EINVAL, "ring of %u slots: not a power of two", slots);
    size_t rounded = (slot_size + 63) & ~(size_t)63;
    uint8_t *mem = aligned_alloc(64, rounded * slots);
    if (mem == NULL)
        return err_set(e, HW_ENOMEM, "ring of %u slots: out of memory", slots);
    memset(mem, 0, rounded * slots);
    *r = (struct spsc){.mask = slots - 1, .slot_size = rounded, .slots = mem};
    return 0;
}

void spsc_done(struct spsc *r)
{
    free(r->slots);
    r->slots = NULL;
}

void *spsc_slot(struct spsc *r, uint32_t i)
{
    return r->slots + (size_t)(i & r->mask) * r->slot_size;
}

void *spsc_reserve(struct spsc *r)
{
    uint32_t tail = atomic_load_explicit(&r->tail, memory_order_relaxed);
    if (tail - r->head_seen > r->mask) {
        /* Pairs with the release in spsc_release: what the consumer did with the slot is over. */
        r->head_seen = atomic_load_explicit(&r->head, memory_order_acquire);
        if (tail - r->head_seen > r->mask)
            return NULL;
    }
    return spsc_slot(r, tail);
}

void spsc_commit(struct spsc *r)
{
    uint32_t tail = atomic_load_explicit(&r->tail, memory_order_relaxed);
    /* Pairs with the acquire in spsc_peek: the slot's contents come before its number. */
    atomic_store_explicit(&r->tail, tail + 1, memory_order_release);
}

bool spsc_drained(const struct spsc *r)
{
    return atomic_load_explicit(&r->head, memory_order_acquire) ==
           atomic_load_explicit(&r->tail, memory_order_relaxed);
}

void *spsc_peek(struct spsc *r)
{
    uint32_t head = atomic_load_explicit(&r->head, memory_order_relaxed);
    if (head == r->tail_seen) {
        r->tail_seen = atomic_load_explicit(&r->tail, memory_order_acquire);
        if (head == r->tail_seen)
            return NULL;
    }
    return spsc_slot(r, head);
}

void spsc_release(struct spsc *r)
{
    uint32_t head = atomic_load_explicit(&r->head, memory_order_relaxed);
    atomic_store_explicit(&r->head, head + 1, memory_order_release);
}
