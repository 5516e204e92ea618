#include "controller/ca/issue.h"
#include "common/id.h"
#include "common/secret.h"
#include <openssl/bn.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

static int openssl_failed(struct err *e, const char *what)
{
    char text[160] = "";
    ERR_error_string_n(ERR_get_error(), text, sizeof text);
    ERR_clear_error();
    return err_set(e, HW_EFAIL, "%s: %s", what, text);
}

/* 20 random bytes with the top bit clear: positive, and never the same twice (RFC 5280
 * section 4.1.2.2). */
static bool set_serial(X509 *cert)
{
    uint8_t raw[20];
    rand_bytes(raw, sizeof raw);
    raw[0] = (uint8_t)((raw[0] & 0x7f) | 0x40);
    BIGNUM *number = BN_bin2bn(raw, sizeof raw, NULL);
    bool ok = number && BN_to_ASN1_INTEGER(number, X509_get_serialNumber(cert));
    BN_free(number);
    return ok;
}

static bool set_names(X509 *cert, const char *common_name, const X509 *issuer)
{
    X509_NAME *name = X509_get_subject_name(cert);
    return X509_NAME_add_entry_by_txt(name, "O", MBSTRING_UTF8, (const unsigned char *)"Hawser", -1,
                                      -1, 0) &&
           X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_UTF8, (const unsigned char *)common_name,
                                      -1, -1, 0) &&
           X509_set_issuer_name(cert, issuer ? X509_get_subject_name(issuer) : name);
}

static bool add_extension(X509 *cert, X509V3_CTX *ctx, int nid, const char *value)
{
    X509_EXTENSION *ext = X509V3_EXT_conf_nid(NULL, ctx, nid, value);
    bool ok = ext && X509_add_ext(cert, ext, -1);
    X509_EXTENSION_free(ext);
    return ok;
}

static bool copy_names(X509 *cert, const X509 *from)
{
    int at = X509_get_ext_by_NID(from, NID_subject_alt_name, -1);
    return at >= 0 && X509_add_ext(cert, X509_get_ext(from, at), -1);
}

static bool add_extensions(X509 *cert, const X509 *issuer, const struct issue_request *r)
{
    X509V3_CTX ctx;
    X509V3_set_ctx_nodb(&ctx);
    X509V3_set_ctx(&ctx, issuer ? (X509 *)(uintptr_t)issuer : cert, cert, NULL, NULL, 0);
    bool ok = add_extension(cert, &ctx, NID_subject_key_identifier, "hash") &&
              add_extension(cert, &ctx, NID_authority_key_identifier, "keyid:always");
    if (r->is_ca)
        return ok &&
               add_extension(cert, &ctx, NID_basic_constraints, "critical,CA:TRUE,pathlen:0") &&
               add_extension(cert, &ctx, NID_key_usage, "critical,keyCertSign,cRLSign");
    ok = ok && add_extension(cert, &ctx, NID_basic_constraints, "critical,CA:FALSE") &&
         add_extension(cert, &ctx, NID_key_usage, "critical,digitalSignature");
    if (r->server || r->client)
        ok = ok && add_extension(cert, &ctx, NID_ext_key_usage,
                                 r->server && r->client ? "serverAuth,clientAuth"
                                 : r->server            ? "serverAuth"
                                                        : "clientAuth");
    return ok && (r->san_of ? copy_names(cert, r->san_of)
                            : add_extension(cert, &ctx, NID_subject_alt_name, r->san));
}

int issue_certificate(const struct issue_request *r, const X509 *issuer, EVP_PKEY *issuer_key,
                      X509 **out, struct err *e)
{
    X509 *cert = X509_new();
    bool ok = cert && X509_set_version(cert, X509_VERSION_3) && set_serial(cert) &&
              set_names(cert, r->common_name, issuer) &&
              ASN1_TIME_set(X509_getm_notBefore(cert), (time_t)r->not_before) &&
              ASN1_TIME_set(X509_getm_notAfter(cert), (time_t)r->not_after) &&
              X509_set_pubkey(cert, r->subject_key) && add_extensions(cert, issuer, r) &&
              X509_sign(cert, issuer_key, EVP_sha256()) > 0;
    if (!ok) {
        X509_free(cert);
        return openssl_failed(e, "make certificate");
    }
    *out = cert;
    return 0;
}
