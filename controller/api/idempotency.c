#include "controller/api/idempotency.h"
#include <openssl/evp.h>
#include <string.h>

/* HW_ENOTFOUND: the request has no key. */
static int read_key(const struct http_request *req, struct store_request *out, struct err *e)
{
    const char *key = http_request_header(req, "Idempotency-Key");
    if (!key || req->method != HTTP_POST)
        return HW_ENOTFOUND;
    size_t len = strlen(key);
    if (len == 0 || len > IDEMPOTENCY_KEY_MAX)
        return err_set_field(e, HW_EINVAL, "Idempotency-Key", "1 to %d characters",
                             IDEMPOTENCY_KEY_MAX);
    for (size_t i = 0; i < len; i++)
        if ((unsigned char)key[i] < 0x20 || (unsigned char)key[i] > 0x7e)
            return err_set_field(e, HW_EINVAL, "Idempotency-Key", "printable ASCII alone");
    out->api_key_id = req->api_key_id;
    out->key = key;
    return 0;
}

/* The path stands NUL-terminated between method and body: no two requests look alike. */
static int digest(const struct http_request *req, uint8_t out[32], struct err *e)
{
    uint8_t method = (uint8_t)req->method;
    EVP_MD_CTX *md = EVP_MD_CTX_new();
    bool ok = md && EVP_DigestInit_ex(md, EVP_sha256(), NULL) &&
              EVP_DigestUpdate(md, &method, sizeof method) &&
              EVP_DigestUpdate(md, req->path, strlen(req->path) + 1) &&
              EVP_DigestUpdate(md, req->body ? req->body : "", req->body_len) &&
              EVP_DigestFinal_ex(md, out, NULL);
    EVP_MD_CTX_free(md);
    return ok ? 0 : err_set(e, HW_EFAIL, "hash the request");
}

int idempotency_find(struct db *db, const struct http_request *req, struct store_answer *out,
                     struct err *e)
{
    struct store_request r;
    int rc = read_key(req, &r, e);
    if (!rc)
        rc = digest(req, r.sha256, e);
    return rc ? rc : store_answer_find(db, &r, out, e);
}

int idempotency_keep(struct db *db, const struct http_request *req, const struct store_answer *a,
                     struct err *e)
{
    struct store_request r;
    int rc = read_key(req, &r, e);
    if (rc)
        return rc == HW_ENOTFOUND ? 0 : rc;
    rc = digest(req, r.sha256, e);
    return rc ? rc : store_answer_keep(db, &r, a, e);
}
