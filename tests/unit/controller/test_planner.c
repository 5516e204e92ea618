/* What must hold for every fleet: random ones with fixed seeds, walked hop by hop. */
#include "common/dp_proto.h"
#include "tests/unit/controller/fleet_fixture.h"
#include "tests/unit/suite.h"
#include <stdio.h>
#include <stdlib.h>

#define FLEETS      25
#define SOME_FLEETS 8 /* where each takes longer */
#define HOPS_MAX    7 /* site, bypass, transit, bypass, transit, bypass, site */

static uint64_t rnd_state;

static unsigned rnd(unsigned bound)
{
    rnd_state ^= rnd_state >> 12;
    rnd_state ^= rnd_state << 25;
    rnd_state ^= rnd_state >> 27;
    return (unsigned)((rnd_state * 0x2545f4914f6cdd1dull) >> 33) % bound;
}

/* 2–5 transits, 2–8 spokes, 1–3 gateways each, two domains, random connections. */
static struct fixture *random_fleet(unsigned seed)
{
    rnd_state = 0x9e3779b97f4a7c15ull * (seed + 1);
    struct fixture *f = fixture_new();
    unsigned transits = 2 + rnd(4), spokes = 2 + rnd(7);
    char name[32], text[200];
    for (unsigned i = 0; i < transits + spokes; i++) {
        (void)snprintf(name, sizeof name, "s%u", i);
        (void)snprintf(text, sizeof text, "10.%u.0.0/16 fd00:%x::/64", i, i);
        size_t s = fixture_site(f, name, i < transits ? SITE_TRANSIT : SITE_SPOKE, text);
        if (rnd(3) == 0)
            (void)snprintf(f->sites[s].domain, sizeof f->sites[s].domain, "other");
        for (unsigned k = 0, n = 1 + rnd(3); k < n; k++) {
            (void)snprintf(name, sizeof name, "g%u-%u", i, k);
            (void)snprintf(text, sizeof text, "10.%u.0.%u", i, k + 1);
            size_t g = fixture_gateway(f, s, name, text);
            f->gateways[g].weight = 50 + rnd(200);
            f->gateways[g].workers = rnd(20);
        }
    }
    for (unsigned a = 0; a < transits + spokes; a++) {
        for (unsigned b = 0; b < transits; b++) {
            if (a == b || (a < transits && a > b) || rnd(2))
                continue;
            (void)snprintf(name, sizeof name, "c%u-%u", a, b);
            size_t c = fixture_connection(f, name, a, b);
            f->connections[c].enabled = rnd(8) != 0;
            f->connections[c].tunnels = rnd(3) ? 0 : 1 + rnd(50);
        }
    }
    return f;
}

static struct plan make_plan(struct fixture *f)
{
    struct plan p = {0};
    struct err e = {0};
    int rc = planner_run(&f->t, &p, &e);
    if (rc)
        (void)printf("\n%s: %s\n", e.field, e.text);
    CU_ASSERT_EQUAL_FATAL(rc, 0);
    return p;
}

static const struct planned_gateway *gateway_of(const struct plan *p, const struct hw_id *id)
{
    for (size_t i = 0; i < p->n_gateways; i++)
        if (id_equal(&p->gateways[i].gateway_id, id))
            return &p->gateways[i];
    return NULL;
}

/* ---- what is cut off ---- */

static const struct config_route *site_route(const struct gateway_config *c,
                                             const struct prefix *to)
{
    for (size_t i = 0; i < c->n_routes; i++)
        if (c->routes[i].ingress == DP_CLASS_SITE && prefix_equal(&c->routes[i].prefix, to))
            return &c->routes[i];
    return NULL;
}

/* Whatever is taken away of a fleet: what a gateway once sent through tunnels, or refused to send,
 * never becomes its kernel's to route. */
static void check_kept(const struct plan *before, const struct plan *after)
{
    for (size_t i = 0; i < before->n_gateways; i++) {
        const struct gateway_config *c = &before->gateways[i].config;
        const struct planned_gateway *now = gateway_of(after, &before->gateways[i].gateway_id);
        for (size_t k = 0; now && k < c->n_routes; k++)
            if (c->routes[k].ingress == DP_CLASS_SITE && c->routes[k].target != ROUTE_LOCAL &&
                c->routes[k].prefix.len < 32 && c->routes[k].prefix.len != 128)
                CU_ASSERT_PTR_NOT_NULL(site_route(&now->config, &c->routes[k].prefix));
    }
}

