#include "tests/unit/control/signing.h"
#include "tests/unit/common/pki.h"
#include <stdlib.h>
#include <string.h>

static struct signed_doc sign(const char *signer, uint64_t revision, const char *body,
                              uint8_t *bytes, size_t len)
{
    struct signed_doc d = {.revision = revision, .body = strdup(body), .body_len = strlen(body)};
    struct evp_pkey_st *key = pki_key(signer);
    struct x509_st *cert = pki_cert(signer);
    if (!bytes || !d.body || x509_sign(key, bytes, len, d.signature, &d.signature_len, NULL) < 0 ||
        x509_cert_der(cert, &d.signer, &d.signer_len, NULL) < 0)
        abort();
    x509_key_free(key);
    x509_cert_free(cert);
    free(bytes);
    return d;
}

struct signed_doc signing_config(const char *signer, const struct hw_id *gateway, uint64_t revision,
                                 const char *body)
{
    uint8_t *bytes = NULL;
    size_t len = 0;
    (void)signed_config_bytes(gateway, revision, body, strlen(body), &bytes, &len);
    return sign(signer, revision, body, bytes, len);
}

struct signed_doc signing_denials(const char *signer, uint64_t number, const char *body)
{
    uint8_t *bytes = NULL;
    size_t len = 0;
    (void)signed_denials_bytes(number, body, strlen(body), &bytes, &len);
    return sign(signer, number, body, bytes, len);
}
