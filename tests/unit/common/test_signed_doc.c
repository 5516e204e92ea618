#include "common/b64url.h"
#include "common/clock.h"
#include "common/fsutil.h"
#include "common/model/signed_doc.h"
#include "tests/unit/common/mutate.h"
#include "tests/unit/common/pki.h"
#include "tests/unit/suite.h"

#define DAY 86400

static struct err e;
static struct x509_st *ca;
static const struct hw_id gateway = {{0x11, 0x22}}, other = {{0x33}};
static const char body[] = "{\"version\":1}";

static void test_signed_bytes(void)
{
    static const uint8_t config[] =
        "hawser-config-v1\0\x11\x22\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\1\2body";
    static const uint8_t denials[] = "hawser-denials-v1\0\0\0\0\0\0\0\0\7body";
    uint8_t *out;
    size_t len;
    CU_ASSERT_EQUAL_FATAL(signed_config_bytes(&gateway, 0x102, "body", 4, &out, &len), HW_OK);
    CU_ASSERT_EQUAL(len, sizeof config - 1);
    CU_ASSERT_EQUAL(len, 16 + 1 + 16 + 1 + 8 + 4);
    CU_ASSERT_EQUAL(memcmp(out, config, len), 0);
    free(out);
    CU_ASSERT_EQUAL_FATAL(signed_denials_bytes(7, "body", 4, &out, &len), HW_OK);
    CU_ASSERT_EQUAL(len, sizeof denials - 1);
    CU_ASSERT_EQUAL(memcmp(out, denials, len), 0);
    free(out);
}

/* Signs by the openssl command with the named key, as a controller would send it. */
static struct signed_doc sign(const char *signer, const uint8_t *bytes, size_t len,
                              const char *revision)
{
    struct signed_doc d;
    char cmd[256];
    char *sig, *sig64, *der64;
    uint8_t *der;
    size_t sig_len, der_len;
    struct x509_st *cert = pki_cert(signer);
    (void)snprintf(cmd, sizeof cmd, "openssl dgst -sha256 -sign $D/%s.key -out $D/sig $D/bytes",
                   signer);
    CU_ASSERT_EQUAL(fsutil_write(pki_path("bytes"), bytes, len, 0600, NULL), HW_OK);
    CU_ASSERT_EQUAL_FATAL(pki_shell(cmd), 0);
    CU_ASSERT_EQUAL_FATAL(fsutil_read(pki_path("sig"), X509_SIG_MAX, &sig, &sig_len, NULL), HW_OK);
    CU_ASSERT_EQUAL_FATAL(x509_cert_der(cert, &der, &der_len, NULL), HW_OK);
    sig64 = b64url_encode(sig, sig_len);
    der64 = b64url_encode(der, der_len);
    CU_ASSERT_EQUAL_FATAL(signed_doc_receive(revision, sig64, der64, body, strlen(body), &d, &e),
                          HW_OK);
    free(sig);
    free(sig64);
    free(der);
    free(der64);
    x509_cert_free(cert);
    return d;
}

static struct signed_doc config_by(const char *signer)
{
    uint8_t *bytes;
    size_t len;
    CU_ASSERT_EQUAL_FATAL(signed_config_bytes(&gateway, 41, body, strlen(body), &bytes, &len),
                          HW_OK);
    struct signed_doc d = sign(signer, bytes, len, "41");
    free(bytes);
    return d;
}

static void test_config(void)
{
    const int64_t now = clock_wall_s() + 60;
    struct signed_doc d = config_by("config");
    CU_ASSERT_EQUAL(d.revision, 41);
    CU_ASSERT_EQUAL(signed_config_verify(&d, &other, ca, now, &e),
                    HW_EAUTH); /* another gateway's */
    CU_ASSERT_EQUAL(d.accepted_at, 0);
    CU_ASSERT_EQUAL(signed_denials_verify(&d, ca, now, &e), HW_EAUTH);
    d.revision++;
    CU_ASSERT_EQUAL(signed_config_verify(&d, &gateway, ca, now, &e), HW_EAUTH);
    d.revision--;
    d.body[2] ^= 1;
    CU_ASSERT_EQUAL(signed_config_verify(&d, &gateway, ca, now, &e), HW_EAUTH);
    d.body[2] ^= 1;
    d.signature[9] ^= 1;
    CU_ASSERT_EQUAL(signed_config_verify(&d, &gateway, ca, now, &e), HW_EAUTH);
    d.signature[9] ^= 1;
    CU_ASSERT_EQUAL(signed_config_verify(&d, &gateway, ca, now + 31 * DAY, &e), HW_EAUTH);
    CU_ASSERT_EQUAL(signed_config_verify(&d, &gateway, ca, now, &e), HW_OK);
    CU_ASSERT_EQUAL(d.accepted_at, now);
    signed_doc_done(&d);
    signed_doc_done(NULL);
}

