/*
 * Who this gateway is: the P-256 key made on the machine, its certificate, the gateway CA and the
 * gateway id (DESIGN section 3). Files in STATE_DIR, all 0600: identity.key, identity.pem,
 * gateway-ca.pem, identity.json.
 */
#ifndef HAWSER_AGENT_CONTROL_IDENTITY_H
#define HAWSER_AGENT_CONTROL_IDENTITY_H

#include "agent/control/agent_clock.h"
#include "common/err.h"
#include "common/id.h"
#include "common/limits.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define IDENTITY_RENEW_AFTER_S   (10ll * 86400)
#define IDENTITY_RENEW_GRACE_S   (180ll * 86400) /* an ended certificate may still call renew */
#define IDENTITY_SERIAL_TEXT_MAX 41

struct identity;

/* Loads what is on disk and makes the key if there is none yet; not being enrolled is not an error.
 */
int identity_load(const char *state_dir, struct identity **out, struct err *e);
void identity_free(struct identity *id);

bool identity_enrolled(const struct identity *id);
const struct hw_id *identity_gateway_id(const struct identity *id);

/* PEM texts for TLS contexts (common/tls.h), valid until the next identity_install; NULL when not
 * enrolled (the key is always there). */
const char *identity_key_pem(const struct identity *id);
const char *identity_certificate_pem(const struct identity *id);
const char *identity_ca_pem(const struct identity *id);
/* Rises whenever certificate or CA change: holders of a TLS context rebuild it when it differs. */
unsigned identity_generation(const struct identity *id);

/* Lower-case hex of the certificate's serial; "" when not enrolled. */
const char *identity_serial(const struct identity *id);
int64_t identity_not_before(const struct identity *id);
int64_t identity_not_after(const struct identity *id);

/* A fresh certificate request over the key; free it. */
int identity_csr(const struct identity *id, char **csr_pem, struct err *e);
bool identity_renewal_due(const struct identity *id, int64_t now_s);

/* Controller URLs known from enrolment (and later replies). */
size_t identity_urls(const struct identity *id, const char *const **urls);

/* Takes an enrolment: checks that the certificate is of `ca_pem`, for our key and names the
 * gateway; all of it is on disk and fsynced when this returns 0. */
int identity_install(struct identity *id, const struct hw_id *gateway, const char *certificate_pem,
                     const char *ca_pem, const char *const *urls, size_t n_urls, int64_t now_s,
                     struct err *e);
/* The same for a renewal: gateway id and URLs stay. */
int identity_renew(struct identity *id, const char *certificate_pem, const char *ca_pem,
                   int64_t now_s, struct err *e);

#endif
