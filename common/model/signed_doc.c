#include "common/model/signed_doc.h"
#include "common/b64url.h"
#include "common/bytes.h"
#include "common/json.h"
#include "common/limits.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define CONFIG_LABEL  "hawser-config-v1"
#define DENIALS_LABEL "hawser-denials-v1"
/* Body in base64url, the other members beside it. */
#define FILE_MAX (B64URL_LEN((size_t)HW_CONFIG_BODY_MAX) + 2u * SIGNED_DOC_SIGNER_MAX + 1024u)

static int signed_bytes(const char *label, const struct hw_id *gateway, uint64_t number,
                        const void *body, size_t len, uint8_t **out, size_t *out_len)
{
    const size_t fixed = strlen(label) + 1 + (gateway ? sizeof gateway->b + 1 : 0) + sizeof number;
    if (len > SIZE_MAX - fixed)
        return HW_ETOOBIG;
    uint8_t *buf = malloc(fixed + len);
    if (!buf)
        return HW_ENOMEM;
    struct byte_writer w = byte_writer_init(buf, fixed + len);
    byte_put(&w, label, strlen(label) + 1);
    if (gateway) {
        byte_put(&w, gateway->b, sizeof gateway->b);
        byte_put8(&w, 0);
    }
    byte_put64(&w, number);
    byte_put(&w, body, len);
    *out = buf;
    *out_len = w.used;
    return HW_OK;
}

int signed_config_bytes(const struct hw_id *gateway, uint64_t revision, const void *body,
                        size_t len, uint8_t **out, size_t *out_len)
{
    return signed_bytes(CONFIG_LABEL, gateway, revision, body, len, out, out_len);
}

int signed_denials_bytes(uint64_t number, const void *body, size_t len, uint8_t **out,
                         size_t *out_len)
{
    return signed_bytes(DENIALS_LABEL, NULL, number, body, len, out, out_len);
}

void signed_doc_done(struct signed_doc *d)
{
    if (!d)
        return;
    free(d->signer);
    free(d->body);
    *d = (struct signed_doc){0};
}

/* Decimal, no sign, no leading zero. */
static int parse_revision(const char *text, uint64_t *out)
{
    if (!text || text[0] < '0' || text[0] > '9' || (text[0] == '0' && text[1] != '\0'))
        return HW_EINVAL;
    char *end;
    errno = 0;
    unsigned long long v = strtoull(text, &end, 10);
    if (errno != 0 || *end != '\0')
        return HW_EINVAL;
    *out = v;
    return HW_OK;
}

static int take_signature(const char *text, struct signed_doc *d, struct err *e)
{
    uint8_t *sig;
    size_t len;
    if (!text || b64url_decode(text, strlen(text), &sig, &len) != HW_OK)
        return err_set(e, HW_EINVAL, "signature is missing or not base64url");
    int rc = HW_OK;
    if (len == 0 || len > sizeof d->signature) {
        rc = err_set(e, HW_EINVAL, "signature of %zu bytes", len);
    } else {
        memcpy(d->signature, sig, len);
        d->signature_len = len;
    }
    free(sig);
    return rc;
}

static int take_signer(const char *text, struct signed_doc *d, struct err *e)
{
    if (!text || strlen(text) > B64URL_LEN(SIGNED_DOC_SIGNER_MAX) ||
        b64url_decode(text, strlen(text), &d->signer, &d->signer_len) != HW_OK)
        return err_set(e, HW_EINVAL, "signer's certificate is missing or not base64url");
    return HW_OK;
}

int signed_doc_receive(const char *revision, const char *signature, const char *signer,
                       const char *body, size_t body_len, struct signed_doc *out, struct err *e)
{
    struct signed_doc d = {0};
    int rc = HW_OK;
    if (parse_revision(revision, &d.revision) != HW_OK)
        rc = err_set(e, HW_EINVAL, "revision is missing or no number");
    rc = rc ? rc : take_signature(signature, &d, e);
    rc = rc ? rc : take_signer(signer, &d, e);
    if (!rc) {
        d.body = malloc(body_len + 1);
        if (d.body) {
            memcpy(d.body, body, body_len);
            d.body[body_len] = '\0';
            d.body_len = body_len;
        } else {
            rc = err_set(e, HW_ENOMEM, "out of memory");
        }
    }
    if (rc)
        signed_doc_done(&d);
    else
        *out = d;
    return rc;
}

/* The signer is the config key of `ca` at the time that counts for this document, and signed
 * `bytes`. */
