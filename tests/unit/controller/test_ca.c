/* What ca.c makes; the openssl command judges it in tests/contract too. */
#include "common/fsutil.h"
#include "common/model/signed_doc.h"
#include "controller/ca/ca.h"
#include "tests/unit/suite.h"
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define NOW 1800000000ll
#define DAY 86400ll

static char dir[64];

static void make_dir(void)
{
    (void)snprintf(dir, sizeof dir, "/tmp/test_ca.XXXXXX");
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(dir));
}

static void remove_dir(void)
{
    static const char *const names[] = {"gateway-ca", "config", "agent-listener", "web-ca", "web"};
    char path[PATH_MAX];
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        (void)snprintf(path, sizeof path, "%s/%s.pem", dir, names[i]);
        (void)unlink(path);
        (void)snprintf(path, sizeof path, "%s/%s.key", dir, names[i]);
        (void)unlink(path);
    }
    CU_ASSERT_EQUAL(rmdir(dir), 0); /* nothing else was left there */
}

static const char *in_dir(const char *name)
{
    static char path[PATH_MAX];
    (void)snprintf(path, sizeof path, "%s/%s", dir, name);
    return path;
}

static struct x509_st *load(const char *name)
{
    struct x509_st *cert = NULL;
    struct err e = {0};
    CU_ASSERT_EQUAL_FATAL(x509_cert_load(in_dir(name), &cert, &e), 0);
    return cert;
}

/* The command line's verdict on the certificate at `at`. */
static bool openssl_accepts(const char *ca, const char *cert, const char *purpose, long long at)
{
    char command[3 * PATH_MAX];
    (void)snprintf(
        command, sizeof command,
        "openssl verify -x509_strict -purpose %s -attime %lld -CAfile %s/%s %s/%s >/dev/null 2>&1",
        purpose, at, dir, ca, dir, cert);
    return system(command) == 0;
}

static struct ca *open_ca(int64_t now)
{
    struct ca *ca = NULL;
    struct err e = {0};
    int rc = ca_open(dir, now, &ca, &e);
    if (rc)
        (void)printf("\n%s\n", e.text);
    CU_ASSERT_EQUAL_FATAL(rc, 0);
    return ca;
}

static void test_create(void)
{
    make_dir();
    struct err e = {0};
    struct ca *ca = NULL;
    CU_ASSERT_EQUAL(ca_open(dir, NOW, &ca, &e), HW_ENOTFOUND);
    CU_ASSERT_EQUAL_FATAL(ca_create(dir, NOW, &e), 0);
    CU_ASSERT_EQUAL(ca_create(dir, NOW, &e), HW_ECONFLICT);
    struct stat st;
    CU_ASSERT_EQUAL(stat(in_dir("gateway-ca.key"), &st), 0);
    CU_ASSERT_EQUAL(st.st_mode & 0777, 0600);
    CU_ASSERT_TRUE(openssl_accepts("gateway-ca.pem", "agent-listener.pem", "sslserver", NOW));
    CU_ASSERT_FALSE(openssl_accepts("gateway-ca.pem", "agent-listener.pem", "sslclient", NOW));
    CU_ASSERT_TRUE(openssl_accepts("gateway-ca.pem", "config.pem", "any", NOW));
    CU_ASSERT_TRUE(openssl_accepts("gateway-ca.pem", "gateway-ca.pem", "any", NOW + 3650 * DAY));
    CU_ASSERT_FALSE(openssl_accepts("gateway-ca.pem", "config.pem", "any", NOW + 366 * DAY));
    struct x509_st *authority = load("gateway-ca.pem"), *listener = load("agent-listener.pem"),
                   *config = load("config.pem");
    CU_ASSERT_EQUAL(
        x509_cert_verify(listener, authority, NOW, X509_USE_SERVER, X509_URI_CONTROLLER, &e), 0);
    CU_ASSERT_EQUAL(x509_cert_verify(config, authority, NOW, X509_USE_ANY, X509_URI_CONFIG, &e), 0);
    CU_ASSERT_NOT_EQUAL(
        x509_cert_verify(config, authority, NOW, X509_USE_ANY, X509_URI_CONTROLLER, &e), 0);
    x509_cert_free(authority);
    x509_cert_free(listener);
    x509_cert_free(config);
    ca = open_ca(NOW);
    uint8_t pin[X509_PIN_LEN];
    ca_pin_bytes(ca, pin);
    CU_ASSERT_EQUAL(strlen(ca_pin(ca)), 64);
    char first[3];
    (void)snprintf(first, sizeof first, "%02x", pin[0]);
    CU_ASSERT_EQUAL(strncmp(ca_pin(ca), first, 2), 0);
    ca_free(ca);
    remove_dir();
}

