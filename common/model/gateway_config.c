#include "common/model/gateway_config.h"
#include "common/dp_proto.h"
#include "common/esp_suite.h"
#include "common/hex.h"
#include "common/json.h"
#include "common/strbuf.h"
#include <stdlib.h>
#include <string.h>

#define PORT_BASE_MAX    (UINT16_MAX - HW_PORTS_PER_GATEWAY + 1)
#define INTERVAL_MS_MIN  10u
#define INTERVAL_MS_MAX  60000u
#define MISSED_MAX       20u
#define WEIGHT_MAX       1000u
#define SOURCE_LINKS_MAX HW_LINKS_MAX

_Static_assert((int)LINK_ATTACHMENT == DP_CLASS_ATTACHMENT &&
                   (int)LINK_PEERING == DP_CLASS_PEERING && (int)LINK_BYPASS == DP_CLASS_BYPASS,
               "link kinds are ingress classes");
_Static_assert((int)ROUTE_LOCAL == DP_ROUTE_LOCAL && (int)ROUTE_SET == DP_ROUTE_SET &&
                   (int)ROUTE_UNREACHABLE == DP_ROUTE_UNREACHABLE,
               "route targets are the engine's route kinds");

/* Indexed by the enums that they name; classes[] + 1 are the names of link kinds. */
static const char *const roles[] = {"spoke", "transit", NULL};
static const char *const classes[] = {"site", "attachment", "peering", "bypass", NULL};
static const char *const targets[] = {"local", "set", "unreachable", NULL};

/* ---- encode ---- */

static void put_overlay(struct json_writer *w, const struct ipaddr *v4, const struct ipaddr *v6)
{
    json_open_object(w, "overlay");
    json_put_ip(w, "ipv4", v4);
    json_put_ip(w, "ipv6", v6);
    json_close(w);
}

static void put_seed(struct json_writer *w, const char *key, uint64_t seed)
{
    uint8_t bytes[8];
    char text[17];
    for (unsigned i = 0; i < 8; i++)
        bytes[i] = (uint8_t)(seed >> (56 - 8 * i));
    json_put_str(w, key, hex_encode(bytes, sizeof bytes, text));
}

static void put_gateway(struct json_writer *w, const struct gateway_config *c)
{
    json_open_object(w, "gateway");
    json_put_id(w, "id", &c->gateway_id);
    json_put_str(w, "name", c->name);
    json_put_id(w, "site_id", &c->site_id);
    json_put_str(w, "site_name", c->site_name);
    json_put_str(w, "role", roles[c->role]);
    json_put_uint(w, "port_base", c->port_base);
    put_overlay(w, &c->overlay4, &c->overlay6);
    put_seed(w, "flow_seed", c->flow_seed);
    put_seed(w, "tunnel_seed", c->tunnel_seed);
    json_close(w);
}

static void put_peer(struct json_writer *w, const struct config_peer *p)
{
    json_open_object(w, NULL);
    json_put_id(w, "gateway_id", &p->gateway_id);
    json_put_id(w, "site_id", &p->site_id);
    json_put_str(w, "name", p->name);
    put_overlay(w, &p->overlay4, &p->overlay6);
    json_open_array(w, "endpoints");
    for (size_t i = 0; i < p->n_endpoints; i++)
        json_put_ip(w, NULL, &p->endpoints[i]);
    json_close(w);
    json_close(w);
}

static void put_permission(struct json_writer *w, const struct config_permission *p)
{
    if (!p->suite)
        return;
    json_open_object(w, "permission");
    json_put_id(w, "id", &p->id);
    json_put_str(w, "suite", esp_weak_name(p->suite));
    json_put_int(w, "until", p->until);
    json_close(w);
}

