#include "controller/planner/buckets.h"
#include "common/bytes.h"
#include <stdbool.h>

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

/* -log2(h / 2^64) with 32 fractional bits, by squaring the mantissa: integers alone, so that every
 * build gives the same table. */
static uint64_t minus_log2(uint64_t h)
{
    unsigned top = 63u - (unsigned)__builtin_clzll(h);
    uint64_t mantissa = h << (63 - top); /* 1.63 */
    uint64_t fraction = 0;
    for (int i = 0; i < 32; i++) {
        unsigned __int128 square = (unsigned __int128)mantissa * mantissa; /* 2.126 */
        bool carry = (bool)(square >> 127);
        mantissa = (uint64_t)(carry ? square >> 64 : square >> 63);
        fraction = fraction << 1 | carry;
    }
    return ((uint64_t)(64 - top) << 32) - fraction;
}

/*
 * A member of weight w has the score -log(u) / w with u drawn uniformly: the smallest wins with a
 * probability proportional to w. Compared crosswise, so that nothing is divided: 2^38 × 1000 fits.
 */
static bool better(const struct bucket_member *a, uint64_t ha, const struct bucket_member *b,
                   uint64_t hb, unsigned bucket)
{
    if (a->weight != b->weight) {
        uint64_t la = minus_log2(ha) * b->weight, lb = minus_log2(hb) * a->weight;
        if (la != lb)
            return la < lb;
    }
    if (ha != hb)
        return ha > hb;
    int c = id_cmp(&a->gateway, &b->gateway);
    if (c != 0)
        return c < 0;
    uint64_t ta = draw(&a->link, bucket), tb = draw(&b->link, bucket);
    return ta != tb ? ta > tb : id_cmp(&a->link, &b->link) < 0;
}

void buckets_fill(const struct bucket_member *members, size_t n, uint8_t out[HW_BUCKETS])
{
    for (unsigned bucket = 0; bucket < HW_BUCKETS; bucket++) {
        size_t best = 0;
        uint64_t best_draw = draw(&members[0].gateway, bucket);
        for (size_t i = 1; i < n; i++) {
            uint64_t h = draw(&members[i].gateway, bucket);
            if (better(&members[i], h, &members[best], best_draw, bucket)) {
                best = i;
                best_draw = h;
            }
        }
        out[bucket] = (uint8_t)best;
    }
}
