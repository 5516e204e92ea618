/* API keys: who may use the people's API, as what and until when. The key itself is stored as
 * SHA-256. */
#ifndef HAWSER_CONTROLLER_STORE_API_KEY_H
#define HAWSER_CONTROLLER_STORE_API_KEY_H

#include "common/id.h"
#include "common/limits.h"
#include "controller/store/store.h"
#include "controller/store/token.h"
#include <stdbool.h>

#define API_KEY_EXPIRING_S (14 * 86400) /* how long before its end it is told */

enum api_key_role { API_KEY_VIEWER, API_KEY_OPERATOR, API_KEY_ADMIN };

struct store_api_key {
    struct hw_id id;
    uint8_t sha256[STORE_SHA256_LEN];
    char prefix[16]; /* first characters, to tell keys apart */
    char name[HW_NAME_MAX + 1];
    enum api_key_role role;
    char created_by[HW_NAME_MAX + 1]; /* name of the key that made it; "": bootstrap */
    int64_t last_used_at;             /* 0: never */
    int64_t expires_at;               /* 0: it has no end */
    struct store_common common;
};

enum api_key_state { API_KEY_VALID, API_KEY_EXPIRING, API_KEY_EXPIRED };
/* The one place where a key's end is judged: by the wall clock, at each use. Nothing is written
 * when a key ends, so a clock that was ahead for a while has ended none for good. */
enum api_key_state store_api_key_state(const struct store_api_key *k, int64_t now);

int store_api_key_insert(struct db *db, struct store_api_key *k, struct err *e);
/* Also one that has ended. */
int store_api_key_get(struct db *db, const struct hw_id *id, struct store_api_key *out,
                      struct err *e);
int store_api_key_by_secret(struct db *db, const uint8_t sha256[STORE_SHA256_LEN],
                            struct store_api_key *out, struct err *e);
/* One that has not ended, or HW_ENOTFOUND. */
int store_api_key_live(struct db *db, const struct hw_id *id, struct store_api_key *out,
                       struct err *e);
/* Also those that have ended. free() the array. */
int store_api_key_list(struct db *db, const struct store_page *page, struct store_api_key **out,
                       size_t *n, struct err *e);
int store_api_key_used(struct db *db, const struct hw_id *id, int64_t at, struct err *e);
/* Its sessions go with it. */
int store_api_key_delete(struct db *db, const struct hw_id *id, struct err *e);
int store_api_key_delete_by_name(struct db *db, const char *name, struct err *e);
int store_api_key_count(struct db *db, unsigned *out, struct err *e);
/* Is there a key of role admin besides this one that has not ended? */
int store_api_key_other_admin(struct db *db, const struct hw_id *id, bool *out, struct err *e);

#endif
