/*
 * Idempotency-Key: a POST that names one is carried out once. The same request under the same key
 * gets the first answer again for 24 hours, another one is refused (422). The answer is kept in the
 * transaction of the write itself, so that there is never one without the other.
 */
#ifndef HAWSER_CONTROLLER_API_IDEMPOTENCY_H
#define HAWSER_CONTROLLER_API_IDEMPOTENCY_H

#include "common/err.h"
#include "controller/http/request.h"
#include "controller/store/idempotency.h"

/* Inside the write transaction, before anything is written. 0: *out is the answer, nothing is to be
 * done. HW_ENOTFOUND: go on. */
int idempotency_find(struct db *db, const struct http_request *req, struct store_answer *out,
                     struct err *e);
/* After it. Without a key nothing is kept. */
int idempotency_keep(struct db *db, const struct http_request *req, const struct store_answer *a,
                     struct err *e);

#endif