static void put_link(struct json_writer *w, const struct config_link *l)
{
    json_open_object(w, NULL);
    json_put_id(w, "id", &l->id);
    if (id_is_zero(&l->connection_id))
        json_put_null(w, "connection_id");
    else
        json_put_id(w, "connection_id", &l->connection_id);
    json_put_str(w, "kind", classes[l->kind]);
    json_put_id(w, "peer_id", &l->peer_id);
    json_put_bool(w, "enabled", l->enabled);
    json_put_uint(w, "tunnels", l->tunnels);
    json_put_uint(w, "port_offset", l->port_offset);
    json_put_ip(w, "local", &l->local);
    json_put_ip(w, "remote", &l->remote);
    json_put_uint(w, "remote_port_base", l->remote_port_base);
    json_put_bool(w, "dial", l->dial);
    json_put_bool(w, "peer_dials", l->peer_dials);
    json_open_array(w, "suites");
    for (size_t i = 0; i < l->n_suites; i++) {
        const struct esp_suite *s = esp_suite_by_id(l->suite_order[i]);
        json_put_str(w, NULL, s ? s->name : NULL);
    }
    json_close(w);
    json_open_object(w, "liveness");
    json_put_uint(w, "interval_ms", l->liveness_interval_ms);
    json_put_uint(w, "missed", l->liveness_missed);
    json_close(w);
    put_permission(w, &l->permission);
    json_close(w);
}

static void put_source(struct json_writer *w, const struct config_source *s)
{
    json_open_object(w, NULL);
    json_put_prefix(w, "prefix", &s->prefix);
    json_put_uint(w, "domain", s->domain);
    json_put_bool(w, "local", s->local);
    json_open_array(w, "links");
    for (size_t i = 0; i < s->n_links; i++)
        json_put_uint(w, NULL, s->links[i]);
    json_close(w);
    json_close(w);
}

static void put_route(struct json_writer *w, const struct config_route *r)
{
    json_open_object(w, NULL);
    json_put_uint(w, "domain", r->domain);
    json_put_str(w, "ingress", classes[r->ingress]);
    json_put_prefix(w, "prefix", &r->prefix);
    json_put_str(w, "target", targets[r->target - ROUTE_LOCAL]);
    if (r->target == ROUTE_SET)
        json_put_uint(w, "set", r->set);
    json_close(w);
}

/* Buckets are run-length coded: [member, count] pairs. Some thousand of them stand in a set of
 * several members: they are printed, not built. */
static char *buckets_text(const struct config_set *s)
{
    struct strbuf b = STRBUF_INIT;
    for (unsigned i = 0, run; i < HW_BUCKETS; i += run) {
        for (run = 1; i + run < HW_BUCKETS && s->bucket[i + run] == s->bucket[i]; run++)
            ;
        strbuf_printf(&b, "%s[%u,%u]", i ? "," : "[", s->bucket[i], run);
    }
    strbuf_puts(&b, "]");
    return strbuf_take(&b);
}

static void put_set(struct json_writer *w, const struct config_set *s)
{
    json_open_object(w, NULL);
    json_open_array(w, "members");
    for (size_t i = 0; i < s->n_members; i++) {
        json_open_object(w, NULL);
        json_put_uint(w, "link", s->members[i].link);
        json_put_uint(w, "weight", s->members[i].weight);
        json_close(w);
    }
    json_close(w);
    json_put_raw(w, "buckets", buckets_text(s));
    json_close(w);
}

char *gateway_config_encode(const struct gateway_config *c, size_t *len)
{
    struct json_writer w;
    json_writer_init(&w);
    json_put_uint(&w, "version", GATEWAY_CONFIG_VERSION);
    put_gateway(&w, c);
    json_open_array(&w, "site_prefixes");
    for (size_t i = 0; i < c->n_site_prefixes; i++)
        json_put_prefix(&w, NULL, &c->site_prefixes[i]);
    json_close(&w);
    json_open_array(&w, "peers");
    for (size_t i = 0; i < c->n_peers; i++)
        put_peer(&w, &c->peers[i]);
    json_close(&w);
    json_open_array(&w, "links");
    for (size_t i = 0; i < c->n_links; i++)
        put_link(&w, &c->links[i]);
    json_close(&w);
    json_open_object(&w, "fib");
    json_open_array(&w, "sources");
    for (size_t i = 0; i < c->n_sources; i++)
        put_source(&w, &c->sources[i]);
    json_close(&w);
    json_open_array(&w, "routes");
    for (size_t i = 0; i < c->n_routes; i++)
        put_route(&w, &c->routes[i]);
    json_close(&w);
    json_open_array(&w, "sets");
    for (size_t i = 0; i < c->n_sets; i++)
        put_set(&w, &c->sets[i]);
    json_close(&w);
    json_close(&w);
    firewall_put(&w, &c->firewall);
    return json_finish(&w, len);
}

