/* What other answers tell of an API key. */
#ifndef HAWSER_CONTROLLER_API_KEY_JSON_H
#define HAWSER_CONTROLLER_API_KEY_JSON_H

#include "common/json.h"
#include "controller/store/api_key.h"

/* The member `key`: valid, expiring or expired at `now`. */
void key_json_put_state(struct json_writer *w, const char *key, const struct store_api_key *k,
                        int64_t now);

#endif
