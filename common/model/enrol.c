#include "common/model/enrol.h"
#include "common/b64url.h"
#include "common/hex.h"
#include "common/json.h"
#include "common/secret.h"
#include "common/strbuf.h"
#include <stdlib.h>
#include <string.h>

#define SPACE " \t\r\n"

static void put_urls(struct json_writer *w, const struct enrol_urls *u)
{
    json_open_array(w, "urls");
    for (size_t i = 0; i < u->n; i++)
        json_put_str(w, NULL, u->url[i]);
    json_close(w);
}

/* https://HOST:PORT and no more: paths are appended to it. */
static bool url_ok(const char *s)
{
    static const char scheme[] = "https://";
    if (strncmp(s, scheme, sizeof scheme - 1) != 0)
        return false;
    const char *host = s + sizeof scheme - 1;
    size_t n = strspn(host, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789.-:[]");
    return n > 0 && host[n] == '\0';
}

static int get_urls(const struct json_at *at, struct enrol_urls *u, struct err *e)
{
    struct json_at a;
    int rc = json_get_array(at, "urls", HW_URLS_MAX, &a, &u->n, e);
    if (!rc && u->n == 0)
        rc = json_refuse(&a, e, "no URL");
    for (size_t i = 0; !rc && i < u->n; i++) {
        struct json_at v = json_element(&a, i);
        rc = json_as_text(&v, u->url[i], sizeof u->url[i], e);
        if (!rc && !url_ok(u->url[i]))
            rc = json_refuse(&v, e, "https://HOST:PORT is expected");
    }
    return rc;
}

/* Exactly `len` bytes as lower-case hexadecimal digits. */
static int as_hex(const struct json_at *at, uint8_t *out, size_t len, struct err *e)
{
    const char *s;
    int rc = json_as_str(at, 2 * len, &s, e);
    if (!rc && hex_decode(s, out, len) != HW_OK)
        rc = json_refuse(at, e, "%zu hexadecimal digits are expected", 2 * len);
    return rc;
}

static int get_hex(const struct json_at *at, const char *key, uint8_t *out, size_t len,
                   struct err *e)
{
    struct json_at m;
    int rc = json_member(at, key, &m, e);
    return rc ? rc : as_hex(&m, out, len, e);
}

static void put_hex(struct json_writer *w, const char *key, const uint8_t *data, size_t len)
{
    char text[2 * ENROL_SECRET_LEN + 1];
    json_put_str(w, key, hex_encode(data, len, text));
    secret_wipe(text, sizeof text);
}

/* Copies a PEM text out of the document. */
static int get_pem(const struct json_at *at, const char *key, char **out, struct err *e)
{
    const char *s;
    int rc = json_get_str(at, key, ENROL_PEM_MAX, &s, e);
    if (rc)
        return rc;
    *out = strdup(s);
    return *out ? HW_OK : err_set(e, HW_ENOMEM, "out of memory");
}

char *enrol_token_encode(const struct enrol_token *t)
{
    struct json_writer w;
    struct strbuf b = STRBUF_INIT;
    size_t len;
    json_writer_init(&w);
    w.secret = true;
    put_urls(&w, &t->urls);
    json_open_array(&w, "pins");
    for (size_t i = 0; i < t->n_pins; i++)
        put_hex(&w, NULL, t->pins[i], ENROL_PIN_LEN);
    json_close(&w);
    json_put_id(&w, "id", &t->id);
    put_hex(&w, "secret", t->secret, sizeof t->secret);
    char *json = json_finish(&w, &len);
    if (!json)
        return NULL;
    char *text = b64url_encode(json, len);
    secret_wipe(json, len);
    free(json);
    if (!text)
        return NULL;
    strbuf_puts(&b, ENROL_TOKEN_PREFIX);
    strbuf_puts(&b, text);
    secret_wipe(text, strlen(text));
    free(text);
    return strbuf_take(&b);
}

static int decode_token(const struct json_at *top, struct enrol_token *t, struct err *e)
{
    static const char *const members[] = {"urls", "pins", "id", "secret", NULL};
    struct json_at a;
    int rc = json_members(top, members, e);
    rc = rc ? rc : get_urls(top, &t->urls, e);
    rc = rc ? rc : json_get_array(top, "pins", ENROL_PINS_MAX, &a, &t->n_pins, e);
    if (!rc && t->n_pins == 0)
        rc = json_refuse(&a, e, "no pin");
    for (size_t i = 0; !rc && i < t->n_pins; i++) {
        struct json_at v = json_element(&a, i);
        rc = as_hex(&v, t->pins[i], ENROL_PIN_LEN, e);
    }
    rc = rc ? rc : json_get_id(top, "id", &t->id, e);
    rc = rc ? rc : get_hex(top, "secret", t->secret, sizeof t->secret, e);
    return rc;
}

int enrol_token_decode(const char *text, size_t len, struct enrol_token *out, struct err *e)
{
    const size_t prefix = strlen(ENROL_TOKEN_PREFIX);
    while (len > 0 && strchr(SPACE, text[len - 1]))
        len--;
    while (len > 0 && strchr(SPACE, text[0])) {
        text++;
        len--;
    }
    if (len > ENROL_TOKEN_MAX || len < prefix || memcmp(text, ENROL_TOKEN_PREFIX, prefix) != 0)
        return err_set(e, HW_EINVAL, "not an enrolment token: it begins with %s",
                       ENROL_TOKEN_PREFIX);
    uint8_t *json;
    size_t json_len;
    if (b64url_decode(text + prefix, len - prefix, &json, &json_len) != HW_OK)
        return err_set(e, HW_EINVAL, "enrolment token is damaged");
    struct json_object *doc;
    struct enrol_token t = {0};
    int rc = json_parse((const char *)json, json_len, ENROL_TOKEN_MAX, &doc, e);
    secret_wipe(json, json_len);
    free(json);
    if (!rc) {
        struct json_at top = json_root(doc);
        rc = decode_token(&top, &t, e);
        json_free_secret(doc);
    }
    if (!rc)
        *out = t;
    secret_wipe(&t, sizeof t);
    return rc ? err_wrap(e, "enrolment token") : HW_OK;
}

static void put_or_null(struct json_writer *w, const char *key, const char *s)
{
    json_put_str(w, key, s[0] ? s : NULL);
}

char *enrol_request_encode(const struct enrol_request *r, size_t *len)
{
    struct json_writer w;
    json_writer_init(&w);
    w.secret = true;
    json_put_id(&w, "token_id", &r->token_id);
    put_hex(&w, "secret", r->secret, sizeof r->secret);
    json_put_str(&w, "csr_pem", r->csr_pem);
    json_put_str(&w, "name", r->name);
    json_put_id(&w, "boot_id", &r->boot_id);
    json_put_str(&w, "agent_version", r->agent_version);
    put_or_null(&w, "provider", r->provider);
    put_or_null(&w, "region", r->region);
    put_or_null(&w, "size", r->size);
    node_put(&w, &r->node);
    return json_finish(&w, len);
}

/* A member that may be null (""). */
static int get_or_null(const struct json_at *at, const char *key, char *out, size_t cap,
                       struct err *e)
{
    struct json_at m;
    int rc = json_member(at, key, &m, e);
    if (rc)
        return rc;
    out[0] = '\0';
    return m.value ? json_as_text(&m, out, cap, e) : HW_OK;
}

static int decode_request(const struct json_at *top, struct enrol_request *r, struct err *e)
{
    static const char *const members[] = {"token_id", "secret",        "csr_pem",   "name",
                                          "boot_id",  "agent_version", "provider",  "region",
                                          "size",     "interfaces",    "endpoints", NULL};
    int rc = json_members(top, members, e);
    rc = rc ? rc : json_get_id(top, "token_id", &r->token_id, e);
    rc = rc ? rc : get_hex(top, "secret", r->secret, sizeof r->secret, e);
    rc = rc ? rc : json_get_text(top, "csr_pem", r->csr_pem, sizeof r->csr_pem, e);
    rc = rc ? rc : json_get_name(top, "name", r->name, e);
    rc = rc ? rc : json_get_id(top, "boot_id", &r->boot_id, e);
    rc =
        rc ? rc : json_get_text(top, "agent_version", r->agent_version, sizeof r->agent_version, e);
    rc = rc ? rc : get_or_null(top, "provider", r->provider, sizeof r->provider, e);
    rc = rc ? rc : get_or_null(top, "region", r->region, sizeof r->region, e);
    rc = rc ? rc : get_or_null(top, "size", r->size, sizeof r->size, e);
    rc = rc ? rc : node_get(top, &r->node, e);
    return rc;
}

int enrol_request_decode(const char *json, size_t len, struct enrol_request *out, struct err *e)
{
    struct json_object *doc;
    int rc = json_parse(json, len, HW_REQUEST_BODY_MAX, &doc, e);
    if (rc)
        return rc;
    struct json_at top = json_root(doc);
    struct enrol_request r = {0};
    rc = decode_request(&top, &r, e);
    json_free_secret(doc);
    if (!rc)
        *out = r;
    secret_wipe(r.secret, sizeof r.secret);
    return rc;
}

char *enrol_reply_encode(const struct enrol_reply *r, size_t *len)
{
    struct json_writer w;
    json_writer_init(&w);
    json_put_id(&w, "gateway_id", &r->gateway_id);
    json_put_str(&w, "certificate_pem", r->certificate_pem);
    json_put_str(&w, "ca_pem", r->ca_pem);
    put_urls(&w, &r->urls);
    return json_finish(&w, len);
}

int enrol_reply_decode(const char *json, size_t len, struct enrol_reply *out, struct err *e)
{
    static const char *const members[] = {"gateway_id", "certificate_pem", "ca_pem", "urls", NULL};
    struct json_object *doc;
    struct enrol_reply r = {0};
    int rc = json_parse(json, len, HW_REQUEST_BODY_MAX, &doc, e);
    if (rc)
        return rc;
    struct json_at top = json_root(doc);
    rc = json_members(&top, members, e);
    rc = rc ? rc : json_get_id(&top, "gateway_id", &r.gateway_id, e);
    rc = rc ? rc : get_pem(&top, "certificate_pem", &r.certificate_pem, e);
    rc = rc ? rc : get_pem(&top, "ca_pem", &r.ca_pem, e);
    rc = rc ? rc : get_urls(&top, &r.urls, e);
    json_free(doc);
    if (rc)
        enrol_reply_done(&r);
    else
        *out = r;
    return rc;
}

void enrol_reply_done(struct enrol_reply *r)
{
    if (!r)
        return;
    free(r->certificate_pem);
    free(r->ca_pem);
    *r = (struct enrol_reply){0};
}

char *enrol_renew_request_encode(const char *csr_pem, size_t *len)
{
    struct json_writer w;
    json_writer_init(&w);
    json_put_str(&w, "csr_pem", csr_pem);
    return json_finish(&w, len);
}

int enrol_renew_request_decode(const char *json, size_t len, char **csr_pem, struct err *e)
{
    static const char *const members[] = {"csr_pem", NULL};
    struct json_object *doc;
    int rc = json_parse(json, len, HW_REQUEST_BODY_MAX, &doc, e);
    if (rc)
        return rc;
    struct json_at top = json_root(doc);
    rc = json_members(&top, members, e);
    rc = rc ? rc : get_pem(&top, "csr_pem", csr_pem, e);
    json_free(doc);
    return rc;
}

char *enrol_renew_reply_encode(const char *certificate_pem, const char *ca_pem, size_t *len)
{
    struct json_writer w;
    json_writer_init(&w);
    json_put_str(&w, "certificate_pem", certificate_pem);
    json_put_str(&w, "ca_pem", ca_pem);
    return json_finish(&w, len);
}

int enrol_renew_reply_decode(const char *json, size_t len, char **certificate_pem, char **ca_pem,
                             struct err *e)
{
    static const char *const members[] = {"certificate_pem", "ca_pem", NULL};
    struct json_object *doc;
    char *certificate = NULL, *ca = NULL;
    int rc = json_parse(json, len, HW_REQUEST_BODY_MAX, &doc, e);
    if (rc)
        return rc;
    struct json_at top = json_root(doc);
    rc = json_members(&top, members, e);
    rc = rc ? rc : get_pem(&top, "certificate_pem", &certificate, e);
    rc = rc ? rc : get_pem(&top, "ca_pem", &ca, e);
    json_free(doc);
    if (rc) {
        free(certificate);
        free(ca);
        return rc;
    }
    *certificate_pem = certificate;
    *ca_pem = ca;
    return HW_OK;
}
