/*
 * JSON from outside and to outside, over json-c.
 *
 * Reading: json_parse is strict; a cursor (struct json_at) then names one value and remembers the
 * way to it, so that every error carries the JSON path ("links[3].remote") in err.field. A cursor
 * borrows from its parents: keep them alive while it is used. Readers refuse the wrong type and
 * values out of range with HW_EINVAL.
 *
 *     static const char *const members[] = {"name", "mtu", NULL};
 *     struct json_at top = json_root(doc);
 *     if ((rc = json_members(&top, members, e)) || (rc = json_get_uint(&top, "mtu", 576, 65535,
 * &mtu, e)))
 *
 * Writing: struct json_writer builds members in the order of the calls and prints them without
 * white space, so that equal calls give equal bytes.
 */
#ifndef HAWSER_COMMON_JSON_H
#define HAWSER_COMMON_JSON_H

#include "common/err.h"
#include "common/id.h"
#include "common/ipaddr.h"
#include "common/limits.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct json_object; /* json-c's */

/* One JSON text of at most `max` bytes: RFC 8259, and beyond it: valid UTF-8, no NUL (raw or
 * escaped), no lone surrogate, depth ≤ HW_JSON_DEPTH_MAX, no member twice, integers within 64 bits,
 * nothing but white space around. HW_EINVAL with line and column in the text, HW_ETOOBIG,
 * HW_ENOMEM. Free *out with json_free. */
int json_parse(const char *text, size_t len, size_t max, struct json_object **out, struct err *e);
void json_free(struct json_object *doc);
/* For documents that hold a secret: wipes every string in it first. */
void json_free_secret(struct json_object *doc);

struct json_at {
    struct json_object *value;
    const struct json_at *up; /* NULL at the root */
    const char *key;          /* member of up, or NULL: element `index` of up */
    size_t index;
};