/* ---- decode: one function per object of the format ---- */

static int get_overlay(const struct json_at *at, struct ipaddr *v4, struct ipaddr *v6,
                       struct err *e)
{
    static const char *const members[] = {"ipv4", "ipv6", NULL};
    struct json_at o;
    int rc = json_get_object(at, "overlay", &o, e);
    rc = rc ? rc : json_members(&o, members, e);
    if (!rc && json_has(&o, "ipv4"))
        rc = json_get_ip(&o, "ipv4", v4, e);
    if (!rc && json_has(&o, "ipv6"))
        rc = json_get_ip(&o, "ipv6", v6, e);
    if (rc)
        return rc;
    if ((v4->family != 0 && v4->family != 4) || (v6->family != 0 && v6->family != 6))
        return json_refuse(&o, e, "address of the wrong family");
    if (v4->family == 0 && v6->family == 0)
        return json_refuse(&o, e, "no overlay address");
    return HW_OK;
}

static int get_seed(const struct json_at *at, const char *key, uint64_t *out, struct err *e)
{
    struct json_at m;
    const char *s;
    uint8_t bytes[8];
    int rc = json_member(at, key, &m, e);
    rc = rc ? rc : json_as_str(&m, 16, &s, e);
    if (rc)
        return rc;
    if (hex_decode(s, bytes, sizeof bytes) != HW_OK)
        return json_refuse(&m, e, "16 hexadecimal digits are expected");
    *out = 0;
    for (unsigned i = 0; i < 8; i++)
        *out = *out << 8 | bytes[i];
    return HW_OK;
}

static int get_nonzero_id(const struct json_at *at, const char *key, struct hw_id *out,
                          struct err *e)
{
    struct json_at m;
    int rc = json_member(at, key, &m, e);
    rc = rc ? rc : json_as_id(&m, out, e);
    if (!rc && id_is_zero(out))
        rc = json_refuse(&m, e, "the zero id is not allowed");
    return rc;
}

static int get_gateway(const struct json_at *top, struct gateway_config *c, struct err *e)
{
    static const char *const members[] = {"id",          "name",      "site_id", "site_name",
                                          "role",        "port_base", "overlay", "flow_seed",
                                          "tunnel_seed", NULL};
    struct json_at g;
    unsigned role = 0;
    int rc = json_get_object(top, "gateway", &g, e);
    rc = rc ? rc : json_members(&g, members, e);
    rc = rc ? rc : get_nonzero_id(&g, "id", &c->gateway_id, e);
    rc = rc ? rc : json_get_name(&g, "name", c->name, e);
    rc = rc ? rc : get_nonzero_id(&g, "site_id", &c->site_id, e);
    rc = rc ? rc : json_get_name(&g, "site_name", c->site_name, e);
    rc = rc ? rc : json_get_enum(&g, "role", roles, &role, e);
    rc = rc ? rc : json_get_u16(&g, "port_base", 1, PORT_BASE_MAX, &c->port_base, e);
    rc = rc ? rc : get_overlay(&g, &c->overlay4, &c->overlay6, e);
    rc = rc ? rc : get_seed(&g, "flow_seed", &c->flow_seed, e);
    rc = rc ? rc : get_seed(&g, "tunnel_seed", &c->tunnel_seed, e);
    c->role = (enum site_role)role;
    return rc;
}

static int get_site_prefixes(const struct json_at *top, struct gateway_config *c, struct err *e)
{
    struct json_at a;
    size_t n = 0;
    int rc = json_get_room(top, "site_prefixes", HW_SITE_CIDRS_MAX, sizeof *c->site_prefixes, &a,
                           &c->site_prefixes, &n, e);
    if (rc || n == 0)
        return rc;
    for (size_t i = 0; i < n && !rc; i++) {
        struct json_at v = json_element(&a, i);
        rc = json_as_prefix(&v, &c->site_prefixes[i], e);
        for (size_t j = 0; j < i && !rc; j++)
            if (prefix_overlaps(&c->site_prefixes[j], &c->site_prefixes[i]))
                rc = json_refuse(&v, e, "overlaps with another prefix of the site");
        c->n_site_prefixes = i + 1;
    }
    return rc;
}

