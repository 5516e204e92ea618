/*
 * JSON values for programs that print what they were told without knowing its schema: kind of a
 * value, its plain text, the whole as a document, arrays joined.
 */
#ifndef HAWSER_COMMON_JSON_SHOW_H
#define HAWSER_COMMON_JSON_SHOW_H

#include "common/json.h"

enum json_kind {
    JSON_KIND_NULL,
    JSON_KIND_BOOL,
    JSON_KIND_NUMBER,
    JSON_KIND_STRING,
    JSON_KIND_ARRAY,
    JSON_KIND_OBJECT,
};
enum json_kind json_kind(const struct json_at *at);

/* Value behind members joined by dots ("status.state"). False when one of them is missing; the
 * cursor knows nothing of the way to it. */
bool json_find(const struct json_at *at, const char *path, struct json_at *out);

/* A string as it is, any other value as JSON without white space. Borrowed until the next call for
 * the same value. */
const char *json_plain(const struct json_at *at);
/* The same of what stands behind `path`; "" where nothing does, or null. */
const char *json_plain_at(const struct json_at *at, const char *path);
/* A number, or `fallback` for anything else. */
double json_number(const struct json_at *at, double fallback);

/* The value over several lines, indented by two. Free it; NULL: no memory. */
char *json_pretty(const struct json_at *at);

/* Appends the elements of one array to another; both keep what they have. HW_EINVAL unless both are
 * arrays. */
int json_array_append(const struct json_at *into, const struct json_at *from, struct err *e);

#endif
