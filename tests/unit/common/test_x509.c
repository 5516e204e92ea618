#include "common/clock.h"
#include "common/fsutil.h"
#include "common/hex.h"
#include "common/x509.h"
#include "tests/unit/common/pki.h"
#include "tests/unit/suite.h"
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define DAY 86400

static void test_key_file(void)
{
    struct evp_pkey_st *key, *back;
    struct stat st;
    uint8_t pin[32], again[32];
    CU_ASSERT_EQUAL_FATAL(x509_key_new(&key, NULL), HW_OK);
    CU_ASSERT_TRUE(x509_key_is_p256(key));
    CU_ASSERT_EQUAL(x509_key_save(pki_path("own.key"), key, NULL), HW_OK);
    CU_ASSERT_EQUAL(stat(pki_path("own.key"), &st), 0);
    CU_ASSERT_EQUAL(st.st_mode & 07777, 0600);
    CU_ASSERT_EQUAL(pki_shell("openssl pkey -in $D/own.key -noout -text | grep -q prime256v1"), 0);
    CU_ASSERT_EQUAL_FATAL(x509_key_load(pki_path("own.key"), &back, NULL), HW_OK);
    CU_ASSERT_EQUAL(x509_key_pin(key, pin, NULL), HW_OK);
    CU_ASSERT_EQUAL(x509_key_pin(back, again, NULL), HW_OK);
    CU_ASSERT_EQUAL(memcmp(pin, again, sizeof pin), 0);
    x509_key_free(key);
    x509_key_free(back);
    x509_key_free(NULL);
}

static void test_key_refused(void)
{
    struct evp_pkey_st *key;
    struct err e;
    CU_ASSERT_EQUAL(
        pki_shell("openssl genpkey -algorithm RSA -pkeyopt rsa_keygen_bits:2048 -out $D/rsa.key "
                  "2>/dev/null;"
                  "openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-384 -out $D/p384.key;"
                  "openssl pkey -in $D/own.key -aes256 -passout pass:x -out $D/locked.key;"
                  "echo nothing > $D/garbage.key"),
        0);
    CU_ASSERT_EQUAL(x509_key_load(pki_path("rsa.key"), &key, &e), HW_EINVAL);
    CU_ASSERT_EQUAL(x509_key_load(pki_path("p384.key"), &key, &e), HW_EINVAL);
    CU_ASSERT_EQUAL(x509_key_load(pki_path("locked.key"), &key, &e), HW_EINVAL);
    CU_ASSERT_EQUAL(x509_key_load(pki_path("garbage.key"), &key, &e), HW_EINVAL);
    CU_ASSERT_EQUAL(x509_key_load(pki_path("missing.key"), &key, &e), HW_ENOTFOUND);
}

/* The openssl command judges our request, and signs it. */
static void test_csr(void)
{
    struct evp_pkey_st *key, *public;
    struct x509_st *cert;
    char *pem;
    uint8_t a[32], b[32];
    CU_ASSERT_EQUAL_FATAL(x509_key_load(pki_path("own.key"), &key, NULL), HW_OK);
    CU_ASSERT_EQUAL_FATAL(x509_csr_make(key, &pem, NULL), HW_OK);
    CU_ASSERT_EQUAL(fsutil_write(pki_path("own.csr"), pem, strlen(pem), 0600, NULL), HW_OK);
    CU_ASSERT_EQUAL(
        pki_shell("openssl req -in $D/own.csr -verify -noout 2>&1 | grep -q 'verify OK'"), 0);
    CU_ASSERT_EQUAL(
        pki_shell("openssl x509 -req -in $D/own.csr -CA $D/ca.pem -CAkey $D/ca.key -days 1 "
                  "-out $D/own.pem 2>/dev/null"),
        0);
    CU_ASSERT_EQUAL_FATAL(x509_csr_read(pem, strlen(pem), &public, NULL), HW_OK);
    CU_ASSERT_EQUAL(x509_key_pin(key, a, NULL), HW_OK);
    CU_ASSERT_EQUAL(x509_key_pin(public, b, NULL), HW_OK);
    CU_ASSERT_EQUAL(memcmp(a, b, 32), 0);
    cert = pki_cert("own");
    CU_ASSERT_TRUE(x509_cert_has_key(cert, key));
    CU_ASSERT_TRUE(x509_cert_has_key(cert, public));
    x509_cert_free(cert);
    cert = pki_cert("gateway-a");
    CU_ASSERT_FALSE(x509_cert_has_key(cert, key));
    x509_cert_free(cert);
    x509_key_free(public);
    x509_key_free(key);
    free(pem);
}

