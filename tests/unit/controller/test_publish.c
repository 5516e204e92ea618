#include "common/esp_suite.h"
#include "controller/ca/ca.h"
#include "controller/push/hub.h"
#include "controller/push/publish.h"
#include "controller/store/denial.h"
#include "controller/store/domain.h"
#include "controller/store/encryption_permission.h"
#include "controller/store/link.h"
#include "controller/store/signed.h"
#include "controller/store/site_join.h"
#include "tests/unit/controller/store_fixture.h"
#include "tests/unit/suite.h"
#include <stdlib.h>
#include <string.h>

/* An empty change, or one that the caller has begun; commits. Returns how many configs changed. */
static size_t publish(struct store_fixture *f, struct db *db, enum publish_cause cause)
{
    struct publish_result r = {0};
    struct err e = {0};
    if (!db)
        db = store_fixture_begin(f, STORE_CHANGE);
    CU_ASSERT_EQUAL_FATAL(publish_changes(&f->app, db, cause, &r, &e), 0);
    store_fixture_commit(db);
    publish_wake(&f->app, &r);
    size_t n = r.n_gateways;
    publish_result_done(&r);
    return n;
}

static uint64_t revision_of(struct store_fixture *f, unsigned gateway)
{
    struct db *db;
    uint64_t n = 0;
    CU_ASSERT_EQUAL_FATAL(store_read(f->app.store, &db, NULL), 0);
    CU_ASSERT_EQUAL(store_config_revision(db, &f->gateways[gateway].id, &n, NULL), 0);
    store_read_end(db);
    return n;
}

static size_t links(struct store_fixture *f, struct store_link out[8])
{
    struct db *db;
    struct store_link *rows = NULL;
    size_t n = 0;
    CU_ASSERT_EQUAL_FATAL(store_read(f->app.store, &db, NULL), 0);
    CU_ASSERT_EQUAL(store_link_all(db, &rows, &n, NULL), 0);
    store_read_end(db);
    for (size_t i = 0; i < n && i < 8; i++)
        out[i] = rows[i];
    free(rows);
    return n;
}

static void test_only_what_changed(void)
{
    struct store_fixture f;
    struct store_link before[8], after[8];
    store_fixture_init(&f);
    CU_ASSERT_EQUAL(publish(&f, NULL, PUBLISH_OPERATOR), 3);
    CU_ASSERT_EQUAL(links(&f, before), 2);
    CU_ASSERT_EQUAL(before[0].tunnels, 8);
    CU_ASSERT_EQUAL(before[0].address_a.family, 4);
    uint64_t first = revision_of(&f, 0);
    CU_ASSERT_EQUAL(publish(&f, NULL, PUBLISH_OPERATOR), 0);
    CU_ASSERT_EQUAL(revision_of(&f, 0), first);
    for (unsigned i = 0; i < 3; i++)
        CU_ASSERT_EQUAL(hub_park(f.app.hub, &f.gateways[i].id, hub_token(f.app.hub), i + 1, NULL),
                        0);
    /* Tunnels of one link: its two ends, and nobody else. */
    struct db *db = store_fixture_begin(&f, STORE_CHANGE);
    f.connections[1].tunnels = 5;
    CU_ASSERT_EQUAL(store_connection_update(db, &f.connections[1], NULL), 0);
    CU_ASSERT_EQUAL(publish(&f, db, PUBLISH_OPERATOR), 2);
    CU_ASSERT_EQUAL(revision_of(&f, 0), first);
    CU_ASSERT_TRUE(revision_of(&f, 1) > first && revision_of(&f, 1) == revision_of(&f, 2));
    CU_ASSERT_EQUAL_FATAL(f.n_woken, 2);
    CU_ASSERT_EQUAL(f.woken[0] + f.woken[1], 2 + 3);
    CU_ASSERT_EQUAL_FATAL(links(&f, after), 2);
    for (size_t i = 0; i < 2; i++) {
        CU_ASSERT_TRUE(id_equal(&before[i].id, &after[i].id));
        CU_ASSERT_EQUAL(before[i].port_offset, after[i].port_offset);
    }
    store_fixture_done(&f);
}

/* Another address family at one end: refused to an operator, stored with its reason for an agent,
 * and then no hindrance. */