static int get_endpoints(const struct json_at *at, struct config_peer *p, struct err *e)
{
    struct json_at a;
    int rc = json_get_array(at, "endpoints", HW_ENDPOINTS_MAX, &a, &p->n_endpoints, e);
    for (size_t i = 0; i < p->n_endpoints && !rc; i++) {
        struct json_at v = json_element(&a, i);
        rc = json_as_ip(&v, &p->endpoints[i], e);
        for (size_t j = 0; j < i && !rc; j++)
            if (ipaddr_equal(&p->endpoints[j], &p->endpoints[i]))
                rc = json_refuse(&v, e, "stands twice");
    }
    return rc;
}

static const struct config_peer *find_peer(const struct gateway_config *c, const struct hw_id *id)
{
    for (size_t i = 0; i < c->n_peers; i++)
        if (id_equal(&c->peers[i].gateway_id, id))
            return &c->peers[i];
    return NULL;
}

static int get_peer(const struct json_at *at, const struct gateway_config *c, struct config_peer *p,
                    struct err *e)
{
    static const char *const members[] = {"gateway_id", "site_id",   "name",
                                          "overlay",    "endpoints", NULL};
    int rc = json_members(at, members, e);
    rc = rc ? rc : get_nonzero_id(at, "gateway_id", &p->gateway_id, e);
    rc = rc ? rc : get_nonzero_id(at, "site_id", &p->site_id, e);
    rc = rc ? rc : json_get_name(at, "name", p->name, e);
    rc = rc ? rc : get_overlay(at, &p->overlay4, &p->overlay6, e);
    rc = rc ? rc : get_endpoints(at, p, e);
    if (!rc && (id_equal(&p->gateway_id, &c->gateway_id) || find_peer(c, &p->gateway_id)))
        rc = json_refuse(at, e, "gateway stands twice");
    return rc;
}

static int get_peers(const struct json_at *top, struct gateway_config *c, struct err *e)
{
    struct json_at a;
    size_t n = 0;
    int rc = json_get_room(top, "peers", HW_LINKS_MAX, sizeof *c->peers, &a, &c->peers, &n, e);
    if (rc || n == 0)
        return rc;
    for (size_t i = 0; i < n && !rc; i++) {
        struct json_at v = json_element(&a, i);
        rc = get_peer(&v, c, &c->peers[i], e);
        c->n_peers = i + 1;
    }
    return rc;
}

static int get_suites(const struct json_at *at, struct config_link *l, struct err *e)
{
    struct json_at a;
    int rc = json_get_array(at, "suites", sizeof l->suite_order, &a, &l->n_suites, e);
    if (!rc && l->n_suites == 0)
        rc = json_refuse(&a, e, "no suite");
    for (size_t i = 0; i < l->n_suites && !rc; i++) {
        struct json_at v = json_element(&a, i);
        const char *name = NULL;
        rc = json_as_str(&v, HW_TEXT_MAX, &name, e);
        if (rc)
            break;
        const struct esp_suite *s = esp_suite_by_name(name);
        if (!s || l->suites & 1u << s->id)
            return json_refuse(&v, e, s ? "stands twice" : "unknown suite");
        l->suites |= 1u << s->id;
        l->suite_order[i] = s->id;
    }
    return rc;
}

static int get_liveness(const struct json_at *at, struct config_link *l, struct err *e)
{
    static const char *const members[] = {"interval_ms", "missed", NULL};
    struct json_at o;
    int rc = json_get_object(at, "liveness", &o, e);
    rc = rc ? rc : json_members(&o, members, e);
    rc = rc ? rc
            : json_get_u32(&o, "interval_ms", INTERVAL_MS_MIN, INTERVAL_MS_MAX,
                           &l->liveness_interval_ms, e);
    rc = rc ? rc : json_get_u32(&o, "missed", 1, MISSED_MAX, &l->liveness_missed, e);
    return rc;
}

