/* Making one certificate: the fields, the extensions, the signature. Used by ca.c alone. */
#ifndef HAWSER_CONTROLLER_CA_ISSUE_H
#define HAWSER_CONTROLLER_CA_ISSUE_H

#include "common/err.h"
#include <stdbool.h>
#include <stdint.h>

struct evp_pkey_st;
struct x509_st;

struct issue_request {
    struct evp_pkey_st *subject_key; /* its public half is enough */
    const char *common_name;         /* at most 64 bytes */
    const char *san; /* as OpenSSL writes it: "URI:hawser://controller", "DNS:a,IP:192.0.2.1" */
    const struct x509_st *san_of;  /* instead of san: the same names as this certificate has */
    bool is_ca;                    /* then without names and usages of its own */
    bool server, client;           /* extended key usages */
    int64_t not_before, not_after; /* unix seconds */
};

/* `issuer` NULL: signed by itself. The issuer's key signs. */
int issue_certificate(const struct issue_request *r, const struct x509_st *issuer,
                      struct evp_pkey_st *issuer_key, struct x509_st **out, struct err *e);

#endif
