/*
 * Signed configs on disk: *candidate* and *confirmed*, each with signature, signer's certificate,
 * revision and the trusted time at which it was accepted; besides the newest revision received and
 * the refused ones (DESIGN section 4, "Confirmed apply"). Every change is tmp, fsync, rename, fsync
 * of the directory, so that a crash at any point leaves the old or the new state.
 */
#ifndef HAWSER_AGENT_CONTROL_CONFIG_STORE_H
#define HAWSER_AGENT_CONTROL_CONFIG_STORE_H

#include "common/err.h"
#include "common/id.h"
#include "common/model/gateway_config.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CONFIG_REFUSED_MAX 64 /* the oldest goes first */
#define CONFIG_REASON_MAX  200

struct config_store;

/* A verified config: body and what vouches for it. One reference each; immutable. */
struct stored_config {
    uint64_t revision;
    int64_t
        accepted_s; /* trusted time of acceptance: judges the signer's certificate from then on */
    char *body;
    size_t body_len;
    uint8_t *signature;
    size_t signature_len;
    uint8_t *signer_der;
    size_t signer_len;
    struct gateway_config config;
};
void stored_config_free(struct stored_config *c);

struct config_refused {
    uint64_t revision;
    char reason[CONFIG_REASON_MAX + 1];
};

/* Opens STATE_DIR. `gateway` and `ca_pem` are what configs are verified against. A stored config
 * that no longer verifies is moved aside, told, and treated as absent. */
int config_store_open(const char *state_dir, const struct hw_id *gateway, const char *ca_pem,
                      struct config_store **out, struct err *e);
void config_store_free(struct config_store *s);

const struct stored_config *config_store_confirmed(const struct config_store *s); /* NULL: none */
const struct stored_config *config_store_candidate(const struct config_store *s); /* NULL: none */
uint64_t config_store_received(const struct config_store *s);
size_t config_store_refused(const struct config_store *s, const struct config_refused **out);
bool config_store_is_refused(const struct config_store *s, uint64_t revision);

/*
 * Judges what came from the controller: signer's certificate of the gateway CA with the config SAN
 * and in date at `now_s`, signature over our gateway id and this revision, revision not lower than
 * the newest received (HW_ESTALE) and not refused before (HW_EFORBIDDEN), body valid and for this
 * gateway. Raises and stores `received` whenever the signature holds; stores the refusal when a
 * well-signed body cannot be used. On success the config stands on disk as candidate.
 */
int config_store_take(struct config_store *s, uint64_t revision, const void *body, size_t len,
                      const uint8_t *signature, size_t signature_len, const uint8_t *signer_der,
                      size_t signer_len, int64_t now_s, struct err *e);

/* The candidate becomes confirmed. */
int config_store_confirm(struct config_store *s, struct err *e);
/* The candidate is dropped and its revision refused for ever. */
int config_store_refuse(struct config_store *s, const char *reason, struct err *e);

#endif
