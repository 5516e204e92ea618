/*
 * The routing snapshot: built by the control thread from a validated dp_fib image, immutable
 * afterwards, read by all workers, freed by the control thread when no worker holds it
 * (snapshot.h). No allocation at lookup.
 *
 * Links are named by the engine's link slots, so that nothing is translated per packet: the builder
 * asks once for each link id. The engine keeps the image and builds anew when its set of links
 * changes.
 */
#ifndef HAWSER_DATAPLANE_FIB_H
#define HAWSER_DATAPLANE_FIB_H

#include "agent/dataplane/inner.h"
#include "common/dp_proto.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FIB_NO_SLOT (-1)

struct fib_source {
    uint16_t domain;
    bool local;            /* may come in by TUN */
    const uint64_t *links; /* bitmap of link slots by which it may come in */
};
struct fib_set {
    uint32_t n;
    uint64_t present; /* bit i: member i's link is there */
    /* link slot of each member, FIB_NO_SLOT when the link isn't there */
    int32_t slot[HW_FIB_SET_MEMBERS_MAX];
    uint8_t bucket[HW_BUCKETS]; /* member of each bucket, by the hash's top 12 bits */
};
struct fib_route {
    uint8_t kind;              /* enum dp_route_kind */
    uint32_t mtu;              /* 0: the tunnel's own */
    const struct fib_set *set; /* kind SET */
};
struct fib;

/* Slot of a link id, 0 to HW_LINKS_MAX − 1, or FIB_NO_SLOT. */
typedef int fib_slot_fn(void *ctx, const struct hw_id *link);

/* Validates the image (dp_fib_validate) and copies what it needs. */
int fib_new(const void *image, size_t len, fib_slot_fn *slot_of, void *ctx, struct fib **out,
            struct err *e);
void fib_free(struct fib *f);
uint64_t fib_generation(const struct fib *f);

/* Longest match on an inner source; NULL: belongs to nobody (DROP_INNER_SOURCE). */
const struct fib_source *fib_source(const struct fib *f, uint8_t family, const uint8_t *src);
static inline bool fib_source_by_link(const struct fib_source *s, uint32_t slot)
{
    return (s->links[slot / 64] >> (slot % 64)) & 1;
}
/* Longest match for (domain, class, destination); NULL: DROP_NO_ROUTE. */
const struct fib_route *fib_route(const struct fib *f, uint16_t domain, uint8_t class_,
                                  uint8_t family, const uint8_t *dst);

/* Member of a set for a flow: its bucket's, or, when that is not in `live` (bit i: member i),
 * another live one, chosen by the hash so that the dead member's flows spread and no other flow
 * moves. −1: none live. */
int fib_set_member(const struct fib_set *s, uint64_t hash, uint64_t live);

#endif
