#include "controller/cli/cell.h"
#include "common/clock.h"
#include "controller/cli/names.h"
#include "controller/cli/nouns.h"
#include "controller/cli/visible.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define LIST_SHOWN 3

void cell_span(struct strbuf *out, int64_t seconds)
{
    static const struct {
        int64_t from, unit;
        const char *name;
    } units[] = {{2 * 86400, 86400, "d"}, {2 * 3600, 3600, "h"}, {120, 60, "min"}, {0, 1, "s"}};
    size_t i = 0;
    if (seconds < 0)
        seconds = 0;
    while (seconds < units[i].from)
        i++;
    strbuf_printf(out, "%" PRId64 " %s", seconds / units[i].unit, units[i].name);
}

/* Three significant digits and a prefix, by steps of `base`. */
static void scaled(struct strbuf *out, double v, double base, const char *const *prefixes, size_t n,
                   const char *unit)
{
    size_t i = 0;
    while (i + 1 < n && fabs(v) >= base * 0.9995) {
        v /= base;
        i++;
    }
    int decimals = i == 0 || fabs(v) >= 99.95 ? 0 : fabs(v) >= 9.995 ? 1 : 2;
    strbuf_printf(out, "%.*f %s%s", decimals, v, prefixes[i], unit);
}

void cell_scaled(struct strbuf *out, double v, const char *unit)
{
    static const char *const prefixes[] = {"", "k", "M", "G", "T", "P"};
    scaled(out, v, 1000, prefixes, 6, unit);
}

void cell_bytes(struct strbuf *out, double v)
{
    static const char *const prefixes[] = {"", "Ki", "Mi", "Gi", "Ti", "Pi"};
    scaled(out, v, 1024, prefixes, 6, "B");
}

int64_t cell_age(const struct json_at *time)
{
    int64_t at;
    if (json_kind(time) != JSON_KIND_STRING || clock_parse(json_plain(time), &at) != HW_OK)
        return INT64_MIN;
    return clock_wall_s() - at;
}

/* The controller's own `age_seconds` beside the time counts before this machine's clock. */
static void add_age(const struct column *col, const struct json_at *item, const struct json_at *v,
                    struct strbuf *out)
{
    char path[128];
    struct json_at age;
    const char *dot = strrchr(col->path, '.');
    int len = dot ? (int)(dot - col->path) + 1 : 0;
    int64_t seconds = cell_age(v);
    (void)snprintf(path, sizeof path, "%.*sage_seconds", len, col->path);
    if (json_find(item, path, &age) && json_kind(&age) == JSON_KIND_NUMBER)
        seconds = (int64_t)json_number(&age, 0);
    if (seconds == INT64_MIN) {
        strbuf_puts(out, "never");
        return;
    }
    cell_span(out, seconds);
    strbuf_puts(out, " ago");
}

static void add_left(const struct json_at *v, struct strbuf *out)
{
    int64_t seconds = cell_age(v);
    if (seconds == INT64_MIN) {
        strbuf_puts(out, "never");
        return;
    }
    strbuf_puts(out, seconds < 0 ? "in " : "");
    cell_span(out, seconds < 0 ? -seconds : seconds);
    strbuf_puts(out, seconds < 0 ? "" : " ago");
}

static void add_list(const struct cli *c, const struct json_at *v, struct strbuf *out)
{
    size_t n = json_length(v), shown = c->output == CLI_WIDE || n <= LIST_SHOWN ? n : LIST_SHOWN;
    for (size_t i = 0; i < shown; i++) {
        struct json_at item = json_element(v, i);
        strbuf_puts(out, i ? "," : "");
        visible_text(out, json_plain(&item));
    }
    if (shown < n)
        strbuf_printf(out, ",+%zu", n - shown);
    if (n == 0)
        strbuf_puts(out, "-");
}

