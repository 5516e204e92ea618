#include "controller/auth/bearer.h"
#include "common/b64url.h"
#include "common/secret.h"
#include "controller/auth/role.h"
#include <openssl/sha.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define SECRET_LEN 32

int bearer_make(struct store_api_key *k, char text[BEARER_TEXT_MAX], struct err *e)
{
    uint8_t secret[SECRET_LEN];
    rand_bytes(secret, sizeof secret);
    char *encoded = b64url_encode(secret, sizeof secret);
    secret_wipe(secret, sizeof secret);
    if (!encoded)
        return err_set(e, HW_ENOMEM, "out of memory");
    (void)snprintf(text, BEARER_TEXT_MAX, BEARER_PREFIX "%s", encoded);
    secret_wipe(encoded, strlen(encoded));
    free(encoded);
    SHA256((const unsigned char *)text, strlen(text), k->sha256);
    (void)snprintf(k->prefix, sizeof k->prefix, "%.10s", text);
    return 0;
}

/* The credentials of "Bearer TOKEN" (RFC 6750 section 2.1); NULL when it is anything else. */
static const char *credentials(const struct http_request *req)
{
    const char *field = http_request_header(req, "Authorization");
    if (!field || strncasecmp(field, "Bearer ", 7) != 0)
        return NULL;
    field += 7;
    while (*field == ' ')
        field++;
    return *field ? field : NULL;
}

/* Looked up by hash: how long that takes tells about the hash of a guess alone, and nothing about
 * what would have been right. */
int bearer_find(struct db *db, const char *text, struct store_api_key *out, struct err *e)
{
    uint8_t hash[SHA256_DIGEST_LENGTH];
    SHA256((const unsigned char *)text, strlen(text), hash);
    int rc = store_api_key_by_secret(db, hash, out, e);
    if (rc == HW_ENOTFOUND)
        return err_set(e, HW_EAUTH, "this token is not valid (any more)");
    if (!rc && store_api_key_state(out, store_now(db)) == API_KEY_EXPIRED)
        return err_set(e, HW_EAUTH, "this API key (%s) has ended: ask an admin for another",
                       out->name);
    return rc;
}

void bearer_take(const struct store_api_key *k, struct http_request *req)
{
    req->role = role_of_key(k);
    req->api_key_id = k->id;
    req->api_key_used_at = k->last_used_at;
    (void)snprintf(req->api_key_name, sizeof req->api_key_name, "%s", k->name);
}

int bearer_check(struct db *db, struct http_request *req, struct err *e)
{
    struct store_api_key k;
    const char *text = credentials(req);
    if (!text)
        return err_set(e, HW_EAUTH, "send the header field \"Authorization: Bearer TOKEN\"");
    int rc = bearer_find(db, text, &k, e);
    if (rc)
        return rc;
    bearer_take(&k, req);
    return 0;
}
