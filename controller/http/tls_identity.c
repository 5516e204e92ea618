#include "controller/http/tls_identity.h"
#include <gnutls/x509.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define CHAIN_MAX 8

/* One certificate chain with its key. A handshake may still use an old one, so none is freed before
 * the end: one more every half year. */
struct identity {
    struct identity *older;
    gnutls_pcert_st chain[CHAIN_MAX];
    unsigned n;
    gnutls_privkey_t key;
};

/* Newest identity of each listener. */
static struct identity *identities[HTTP_LISTENERS];
static pthread_mutex_t identities_lock = PTHREAD_MUTEX_INITIALIZER;

static void identity_free(struct identity *id)
{
    for (unsigned i = 0; i < id->n; i++)
        gnutls_pcert_deinit(&id->chain[i]);
    if (id->key)
        gnutls_privkey_deinit(id->key);
    free(id);
}

static gnutls_datum_t datum(const char *text)
{
    gnutls_datum_t d = {.size = (unsigned)strlen(text)};
    memcpy(&d.data, &text, sizeof d.data); /* GnuTLS only reads it */
    return d;
}

/* GNUTLS_E_CERTIFICATE_KEY_MISMATCH when every handshake would fail. */
static int check_pair(const struct identity *id)
{
    unsigned char of_key[64], of_cert[64];
    size_t n_key = sizeof of_key, n_cert = sizeof of_cert;
    gnutls_pubkey_t key;
    int rc = gnutls_pubkey_init(&key);
    if (rc)
        return rc;
    rc = gnutls_pubkey_import_privkey(key, id->key, 0, 0);
    if (!rc)
        rc = gnutls_pubkey_get_key_id(key, GNUTLS_KEYID_USE_SHA256, of_key, &n_key);
    if (!rc)
        rc = gnutls_pubkey_get_key_id(id->chain[0].pubkey, GNUTLS_KEYID_USE_SHA256, of_cert,
                                      &n_cert);
    if (!rc && (n_key != n_cert || memcmp(of_key, of_cert, n_key) != 0))
        rc = GNUTLS_E_CERTIFICATE_KEY_MISMATCH;
    gnutls_pubkey_deinit(key);
    return rc;
}

int tls_identity_set(enum http_listener listener, const char *cert_pem, const char *key_pem,
                     struct err *e)
{
    struct identity *id = calloc(1, sizeof *id);
    if (!id)
        return err_set(e, HW_ENOMEM, "out of memory");
    gnutls_datum_t cert = datum(cert_pem), key = datum(key_pem);
    unsigned n = CHAIN_MAX;
    int rc = gnutls_pcert_list_import_x509_raw(id->chain, &n, &cert, GNUTLS_X509_FMT_PEM, 0);
    id->n = rc ? 0 : n;
    if (!rc)
        rc = gnutls_privkey_init(&id->key);
    if (!rc)
        rc = gnutls_privkey_import_x509_raw(id->key, &key, GNUTLS_X509_FMT_PEM, NULL, 0);
    if (!rc)
        rc = check_pair(id);
    if (rc) {
        identity_free(id);
        return err_set(e, HW_EFAIL, "certificate or key of the %s listener: %s",
                       listener == HTTP_AGENTS ? "agents'" : "people's", gnutls_strerror(rc));
    }
    pthread_mutex_lock(&identities_lock);
    id->older = identities[listener];
    identities[listener] = id;
    pthread_mutex_unlock(&identities_lock);
    return 0;
}

static int choose(enum http_listener listener, gnutls_pcert_st **chain, unsigned *n,
                  gnutls_privkey_t *key)
{
    pthread_mutex_lock(&identities_lock);
    struct identity *id = identities[listener];
    pthread_mutex_unlock(&identities_lock);
    if (!id)
        return -1;
    *chain = id->chain;
    *n = id->n;
    *key = id->key;
    return 0;
}

static int choose_people(gnutls_session_t session, const gnutls_datum_t *cas, int n_cas,
                         const gnutls_pk_algorithm_t *algos, int n_algos, gnutls_pcert_st **chain,
                         unsigned *n, gnutls_privkey_t *key)
{
    (void)session, (void)cas, (void)n_cas, (void)algos, (void)n_algos;
    return choose(HTTP_PEOPLE, chain, n, key);
}

