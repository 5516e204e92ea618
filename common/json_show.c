#include "common/json_show.h"
#include <json-c/json.h>
#include <string.h>

enum json_kind json_kind(const struct json_at *at)
{
    switch (json_object_get_type(at->value)) {
    case json_type_boolean:
        return JSON_KIND_BOOL;
    case json_type_double:
    case json_type_int:
        return JSON_KIND_NUMBER;
    case json_type_string:
        return JSON_KIND_STRING;
    case json_type_array:
        return JSON_KIND_ARRAY;
    case json_type_object:
        return JSON_KIND_OBJECT;
    case json_type_null:
        break;
    }
    return JSON_KIND_NULL;
}

bool json_find(const struct json_at *at, const char *path, struct json_at *out)
{
    char key[64];
    struct json_object *v = at->value;
    while (*path) {
        size_t len = strcspn(path, ".");
        if (len >= sizeof key || !json_object_is_type(v, json_type_object))
            return false;
        memcpy(key, path, len);
        key[len] = '\0';
        if (!json_object_object_get_ex(v, key, &v))
            return false;
        path += len + (path[len] == '.');
    }
    *out = json_root(v);
    return true;
}

const char *json_plain(const struct json_at *at)
{
    if (json_object_is_type(at->value, json_type_string))
        return json_object_get_string(at->value);
    return json_object_to_json_string_ext(at->value,
                                          JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE);
}

const char *json_plain_at(const struct json_at *at, const char *path)
{
    struct json_at v;
    return json_find(at, path, &v) && json_kind(&v) != JSON_KIND_NULL ? json_plain(&v) : "";
}

double json_number(const struct json_at *at, double fallback)
{
    return json_kind(at) == JSON_KIND_NUMBER ? json_object_get_double(at->value) : fallback;
}

char *json_pretty(const struct json_at *at)
{
    const char *s = json_object_to_json_string_ext(at->value, JSON_C_TO_STRING_PRETTY |
                                                                  JSON_C_TO_STRING_SPACED |
                                                                  JSON_C_TO_STRING_NOSLASHESCAPE);
    return s ? strdup(s) : NULL;
}

int json_array_append(const struct json_at *into, const struct json_at *from, struct err *e)
{
    if (json_kind(into) != JSON_KIND_ARRAY || json_kind(from) != JSON_KIND_ARRAY)
        return err_set(e, HW_EINVAL, "must be an array");
    for (size_t i = 0; i < json_object_array_length(from->value); i++) {
        struct json_object *v = json_object_get(json_object_array_get_idx(from->value, i));
        if (json_object_array_add(into->value, v) != 0) {
            (void)json_object_put(v);
            return err_set(e, HW_ENOMEM, "out of memory");
        }
    }
    return HW_OK;
}
