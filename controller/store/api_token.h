/* Bearer tokens of the people's API, stored as SHA-256. */
#ifndef HAWSER_CONTROLLER_STORE_API_TOKEN_H
#define HAWSER_CONTROLLER_STORE_API_TOKEN_H

#include "common/id.h"
#include "controller/store/store.h"
#include "controller/store/token.h"

struct store_api_token {
    struct hw_id id;
    uint8_t sha256[STORE_SHA256_LEN];
    char prefix[16]; /* first characters, to tell tokens apart */
    int64_t created_at;
    int64_t revoked_at; /* 0: valid */
};

int store_api_token_insert(struct db *db, const struct store_api_token *t, struct err *e);
/* A valid one, or HW_ENOTFOUND. */
int store_api_token_get(struct db *db, const struct hw_id *id, struct store_api_token *out,
                        struct err *e);
/* All valid ones. free() the array. */
int store_api_token_valid(struct db *db, struct store_api_token **out, size_t *n, struct err *e);
/* Was there ever one? */
int store_api_token_any(struct db *db, bool *out, struct err *e);
int store_api_token_revoke_all(struct db *db, struct err *e);

#endif
