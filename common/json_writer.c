#include "common/json.h"
#include "common/json_scan.h"
#include "common/secret.h"
#include "common/strbuf.h"
#include <json-c/json.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void json_writer_init(struct json_writer *w)
{
    *w = (struct json_writer){.depth = 1};
    w->open[0] = json_object_new_object();
    w->failed = !w->open[0];
}

void json_writer_done(struct json_writer *w)
{
    if (w->secret)
        json_free_secret(w->open[0]);
    else
        json_free(w->open[0]);
    *w = (struct json_writer){.failed = true};
}

char *json_finish(struct json_writer *w, size_t *len)
{
    char *out = NULL;
    size_t n = 0;
    if (!w->failed && w->depth == 1) {
        const char *s = json_object_to_json_string_length(
            w->open[0], JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE, &n);
        out = s ? strndup(s, n) : NULL;
        if (w->secret && s)
            secret_wipe((char *)(uintptr_t)s, n); /* json-c keeps what it printed */
    }
    json_writer_done(w);
    if (out && len)
        *len = n;
    return out;
}

/* Consumes v in every case. v NULL is JSON's null: makers of other values check for memory first.
 */
void json_put_value(struct json_writer *w, const char *key, struct json_object *v)
{
    struct json_object *into = w->failed ? NULL : w->open[w->depth - 1];
    int rc = -1;
    if (json_object_is_type(into, json_type_object) && key)
        rc = json_object_object_add(into, key, v);
    else if (json_object_is_type(into, json_type_array) && !key)
        rc = json_object_array_add(into, v);
    if (rc != 0) {
        (void)json_object_put(v);
        w->failed = true;
    }
}

void json_put_raw(struct json_writer *w, const char *key, char *json)
{
    struct json_object *v = json ? json_object_new_array() : NULL;
    if (!v) {
        free(json);
        w->failed = true;
        return;
    }
    json_object_set_serializer(v, json_object_userdata_to_json_string, json,
                               json_object_free_userdata);
    json_put_value(w, key, v);
}

/* A freshly made value, where NULL means that there was no memory. */
static void put_new(struct json_writer *w, const char *key, struct json_object *v)
{
    if (!v)
        w->failed = true;
    else
        json_put_value(w, key, v);
}

static void open_container(struct json_writer *w, const char *key, struct json_object *v)
{
    put_new(w, key, v);
    if (w->failed)
        return;
    if (w->depth == JSON_WRITER_DEPTH) {
        w->failed = true;
        return;
    }
    w->open[w->depth++] = v;
}

void json_open_object(struct json_writer *w, const char *key)
{
    open_container(w, key, json_object_new_object());
}

void json_open_array(struct json_writer *w, const char *key)
{
    open_container(w, key, json_object_new_array());
}

void json_close(struct json_writer *w)
{
    if (w->depth > 1)
        w->depth--;
    else
        w->failed = true;
}

/* The first `len` bytes of s with U+FFFD in place of every byte that belongs to no character: text
 * from outside may hold any, and a text cut to fit may end within a character. NULL: no memory. */
static struct json_object *repaired(const char *s, size_t len)
{
    static const char replacement[] = "\xef\xbf\xbd";
    const uint8_t *p = (const uint8_t *)s, *end = p + len;
    struct strbuf b = STRBUF_INIT;
    while (p < end) {
        size_t n = json_scan_utf8(p, end);
        if (n)
            strbuf_add(&b, p, n);
        else
            strbuf_add(&b, replacement, sizeof replacement - 1);
        p += n ? n : 1;
    }
    struct json_object *v =
        b.failed || b.len > INT_MAX ? NULL : json_object_new_string_len(strbuf_str(&b), (int)b.len);
    strbuf_done(&b);
    return v;
}

void json_put_strn(struct json_writer *w, const char *key, const char *s, size_t len)
{
    const uint8_t *p = (const uint8_t *)s, *end = p + len;
    size_t n;
    while (p < end && (n = json_scan_utf8(p, end)))
        p += n;
    bool sound = p == end && len <= INT_MAX;
    put_new(w, key, sound ? json_object_new_string_len(s, (int)len) : repaired(s, len));
}

void json_put_str(struct json_writer *w, const char *key, const char *s)
{
    if (s)
        json_put_strn(w, key, s, strlen(s));
    else
        json_put_value(w, key, NULL);
}

void json_put_uint(struct json_writer *w, const char *key, uint64_t v)
{
    put_new(w, key, json_object_new_uint64(v));
}

void json_put_int(struct json_writer *w, const char *key, int64_t v)
{
    put_new(w, key, json_object_new_int64(v));
}

void json_put_bool(struct json_writer *w, const char *key, bool v)
{
    put_new(w, key, json_object_new_boolean(v));
}

void json_put_double(struct json_writer *w, const char *key, double v)
{
    if (!isfinite(v)) {
        json_put_value(w, key, NULL);
        return;
    }
    /* The fewest digits that read back alike, and an exponent only for the very large and small. */
    char text[32];
    bool may_have_exponent = fabs(v) >= 1e15 || fabs(v) < 1e-4;
    for (int precision = 1; precision <= 17; precision++) {
        (void)snprintf(text, sizeof text, "%.*g", precision, v);
        if (fabs(strtod(text, NULL) - v) <= 0.0 && (may_have_exponent || !strchr(text, 'e')))
            break;
    }
    put_new(w, key, json_object_new_double_s(v, text));
}

void json_put_null(struct json_writer *w, const char *key)
{
    json_put_value(w, key, NULL);
}

void json_put_id(struct json_writer *w, const char *key, const struct hw_id *id)
{
    char text[ID_TEXT_MAX];
    json_put_str(w, key, id_text(id, text));
}

void json_put_ip(struct json_writer *w, const char *key, const struct ipaddr *a)
{
    char text[IPADDR_TEXT_MAX];
    json_put_str(w, key, a->family ? ipaddr_text(a, text) : NULL);
}

void json_put_prefix(struct json_writer *w, const char *key, const struct prefix *p)
{
    char text[PREFIX_TEXT_MAX];
    json_put_str(w, key, prefix_text(p, text));
}
