/*
 * Documents signed by the controller's config key: a gateway's config, and the denials (DESIGN
 * section 4). This module makes the exact bytes that are signed, judges a received document, and
 * keeps it on disk with all that is needed to judge it again. Signing itself stands behind
 * controller/ca.
 */
#ifndef HAWSER_COMMON_MODEL_SIGNED_DOC_H
#define HAWSER_COMMON_MODEL_SIGNED_DOC_H

#include "common/err.h"
#include "common/id.h"
#include "common/x509.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SIGNED_DOC_SIGNER_MAX 4096 /* bytes of the DER certificate */
#define DENIALS_ENTRIES_MAX   65536

/* hawser-config-v1 ‖ 0 ‖ gateway id ‖ 0 ‖ revision (u64) ‖ body. Free *out. */
int signed_config_bytes(const struct hw_id *gateway, uint64_t revision, const void *body,
                        size_t len, uint8_t **out, size_t *out_len);
/* hawser-denials-v1 ‖ 0 ‖ number (u64) ‖ body. Free *out. */
int signed_denials_bytes(uint64_t number, const void *body, size_t len, uint8_t **out,
                         size_t *out_len);

struct signed_doc {
    uint64_t revision; /* of the config, or number of the denials */
    uint8_t signature[X509_SIG_MAX];
    size_t signature_len;
    uint8_t *signer; /* DER certificate */
    size_t signer_len;
    char *body; /* NUL-terminated */
    size_t body_len;
    int64_t accepted_at; /* trusted time of the first successful judgement; 0: not yet */
};
void signed_doc_done(struct signed_doc *d);

/* From a response's headers (Hawser-Revision, -Signature, -Signer; NULL when missing) and its body,
 * which is copied. */
int signed_doc_receive(const char *revision, const char *signature, const char *signer,
                       const char *body, size_t body_len, struct signed_doc *out, struct err *e);

/* Signed by the config key of `ca` for this gateway. A document without accepted_at is judged at
 * now_s and gets it; one with it is judged at that time. 0 or HW_EAUTH. */
int signed_config_verify(struct signed_doc *d, const struct hw_id *gateway,
                         const struct x509_st *ca, int64_t now_s, struct err *e);
int signed_denials_verify(struct signed_doc *d, const struct x509_st *ca, int64_t now_s,
                          struct err *e);

/* The form on disk. Free the text. */
char *signed_doc_encode(const struct signed_doc *d, size_t *len);
int signed_doc_decode(const char *text, size_t len, struct signed_doc *out, struct err *e);

/* Body of the denials: {"gateway_ids":[…],"serials":["hex"],"permission_ids":[…]}, each sorted and
 * each entry once. The last are permissions of the encryption policy that have ended. */
struct denials {
    struct hw_id *gateways;
    size_t n_gateways;
    char (*serials)[X509_SERIAL_MAX];
    size_t n_serials;
    struct hw_id *permissions;
    size_t n_permissions;
};
/* Sorts the arrays of *d in place. Free the text. */
char *denials_encode(struct denials *d, size_t *len);
int denials_decode(const char *json, size_t len, struct denials *out, struct err *e);
void denials_done(struct denials *d);
/* Either is denied. NULL arguments are not. d must come from denials_encode or _decode (sorted). */
bool denials_has(const struct denials *d, const struct hw_id *gateway, const char *serial);

#endif
