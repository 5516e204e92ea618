#include "controller/auth/session.h"
#include "common/b64url.h"
#include "common/hex.h"
#include "common/secret.h"
#include "controller/auth/bearer.h"
#include "controller/store/api_key.h"
#include <openssl/sha.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* The prefix makes browsers demand Secure, Path=/ and no Domain (RFC 6265bis section 4.1.3.2). */
#define COOKIE        "__Host-hawser-session"
#define LIFE_S        (12 * 3600)
#define PER_TOKEN_MAX 64
#define AHEAD_S       300 /* a session from further in the future: the clock was put back */
#define CSRF_LABEL    "hawser-csrf-v1" /* with its NUL in front of the secret */

int session_create(struct db *db, const struct store_api_key *key,
                   uint8_t secret[SESSION_SECRET_LEN], struct store_web_session *out, struct err *e)
{
    int64_t now = store_now(db), end = now + LIFE_S;
    rand_bytes(secret, SESSION_SECRET_LEN);
    *out = (struct store_web_session){
        .id = id_new(),
        .api_key_id = key->id,
        .created_at = now,
        .last_used_at = now,
        .expires_at = key->expires_at && key->expires_at < end ? key->expires_at : end,
    };
    SHA256(secret, SESSION_SECRET_LEN, out->secret_sha256);
    int rc = store_web_session_expire(db, now - SESSION_IDLE_S, &key->id, PER_TOKEN_MAX - 1, e);
    return rc ? rc : store_web_session_insert(db, out, e);
}

/* The cookie's value in the request, not ended by a NUL; NULL when there is none. */
static const char *cookie_value(const struct http_request *req, size_t *len)
{
    const char *p = http_request_header(req, "Cookie");
    while (p && *p) {
        p += strspn(p, "; ");
        size_t pair = strcspn(p, ";");
        if (pair > sizeof COOKIE && !memcmp(p, COOKIE "=", sizeof COOKIE)) {
            *len = pair - sizeof COOKIE;
            return p + sizeof COOKIE;
        }
        p += pair;
    }
    return NULL;
}

bool session_present(const struct http_request *req)
{
    size_t len;
    return !http_request_header(req, "Authorization") && cookie_value(req, &len);
}

/* Fills `secret` from the cookie. */
static bool read_secret(const struct http_request *req, uint8_t secret[SESSION_SECRET_LEN])
{
    size_t text_len, len = 0;
    uint8_t *bytes = NULL;
    const char *text = cookie_value(req, &text_len);
    if (!text || b64url_decode(text, text_len, &bytes, &len))
        return false;
    bool ok = len == SESSION_SECRET_LEN;
    if (ok)
        memcpy(secret, bytes, SESSION_SECRET_LEN);
    secret_wipe(bytes, len);
    free(bytes);
    return ok;
}

void session_csrf(const uint8_t secret[SESSION_SECRET_LEN], char out[SESSION_CSRF_MAX])
{
    uint8_t text[sizeof CSRF_LABEL + SESSION_SECRET_LEN], hash[SHA256_DIGEST_LENGTH];
    memcpy(text, CSRF_LABEL, sizeof CSRF_LABEL);
    memcpy(text + sizeof CSRF_LABEL, secret, SESSION_SECRET_LEN);
    SHA256(text, sizeof text, hash);
    secret_wipe(text, sizeof text);
    (void)hex_encode(hash, sizeof hash, out);
}

static bool csrf_ok(const struct http_request *req, const uint8_t secret[SESSION_SECRET_LEN])
{
    char wanted[SESSION_CSRF_MAX];
    const char *given = http_request_header(req, "Hawser-Csrf");
    session_csrf(secret, wanted);
    return given && strlen(given) == sizeof wanted - 1 &&
           secret_equal(given, wanted, sizeof wanted - 1);
}

/* A browser names the page that asks; it must be one of ours. */
static bool origin_ok(const struct http_request *req)
{
    static const char scheme[] = "https://";
    const char *origin = http_request_header(req, "Origin");
    const char *host = http_request_header(req, "Host");
    if (!origin)
        return true;
    return host && !strncasecmp(origin, scheme, sizeof scheme - 1) &&
           !strcasecmp(origin + sizeof scheme - 1, host);
}

static int find_session(struct db *db, const struct http_request *req,
                        uint8_t secret[SESSION_SECRET_LEN], struct store_web_session *out,
                        struct store_api_key *key, struct err *e)
{
    uint8_t hash[SHA256_DIGEST_LENGTH];
    int64_t now = store_now(db);
    if (!read_secret(req, secret))
        return err_set(e, HW_EAUTH, "this is no session: sign in");
    SHA256(secret, SESSION_SECRET_LEN, hash);
    int rc = store_web_session_by_secret(db, hash, out, e);
    if (!rc)
        rc = store_api_key_live(db, &out->api_key_id, key, e);
    if (rc && rc != HW_ENOTFOUND)
        return rc;
    if (rc || now >= out->expires_at || now >= out->last_used_at + SESSION_IDLE_S ||
        out->created_at > now + AHEAD_S)
        return err_set(e, HW_EAUTH, "the session has ended: sign in again");
    return 0;
}

static int check(struct db *db, struct http_request *req, uint8_t secret[SESSION_SECRET_LEN],
                 struct err *e)
{
    struct store_web_session s;
    struct store_api_key key;
    int rc = find_session(db, req, secret, &s, &key, e);
    if (rc)
        return rc;
    if (req->method != HTTP_GET && !csrf_ok(req, secret))
        return err_set(e, HW_EFORBIDDEN, "send the session's csrf_token as Hawser-Csrf");
    if (req->method != HTTP_GET && !origin_ok(req))
        return err_set(e, HW_EFORBIDDEN, "the request comes from another site");
    bearer_take(&key, req);
    req->by_session = true;
    req->session_id = s.id;
    req->session_used_at = s.last_used_at;
    return 0;
}

int session_check(struct db *db, struct http_request *req, struct err *e)
{
    uint8_t secret[SESSION_SECRET_LEN];
    int rc = check(db, req, secret, e);
    secret_wipe(secret, sizeof secret);
    return rc;
}

int session_of(struct db *db, const struct http_request *req, struct store_web_session *out,
               struct store_api_key *key, char csrf[SESSION_CSRF_MAX], struct err *e)
{
    uint8_t secret[SESSION_SECRET_LEN];
    int rc = find_session(db, req, secret, out, key, e);
    if (!rc)
        session_csrf(secret, csrf);
    secret_wipe(secret, sizeof secret);
    return rc;
}

int session_set_cookie(struct http_response *res, const uint8_t *secret, struct err *e)
{
    static const char attributes[] = "Path=/; Secure; HttpOnly; SameSite=Strict";
    if (!secret) {
        http_response_header(res, "Set-Cookie", COOKIE "=; %s; Max-Age=0", attributes);
        return 0;
    }
    char *text = b64url_encode(secret, SESSION_SECRET_LEN);
    if (!text)
        return err_set(e, HW_ENOMEM, "out of memory");
    http_response_header(res, "Set-Cookie", COOKIE "=%s; %s", text, attributes);
    secret_wipe(text, strlen(text));
    free(text);
    return 0;
}
