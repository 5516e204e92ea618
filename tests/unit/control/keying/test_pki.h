/* A certificate authority for tests, made by OpenSSL's own calls. */
#ifndef HAWSER_TESTS_CONTROL_TEST_PKI_H
#define HAWSER_TESTS_CONTROL_TEST_PKI_H

#include "common/id.h"
#include <openssl/x509.h>
#include <stdint.h>

struct test_ca {
    EVP_PKEY *key;
    X509 *cert;
    char *pem;
};

struct test_cert {
    char *cert_pem, *key_pem;
    char serial[41];
};

void test_ca_make(struct test_ca *ca);
void test_ca_done(struct test_ca *ca);
/* A gateway's certificate valid from `from_s` to `to_s` relative to now. */
void test_cert_make(const struct test_ca *ca, const struct hw_id *gateway, long from_s, long to_s,
                    struct test_cert *out);
void test_cert_done(struct test_cert *c);

#endif
