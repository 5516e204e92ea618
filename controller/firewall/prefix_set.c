#include "controller/firewall/prefix_set.h"
#include <stdlib.h>

static int by_prefix(const void *a, const void *b)
{
    return prefix_cmp(a, b);
}

/* The prefix that is one bit wider. */
static struct prefix wider(const struct prefix *p)
{
    struct prefix w = *p;
    w.len--;
    w.addr.b[w.len / 8] &= (uint8_t) ~(0x80u >> w.len % 8);
    return w;
}

/* Of two prefixes in order: the upper half beside its lower half. */
static bool halves(const struct prefix *low, const struct prefix *high)
{
    if (low->addr.family != high->addr.family || low->len != high->len || low->len == 0)
        return false;
    struct prefix a = wider(low), b = wider(high);
    return prefix_equal(&a, &b);
}

size_t prefix_set_join(struct prefix *p, size_t n)
{
    size_t used = 0;
    if (n)
        qsort(p, n, sizeof *p, by_prefix);
    for (size_t i = 0; i < n; i++) {
        if (used && prefix_covers(&p[used - 1], &p[i]))
            continue;
        p[used++] = p[i];
        while (used > 1 && halves(&p[used - 2], &p[used - 1])) {
            p[used - 2] = wider(&p[used - 2]);
            used--;
        }
    }
    return used;
}
