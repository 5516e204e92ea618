#include "common/json.h"
#include "common/json_scan.h"
#include "common/secret.h"
#include <json-c/json.h>
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Walks json-c's tree in document order beside the scanner's counts; the first object with fewer
 * members than the text had is the one with a member twice. */
static int find_twice(const struct json_at *at, const struct json_counts *counts, size_t *next,
                      struct err *e)
{
    int rc = HW_OK;
    if (json_object_is_type(at->value, json_type_object)) {
        if ((size_t)json_object_object_length(at->value) != counts->n[(*next)++])
            return json_refuse(at, e, "a member stands twice");
        json_object_object_foreach(at->value, key, child)
        {
            struct json_at c = {.value = child, .up = at, .key = key};
            rc = find_twice(&c, counts, next, e);
            if (rc != HW_OK)
                return rc;
        }
    } else if (json_object_is_type(at->value, json_type_array)) {
        size_t n = json_object_array_length(at->value);
        for (size_t i = 0; i < n && rc == HW_OK; i++) {
            struct json_at c = json_element(at, i);
            rc = find_twice(&c, counts, next, e);
        }
    }
    return rc;
}

static int parse_tree(const char *text, size_t len, struct json_object **out, struct err *e)
{
    struct json_tokener *tok = json_tokener_new_ex(HW_JSON_DEPTH_MAX + 1);
    if (!tok)
        return err_set(e, HW_ENOMEM, "out of memory");
    json_tokener_set_flags(tok, JSON_TOKENER_STRICT);
    *out = json_tokener_parse_ex(tok, text, (int)len);
    enum json_tokener_error why = json_tokener_get_error(tok);
    /* A number may go on as far as the tokener knows; the scanner has seen that the text ends here.
     */
    if (why == json_tokener_continue) {
        *out = json_tokener_parse_ex(tok, "", 1);
        why = json_tokener_get_error(tok);
    }
    json_tokener_free(tok);
    if (why == json_tokener_success)
        return HW_OK;
    return err_set(e, HW_EINVAL, "not valid JSON: %s", json_tokener_error_desc(why));
}

int json_parse(const char *text, size_t len, size_t max, struct json_object **out, struct err *e)
{
    struct json_counts counts = {0};
    struct json_object *doc = NULL;
    if (len > max || len > INT_MAX)
        return err_set(e, HW_ETOOBIG, "JSON text is longer than %zu bytes", max);
    int rc = json_scan(text, len, &counts, e);
    if (rc == HW_OK)
        rc = parse_tree(text, len, &doc, e);
    if (rc == HW_OK) {
        size_t next = 0;
        struct json_at top = json_root(doc);
        rc = find_twice(&top, &counts, &next, e);
    }
    free(counts.n);
    if (rc != HW_OK) {
        json_free(doc);
        return rc;
    }
    *out = doc;
    return HW_OK;
}

/* The strings are json-c's own, which it hands out as const; depth is bounded by the parser and the
 * writer. */
static void wipe_strings(struct json_object *v)
{
    if (json_object_is_type(v, json_type_string)) {
        secret_wipe((char *)(uintptr_t)json_object_get_string(v),
                    (size_t)json_object_get_string_len(v));
    } else if (json_object_is_type(v, json_type_array)) {
        for (size_t i = 0; i < json_object_array_length(v); i++)
            wipe_strings(json_object_array_get_idx(v, i));
    } else if (json_object_is_type(v, json_type_object)) {
        json_object_object_foreach(v, key, child)
        {
            (void)key;
            wipe_strings(child);
        }
    }
}

void json_free(struct json_object *doc)
{
    (void)json_object_put(doc);
}

void json_free_secret(struct json_object *doc)
{
    wipe_strings(doc);
    json_free(doc);
}

struct json_at json_root(struct json_object *doc)
{
    return (struct json_at){.value = doc};
}

size_t json_length(const struct json_at *array)
{
    return json_object_is_type(array->value, json_type_array)
               ? json_object_array_length(array->value)
               : 0;
}

char *json_text(const struct json_at *at)
{
    const char *text = json_object_to_json_string_ext(
        at->value, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE);
    return text ? strdup(text) : NULL;
}

struct json_at json_element(const struct json_at *array, size_t index)
{
    struct json_at v = {.up = array, .index = index};
    if (index < json_length(array))
        v.value = json_object_array_get_idx(array->value, index);
    return v;
}

