/*
 * The resilient buckets of a next-hop set (DESIGN section 8): which gateway owns each of the 4096
 * hash buckets.
 *
 * Weighted rendezvous hashing: a bucket goes to the member with the best score, and a member's
 * score depends on nothing but its gateway id, its weight and the bucket. So there is no history to
 * keep, every gateway of a site computes the same owner, and a member that goes gives away only its
 * own buckets and gets exactly these back when it returns. Shares follow the weights within the
 * spread of a random draw (about ± 3 % for two equal members).
 */
#ifndef HAWSER_CONTROLLER_PLANNER_BUCKETS_H
#define HAWSER_CONTROLLER_PLANNER_BUCKETS_H

#include "common/id.h"
#include "common/limits.h"
#include <stddef.h>
#include <stdint.h>

struct bucket_member {
    struct hw_id gateway;
    struct hw_id link; /* decides between several links to the same gateway */
    unsigned weight;   /* 1–1000 */
};

/* n from 1 to HW_FIB_SET_MEMBERS_MAX; out[i] is an index into members. The order of members changes
 * the indexes alone. */
void buckets_fill(const struct bucket_member *members, size_t n, uint8_t out[HW_BUCKETS]);

#endif
