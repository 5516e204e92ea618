#include "agent/control/denials_store.h"
#include "common/clock.h"
#include "tests/unit/common/pki.h"
#include "tests/unit/control/signing.h"
#include "tests/unit/suite.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NONE "{\"gateway_ids\":[],\"serials\":[]}"
#define ONE  "{\"gateway_ids\":[\"" PKI_GATEWAY_A "\"],\"serials\":[\"0a1b\"]}"

static char dir[] = "/tmp/hawser-denials-XXXXXX";
static struct x509_st *ca;
static struct denials_store *store;
static struct err e;

static void open_store(void)
{
    denials_store_free(store);
    store = NULL;
    CU_ASSERT_EQUAL_FATAL(denials_store_open(dir, ca, &store, &e), 0);
}

static int take(const char *signer, uint64_t number, const char *body)
{
    struct signed_doc d = signing_denials(signer, number, body);
    return denials_store_take(store, &d, ca, clock_wall_s(), &e);
}

static void test_rises(void)
{
    struct hw_id a;
    CU_ASSERT_EQUAL(id_parse(PKI_GATEWAY_A, &a), 0);
    open_store();
    CU_ASSERT_EQUAL(denials_store_number(store), 0);
    CU_ASSERT(!denials_has(denials_store_get(store), &a, NULL));
    CU_ASSERT_EQUAL(take("config", 3, ONE), 0);
    CU_ASSERT(denials_has(denials_store_get(store), &a, NULL));
    CU_ASSERT(denials_has(denials_store_get(store), NULL, "0a1b"));
    CU_ASSERT_EQUAL(take("config", 2, NONE), HW_ESTALE);
    CU_ASSERT_EQUAL(take("foreign-config", 4, NONE), HW_EAUTH);
    CU_ASSERT_EQUAL(take("gateway-a", 4, NONE), HW_EAUTH);
    CU_ASSERT(take("config", 4, "{\"gateway_ids\":[\"x\"],\"serials\":[]}") < 0);
    open_store();
    CU_ASSERT_EQUAL(denials_store_number(store), 3);
    CU_ASSERT(denials_has(denials_store_get(store), &a, NULL));
    CU_ASSERT_EQUAL(take("config", 5, NONE), 0);
    CU_ASSERT(!denials_has(denials_store_get(store), &a, NULL));
}

/* What cannot be stored is in force all the same; a restart knows the older number and hears the
 * new one again. */
static void test_full_disk(void)
{
    char cmd[128];
    struct hw_id a;
    CU_ASSERT_EQUAL(id_parse(PKI_GATEWAY_A, &a), 0);
    open_store();
    uint64_t stored = denials_store_number(store);
    (void)snprintf(cmd, sizeof cmd, "mkdir %s/denials.doc.tmp", dir);
    CU_ASSERT_EQUAL(pki_shell(cmd), 0);
    CU_ASSERT_EQUAL(take("config", stored + 1, ONE), 0);
    CU_ASSERT(denials_has(denials_store_get(store), &a, NULL));
    CU_ASSERT_EQUAL(denials_store_number(store), stored + 1);
    open_store();
    CU_ASSERT_EQUAL(denials_store_number(store), stored);
    (void)snprintf(cmd, sizeof cmd, "rmdir %s/denials.doc.tmp", dir);
    CU_ASSERT_EQUAL(pki_shell(cmd), 0);
}

/* Losing the document would let the revoked in again. */
static void test_damage(void)
{
    char cmd[128];
    CU_ASSERT_EQUAL(take("config", 6, ONE), 0);
    (void)snprintf(cmd, sizeof cmd, "truncate -s 50 %s/denials.doc", dir);
    CU_ASSERT_EQUAL(pki_shell(cmd), 0);
    denials_store_free(store);
    store = NULL;
    CU_ASSERT(denials_store_open(dir, ca, &store, &e) < 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(e.text, "denials.doc from a backup"));
    CU_ASSERT_PTR_NOT_NULL(strstr(e.text, "remove the file and start hawser-agent again"));
}

int main(void)
{
    CU_TestInfo tests[] = {
        {"the number rises", test_rises},
        {"a full disk", test_full_disk},
        {"damage is an error", test_damage},
        CU_TEST_INFO_NULL,
    };
    char cmd[128];
    if (!mkdtemp(dir))
        return 2;
    pki_up();
    ca = pki_cert("ca");
    int rc = suite_run("denials_store", tests);
    denials_store_free(store);
    x509_cert_free(ca);
    (void)snprintf(cmd, sizeof cmd, "rm -r %s", dir);
    (void)pki_shell(cmd);
    pki_down();
    return rc;
}