static void test_refusals(void)
{
    struct store_fixture f;
    struct store_link rows[8];
    struct publish_result r = {0};
    struct err e = {0};
    store_fixture_init(&f);
    CU_ASSERT_EQUAL(publish(&f, NULL, PUBLISH_OPERATOR), 3);
    CU_ASSERT_EQUAL(ipaddr_parse("fd01::1", &f.gateways[0].endpoints[0].address), 0);
    struct db *db = store_fixture_begin(&f, STORE_CHANGE);
    CU_ASSERT_EQUAL(store_gateway_update(db, &f.gateways[0], NULL), 0);
    CU_ASSERT_EQUAL(publish_changes(&f.app, db, PUBLISH_OPERATOR, &r, &e), HW_ECONFLICT);
    CU_ASSERT_STRING_EQUAL(e.field, "endpoints");
    CU_ASSERT_PTR_NOT_NULL(strstr(e.text, "gw-a1"));
    CU_ASSERT_PTR_NULL(r.gateways);
    store_rollback(db);
    CU_ASSERT_EQUAL(publish(&f, NULL, PUBLISH_OPERATOR), 0);
    db = store_fixture_begin(&f, STORE_CHANGE);
    CU_ASSERT_EQUAL(store_gateway_update(db, &f.gateways[0], NULL), 0);
    CU_ASSERT_EQUAL(publish(&f, db, PUBLISH_AGENT), 3); /* b loses its way to a */
    CU_ASSERT_EQUAL_FATAL(links(&f, rows), 2);
    const struct store_link *l =
        id_equal(&rows[0].gateway_a_id, &f.gateways[0].id) ? &rows[0] : &rows[1];
    CU_ASSERT_TRUE(l->refusal[0] && l->address_a.family == 0);
    CU_ASSERT_EQUAL(publish(&f, NULL, PUBLISH_OPERATOR), 0);
    store_fixture_done(&f);
}

static void test_links_go_with_their_cause(void)
{
    struct store_fixture f;
    struct store_link rows[8];
    store_fixture_init(&f);
    CU_ASSERT_EQUAL(publish(&f, NULL, PUBLISH_OPERATOR), 3);
    struct db *db = store_fixture_begin(&f, STORE_CHANGE);
    f.gateways[2].state = GATEWAY_REVOKED;
    CU_ASSERT_EQUAL(store_denial_add(db, &f.gateways[2].id, NULL), 0);
    CU_ASSERT_EQUAL(store_gateway_update(db, &f.gateways[2], NULL), 0);
    CU_ASSERT_EQUAL(hub_park(f.app.hub, &f.gateways[2].id, hub_token(f.app.hub), 7, NULL), 0);
    struct publish_result r = {0};
    CU_ASSERT_EQUAL(publish_changes(&f.app, db, PUBLISH_OPERATOR, &r, NULL), 0);
    CU_ASSERT_TRUE(r.denials);
    CU_ASSERT_EQUAL(r.n_gateways, 2);
    store_fixture_commit(db);
    publish_wake(&f.app, &r);
    publish_result_done(&r);
    CU_ASSERT_EQUAL(f.n_woken, 1); /* the revoked one's own poll too */
    CU_ASSERT_EQUAL(links(&f, rows), 1);
    CU_ASSERT_EQUAL(store_read(f.app.store, &db, NULL), 0);
    struct store_signed doc;
    CU_ASSERT_EQUAL_FATAL(store_denials_doc_get(db, &doc, NULL), 0);
    char id[ID_TEXT_MAX];
    CU_ASSERT_PTR_NOT_NULL(strstr(doc.body, id_text(&f.gateways[2].id, id)));
    CU_ASSERT_EQUAL(doc.number, 1);
    store_signed_done(&doc);
    store_read_end(db);
    store_fixture_done(&f);
}

/* Gives a permission for a-t until `ends_at`, with all its guards. */
static struct store_permission permit(struct store_fixture *f, struct db *db, uint8_t id,
                                      int64_t ends_at)
{
    struct store_permission p = {.id = {{id}},
                                 .connection_id = f->connections[0].id,
                                 .suite = ESP_SUITE_NONE,
                                 .reason = "bulk copy in the vault",
                                 .ends_at = ends_at,
                                 .created_name = "night-shift"};
    for (unsigned i = 0; i < 3; i++) {
        f->sites[i].trusted_underlay = true;
        CU_ASSERT_EQUAL(store_site_update(db, &f->sites[i], NULL), 0);
    }
    f->connections[0].path_resiliency = true;
    CU_ASSERT_EQUAL(store_connection_update(db, &f->connections[0], NULL), 0);
    CU_ASSERT_EQUAL(store_permission_put(db, &p, NULL), 0);
    return p;
}

