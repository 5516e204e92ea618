/*
 * The only code that touches the keys of the gateway CA, of the config signer, of the agents'
 * listener and of the web CA (DESIGN section 3). Everything is P-256 with SHA-256. Files in the
 * state directory, keys 0600: gateway-ca.{pem,key} config.{pem,key} agent-listener.{pem,key}
 * web-ca.{pem,key} web.{pem,key}.
 */
#ifndef HAWSER_CONTROLLER_CA_CA_H
#define HAWSER_CONTROLLER_CA_CA_H

#include "common/err.h"
#include "common/id.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CA_SERIAL_HEX_MAX 41 /* 20 bytes as lower-case hex, with the NUL */
#define CA_PIN_HEX_MAX    65 /* SHA-256 of a SubjectPublicKeyInfo, with the NUL */
#define CA_SIGNATURE_MAX  80 /* ECDSA P-256 as DER */
#define CA_GATEWAY_CERT_S (30ll * 86400)
#define CA_RENEW_GRACE_S  (180ll * 86400)

struct ca;

/* Makes the gateway CA and the config signer and listener certificates in `dir` (which exists).
 * HW_ECONFLICT when a gateway CA is there already: it is never overwritten. */
int ca_create(const char *dir, int64_t now_s, struct err *e);

/* Makes web-ca and web: a server certificate for `names`, each a DNS name or an address, at least
 * one. Overwrites an older pair. */
int ca_create_web(const char *dir, const char *const *names, size_t n_names, int64_t now_s,
                  struct err *e);

/* Reads all but the web pair, renewing the config signer's and the listener's certificate when half
 * of their time is over. HW_ENOTFOUND when nothing was made. Thread-safe after this. */
int ca_open(const char *dir, int64_t now_s, struct ca **out, struct err *e);
void ca_free(struct ca *ca);

/* As ca_open's renewal, for a timer. *renewed: the listener must take its new files. */
int ca_renew_own(struct ca *ca, int64_t now_s, bool *renewed, struct err *e);

/* PEM of the gateway CA; valid as long as ca. */
const char *ca_pem(const struct ca *ca);
/* Pin of the gateway CA as it stands in tokens; also the fingerprint that bootstrap prints. */
const char *ca_pin(const struct ca *ca);

struct ca_issued {
    char *pem; /* free it */
    char serial[CA_SERIAL_HEX_MAX];
    int64_t not_before, not_after; /* unix seconds */
    char key_pin[CA_PIN_HEX_MAX];  /* of the gateway's public key */
};

/* Takes the public key out of the CSR (which must be P-256 and signed by its own key: HW_EINVAL,
 * field "csr_pem") and nothing else. SAN hawser://gateway/ID, client and server use, 30 days. */
int ca_issue_gateway(struct ca *ca, const char *csr_pem, const struct hw_id *gateway, int64_t now_s,
                     struct ca_issued *out, struct err *e);
void ca_issued_done(struct ca_issued *i);
/* Pin of the public key in a CSR, checked as above. */
int ca_csr_pin(const char *csr_pem, char out[CA_PIN_HEX_MAX], struct err *e);

struct ca_signature {
    uint8_t sig[CA_SIGNATURE_MAX];
    size_t sig_len;
    uint8_t *signer_der; /* certificate of the key that signed; free it */
    size_t signer_len;
};

/* Signs the bytes of docs/protocols.md with the config key. */
int ca_sign_config(struct ca *ca, const struct hw_id *gateway, uint64_t revision, const void *body,
                   size_t len, struct ca_signature *out, struct err *e);
int ca_sign_denials(struct ca *ca, uint64_t number, const void *body, size_t len,
                    struct ca_signature *out, struct err *e);
void ca_signature_done(struct ca_signature *s);

#endif
