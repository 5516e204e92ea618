/* The gateway's identity on disk; certificates by the openssl command. */
#include "agent/control/identity.h"
#include "common/clock.h"
#include "common/fsutil.h"
#include "tests/unit/common/pki.h"
#include "tests/unit/suite.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static char dir[64];
static struct identity *id;
static const struct hw_id token = {{7}};
static struct err e;

static void sh(const char *command)
{
    char cmd[1024];
    (void)snprintf(cmd, sizeof cmd, "S=%s; %s", dir, command);
    CU_ASSERT_EQUAL_FATAL(pki_shell(cmd), 0);
}

static void load(void)
{
    identity_free(id);
    id = NULL;
    e = (struct err){0};
    CU_ASSERT_EQUAL_FATAL(identity_load(dir, &id, &e), 0);
}

static void fresh(void)
{
    if (dir[0])
        sh("rm -rf $S");
    (void)snprintf(dir, sizeof dir, "/tmp/hawser-identity-XXXXXX");
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(dir));
    load();
}

/* A certificate for the key on disk, as the controller issues it. Free the text. */
static char *issue(const char *ca, const char *gateway, unsigned days)
{
    char cmd[1024];
    char *pem;
    size_t len;
    (void)snprintf(cmd, sizeof cmd,
                   "cd $D && openssl req -new -key $S/identity.key -subj / -out g.csr && "
                   "printf 'basicConstraints=critical,CA:FALSE\\nsubjectAltName="
                   "URI:hawser://gateway/%s\\nextendedKeyUsage=serverAuth,clientAuth' > g.ext && "
                   "openssl x509 -req -in g.csr -CA %s.pem -CAkey %s.key -days %u -extfile g.ext "
                   "-out issued.pem 2>/dev/null",
                   gateway, ca, ca, days);
    sh(cmd);
    CU_ASSERT_EQUAL_FATAL(fsutil_read(pki_path("issued.pem"), 65536, &pem, &len, &e), 0);
    return pem;
}

static int install(const char *ca, const char *gateway, const char *claimed)
{
    struct enrol_reply r = {.urls.n = 3};
    size_t len;
    for (size_t i = 0; i < 3; i++)
        (void)snprintf(r.urls.url[i], sizeof r.urls.url[i], "https://192.0.2.%zu:8444", i);
    r.certificate_pem = issue(ca, gateway, 30);
    CU_ASSERT_EQUAL(fsutil_read(pki_path("ca.pem"), 65536, &r.ca_pem, &len, &e), 0);
    CU_ASSERT_EQUAL(id_parse(claimed, &r.gateway_id), 0);
    e = (struct err){0};
    int rc = identity_install(id, &r, &token, clock_wall_s(), &e);
    enrol_reply_done(&r);
    return rc;
}

static void test_key(void)
{
    struct stat st;
    char path[128];
    fresh();
    CU_ASSERT(!identity_enrolled(id));
    (void)snprintf(path, sizeof path, "%s/identity.key", dir);
    CU_ASSERT_EQUAL(stat(path, &st), 0);
    CU_ASSERT_EQUAL(st.st_mode & 0777, 0600);
    sh("cp $S/identity.key $S/before");
    load();
    sh("cmp $S/identity.key $S/before");
    sh("openssl ec -in $S/identity.key -noout -text 2>/dev/null | grep -q prime256v1");
}

static void test_install(void)
{
    char text[ID_TEXT_MAX];
    fresh();
    CU_ASSERT_EQUAL(install("ca", PKI_GATEWAY_A, PKI_GATEWAY_A), 0);
    CU_ASSERT(identity_enrolled(id));
    CU_ASSERT_EQUAL(identity_generation(id), 1);
    load();
    CU_ASSERT(identity_enrolled(id));
    CU_ASSERT_STRING_EQUAL(id_text(identity_gateway_id(id), text), PKI_GATEWAY_A);
    CU_ASSERT_EQUAL(identity_urls(id)->n, 3);
    CU_ASSERT(id_equal(identity_token(id), &token));
    CU_ASSERT(!identity_renewal_due(id, clock_wall_s()));
    CU_ASSERT(identity_renewal_due(id, clock_wall_s() + IDENTITY_RENEW_AFTER_S + 1));
    sh("for f in identity.pem gateway-ca.pem identity.json; do test $(stat -c %a $S/$f) = 600; "
       "done");
}

