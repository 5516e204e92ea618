#include "tests/unit/controller/store_file.h"
#include "common/esp_suite.h"
#include "controller/store/overlay_pools.h"
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static char dir[] = "/tmp/hawser-store-XXXXXX";
char path[64];
struct store *store;

void fresh(void)
{
    static const char *const suffix[] = {"", "-wal", "-shm"};
    store_close(store);
    store = NULL;
    for (int i = 0; i < 3; i++) {
        char name[80];
        (void)snprintf(name, sizeof name, "%s%s", path, suffix[i]);
        (void)unlink(name);
    }
    CU_ASSERT_EQUAL_FATAL(store_open(path, true, &store, NULL), 0);
}

struct db *begin(enum store_write_kind kind)
{
    struct db *db = NULL;
    CU_ASSERT_EQUAL_FATAL(store_begin(store, kind, &db, NULL), 0);
    return db;
}

struct prefix prefix(const char *text)
{
    struct prefix p = {0};
    CU_ASSERT_EQUAL_FATAL(prefix_parse(text, &p, NULL), 0);
    return p;
}

struct store_site site(const char *name, const char *cidr)
{
    struct store_site s = {
        .id = id_new(), .provider = "aws", .domain = "default", .takeover = "none"};
    (void)snprintf(s.name, sizeof s.name, "%s", name);
    s.cidrs[s.n_cidrs++] = prefix(cidr);
    return s;
}

struct store_gateway gateway(const char *name, const struct hw_id *site_id)
{
    struct store_gateway g = {
        .id = id_new(), .site_id = *site_id, .port_base = 4510, .weight = 100};
    (void)snprintf(g.name, sizeof g.name, "%s", name);
    return g;
}

void make_fleet(struct fleet *f)
{
    const struct prefix pools[OVERLAY_POOLS] = {0};
    struct db *db = begin(STORE_CHANGE);
    CU_ASSERT_EQUAL_FATAL(store_overlay_pools_set(db, pools, NULL), 0);
    f->a = site("a", "10.1.0.0/16");
    f->b = site("b", "10.2.0.0/16");
    f->b.role = SITE_TRANSIT;
    CU_ASSERT_EQUAL_FATAL(store_site_insert(db, &f->a, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(store_site_insert(db, &f->b, NULL), 0);
    f->ga = gateway("ga", &f->a.id);
    f->gb = gateway("gb", &f->b.id);
    f->ga.state = f->gb.state = GATEWAY_ENROLLED;
    CU_ASSERT_EQUAL_FATAL(store_gateway_insert(db, &f->ga, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(store_gateway_insert(db, &f->gb, NULL), 0);
    f->c = (struct store_connection){.id = id_new(),
                                     .name = "a-b",
                                     .site_a_id = f->a.id,
                                     .site_b_id = f->b.id,
                                     .kind = LINK_ATTACHMENT,
                                     .suites = {ESP_SUITE_AES_128_GCM, ESP_SUITE_AES_256_GCM},
                                     .n_suites = 2,
                                     .tunnels = 8,
                                     .enabled = true,
                                     .liveness_interval_ms = 250,
                                     .liveness_missed = 4};
    CU_ASSERT_EQUAL_FATAL(store_connection_insert(db, &f->c, NULL), 0);
    f->l = (struct store_link){.id = id_new(),
                               .connection_id = f->c.id,
                               .kind = LINK_ATTACHMENT,
                               .gateway_a_id = f->ga.id,
                               .gateway_b_id = f->gb.id,
                               .tunnels = 8,
                               .port_offset = 7,
                               .enabled = true};
    CU_ASSERT_EQUAL(ipaddr_parse("10.1.0.1", &f->l.address_a), 0);
    CU_ASSERT_EQUAL(ipaddr_parse("2001:db8::2", &f->l.address_b), 0);
    CU_ASSERT_EQUAL_FATAL(store_link_insert(db, &f->l, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(store_commit(db, NULL), 0);
}

struct store_telemetry telemetry(const struct hw_id *g, uint64_t denials)
{
    static char refused[] = "[]", report[] = "{\"x\":1}";
    return (struct store_telemetry){.gateway_id = *g,
                                    .observed_at = 1000,
                                    .refused_json = refused,
                                    .report_json = report,
                                    .denials_revision = denials,
                                    .goodput_tx_bps = 1.5e9};
}

int store_suite_run(const char *name, CU_TestInfo *tests)
{
    if (!mkdtemp(dir))
        return 2;
    (void)snprintf(path, sizeof path, "%s/hawser.db", dir);
    int rc = suite_run(name, tests);
    store_close(store);
    static const char *const suffix[] = {"", "-wal", "-shm"};
    for (int i = 0; i < 3; i++) {
        char file[80];
        (void)snprintf(file, sizeof file, "%s%s", path, suffix[i]);
        (void)unlink(file);
    }
    (void)rmdir(dir);
    return rc;
}