static void take_away(struct fixture *f)
{
    if (f->t.n_connections && rnd(3)) {
        f->connections[rnd((unsigned)f->t.n_connections)] = f->connections[f->t.n_connections - 1];
        f->t.n_connections--;
    } else if (rnd(2)) {
        struct topo_site *s = &f->sites[rnd((unsigned)f->t.n_sites)];
        (void)snprintf(s->domain, sizeof s->domain, "%s", rnd(2) ? "other" : "third");
    } else {
        f->gateways[rnd((unsigned)f->t.n_gateways)].state = TOPO_GATEWAY_REVOKED;
    }
}

static void test_nothing_becomes_plain(void)
{
    for (unsigned seed = 0; seed < SOME_FLEETS; seed++) {
        struct fixture *f = random_fleet(seed);
        struct plan before = make_plan(f);
        for (unsigned step = 0; step < 8; step++) {
            fixture_keep(f, &before);
            take_away(f);
            struct plan after = make_plan(f);
            check_kept(&before, &after);
            plan_done(&before);
            before = after;
        }
        plan_done(&before);
        fixture_free(f);
    }
}

/* ---- walking ---- */

static const struct config_route *route_for(const struct gateway_config *c, unsigned domain,
                                            unsigned ingress, const struct prefix *to)
{
    for (size_t i = 0; i < c->n_routes; i++)
        if (c->routes[i].domain == domain && c->routes[i].ingress == ingress &&
            prefix_equal(&c->routes[i].prefix, to))
            return &c->routes[i];
    return NULL;
}

static const struct config_source *source_of(const struct gateway_config *c,
                                             const struct prefix *from)
{
    for (size_t i = 0; i < c->n_sources; i++)
        if (prefix_equal(&c->sources[i].prefix, from))
            return &c->sources[i];
    return NULL;
}

static size_t link_index(const struct gateway_config *c, const struct hw_id *id)
{
    for (size_t i = 0; i < c->n_links; i++)
        if (id_equal(&c->links[i].id, id))
            return i;
    return SIZE_MAX;
}

struct walk {
    const struct fixture *f;
    const struct plan *p;
    size_t to;                   /* site */
    const struct hw_id *gateway; /* of it, when only one will do */
    struct prefix src, dst;
    unsigned delivered, dead_ends;
};

static struct walk walk_between(const struct fixture *f, const struct plan *p, size_t from,
                                size_t to)
{
    return (struct walk){
        .f = f, .p = p, .to = to, .src = f->prefixes[from][0], .dst = f->prefixes[to][0]};
}

/*
 * Every way that a packet could take, not only the one of its bucket: each member of each set.
 * Asserted at each hop: the source is legal on the link it came by, it does not go back to whom it
 * came from, it is not handed over twice in a row.
 */
static void walk_from(struct walk *w, const struct gateway_config *c, unsigned ingress,
                      const struct hw_id *came_from, unsigned hops)
{
    CU_ASSERT_TRUE_FATAL(hops <= HOPS_MAX);
    const struct config_source *s = source_of(c, &w->src);
    CU_ASSERT_PTR_NOT_NULL_FATAL(s);
    const struct config_route *r = route_for(c, s->domain, ingress, &w->dst);
    if (!r || r->target == ROUTE_UNREACHABLE) {
        w->dead_ends++;
        return;
    }
    if (r->target == ROUTE_LOCAL) {
        CU_ASSERT_TRUE(id_equal(&c->site_id, &w->f->sites[w->to].id));
        CU_ASSERT_TRUE(!w->gateway || id_equal(&c->gateway_id, w->gateway));
        w->delivered++;
        return;
    }
    const struct config_set *set = &c->sets[r->set];
    for (size_t i = 0; i < set->n_members; i++) {
        const struct config_link *l = &c->links[set->members[i].link];
        CU_ASSERT_TRUE(l->enabled);
        CU_ASSERT_FALSE(came_from && id_equal(&l->peer_id, came_from));
        CU_ASSERT_FALSE(l->kind == LINK_BYPASS && ingress == DP_CLASS_BYPASS);
        CU_ASSERT_FALSE(l->kind == LINK_PEERING && ingress == DP_CLASS_PEERING);
        const struct planned_gateway *next = gateway_of(w->p, &l->peer_id);
        CU_ASSERT_PTR_NOT_NULL_FATAL(next);
        size_t in = link_index(&next->config, &l->id);
        CU_ASSERT_NOT_EQUAL_FATAL(in, SIZE_MAX);
        const struct config_source *arrives = source_of(&next->config, &w->src);
        CU_ASSERT_PTR_NOT_NULL_FATAL(arrives);
        bool legal = false;
        for (size_t k = 0; k < arrives->n_links; k++)
            legal = legal || arrives->links[k] == in;
        CU_ASSERT_TRUE(legal);
        walk_from(w, &next->config, l->kind, &c->gateway_id, hops + 1);
    }
}

