/* Browsers that have signed in. */
#ifndef HAWSER_CONTROLLER_STORE_WEB_SESSION_H
#define HAWSER_CONTROLLER_STORE_WEB_SESSION_H

#include "common/id.h"
#include "controller/store/store.h"
#include "controller/store/token.h"

struct store_web_session {
    struct hw_id id;
    uint8_t secret_sha256[STORE_SHA256_LEN];
    struct hw_id api_key_id;
    int64_t created_at, last_used_at, expires_at;
};

int store_web_session_insert(struct db *db, const struct store_web_session *s, struct err *e);
/* HW_ENOTFOUND. Whether it has ended is for the caller to judge. */
int store_web_session_by_secret(struct db *db, const uint8_t secret_sha256[STORE_SHA256_LEN],
                                struct store_web_session *out, struct err *e);
int store_web_session_used(struct db *db, const struct hw_id *id, int64_t at, struct err *e);
int store_web_session_delete(struct db *db, const struct hw_id *id, struct err *e);
/* Removes those that ended, or were last used at or before `idle_since`; of the token's, all but
 * the newest `keep`. */
int store_web_session_expire(struct db *db, int64_t idle_since, const struct hw_id *api_key_id,
                             unsigned keep, struct err *e);

#endif
