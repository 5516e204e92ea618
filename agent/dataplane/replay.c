#include "agent/dataplane/replay.h"
#include <assert.h>
#include <string.h>

void replay_init(struct replay *r, uint32_t window, bool esn)
{
    assert(window >= REPLAY_WINDOW_MIN && window <= REPLAY_WINDOW_MAX &&
           (window & (window - 1)) == 0);
    memset(r, 0, sizeof *r);
    r->window = window;
    r->esn = esn;
}

/* RFC 4303 appendix A2.2: the window [top − window + 1, top] lies in one or two subspaces of 2^32;
 * the low half tells which half above it is the nearest. */
uint64_t replay_infer(const struct replay *r, uint32_t seq_low)
{
    if (!r->esn)
        return seq_low;
    uint32_t top_low = (uint32_t)r->top, top_high = (uint32_t)(r->top >> 32);
    uint32_t bottom = top_low - r->window + 1;
    uint32_t high;
    if (top_low >= r->window - 1)
        high = seq_low >= bottom ? top_high : top_high + 1;
    else
        high = seq_low >= bottom ? top_high - 1 : top_high;
    /* Before the first 2^32 packets there is no subspace below: such a number can't exist. */
    if (high == UINT32_MAX && top_high == 0)
        return 0;
    return (uint64_t)high << 32 | seq_low;
}

static bool seen(const struct replay *r, uint64_t seq)
{
    uint64_t bit = seq & (r->window - 1);
    return (r->bits[bit / 64] >> (bit % 64)) & 1;
}

bool replay_check(const struct replay *r, uint64_t seq)
{
    if (seq == 0)
        return false;
    if (seq > r->top)
        return true;
    return r->top - seq < r->window && !seen(r, seq);
}

/* Forgets the numbers that leave the window as top moves from `from` to `to`: their places in the
 * ring are those of the numbers in between. */
static void clear_between(struct replay *r, uint64_t from, uint64_t to)
{
    if (to - from >= r->window) {
        memset(r->bits, 0, r->window / 8);
        return;
    }
    for (uint64_t seq = from + 1; seq <= to;) {
        uint64_t bit = seq & (r->window - 1);
        uint64_t n = 64 - bit % 64;
        if (n > to - seq + 1)
            n = to - seq + 1;
        uint64_t mask = n == 64 ? UINT64_MAX : ((UINT64_C(1) << n) - 1) << (bit % 64);
        r->bits[bit / 64] &= ~mask;
        seq += n;
    }
}

void replay_commit(struct replay *r, uint64_t seq)
{
    if (seq > r->top) {
        clear_between(r, r->top, seq);
        r->top = seq;
    }
    uint64_t bit = seq & (r->window - 1);
    r->bits[bit / 64] |= UINT64_C(1) << (bit % 64);
}