/* Once accepted it stays so: a machine that boots long after the signer's end still trusts its
 * disk. */
static void test_disk(void)
{
    const int64_t now = clock_wall_s() + 60;
    struct signed_doc d = config_by("config"), back;
    size_t len;
    CU_ASSERT_EQUAL(signed_config_verify(&d, &gateway, ca, now, &e), HW_OK);
    char *text = signed_doc_encode(&d, &len);
    CU_ASSERT_EQUAL_FATAL(signed_doc_decode(text, len, &back, &e), HW_OK);
    CU_ASSERT_EQUAL(back.revision, 41);
    CU_ASSERT_STRING_EQUAL(back.body, body);
    CU_ASSERT_EQUAL(back.accepted_at, now);
    CU_ASSERT_EQUAL(signed_config_verify(&back, &gateway, ca, now + 1000 * DAY, &e), HW_OK);
    CU_ASSERT_EQUAL(back.accepted_at, now);
    signed_doc_done(&back);
    static const char *const changes[][2] = {
        {"\"revision\":41", "\"revision\":-1"},    {"\"body\":\"", "\"body\":\"!"},
        {"\"signature\":\"", "\"signature\":\"!"}, {"\"signer\"", "\"signed\""},
        {"\"signer\":\"", "\"signer\":\"="},
    };
    for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++) {
        char *bad = mutate(text, changes[i][0], changes[i][1]);
        CU_ASSERT_EQUAL(signed_doc_decode(bad, strlen(bad), &back, &e), HW_EINVAL);
        free(bad);
    }
    free(text);
    signed_doc_done(&d);
}

static void test_wrong_signer(void)
{
    static const char *const signers[] = {"controller", "gateway-a", "foreign-config", "two-uris"};
    const int64_t now = clock_wall_s() + 60;
    for (size_t i = 0; i < sizeof signers / sizeof signers[0]; i++) {
        struct signed_doc d = config_by(signers[i]);
        CU_ASSERT_EQUAL(signed_config_verify(&d, &gateway, ca, now, &e), HW_EAUTH);
        signed_doc_done(&d);
    }
    struct signed_doc d = config_by("config");
    d.signer_len--;
    CU_ASSERT_EQUAL(signed_config_verify(&d, &gateway, ca, now, &e), HW_EAUTH);
    signed_doc_done(&d);
}

static void test_denials_document(void)
{
    uint8_t *bytes;
    size_t len;
    const int64_t now = clock_wall_s() + 60;
    CU_ASSERT_EQUAL_FATAL(signed_denials_bytes(7, body, strlen(body), &bytes, &len), HW_OK);
    struct signed_doc d = sign("config", bytes, len, "7");
    free(bytes);
    CU_ASSERT_EQUAL(signed_config_verify(&d, &gateway, ca, now, &e), HW_EAUTH);
    CU_ASSERT_EQUAL(signed_denials_verify(&d, ca, now, &e), HW_OK);
    signed_doc_done(&d);
}

static void test_headers_refused(void)
{
    static const char *const bad[][3] = {
        {NULL, "AAAA", "AAAA"},
        {"", "AAAA", "AAAA"},
        {"-1", "AAAA", "AAAA"},
        {"01", "AAAA", "AAAA"},
        {"1 ", "AAAA", "AAAA"},
        {" 1", "AAAA", "AAAA"},
        {"18446744073709551616", "AAAA", "AAAA"},
        {"1", NULL, "AAAA"},
        {"1", "", "AAAA"},
        {"1", "A+AA", "AAAA"},
        {"1", "AAAA", NULL},
        {"1", "AAAA", "A"},
    };
    struct signed_doc d;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        CU_ASSERT_EQUAL(signed_doc_receive(bad[i][0], bad[i][1], bad[i][2], body, 2, &d, &e),
                        HW_EINVAL);
    char longer[200];
    memset(longer, 'A', sizeof longer - 1);
    longer[199] = '\0';
    CU_ASSERT_EQUAL(signed_doc_receive("1", longer, "AAAA", body, 2, &d, &e), HW_EINVAL);
    CU_ASSERT_EQUAL(signed_doc_receive("18446744073709551615", "AAAA", "AAAA", body, 2, &d, &e),
                    HW_OK);
    CU_ASSERT_EQUAL(d.revision, UINT64_MAX);
    CU_ASSERT_STRING_EQUAL(d.body, "{\"");
    signed_doc_done(&d);
}