/* An interrupted run left a key and no certificate: nothing was signed with it, so it is made anew.
 */
static void test_interrupted(void)
{
    make_dir();
    struct err e = {0};
    CU_ASSERT_EQUAL_FATAL(fsutil_write(in_dir("gateway-ca.key"), "junk", 4, 0600, &e), 0);
    CU_ASSERT_EQUAL(ca_create(dir, NOW, &e), 0);
    /* And between key and certificate of the config signer: another pair is made when it is opened.
     */
    CU_ASSERT_EQUAL(unlink(in_dir("config.pem")), 0);
    CU_ASSERT_EQUAL(unlink(in_dir("agent-listener.key")), 0);
    ca_free(open_ca(NOW));
    CU_ASSERT_TRUE(openssl_accepts("gateway-ca.pem", "config.pem", "any", NOW));
    CU_ASSERT_TRUE(openssl_accepts("gateway-ca.pem", "agent-listener.pem", "sslserver", NOW));
    remove_dir();
}

static void replace_key(const char *name)
{
    struct evp_pkey_st *key = NULL;
    struct err e = {0};
    CU_ASSERT_EQUAL_FATAL(x509_key_new(&key, &e), 0);
    CU_ASSERT_EQUAL_FATAL(x509_key_save(in_dir(name), key, &e), 0);
    x509_key_free(key);
}

static bool pair_of(const char *name)
{
    char file[64];
    struct evp_pkey_st *key = NULL;
    struct err e = {0};
    (void)snprintf(file, sizeof file, "%s.key", name);
    CU_ASSERT_EQUAL_FATAL(x509_key_load(in_dir(file), &key, &e), 0);
    (void)snprintf(file, sizeof file, "%s.pem", name);
    struct x509_st *cert = load(file);
    bool fits = x509_cert_has_key(cert, key);
    x509_cert_free(cert);
    x509_key_free(key);
    return fits;
}

static bool same_cert(const struct x509_st *a, const struct x509_st *b)
{
    uint8_t *da = NULL, *db = NULL;
    size_t na = 0, nb = 0;
    bool same = !x509_cert_der(a, &da, &na, NULL) && !x509_cert_der(b, &db, &nb, NULL) &&
                na == nb && memcmp(da, db, na) == 0;
    free(da);
    free(db);
    return same;
}

