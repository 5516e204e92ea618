/* An operation as the API shows it. */
#ifndef HAWSER_CONTROLLER_API_OPERATION_JSON_H
#define HAWSER_CONTROLLER_API_OPERATION_JSON_H

#include "common/err.h"
#include "common/json.h"
#include "controller/store/operation.h"

/* Members of an open object. `with_result`: lists leave it out. */
int operation_json_put(struct json_writer *w, struct db *db, const struct store_operation *o,
                       bool with_result, struct err *e);
/* The object alone, as text to free. */
int operation_json(struct db *db, const struct hw_id *id, char **out, struct err *e);

#endif
