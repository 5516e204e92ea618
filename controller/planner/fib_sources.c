#include "controller/planner/fib_builder.h"
#include "controller/planner/routing.h"
#include <stdlib.h>

static int by_u32(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* Links by which packets from `sites` come in, with the bypass links beside them when `bypass`. */
static int source_links(const struct fib_builder *b, const size_t *sites, size_t n_sites,
                        bool bypass, uint32_t **out, size_t *n, struct err *e)
{
    *out = calloc(b->n_links + 1, sizeof **out);
    if (!*out)
        return err_set(e, HW_ENOMEM, "out of memory");
    *n = 0;
    for (size_t i = 0; i < b->n_links; i++) {
        const struct fib_link *l = &b->links[i];
        if (l->link->plan.kind == LINK_BYPASS ? bypass : fib_listed(sites, n_sites, l->peer_site))
            (*out)[(*n)++] = l->index;
    }
    qsort(*out, *n, sizeof **out, by_u32);
    return 0;
}

static int add_source(struct fib_builder *b, const struct prefix *p, unsigned domain, bool local,
                      const uint32_t *links, size_t n_links, struct err *e)
{
    struct gateway_config *c = b->config;
    int rc = fib_grow(&c->sources, &b->cap_sources, c->n_sources, sizeof *c->sources,
                      HW_FIB_SOURCES_MAX, "sources", e);
    if (rc)
        return rc;
    uint32_t *copy = NULL;
    if (n_links) {
        copy = malloc(n_links * sizeof *copy);
        if (!copy)
            return err_set(e, HW_ENOMEM, "out of memory");
        memcpy(copy, links, n_links * sizeof *copy);
    }
    c->sources[c->n_sources++] = (struct config_source){
        .prefix = *p, .domain = domain, .local = local, .links = copy, .n_links = n_links};
    return 0;
}

/* A site two hops off concerns this one only if somebody here may be talked to from its domain. */
static bool domain_is_served(const struct fib_builder *b, unsigned domain)
{
    const struct fleet_site *s = &b->fleet->sites[b->site];
    if (s->domain == domain)
        return true;
    if (!fleet_is_transit(b->fleet, b->site))
        return false;
    for (size_t i = 0; i < s->n_edges; i++)
        if (s->edges[i].usable && s->edges[i].kind == LINK_ATTACHMENT &&
            b->fleet->sites[s->edges[i].site].domain == domain)
            return true;
    return false;
}

static void note_arrival(struct fib_builder *b, enum dp_class c, size_t from)
{
    b->arrives[c][from] = true;
    b->arriving[c][b->fleet->sites[from].domain]++;
}

/* A gateway's overlay addresses count to the domain of its site. At a spoke all of them count to
 * its own: it has no other, and transits serve all. */
static int add_overlay_sources(struct fib_builder *b, size_t gateway, bool local,
                               const uint32_t *links, size_t n_links, struct err *e)
{
    size_t site = b->fleet->gateways[gateway].site;
    unsigned domain = b->fleet->sites[fleet_is_transit(b->fleet, b->site) ? site : b->site].domain;
    struct prefix p[2];
    size_t n = fib_overlay(b, gateway, p);
    int rc = 0;
    for (size_t i = 0; !rc && i < n; i++)
        rc = add_source(b, &p[i], domain, local, links, n_links, e);
    return rc;
}

/*
 * Those of a site's gateways that are no peers, because a transit lies between: they tell of
 * packets that are too big for their links or have come to the end of their hops, and answer for
 * themselves, with these addresses as the source.
 */
static int add_far_overlays(struct fib_builder *b, size_t from, const uint32_t *links, size_t n,
                            struct err *e)
{
    const struct fleet_site *s = &b->fleet->sites[from];
    int rc = 0;
    for (size_t g = 0; !rc && n && g < s->n_gateways; g++)
        if (!fib_peer_link(b, s->gateways[g]))
            rc = add_overlay_sources(b, s->gateways[g], false, links, n, e);
    return rc;
}

/* Sources of one other site: by every link over which any allowed path could bring them. */
static int add_site_sources(struct fib_builder *b, size_t from, struct err *e)
{
    const struct fleet_site *s = &b->fleet->sites[from];
    bool transit = fleet_is_transit(b->fleet, b->site);
    if (!transit && s->domain != b->fleet->sites[b->site].domain)
        return 0;
    size_t n_sites = routing_arrivals(b->fleet, b->site, from, b->scratch);
    bool direct = n_sites && fib_listed(b->scratch, n_sites, from);
    if (n_sites == 0 || (!direct && !domain_is_served(b, s->domain)))
        return 0;
    uint32_t *links = NULL;
    size_t n = 0;
    int rc = source_links(b, b->scratch, n_sites, true, &links, &n, e);
    if (rc)
        return rc;
    bool seen[DP_CLASS_COUNT] = {false};
    for (size_t i = 0; i < b->n_links; i++)
        if (b->links[i].link->plan.kind == LINK_BYPASS ||
            fib_listed(b->scratch, n_sites, b->links[i].peer_site))
            seen[b->links[i].link->plan.kind] = true;
    for (unsigned c = DP_CLASS_ATTACHMENT; c < DP_CLASS_COUNT; c++)
        if (seen[c])
            note_arrival(b, (enum dp_class)c, from);
    for (size_t i = 0; !rc && n && i < s->site->n_prefixes; i++)
        rc = add_source(b, &s->site->prefixes[i], s->domain, false, links, n, e);
    if (!rc)
        rc = add_far_overlays(b, from, links, n, e);
    free(links);
    return rc;
}

/* The site's own prefixes come in by TUN, and from a neighbour that hands over. */
static int add_own_sources(struct fib_builder *b, struct err *e)
{
    const struct fleet_site *s = &b->fleet->sites[b->site];
    uint32_t *links = NULL;
    size_t n = 0;
    int rc = source_links(b, NULL, 0, true, &links, &n, e);
    if (rc)
        return rc;
    note_arrival(b, DP_CLASS_SITE, b->site);
    if (n)
        note_arrival(b, DP_CLASS_BYPASS, b->site);
    for (size_t i = 0; !rc && i < s->site->n_prefixes; i++)
        rc = add_source(b, &s->site->prefixes[i], s->domain, true, links, n, e);
    free(links);
    if (!rc)
        rc = add_overlay_sources(b, b->gateway, true, NULL, 0, e);
    return rc;
}

static int add_peer_sources(struct fib_builder *b, struct err *e)
{
    int rc = 0;
    for (size_t i = 0, n; !rc && i < b->n_links; i += n) {
        n = fib_peer_run(b, i);
        uint32_t links[HW_FIB_SET_MEMBERS_MAX];
        if (n > HW_FIB_SET_MEMBERS_MAX)
            return err_set(e, HW_EINVAL, "two gateways would have more than %d links",
                           HW_FIB_SET_MEMBERS_MAX);
        for (size_t k = 0; k < n; k++)
            links[k] = b->links[i + k].index;
        qsort(links, n, sizeof *links, by_u32);
        rc = add_overlay_sources(b, b->links[i].peer, false, links, n, e);
    }
    return rc;
}

/* Transits of other domains, whose sites are not reached from here, lie on the way all the same. */
static int add_far_transits(struct fib_builder *b, struct err *e)
{
    const struct fleet *f = b->fleet;
    int rc = 0;
    for (size_t i = 0; !rc && !fleet_is_transit(f, b->site) && i < f->n_sites; i++) {
        if (!fleet_is_transit(f, i) || f->sites[i].domain == f->sites[b->site].domain)
            continue;
        uint32_t *links;
        size_t n, n_sites = routing_arrivals(f, b->site, i, b->scratch);
        if (n_sites == 0)
            continue;
        rc = source_links(b, b->scratch, n_sites, true, &links, &n, e);
        if (rc)
            break;
        rc = add_far_overlays(b, i, links, n, e);
        free(links);
    }
    return rc;
}

static int by_source_prefix(const void *a, const void *b)
{
    return prefix_cmp(&((const struct config_source *)a)->prefix,
                      &((const struct config_source *)b)->prefix);
}

int fib_sources_build(struct fib_builder *b, struct err *e)
{
    int rc = add_own_sources(b, e);
    if (!rc)
        rc = add_peer_sources(b, e);
    if (!rc)
        rc = add_far_transits(b, e);
    for (size_t i = 0; !rc && i < b->fleet->n_sites; i++)
        if (i != b->site)
            rc = add_site_sources(b, i, e);
    if (!rc && b->config->n_sources)
        qsort(b->config->sources, b->config->n_sources, sizeof *b->config->sources,
              by_source_prefix);
    return rc;
}
