#include "controller/cli/detail.h"
#include "controller/cli/cell.h"
#include "controller/cli/names.h"
#include "controller/cli/nouns.h"
#include "controller/cli/visible.h"
#include <string.h>

#define KEY_WIDTH 18

struct place {
    struct cli *c;
    unsigned depth;
};

static bool ends_with(const char *s, const char *end)
{
    size_t n = strlen(s), m = strlen(end);
    return n >= m && strcmp(s + n - m, end) == 0;
}

static void put_time(struct cli *c, const struct json_at *v)
{
    int64_t age = cell_age(v);
    visible_text(&c->out, json_plain(v));
    if (age == INT64_MIN)
        return;
    strbuf_puts(&c->out, age < 0 ? " (in " : " (");
    cell_span(&c->out, age < 0 ? -age : age);
    strbuf_puts(&c->out, age < 0 ? ")" : " ago)");
}

static void put_number(struct cli *c, const char *key, const struct json_at *v)
{
    double d = json_number(v, 0);
    if (ends_with(key, "_bps"))
        cell_scaled(&c->out, d, "bit/s");
    else if (ends_with(key, "_bytes"))
        cell_bytes(&c->out, d);
    else if (ends_with(key, "_ratio"))
        strbuf_printf(&c->out, "%.4g %%", d * 100);
    else
        visible_text(&c->out, json_plain(v));
}

/* A value that is no object and no array. */
static void put_scalar(struct cli *c, const char *key, const struct json_at *v)
{
    const struct noun *ref;
    switch (json_kind(v)) {
    case JSON_KIND_NULL:
        strbuf_puts(&c->out, ends_with(key, "_at") ? "never" : "-");
        return;
    case JSON_KIND_BOOL:
        strbuf_puts(&c->out, strcmp(json_plain(v), "true") == 0 ? "yes" : "no");
        return;
    case JSON_KIND_NUMBER:
        put_number(c, key, v);
        return;
    default:
        break;
    }
    ref = nouns_of_member(key);
    const char *name = ref && !ref->parent ? names_of(c, ref, json_plain(v)) : NULL;
    if (ends_with(key, "_at") || ends_with(key, "_after"))
        put_time(c, v);
    else if (name && strcmp(name, json_plain(v)) != 0) {
        visible_text(&c->out, name);
        strbuf_puts(&c->out, " (");
        visible_text(&c->out, json_plain(v));
        strbuf_puts(&c->out, ")");
    } else
        visible_text(&c->out, json_plain(v)[0] ? json_plain(v) : "-");
}

static bool is_container(const struct json_at *v)
{
    return json_kind(v) == JSON_KIND_OBJECT || json_kind(v) == JSON_KIND_ARRAY;
}

struct inline_put {
    struct cli *c;
    bool more;
};

/* An object within an array: its members on one line. */
static int put_inline(void *arg, const struct json_at *member, struct err *e)
{
    struct inline_put *p = arg;
    strbuf_puts(&p->c->out, p->more ? ", " : "");
    p->more = true;
    visible_text(&p->c->out, member->key);
    strbuf_puts(&p->c->out, " ");
    if (json_kind(member) == JSON_KIND_OBJECT) {
        struct inline_put inner = {p->c, false};
        strbuf_puts(&p->c->out, "{");
        (void)json_each_member(member, put_inline, &inner, e);
        strbuf_puts(&p->c->out, "}");
    } else if (json_kind(member) == JSON_KIND_ARRAY) {
        visible_text(&p->c->out, json_plain(member));
    } else {
        put_scalar(p->c, member->key, member);
    }
    return HW_OK;
}

/* An array with something other than scalars in it. */
static bool holds_containers(const struct json_at *v)
{
    for (size_t i = 0; i < json_length(v); i++) {
        struct json_at item = json_element(v, i);
        if (is_container(&item))
            return true;
    }
    return false;
}

static void put_flat(struct cli *c, const char *key, const struct json_at *v)
{
    if (json_length(v) == 0)
        strbuf_puts(&c->out, "-");
    for (size_t i = 0; i < json_length(v); i++) {
        struct json_at item = json_element(v, i);
        strbuf_puts(&c->out, i ? ", " : "");
        put_scalar(c, key, &item);
    }
}

static void put_lines(const struct place *p, const struct json_at *v)
{
    for (size_t i = 0; i < json_length(v); i++) {
        struct json_at item = json_element(v, i);
        struct inline_put line = {p->c, false};
        strbuf_printf(&p->c->out, "\n%*s- ", (int)p->depth * 2 + 2, "");
        if (json_kind(&item) == JSON_KIND_OBJECT)
            (void)json_each_member(&item, put_inline, &line, NULL);
        else
            visible_text(&p->c->out, json_plain(&item));
    }
}

static int put_member(void *arg, const struct json_at *member, struct err *e)
{
    const struct place *p = arg;
    struct strbuf *out = &p->c->out;
    size_t before = out->len;
    strbuf_printf(out, "%*s", (int)p->depth * 2, "");
    visible_text(out, member->key);
    strbuf_puts(out, ":");
    if (json_kind(member) == JSON_KIND_OBJECT) {
        struct place inner = {p->c, p->depth + 1};
        strbuf_puts(out, "\n");
        return json_each_member(member, put_member, &inner, e);
    }
    size_t used = out->len - before;
    if (holds_containers(member)) {
        put_lines(p, member);
    } else {
        strbuf_printf(out, "%*s", used < KEY_WIDTH ? (int)(KEY_WIDTH - used) : 1, "");
        if (json_kind(member) == JSON_KIND_ARRAY)
            put_flat(p->c, member->key, member);
        else
            put_scalar(p->c, member->key, member);
    }
    strbuf_puts(out, "\n");
    return HW_OK;
}

int detail_print(struct cli *c, const struct json_at *object)
{
    struct place top = {c, 0};
    struct err e = {0};
    if (json_each_member(object, put_member, &top, &e))
        return cli_fail(c, CLI_FAILED, "the answer is no object: %s", e.text);
    return c->out.failed ? cli_no_memory(c) : CLI_OK;
}