static void refuse_csr(const char *file)
{
    struct evp_pkey_st *key;
    char *pem;
    size_t len;
    struct err e;
    CU_ASSERT_EQUAL_FATAL(fsutil_read(pki_path(file), X509_PEM_MAX, &pem, &len, NULL), HW_OK);
    CU_ASSERT_EQUAL(x509_csr_read(pem, len, &key, &e), HW_EINVAL);
    free(pem);
}

static void test_csr_refused(void)
{
    CU_ASSERT_EQUAL(
        pki_shell(
            "openssl req -new -key $D/p384.key -subj /CN=x -out $D/p384.csr;"
            "openssl req -new -key $D/rsa.key -subj /CN=x -out $D/rsa.csr;"
            /* another key in a request that own.key signed */
            "openssl req -in $D/own.csr -outform DER -out $D/own.der;"
            "/usr/bin/python3 -c 'import sys; b = bytearray(open(sys.argv[1], \"rb\").read());"
            " b[-1] ^= 1; open(sys.argv[2], \"wb\").write(b)' $D/own.der $D/bad.der;"
            "openssl req -inform DER -in $D/bad.der -out $D/bad.csr"),
        0);
    refuse_csr("p384.csr");
    refuse_csr("rsa.csr");
    refuse_csr("bad.csr");
    refuse_csr("own.pem");
}

static void test_cert_info(void)
{
    struct x509_st *cert = pki_cert("gateway-a"), *ca = pki_cert("ca");
    struct x509_info info;
    char cmd[256], hex[65], when[CLOCK_TEXT_MAX];
    uint8_t pin[32];
    CU_ASSERT_EQUAL(x509_cert_info(cert, &info, NULL), HW_OK);
    CU_ASSERT_STRING_EQUAL(info.uri, "hawser://gateway/" PKI_GATEWAY_A);
    CU_ASSERT_FALSE(info.is_ca);
    CU_ASSERT_EQUAL(info.not_after - info.not_before, 30 * DAY);
    (void)snprintf(
        cmd, sizeof cmd,
        "test \"$(openssl x509 -in $D/gateway-a.pem -noout -serial | tr A-Z a-z)\" = serial=%s",
        info.serial);
    CU_ASSERT_EQUAL(pki_shell(cmd), 0);
    (void)snprintf(cmd, sizeof cmd,
                   "test \"$(openssl x509 -in $D/gateway-a.pem -noout -enddate -dateopt iso_8601 | "
                   "tr ' ' T)\" = notAfter=%s",
                   clock_text(info.not_after, when));
    CU_ASSERT_EQUAL(pki_shell(cmd), 0);
    CU_ASSERT_EQUAL(x509_cert_pin(ca, pin, NULL), HW_OK);
    (void)snprintf(cmd, sizeof cmd,
                   "openssl x509 -in $D/ca.pem -noout -pubkey | openssl pkey -pubin -outform DER | "
                   "sha256sum | grep -q %s",
                   hex_encode(pin, sizeof pin, hex));
    CU_ASSERT_EQUAL(pki_shell(cmd), 0);
    CU_ASSERT_EQUAL(x509_cert_info(ca, &info, NULL), HW_OK);
    CU_ASSERT_TRUE(info.is_ca);
    CU_ASSERT_STRING_EQUAL(info.uri, "");
    x509_cert_free(cert);
    x509_cert_free(ca);
    cert = pki_cert("two-uris");
    CU_ASSERT_EQUAL(x509_cert_info(cert, &info, NULL), HW_OK);
    CU_ASSERT_STRING_EQUAL(info.uri, "");
    x509_cert_free(cert);
}