static void test_web(void)
{
    make_dir();
    struct err e = {0};
    struct x509_st *authority = NULL;
    static const char *const names[] = {"hawser.example", "192.0.2.9", "fd01::1", "localhost"};
    static const char *const bad[] = {"a,DNS:evil"}, *const empty[] = {""};
    CU_ASSERT_EQUAL_FATAL(ca_create(dir, NOW, &e), 0);
    CU_ASSERT_NOT_EQUAL(ca_create_web(dir, bad, 1, NOW, &e), 0);
    CU_ASSERT_NOT_EQUAL(ca_create_web(dir, empty, 1, NOW, &e), 0);
    CU_ASSERT_NOT_EQUAL(ca_create_web(dir, names, 0, NOW, &e), 0);
    CU_ASSERT_EQUAL_FATAL(ca_create_web(dir, names, 4, NOW, &e), 0);
    CU_ASSERT_TRUE(
        openssl_accepts("web-ca.pem", "web.pem", "sslserver -verify_hostname hawser.example", NOW));
    CU_ASSERT_TRUE(openssl_accepts("web-ca.pem", "web.pem", "sslserver -verify_ip fd01::1", NOW));
    CU_ASSERT_FALSE(
        openssl_accepts("web-ca.pem", "web.pem", "sslserver -verify_hostname other.example", NOW));
    CU_ASSERT_FALSE(openssl_accepts("gateway-ca.pem", "web.pem", "sslserver", NOW));
    CU_ASSERT_FALSE(openssl_accepts("web-ca.pem", "agent-listener.pem", "sslserver", NOW));
    /* Renewed at half of its time, with the same names and the same CA. */
    struct ca *ca = open_ca(NOW);
    bool renewed = true;
    CU_ASSERT_EQUAL(ca_renew_own(ca, NOW + 100 * DAY, &renewed, &e), 0);
    CU_ASSERT_FALSE(renewed);
    CU_ASSERT_EQUAL(ca_renew_own(ca, NOW + 200 * DAY, &renewed, &e), 0);
    CU_ASSERT_TRUE(renewed);
    CU_ASSERT_TRUE(openssl_accepts("web-ca.pem", "web.pem", "sslserver -verify_ip 192.0.2.9",
                                   NOW + 500 * DAY));
    CU_ASSERT_TRUE(
        openssl_accepts("gateway-ca.pem", "agent-listener.pem", "sslserver", NOW + 500 * DAY));
    /* A crash after the new key was written. */
    CU_ASSERT_EQUAL_FATAL(x509_cert_load(in_dir("web-ca.pem"), &authority, &e), 0);
    replace_key("web.key");
    ca_free(ca);
    ca = open_ca(NOW + 200 * DAY);
    CU_ASSERT_TRUE(pair_of("web"));
    CU_ASSERT_TRUE(openssl_accepts("web-ca.pem", "web.pem", "sslserver -verify_ip 192.0.2.9",
                                   NOW + 500 * DAY));
    /* Made while the clock was a year ahead. */
    CU_ASSERT_EQUAL(ca_renew_own(ca, NOW + 100 * DAY, &renewed, &e), 0);
    CU_ASSERT_TRUE(renewed);
    CU_ASSERT_TRUE(openssl_accepts("web-ca.pem", "web.pem", "sslserver", NOW + 100 * DAY));
    CU_ASSERT_TRUE(
        openssl_accepts("gateway-ca.pem", "agent-listener.pem", "sslserver", NOW + 100 * DAY));
    /* No other web CA takes the place of one whose key is kept elsewhere; the rest is renewed. */
    CU_ASSERT_EQUAL(unlink(in_dir("web-ca.key")), 0);
    CU_ASSERT_NOT_EQUAL(ca_renew_own(ca, NOW + 400 * DAY, &renewed, &e), 0);
    CU_ASSERT_TRUE(renewed);
    struct x509_st *now = load("web-ca.pem");
    CU_ASSERT_TRUE(same_cert(now, authority));
    x509_cert_free(now);
    x509_cert_free(authority);
    CU_ASSERT_TRUE(
        openssl_accepts("gateway-ca.pem", "agent-listener.pem", "sslserver", NOW + 700 * DAY));
    ca_free(ca);
    remove_dir();
}

static void test_clock_beside_the_ca(void)
{
    make_dir();
    struct err e = {0};
    bool renewed;
    CU_ASSERT_EQUAL_FATAL(ca_create(dir, NOW, &e), 0);
    struct ca *ca = open_ca(NOW);
    CU_ASSERT_EQUAL(ca_renew_own(ca, NOW + 3000 * DAY, &renewed, &e), 0);
    for (int sign = -1; sign <= 1; sign += 2) {
        CU_ASSERT_NOT_EQUAL(ca_renew_own(ca, NOW + sign * 4000 * DAY, &renewed, &e), 0);
        CU_ASSERT_PTR_NOT_NULL(strstr(e.text, "is the clock right?"));
        CU_ASSERT_TRUE(renewed);
    }
    ca_free(ca);
    remove_dir();
}

