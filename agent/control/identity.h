/*
 * Who this gateway is: the P-256 key made on the machine, its certificate, the gateway CA, the
 * gateway id and the controller's URLs (DESIGN section 3). Files in STATE_DIR, all 0600:
 * identity.key, identity.pem, gateway-ca.pem, and last of all identity.json, without which the
 * others count for nothing.
 */
#ifndef HAWSER_AGENT_CONTROL_IDENTITY_H
#define HAWSER_AGENT_CONTROL_IDENTITY_H

#include "common/err.h"
#include "common/id.h"
#include "common/model/enrol.h"
#include "common/x509.h"
#include <stdbool.h>
#include <stdint.h>

#define IDENTITY_RENEW_AFTER_S (10ll * 86400)
#define IDENTITY_RENEW_GRACE_S (180ll * 86400) /* an ended certificate may still call renew */

struct identity;

/* Loads what is on disk and makes the key if there is none yet. Not being enrolled is no error;
 * files that do not fit together are told and count as not enrolled. */
int identity_load(const char *state_dir, struct identity **out, struct err *e);
void identity_free(struct identity *id);

bool identity_enrolled(const struct identity *id);
const struct hw_id *identity_gateway_id(const struct identity *id);

/* Valid until the next install or renewal; certificate and CA are NULL when not enrolled. */
const struct evp_pkey_st *identity_key(const struct identity *id);
const struct x509_st *identity_certificate(const struct identity *id);
const struct x509_st *identity_ca(const struct identity *id);
/* The same as PEM. The key's text is the caller's to wipe and free. */
int identity_key_pem(const struct identity *id, char **pem, size_t *len, struct err *e);
const char *identity_certificate_pem(const struct identity *id);
const char *identity_ca_pem(const struct identity *id);
/* Serial and dates of the certificate; zeroed when not enrolled. */
const struct x509_info *identity_info(const struct identity *id);
/* Rises whenever certificate or CA change: holders of a TLS context make it anew. */
unsigned identity_generation(const struct identity *id);

/* Controller URLs from enrolment. The one that answered last is kept on disk and stands first. */
const struct enrol_urls *identity_urls(const struct identity *id);
void identity_url_good(struct identity *id, const char *url);

bool identity_renewal_due(const struct identity *id, int64_t now_s);

/* Takes an enrolment by `token`: the certificate must be of its CA, for our key, and name the
 * gateway. Configs and denials of another gateway or another CA are removed. Everything is on disk
 * and fsynced when this returns 0; on failure the former identity stays in use. */
int identity_install(struct identity *id, const struct enrol_reply *reply,
                     const struct hw_id *token, int64_t now_s, struct err *e);
/* The token of the present enrolment; zero when unknown. */
const struct hw_id *identity_token(const struct identity *id);
/* The same for a renewal: gateway id, CA and URLs stay. */
int identity_renew(struct identity *id, const char *certificate_pem, int64_t now_s, struct err *e);

#endif
