#include "controller/auth/bearer.h"
#include "common/b64url.h"
#include "common/secret.h"
#include "controller/store/api_token.h"
#include <openssl/sha.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define SECRET_LEN 32

int bearer_create(struct db *db, char text[BEARER_TEXT_MAX], struct err *e)
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

    struct store_api_token t = {.id = id_new(), .created_at = store_now(db)};
    SHA256((const unsigned char *)text, strlen(text), t.sha256);
    (void)snprintf(t.prefix, sizeof t.prefix, "%.10s", text);
    return store_api_token_insert(db, &t, e);
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

/* Every valid token is compared, each in constant time: how long it takes tells nothing about how
 * near a guess was. */
int bearer_find(struct db *db, const char *text, struct hw_id *out, struct err *e)
{
    uint8_t hash[SHA256_DIGEST_LENGTH];
    SHA256((const unsigned char *)text, strlen(text), hash);
    struct store_api_token *list = NULL;
    size_t n = 0;
    int rc = store_api_token_valid(db, &list, &n, e);
    if (rc)
        return rc;
    bool found = false;
    for (size_t i = 0; i < n; i++) {
        if (secret_equal(list[i].sha256, hash, sizeof hash)) {
            *out = list[i].id;
            found = true;
        }
    }
    free(list);
    return found ? 0 : err_set(e, HW_EAUTH, "this token is not valid (any more)");
}

int bearer_check(struct db *db, struct http_request *req, struct err *e)
{
    const char *text = credentials(req);
    if (!text)
        return err_set(e, HW_EAUTH, "send the header field \"Authorization: Bearer TOKEN\"");
    return bearer_find(db, text, &req->api_token_id, e);
}