static void test_wrong_certificates(void)
{
    fresh();
    CU_ASSERT_EQUAL(install("other-ca", PKI_GATEWAY_A, PKI_GATEWAY_A), HW_EAUTH);
    CU_ASSERT_EQUAL(install("ca", PKI_GATEWAY_B, PKI_GATEWAY_A), HW_EAUTH);
    CU_ASSERT(!identity_enrolled(id));
    load();
    CU_ASSERT(!identity_enrolled(id));
    /* A good certificate of somebody else's key. */
    CU_ASSERT_EQUAL(install("ca", PKI_GATEWAY_A, PKI_GATEWAY_A), 0);
    char *pem;
    size_t len;
    CU_ASSERT_EQUAL(fsutil_read(pki_path("gateway-a.pem"), 65536, &pem, &len, &e), 0);
    CU_ASSERT_EQUAL(identity_renew(id, pem, clock_wall_s(), &e), HW_EAUTH);
    free(pem);
    CU_ASSERT(identity_enrolled(id));
}

static void test_renew(void)
{
    char serial[X509_SERIAL_MAX];
    fresh();
    CU_ASSERT_EQUAL(install("ca", PKI_GATEWAY_A, PKI_GATEWAY_A), 0);
    memcpy(serial, identity_info(id)->serial, sizeof serial);
    char *pem = issue("ca", PKI_GATEWAY_A, 40);
    CU_ASSERT_EQUAL(identity_renew(id, pem, clock_wall_s(), &e), 0);
    free(pem);
    CU_ASSERT_EQUAL(identity_generation(id), 2);
    CU_ASSERT_STRING_NOT_EQUAL(identity_info(id)->serial, serial);
    memcpy(serial, identity_info(id)->serial, sizeof serial);
    load();
    CU_ASSERT_STRING_EQUAL(identity_info(id)->serial, serial);
    pem = issue("ca", PKI_GATEWAY_B, 40);
    CU_ASSERT_EQUAL(identity_renew(id, pem, clock_wall_s(), &e), HW_EAUTH);
    free(pem);
}

static void test_good_url_first(void)
{
    fresh();
    CU_ASSERT_EQUAL(install("ca", PKI_GATEWAY_A, PKI_GATEWAY_A), 0);
    identity_url_good(id, "https://192.0.2.2:8444");
    load();
    CU_ASSERT_STRING_EQUAL(identity_urls(id)->url[0], "https://192.0.2.2:8444");
    CU_ASSERT_STRING_EQUAL(identity_urls(id)->url[1], "https://192.0.2.0:8444");
    CU_ASSERT_EQUAL(identity_urls(id)->n, 3);
    identity_url_good(id, "https://elsewhere:8444");
    CU_ASSERT_STRING_EQUAL(identity_urls(id)->url[0], "https://192.0.2.2:8444");
}

/* A crash between the files of an enrolment counts as not enrolled, damage as well; the key stays.
 */
static void test_half_written(void)
{
    fresh();
    CU_ASSERT_EQUAL(install("ca", PKI_GATEWAY_A, PKI_GATEWAY_A), 0);
    sh("cp $S/identity.key $S/before; rm $S/identity.json");
    load();
    CU_ASSERT(!identity_enrolled(id));
    CU_ASSERT_EQUAL(install("ca", PKI_GATEWAY_A, PKI_GATEWAY_A), 0);
    sh("truncate -s 20 $S/identity.pem");
    load();
    CU_ASSERT(!identity_enrolled(id));
    CU_ASSERT_EQUAL(install("ca", PKI_GATEWAY_A, PKI_GATEWAY_A), 0);
    sh("rm $S/gateway-ca.pem");
    load();
    CU_ASSERT(!identity_enrolled(id));
    sh("cmp $S/identity.key $S/before");
}

/* What was kept for the same gateway stays; what another was told goes. */
static void test_enrolled_anew(void)
{
    fresh();
    CU_ASSERT_EQUAL(install("ca", PKI_GATEWAY_A, PKI_GATEWAY_A), 0);
    sh("touch $S/config-confirmed.doc $S/config-state.json $S/denials.doc");
    CU_ASSERT_EQUAL(install("ca", PKI_GATEWAY_A, PKI_GATEWAY_A), 0);
    sh("test -e $S/config-confirmed.doc -a -e $S/config-state.json -a -e $S/denials.doc");
    CU_ASSERT_EQUAL(install("ca", PKI_GATEWAY_B, PKI_GATEWAY_B), 0);
    sh("test ! -e $S/config-confirmed.doc -a ! -e $S/config-state.json -a ! -e $S/denials.doc");
}

int main(void)
{
    CU_TestInfo tests[] = {
        {"the key is made once", test_key},
        {"install and load", test_install},
        {"wrong certificates", test_wrong_certificates},
        {"renewal", test_renew},
        {"the good address stands first", test_good_url_first},
        {"half an enrolment", test_half_written},
        {"enrolled anew", test_enrolled_anew},
        CU_TEST_INFO_NULL,
    };
    char last[128];
    pki_up();
    int rc = suite_run("identity", tests);
    identity_free(id);
    (void)snprintf(last, sizeof last, "rm -rf %s", dir);
    (void)pki_shell(last);
    pki_down();
    return rc;
}