/* Appends the path of `at`, its parents' first. */
static size_t put_path(const struct json_at *at, char *out, size_t used)
{
    if (!at->up)
        return used;
    used = put_path(at->up, out, used);
    size_t room = ERR_FIELD_MAX - used;
    int n = at->key ? snprintf(out + used, room, "%s%s", used ? "." : "", at->key)
                    : snprintf(out + used, room, "[%zu]", at->index);
    if (n < 0)
        return used;
    return (size_t)n < room ? used + (size_t)n : ERR_FIELD_MAX - 1;
}

char *json_path(const struct json_at *at, char out[ERR_FIELD_MAX])
{
    out[0] = '\0';
    (void)put_path(at, out, 0);
    return out;
}

int json_refuse(const struct json_at *at, struct err *e, const char *fmt, ...)
{
    char path[ERR_FIELD_MAX], text[ERR_TEXT_MAX];
    va_list ap;
    va_start(ap, fmt);
    (void)vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    return err_set_field(e, HW_EINVAL, json_path(at, path), "%s", text);
}

int json_members(const struct json_at *at, const char *const *members, struct err *e)
{
    if (!json_object_is_type(at->value, json_type_object))
        return json_refuse(at, e, "an object is expected");
    json_object_object_foreach(at->value, key, child)
    {
        const char *const *m = members;
        while (*m && strcmp(*m, key) != 0)
            m++;
        if (!*m) {
            struct json_at c = {.value = child, .up = at, .key = key};
            return json_refuse(&c, e, "unknown member");
        }
    }
    return HW_OK;
}

enum json_presence json_presence(const struct json_at *at, const char *key)
{
    struct json_object *v = NULL;
    if (!json_object_object_get_ex(at->value, key, &v))
        return JSON_ABSENT;
    return v ? JSON_SET : JSON_NULL;
}

int json_member(const struct json_at *at, const char *key, struct json_at *out, struct err *e)
{
    struct json_at m = {.up = at, .key = key};
    if (!json_object_is_type(at->value, json_type_object))
        return json_refuse(at, e, "an object is expected");
    if (!json_object_object_get_ex(at->value, key, &m.value))
        return json_refuse(&m, e, "is missing");
    *out = m;
    return HW_OK;
}

int json_get_object(const struct json_at *at, const char *key, struct json_at *out, struct err *e)
{
    struct json_at m;
    int rc = json_member(at, key, &m, e);
    if (rc != HW_OK)
        return rc;
    if (!json_object_is_type(m.value, json_type_object))
        return json_refuse(&m, e, "an object is expected");
    *out = m;
    return HW_OK;
}

int json_get_array(const struct json_at *at, const char *key, size_t max, struct json_at *out,
                   size_t *n, struct err *e)
{
    struct json_at m;
    int rc = json_member(at, key, &m, e);
    rc = rc ? rc : json_as_array(&m, max, n, e);
    if (rc == HW_OK)
        *out = m;
    return rc;
}

int json_get_room(const struct json_at *at, const char *key, size_t max, size_t size,
                  struct json_at *out, void *room, size_t *n, struct err *e)
{
    int rc = json_get_array(at, key, max, out, n, e);
    void *made = rc || *n == 0 ? NULL : calloc(*n, size);
    if (!rc && *n > 0 && !made)
        rc = err_set(e, HW_ENOMEM, "out of memory");
    if (!rc)
        memcpy(room, &made, sizeof made);
    return rc;
}

int json_as_array(const struct json_at *at, size_t max, size_t *n, struct err *e)
{
    if (!json_object_is_type(at->value, json_type_array))
        return json_refuse(at, e, "an array is expected");
    size_t len = json_object_array_length(at->value);
    if (len > max)
        return json_refuse(at, e, "has %zu elements, at most %zu are allowed", len, max);
    *n = len;
    return HW_OK;
}

int json_each_member(const struct json_at *at, json_member_fn fn, void *arg, struct err *e)
{
    int rc = HW_OK;
    if (!json_object_is_type(at->value, json_type_object))
        return json_refuse(at, e, "an object is expected");
    json_object_object_foreach(at->value, key, child)
    {
        const struct json_at m = {.value = child, .up = at, .key = key};
        rc = rc ? rc : fn(arg, &m, e);
    }
    return rc;
}