static int get_permission(const struct json_at *at, struct config_permission *p, struct err *e)
{
    static const char *const members[] = {"id", "suite", "until", NULL};
    static const char *const suites[] = {"none", "aes-256-gmac", NULL};
    struct json_at o;
    unsigned suite = 0;
    if (json_presence(at, "permission") == JSON_ABSENT)
        return 0;
    int rc = json_get_object(at, "permission", &o, e);
    rc = rc ? rc : json_members(&o, members, e);
    rc = rc ? rc : get_nonzero_id(&o, "id", &p->id, e);
    rc = rc ? rc : json_get_enum(&o, "suite", suites, &suite, e);
    rc = rc ? rc : json_get_int(&o, "until", 1, INT64_MAX, &p->until, e);
    if (!rc)
        p->suite = (uint8_t)esp_weak_by_name(suites[suite]);
    return rc;
}

/* The members that stand alone; get_link checks what they mean together. */
static int get_link_members(const struct json_at *at, struct config_link *l, struct err *e)
{
    unsigned kind = 0;
    int rc = get_nonzero_id(at, "id", &l->id, e);
    if (!rc && json_presence(at, "connection_id") != JSON_NULL)
        rc = get_nonzero_id(at, "connection_id", &l->connection_id, e);
    rc = rc ? rc : json_get_enum(at, "kind", classes + 1, &kind, e);
    l->kind = (enum link_kind)(kind + LINK_ATTACHMENT);
    rc = rc ? rc : json_get_id(at, "peer_id", &l->peer_id, e);
    rc = rc ? rc : json_get_bool(at, "enabled", &l->enabled, e);
    rc = rc ? rc : json_get_u32(at, "tunnels", 1, HW_TUNNELS_PER_LINK_MAX, &l->tunnels, e);
    rc = rc ? rc : json_get_u32(at, "port_offset", 0, HW_PORTS_PER_GATEWAY - 1, &l->port_offset, e);
    rc = rc ? rc : json_get_ip(at, "local", &l->local, e);
    rc = rc ? rc : json_get_ip(at, "remote", &l->remote, e);
    rc = rc ? rc : json_get_u16(at, "remote_port_base", 1, PORT_BASE_MAX, &l->remote_port_base, e);
    rc = rc ? rc : json_get_bool(at, "dial", &l->dial, e);
    rc = rc ? rc : json_get_bool(at, "peer_dials", &l->peer_dials, e);
    rc = rc ? rc : get_suites(at, l, e);
    rc = rc ? rc : get_liveness(at, l, e);
    rc = rc ? rc : get_permission(at, &l->permission, e);
    return rc;
}

static int get_link(const struct json_at *at, const struct gateway_config *c, struct config_link *l,
                    struct err *e)
{
    static const char *const members[] = {
        "id",      "connection_id",    "kind",        "peer_id",
        "enabled", "tunnels",          "port_offset", "local",
        "remote",  "remote_port_base", "dial",        "peer_dials",
        "suites",  "liveness",         "permission",  NULL};
    int rc = json_members(at, members, e);
    rc = rc ? rc : get_link_members(at, l, e);
    if (rc)
        return rc;
    if ((l->kind == LINK_BYPASS) != id_is_zero(&l->connection_id))
        return json_refuse(at, e, "connection_id is null for a bypass link and for no other");
    if (l->kind == LINK_BYPASS && l->permission.suite)
        return json_refuse(at, e, "a bypass link is always encrypted");
    if (!find_peer(c, &l->peer_id))
        return json_refuse(at, e, "peer_id is none of the peers");
    if (l->local.family != l->remote.family)
        return json_refuse(at, e, "local and remote are of different families");
    for (size_t i = 0; i < c->n_links; i++)
        if (id_equal(&c->links[i].id, &l->id))
            return json_refuse(at, e, "link stands twice");
    return HW_OK;
}