/* Written apart from the planner: is there a chain of enabled connections of an allowed shape? */
static bool joined(const struct fixture *f, size_t a, size_t b)
{
    for (size_t i = 0; i < f->t.n_connections; i++) {
        const struct topo_connection *c = &f->connections[i];
        bool same =
            (id_equal(&c->site_a, &f->sites[a].id) && id_equal(&c->site_b, &f->sites[b].id)) ||
            (id_equal(&c->site_a, &f->sites[b].id) && id_equal(&c->site_b, &f->sites[a].id));
        if (same && c->enabled)
            return true;
    }
    return false;
}

static bool expected(const struct fixture *f, size_t a, size_t b)
{
    bool spoke_a = f->sites[a].role == SITE_SPOKE, spoke_b = f->sites[b].role == SITE_SPOKE;
    if (joined(f, a, b))
        return true;
    for (size_t t = 0; t < f->t.n_sites; t++) {
        if (t == a || t == b || f->sites[t].role != SITE_TRANSIT || !joined(f, a, t))
            continue;
        if ((spoke_a || spoke_b) && joined(f, t, b))
            return true;
        for (size_t u = 0; spoke_a && spoke_b && u < f->t.n_sites; u++)
            if (u != a && u != b && u != t && f->sites[u].role == SITE_TRANSIT && joined(f, t, u) &&
                joined(f, u, b))
                return true;
    }
    return false;
}

static void test_walks(void)
{
    unsigned delivered = 0;
    for (unsigned seed = 0; seed < FLEETS; seed++) {
        struct fixture *f = random_fleet(seed);
        struct plan p = make_plan(f);
        for (size_t a = 0; a < f->t.n_sites; a++) {
            for (size_t b = 0; b < f->t.n_sites; b++) {
                if (a == b)
                    continue;
                bool same_domain = strcmp(f->sites[a].domain, f->sites[b].domain) == 0;
                for (size_t g = 0; g < p.n_gateways; g++) {
                    if (!id_equal(&p.gateways[g].config.site_id, &f->sites[a].id))
                        continue;
                    struct walk w = walk_between(f, &p, a, b);
                    walk_from(&w, &p.gateways[g].config, DP_CLASS_SITE, NULL, 0);
                    bool wanted = same_domain && expected(f, a, b);
                    CU_ASSERT_EQUAL(w.delivered > 0, wanted);
                    CU_ASSERT_TRUE(!wanted || w.dead_ends == 0);
                    delivered += w.delivered;
                }
            }
        }
        plan_done(&p);
        fixture_free(f);
    }
    CU_ASSERT_TRUE(delivered > 3000);
}

static size_t site_of(const struct fixture *f, const struct gateway_config *c)
{
    size_t i = 0;
    while (!id_equal(&f->sites[i].id, &c->site_id))
        i++;
    return i;
}

/* From hosts behind one gateway to the overlay address of the other, and its answers back. */
static unsigned walk_to_gateway(const struct fixture *f, const struct plan *p,
                                const struct gateway_config *from, const struct gateway_config *to)
{
    size_t a = site_of(f, from), b = site_of(f, to);
    bool same_domain = strcmp(f->sites[a].domain, f->sites[b].domain) == 0;
    if (a == b || !same_domain || !expected(f, a, b))
        return 0;
    struct walk there = walk_between(f, p, a, b), back = walk_between(f, p, b, a);
    there.gateway = &to->gateway_id;
    there.dst = back.src = prefix_of_host(&to->overlay4);
    walk_from(&there, from, DP_CLASS_SITE, NULL, 0);
    walk_from(&back, to, DP_CLASS_SITE, NULL, 0);
    CU_ASSERT_TRUE(there.delivered > 0 && there.dead_ends == 0);
    CU_ASSERT_TRUE(back.delivered > 0 && back.dead_ends == 0);
    return there.delivered;
}

/* Every gateway that a packet may meet on its way can be asked, and can answer. */
static void test_overlay_walks(void)
{
    unsigned delivered = 0;
    for (unsigned seed = 0; seed < SOME_FLEETS; seed++) {
        struct fixture *f = random_fleet(seed);
        struct plan p = make_plan(f);
        for (size_t i = 0; i < p.n_gateways; i++)
            for (size_t k = 0; k < p.n_gateways; k++)
                delivered += walk_to_gateway(f, &p, &p.gateways[i].config, &p.gateways[k].config);
        plan_done(&p);
        fixture_free(f);
    }
    CU_ASSERT_TRUE(delivered > 1000);
}

/* Single links off at random: some ways end, but still nothing loops or arrives where it is not
 * legal. */