static void test_cert_forms(void)
{
    struct x509_st *cert = pki_cert("gateway-a"), *back;
    char *pem = x509_cert_pem(cert);
    uint8_t *der;
    size_t len;
    struct err e;
    CU_ASSERT_PTR_NOT_NULL_FATAL(pem);
    CU_ASSERT_EQUAL_FATAL(x509_cert_parse(pem, strlen(pem), &back, NULL), HW_OK);
    x509_cert_free(back);
    CU_ASSERT_EQUAL_FATAL(x509_cert_der(cert, &der, &len, NULL), HW_OK);
    CU_ASSERT_EQUAL_FATAL(x509_cert_parse_der(der, len, &back, NULL), HW_OK);
    x509_cert_free(back);
    der = realloc(der, len + 1);
    der[len] = 0;
    CU_ASSERT_EQUAL(x509_cert_parse_der(der, len + 1, &back, &e), HW_EINVAL);
    CU_ASSERT_EQUAL(x509_cert_parse_der(der, len - 1, &back, &e), HW_EINVAL);
    CU_ASSERT_EQUAL(x509_cert_parse("", 0, &back, &e), HW_EINVAL);
    CU_ASSERT_EQUAL(pki_shell("cat $D/ca.pem $D/gateway-a.pem > $D/both.pem"), 0);
    CU_ASSERT_EQUAL(x509_cert_load(pki_path("both.pem"), &back, &e), HW_EINVAL);
    free(der);
    free(pem);
    x509_cert_free(cert);
}

static int verify(const char *name, const char *ca_name, int64_t now, enum x509_use use,
                  const char *uri)
{
    struct x509_st *cert = pki_cert(name), *ca = pki_cert(ca_name);
    struct err e = {0};
    int rc = x509_cert_verify(cert, ca, now, use, uri, &e);
    CU_ASSERT((rc == HW_OK) == (e.text[0] == '\0'));
    x509_cert_free(cert);
    x509_cert_free(ca);
    return rc;
}

static void test_cert_verify(void)
{
    const int64_t now = clock_wall_s() + DAY;
    CU_ASSERT_EQUAL(verify("gateway-a", "ca", now, X509_USE_CLIENT, X509_URI_GATEWAY PKI_GATEWAY_A),
                    HW_OK);
    CU_ASSERT_EQUAL(verify("gateway-a", "ca", now, X509_USE_SERVER, NULL), HW_OK);
    CU_ASSERT_EQUAL(verify("gateway-a", "ca", now, X509_USE_ANY, X509_URI_GATEWAY PKI_GATEWAY_B),
                    HW_EAUTH);
    CU_ASSERT_EQUAL(verify("gateway-a", "ca", now, X509_USE_ANY, X509_URI_CONTROLLER), HW_EAUTH);
    CU_ASSERT_EQUAL(verify("config", "ca", now, X509_USE_ANY, X509_URI_CONFIG), HW_OK);
    CU_ASSERT_EQUAL(verify("config", "ca", now, X509_USE_ANY, X509_URI_CONTROLLER), HW_EAUTH);
    CU_ASSERT_EQUAL(verify("two-uris", "ca", now, X509_USE_ANY, X509_URI_CONTROLLER), HW_EAUTH);
    CU_ASSERT_EQUAL(verify("no-uri", "ca", now, X509_USE_ANY, ""), HW_OK);
    CU_ASSERT_EQUAL(verify("server-only", "ca", now, X509_USE_CLIENT, NULL), HW_EAUTH);
    CU_ASSERT_EQUAL(verify("server-only", "ca", now, X509_USE_SERVER, NULL), HW_OK);
    CU_ASSERT_EQUAL(verify("foreign-a", "ca", now, X509_USE_CLIENT, NULL), HW_EAUTH);
    CU_ASSERT_EQUAL(verify("foreign-a", "other-ca", now, X509_USE_CLIENT, NULL), HW_OK);
    /* The caller's time counts, not the machine's. */
    CU_ASSERT_EQUAL(verify("gateway-a", "ca", now + 31 * DAY, X509_USE_CLIENT, NULL), HW_EAUTH);
    CU_ASSERT_EQUAL(verify("gateway-a", "ca", now - 2 * DAY, X509_USE_CLIENT, NULL), HW_EAUTH);
    CU_ASSERT_EQUAL(verify("gateway-a", "ca", now + 28 * DAY, X509_USE_CLIENT, NULL), HW_OK);
    CU_ASSERT_EQUAL(verify("gateway-a", "gateway-a", now, X509_USE_CLIENT, NULL), HW_EAUTH);
}

