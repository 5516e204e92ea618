#include "common/x509.h"
#include "common/fsutil.h"
#include "common/hex.h"
#include "common/ossl_err.h"
#include "common/secret.h"
#include <openssl/bio.h>
#include <openssl/bn.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/sha.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>
#include <stdlib.h>
#include <string.h>

#define GROUP "prime256v1" /* OpenSSL's name of P-256 */

/* ---- keys ---- */

int x509_key_new(EVP_PKEY **out, struct err *e)
{
    EVP_PKEY *key = EVP_EC_gen("P-256");
    if (!key)
        return ossl_err(e, HW_EFAIL, "make key");
    *out = key;
    return HW_OK;
}

bool x509_key_is_p256(const EVP_PKEY *key)
{
    char group[32];
    size_t len;
    return EVP_PKEY_is_a(key, "EC") &&
           EVP_PKEY_get_group_name(key, group, sizeof group, &len) == 1 &&
           strcmp(group, GROUP) == 0;
}

int x509_key_parse(const char *pem, size_t len, EVP_PKEY **out, struct err *e)
{
    if (len > X509_PEM_MAX)
        return err_set(e, HW_ETOOBIG, "key file is too large");
    BIO *bio = BIO_new_mem_buf(pem, (int)len);
    /* An empty pass phrase instead of OpenSSL's question at the terminal. */
    EVP_PKEY *key = bio ? PEM_read_bio_PrivateKey(bio, NULL, NULL, (void *)(uintptr_t) "") : NULL;
    BIO_free(bio);
    if (!key)
        return ossl_err(e, HW_EINVAL, "not a private key in PEM");
    if (!x509_key_is_p256(key)) {
        EVP_PKEY_free(key);
        return err_set(e, HW_EINVAL, "key is not an EC key on P-256");
    }
    *out = key;
    return HW_OK;
}

/* Copies what a memory BIO holds into a NUL-terminated string of its own. */
static char *bio_text(BIO *bio, size_t *len)
{
    char *data;
    long n = BIO_get_mem_data(bio, &data);
    char *out = n < 0 ? NULL : malloc((size_t)n + 1);
    if (!out)
        return NULL;
    memcpy(out, data, (size_t)n);
    out[n] = '\0';
    if (len)
        *len = (size_t)n;
    return out;
}

int x509_key_pem(const EVP_PKEY *key, char **pem, size_t *len, struct err *e)
{
    BIO *bio = BIO_new(BIO_s_secmem()); /* wiped when freed */
    char *text = NULL;
    if (bio && PEM_write_bio_PKCS8PrivateKey(bio, key, NULL, NULL, 0, NULL, NULL) == 1)
        text = bio_text(bio, len);
    BIO_free(bio);
    if (!text)
        return ossl_err(e, HW_EFAIL, "write key");
    *pem = text;
    return HW_OK;
}

int x509_key_load(const char *path, EVP_PKEY **out, struct err *e)
{
    char *pem;
    size_t len;
    int rc = fsutil_read(path, X509_PEM_MAX, &pem, &len, e);
    if (rc)
        return rc;
    rc = x509_key_parse(pem, len, out, e);
    secret_wipe(pem, len);
    free(pem);
    return rc ? err_wrap(e, "%s", path) : HW_OK;
}

int x509_key_save(const char *path, const EVP_PKEY *key, struct err *e)
{
    char *pem = NULL;
    size_t len = 0;
    int rc = x509_key_pem(key, &pem, &len, e);
    if (rc)
        return rc;
    rc = fsutil_write(path, pem, len, 0600, e);
    secret_wipe(pem, len);
    free(pem);
    return rc;
}

int x509_key_pin(const EVP_PKEY *key, uint8_t out[X509_PIN_LEN], struct err *e)
{
    unsigned char *der = NULL;
    int n = i2d_PUBKEY(key, &der);
    if (n <= 0)
        return ossl_err(e, HW_EFAIL, "encode public key");
    (void)SHA256(der, (size_t)n, out);
    OPENSSL_free(der);
    return HW_OK;
}