static void test_walks_with_links_off(void)
{
    unsigned bypassed = 0;
    for (unsigned seed = 0; seed < FLEETS; seed++) {
        struct fixture *f = random_fleet(seed);
        struct plan p = make_plan(f);
        fixture_keep(f, &p);
        plan_done(&p);
        for (size_t i = 0; i < f->t.n_links; i++)
            f->links[i].enabled = rnd(3) != 0;
        p = make_plan(f);
        for (size_t g = 0; g < p.n_gateways; g++) {
            const struct gateway_config *c = &p.gateways[g].config;
            size_t a = site_of(f, c);
            for (size_t b = 0; b < f->t.n_sites; b++) {
                struct walk w = walk_between(f, &p, a, b);
                if (a != b)
                    walk_from(&w, c, DP_CLASS_SITE, NULL, 0);
            }
            for (size_t i = 0; i < c->n_routes; i++)
                if (c->routes[i].target == ROUTE_SET && c->routes[i].prefix.len < 32 &&
                    c->links[c->sets[c->routes[i].set].members[0].link].kind == LINK_BYPASS)
                    bypassed++;
        }
        plan_done(&p);
        fixture_free(f);
    }
    CU_ASSERT_TRUE(bypassed > 30); /* the case was met */
}

/* ---- bytes ---- */

static void test_agents_accept_it(void)
{
    for (unsigned seed = 0; seed < FLEETS; seed++) {
        struct fixture *f = random_fleet(seed);
        struct plan p = make_plan(f);
        for (size_t i = 0; i < p.n_gateways; i++) {
            struct gateway_config c;
            struct err e = {0};
            int rc = gateway_config_decode(p.gateways[i].body, p.gateways[i].body_len, &c, &e);
            if (rc)
                (void)printf("\nseed %u: %s: %s\n", seed, e.field, e.text);
            CU_ASSERT_EQUAL(rc, 0);
            if (!rc)
                gateway_config_done(&c);
        }
        plan_done(&p);
        fixture_free(f);
    }
}

static bool same_bytes(const struct planned_gateway *a, const struct planned_gateway *b)
{
    return a && b && a->body_len == b->body_len && memcmp(a->body, b->body, a->body_len) == 0;
}

static void shuffle(void *array, size_t n, size_t size)
{
    uint8_t *p = array, tmp[sizeof(struct topo_gateway)];
    for (size_t i = n; i > 1; i--) {
        size_t k = rnd((unsigned)i);
        memcpy(tmp, p + (i - 1) * size, size);
        memcpy(p + (i - 1) * size, p + k * size, size);
        memcpy(p + k * size, tmp, size);
    }
}

static void test_order_does_not_matter(void)
{
    for (unsigned seed = 0; seed < FLEETS; seed++) {
        struct fixture *f = random_fleet(seed);
        struct plan first = make_plan(f);
        f->next_link_id = 0;
        shuffle(f->sites, f->t.n_sites, sizeof *f->sites);
        shuffle(f->gateways, f->t.n_gateways, sizeof *f->gateways);
        shuffle(f->connections, f->t.n_connections, sizeof *f->connections);
        struct plan second = make_plan(f);
        CU_ASSERT_EQUAL_FATAL(first.n_gateways, second.n_gateways);
        for (size_t i = 0; i < first.n_gateways; i++)
            CU_ASSERT_TRUE(same_bytes(&first.gateways[i], &second.gateways[i]));
        /* And once more with what the store has kept: ids, offsets and numbers stay. */
        fixture_keep(f, &first);
        struct plan third = make_plan(f);
        CU_ASSERT_EQUAL_FATAL(first.n_gateways, third.n_gateways);
        for (size_t i = 0; i < first.n_gateways; i++)
            CU_ASSERT_TRUE(same_bytes(&first.gateways[i], &third.gateways[i]));
        plan_done(&first);
        plan_done(&second);
        plan_done(&third);
        fixture_free(f);
    }
}

static bool knows_prefix(const struct gateway_config *c, const struct prefix *p)
{
    for (size_t i = 0; i < c->n_sources; i++)
        if (prefix_equal(&c->sources[i].prefix, p))
            return true;
    for (size_t i = 0; i < c->n_routes; i++)
        if (prefix_equal(&c->routes[i].prefix, p))
            return true;
    return false;
}

static bool same_link(const struct config_link *a, const struct config_link *b)
{
    return id_equal(&a->id, &b->id) && id_equal(&a->peer_id, &b->peer_id) &&
           a->enabled == b->enabled && a->tunnels == b->tunnels &&
           a->port_offset == b->port_offset && ipaddr_equal(&a->local, &b->local) &&
           ipaddr_equal(&a->remote, &b->remote);
}

/* One prefix more: links, peers and sets stay as they are, and only who knows the site hears of it.
 */
