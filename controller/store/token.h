/* Enrolment tokens and the public keys that used them. */
#ifndef HAWSER_CONTROLLER_STORE_TOKEN_H
#define HAWSER_CONTROLLER_STORE_TOKEN_H

#include "common/id.h"
#include "common/limits.h"
#include "controller/store/store.h"

#define STORE_SHA256_LEN 32

struct store_token {
    struct hw_id id;
    uint8_t secret_sha256[STORE_SHA256_LEN]; /* of the secret's 32 bytes */
    struct hw_id site_id;
    char gateway_name[HW_NAME_MAX + 1]; /* "" when not bound to one */
    char size[HW_NAME_MAX + 1];         /* "" when not bound to one */
    unsigned max_uses;                  /* 1–1000 */
    unsigned uses;
    int64_t expires_at;
    struct store_common common;
};

int store_token_insert(struct db *db, struct store_token *t, struct err *e);
/* expires_at alone. */
int store_token_update(struct db *db, struct store_token *t, struct err *e);
int store_token_delete(struct db *db, const struct hw_id *id, struct err *e);
int store_token_get(struct db *db, const struct hw_id *id, struct store_token *out, struct err *e);
/* By id. free() the array. */
int store_token_list(struct db *db, const struct store_page *page, const struct hw_id *site_id,
                     struct store_token **out, size_t *n, struct err *e);

/* One use of a token belongs to one public key (SHA-256 of its SubjectPublicKeyInfo). */
struct store_token_use {
    struct hw_id gateway_id;
    char *certificate_pem; /* the one that was given out; owned */
};
void store_token_use_done(struct store_token_use *u);
/* HW_ENOTFOUND when this key has not used the token. */
int store_token_use_get(struct db *db, const struct hw_id *token_id,
                        const uint8_t key_sha256[STORE_SHA256_LEN], struct store_token_use *out,
                        struct err *e);
/* Records the use and counts it. HW_ECONFLICT when all uses are taken. */
int store_token_use_add(struct db *db, const struct hw_id *token_id,
                        const uint8_t key_sha256[STORE_SHA256_LEN], const struct hw_id *gateway_id,
                        const char *certificate_pem, struct err *e);

#endif
