/* A session as the API shows it, in the answers of sessions.c and whoami.c. */
#ifndef HAWSER_CONTROLLER_API_SESSION_JSON_H
#define HAWSER_CONTROLLER_API_SESSION_JSON_H

#include "common/json.h"
#include "controller/store/api_key.h"
#include "controller/store/web_session.h"

void session_json_put(struct json_writer *w, const struct store_web_session *s,
                      const struct store_api_key *k, const char *csrf);

#endif
