#include "tests/unit/control/keying/test_pki.h"
#include "common/hex.h"
#include "tests/unit/control/keying/must.h"
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *bio_text(BIO *b)
{
    char *data;
    long len = BIO_get_mem_data(b, &data);
    char *text = malloc((size_t)len + 1);
    must(text != NULL);
    memcpy(text, data, (size_t)len);
    text[len] = '\0';
    BIO_free(b);
    return text;
}

static void add_ext(X509 *cert, X509 *issuer, int nid, const char *value)
{
    X509V3_CTX ctx;
    X509V3_set_ctx_nodb(&ctx);
    X509V3_set_ctx(&ctx, issuer, cert, NULL, NULL, 0);
    X509_EXTENSION *ext = X509V3_EXT_conf_nid(NULL, &ctx, nid, value);
    must(ext);
    X509_add_ext(cert, ext, -1);
    X509_EXTENSION_free(ext);
}

static X509 *new_cert(EVP_PKEY *key, const char *cn, long from_s, long to_s, uint8_t serial[16])
{
    X509 *cert = X509_new();
    X509_set_version(cert, X509_VERSION_3);
    rand_bytes(serial, 16);
    serial[0] = (serial[0] & 0x7f) | 0x10;
    BIGNUM *bn = BN_bin2bn(serial, 16, NULL);
    BN_to_ASN1_INTEGER(bn, X509_get_serialNumber(cert));
    BN_free(bn);
    X509_gmtime_adj(X509_getm_notBefore(cert), from_s);
    X509_gmtime_adj(X509_getm_notAfter(cert), to_s);
    X509_set_pubkey(cert, key);
    X509_NAME_add_entry_by_txt(X509_get_subject_name(cert), "CN", MBSTRING_ASC,
                               (const unsigned char *)cn, -1, -1, 0);
    return cert;
}

void test_ca_make(struct test_ca *ca)
{
    uint8_t serial[16];
    ca->key = EVP_EC_gen("P-256");
    ca->cert = new_cert(ca->key, "test CA", -86400 * 100, 86400 * 1000, serial);
    X509_set_issuer_name(ca->cert, X509_get_subject_name(ca->cert));
    add_ext(ca->cert, ca->cert, NID_basic_constraints, "critical,CA:TRUE");
    add_ext(ca->cert, ca->cert, NID_key_usage, "critical,keyCertSign,cRLSign");
    add_ext(ca->cert, ca->cert, NID_subject_key_identifier, "hash");
    int len = X509_sign(ca->cert, ca->key, EVP_sha256());
    must(len > 0);
    BIO *b = BIO_new(BIO_s_mem());
    PEM_write_bio_X509(b, ca->cert);
    ca->pem = bio_text(b);
}

void test_ca_done(struct test_ca *ca)
{
    EVP_PKEY_free(ca->key);
    X509_free(ca->cert);
    free(ca->pem);
}

void test_cert_make(const struct test_ca *ca, const struct hw_id *gateway, long from_s, long to_s,
                    struct test_cert *out)
{
    char id[ID_TEXT_MAX], san[100];
    uint8_t serial[16];
    EVP_PKEY *key = EVP_EC_gen("P-256");
    X509 *cert = new_cert(key, "gateway", from_s, to_s, serial);
    (void)snprintf(san, sizeof san, "URI:hawser://gateway/%s", id_text(gateway, id));
    X509_set_issuer_name(cert, X509_get_subject_name(ca->cert));
    add_ext(cert, ca->cert, NID_basic_constraints, "critical,CA:FALSE");
    add_ext(cert, ca->cert, NID_key_usage, "critical,digitalSignature");
    add_ext(cert, ca->cert, NID_ext_key_usage, "serverAuth,clientAuth");
    add_ext(cert, ca->cert, NID_subject_alt_name, san);
    add_ext(cert, ca->cert, NID_authority_key_identifier, "keyid");
    int len = X509_sign(cert, ca->key, EVP_sha256());
    must(len > 0);
    BIO *b = BIO_new(BIO_s_mem());
    PEM_write_bio_X509(b, cert);
    out->cert_pem = bio_text(b);
    b = BIO_new(BIO_s_mem());
    PEM_write_bio_PrivateKey(b, key, NULL, NULL, 0, NULL, NULL);
    out->key_pem = bio_text(b);
    (void)hex_encode(serial, sizeof serial, out->serial);
    X509_free(cert);
    EVP_PKEY_free(key);
}

void test_cert_done(struct test_cert *c)
{
    free(c->cert_pem);
    free(c->key_pem);
    *c = (struct test_cert){0};
}