static void test_one_more_prefix(void)
{
    unsigned unchanged = 0;
    for (unsigned seed = 0; seed < FLEETS; seed++) {
        struct fixture *f = random_fleet(seed);
        struct plan before = make_plan(f);
        fixture_keep(f, &before);
        size_t site = rnd((unsigned)f->t.n_sites);
        fixture_prefix(f, site, "172.16.0.0/24");
        struct plan after = make_plan(f);
        for (size_t i = 0; i < before.n_gateways; i++) {
            const struct gateway_config *x = &before.gateways[i].config,
                                        *y = &after.gateways[i].config;
            bool concerned = knows_prefix(x, &f->prefixes[site][0]);
            CU_ASSERT_EQUAL(same_bytes(&before.gateways[i], &after.gateways[i]), !concerned);
            unchanged += !concerned;
            CU_ASSERT_EQUAL_FATAL(x->n_links, y->n_links);
            for (size_t k = 0; k < x->n_links; k++)
                CU_ASSERT_TRUE(same_link(&x->links[k], &y->links[k]));
            CU_ASSERT_EQUAL_FATAL(x->n_sets, y->n_sets);
            for (size_t k = 0; k < x->n_sets; k++) {
                CU_ASSERT_EQUAL(x->sets[k].n_members, y->sets[k].n_members);
                CU_ASSERT_EQUAL(memcmp(x->sets[k].bucket, y->sets[k].bucket, HW_BUCKETS), 0);
            }
        }
        plan_done(&before);
        plan_done(&after);
        fixture_free(f);
    }
    CU_ASSERT_TRUE(unchanged > 10);
}

/* Which gateway owns each bucket of the way to `to`, seen from `c`. */
static bool owners(const struct gateway_config *c, unsigned ingress, const struct prefix *to,
                   struct hw_id out[HW_BUCKETS])
{
    for (size_t i = 0; i < c->n_routes; i++) {
        const struct config_route *r = &c->routes[i];
        if (r->ingress != ingress || r->target != ROUTE_SET || !prefix_equal(&r->prefix, to))
            continue;
        const struct config_set *s = &c->sets[r->set];
        for (unsigned b = 0; b < HW_BUCKETS; b++)
            out[b] = c->links[s->members[s->bucket[b]].link].peer_id;
        return true;
    }
    return false;
}

/* Every gateway of a site sends a flow to the same next gateway, so each site has one owner a flow.
 */
static void test_one_owner(void)
{
    static struct hw_id first[HW_BUCKETS], other[HW_BUCKETS];
    unsigned compared = 0;
    for (unsigned seed = 0; seed < 20; seed++) {
        struct fixture *f = random_fleet(seed);
        struct plan p = make_plan(f);
        for (size_t i = 0; i < p.n_gateways; i++) {
            for (size_t k = i + 1; k < p.n_gateways; k++) {
                const struct gateway_config *x = &p.gateways[i].config, *y = &p.gateways[k].config;
                if (!id_equal(&x->site_id, &y->site_id))
                    continue;
                for (size_t s = 0; s < f->t.n_sites; s++) {
                    if (!owners(x, DP_CLASS_SITE, &f->prefixes[s][0], first))
                        continue;
                    CU_ASSERT_TRUE_FATAL(owners(y, DP_CLASS_SITE, &f->prefixes[s][0], other));
                    CU_ASSERT_EQUAL(memcmp(first, other, sizeof first), 0);
                    compared++;
                }
            }
        }
        plan_done(&p);
        fixture_free(f);
    }
    CU_ASSERT_TRUE(compared > 50);
}

/* ---- single rules ---- */

static void test_refused_topologies(void)
{
    struct fixture *f = fixture_new();
    struct plan p = {0};
    struct err e = {0};
    size_t a = fixture_site(f, "a", SITE_SPOKE, "10.1.0.0/16"),
           b = fixture_site(f, "b", SITE_SPOKE, "10.2.0.0/16");
    fixture_connection(f, "a-b", a, b);
    CU_ASSERT_EQUAL(planner_run(&f->t, &p, &e), HW_EINVAL);
    CU_ASSERT_STRING_EQUAL(e.field, "site_b_id");
    f->sites[b].role = SITE_TRANSIT;
    CU_ASSERT_EQUAL(planner_run(&f->t, &p, &e), 0);
    plan_done(&p);
    f->connections[0].site_b = f->sites[a].id;
    CU_ASSERT_EQUAL(planner_run(&f->t, &p, &e), HW_EINVAL);
    f->connections[0].site_b = fixture_id("none", 1);
    CU_ASSERT_EQUAL(planner_run(&f->t, &p, &e), HW_EINVAL);
    CU_ASSERT_STRING_EQUAL(e.field, "site_b_id");
    fixture_free(f);
}

