/* API keys as text, for the header field Authorization: "hwa1." + base64url of 256 random bits,
 * kept as SHA-256 alone. */
#ifndef HAWSER_CONTROLLER_AUTH_BEARER_H
#define HAWSER_CONTROLLER_AUTH_BEARER_H

#include "common/err.h"
#include "controller/http/request.h"
#include "controller/store/api_key.h"

#define BEARER_PREFIX    "hwa1."
#define BEARER_TEXT_MAX  64
#define BEARER_BOOTSTRAP "bootstrap" /* name of the key that bootstrap makes; no other has it */

/* Makes the secret of `k`, which keeps its hash and prefix; `text` is the only copy, wipe it after
 * use. */
int bearer_make(struct store_api_key *k, char text[BEARER_TEXT_MAX], struct err *e);

/* The key that has this text and has not ended. HW_EAUTH. */
int bearer_find(struct db *db, const char *text, struct store_api_key *out, struct err *e);
/* Fills req's role, and what tells whose key it is. */
void bearer_take(const struct store_api_key *k, struct http_request *req);
/* Checks req's Authorization field and fills req by it. HW_EAUTH. */
int bearer_check(struct db *db, struct http_request *req, struct err *e);

#endif
