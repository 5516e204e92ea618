#include "tests/unit/controller/fleet_fixture.h"
#include "common/bytes.h"
#include "common/esp_suite.h"
#include "common/fsutil.h"
#include "common/json.h"
#include <stdio.h>
#include <stdlib.h>

static _Noreturn void stop(const char *what, const struct err *e)
{
    (void)fprintf(stderr, "fixture: %s: %s %s\n", what, e ? e->field : "", e ? e->text : "");
    abort();
}

struct hw_id fixture_id(const char kind[4], unsigned number)
{
    struct hw_id id = {{0}};
    memcpy(id.b, kind, 4);
    id.b[6] = 0x40;
    id.b[8] = 0x80;
    store_be32(id.b + 12, number);
    return id;
}

static struct hw_id next_link_id(void *arg)
{
    struct fixture *f = arg;
    return fixture_id("link", ++f->next_link_id);
}

struct fixture *fixture_new(void)
{
    struct fixture *f = calloc(1, sizeof *f);
    if (!f)
        abort();
    f->t = (struct topology){.sites = f->sites,
                             .gateways = f->gateways,
                             .connections = f->connections,
                             .links = f->links,
                             .domains = f->domains,
                             .joins = f->joins,
                             .flow_seed = 0x0123456789abcdef,
                             .tunnel_seed = 0xfedcba9876543210,
                             .new_id = next_link_id,
                             .new_id_arg = f};
    return f;
}

void fixture_free(struct fixture *f)
{
    free(f);
}

void fixture_prefix(struct fixture *f, size_t site, const char *prefix)
{
    struct topo_site *s = &f->sites[site];
    if (s->n_prefixes == FIXTURE_PREFIXES ||
        prefix_parse(prefix, &f->prefixes[site][s->n_prefixes], NULL))
        stop(prefix, NULL);
    s->n_prefixes++;
}

size_t fixture_site(struct fixture *f, const char *name, enum site_role role, const char *prefixes)
{
    size_t i = f->t.n_sites++;
    if (i >= FIXTURE_SITES)
        stop("too many sites", NULL);
    f->sites[i] = (struct topo_site){.id = fixture_id("site", (unsigned)i + 1),
                                     .domain = "default",
                                     .role = role,
                                     .prefixes = f->prefixes[i]};
    (void)snprintf(f->sites[i].name, sizeof f->sites[i].name, "%s", name);
    char copy[256];
    (void)snprintf(copy, sizeof copy, "%s", prefixes);
    for (char *save, *p = strtok_r(copy, " ", &save); p; p = strtok_r(NULL, " ", &save))
        fixture_prefix(f, i, p);
    return i;
}

static void add_endpoint(struct topo_gateway *g, char *text)
{
    struct topo_endpoint p = {.reachable = true, .on_host = true};
    size_t len = strlen(text);
    if (len && text[len - 1] == '!') {
        p.reachable = false;
        text[len - 1] = '\0';
    }
    if (*text == '+') {
        p.scope = TOPO_PUBLIC;
        text++;
    }
    if (*text == '~') {
        p.on_host = false;
        text++;
    }
    if (ipaddr_parse(text, &p.address) || g->n_endpoints == HW_ENDPOINTS_MAX)
        stop(text, NULL);
    g->endpoints[g->n_endpoints++] = p;
}

size_t fixture_gateway(struct fixture *f, size_t site, const char *name, const char *endpoints)
{
    size_t i = f->t.n_gateways++;
    if (i >= FIXTURE_GATEWAYS)
        stop("too many gateways", NULL);
    struct topo_gateway *g = &f->gateways[i];
    *g = (struct topo_gateway){.id = fixture_id("gate", (unsigned)i + 1),
                               .site_id = f->sites[site].id,
                               .state = TOPO_GATEWAY_ENROLLED,
                               .port_base = HW_PORT_BASE_DEFAULT,
                               .weight = 100};
    char text[64];
    (void)snprintf(g->name, sizeof g->name, "%s", name);
    (void)snprintf(text, sizeof text, "100.127.0.%u", (unsigned)i + 1);
    (void)ipaddr_parse(text, &g->overlay4);
    (void)snprintf(text, sizeof text, "fd77::%x", (unsigned)i + 1);
    (void)ipaddr_parse(text, &g->overlay6);
    char copy[256];
    (void)snprintf(copy, sizeof copy, "%s", endpoints);
    for (char *save, *p = strtok_r(copy, " ", &save); p; p = strtok_r(NULL, " ", &save))
        add_endpoint(g, p);
    return i;
}

