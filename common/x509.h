/*
 * Keys, certificates, requests and signatures of Hawser's own PKI: ECDSA P-256 with SHA-256
 * throughout. An identity is a certificate's one SAN URI. Issuing certificates is controller/ca's
 * work alone.
 */
#ifndef HAWSER_COMMON_X509_H
#define HAWSER_COMMON_X509_H

#include "common/err.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct evp_pkey_st; /* OpenSSL's EVP_PKEY */
struct x509_st;     /* OpenSSL's X509 */

#define X509_URI_MAX    256
#define X509_SERIAL_MAX 41 /* 20 bytes in hexadecimal, with the NUL */
#define X509_PEM_MAX    65536
#define X509_SIG_MAX    80 /* DER ECDSA P-256 signatures have at most 72 bytes */
#define X509_PIN_LEN    32

#define X509_URI_CONTROLLER "hawser://controller"
#define X509_URI_CONFIG     "hawser://controller/config"
#define X509_URI_GATEWAY    "hawser://gateway/" /* followed by the id */

/* Keys. PEM text of private keys is PKCS #8, unencrypted; wipe it after use. */
int x509_key_new(struct evp_pkey_st **out, struct err *e);
int x509_key_parse(const char *pem, size_t len, struct evp_pkey_st **out,
                   struct err *e); /* P-256 only */
int x509_key_pem(const struct evp_pkey_st *key, char **pem, size_t *len, struct err *e);
int x509_key_load(const char *path, struct evp_pkey_st **out, struct err *e);
int x509_key_save(const char *path, const struct evp_pkey_st *key,
                  struct err *e); /* mode 0600, atomic */
bool x509_key_is_p256(const struct evp_pkey_st *key);
/* SHA-256 of the DER SubjectPublicKeyInfo. */
int x509_key_pin(const struct evp_pkey_st *key, uint8_t out[X509_PIN_LEN], struct err *e);
void x509_key_free(struct evp_pkey_st *key);

/* Certificates. Parsers take exactly one. */
int x509_cert_parse(const char *pem, size_t len, struct x509_st **out, struct err *e);
int x509_cert_parse_der(const void *der, size_t len, struct x509_st **out, struct err *e);
int x509_cert_load(const char *path, struct x509_st **out, struct err *e);
char *x509_cert_pem(const struct x509_st *cert); /* free it; NULL: no memory */
int x509_cert_der(const struct x509_st *cert, uint8_t **out, size_t *len,
                  struct err *e); /* free it */
int x509_cert_pin(const struct x509_st *cert, uint8_t out[X509_PIN_LEN], struct err *e);
/* The certificate was made for this key. */
bool x509_cert_has_key(const struct x509_st *cert, const struct evp_pkey_st *key);
void x509_cert_free(struct x509_st *cert);

struct x509_info {
    char serial[X509_SERIAL_MAX]; /* lower-case hexadecimal, whole bytes */
    int64_t not_before, not_after;
    char uri[X509_URI_MAX]; /* the one SAN URI; "" when there is none or more than one */
    bool is_ca;
};
int x509_cert_info(const struct x509_st *cert, struct x509_info *out, struct err *e);

enum x509_use { X509_USE_ANY, X509_USE_SERVER, X509_USE_CLIENT };
/* `cert` is signed by `ca`, valid at `now_s`, fit for `use`, and its one SAN URI is exactly `uri`
 * (NULL: any). HW_EAUTH with the reason otherwise. */
int x509_cert_verify(const struct x509_st *cert, const struct x509_st *ca, int64_t now_s,
                     enum x509_use use, const char *uri, struct err *e);

/* Requests. The subject is empty: the controller takes the public key out of it and nothing else.
 */
int x509_csr_make(const struct evp_pkey_st *key, char **pem, struct err *e);
/* Checks the request's own signature and that the key is P-256. */
int x509_csr_read(const char *pem, size_t len, struct evp_pkey_st **public_key, struct err *e);

/* DER signature into sig[X509_SIG_MAX]. */
int x509_sign(const struct evp_pkey_st *key, const void *data, size_t len,
              uint8_t sig[X509_SIG_MAX], size_t *sig_len, struct err *e);
/* 0, or HW_EAUTH. */
int x509_check_signature(const struct x509_st *cert, const void *data, size_t len, const void *sig,
                         size_t sig_len, struct err *e);

#endif
