#include "controller/sizes/recommend.h"
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool candidate(const struct sized *s, double target_bps, unsigned mtu,
                      struct recommended *out)
{
    const struct store_figure *f = figure_choose(s->figures, s->n_figures, mtu, false);
    double gateways = f ? ceil(target_bps / f->throughput_bps) : 0;
    if (!f || gateways > RECOMMEND_GATEWAYS_MAX)
        return false;
    *out = (struct recommended){.size = s->size, .figure = f};
    out->gateways = gateways < 1 ? 1 : (unsigned)gateways;
    out->expected_bps = out->gateways * f->throughput_bps;
    out->burstable = strstr(s->size->note, "burst") || strstr(f->note, "burst");
    return true;
}

static int by_number(unsigned a, unsigned b)
{
    return (a > b) - (a < b);
}

static int better(const void *x, const void *y)
{
    const struct recommended *a = x, *b = y;
    int c = by_number(a->burstable, b->burstable);
    if (!c)
        c = by_number(a->gateways, b->gateways);
    if (!c)
        c = by_number(a->figure->published, b->figure->published);
    if (!c)
        c = by_number(a->size->vcpus ? a->size->vcpus : UINT_MAX,
                      b->size->vcpus ? b->size->vcpus : UINT_MAX);
    return c ? c : strcmp(a->size->key, b->size->key);
}

static void explain_item(struct recommended *r, double target_bps, unsigned mtu)
{
    char count[16] = "one";
    if (r->gateways > 1)
        (void)snprintf(count, sizeof count, "%u x", r->gateways);
    (void)snprintf(r->reason, sizeof r->reason,
                   "%s %s: %.6g Gbit/s%s at MTU %u%s, %s%s, %.1f times what is asked%s", count,
                   r->size->size, r->figure->throughput_bps / 1e9, r->gateways > 1 ? " each" : "",
                   r->figure->mtu, r->figure->mtu > mtu ? " (larger than asked: expect less)" : "",
                   r->figure->published ? "published by " : "measured here",
                   r->figure->published ? r->figure->source : "", r->expected_bps / target_bps,
                   r->burstable ? "; a burst, not sustained" : "");
}

static void explain(struct recommendation *r, double target_bps, unsigned mtu)
{
    size_t measured = 0;
    for (size_t i = 0; i < r->n; i++)
        measured += !r->items[i].figure->published;
    if (!r->n)
        (void)snprintf(r->explanation, sizeof r->explanation,
                       "No size has an encrypted throughput figure by which at most %d gateways"
                       " reach %.6g Gbit/s.",
                       RECOMMEND_GATEWAYS_MAX, target_bps / 1e9);
    else
        (void)snprintf(r->explanation, sizeof r->explanation,
                       "Encrypted throughput figures at MTU %u, or the next smaller one that is"
                       " known%s; smallest number of gateways, then measured before published,"
                       " then fewest vCPUs that reach %.6g Gbit/s; burstable sizes last.",
                       mtu, measured ? "" : ", none measured here yet, so published ones",
                       target_bps / 1e9);
}

int recommend(const struct sized *sizes, size_t n, double target_bps, unsigned mtu,
              struct recommendation *out, struct err *e)
{
    size_t found = 0;
    struct recommended *all = calloc(n + 1, sizeof *all);
    if (!all)
        return err_set(e, HW_ENOMEM, "out of memory");
    for (size_t i = 0; i < n; i++)
        found += candidate(&sizes[i], target_bps, mtu, &all[found]);
    qsort(all, found, sizeof *all, better);
    *out = (struct recommendation){.n = found > RECOMMEND_MAX ? RECOMMEND_MAX : found};
    for (size_t i = 0; i < out->n; i++) {
        out->items[i] = all[i];
        explain_item(&out->items[i], target_bps, mtu);
    }
    free(all);
    explain(out, target_bps, mtu);
    return 0;
}