/* Whether a permission of this id stands, or is denied to the agents. */
static void expect_permission(struct store_fixture *f, const struct hw_id *id, bool stands)
{
    char text[ID_TEXT_MAX];
    struct store_permission got;
    struct store_signed doc;
    struct db *db;
    CU_ASSERT_EQUAL_FATAL(store_read(f->app.store, &db, NULL), 0);
    int rc = store_permission_get(db, &f->connections[0].id, &got, NULL);
    CU_ASSERT_EQUAL(rc == 0 && id_equal(&got.id, id), stands);
    CU_ASSERT_EQUAL_FATAL(store_config_get(db, &f->gateways[0].id, &doc, NULL), 0);
    CU_ASSERT_EQUAL(strstr(doc.body, id_text(id, text)) != NULL, stands);
    store_signed_done(&doc);
    bool denied = false;
    if (store_denials_doc_get(db, &doc, NULL) == 0) {
        denied = strstr(doc.body, text) != NULL;
        store_signed_done(&doc);
    }
    CU_ASSERT_EQUAL(denied, !stands);
    store_read_end(db);
}

/* Each write that takes a condition away ends the permission with it, and so does its date. */
static void test_permission_ends(void)
{
    struct store_fixture f;
    store_fixture_init(&f);
    CU_ASSERT_EQUAL(publish(&f, NULL, PUBLISH_OPERATOR), 3);
    struct db *db = store_fixture_begin(&f, STORE_CHANGE);
    int64_t now = store_now(db);
    struct store_permission p = permit(&f, db, 1, now + 3600);
    CU_ASSERT_EQUAL(publish(&f, db, PUBLISH_OPERATOR), 2);
    expect_permission(&f, &p.id, true);
    CU_ASSERT_EQUAL(publish(&f, NULL, PUBLISH_AGENT), 0);
    expect_permission(&f, &p.id, true);

    db = store_fixture_begin(&f, STORE_CHANGE);
    f.sites[1].trusted_underlay = false;
    CU_ASSERT_EQUAL(store_site_update(db, &f.sites[1], NULL), 0);
    CU_ASSERT_EQUAL(publish(&f, db, PUBLISH_OPERATOR), 2);
    expect_permission(&f, &p.id, false);

    db = store_fixture_begin(&f, STORE_CHANGE);
    p = permit(&f, db, 2, now + 3600);
    CU_ASSERT_EQUAL(publish(&f, db, PUBLISH_OPERATOR), 2);
    expect_permission(&f, &p.id, true);
    db = store_fixture_begin(&f, STORE_CHANGE);
    f.connections[0].path_resiliency = false;
    CU_ASSERT_EQUAL(store_connection_update(db, &f.connections[0], NULL), 0);
    CU_ASSERT_EQUAL(publish(&f, db, PUBLISH_OPERATOR), 2);
    expect_permission(&f, &p.id, false);

    db = store_fixture_begin(&f, STORE_CHANGE);
    p = permit(&f, db, 3, now);
    CU_ASSERT_EQUAL(publish(&f, db, PUBLISH_AGENT), 0);
    expect_permission(&f, &p.id, false);

    db = store_fixture_begin(&f, STORE_CHANGE);
    p = permit(&f, db, 4, now + 3600);
    struct store_permission next = permit(&f, db, 5, now + 7200);
    CU_ASSERT_EQUAL(publish(&f, db, PUBLISH_OPERATOR), 2);
    expect_permission(&f, &p.id, false);
    expect_permission(&f, &next.id, true);
    db = store_fixture_begin(&f, STORE_CHANGE);
    int64_t end = 0;
    unsigned removed = 0;
    CU_ASSERT_EQUAL(store_permission_next_end(db, &end, NULL), 0);
    CU_ASSERT_EQUAL(end, now + 7200);
    CU_ASSERT_EQUAL(store_denial_prune(db, now + 2 * DENIAL_KEPT_S, &removed, NULL), 0);
    CU_ASSERT_EQUAL(removed, 3); /* the newest number stays */
    store_rollback(db);
    store_fixture_done(&f);
}