/* Both ways against the openssl command. */
static void test_signature(void)
{
    static const char text[] = "exact bytes";
    struct evp_pkey_st *key = pki_key("config");
    struct x509_st *cert = pki_cert("config"), *other = pki_cert("controller");
    uint8_t sig[X509_SIG_MAX];
    char *foreign;
    size_t len;
    CU_ASSERT_EQUAL_FATAL(x509_sign(key, text, strlen(text), sig, &len, NULL), HW_OK);
    CU_ASSERT_EQUAL(fsutil_write(pki_path("text"), text, strlen(text), 0600, NULL), HW_OK);
    CU_ASSERT_EQUAL(fsutil_write(pki_path("sig"), sig, len, 0600, NULL), HW_OK);
    CU_ASSERT_EQUAL(
        pki_shell("cd $D && openssl x509 -in config.pem -noout -pubkey > config.pub && "
                  "openssl dgst -sha256 -verify config.pub -signature sig text | grep -q OK && "
                  "openssl dgst -sha256 -sign config.key -out foreign.sig text"),
        0);
    CU_ASSERT_EQUAL(x509_check_signature(cert, text, strlen(text), sig, len, NULL), HW_OK);
    CU_ASSERT_EQUAL(x509_check_signature(other, text, strlen(text), sig, len, NULL), HW_EAUTH);
    CU_ASSERT_EQUAL(x509_check_signature(cert, text, strlen(text) - 1, sig, len, NULL), HW_EAUTH);
    CU_ASSERT_EQUAL(x509_check_signature(cert, text, strlen(text), sig, len - 1, NULL), HW_EAUTH);
    sig[len / 2] ^= 1;
    CU_ASSERT_EQUAL(x509_check_signature(cert, text, strlen(text), sig, len, NULL), HW_EAUTH);
    CU_ASSERT_EQUAL_FATAL(fsutil_read(pki_path("foreign.sig"), X509_SIG_MAX, &foreign, &len, NULL),
                          HW_OK);
    CU_ASSERT_EQUAL(x509_check_signature(cert, text, strlen(text), foreign, len, NULL), HW_OK);
    free(foreign);
    x509_key_free(key);
    x509_cert_free(cert);
    x509_cert_free(other);
}

int main(void)
{
    CU_TestInfo tests[] = {{"key file", test_key_file},
                           {"key refused", test_key_refused},
                           {"csr", test_csr},
                           {"csr refused", test_csr_refused},
                           {"cert info", test_cert_info},
                           {"cert forms", test_cert_forms},
                           {"cert verify", test_cert_verify},
                           {"signature", test_signature},
                           CU_TEST_INFO_NULL};
    pki_up();
    int rc = suite_run("x509", tests);
    pki_down();
    return rc;
}
