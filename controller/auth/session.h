/*
 * Sessions of the console (docs/protocols.md): a cookie of 32 random bytes, stored as SHA-256, that
 * stands for an API key until one of both ends. Requests that change something also carry a CSRF
 * token, which follows from the cookie.
 */
#ifndef HAWSER_CONTROLLER_AUTH_SESSION_H
#define HAWSER_CONTROLLER_AUTH_SESSION_H

#include "common/err.h"
#include "controller/http/request.h"
#include "controller/http/response.h"
#include "controller/store/api_key.h"
#include "controller/store/store.h"
#include "controller/store/web_session.h"

#define SESSION_IDLE_S     3600
#define SESSION_SECRET_LEN 32
#define SESSION_CSRF_MAX   65

/* A new one for this key, which it doesn't outlive; `secret` is the only copy, wipe it after use.
 */
int session_create(struct db *db, const struct store_api_key *key,
                   uint8_t secret[SESSION_SECRET_LEN], struct store_web_session *out,
                   struct err *e);
/* Does the request come by cookie? Authorization wins over it. */
bool session_present(const struct http_request *req);
/* Checks the cookie, and of a request that may change something its CSRF token and origin; fills
 * role, and the key's and session's fields of req. HW_EAUTH, HW_EFORBIDDEN. */
int session_check(struct db *db, struct http_request *req, struct err *e);
/* The session of a request that session_check let pass, its key and its CSRF token. */
int session_of(struct db *db, const struct http_request *req, struct store_web_session *out,
               struct store_api_key *key, char csrf[SESSION_CSRF_MAX], struct err *e);
void session_csrf(const uint8_t secret[SESSION_SECRET_LEN], char out[SESSION_CSRF_MAX]);

/* Set-Cookie; NULL clears it. */
int session_set_cookie(struct http_response *res, const uint8_t *secret, struct err *e);

#endif
