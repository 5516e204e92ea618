/* What was answered to writes that named an Idempotency-Key. */
#ifndef HAWSER_CONTROLLER_STORE_IDEMPOTENCY_H
#define HAWSER_CONTROLLER_STORE_IDEMPOTENCY_H

#include "common/id.h"
#include "controller/store/store.h"

#define IDEMPOTENCY_KEY_MAX  255
#define IDEMPOTENCY_KEPT_S   86400
#define IDEMPOTENCY_LOCATION 128

/* Who asked for what under which key. */
struct store_request {
    struct hw_id api_key_id;
    const char *key;
    uint8_t sha256[32]; /* of the request itself */
};

struct store_answer {
    int status;
    char location[IDEMPOTENCY_LOCATION]; /* "" when there is none */
    uint64_t revision;                   /* of the object in the body */
    char *body;                          /* owned */
};
void store_answer_done(struct store_answer *a);

/* The answer kept for this request. HW_ENOTFOUND: the key is new, or older than 24 h.
 * HW_EINVAL: it came with another request. */
int store_answer_find(struct db *db, const struct store_request *r, struct store_answer *out,
                      struct err *e);
int store_answer_keep(struct db *db, const struct store_request *r, const struct store_answer *a,
                      struct err *e);
/* Removes those that are older than 24 h at `now`. */
int store_answer_expire(struct db *db, int64_t now, unsigned *removed, struct err *e);

#endif