static int judge(struct signed_doc *d, const uint8_t *bytes, size_t len, const struct x509_st *ca,
                 int64_t now_s, struct err *e)
{
    struct x509_st *signer;
    int64_t at = d->accepted_at > 0 ? d->accepted_at : now_s;
    int rc = x509_cert_parse_der(d->signer, d->signer_len, &signer, e);
    if (rc)
        return err_set(e, HW_EAUTH, "signer's certificate cannot be read");
    rc = x509_cert_verify(signer, ca, at, X509_USE_ANY, X509_URI_CONFIG, e);
    if (!rc)
        rc = x509_check_signature(signer, bytes, len, d->signature, d->signature_len, e);
    x509_cert_free(signer);
    if (!rc)
        d->accepted_at = at;
    return rc;
}

int signed_config_verify(struct signed_doc *d, const struct hw_id *gateway,
                         const struct x509_st *ca, int64_t now_s, struct err *e)
{
    uint8_t *bytes;
    size_t len;
    int rc = signed_config_bytes(gateway, d->revision, d->body, d->body_len, &bytes, &len);
    if (rc)
        return err_set(e, rc, "out of memory");
    rc = judge(d, bytes, len, ca, now_s, e);
    free(bytes);
    return rc ? err_wrap(e, "config %llu", (unsigned long long)d->revision) : HW_OK;
}

int signed_denials_verify(struct signed_doc *d, const struct x509_st *ca, int64_t now_s,
                          struct err *e)
{
    uint8_t *bytes;
    size_t len;
    int rc = signed_denials_bytes(d->revision, d->body, d->body_len, &bytes, &len);
    if (rc)
        return err_set(e, rc, "out of memory");
    rc = judge(d, bytes, len, ca, now_s, e);
    free(bytes);
    return rc ? err_wrap(e, "denials %llu", (unsigned long long)d->revision) : HW_OK;
}

static void put_b64(struct json_writer *w, const char *key, const void *data, size_t len)
{
    char *text = b64url_encode(data, len);
    if (text)
        json_put_str(w, key, text);
    else
        w->failed = true;
    free(text);
}

char *signed_doc_encode(const struct signed_doc *d, size_t *len)
{
    struct json_writer w;
    json_writer_init(&w);
    json_put_uint(&w, "revision", d->revision);
    json_put_int(&w, "accepted_at", d->accepted_at);
    put_b64(&w, "signature", d->signature, d->signature_len);
    put_b64(&w, "signer", d->signer, d->signer_len);
    put_b64(&w, "body", d->body, d->body_len);
    return json_finish(&w, len);
}

static int decode_file(const struct json_at *top, struct signed_doc *d, struct err *e)
{
    static const char *const members[] = {"revision", "accepted_at", "signature",
                                          "signer",   "body",        NULL};
    const char *signature, *signer, *body;
    uint8_t *bytes;
    int rc = json_members(top, members, e);
    rc = rc ? rc : json_get_uint(top, "revision", 0, UINT64_MAX, &d->revision, e);
    rc = rc ? rc : json_get_int(top, "accepted_at", 0, INT64_MAX, &d->accepted_at, e);
    rc = rc ? rc : json_get_str(top, "signature", B64URL_LEN(X509_SIG_MAX), &signature, e);
    rc = rc ? rc : json_get_str(top, "signer", B64URL_LEN(SIGNED_DOC_SIGNER_MAX), &signer, e);
    rc = rc ? rc : json_get_str(top, "body", B64URL_LEN((size_t)HW_CONFIG_BODY_MAX), &body, e);
    rc = rc ? rc : take_signature(signature, d, e);
    rc = rc ? rc : take_signer(signer, d, e);
    if (rc)
        return rc;
    if (b64url_decode(body, strlen(body), &bytes, &d->body_len) != HW_OK)
        return err_set(e, HW_EINVAL, "body is not base64url");
    d->body = (char *)bytes;
    return HW_OK;
}

int signed_doc_decode(const char *text, size_t len, struct signed_doc *out, struct err *e)
{
    struct json_object *doc;
    struct signed_doc d = {0};
    int rc = json_parse(text, len, FILE_MAX, &doc, e);
    if (rc)
        return rc;
    struct json_at top = json_root(doc);
    rc = decode_file(&top, &d, e);
    json_free(doc);
    if (rc)
        signed_doc_done(&d);
    else
        *out = d;
    return rc;
}