static int get_links(const struct json_at *top, struct gateway_config *c, struct err *e)
{
    struct json_at a;
    size_t n = 0, tunnels = 0;
    int rc = json_get_room(top, "links", HW_LINKS_MAX, sizeof *c->links, &a, &c->links, &n, e);
    if (rc || n == 0)
        return rc;
    for (size_t i = 0; i < n && !rc; i++) {
        struct json_at v = json_element(&a, i);
        rc = get_link(&v, c, &c->links[i], e);
        c->n_links = i + 1;
        tunnels += c->links[i].tunnels;
    }
    if (!rc && tunnels > HW_TUNNELS_MAX)
        rc = json_refuse(&a, e, "%zu tunnels, at most %d are allowed", tunnels, HW_TUNNELS_MAX);
    return rc;
}

static int get_source(const struct json_at *at, const struct gateway_config *c,
                      struct config_source *s, struct err *e)
{
    static const char *const members[] = {"prefix", "domain", "local", "links", NULL};
    struct json_at a;
    size_t n = 0;
    int rc = json_members(at, members, e);
    rc = rc ? rc : json_get_prefix(at, "prefix", &s->prefix, e);
    rc = rc ? rc : json_get_u32(at, "domain", 0, HW_DOMAINS_MAX - 1, &s->domain, e);
    rc = rc ? rc : json_get_bool(at, "local", &s->local, e);
    rc = rc ? rc
            : json_get_room(at, "links", SOURCE_LINKS_MAX, sizeof *s->links, &a, &s->links, &n, e);
    if (rc || n == 0)
        return rc;
    for (size_t i = 0; i < n && !rc; i++) {
        struct json_at v = json_element(&a, i);
        uint64_t index = 0;
        rc = json_as_uint(&v, 0, UINT32_MAX, &index, e);
        if (!rc && index >= c->n_links)
            rc = json_refuse(&v, e, "there is no link %llu", (unsigned long long)index);
        /* Canonical order makes "each once" cheap to check. */
        if (!rc && i > 0 && index <= s->links[i - 1])
            rc = json_refuse(&v, e, "indexes must rise");
        s->links[i] = (uint32_t)index;
        s->n_links = i + 1;
    }
    return rc;
}

static int get_sources(const struct json_at *fib, struct gateway_config *c, struct err *e)
{
    struct json_at a;
    size_t n = 0;
    int rc = json_get_room(fib, "sources", HW_FIB_SOURCES_MAX, sizeof *c->sources, &a, &c->sources,
                           &n, e);
    if (rc || n == 0)
        return rc;
    for (size_t i = 0; i < n && !rc; i++) {
        struct json_at v = json_element(&a, i);
        c->n_sources = i + 1;
        rc = get_source(&v, c, &c->sources[i], e);
    }
    return rc;
}

static int get_route(const struct json_at *at, const struct gateway_config *c,
                     struct config_route *r, struct err *e)
{
    static const char *const members[] = {"domain", "ingress", "prefix", "target", "set", NULL};
    unsigned target = 0;
    int rc = json_members(at, members, e);
    rc = rc ? rc : json_get_u32(at, "domain", 0, HW_DOMAINS_MAX - 1, &r->domain, e);
    rc = rc ? rc : json_get_enum(at, "ingress", classes, &r->ingress, e);
    rc = rc ? rc : json_get_prefix(at, "prefix", &r->prefix, e);
    rc = rc ? rc : json_get_enum(at, "target", targets, &target, e);
    if (rc)
        return rc;
    r->target = (enum config_route_target)(target + ROUTE_LOCAL);
    if (r->target != ROUTE_SET)
        return json_presence(at, "set") == JSON_ABSENT
                   ? HW_OK
                   : json_refuse(at, e, "set belongs to target \"set\" alone");
    if (c->n_sets == 0)
        return json_refuse(at, e, "there are no sets");
    return json_get_u32(at, "set", 0, (uint32_t)c->n_sets - 1, &r->set, e);
}

static int get_routes(const struct json_at *fib, struct gateway_config *c, struct err *e)
{
    struct json_at a;
    size_t n = 0;
    int rc =
        json_get_room(fib, "routes", HW_FIB_ROUTES_MAX, sizeof *c->routes, &a, &c->routes, &n, e);
    if (rc || n == 0)
        return rc;
    for (size_t i = 0; i < n && !rc; i++) {
        struct json_at v = json_element(&a, i);
        rc = get_route(&v, c, &c->routes[i], e);
        c->n_routes = i + 1;
    }
    return rc;
}