void x509_key_free(EVP_PKEY *key)
{
    EVP_PKEY_free(key);
}

/* ---- certificates ---- */

int x509_cert_parse(const char *pem, size_t len, X509 **out, struct err *e)
{
    if (len > X509_PEM_MAX)
        return err_set(e, HW_ETOOBIG, "certificate is too large");
    BIO *bio = BIO_new_mem_buf(pem, (int)len);
    X509 *cert = bio ? PEM_read_bio_X509(bio, NULL, NULL, NULL) : NULL;
    X509 *second = cert ? PEM_read_bio_X509(bio, NULL, NULL, NULL) : NULL;
    BIO_free(bio);
    if (!cert)
        return ossl_err(e, HW_EINVAL, "not a certificate in PEM");
    ossl_err_clear(); /* the end of the text is an error to OpenSSL */
    if (second) {
        X509_free(cert);
        X509_free(second);
        return err_set(e, HW_EINVAL, "more than one certificate");
    }
    *out = cert;
    return HW_OK;
}

int x509_cert_parse_der(const void *der, size_t len, X509 **out, struct err *e)
{
    const unsigned char *p = der;
    if (len > X509_PEM_MAX)
        return err_set(e, HW_ETOOBIG, "certificate is too large");
    X509 *cert = d2i_X509(NULL, &p, (long)len);
    if (!cert)
        return ossl_err(e, HW_EINVAL, "not a certificate in DER");
    if (p != (const unsigned char *)der + len) {
        X509_free(cert);
        return err_set(e, HW_EINVAL, "bytes after the certificate");
    }
    *out = cert;
    return HW_OK;
}

int x509_cert_load(const char *path, X509 **out, struct err *e)
{
    char *pem;
    size_t len;
    int rc = fsutil_read(path, X509_PEM_MAX, &pem, &len, e);
    if (rc)
        return rc;
    rc = x509_cert_parse(pem, len, out, e);
    free(pem);
    return rc ? err_wrap(e, "%s", path) : HW_OK;
}

char *x509_cert_pem(const X509 *cert)
{
    BIO *bio = BIO_new(BIO_s_mem());
    char *text = NULL;
    if (bio && PEM_write_bio_X509(bio, cert) == 1)
        text = bio_text(bio, NULL);
    BIO_free(bio);
    return text;
}

int x509_cert_der(const X509 *cert, uint8_t **out, size_t *len, struct err *e)
{
    int n = i2d_X509(cert, NULL);
    uint8_t *der = n > 0 ? malloc((size_t)n) : NULL;
    if (!der)
        return ossl_err(e, HW_EFAIL, "encode certificate");
    unsigned char *p = der;
    (void)i2d_X509(cert, &p);
    *out = der;
    *len = (size_t)n;
    return HW_OK;
}

int x509_cert_pin(const X509 *cert, uint8_t out[X509_PIN_LEN], struct err *e)
{
    const EVP_PKEY *key = X509_get0_pubkey(cert);
    return key ? x509_key_pin(key, out, e) : ossl_err(e, HW_EINVAL, "read certificate's key");
}

bool x509_cert_has_key(const X509 *cert, const EVP_PKEY *key)
{
    const EVP_PKEY *own = X509_get0_pubkey(cert);
    return own && EVP_PKEY_eq(own, key) == 1;
}

void x509_cert_free(X509 *cert)
{
    X509_free(cert);
}

/* ---- what a certificate says ---- */

/* The one SAN URI of a certificate; "" when there is none, more than one, or one that cannot be
 * text. */
