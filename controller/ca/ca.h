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
#include "common/x509.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CA_PIN_HEX_MAX    65 /* SHA-256 of a SubjectPublicKeyInfo, with the NUL */
#define CA_GATEWAY_CERT_S (30ll * 86400)
#define CA_RENEW_GRACE_S  (180ll * 86400)

struct ca;

/* Makes the gateway CA and the config signer's and listener's certificates in `dir` (which exists).
 * HW_ECONFLICT when a gateway CA is there already: it is never overwritten. */
int ca_create(const char *dir, int64_t now_s, struct err *e);

/* Makes web.{pem,key}, a server certificate for `names` (DNS names or addresses, at least one),
 * under a web CA that is made when it is missing. */
int ca_create_web(const char *dir, const char *const *names, size_t n_names, int64_t now_s,
                  struct err *e);

/* Reads the gateway CA and what it has signed, and makes what an interruption left out.
 * HW_ENOTFOUND when nothing was made. The result may be used by any thread. */
int ca_open(const char *dir, int64_t now_s, struct ca **out, struct err *e);
void ca_free(struct ca *ca);

/*
 * New keys and certificates for config signer, listener and (where web-ca stands) web server when
 * half of their time is over; for a timer. *renewed: the listeners must take their new files, and
 * an empty change (change.h) signs the configs anew.
 */
int ca_renew_own(struct ca *ca, int64_t now_s, bool *renewed, struct err *e);

/* PEM of the gateway CA; valid as long as ca. */
const char *ca_pem(const struct ca *ca);
/* Pin of the gateway CA as it stands in tokens, in hexadecimal; also the fingerprint that bootstrap
 * prints. */
const char *ca_pin(const struct ca *ca);
void ca_pin_bytes(const struct ca *ca, uint8_t out[X509_PIN_LEN]);

struct ca_issued {
    char *pem; /* free it */
    char serial[X509_SERIAL_MAX];
    int64_t not_before, not_after; /* unix seconds */
};

/* Takes the public key out of the CSR (which must be P-256 and signed by its own key: HW_EINVAL,
 * field "csr_pem") and nothing else. SAN hawser://gateway/ID, client and server use, 30 days. */
int ca_issue_gateway(struct ca *ca, const char *csr_pem, const struct hw_id *gateway, int64_t now_s,
                     struct ca_issued *out, struct err *e);
void ca_issued_done(struct ca_issued *i);
/* SHA-256 of the public key in a CSR, checked as above. */
int ca_csr_pin(const char *csr_pem, uint8_t out[X509_PIN_LEN], struct err *e);

struct ca_signature {
    uint8_t sig[X509_SIG_MAX];
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
/* True when this certificate is the config signer's present one. */
bool ca_is_signer(struct ca *ca, const void *der, size_t len);

#endif