size_t fixture_connection(struct fixture *f, const char *name, size_t site_a, size_t site_b)
{
    size_t i = f->t.n_connections++;
    if (i >= FIXTURE_CONNECTIONS)
        stop("too many connections", NULL);
    f->connections[i] = (struct topo_connection){.id = fixture_id("conn", (unsigned)i + 1),
                                                 .site_a = f->sites[site_a].id,
                                                 .site_b = f->sites[site_b].id,
                                                 .suite_order = {ESP_SUITE_AES_256_GCM},
                                                 .n_suites = 1,
                                                 .enabled = true,
                                                 .liveness_interval_ms = TOPOLOGY_INTERVAL_DEFAULT,
                                                 .liveness_missed = TOPOLOGY_MISSED_DEFAULT};
    (void)snprintf(f->connections[i].name, sizeof f->connections[i].name, "%s", name);
    return i;
}

void fixture_keep(struct fixture *f, const struct plan *p)
{
    if (p->n_links > FIXTURE_LINKS || p->n_domains > FIXTURE_SITES)
        stop("too many links", NULL);
    f->t.n_links = p->n_links;
    for (size_t i = 0; i < p->n_links; i++) {
        const struct planned_link *l = &p->links[i];
        f->links[i] = (struct topo_link){.id = l->id,
                                         .connection_id = l->connection_id,
                                         .gateway_a = l->gateway_a,
                                         .gateway_b = l->gateway_b,
                                         .enabled = true,
                                         .port_offset = l->port_offset};
    }
    f->t.n_domains = p->n_domains;
    for (size_t i = 0; i < p->n_domains; i++)
        f->domains[i] = p->domains[i];
    if (p->n_joins > sizeof f->joins / sizeof *f->joins)
        stop("too many joins", NULL);
    f->t.n_joins = p->n_joins;
    for (size_t i = 0; i < p->n_joins; i++)
        f->joins[i] = p->joins[i];
}

/* ---- from a file ---- */

static size_t site_named(const struct fixture *f, const char *name)
{
    for (size_t i = 0; i < f->t.n_sites; i++)
        if (strcmp(f->sites[i].name, name) == 0)
            return i;
    stop(name, NULL);
}

static const char *text_of(const struct json_at *at, const char *key, const char *otherwise)
{
    const char *s = otherwise;
    struct err e = {0};
    if ((json_has(at, key) || !otherwise) && json_get_str(at, key, 250, &s, &e))
        stop(key, &e);
    return s;
}

static unsigned number_of(const struct json_at *at, const char *key, unsigned otherwise)
{
    uint64_t v = otherwise;
    struct err e = {0};
    if (json_has(at, key) && json_get_uint(at, key, 0, 65535, &v, &e))
        stop(key, &e);
    return (unsigned)v;
}

static bool flag_of(const struct json_at *at, const char *key, bool otherwise)
{
    bool v = otherwise;
    struct err e = {0};
    if (json_has(at, key) && json_get_bool(at, key, &v, &e))
        stop(key, &e);
    return v;
}

static void read_site(struct fixture *f, const struct json_at *at)
{
    bool transit = strcmp(text_of(at, "role", NULL), "transit") == 0;
    size_t i = fixture_site(f, text_of(at, "name", NULL), transit ? SITE_TRANSIT : SITE_SPOKE,
                            text_of(at, "prefixes", NULL));
    (void)snprintf(f->sites[i].domain, sizeof f->sites[i].domain, "%s",
                   text_of(at, "domain", "default"));
}

