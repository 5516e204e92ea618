#include "common/tls.h"
#include "common/evloop.h"
#include "common/ossl_err.h"
#include <errno.h>
#include <limits.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

struct tls_context {
    SSL_CTX *ssl;
    enum tls_role role;
};

struct tls_conn {
    SSL *ssl;
    bool done; /* this end's handshake has returned success */
    unsigned wants;
};

/* Slot of each SSL_CTX that names the SAN URI demanded of the peer; made once, at the first
 * context. */
static int uri_index = -1;
static pthread_once_t uri_once = PTHREAD_ONCE_INIT;

static void make_uri_index(void)
{
    uri_index = SSL_CTX_get_ex_new_index(0, NULL, NULL, NULL, NULL);
}

void tls_ignore_sigpipe(void)
{
    (void)signal(SIGPIPE, SIG_IGN);
}

/* Runs after OpenSSL's own checks of each certificate; depth 0 is the peer's own. */
static int check_uri(int ok, X509_STORE_CTX *store)
{
    if (ok != 1 || X509_STORE_CTX_get_error_depth(store) != 0)
        return ok;
    SSL *ssl = X509_STORE_CTX_get_ex_data(store, SSL_get_ex_data_X509_STORE_CTX_idx());
    const char *wanted = SSL_CTX_get_ex_data(SSL_get_SSL_CTX(ssl), uri_index);
    struct x509_info info;
    if (wanted && (x509_cert_info(X509_STORE_CTX_get_current_cert(store), &info, NULL) != HW_OK ||
                   strcmp(info.uri, wanted) != 0)) {
        X509_STORE_CTX_set_error(store, X509_V_ERR_APPLICATION_VERIFICATION);
        return 0;
    }
    return 1;
}

/* The time stands in the context's parameters and not in the store's: a time in the store would win
 * over the one that each connection sets later. */
static bool use_ca(SSL_CTX *ctx, const X509 *ca, int64_t now_s)
{
    X509_STORE *store = X509_STORE_new();
    if (!store || X509_STORE_add_cert(store, (X509 *)(uintptr_t)ca) != 1) {
        X509_STORE_free(store);
        return false;
    }
    SSL_CTX_set_cert_store(ctx, store); /* takes it over */
    X509_VERIFY_PARAM *param = SSL_CTX_get0_param(ctx);
    X509_VERIFY_PARAM_set_time(param, now_s);
    X509_VERIFY_PARAM_set_depth(param, 0); /* the CA itself signs; there are no intermediates */
    return true;
}

/* TLS 1.3 alone, and every session from a full handshake (DESIGN section 5). */
static bool no_resumption(SSL_CTX *ctx)
{
    SSL_CTX_set_options(ctx, SSL_OP_NO_TICKET | SSL_OP_NO_RENEGOTIATION);
    SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_OFF);
    return SSL_CTX_set_min_proto_version(ctx, TLS1_3_VERSION) == 1 &&
           SSL_CTX_set_max_proto_version(ctx, TLS1_3_VERSION) == 1 &&
           SSL_CTX_set_num_tickets(ctx, 0) == 1 && SSL_CTX_set_max_early_data(ctx, 0) == 1;
}

int tls_context_adopt(SSL_CTX *ctx, const X509 *ca, const X509 *cert, const EVP_PKEY *key,
                      int64_t now_s, const char *peer_uri, struct err *e)
{
    (void)pthread_once(&uri_once, make_uri_index);
    bool ok = uri_index >= 0 && no_resumption(ctx) && use_ca(ctx, ca, now_s) &&
              SSL_CTX_set_ex_data(ctx, uri_index, (void *)(uintptr_t)peer_uri) == 1;
    if (ok && cert && key)
        ok = SSL_CTX_use_certificate(ctx, (X509 *)(uintptr_t)cert) == 1 &&
             SSL_CTX_use_PrivateKey(ctx, (EVP_PKEY *)(uintptr_t)key) == 1;
    if (!ok)
        return ossl_err(e, HW_EFAIL, "set up TLS");
    SSL_CTX_set_verify(ctx, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, check_uri);
    return HW_OK;
}

