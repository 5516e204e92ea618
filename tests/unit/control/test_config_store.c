/* Which configs are taken, what stands on disk, and what a crash at each point leaves. */
#include "agent/control/config_store.h"
#include "common/clock.h"
#include "tests/unit/common/pki.h"
#include "tests/unit/control/sample_config.h"
#include "tests/unit/control/signing.h"
#include "tests/unit/suite.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DAY 86400

static char dir[64];
static struct hw_id gateway, other, boot;
static struct x509_st *ca;
static struct config_store *store;
static struct err e;
static int64_t now;

static void sh(const char *fmt, const char *arg)
{
    char cmd[256];
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    (void)snprintf(cmd, sizeof cmd, fmt, dir, arg);
#pragma GCC diagnostic pop
    CU_ASSERT_EQUAL(pki_shell(cmd), 0);
}

static void open_store(void)
{
    config_store_free(store);
    store = NULL;
    e = (struct err){0};
    CU_ASSERT_EQUAL_FATAL(config_store_open(dir, &gateway, ca, &store, &e), 0);
}

static void fresh(void)
{
    if (dir[0])
        sh("rm -rf %s", "");
    (void)snprintf(dir, sizeof dir, "/tmp/hawser-store-XXXXXX");
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(dir));
    open_store();
}

static int take_signed(struct signed_doc d)
{
    e = (struct err){0};
    return config_store_take(store, &d, ca, now, &boot, &e);
}

static int take_by(const char *signer, const struct hw_id *for_gateway, uint64_t revision,
                   unsigned prefixes)
{
    char text[ID_TEXT_MAX];
    struct sample s = {
        .gateway = id_text(for_gateway, text), .links = 1, .remote_prefixes = prefixes};
    char *body = sample_json(&s);
    struct signed_doc d = signing_config(signer, &gateway, revision, body);
    free(body);
    return take_signed(d);
}

static int take(uint64_t revision)
{
    return take_by("config", &gateway, revision, 2);
}

static uint64_t confirmed(void)
{
    const struct stored_config *c = config_store_confirmed(store);
    return c ? c->doc.revision : 0;
}

static uint64_t candidate(void)
{
    const struct stored_config *c = config_store_candidate(store);
    return c ? c->doc.revision : 0;
}

static void test_life(void)
{
    fresh();
    CU_ASSERT_EQUAL(confirmed(), 0);
    CU_ASSERT_EQUAL(take(5), 0);
    CU_ASSERT_EQUAL(candidate(), 5);
    CU_ASSERT_EQUAL(confirmed(), 0);
    open_store();
    CU_ASSERT_EQUAL(candidate(), 5);
    CU_ASSERT(id_equal(&config_store_candidate(store)->boot, &boot));
    CU_ASSERT_EQUAL(config_store_candidate(store)->config.n_links, 1);
    CU_ASSERT_EQUAL(config_store_confirm(store, &e), 0);
    CU_ASSERT_EQUAL(confirmed(), 5);
    CU_ASSERT_EQUAL(candidate(), 0);
    open_store();
    CU_ASSERT_EQUAL(confirmed(), 5);
    CU_ASSERT_EQUAL(candidate(), 0);
    CU_ASSERT_EQUAL(config_store_received(store), 5);
}

static void test_refuse_is_for_good(void)
{
    const struct report_refused *refused;
    fresh();
    CU_ASSERT_EQUAL(take(5), 0);
    CU_ASSERT_EQUAL(config_store_confirm(store, &e), 0);
    CU_ASSERT_EQUAL(take(6), 0);
    CU_ASSERT_EQUAL(config_store_refuse(store, "no answer", &e), 0);
    CU_ASSERT_EQUAL(confirmed(), 5);
    CU_ASSERT_EQUAL(candidate(), 0);
    CU_ASSERT_EQUAL(take(6), HW_EFORBIDDEN);
    open_store();
    CU_ASSERT_EQUAL(take(6), HW_EFORBIDDEN);
    CU_ASSERT_EQUAL(config_store_refused(store, &refused), 1);
    CU_ASSERT_EQUAL(refused[0].revision, 6);
    CU_ASSERT_STRING_EQUAL(refused[0].reason, "no answer");
    CU_ASSERT_EQUAL(config_store_received(store), 6);
    CU_ASSERT_EQUAL(take(7), 0);
    CU_ASSERT_EQUAL(candidate(), 7);
}

static void test_lower(void)
{
    fresh();
    CU_ASSERT_EQUAL(take(9), 0);
    CU_ASSERT_EQUAL(take(8), HW_ESTALE);
    CU_ASSERT_EQUAL(candidate(), 9);
    CU_ASSERT_EQUAL(take(9), 0);
    open_store();
    CU_ASSERT_EQUAL(take(8), HW_ESTALE);
}