static void test_domains_keep_their_numbers(void)
{
    struct store_fixture f;
    store_fixture_init(&f);
    CU_ASSERT_EQUAL(publish(&f, NULL, PUBLISH_OPERATOR), 3);
    struct db *db = store_fixture_begin(&f, STORE_CHANGE);
    memcpy(f.sites[0].domain, "aaa", 4); /* sorts before "default" */
    CU_ASSERT_EQUAL(store_site_update(db, &f.sites[0], NULL), 0);
    CU_ASSERT_EQUAL(publish(&f, db, PUBLISH_OPERATOR), 3);
    struct store_domain *rows = NULL;
    size_t n = 0;
    CU_ASSERT_EQUAL(store_read(f.app.store, &db, NULL), 0);
    CU_ASSERT_EQUAL(store_domain_all(db, &rows, &n, NULL), 0);
    store_read_end(db);
    CU_ASSERT_EQUAL_FATAL(n, 2);
    CU_ASSERT_STRING_EQUAL(rows[0].name, "default");
    CU_ASSERT_EQUAL(rows[0].number, 1);
    CU_ASSERT_STRING_EQUAL(rows[1].name, "aaa");
    free(rows);
    store_fixture_done(&f);
}

static size_t former_joins(struct store_fixture *f, const struct hw_id *site, struct hw_id *last)
{
    struct db *db;
    struct store_site_join *rows = NULL;
    size_t n = 0;
    CU_ASSERT_EQUAL_FATAL(store_read(f->app.store, &db, NULL), 0);
    CU_ASSERT_EQUAL(
        store_site_join_former(db, &(struct store_page){.limit = 9}, site, &rows, &n, NULL), 0);
    store_read_end(db);
    if (n)
        *last = rows[n - 1].id;
    free(rows);
    return n;
}