static void add_tally(const struct column *col, const struct json_at *v, struct strbuf *out)
{
    size_t n = json_length(v), before = out->len;
    for (size_t i = 0; i < n; i++) {
        struct json_at item = json_element(v, i);
        const char *word = json_plain_at(&item, col->second);
        size_t same = 0;
        bool counted = false;
        for (size_t k = 0; k < n; k++) {
            struct json_at other = json_element(v, k);
            bool equal = strcmp(json_plain_at(&other, col->second), word) == 0;
            counted = counted || (equal && k < i);
            same += equal;
        }
        if (counted)
            continue;
        strbuf_printf(out, "%s%zu ", out->len > before ? ", " : "", same);
        visible_text(out, word);
    }
    if (n == 0)
        strbuf_puts(out, "-");
}

/* Groups by their own name: all are of the rule's site. */
static void add_side(struct cli *c, const struct column *col, const struct json_at *v,
                     struct strbuf *out)
{
    struct json_at prefixes = json_root(NULL), groups = json_root(NULL);
    (void)json_find(v, "prefixes", &prefixes);
    (void)json_find(v, "group_ids", &groups);
    size_t n = json_length(&prefixes), all = n + json_length(&groups);
    size_t shown = c->output == CLI_WIDE || all <= LIST_SHOWN ? all : LIST_SHOWN;
    for (size_t i = 0; i < shown; i++) {
        struct json_at item = i < n ? json_element(&prefixes, i) : json_element(&groups, i - n);
        const char *text = json_plain(&item);
        if (i >= n) {
            text = names_of(c, col->ref, text);
            text = strchr(text, '/') ? strchr(text, '/') + 1 : text;
        }
        strbuf_puts(out, i ? "," : "");
        visible_text(out, text);
    }
    if (shown < all)
        strbuf_printf(out, ",+%zu", all - shown);
    if (all == 0)
        strbuf_puts(out, "any");
}

static void add_permission(const struct json_at *v, struct strbuf *out)
{
    struct json_at ends;
    const char *suite = json_plain_at(v, "suite");
    int64_t age = json_find(v, "ends_at", &ends) ? cell_age(&ends) : INT64_MIN;
    if (strcmp(suite, "none") == 0)
        strbuf_puts(out, "PLAINTEXT");
    else {
        strbuf_puts(out, "NOT SECRET ");
        visible_text(out, suite);
    }
    if (age == INT64_MIN)
        return;
    strbuf_puts(out, " for ");
    cell_span(out, -age);
}

static void add_actor(const struct json_at *v, struct strbuf *out)
{
    const char *name = json_plain_at(v, "name");
    visible_text(out, name[0] ? name : json_plain_at(v, "kind"));
}

/* The name that the object has, or had: what is gone stands in the record alone. */
static void add_object(struct cli *c, const struct json_at *item, const struct json_at *v,
                       struct strbuf *out)
{
    const struct noun *n = nouns_of_type(json_plain_at(v, "type"));
    const char *id = json_plain_at(v, "id"), *name = json_plain_at(item, "after.name");
    name = name[0] ? name : json_plain_at(item, "before.name");
    name = name[0] || !n || n->parent || !id[0] ? name : names_of(c, n, id);
    visible_text(out, n ? n->name : json_plain_at(v, "type"));
    if (name[0] || id[0])
        strbuf_puts(out, " ");
    visible_text(out, name[0] ? name : id);
}

static void add_number(enum cell_kind kind, double v, struct strbuf *out)
{
    if (kind == CELL_RATE)
        cell_scaled(out, v, "bit/s");
    else if (kind == CELL_BYTES)
        cell_bytes(out, v);
    else if (kind == CELL_RATIO)
        strbuf_printf(out, v > 0 && v < 0.0995 ? "%.1f %%" : "%.0f %%", v * 100);
    else
        strbuf_printf(out, v < 10 ? "%.2f ms" : "%.0f ms", v);
}

static void add_of(const struct column *col, const struct json_at *item, const struct json_at *v,
                   struct strbuf *out)
{
    struct json_at second;
    visible_text(out, json_plain(v));
    if (json_find(item, col->second, &second)) {
        strbuf_puts(out, " of ");
        visible_text(out, json_plain(&second));
    }
}