static int choose_agents(gnutls_session_t session, const gnutls_datum_t *cas, int n_cas,
                         const gnutls_pk_algorithm_t *algos, int n_algos, gnutls_pcert_st **chain,
                         unsigned *n, gnutls_privkey_t *key)
{
    (void)session, (void)cas, (void)n_cas, (void)algos, (void)n_algos;
    return choose(HTTP_AGENTS, chain, n, key);
}

gnutls_certificate_retrieve_function2 *tls_identity_callback(enum http_listener listener)
{
    return listener == HTTP_AGENTS ? choose_agents : choose_people;
}

void tls_identity_done(void)
{
    for (int l = 0; l < HTTP_LISTENERS; l++) {
        while (identities[l]) {
            struct identity *id = identities[l];
            identities[l] = id->older;
            identity_free(id);
        }
    }
}

/* The one URI among the subjectAltNames; several are none. */
static void read_uri(gnutls_x509_crt_t crt, char out[CLIENT_CERT_URI_MAX])
{
    unsigned found = 0;
    for (unsigned i = 0;; i++) {
        char name[CLIENT_CERT_URI_MAX];
        size_t len = sizeof name;
        unsigned type;
        int rc = gnutls_x509_crt_get_subject_alt_name2(crt, i, name, &len, &type, NULL);
        if (rc == GNUTLS_E_SHORT_MEMORY_BUFFER)
            continue;
        if (rc < 0)
            break;
        if (type == GNUTLS_SAN_URI && len < sizeof name && strnlen(name, len) == len &&
            ++found == 1) {
            memcpy(out, name, len);
            out[len] = '\0';
        }
    }
    if (found != 1)
        out[0] = '\0';
}

static void read_serial(gnutls_x509_crt_t crt, char out[CLIENT_CERT_SERIAL_MAX])
{
    unsigned char serial[CLIENT_CERT_SERIAL_MAX / 2 - 1];
    size_t len = sizeof serial;
    out[0] = '\0';
    if (gnutls_x509_crt_get_serial(crt, serial, &len))
        return;
    size_t skip = 0;
    while (skip + 1 < len && serial[skip] == 0)
        skip++;
    for (size_t i = skip; i < len; i++) {
        static const char hex[] = "0123456789abcdef";
        *out++ = hex[serial[i] >> 4];
        *out++ = hex[serial[i] & 15];
    }
    *out = '\0';
}

/* A certificate counts only at return code 0 *and* status 0: without one the code is negative while
 * the status stays 0, an untrusted one has code 0 and a status. Expiry alone is told apart for
 * renewal. */
static void judge(gnutls_session_t session, struct client_cert *out)
{
    static char client_auth[] = GNUTLS_KP_TLS_WWW_CLIENT;
    gnutls_typed_vdata_st purpose = {.type = GNUTLS_DT_KEY_PURPOSE_OID,
                                     .data = (unsigned char *)client_auth,
                                     .size = sizeof client_auth - 1};
    unsigned status = 0;
    int rc = gnutls_certificate_verify_peers(session, &purpose, 1, &status);
    out->verified = rc == 0 && status == 0;
    out->expired_only = rc == 0 && status == (GNUTLS_CERT_INVALID | GNUTLS_CERT_EXPIRED);
}

void tls_identity_peer(gnutls_session_t session, struct client_cert *out)
{
    *out = (struct client_cert){0};
    unsigned n = 0;
    const gnutls_datum_t *chain = gnutls_certificate_get_peers(session, &n);
    gnutls_x509_crt_t crt;
    if (!chain || n == 0 || gnutls_x509_crt_init(&crt))
        return;
    if (!gnutls_x509_crt_import(crt, &chain[0], GNUTLS_X509_FMT_DER)) {
        out->present = true;
        read_uri(crt, out->san_uri);
        read_serial(crt, out->serial);
        out->not_before = (int64_t)gnutls_x509_crt_get_activation_time(crt);
        out->not_after = (int64_t)gnutls_x509_crt_get_expiration_time(crt);
        judge(session, out);
    }
    gnutls_x509_crt_deinit(crt);
}