static void test_wrong_signatures(void)
{
    char text[ID_TEXT_MAX];
    fresh();
    CU_ASSERT_EQUAL(take_by("foreign-config", &gateway, 5, 2), HW_EAUTH);
    CU_ASSERT_EQUAL(take_by("controller", &gateway, 5, 2), HW_EAUTH);
    CU_ASSERT_EQUAL(take_by("gateway-a", &gateway, 5, 2), HW_EAUTH);
    struct sample s = {.gateway = id_text(&gateway, text), .links = 1, .remote_prefixes = 1};
    char *body = sample_json(&s);
    struct signed_doc d = signing_config("config", &other, 5, body); /* another's */
    CU_ASSERT_EQUAL(take_signed(d), HW_EAUTH);
    d = signing_config("config", &gateway, 5, body);
    d.revision = 6;
    CU_ASSERT_EQUAL(take_signed(d), HW_EAUTH);
    d = signing_config("config", &gateway, 5, body);
    d.body[10] ^= 1;
    CU_ASSERT_EQUAL(take_signed(d), HW_EAUTH);
    d = signing_config("config", &gateway, 5, body);
    d.signature_len = 0;
    CU_ASSERT_EQUAL(take_signed(d), HW_EAUTH);
    free(body);
    CU_ASSERT_EQUAL(config_store_received(store), 0);
    CU_ASSERT_EQUAL(candidate(), 0);
    CU_ASSERT_EQUAL(take(5), 0);
}

/* The signer's certificate is judged when the config comes, not each time it is read. */
static void test_signer_dates(void)
{
    fresh();
    now += 100 * DAY;
    CU_ASSERT_EQUAL(take(5), HW_EAUTH);
    now -= 100 * DAY;
    CU_ASSERT_EQUAL(take(5), 0);
    CU_ASSERT_EQUAL(config_store_candidate(store)->doc.accepted_at, now);
    CU_ASSERT_EQUAL(config_store_confirm(store, &e), 0);
    open_store(); /* asks no clock */
    CU_ASSERT_EQUAL(confirmed(), 5);
}

static void test_body_for_another(void)
{
    const struct report_refused *refused;
    fresh();
    CU_ASSERT_EQUAL(take(4), 0);
    CU_ASSERT_EQUAL(take_by("config", &other, 5, 2), HW_EINVAL);
    CU_ASSERT_EQUAL(candidate(), 4);
    CU_ASSERT_EQUAL(config_store_received(store), 5);
    CU_ASSERT_EQUAL(config_store_refused(store, &refused), 1);
    CU_ASSERT_PTR_NOT_NULL(strstr(refused[0].reason, "another gateway"));
    struct signed_doc d =
        signing_config("config", &gateway, 6, "{\"version\":1,\"surprise\":true}");
    CU_ASSERT_EQUAL(take_signed(d), HW_EINVAL);
    CU_ASSERT(config_store_is_refused(store, 6));
}

/* Crash between the candidate and the state: a candidate newer than `received`. */
static void test_crash_before_state(void)
{
    fresh();
    CU_ASSERT_EQUAL(take(5), 0);
    CU_ASSERT_EQUAL(config_store_confirm(store, &e), 0);
    sh("cp %s/config-state.json %s.state", dir);
    CU_ASSERT_EQUAL(take(6), 0);
    sh("mv %2$s.state %1$s/config-state.json", dir);
    open_store();
    CU_ASSERT_EQUAL(candidate(), 6);
    CU_ASSERT_EQUAL(confirmed(), 5);
    CU_ASSERT_EQUAL(take(6), 0);
    CU_ASSERT_EQUAL(config_store_received(store), 6);
}

/* Crash between the refusal and the candidate's removal. */
static void test_crash_in_refuse(void)
{
    fresh();
    CU_ASSERT_EQUAL(take(5), 0);
    CU_ASSERT_EQUAL(config_store_confirm(store, &e), 0);
    CU_ASSERT_EQUAL(take(6), 0);
    sh("cp %s/config-candidate.doc %s.keep", dir);
    CU_ASSERT_EQUAL(config_store_refuse(store, "no answer", &e), 0);
    sh("mv %2$s.keep %1$s/config-candidate.doc", dir);
    open_store();
    CU_ASSERT_EQUAL(candidate(), 0);
    CU_ASSERT_EQUAL(confirmed(), 5);
    CU_ASSERT(config_store_is_refused(store, 6));
}