int json_as_str(const struct json_at *at, size_t max_len, const char **out, struct err *e)
{
    if (!json_object_is_type(at->value, json_type_string))
        return json_refuse(at, e, "a string is expected");
    size_t len = (size_t)json_object_get_string_len(at->value);
    if (len > max_len)
        return json_refuse(at, e, "is longer than %zu bytes", max_len);
    *out = json_object_get_string(at->value);
    return HW_OK;
}

int json_as_text(const struct json_at *at, char *out, size_t cap, struct err *e)
{
    const char *s = "";
    int rc = json_as_str(at, cap - 1, &s, e);
    if (rc == HW_OK)
        memcpy(out, s, strlen(s) + 1);
    return rc;
}

int json_as_uint(const struct json_at *at, uint64_t min, uint64_t max, uint64_t *out, struct err *e)
{
    if (!json_object_is_type(at->value, json_type_int))
        return json_refuse(at, e, "an integer is expected");
    /* json-c clamps here: negative ones to 0, and large ones to INT64_MAX in the other call. */
    uint64_t v = json_object_get_uint64(at->value);
    if (json_object_get_int64(at->value) < 0 || v < min || v > max)
        return json_refuse(at, e, "must be from %llu to %llu", (unsigned long long)min,
                           (unsigned long long)max);
    *out = v;
    return HW_OK;
}

int json_as_int(const struct json_at *at, int64_t min, int64_t max, int64_t *out, struct err *e)
{
    if (!json_object_is_type(at->value, json_type_int))
        return json_refuse(at, e, "an integer is expected");
    int64_t v = json_object_get_int64(at->value);
    bool clamped = v == INT64_MAX && json_object_get_uint64(at->value) > (uint64_t)INT64_MAX;
    if (clamped || v < min || v > max)
        return json_refuse(at, e, "must be from %lld to %lld", (long long)min, (long long)max);
    *out = v;
    return HW_OK;
}

int json_as_bool(const struct json_at *at, bool *out, struct err *e)
{
    if (!json_object_is_type(at->value, json_type_boolean))
        return json_refuse(at, e, "true or false is expected");
    *out = json_object_get_boolean(at->value);
    return HW_OK;
}

int json_as_double(const struct json_at *at, double min, double max, double *out, struct err *e)
{
    if (!json_object_is_type(at->value, json_type_double) &&
        !json_object_is_type(at->value, json_type_int))
        return json_refuse(at, e, "a number is expected");
    double v = json_object_get_double(at->value);
    if (!isfinite(v) || v < min || v > max)
        return json_refuse(at, e, "must be from %g to %g", min, max);
    *out = v;
    return HW_OK;
}

int json_as_id(const struct json_at *at, struct hw_id *out, struct err *e)
{
    const char *s = "";
    int rc = json_as_str(at, ID_TEXT_LEN, &s, e);
    if (rc == HW_OK && id_parse(s, out) != HW_OK)
        rc = json_refuse(at, e, "a lower-case UUID is expected");
    return rc;
}

int json_as_ip(const struct json_at *at, struct ipaddr *out, struct err *e)
{
    const char *s = "";
    int rc = json_as_str(at, IPADDR_TEXT_MAX, &s, e);
    if (rc == HW_OK && ipaddr_parse(s, out) != HW_OK)
        rc = json_refuse(at, e, "an IPv4 or IPv6 address is expected");
    return rc;
}

int json_as_prefix(const struct json_at *at, struct prefix *out, struct err *e)
{
    const char *s = "", *why = "";
    int rc = json_as_str(at, PREFIX_TEXT_MAX, &s, e);
    if (rc == HW_OK && prefix_parse(s, out, &why) != HW_OK)
        rc = json_refuse(at, e, "%s", why);
    return rc;
}

int json_as_enum(const struct json_at *at, const char *const *names, unsigned *out, struct err *e)
{
    const char *s = "";
    int rc = json_as_str(at, HW_TEXT_MAX, &s, e);
    if (rc != HW_OK)
        return rc;
    char list[HW_TEXT_MAX] = "";
    size_t used = 0;
    for (unsigned i = 0; names[i]; i++) {
        if (strcmp(names[i], s) == 0) {
            *out = i;
            return HW_OK;
        }
        int n = snprintf(list + used, sizeof list - used, "%s%s", i ? ", " : "", names[i]);
        if (n > 0 && (size_t)n < sizeof list - used)
            used += (size_t)n;
    }
    return json_refuse(at, e, "must be one of: %s", list);
}