/* How many unreachable prefixes the gateway's config has. */
static unsigned unreachable(struct store_fixture *f, unsigned gateway)
{
    struct db *db;
    struct store_signed doc;
    unsigned n = 0;
    CU_ASSERT_EQUAL_FATAL(store_read(f->app.store, &db, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(store_config_get(db, &f->gateways[gateway].id, &doc, NULL), 0);
    for (const char *at = doc.body; (at = strstr(at, "\"unreachable\"")) != NULL; at++)
        n++;
    store_signed_done(&doc);
    store_read_end(db);
    return n;
}

/* The connection of b goes: b is cut off from t and a, until an operator says otherwise or they are
 * joined again. */
static void test_separated(void)
{
    struct store_fixture f;
    struct hw_id pair = {{0}};
    store_fixture_init(&f);
    CU_ASSERT_EQUAL(publish(&f, NULL, PUBLISH_OPERATOR), 3);
    CU_ASSERT_EQUAL(former_joins(&f, NULL, &pair), 0);
    struct db *db = store_fixture_begin(&f, STORE_CHANGE);
    CU_ASSERT_EQUAL(store_connection_delete(db, &f.connections[1].id, NULL), 0);
    CU_ASSERT_EQUAL(publish(&f, db, PUBLISH_OPERATOR), 3);
    CU_ASSERT_EQUAL(former_joins(&f, NULL, &pair), 2);
    CU_ASSERT_EQUAL(former_joins(&f, &f.sites[0].id, &pair), 1);
    const unsigned each = (unsigned)f.sites[0].n_cidrs;
    CU_ASSERT_EQUAL(unreachable(&f, 0), each);
    CU_ASSERT_EQUAL(unreachable(&f, 2), 2 * each);
    CU_ASSERT_EQUAL(publish(&f, NULL, PUBLISH_OPERATOR), 0);
    db = store_fixture_begin(&f, STORE_CHANGE);
    CU_ASSERT_EQUAL(store_site_join_delete(db, &pair, NULL), 0);
    CU_ASSERT_EQUAL(publish(&f, db, PUBLISH_OPERATOR), 2); /* a and b know nothing of each other */
    CU_ASSERT_EQUAL(unreachable(&f, 0), 0);
    CU_ASSERT_EQUAL(unreachable(&f, 2), each);
    db = store_fixture_begin(&f, STORE_CHANGE);
    CU_ASSERT_EQUAL(store_connection_insert(db, &f.connections[1], NULL), 0);
    CU_ASSERT_EQUAL(publish(&f, db, PUBLISH_OPERATOR), 3);
    CU_ASSERT_EQUAL(former_joins(&f, NULL, &pair), 0);
    CU_ASSERT_EQUAL(unreachable(&f, 2), 0);
    store_fixture_done(&f);
}

/* A config that nobody could verify after the old signer's end is signed anew, with the same bytes.
 */
static void test_signer_renewed(void)
{
    struct store_fixture f;
    bool renewed = false;
    store_fixture_init(&f);
    CU_ASSERT_EQUAL(publish(&f, NULL, PUBLISH_OPERATOR), 3);
    CU_ASSERT_EQUAL(ca_renew_own(f.app.ca, STORE_FIXTURE_NOW + 200ll * 86400, &renewed, NULL), 0);
    CU_ASSERT_TRUE(renewed);
    CU_ASSERT_EQUAL(publish(&f, NULL, PUBLISH_AGENT), 3);
    CU_ASSERT_EQUAL(publish(&f, NULL, PUBLISH_AGENT), 0);
    store_fixture_done(&f);
}

static void test_hold(void)
{
    struct store_fixture f;
    bool held = true;
    char why[HW_TEXT_MAX + 1];
    store_fixture_init(&f);
    CU_ASSERT_EQUAL(publish(&f, NULL, PUBLISH_OPERATOR), 3);
    struct db *db = store_fixture_begin(&f, STORE_CHANGE);
    CU_ASSERT_EQUAL(publish_held(db, &held, why, sizeof why, NULL), 0);
    CU_ASSERT_FALSE(held);
    struct publish_known agent = {.revision = 5000, .denials = 9};
    CU_ASSERT_EQUAL(publish_hold(db, &f.gateways[0].id, &agent, NULL), 0);
    CU_ASSERT_TRUE(store_revision(db) > 5000);
    CU_ASSERT_EQUAL(publish_held(db, &held, why, sizeof why, NULL), 0);
    CU_ASSERT_TRUE(held && why[0]);
    struct publish_known over[] = {{.revision = UINT64_MAX},
                                   {.revision = INT64_MAX - 1},
                                   {.revision = store_revision(db) + PUBLISH_LEAD_MAX + 1},
                                   {.denials = INT64_MAX - 1}};
    for (size_t i = 0; i < sizeof over / sizeof *over; i++)
        CU_ASSERT_EQUAL(publish_hold(db, &f.gateways[0].id, &over[i], NULL), HW_EINVAL);
    struct publish_known own = {.revision = store_revision(db)};
    CU_ASSERT_EQUAL(store_denial_known(db, &own.denials, NULL), 0);
    CU_ASSERT_FALSE(publish_is_behind(&own, &agent)); /* once is enough */
    store_fixture_commit(db);
    struct publish_result r = {0};
    db = store_fixture_begin(&f, STORE_CHANGE);
    CU_ASSERT_EQUAL(publish_accept(&f.app, db, &r, NULL), 0);
    CU_ASSERT_EQUAL(r.n_gateways, 3);
    CU_ASSERT_EQUAL(store_denial_add(db, &f.gateways[0].id, NULL), 0);
    CU_ASSERT_EQUAL(store_denial_known(db, &own.denials, NULL), 0);
    CU_ASSERT_EQUAL(own.denials, 10);
    store_fixture_commit(db);
    publish_result_done(&r);
    CU_ASSERT_TRUE(revision_of(&f, 0) > 5000);
    /* What was found before another request raised the store, and an admin accepted. */
    db = store_fixture_begin(&f, STORE_CHANGE);
    CU_ASSERT_EQUAL(publish_hold(db, &f.gateways[0].id, &agent, NULL), 0);
    CU_ASSERT_EQUAL(publish_held(db, &held, why, sizeof why, NULL), 0);
    CU_ASSERT_FALSE(held);
    store_fixture_commit(db);
    store_fixture_done(&f);
}

int main(void)
{
    CU_TestInfo tests[] = {{"only what changed", test_only_what_changed},
                           {"refusals", test_refusals},
                           {"revocation", test_links_go_with_their_cause},
                           {"domains keep their numbers", test_domains_keep_their_numbers},
                           {"sites that were joined", test_separated},
                           {"the signer's renewal", test_signer_renewed},
                           {"a permission ends", test_permission_ends},
                           {"a restored store", test_hold},
                           CU_TEST_INFO_NULL};
    return suite_run("publish", tests);
}