void cell_text(struct cli *c, const struct column *col, const struct json_at *item,
               struct strbuf *out)
{
    struct json_at v;
    bool there = json_find(item, col->path, &v);
    enum json_kind kind = there ? json_kind(&v) : JSON_KIND_NULL;
    if (kind == JSON_KIND_NULL && col->kind != CELL_AGE && col->kind != CELL_LEFT) {
        strbuf_puts(out, "-");
        return;
    }
    switch (col->kind) {
    case CELL_REF:
        visible_text(out, names_of(c, col->ref, json_plain(&v)));
        return;
    case CELL_LIST:
        add_list(c, &v, out);
        return;
    case CELL_BOOL:
        strbuf_puts(out, strcmp(json_plain(&v), "true") == 0 ? "yes" : "no");
        return;
    case CELL_AGE:
        add_age(col, item, &v, out);
        return;
    case CELL_LEFT:
        add_left(&v, out);
        return;
    case CELL_RATE:
    case CELL_BYTES:
    case CELL_RATIO:
    case CELL_MS:
        add_number(col->kind, json_number(&v, 0), out);
        return;
    case CELL_OF:
        add_of(col, item, &v, out);
        return;
    case CELL_COUNT:
        strbuf_printf(out, "%zu", json_length(&v));
        return;
    case CELL_TALLY:
        add_tally(col, &v, out);
        return;
    case CELL_SIDE:
        add_side(c, col, &v, out);
        return;
    case CELL_PERMISSION:
        add_permission(&v, out);
        return;
    case CELL_ACTOR:
        add_actor(&v, out);
        return;
    case CELL_OBJECT:
        add_object(c, item, &v, out);
        return;
    case CELL_TEXT:
    case CELL_STATE:
        break;
    }
    visible_text(out, json_plain(&v)[0] ? json_plain(&v) : "-");
}

enum cell_colour cell_colour(const struct column *col, const char *text)
{
    static const struct {
        const char *word;
        enum cell_colour colour;
    } words[] = {
        {"expiring", COLOUR_WARN}, {"valid", COLOUR_GOOD},     {"up", COLOUR_GOOD},
        {"applied", COLOUR_GOOD},  {"succeeded", COLOUR_GOOD}, {"degraded", COLOUR_WARN},
        {"pending", COLOUR_WARN},  {"queued", COLOUR_WARN},    {"running", COLOUR_WARN},
        {"down", COLOUR_BAD},      {"failed", COLOUR_BAD},     {"refused", COLOUR_BAD},
        {"revoked", COLOUR_BAD},   {"expired", COLOUR_BAD},    {"unknown", COLOUR_DIM},
        {"disabled", COLOUR_DIM},  {"cancelled", COLOUR_DIM},
    };
    /* The worst of several. */
    if (col->kind == CELL_TALLY)
        return strstr(text, "failed")                               ? COLOUR_BAD
               : strstr(text, "pending") || strstr(text, "unknown") ? COLOUR_WARN
                                                                    : COLOUR_NONE;
    if (col->kind == CELL_PERMISSION)
        return strcmp(text, "-") == 0 ? COLOUR_NONE : COLOUR_BAD;
    for (size_t i = 0; col->kind == CELL_STATE && i < sizeof words / sizeof *words; i++)
        if (strcmp(words[i].word, text) == 0)
            return words[i].colour;
    return COLOUR_NONE;
}

const char *cell_begin(const struct cli *c, enum cell_colour colour)
{
    static const char *const codes[] = {"", "\x1b[32m", "\x1b[33m", "\x1b[31m", "\x1b[2m"};
    return c->colour ? codes[colour] : "";
}

const char *cell_end(const struct cli *c, enum cell_colour colour)
{
    return c->colour && colour != COLOUR_NONE ? "\x1b[0m" : "";
}
