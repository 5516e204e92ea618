/* Bearer tokens of the people's API: "hwa1." + base64url of 256 random bits, kept as SHA-256 alone.
 */
#ifndef HAWSER_CONTROLLER_AUTH_BEARER_H
#define HAWSER_CONTROLLER_AUTH_BEARER_H

#include "common/err.h"
#include "controller/http/request.h"
#include "controller/store/store.h"

#define BEARER_PREFIX   "hwa1."
#define BEARER_TEXT_MAX 64

/* A new valid token of role admin; `text` is the only copy, wipe it after use. */
int bearer_create(struct db *db, char text[BEARER_TEXT_MAX], struct err *e);

/* The valid token that has this text. HW_EAUTH. */
int bearer_find(struct db *db, const char *text, struct hw_id *out, struct err *e);
/* Checks req's Authorization field and fills req->api_token_id. HW_EAUTH. */
int bearer_check(struct db *db, struct http_request *req, struct err *e);

#endif
