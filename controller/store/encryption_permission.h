/* Permissions of the encryption policy (DESIGN section 9), at most one a connection. One that ends
 * becomes a denial: agents never follow it again, whatever config they return to. */
#ifndef HAWSER_CONTROLLER_STORE_ENCRYPTION_PERMISSION_H
#define HAWSER_CONTROLLER_STORE_ENCRYPTION_PERMISSION_H

#include "common/id.h"
#include "common/limits.h"
#include "controller/store/store.h"

#define PERMISSION_REASON_MAX 200 /* characters */

struct store_permission {
    struct hw_id id;
    struct hw_id connection_id;
    uint8_t suite;                              /* ESP_SUITE_NONE or ESP_SUITE_AES_256_GMAC */
    char reason[4 * PERMISSION_REASON_MAX + 1]; /* UTF-8 */
    int64_t ends_at;
    int64_t created_at;
    struct hw_id created_by;            /* API key */
    char created_name[HW_NAME_MAX + 1]; /* its name then */
};

/* In place of the connection's former one, which ends. Fills created_at. The connection counts as
 * changed, here and at the end. */
int store_permission_put(struct db *db, struct store_permission *p, struct err *e);
/* HW_ENOTFOUND. */
int store_permission_get(struct db *db, const struct hw_id *connection_id,
                         struct store_permission *out, struct err *e);
/* Those that stand. free() the array. */
int store_permission_all(struct db *db, struct store_permission **out, size_t *n, struct err *e);
/* Nothing where none stands. */
int store_permission_end(struct db *db, const struct hw_id *connection_id, struct err *e);

/* Why a permission doesn't hold any more. */
enum permission_lapse {
    PERMISSION_HOLDS,
    PERMISSION_OVER,        /* its end date */
    PERMISSION_UNRESILIENT, /* the connection's path_resiliency is off */
    PERMISSION_UNTRUSTED,   /* a site has no trusted_underlay */
    PERMISSION_ELSEWHERE,   /* the connection joins other sites than it was given for */
};
struct store_lapsed {
    struct hw_id connection_id;
    char connection[HW_NAME_MAX + 1];
    enum permission_lapse why;
};
/* Those that stand and don't hold at this transaction's time. free() the array. */
int store_permission_lapsed(struct db *db, struct store_lapsed **out, size_t *n, struct err *e);
/* When the next one that stands is over; 0: there is none. */
int store_permission_next_end(struct db *db, int64_t *out, struct err *e);

/* Of those that ended, for the denials; sorted. free() the array. */
int store_permission_ended(struct db *db, struct hw_id **out, size_t *n, struct err *e);

#endif
