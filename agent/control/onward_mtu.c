#include "agent/control/onward_mtu.h"
#include "agent/control/gateway_state.h"
#include <stdlib.h>
#include <string.h>

static int order(const struct onward_entry *e, const struct hw_id *link, const struct prefix *p)
{
    int c = id_cmp(&e->link, link);
    return c ? c : prefix_cmp(&e->prefix, p);
}

/* Index of the first entry that does not come before (link, p). */
static size_t lower_bound(const struct onward_table *t, const struct hw_id *link,
                          const struct prefix *p)
{
    size_t low = 0, high = t->n;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (order(&t->entries[mid], link, p) < 0)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

static struct onward_entry *find(const struct onward_table *t, const struct hw_id *link,
                                 const struct prefix *p)
{
    size_t at = lower_bound(t, link, p);
    return at < t->n && order(&t->entries[at], link, p) == 0 ? &t->entries[at] : NULL;
}

void onward_table_done(struct onward_table *t)
{
    free(t->entries);
    *t = (struct onward_table){0};
}

uint32_t onward_get(const struct onward_table *t, const struct hw_id *link, const struct prefix *p)
{
    const struct onward_entry *e = find(t, link, p);
    return e ? e->mtu : 0;
}

bool onward_set(struct onward_table *t, const struct hw_id *link, const struct prefix *p,
                uint32_t mtu)
{
    struct onward_entry *known = find(t, link, p);
    if (known) {
        bool news = known->mtu != mtu;
        known->mtu = mtu;
        known->stale = false;
        return news;
    }
    if (t->n == ONWARD_ENTRIES_MAX)
        return false;
    if (t->n == t->cap) {
        size_t cap = t->cap ? 2 * t->cap : 16;
        struct onward_entry *grown = realloc(t->entries, cap * sizeof *grown);
        if (!grown)
            return false;
        t->entries = grown;
        t->cap = cap;
    }
    size_t at = lower_bound(t, link, p);
    memmove(t->entries + at + 1, t->entries + at, (t->n - at) * sizeof *t->entries);
    t->entries[at] = (struct onward_entry){.link = *link, .prefix = *p, .mtu = mtu};
    t->n++;
    return true;
}

void onward_mark_stale(struct onward_table *t, const struct hw_id *link)
{
    for (size_t i = 0; i < t->n; i++)
        t->entries[i].stale = t->entries[i].stale || id_equal(&t->entries[i].link, link);
}

void onward_forget(struct onward_table *t, const struct hw_id *link)
{
    size_t kept = 0;
    for (size_t i = 0; i < t->n; i++)
        if (!id_equal(&t->entries[i].link, link))
            t->entries[kept++] = t->entries[i];
    t->n = kept;
}

static int index_of(const struct gateway_config *c, const struct hw_id *link)
{
    for (size_t i = 0; i < c->n_links; i++)
        if (id_equal(&c->links[i].id, link))
            return (int)i;
    return -1;
}

bool onward_drop_stale(struct onward_table *t, const struct gateway_config *c)
{
    size_t kept = 0, before = t->n;
    for (size_t i = 0; i < t->n; i++)
        if (!t->entries[i].stale && index_of(c, &t->entries[i].link) >= 0)
            t->entries[kept++] = t->entries[i];
    t->n = kept;
    return kept != before;
}

bool onward_concerns(const struct gateway_config *c, const struct hw_id *link,
                     const struct prefix *p)
{
    int index = index_of(c, link);
    for (size_t i = 0; index >= 0 && i < c->n_routes; i++) {
        const struct config_route *r = &c->routes[i];
        if (r->target != ROUTE_SET || !prefix_equal(&r->prefix, p))
            continue;
        const struct config_set *s = &c->sets[r->set];
        for (size_t m = 0; m < s->n_members; m++)
            if (s->members[m].link == (uint32_t)index)
                return true;
    }
    return false;
}

uint32_t onward_set_mtu(const struct gateway_config *c, const struct config_route *r,
                        const uint32_t *effective, const struct onward_table *heard, int except)
{
    uint32_t mtu = TUN_MTU_MAX;
    const struct config_set *s = &c->sets[r->set];
    for (size_t i = 0; i < s->n_members; i++) {
        uint32_t link = s->members[i].link;
        if ((int)link == except || effective[link] < HW_LINK_MTU_MIN)
            continue;
        uint32_t onward = heard ? onward_get(heard, &c->links[link].id, &r->prefix) : 0;
        uint32_t here = onward && onward < effective[link] ? onward : effective[link];
        mtu = here < mtu ? here : mtu;
    }
    return mtu;
}

static bool is_site_prefix(const struct gateway_config *c, const struct prefix *p)
{
    for (size_t i = 0; i < c->n_site_prefixes; i++)
        if (prefix_covers(&c->site_prefixes[i], p))
            return true;
    return false;
}

/* How large a packet that came by the link can go on; 0: the route does not concern it. */
static uint32_t onward_of(const struct gateway_config *c, const struct config_route *r,
                          size_t index, const uint32_t *effective, uint32_t site_mtu,
                          const struct onward_table *heard)
{
    if (r->ingress != (unsigned)c->links[index].kind || r->target == ROUTE_UNREACHABLE)
        return 0;
    if (r->target == ROUTE_SET)
        return onward_set_mtu(c, r, effective, heard, (int)index);
    return site_mtu && is_site_prefix(c, &r->prefix) ? site_mtu : TUN_MTU_MAX;
}

void onward_tell(const struct gateway_config *c, size_t index, const uint32_t *effective,
                 uint32_t site_mtu, const struct onward_table *heard, struct onward_table *told,
                 onward_tell_fn tell, void *arg)
{
    const struct hw_id *link = &c->links[index].id;
    if (effective[index] < HW_LINK_MTU_MIN)
        return;
    for (size_t i = 0; i < c->n_routes; i++) {
        const struct prefix *p = &c->routes[i].prefix;
        uint32_t mtu = onward_of(c, &c->routes[i], index, effective, site_mtu, heard);
        uint32_t before = onward_get(told, link, p);
        if (mtu == 0 || (before == 0 && mtu >= effective[index]))
            continue;
        /* The end of a limit is told as what the link itself carries. */
        mtu = mtu < effective[index] ? mtu : effective[index];
        if (mtu != before && tell(arg, link, p, mtu) == 0)
            (void)onward_set(told, link, p, mtu);
    }
}
