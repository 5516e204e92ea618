/* A connection's permission of the encryption policy, with what came of it. */
#ifndef HAWSER_CONTROLLER_API_PERMISSION_JSON_H
#define HAWSER_CONTROLLER_API_PERMISSION_JSON_H

#include "common/json.h"
#include "controller/store/connection.h"

/* Member "permission"; null where there is none. */
int permission_json_put(struct json_writer *w, struct db *db, const struct store_connection *c,
                        struct err *e);

#endif