static struct fixture *two_gateways(const char *a, const char *b)
{
    struct fixture *f = fixture_new();
    size_t s = fixture_site(f, "a", SITE_SPOKE, "10.1.0.0/16"),
           t = fixture_site(f, "t", SITE_TRANSIT, "10.9.0.0/16");
    fixture_gateway(f, s, "gw-a", a);
    fixture_gateway(f, t, "gw-t", b);
    fixture_connection(f, "a-t", s, t);
    return f;
}

struct address_case {
    const char *a, *b;
    enum topo_path path;
    unsigned family;
    const char *to_a, *to_b; /* NULL: refused */
};

static void test_address_pairs(void)
{
    static const struct address_case cases[] = {
        {"10.1.0.1 fd01::1", "10.9.0.1 fd09::1", TOPO_PATH_AUTO, 0, "10.1.0.1", "10.9.0.1"},
        {"10.1.0.1 fd01::1", "10.9.0.1 fd09::1", TOPO_PATH_AUTO, 6, "fd01::1", "fd09::1"},
        {"10.1.0.1 fd01::1", "fd09::1", TOPO_PATH_AUTO, 0, "fd01::1", "fd09::1"},
        {"10.1.0.1", "fd09::1", TOPO_PATH_AUTO, 0, NULL, NULL},
        {"10.1.0.1 fd01::1", "10.9.0.1", TOPO_PATH_AUTO, 6, NULL, NULL},
        {"10.1.0.1 +198.51.100.1", "10.9.0.1 +198.51.100.9", TOPO_PATH_AUTO, 0, "10.1.0.1",
         "10.9.0.1"},
        {"10.1.0.1 +198.51.100.1", "10.9.0.1 +198.51.100.9", TOPO_PATH_PUBLIC, 0, "198.51.100.1",
         "198.51.100.9"},
        {"+198.51.100.1", "10.9.0.1 +198.51.100.9", TOPO_PATH_PRIVATE, 0, NULL, NULL},
        {"+198.51.100.1 fd01::1", "10.9.0.1 fd09::1", TOPO_PATH_PRIVATE, 0, "fd01::1", "fd09::1"},
        {"10.1.0.1!", "+198.51.100.9", TOPO_PATH_AUTO, 0, "10.1.0.1", "198.51.100.9"},
        {"10.1.0.1!", "10.9.0.1!", TOPO_PATH_AUTO, 0, NULL, NULL},
        {"10.1.0.1!", "10.9.0.1", TOPO_PATH_AUTO, 0, "10.1.0.1", "10.9.0.1"},
        {"10.1.0.1! 10.1.0.2", "10.9.0.1", TOPO_PATH_AUTO, 0, "10.1.0.2", "10.9.0.1"},
        {"10.1.0.1! fd01::1", "10.9.0.1! fd09::1", TOPO_PATH_AUTO, 0, "fd01::1", "fd09::1"},
        {"", "10.9.0.1", TOPO_PATH_AUTO, 0, NULL, NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct address_case *c = &cases[i];
        struct fixture *f = two_gateways(c->a, c->b);
        f->connections[0].path = c->path;
        f->connections[0].underlay_family = c->family;
        struct plan p = make_plan(f);
        char a[IPADDR_TEXT_MAX], b[IPADDR_TEXT_MAX];
        CU_ASSERT_EQUAL_FATAL(p.n_links, 1);
        ipaddr_text(&p.links[0].address_a, a);
        ipaddr_text(&p.links[0].address_b, b);
        if (c->to_a) {
            CU_ASSERT_EQUAL(p.links[0].state, PLANNED_LINK_READY);
            CU_ASSERT_STRING_EQUAL(a, c->to_a);
            CU_ASSERT_STRING_EQUAL(b, c->to_b);
        } else {
            CU_ASSERT_EQUAL(p.links[0].state, PLANNED_LINK_REFUSED);
            CU_ASSERT_TRUE(p.links[0].reason[0] && p.links[0].field[0]);
            CU_ASSERT_EQUAL(p.gateways[0].config.n_links, 0);
        }
        plan_done(&p);
        fixture_free(f);
    }
}

/* Behind a 1:1 translation the other end sends to the public address and the machine from its own.
 */
static void test_translated_source(void)
{
    struct fixture *f = two_gateways("10.1.0.1 +~203.0.113.1", "+198.51.100.9");
    f->connections[0].path = TOPO_PATH_PUBLIC;
    struct plan p = make_plan(f);
    char text[IPADDR_TEXT_MAX];
    const struct config_link *a = &p.gateways[0].config.links[0],
                             *t = &p.gateways[1].config.links[0];
    CU_ASSERT_STRING_EQUAL(ipaddr_text(&a->local, text), "10.1.0.1");
    CU_ASSERT_STRING_EQUAL(ipaddr_text(&a->remote, text), "198.51.100.9");
    CU_ASSERT_STRING_EQUAL(ipaddr_text(&t->remote, text), "203.0.113.1");
    CU_ASSERT_EQUAL(p.gateways[1].config.peers[0].n_endpoints, 2);
    plan_done(&p);
    fixture_free(f);
}

/* An operator may name the public address alone: packets leave from the machine's own all the same.
 */
static void test_source_beyond_endpoints(void)
{
    struct fixture *f = two_gateways("~203.0.113.1", "+198.51.100.9");
    CU_ASSERT_EQUAL_FATAL(ipaddr_parse("10.1.0.1", &f->gateways[0].own4), 0);
    f->connections[0].path = TOPO_PATH_PUBLIC;
    struct plan p = make_plan(f);
    char text[IPADDR_TEXT_MAX];
    CU_ASSERT_STRING_EQUAL(ipaddr_text(&p.gateways[0].config.links[0].local, text), "10.1.0.1");
    CU_ASSERT_STRING_EQUAL(ipaddr_text(&p.gateways[1].config.links[0].remote, text), "203.0.113.1");
    plan_done(&p);
    fixture_free(f);
}

static void test_tunnels(void)
{
    struct fixture *f = two_gateways("10.1.0.1", "10.9.0.1");
    static const struct {
        unsigned vcpus_a, workers_a, vcpus_b, workers_b, connection, link, tunnels;
        const char *reason;
    } cases[] = {
        {0, 0, 0, 0, 0, 0, 8, "default 8: size of gw-a is not known"},
        {0, 2, 0, 16, 0, 0, 16, "16 workers of gw-b"},
        {0, 64, 0, 2, 0, 0, 50, "64 workers of gw-a, at most 50"},
        {0, 4, 0, 4, 1, 0, 1, "set on the connection"},
        {16, 4, 16, 4, 50, 0, 50, "set on the connection"},
        {16, 4, 16, 4, 20, 3, 3, "set on the link"},
        {2, 0, 2, 0, 0, 0, 4, "2 x 2 vCPUs of size-a"},
        {16, 0, 72, 0, 0, 0, 32, "2 x 16 vCPUs of size-a"},
        {72, 0, 16, 0, 0, 0, 32, "2 x 16 vCPUs of size-b"},
        {16, 16, 72, 64, 0, 0, 50, "64 workers of gw-b, at most 50"},
        {36, 0, 72, 0, 0, 0, 50, "2 x 36 vCPUs of size-a, at most 50"},
        {1, 1, 1, 1, 0, 0, 2, "2 x 1 vCPU of size-a"},
        {2, 4, 2, 4, 0, 0, 4, "2 x 2 vCPUs of size-a"},
        {2, 6, 2, 4, 0, 0, 6, "6 workers of gw-a"},
        {16, 0, 0, 0, 0, 0, 8, "default 8: size of gw-b is not known"},
    };
    struct plan p = make_plan(f);
    fixture_keep(f, &p);
    plan_done(&p);
    for (size_t i = 0; i < 2; i++) {
        (void)snprintf(f->gateways[i].name, sizeof f->gateways[i].name, "gw-%c", "ab"[i]);
        (void)snprintf(f->gateways[i].size, sizeof f->gateways[i].size, "size-%c", "ab"[i]);
    }
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        f->gateways[0].vcpus = cases[i].vcpus_a;
        f->gateways[1].vcpus = cases[i].vcpus_b;
        f->gateways[0].workers = cases[i].workers_a;
        f->gateways[1].workers = cases[i].workers_b;
        f->connections[0].tunnels = cases[i].connection;
        f->links[0].tunnels_override = cases[i].link;
        p = make_plan(f);
        CU_ASSERT_EQUAL(p.links[0].tunnels, cases[i].tunnels);
        CU_ASSERT_STRING_EQUAL(p.links[0].tunnels_reason, cases[i].reason);
        CU_ASSERT_EQUAL(p.gateways[0].config.links[0].tunnels, cases[i].tunnels);
        CU_ASSERT_EQUAL(p.gateways[1].config.links[0].tunnels, cases[i].tunnels);
        plan_done(&p);
    }
    fixture_free(f);
}

