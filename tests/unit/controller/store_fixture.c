#include "tests/unit/controller/store_fixture.h"
#include "common/esp_suite.h"
#include "controller/ca/ca.h"
#include "controller/push/hub.h"
#include "controller/store/overlay_pools.h"
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void must(int rc, const struct err *e)
{
    if (!rc)
        return;
    (void)fprintf(stderr, "store fixture: %s\n", e->text);
    abort();
}

static void note(void *arg, uint64_t ticket)
{
    struct store_fixture *f = arg;
    if (f->n_woken < sizeof f->woken / sizeof *f->woken)
        f->woken[f->n_woken++] = ticket;
}

struct db *store_fixture_begin(struct store_fixture *f, enum store_write_kind kind)
{
    struct db *db = NULL;
    struct err e = {0};
    must(store_begin(f->app.store, kind, &db, &e), &e);
    return db;
}

void store_fixture_commit(struct db *db)
{
    struct err e = {0};
    must(store_commit(db, &e), &e);
}

static void add_site(struct store_fixture *f, struct db *db, unsigned i, const char *name,
                     enum site_role role)
{
    struct err e = {0};
    struct store_site *s = &f->sites[i];
    char cidr[32], address[32];
    *s = (struct store_site){.id = id_new(),
                             .provider = "onprem",
                             .domain = "default",
                             .takeover = "none",
                             .role = role};
    (void)snprintf(s->name, sizeof s->name, "%s", name);
    (void)snprintf(cidr, sizeof cidr, "10.%u.0.0/16", i + 1);
    must(prefix_parse(cidr, &s->cidrs[s->n_cidrs++], NULL), &e);
    must(store_site_insert(db, s, &e), &e);
    struct store_gateway *g = &f->gateways[i];
    *g = (struct store_gateway){.id = id_new(),
                                .site_id = s->id,
                                .port_base = 4510,
                                .weight = 100,
                                .state = GATEWAY_ENROLLED,
                                .n_endpoints = 1};
    (void)snprintf(g->name, sizeof g->name, "gw-%s1", name);
    (void)snprintf(address, sizeof address, "10.%u.0.1", i + 1);
    must(ipaddr_parse(address, &g->endpoints[0].address), &e);
    g->endpoints[0].reachable = true;
    must(store_gateway_insert(db, g, &e), &e);
}

static void add_connection(struct store_fixture *f, struct db *db, unsigned i, const char *name,
                           unsigned spoke)
{
    struct err e = {0};
    struct store_connection *c = &f->connections[i];
    *c = (struct store_connection){.id = id_new(),
                                   .site_a_id = f->sites[spoke].id,
                                   .site_b_id = f->sites[1].id,
                                   .kind = LINK_ATTACHMENT,
                                   .suites = {ESP_SUITE_AES_256_GCM},
                                   .n_suites = 1,
                                   .enabled = true,
                                   .liveness_interval_ms = 1000,
                                   .liveness_missed = 3};
    (void)snprintf(c->name, sizeof c->name, "%s", name);
    must(store_connection_insert(db, c, &e), &e);
}

void store_fixture_init(struct store_fixture *f)
{
    struct err e = {0};
    const struct prefix pools[OVERLAY_POOLS] = {0};
    char path[128];
    *f = (struct store_fixture){.dir = "/tmp/store_fixture.XXXXXX"};
    if (!mkdtemp(f->dir))
        abort();
    (void)snprintf(path, sizeof path, "%s/hawser.db", f->dir);
    must(store_open(path, true, &f->app.store, &e), &e);
    must(ca_create(f->dir, STORE_FIXTURE_NOW, &e), &e);
    must(ca_open(f->dir, STORE_FIXTURE_NOW, &f->app.ca, &e), &e);
    must(hub_new(note, f, &f->app.hub, &e), &e);
    struct db *db = store_fixture_begin(f, STORE_CHANGE);
    must(store_overlay_pools_set(db, pools, &e), &e);
    add_site(f, db, 0, "a", SITE_SPOKE);
    add_site(f, db, 1, "t", SITE_TRANSIT);
    add_site(f, db, 2, "b", SITE_SPOKE);
    add_connection(f, db, 0, "a-t", 0);
    add_connection(f, db, 1, "b-t", 2);
    store_fixture_commit(db);
}

void store_fixture_done(struct store_fixture *f)
{
    static const char *const files[] = {
        "hawser.db",          "hawser.db-wal",  "hawser.db-shm",
        "gateway-ca.pem",     "gateway-ca.key", "agent-listener.pem",
        "agent-listener.key", "config.pem",     "config.key"};
    hub_free(f->app.hub);
    ca_free(f->app.ca);
    store_close(f->app.store);
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        char path[128];
        (void)snprintf(path, sizeof path, "%s/%s", f->dir, files[i]);
        (void)unlink(path);
    }
    if (rmdir(f->dir))
        abort();
    for (size_t i = 0; i < 3; i++)
        store_gateway_done(&f->gateways[i]);
}