int tls_context_new(enum tls_role role, const X509 *ca, const X509 *cert, const EVP_PKEY *key,
                    struct tls_context **out, struct err *e)
{
    struct tls_context *c = calloc(1, sizeof *c);
    if (!c)
        return err_set(e, HW_ENOMEM, "out of memory");
    tls_ignore_sigpipe();
    c->role = role;
    c->ssl = SSL_CTX_new(role == TLS_CLIENT ? TLS_client_method() : TLS_server_method());
    /* The time is set anew for each connection. */
    int rc = c->ssl ? tls_context_adopt(c->ssl, ca, cert, key, 0, NULL, e)
                    : ossl_err(e, HW_EFAIL, "make TLS context");
    if (rc) {
        tls_context_free(c);
        return rc;
    }
    SSL_CTX_set_mode(c->ssl, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    *out = c;
    return HW_OK;
}

void tls_context_free(struct tls_context *c)
{
    if (!c)
        return;
    SSL_CTX_free(c->ssl);
    free(c);
}

int tls_conn_new(struct tls_context *c, int fd, int64_t now_s, struct tls_conn **out, struct err *e)
{
    struct tls_conn *t = calloc(1, sizeof *t);
    if (!t)
        return err_set(e, HW_ENOMEM, "out of memory");
    t->ssl = SSL_new(c->ssl);
    if (!t->ssl || SSL_set_fd(t->ssl, fd) != 1) {
        int rc = ossl_err(e, HW_EFAIL, "make TLS connection");
        tls_conn_free(t);
        return rc;
    }
    X509_VERIFY_PARAM_set_time(SSL_get0_param(t->ssl), now_s);
    if (c->role == TLS_CLIENT)
        SSL_set_connect_state(t->ssl);
    else
        SSL_set_accept_state(t->ssl);
    *out = t;
    return HW_OK;
}

void tls_conn_free(struct tls_conn *t)
{
    if (!t)
        return;
    SSL_free(t->ssl);
    free(t);
}

/* Alerts by which the other end says that it does not take our certificate (RFC 8446 section 6.2).
 */
static bool is_certificate_alert(int reason)
{
    switch (reason - SSL_AD_REASON_OFFSET) {
    case SSL_AD_BAD_CERTIFICATE:
    case SSL_AD_UNSUPPORTED_CERTIFICATE:
    case SSL_AD_CERTIFICATE_REVOKED:
    case SSL_AD_CERTIFICATE_EXPIRED:
    case SSL_AD_CERTIFICATE_UNKNOWN:
    case SSL_AD_UNKNOWN_CA:
    case SSL_AD_ACCESS_DENIED:
    case SSL_AD_CERTIFICATE_REQUIRED:
        return true;
    default:
        return false;
    }
}

/* Turns the outcome of an SSL call into one of ours; `saved` is errno right after the call. */
static int failure(struct tls_conn *t, int ret, int saved, const char *what, struct err *e)
{
    int why = SSL_get_error(t->ssl, ret);
    unsigned long first = ERR_peek_error();
    int reason = ERR_GET_REASON(first);
    long verdict = SSL_get_verify_result(t->ssl);
    switch (why) {
    case SSL_ERROR_WANT_READ:
    case SSL_ERROR_WANT_WRITE:
        t->wants = why == SSL_ERROR_WANT_READ ? EV_READ : EV_WRITE;
        ERR_clear_error();
        return err_set(e, HW_EAGAIN, "%s: not now", what);
    case SSL_ERROR_ZERO_RETURN:
        ERR_clear_error();
        return err_set(e, HW_ECLOSED, "%s: peer closed the connection", what);
    case SSL_ERROR_SYSCALL:
        ERR_clear_error();
        return err_set(e, HW_ECLOSED, "%s: connection broke off%s%s", what, saved ? ": " : "",
                       saved ? strerrordesc_np(saved) : "");
    default:
        break;
    }
    if (reason == SSL_R_UNEXPECTED_EOF_WHILE_READING) {
        ERR_clear_error();
        return err_set(e, HW_ECLOSED, "%s: connection broke off", what);
    }
    if (!t->done && verdict != X509_V_OK) {
        ERR_clear_error();
        return err_set(e, HW_EAUTH, "%s: peer's certificate: %s", what,
                       X509_verify_cert_error_string(verdict));
    }
    bool refused =
        is_certificate_alert(reason) || reason == SSL_R_PEER_DID_NOT_RETURN_A_CERTIFICATE;
    return ossl_err(e, refused ? HW_EAUTH : HW_EPROTO, what);
}

int tls_conn_handshake(struct tls_conn *t, struct err *e)
{
    ERR_clear_error();
    errno = 0;
    int ret = SSL_do_handshake(t->ssl);
    if (ret != 1)
        return failure(t, ret, errno, "TLS handshake", e);
    t->done = true;
    t->wants = EV_READ;
    return HW_OK;
}

unsigned tls_conn_wants(const struct tls_conn *t)
{
    return t->wants;
}

ssize_t tls_conn_read(struct tls_conn *t, void *buf, size_t cap, struct err *e)
{
    ERR_clear_error();
    errno = 0;
    int n = SSL_read(t->ssl, buf, cap > INT_MAX ? INT_MAX : (int)cap);
    if (n > 0)
        return n;
    int saved = errno;
    if (SSL_get_error(t->ssl, n) == SSL_ERROR_ZERO_RETURN)
        return 0;
    return failure(t, n, saved, "TLS read", e);
}

ssize_t tls_conn_write(struct tls_conn *t, const void *buf, size_t len, struct err *e)
{
    if (len == 0)
        return 0;
    ERR_clear_error();
    errno = 0;
    int n = SSL_write(t->ssl, buf, len > INT_MAX ? INT_MAX : (int)len);
    return n > 0 ? n : failure(t, n, errno, "TLS write", e);
}

void tls_conn_shutdown(struct tls_conn *t)
{
    if (t->done)
        (void)SSL_shutdown(t->ssl);
    ERR_clear_error();
}

int tls_conn_peer(const struct tls_conn *t, struct x509_info *out, struct err *e)
{
    const X509 *cert = t->done ? SSL_get0_peer_certificate(t->ssl) : NULL;
    if (!cert)
        return err_set(e, HW_EAGAIN, "the handshake is not done");
    return x509_cert_info(cert, out, e);
}

int tls_conn_export(struct tls_conn *t, const char *label, const void *context, size_t context_len,
                    void *out, size_t len, struct err *e)
{
    if (!t->done)
        return err_set(e, HW_EAGAIN, "the handshake is not done");
    if (SSL_export_keying_material(t->ssl, out, len, label, strlen(label), context, context_len,
                                   1) != 1)
        return ossl_err(e, HW_EFAIL, "export keys");
    return HW_OK;
}