static void read_uri(const X509 *cert, char out[X509_URI_MAX])
{
    GENERAL_NAMES *names = X509_get_ext_d2i(cert, NID_subject_alt_name, NULL, NULL);
    unsigned uris = 0;
    out[0] = '\0';
    for (int i = 0; i < sk_GENERAL_NAME_num(names); i++) {
        const GENERAL_NAME *name = sk_GENERAL_NAME_value(names, i);
        if (name->type != GEN_URI)
            continue;
        const ASN1_STRING *s = name->d.uniformResourceIdentifier;
        const unsigned char *data = ASN1_STRING_get0_data(s);
        size_t len = (size_t)ASN1_STRING_length(s);
        /* An embedded NUL would make two different names equal as C strings. */
        bool usable = len > 0 && len < X509_URI_MAX && !memchr(data, '\0', len);
        if (++uris == 1 && usable) {
            memcpy(out, data, len);
            out[len] = '\0';
        }
    }
    GENERAL_NAMES_free(names);
    if (uris != 1)
        out[0] = '\0';
}

static int read_time(const ASN1_TIME *t, int64_t *out)
{
    int days, seconds;
    ASN1_TIME *epoch = ASN1_TIME_set(NULL, 0);
    int ok = epoch && t && ASN1_TIME_diff(&days, &seconds, epoch, t) == 1;
    ASN1_TIME_free(epoch);
    if (!ok)
        return HW_EINVAL;
    *out = (int64_t)days * 86400 + seconds;
    return HW_OK;
}

static int read_serial(const X509 *cert, char out[X509_SERIAL_MAX])
{
    BIGNUM *bn = ASN1_INTEGER_to_BN(X509_get0_serialNumber(cert), NULL);
    uint8_t bytes[20];
    int rc = HW_EINVAL;
    if (bn && !BN_is_negative(bn) && BN_num_bytes(bn) <= (int)sizeof bytes) {
        int n = BN_bn2bin(bn, bytes);
        if (n == 0)
            bytes[n++] = 0;
        (void)hex_encode(bytes, (size_t)n, out);
        rc = HW_OK;
    }
    BN_free(bn);
    return rc;
}

int x509_cert_info(const X509 *cert, struct x509_info *out, struct err *e)
{
    struct x509_info info = {0};
    if (read_serial(cert, info.serial) || read_time(X509_get0_notBefore(cert), &info.not_before) ||
        read_time(X509_get0_notAfter(cert), &info.not_after))
        return ossl_err(e, HW_EINVAL, "certificate's serial number or dates are not valid");
    read_uri(cert, info.uri);
    /* The purpose check works on a cached, parsed copy inside of X509, hence no const there. */
    info.is_ca = X509_check_ca((X509 *)(uintptr_t)cert) == 1;
    *out = info;
    return HW_OK;
}

static int verify_chain(X509 *cert, X509 *ca, int64_t now_s, enum x509_use use, struct err *e)
{
    X509_STORE *store = X509_STORE_new();
    X509_STORE_CTX *ctx = X509_STORE_CTX_new();
    int rc = HW_EFAIL;
    if (!store || !ctx || X509_STORE_add_cert(store, ca) != 1 ||
        X509_STORE_CTX_init(ctx, store, cert, NULL) != 1) {
        rc = ossl_err(e, HW_EFAIL, "prepare verification");
        goto out;
    }
    X509_VERIFY_PARAM *param = X509_STORE_CTX_get0_param(ctx);
    X509_VERIFY_PARAM_set_time(param, now_s);
    X509_VERIFY_PARAM_set_depth(param, 0); /* the CA itself signs; there are no intermediates */
    if (use != X509_USE_ANY)
        (void)X509_STORE_CTX_set_purpose(ctx, use == X509_USE_SERVER ? X509_PURPOSE_SSL_SERVER
                                                                     : X509_PURPOSE_SSL_CLIENT);
    if (X509_verify_cert(ctx) == 1)
        rc = HW_OK;
    else
        rc = err_set(e, HW_EAUTH, "certificate: %s",
                     X509_verify_cert_error_string(X509_STORE_CTX_get_error(ctx)));
    ossl_err_clear();
out:
    X509_STORE_CTX_free(ctx);
    X509_STORE_free(store);
    return rc;
}