static void read_gateway(struct fixture *f, const struct json_at *at)
{
    size_t i = fixture_gateway(f, site_named(f, text_of(at, "site", NULL)),
                               text_of(at, "name", NULL), text_of(at, "endpoints", ""));
    struct topo_gateway *g = &f->gateways[i];
    const char *state = text_of(at, "state", "enrolled");
    if (strcmp(state, "enrolled") != 0)
        g->state = strcmp(state, "pending") == 0 ? TOPO_GATEWAY_PENDING : TOPO_GATEWAY_REVOKED;
    g->weight = number_of(at, "weight", 100);
    g->workers = number_of(at, "workers", 0);
    g->vcpus = number_of(at, "vcpus", 0);
    (void)snprintf(g->size, sizeof g->size, "%s", text_of(at, "size", ""));
    g->port_base = (uint16_t)number_of(at, "port_base", HW_PORT_BASE_DEFAULT);
}

static void read_suites(struct topo_connection *c, const char *names)
{
    char copy[64];
    (void)snprintf(copy, sizeof copy, "%s", names);
    c->n_suites = 0;
    for (char *save, *p = strtok_r(copy, " ", &save); p; p = strtok_r(NULL, " ", &save)) {
        const struct esp_suite *s = esp_suite_by_name(p);
        if (!s)
            stop(p, NULL);
        c->suite_order[c->n_suites++] = s->id;
    }
}

static void read_connection(struct fixture *f, const struct json_at *at)
{
    size_t i =
        fixture_connection(f, text_of(at, "name", NULL), site_named(f, text_of(at, "a", NULL)),
                           site_named(f, text_of(at, "b", NULL)));
    struct topo_connection *c = &f->connections[i];
    const char *path = text_of(at, "path", "auto");
    c->path = strcmp(path, "private") == 0  ? TOPO_PATH_PRIVATE
              : strcmp(path, "public") == 0 ? TOPO_PATH_PUBLIC
                                            : TOPO_PATH_AUTO;
    c->underlay_family = number_of(at, "family", 0);
    c->tunnels = number_of(at, "tunnels", 0);
    c->enabled = flag_of(at, "enabled", true);
    read_suites(c, text_of(at, "suites", "aes-256-gcm"));
    c->permission.suite = (uint8_t)esp_weak_by_name(text_of(at, "permission", ""));
    if (c->permission.suite) {
        c->permission.id = fixture_id("perm", (unsigned)i + 1);
        c->permission.until = 1800000000;
    }
}

static void read_join(struct fixture *f, const struct json_at *at)
{
    f->joins[f->t.n_joins++] =
        (struct topo_join){.site_a = f->sites[site_named(f, text_of(at, "a", NULL))].id,
                           .site_b = f->sites[site_named(f, text_of(at, "b", NULL))].id};
}

static void read_all(struct fixture *f, const struct json_at *root, const char *key,
                     void (*read)(struct fixture *, const struct json_at *))
{
    struct json_at array;
    size_t n;
    struct err e = {0};
    if (json_get_array(root, key, 1000, &array, &n, &e))
        stop(key, &e);
    for (size_t i = 0; i < n; i++) {
        struct json_at at = json_element(&array, i);
        read(f, &at);
    }
}

struct fixture *fixture_read(const char *path)
{
    char *text;
    size_t len;
    struct err e = {0};
    struct json_object *doc;
    if (fsutil_read(path, 1u << 20, &text, &len, &e) || json_parse(text, len, 1u << 20, &doc, &e))
        stop(path, &e);
    free(text);
    struct fixture *f = fixture_new();
    struct json_at root = json_root(doc);
    read_all(f, &root, "sites", read_site);
    read_all(f, &root, "gateways", read_gateway);
    read_all(f, &root, "connections", read_connection);
    if (json_has(&root, "joins"))
        read_all(f, &root, "joins", read_join);
    json_free(doc);
    return f;
}