static int get_members(const struct json_at *at, const struct gateway_config *c,
                       struct config_set *s, struct err *e)
{
    static const char *const members[] = {"link", "weight", NULL};
    struct json_at a;
    size_t n = 0;
    int rc = json_get_array(at, "members", HW_FIB_SET_MEMBERS_MAX, &a, &n, e);
    if (rc)
        return rc;
    if (n == 0)
        return json_refuse(&a, e, "a set needs a member");
    if (c->n_links == 0)
        return json_refuse(&a, e, "there are no links");
    s->members = calloc(n, sizeof *s->members);
    if (!s->members)
        return err_set(e, HW_ENOMEM, "out of memory");
    for (size_t i = 0; i < n && !rc; i++) {
        struct json_at v = json_element(&a, i);
        struct config_member *m = &s->members[i];
        rc = json_members(&v, members, e);
        rc = rc ? rc : json_get_u32(&v, "link", 0, (uint32_t)c->n_links - 1, &m->link, e);
        rc = rc ? rc : json_get_u32(&v, "weight", 1, WEIGHT_MAX, &m->weight, e);
        for (size_t j = 0; j < i && !rc; j++)
            if (s->members[j].link == m->link)
                rc = json_refuse(&v, e, "link stands twice");
        s->n_members = i + 1;
    }
    return rc;
}

/* One [member, count] pair; *filled moves on by count. */
static int get_run(const struct json_at *at, struct config_set *s, unsigned *filled, struct err *e)
{
    uint64_t member = 0, count = 0;
    struct json_at first = json_element(at, 0), second = json_element(at, 1);
    if (json_length(at) != 2)
        return json_refuse(at, e, "[member, count] is expected");
    int rc = json_as_uint(&first, 0, s->n_members - 1, &member, e);
    rc = rc ? rc : json_as_uint(&second, 1, HW_BUCKETS, &count, e);
    if (rc)
        return rc;
    if (count > HW_BUCKETS - *filled)
        return json_refuse(at, e, "more than %d buckets", HW_BUCKETS);
    memset(s->bucket + *filled, (int)member, count);
    *filled += (unsigned)count;
    return HW_OK;
}

static int get_buckets(const struct json_at *at, struct config_set *s, struct err *e)
{
    struct json_at a;
    size_t n = 0;
    unsigned filled = 0;
    int rc = json_get_array(at, "buckets", HW_BUCKETS, &a, &n, e);
    for (size_t i = 0; i < n && !rc; i++) {
        struct json_at v = json_element(&a, i);
        rc = get_run(&v, s, &filled, e);
    }
    if (!rc && filled != HW_BUCKETS)
        rc = json_refuse(&a, e, "%u buckets, not %d", filled, HW_BUCKETS);
    return rc;
}

static int get_sets(const struct json_at *fib, struct gateway_config *c, struct err *e)
{
    static const char *const members[] = {"members", "buckets", NULL};
    struct json_at a;
    size_t n = 0;
    int rc = json_get_room(fib, "sets", HW_FIB_SETS_MAX, sizeof *c->sets, &a, &c->sets, &n, e);
    if (rc || n == 0)
        return rc;
    for (size_t i = 0; i < n && !rc; i++) {
        struct json_at v = json_element(&a, i);
        c->n_sets = i + 1;
        rc = json_members(&v, members, e);
        rc = rc ? rc : get_members(&v, c, &c->sets[i], e);
        rc = rc ? rc : get_buckets(&v, &c->sets[i], e);
    }
    return rc;
}

/* ---- what entries mean together ---- */

static int cmp_source(const void *a, const void *b)
{
    const struct config_source *const *x = a, *const *y = b;
    return prefix_cmp(&(*x)->prefix, &(*y)->prefix);
}