/* Twelve links of four tunnels at one gateway: no port has two of them. */
static void test_ports_spread(void)
{
    struct fixture *f = fixture_new();
    size_t t = fixture_site(f, "t", SITE_TRANSIT, "10.99.0.0/16");
    fixture_gateway(f, t, "gw-t", "10.99.0.1");
    for (unsigned i = 0; i < 12; i++) {
        char name[16], text[32];
        (void)snprintf(name, sizeof name, "s%u", i);
        (void)snprintf(text, sizeof text, "10.%u.0.0/16", i);
        size_t s = fixture_site(f, name, SITE_SPOKE, text);
        (void)snprintf(text, sizeof text, "10.%u.0.1", i);
        fixture_gateway(f, s, name, text);
        f->connections[fixture_connection(f, name, s, t)].tunnels = 4;
    }
    struct plan p = make_plan(f);
    unsigned used[HW_PORTS_PER_GATEWAY] = {0};
    for (size_t i = 0; i < p.n_links; i++)
        for (unsigned k = 0; k < p.links[i].tunnels; k++)
            used[(p.links[i].port_offset + k) % HW_PORTS_PER_GATEWAY]++;
    for (unsigned i = 0; i < HW_PORTS_PER_GATEWAY; i++)
        CU_ASSERT_TRUE(used[i] <= 1);
    plan_done(&p);
    fixture_free(f);
}