/* A write that never came to its rename, and files that a bad block ate. */
static void test_torn_files(void)
{
    fresh();
    CU_ASSERT_EQUAL(take(5), 0);
    CU_ASSERT_EQUAL(config_store_confirm(store, &e), 0);
    CU_ASSERT_EQUAL(take(6), 0);
    sh("head -c 100 %s/config-candidate.doc > %s/config-candidate.doc.tmp", dir);
    open_store();
    CU_ASSERT_EQUAL(candidate(), 6);
    sh("truncate -s 100 %s/config-candidate.doc", "");
    open_store();
    CU_ASSERT_EQUAL(candidate(), 0);
    CU_ASSERT_EQUAL(confirmed(), 5);
    /* One changed byte in the body. */
    sh("sed -i 's/site-a/site-b/;s/c2l0ZS1h/c2l0ZS1i/' %s/config-confirmed.doc", "");
    sh("truncate -s -200 %s/config-confirmed.doc", "");
    open_store();
    CU_ASSERT_EQUAL(confirmed(), 0);
    CU_ASSERT_EQUAL(config_store_received(store), 6);
    /* Without its memory of refusals the store does not open: a refused revision may not come back.
     */
    sh("echo garbage > %s/config-state.json", "");
    config_store_free(store);
    store = NULL;
    CU_ASSERT(config_store_open(dir, &gateway, ca, &store, &e) < 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(e.text, "config-state.json from a backup, or remove it"));
}

/* What was rolled back stays so although the refusal cannot be written. */
static void test_refuse_on_a_full_disk(void)
{
    fresh();
    CU_ASSERT_EQUAL(take(5), 0);
    CU_ASSERT_EQUAL(config_store_confirm(store, &e), 0);
    CU_ASSERT_EQUAL(take(6), 0);
    sh("mkdir %s/config-state.json.tmp", "");
    CU_ASSERT(config_store_refuse(store, "no answer", &e) < 0);
    CU_ASSERT_EQUAL(candidate(), 0);
    CU_ASSERT(config_store_is_refused(store, 6));
    sh("rmdir %s/config-state.json.tmp", "");
    open_store();
    CU_ASSERT_EQUAL(candidate(), 0);
    CU_ASSERT_EQUAL(confirmed(), 5);
    CU_ASSERT_EQUAL(config_store_received(store), 6);
}

static void test_many_refusals(void)
{
    const struct report_refused *refused;
    fresh();
    for (uint64_t r = 1; r <= 40; r++) {
        CU_ASSERT_EQUAL(take_by("config", &gateway, r, 0), 0);
        CU_ASSERT_EQUAL(config_store_refuse(store, "no", &e), 0);
    }
    CU_ASSERT_EQUAL(config_store_refused(store, &refused), REPORT_REFUSED_MAX);
    CU_ASSERT_EQUAL(refused[REPORT_REFUSED_MAX - 1].revision, 40);
    open_store();
    CU_ASSERT(config_store_is_refused(store, 1));
    CU_ASSERT(config_store_is_refused(store, 40));
}

/* The config in force stays valid for who holds a reference, whatever the store does. */
static void test_references(void)
{
    fresh();
    CU_ASSERT_EQUAL(take(5), 0);
    struct stored_config *held = stored_config_ref(config_store_candidate(store));
    CU_ASSERT_EQUAL(take(6), 0);
    CU_ASSERT_EQUAL(held->doc.revision, 5);
    CU_ASSERT_EQUAL(held->config.n_links, 1);
    stored_config_unref(held);
}

int main(void)
{
    CU_TestInfo tests[] = {
        {"candidate, confirmed", test_life},
        {"refused is refused for good", test_refuse_is_for_good},
        {"lower revisions", test_lower},
        {"wrong signatures", test_wrong_signatures},
        {"the signer's dates count at acceptance", test_signer_dates},
        {"bodies that cannot be used", test_body_for_another},
        {"crash before the state is written", test_crash_before_state},
        {"crash inside a refusal", test_crash_in_refuse},
        {"torn files", test_torn_files},
        {"a refusal on a full disk", test_refuse_on_a_full_disk},
        {"many refusals", test_many_refusals},
        {"references", test_references},
        CU_TEST_INFO_NULL,
    };
    char last[128];
    pki_up();
    ca = pki_cert("ca");
    now = clock_wall_s();
    boot = id_new();
    other = id_new();
    if (id_parse(SAMPLE_GATEWAY, &gateway) < 0)
        return 2;
    int rc = suite_run("config_store", tests);
    config_store_free(store);
    x509_cert_free(ca);
    (void)snprintf(last, sizeof last, "rm -rf %s", dir);
    (void)pki_shell(last);
    pki_down();
    return rc;
}
