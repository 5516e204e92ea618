#include "controller/sizes/figure.h"
#include <string.h>

static bool compares(const struct store_figure *f)
{
    return strcmp(f->metric, "throughput") == 0 && f->throughput_bps > 0 && f->mtu &&
           f->encryption[0] && strcmp(f->encryption, "none") != 0;
}

static unsigned role_rank(const char *role)
{
    static const char *const order[] = {"encrypted transit", "transit", "spoke"};
    unsigned i = 0;
    while (i < sizeof order / sizeof *order && strcmp(role, order[i]) != 0)
        i++;
    return i;
}

static int order(bool a, bool b)
{
    return a == b ? 0 : a ? -1 : 1;
}

static int by_mtu(const struct store_figure *a, const struct store_figure *b, unsigned mtu)
{
    bool fits = a->mtu <= mtu;
    if (fits != (b->mtu <= mtu))
        return fits ? -1 : 1;
    if (a->mtu == b->mtu)
        return 0;
    return (a->mtu > b->mtu) == fits ? -1 : 1;
}

/* Negative: a stands for the size rather than b. The last rule is caution: the smaller figure. */
static int prefer(const struct store_figure *a, const struct store_figure *b, unsigned mtu)
{
    int c = by_mtu(a, b, mtu);
    if (!c)
        c = order(!a->published, !b->published);
    if (!c)
        c = order(!strstr(a->note, "HA pair"), !strstr(b->note, "HA pair"));
    if (!c)
        c = (int)role_rank(a->role) - (int)role_rank(b->role);
    if (!c)
        c = order(a->tcp_streams > b->tcp_streams, b->tcp_streams > a->tcp_streams);
    return c ? c : order(a->throughput_bps < b->throughput_bps, false);
}

const struct store_figure *figure_choose(const struct store_figure *figures, size_t n, unsigned mtu,
                                         bool published_alone)
{
    const struct store_figure *best = NULL;
    for (size_t i = 0; i < n; i++) {
        const struct store_figure *f = &figures[i];
        if (!compares(f) || (published_alone && !f->published))
            continue;
        if (!best || prefer(f, best, mtu) < 0)
            best = f;
    }
    return best;
}