struct json_at json_root(struct json_object *doc);
/* Writes the path of `at` ("" for the root), cut short if it has no room. Returns out. */
char *json_path(const struct json_at *at, char out[ERR_FIELD_MAX]);
/* HW_EINVAL with the path of `at`: for rules that the readers below don't know. */
int json_refuse(const struct json_at *at, struct err *e, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* `at` is an object with none but these members (NULL-terminated list). */
int json_members(const struct json_at *at, const char *const *members, struct err *e);

enum json_presence { JSON_ABSENT, JSON_NULL, JSON_SET };
enum json_presence json_presence(const struct json_at *at, const char *key);
/* Present and not null. */
static inline bool json_has(const struct json_at *at, const char *key)
{
    return json_presence(at, key) == JSON_SET;
}

/* Calls fn for each member, in the order of the text, until it fails. */
typedef int (*json_member_fn)(void *arg, const struct json_at *member, struct err *e);
int json_each_member(const struct json_at *at, json_member_fn fn, void *arg, struct err *e);

/* Cursor to a member that must be there (null is there). */
int json_member(const struct json_at *at, const char *key, struct json_at *out, struct err *e);
int json_get_object(const struct json_at *at, const char *key, struct json_at *out, struct err *e);
/* An array of at most `max` elements. */
int json_get_array(const struct json_at *at, const char *key, size_t max, struct json_at *out,
                   size_t *n, struct err *e);
/* The same with zeroed memory for its elements, `size` bytes each: *(T **)room, to free; NULL for
 * an empty array. */
int json_get_room(const struct json_at *at, const char *key, size_t max, size_t size,
                  struct json_at *out, void *room, size_t *n, struct err *e);
/* Elements of an array; 0 for anything else. */
size_t json_length(const struct json_at *array);
/* The value as text, without white space, to free; NULL when out of memory. */
char *json_text(const struct json_at *at);
/* Beyond the end the value is null. */
struct json_at json_element(const struct json_at *array, size_t index);

/* Readers of the value that a cursor names. */
int json_as_str(const struct json_at *at, size_t max_len, const char **out,
                struct err *e); /* borrowed */
int json_as_uint(const struct json_at *at, uint64_t min, uint64_t max, uint64_t *out,
                 struct err *e);
int json_as_int(const struct json_at *at, int64_t min, int64_t max, int64_t *out, struct err *e);
int json_as_array(const struct json_at *at, size_t max, size_t *n, struct err *e);
int json_as_bool(const struct json_at *at, bool *out, struct err *e);
int json_as_double(const struct json_at *at, double min, double max, double *out, struct err *e);
int json_as_id(const struct json_at *at, struct hw_id *out, struct err *e);
int json_as_ip(const struct json_at *at, struct ipaddr *out, struct err *e);
int json_as_prefix(const struct json_at *at, struct prefix *out, struct err *e);
/* Index of the string in `names` (NULL-terminated). */
int json_as_enum(const struct json_at *at, const char *const *names, unsigned *out, struct err *e);
/* A name as in limits.h: 1–63 of [a-z0-9-], first and last a letter or digit. */
int json_as_name(const struct json_at *at, char out[HW_NAME_MAX + 1], struct err *e);
/* Copies a string of at most cap − 1 bytes. */
int json_as_text(const struct json_at *at, char *out, size_t cap, struct err *e);

/* The same for a member that must be there. */
int json_get_str(const struct json_at *at, const char *key, size_t max_len, const char **out,
                 struct err *e);
int json_get_uint(const struct json_at *at, const char *key, uint64_t min, uint64_t max,
                  uint64_t *out, struct err *e);
int json_get_u32(const struct json_at *at, const char *key, uint32_t min, uint32_t max,
                 uint32_t *out, struct err *e);
int json_get_u16(const struct json_at *at, const char *key, uint16_t min, uint16_t max,
                 uint16_t *out, struct err *e);
int json_get_int(const struct json_at *at, const char *key, int64_t min, int64_t max, int64_t *out,
                 struct err *e);
int json_get_bool(const struct json_at *at, const char *key, bool *out, struct err *e);
int json_get_double(const struct json_at *at, const char *key, double min, double max, double *out,
                    struct err *e);
int json_get_id(const struct json_at *at, const char *key, struct hw_id *out, struct err *e);
int json_get_ip(const struct json_at *at, const char *key, struct ipaddr *out, struct err *e);
int json_get_prefix(const struct json_at *at, const char *key, struct prefix *out, struct err *e);
int json_get_enum(const struct json_at *at, const char *key, const char *const *names,
                  unsigned *out, struct err *e);
int json_get_name(const struct json_at *at, const char *key, char out[HW_NAME_MAX + 1],
                  struct err *e);
int json_get_text(const struct json_at *at, const char *key, char *out, size_t cap, struct err *e);

/* True for 1–63 of [a-z0-9-] with a letter or digit at both ends. */
bool json_name_ok(const char *s);

#define JSON_WRITER_DEPTH 16

/* After a failed allocation, or calls that don't fit together, every further call does nothing and
 * json_finish returns NULL. `key` is NULL inside arrays. Text must be UTF-8. */
struct json_writer {
    struct json_object *open[JSON_WRITER_DEPTH]; /* open[0] is the root */
    unsigned depth;
    bool failed;
    bool secret; /* set it for a text that holds a secret: json_finish then wipes its own copies */
};

void json_writer_init(struct json_writer *w); /* an open root object */
void json_writer_done(struct json_writer *w); /* gives up; json_finish does it too */
/* Prints the root and frees it. Free the text; *len (may be NULL) without the NUL. */
char *json_finish(struct json_writer *w, size_t *len);

void json_open_object(struct json_writer *w, const char *key);
void json_open_array(struct json_writer *w, const char *key);
void json_close(struct json_writer *w);
/* NULL: null. What is no UTF-8 (bytes from outside, a character cut off) becomes U+FFFD. */
void json_put_str(struct json_writer *w, const char *key, const char *s);
void json_put_strn(struct json_writer *w, const char *key, const char *s, size_t len);
void json_put_uint(struct json_writer *w, const char *key, uint64_t v);
void json_put_int(struct json_writer *w, const char *key, int64_t v);
void json_put_bool(struct json_writer *w, const char *key, bool v);
/* Shortest text that reads back as v; not finite: null. */
void json_put_double(struct json_writer *w, const char *key, double v);
void json_put_null(struct json_writer *w, const char *key);
void json_put_id(struct json_writer *w, const char *key, const struct hw_id *id);
void json_put_ip(struct json_writer *w, const char *key,
                 const struct ipaddr *a); /* family 0: null */
void json_put_prefix(struct json_writer *w, const char *key, const struct prefix *p);
/* Takes `json`, the text of one whole value in the writer's own form, and prints it as it is; NULL
 * is a failed allocation. */
void json_put_raw(struct json_writer *w, const char *key, char *json);
/* Takes over one reference to a value made elsewhere. */
void json_put_value(struct json_writer *w, const char *key, struct json_object *v);

#endif
