#include "controller/planner/buckets.h"
#include "common/bytes.h"
#include <stdbool.h>
#include <string.h>

/* Finaliser of splitmix64: every input bit reaches every output bit. */
static uint64_t mix(uint64_t x)
{
    x ^= x >> 30;
    x *= 0xbf58476d1ce4e5b9ull;
    x ^= x >> 27;
    x *= 0x94d049bb133111ebull;
    return x ^ (x >> 31);
}

static uint64_t draw(const struct hw_id *id, unsigned bucket)
{
    uint64_t h = mix(load_be64(id->b) + 0x9e3779b97f4a7c15ull * (bucket + 1ull));
    return mix(h ^ load_be64(id->b + 8)) | 1;
}

/* -log2(h / 2^64) with 16 fractional bits, by squaring the mantissa: integers alone, so that every
 * build gives the same table. Never rises where h does. */
static uint64_t minus_log2(uint64_t h)
{
    unsigned top = 63u - (unsigned)__builtin_clzll(h);
    uint64_t mantissa = h << (63 - top) >> 32; /* 1.31 */
    uint64_t fraction = 0;
    for (int i = 0; i < 16; i++) {
        uint64_t square = mantissa * mantissa; /* 2.62 */
        uint64_t carry = square >> 63;
        mantissa = square >> (31 + carry);
        fraction = fraction << 1 | carry;
    }
    return ((uint64_t)(64 - top) << 16) - fraction;
}

/* One member's claim to one bucket. */
struct claim {
    const struct bucket_member *member;
    uint64_t draw;
    uint64_t log; /* minus_log2(draw), where weights differ */
};

/*
 * A member of weight w has the score -log(u) / w with u drawn uniformly: the smallest wins with a
 * probability proportional to w. Compared crosswise, so that nothing is divided: 2^23 × 1000 fits.
 * With equal weights the larger draw is the smaller score.
 */
static bool better(const struct claim *a, const struct claim *b, unsigned bucket)
{
    if (a->member->weight != b->member->weight) {
        uint64_t la = a->log * b->member->weight, lb = b->log * a->member->weight;
        if (la != lb)
            return la < lb;
    }
    if (a->draw != b->draw)
        return a->draw > b->draw;
    int c = id_cmp(&a->member->gateway, &b->member->gateway);
    if (c != 0)
        return c < 0;
    uint64_t ta = draw(&a->member->link, bucket), tb = draw(&b->member->link, bucket);
    return ta != tb ? ta > tb : id_cmp(&a->member->link, &b->member->link) < 0;
}

void buckets_fill(const struct bucket_member *members, size_t n, uint8_t out[HW_BUCKETS])
{
    bool weighted = false;
    for (size_t i = 1; i < n; i++)
        weighted = weighted || members[i].weight != members[0].weight;
    for (unsigned bucket = 0; n > 1 && bucket < HW_BUCKETS; bucket++) {
        struct claim best = {0};
        for (size_t i = 0; i < n; i++) {
            struct claim c = {.member = &members[i], .draw = draw(&members[i].gateway, bucket)};
            if (weighted)
                c.log = minus_log2(c.draw);
            if (i == 0 || better(&c, &best, bucket))
                best = c;
        }
        out[bucket] = (uint8_t)(best.member - members);
    }
    if (n == 1)
        memset(out, 0, HW_BUCKETS);
}