static void test_gateways(void)
{
    make_dir();
    struct err e = {0};
    CU_ASSERT_EQUAL_FATAL(ca_create(dir, NOW, &e), 0);
    struct ca *ca = open_ca(NOW);
    struct evp_pkey_st *key = NULL;
    char *csr = NULL, uri[X509_URI_MAX], id[ID_TEXT_MAX];
    CU_ASSERT_EQUAL_FATAL(x509_key_new(&key, &e), 0);
    CU_ASSERT_EQUAL_FATAL(x509_csr_make(key, &csr, &e), 0);
    struct hw_id gateway = id_new();
    (void)snprintf(uri, sizeof uri, X509_URI_GATEWAY "%s", id_text(&gateway, id));
    struct ca_issued a, b;
    CU_ASSERT_EQUAL_FATAL(ca_issue_gateway(ca, csr, &gateway, NOW, &a, &e), 0);
    CU_ASSERT_EQUAL_FATAL(ca_issue_gateway(ca, csr, &gateway, NOW, &b, &e), 0);
    CU_ASSERT_STRING_NOT_EQUAL(a.serial, b.serial);
    CU_ASSERT_EQUAL(a.not_after, NOW + 30 * DAY);
    struct x509_st *cert = NULL, *authority = load("gateway-ca.pem");
    CU_ASSERT_EQUAL_FATAL(x509_cert_parse(a.pem, strlen(a.pem), &cert, &e), 0);
    for (enum x509_use use = X509_USE_ANY; use <= X509_USE_CLIENT; use++)
        CU_ASSERT_EQUAL(x509_cert_verify(cert, authority, NOW + DAY, use, uri, &e), 0);
    CU_ASSERT_NOT_EQUAL(x509_cert_verify(cert, authority, NOW + 31 * DAY, X509_USE_CLIENT, uri, &e),
                        0);
    CU_ASSERT_TRUE(x509_cert_has_key(cert, key));
    uint8_t pin[X509_PIN_LEN], own[X509_PIN_LEN];
    CU_ASSERT_EQUAL(ca_csr_pin(csr, pin, &e), 0);
    CU_ASSERT_EQUAL(x509_key_pin(key, own, &e), 0);
    CU_ASSERT_EQUAL(memcmp(pin, own, sizeof pin), 0);
    CU_ASSERT_EQUAL(ca_csr_pin("nonsense", pin, &e), HW_EINVAL);
    CU_ASSERT_STRING_EQUAL(e.field, "csr_pem");
    ca_issued_done(&a);
    ca_issued_done(&b);
    x509_cert_free(cert);
    x509_cert_free(authority);
    x509_key_free(key);
    free(csr);
    ca_free(ca);
    remove_dir();
}

/* What is signed is what the agent's reader accepts, for this gateway and no other; after the
 * signer's renewal too. */
static void test_signatures(void)
{
    make_dir();
    struct err e = {0};
    CU_ASSERT_EQUAL_FATAL(ca_create(dir, NOW, &e), 0);
    struct ca *ca = open_ca(NOW);
    struct x509_st *authority = load("gateway-ca.pem");
    struct hw_id gateway = id_new(), other = id_new();
    static const char body[] = "{\"version\":1}";
    for (int64_t now = NOW; now < NOW + 800 * DAY; now += 200 * DAY) {
        struct ca_signature s;
        bool renewed;
        CU_ASSERT_EQUAL(ca_renew_own(ca, now, &renewed, &e), 0);
        CU_ASSERT_EQUAL(renewed, now > NOW);
        CU_ASSERT_EQUAL_FATAL(ca_sign_config(ca, &gateway, 42, body, sizeof body - 1, &s, &e), 0);
        CU_ASSERT_TRUE(ca_is_signer(ca, s.signer_der, s.signer_len));
        CU_ASSERT_FALSE(ca_is_signer(ca, s.signer_der, s.signer_len - 1));
        struct signed_doc d = {.revision = 42,
                               .signature_len = s.sig_len,
                               .signer = s.signer_der,
                               .signer_len = s.signer_len};
        memcpy(d.signature, s.sig, s.sig_len);
        d.body = strdup(body);
        d.body_len = sizeof body - 1;
        CU_ASSERT_EQUAL(signed_config_verify(&d, &gateway, authority, now, &e), 0);
        d.accepted_at = 0;
        CU_ASSERT_EQUAL(signed_config_verify(&d, &other, authority, now, &e), HW_EAUTH);
        d.revision = 43;
        CU_ASSERT_EQUAL(signed_config_verify(&d, &gateway, authority, now, &e), HW_EAUTH);
        CU_ASSERT_EQUAL(signed_denials_verify(&d, authority, now, &e), HW_EAUTH);
        s.signer_der = NULL;
        signed_doc_done(&d);
        ca_signature_done(&s);
    }
    x509_cert_free(authority);
    ca_free(ca);
    remove_dir();
}

int main(void)
{
    CU_TestInfo tests[] = {{"made once", test_create},
                           {"an interrupted bootstrap", test_interrupted},
                           {"web server", test_web},
                           {"clock beside the CA", test_clock_beside_the_ca},
                           {"gateways", test_gateways},
                           {"signatures", test_signatures},
                           CU_TEST_INFO_NULL};
    return suite_run("ca", tests);
}