static int cmp_route(const void *a, const void *b)
{
    const struct config_route *const *x = a, *const *y = b;
    if ((*x)->domain != (*y)->domain)
        return (*x)->domain < (*y)->domain ? -1 : 1;
    if ((*x)->ingress != (*y)->ingress)
        return (*x)->ingress < (*y)->ingress ? -1 : 1;
    return prefix_cmp(&(*x)->prefix, &(*y)->prefix);
}

/* No two of n entries of `size` bytes are equal by `cmp`. Sorts pointers to them; *twice gets the
 * index of one that stands twice, or n. */
static int find_equal(const void *entries, size_t n, size_t size,
                      int (*cmp)(const void *, const void *), size_t *twice, struct err *e)
{
    const char *base = entries;
    *twice = n;
    if (n < 2)
        return HW_OK;
    const void **sorted = calloc(n, sizeof *sorted);
    if (!sorted)
        return err_set(e, HW_ENOMEM, "out of memory");
    for (size_t i = 0; i < n; i++)
        sorted[i] = base + i * size;
    qsort(sorted, n, sizeof *sorted, cmp);
    for (size_t i = 1; i < n && *twice == n; i++)
        if (cmp(&sorted[i - 1], &sorted[i]) == 0)
            *twice = (size_t)((const char *)sorted[i] - base) / size;
    free(sorted);
    return HW_OK;
}

static int check_unique(const struct gateway_config *c, struct err *e)
{
    size_t twice;
    int rc = find_equal(c->sources, c->n_sources, sizeof *c->sources, cmp_source, &twice, e);
    if (!rc && twice < c->n_sources)
        rc = err_set_field(e, HW_EINVAL, "fib.sources", "element %zu: prefix stands twice", twice);
    if (rc)
        return rc;
    rc = find_equal(c->routes, c->n_routes, sizeof *c->routes, cmp_route, &twice, e);
    if (!rc && twice < c->n_routes)
        rc = err_set_field(e, HW_EINVAL, "fib.routes", "element %zu: route stands twice", twice);
    return rc;
}

static int decode_top(const struct json_at *top, struct gateway_config *c, struct err *e)
{
    static const char *const members[] = {"version", "gateway", "site_prefixes", "peers",
                                          "links",   "fib",     "firewall",      NULL};
    static const char *const fib_members[] = {"sources", "routes", "sets", NULL};
    struct json_at fib;
    uint64_t version;
    int rc = json_members(top, members, e);
    rc = rc ? rc
            : json_get_uint(top, "version", GATEWAY_CONFIG_VERSION, GATEWAY_CONFIG_VERSION,
                            &version, e);
    rc = rc ? rc : get_gateway(top, c, e);
    rc = rc ? rc : get_site_prefixes(top, c, e);
    rc = rc ? rc : get_peers(top, c, e);
    rc = rc ? rc : get_links(top, c, e);
    rc = rc ? rc : json_get_object(top, "fib", &fib, e);
    rc = rc ? rc : json_members(&fib, fib_members, e);
    rc = rc ? rc : get_sets(&fib, c, e);
    rc = rc ? rc : get_sources(&fib, c, e);
    rc = rc ? rc : get_routes(&fib, c, e);
    rc = rc ? rc : check_unique(c, e);
    rc = rc ? rc : firewall_get(top, &c->firewall, e);
    return rc;
}

int gateway_config_decode(const char *json, size_t len, struct gateway_config *out, struct err *e)
{
    struct json_object *doc;
    struct gateway_config c = {0};
    int rc = json_parse(json, len, HW_CONFIG_BODY_MAX, &doc, e);
    if (rc)
        return rc;
    struct json_at top = json_root(doc);
    rc = decode_top(&top, &c, e);
    json_free(doc);
    if (rc)
        gateway_config_done(&c);
    else
        *out = c;
    return rc;
}

void gateway_config_done(struct gateway_config *c)
{
    if (!c)
        return;
    for (size_t i = 0; i < c->n_sources; i++)
        free(c->sources[i].links);
    for (size_t i = 0; i < c->n_sets; i++)
        free(c->sets[i].members);
    free(c->site_prefixes);
    free(c->peers);
    free(c->links);
    free(c->sources);
    free(c->routes);
    free(c->sets);
    firewall_done(&c->firewall);
    *c = (struct gateway_config){0};
}