static void test_denials_body(void)
{
    struct hw_id ids[] = {{{9}}, {{1}}, {{9}}};
    char serials[][X509_SERIAL_MAX] = {"ff", "0a", "0a"};
    struct hw_id permissions[] = {{{8}}, {{7}}, {{8}}};
    struct denials back, d = {.gateways = ids,
                              .n_gateways = 3,
                              .serials = serials,
                              .n_serials = 3,
                              .permissions = permissions,
                              .n_permissions = 3};
    size_t len;
    char *text = denials_encode(&d, &len);
    CU_ASSERT_STRING_EQUAL(text,
                           "{\"gateway_ids\":[\"01000000-0000-0000-0000-000000000000\","
                           "\"09000000-0000-0000-0000-000000000000\"],\"serials\":[\"0a\",\"ff\"],"
                           "\"permission_ids\":[\"07000000-0000-0000-0000-000000000000\","
                           "\"08000000-0000-0000-0000-000000000000\"]}");
    CU_ASSERT_EQUAL_FATAL(denials_decode(text, len, &back, &e), HW_OK);
    CU_ASSERT_TRUE(denials_has(&back, &(struct hw_id){{9}}, NULL));
    CU_ASSERT_TRUE(denials_has(&back, &other, "ff"));
    CU_ASSERT_TRUE(denials_has(&back, NULL, "0a"));
    CU_ASSERT_FALSE(denials_has(&back, &other, "0b"));
    CU_ASSERT_FALSE(denials_has(&back, NULL, NULL));
    CU_ASSERT_EQUAL_FATAL(back.n_permissions, 2);
    CU_ASSERT_EQUAL(back.permissions[1].b[0], 8);
    denials_done(&back);
    static const char *const bad[] = {
        "{\"gateway_ids\":[],\"serials\":[\"0A\"]}",
        "{\"gateway_ids\":[],\"serials\":[\"a\"]}",
        "{\"gateway_ids\":[],\"serials\":[\"\"]}",
        "{\"gateway_ids\":[],\"serials\":[\"0b\",\"0a\"]}",
        "{\"gateway_ids\":[],\"serials\":[\"0a\",\"0a\"]}",
        "{\"gateway_ids\":[1],\"serials\":[]}",
        "{\"gateway_ids\":[]}",
        "{\"gateway_ids\":[],\"serials\":[],\"permission_ids\":[\"7\"]}",
        "{\"gateway_ids\":[],\"serials\":[],\"permission_ids\":null}",
        "{\"gateway_ids\":[],\"serials\":[],\"x\":1}",
        "{\"gateway_ids\":[],\"serials\":[\"000000000000000000000000000000000000000000\"]}",
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        CU_ASSERT_EQUAL(denials_decode(bad[i], strlen(bad[i]), &back, &e), HW_EINVAL);
    free(text);
    static const char none[] = "{\"gateway_ids\":[],\"serials\":[]}";
    CU_ASSERT_EQUAL(denials_decode(none, strlen(none), &back, &e), HW_OK);
    CU_ASSERT_FALSE(denials_has(&back, &other, "0a"));
    denials_done(&back);
}

int main(void)
{
    CU_TestInfo tests[] = {{"signed bytes", test_signed_bytes},
                           {"config", test_config},
                           {"disk", test_disk},
                           {"wrong signer", test_wrong_signer},
                           {"denials document", test_denials_document},
                           {"headers refused", test_headers_refused},
                           {"denials body", test_denials_body},
                           CU_TEST_INFO_NULL};
    pki_up();
    ca = pki_cert("ca");
    int rc = suite_run("signed_doc", tests);
    x509_cert_free(ca);
    pki_down();
    return rc;
}