/* 8192 tunnels at 100 ms would be over 80,000 probes a second: the interval grows, at both ends
 * alike. */
static void test_probe_cap(void)
{
    struct fixture *f = fixture_new();
    size_t t = fixture_site(f, "t", SITE_TRANSIT, "10.99.0.0/16");
    fixture_gateway(f, t, "gw-t", "10.99.0.1");
    for (unsigned i = 0; i < 30; i++) {
        char name[16], text[32];
        (void)snprintf(name, sizeof name, "s%u", i);
        (void)snprintf(text, sizeof text, "10.%u.0.0/16", i);
        size_t s = fixture_site(f, name, SITE_SPOKE, text);
        (void)snprintf(text, sizeof text, "10.%u.0.1", i);
        fixture_gateway(f, s, name, text);
        size_t c = fixture_connection(f, name, s, t);
        f->connections[c].tunnels = 50;
        f->connections[c].liveness_interval_ms = 25;
    }
    struct plan p = make_plan(f);
    for (size_t i = 0; i < p.n_gateways; i++)
        for (size_t k = 0; k < p.gateways[i].config.n_links; k++)
            CU_ASSERT_EQUAL(p.gateways[i].config.links[k].liveness_interval_ms,
                            75); /* 60,000 a second, thrice too many */
    plan_done(&p);
    fixture_free(f);
}

static void test_states(void)
{
    struct fixture *f = two_gateways("10.1.0.1", "10.9.0.1");
    f->gateways[1].state = TOPO_GATEWAY_PENDING;
    struct plan p = make_plan(f);
    CU_ASSERT_EQUAL_FATAL(p.n_links, 1);
    CU_ASSERT_EQUAL(p.links[0].state, PLANNED_LINK_PENDING);
    CU_ASSERT_EQUAL_FATAL(p.n_gateways, 1); /* no config for one that waits */
    CU_ASSERT_EQUAL(p.gateways[0].config.n_links + p.gateways[0].config.n_peers, 0);
    struct hw_id id = p.links[0].id;
    fixture_keep(f, &p);
    plan_done(&p);
    f->gateways[1].state = TOPO_GATEWAY_ENROLLED;
    p = make_plan(f);
    CU_ASSERT_TRUE(id_equal(&id, &p.links[0].id)); /* the same link once it has come */
    CU_ASSERT_EQUAL(p.gateways[0].config.n_links, 1);
    plan_done(&p);
    f->gateways[1].state = TOPO_GATEWAY_REVOKED;
    p = make_plan(f);
    CU_ASSERT_EQUAL(p.n_links, 0);
    CU_ASSERT_EQUAL(p.gateways[0].config.n_links + p.gateways[0].config.n_peers, 0);
    plan_done(&p);
    fixture_free(f);
}

int main(void)
{
    CU_TestInfo tests[] = {{"nothing becomes plain", test_nothing_becomes_plain},
                           {"packets arrive, without loops", test_walks},
                           {"gateways are reached by their overlay addresses", test_overlay_walks},
                           {"no loops with links off", test_walks_with_links_off},
                           {"the agent's reader takes every config", test_agents_accept_it},
                           {"the order of the input does not matter", test_order_does_not_matter},
                           {"one more prefix", test_one_more_prefix},
                           {"one owner a flow", test_one_owner},
                           {"refused topologies", test_refused_topologies},
                           {"address pairs", test_address_pairs},
                           {"source behind a translation", test_translated_source},
                           {"source beyond the endpoints", test_source_beyond_endpoints},
                           {"numbers of tunnels", test_tunnels},
                           {"ports spread", test_ports_spread},
                           {"probes are capped", test_probe_cap},
                           {"pending and revoked", test_states},
                           CU_TEST_INFO_NULL};
    return suite_run("planner", tests);
}