int x509_cert_verify(const X509 *cert, const X509 *ca, int64_t now_s, enum x509_use use,
                     const char *uri, struct err *e)
{
    /* OpenSSL takes references and caches extensions: not const to it, unchanged to us. */
    int rc = verify_chain((X509 *)(uintptr_t)cert, (X509 *)(uintptr_t)ca, now_s, use, e);
    if (rc || !uri)
        return rc;
    char own[X509_URI_MAX];
    read_uri(cert, own);
    if (strcmp(own, uri) != 0)
        return err_set(e, HW_EAUTH, "certificate is for \"%s\", not \"%s\"", own, uri);
    return HW_OK;
}

/* ---- requests ---- */

int x509_csr_make(const EVP_PKEY *key, char **pem, struct err *e)
{
    EVP_PKEY *k = (EVP_PKEY *)(uintptr_t)key; /* signing does not change it */
    X509_REQ *req = X509_REQ_new();
    BIO *bio = BIO_new(BIO_s_mem());
    char *text = NULL;
    if (req && bio && X509_REQ_set_version(req, X509_REQ_VERSION_1) == 1 &&
        X509_REQ_set_pubkey(req, k) == 1 && X509_REQ_sign(req, k, EVP_sha256()) > 0 &&
        PEM_write_bio_X509_REQ(bio, req) == 1)
        text = bio_text(bio, NULL);
    X509_REQ_free(req);
    BIO_free(bio);
    if (!text)
        return ossl_err(e, HW_EFAIL, "make certificate request");
    *pem = text;
    return HW_OK;
}

int x509_csr_read(const char *pem, size_t len, EVP_PKEY **public_key, struct err *e)
{
    if (len > X509_PEM_MAX)
        return err_set(e, HW_ETOOBIG, "certificate request is too large");
    BIO *bio = BIO_new_mem_buf(pem, (int)len);
    X509_REQ *req = bio ? PEM_read_bio_X509_REQ(bio, NULL, NULL, NULL) : NULL;
    BIO_free(bio);
    if (!req)
        return ossl_err(e, HW_EINVAL, "not a certificate request in PEM");
    EVP_PKEY *key = X509_REQ_get_pubkey(req);
    int rc = HW_OK;
    if (!key || !x509_key_is_p256(key))
        rc = err_set(e, HW_EINVAL, "certificate request's key is not on P-256");
    else if (X509_REQ_verify(req, key) != 1)
        rc = ossl_err(e, HW_EINVAL, "certificate request is not signed by its key");
    X509_REQ_free(req);
    ossl_err_clear();
    if (rc) {
        EVP_PKEY_free(key);
        return rc;
    }
    *public_key = key;
    return HW_OK;
}

/* ---- signatures ---- */

int x509_sign(const EVP_PKEY *key, const void *data, size_t len, uint8_t sig[X509_SIG_MAX],
              size_t *sig_len, struct err *e)
{
    EVP_MD_CTX *ctx = EVP_MD_CTX_new();
    size_t n = X509_SIG_MAX;
    bool ok = ctx &&
              EVP_DigestSignInit(ctx, NULL, EVP_sha256(), NULL, (EVP_PKEY *)(uintptr_t)key) == 1 &&
              EVP_DigestSign(ctx, sig, &n, data, len) == 1;
    EVP_MD_CTX_free(ctx);
    if (!ok)
        return ossl_err(e, HW_EFAIL, "sign");
    *sig_len = n;
    return HW_OK;
}

int x509_check_signature(const X509 *cert, const void *data, size_t len, const void *sig,
                         size_t sig_len, struct err *e)
{
    EVP_PKEY *key = X509_get0_pubkey(cert);
    EVP_MD_CTX *ctx = EVP_MD_CTX_new();
    bool ok = ctx && key && x509_key_is_p256(key) &&
              EVP_DigestVerifyInit(ctx, NULL, EVP_sha256(), NULL, key) == 1 &&
              EVP_DigestVerify(ctx, sig, sig_len, data, len) == 1;
    EVP_MD_CTX_free(ctx);
    ossl_err_clear();
    return ok ? HW_OK : err_set(e, HW_EAUTH, "signature does not match");
}