bool json_name_ok(const char *s)
{
    size_t n = strnlen(s, HW_NAME_MAX + 1);
    if (n < 1 || n > HW_NAME_MAX || s[0] == '-' || s[n - 1] == '-')
        return false;
    return strspn(s, "abcdefghijklmnopqrstuvwxyz0123456789-") == n;
}

int json_as_name(const struct json_at *at, char out[HW_NAME_MAX + 1], struct err *e)
{
    const char *s = "";
    int rc = json_as_str(at, HW_TEXT_MAX, &s, e);
    if (rc != HW_OK)
        return rc;
    if (!json_name_ok(s))
        return json_refuse(at, e, "must be 1 to %d of a-z, 0-9 and '-', with no '-' at either end",
                           HW_NAME_MAX);
    memcpy(out, s, strlen(s) + 1);
    return HW_OK;
}

int json_get_str(const struct json_at *at, const char *key, size_t max_len, const char **out,
                 struct err *e)
{
    struct json_at m;
    int rc = json_member(at, key, &m, e);
    return rc ? rc : json_as_str(&m, max_len, out, e);
}

int json_get_uint(const struct json_at *at, const char *key, uint64_t min, uint64_t max,
                  uint64_t *out, struct err *e)
{
    struct json_at m;
    int rc = json_member(at, key, &m, e);
    return rc ? rc : json_as_uint(&m, min, max, out, e);
}

int json_get_u32(const struct json_at *at, const char *key, uint32_t min, uint32_t max,
                 uint32_t *out, struct err *e)
{
    uint64_t v = 0;
    int rc = json_get_uint(at, key, min, max, &v, e);
    if (rc == HW_OK)
        *out = (uint32_t)v;
    return rc;
}

int json_get_u16(const struct json_at *at, const char *key, uint16_t min, uint16_t max,
                 uint16_t *out, struct err *e)
{
    uint64_t v = 0;
    int rc = json_get_uint(at, key, min, max, &v, e);
    if (rc == HW_OK)
        *out = (uint16_t)v;
    return rc;
}

int json_get_int(const struct json_at *at, const char *key, int64_t min, int64_t max, int64_t *out,
                 struct err *e)
{
    struct json_at m;
    int rc = json_member(at, key, &m, e);
    return rc ? rc : json_as_int(&m, min, max, out, e);
}

int json_get_bool(const struct json_at *at, const char *key, bool *out, struct err *e)
{
    struct json_at m;
    int rc = json_member(at, key, &m, e);
    return rc ? rc : json_as_bool(&m, out, e);
}

int json_get_double(const struct json_at *at, const char *key, double min, double max, double *out,
                    struct err *e)
{
    struct json_at m;
    int rc = json_member(at, key, &m, e);
    return rc ? rc : json_as_double(&m, min, max, out, e);
}

int json_get_id(const struct json_at *at, const char *key, struct hw_id *out, struct err *e)
{
    struct json_at m;
    int rc = json_member(at, key, &m, e);
    return rc ? rc : json_as_id(&m, out, e);
}

int json_get_ip(const struct json_at *at, const char *key, struct ipaddr *out, struct err *e)
{
    struct json_at m;
    int rc = json_member(at, key, &m, e);
    return rc ? rc : json_as_ip(&m, out, e);
}

int json_get_prefix(const struct json_at *at, const char *key, struct prefix *out, struct err *e)
{
    struct json_at m;
    int rc = json_member(at, key, &m, e);
    return rc ? rc : json_as_prefix(&m, out, e);
}

int json_get_enum(const struct json_at *at, const char *key, const char *const *names,
                  unsigned *out, struct err *e)
{
    struct json_at m;
    int rc = json_member(at, key, &m, e);
    return rc ? rc : json_as_enum(&m, names, out, e);
}

int json_get_name(const struct json_at *at, const char *key, char out[HW_NAME_MAX + 1],
                  struct err *e)
{
    struct json_at m;
    int rc = json_member(at, key, &m, e);
    return rc ? rc : json_as_name(&m, out, e);
}

int json_get_text(const struct json_at *at, const char *key, char *out, size_t cap, struct err *e)
{
    struct json_at m;
    int rc = json_member(at, key, &m, e);
    return rc ? rc : json_as_text(&m, out, cap, e);
}
