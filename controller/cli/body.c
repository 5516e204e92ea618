#include "controller/cli/body.h"
#include "common/clock.h"
#include "common/ipaddr.h"
#include "controller/cli/api.h"
#include "controller/cli/names.h"
#include "controller/cli/options.h"
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LIST_ITEM_MAX 256

static int wrong(struct cli *c, const struct flag *f, const char *value, const char *why)
{
    return cli_fail(c, CLI_USAGE, "--%s %s: %s", f->name, value, why);
}

bool body_duration(const char *text, uint64_t *out)
{
    static const char units[] = "smhd";
    static const uint64_t seconds[] = {1, 60, 3600, 86400};
    char *end;
    errno = 0;
    unsigned long long n = strtoull(text, &end, 10);
    const char *unit = *end ? strchr(units, *end) : units;
    if (!isdigit((unsigned char)text[0]) || errno || !unit || (*end && end[1]) || n > 1000000000)
        return false;
    *out = n * seconds[unit - units];
    return true;
}

static int put_word(struct cli *c, struct json_writer *w, const struct flag *f, const char *key,
                    const char *value)
{
    struct strbuf all = STRBUF_INIT;
    for (const char *const *word = f->words; *word; word++) {
        if (strcmp(*word, value) == 0) {
            strbuf_done(&all);
            json_put_str(w, key, value);
            return CLI_OK;
        }
        strbuf_printf(&all, "%s%s", all.len ? ", " : "must be one of ", *word);
    }
    int rc = wrong(c, f, value, strbuf_str(&all));
    strbuf_done(&all);
    return rc;
}

static int put_number(struct cli *c, struct json_writer *w, const struct flag *f, const char *key,
                      const char *value)
{
    char *end;
    errno = 0;
    if (f->type == FLAG_NUMBER) {
        double d = strtod(value, &end);
        if (end == value || *end || errno)
            return wrong(c, f, value, "is no number");
        json_put_double(w, key, d);
        return CLI_OK;
    }
    unsigned long long n = strtoull(value, &end, 10);
    if (!isdigit((unsigned char)value[0]) || *end || errno)
        return wrong(c, f, value, "is no whole number");
    json_put_uint(w, key, n);
    return CLI_OK;
}

static int put_time(struct cli *c, struct json_writer *w, const struct flag *f, const char *key,
                    const char *value)
{
    char text[CLOCK_TEXT_MAX];
    uint64_t seconds;
    if (f->type == FLAG_DURATION) {
        if (!body_duration(value, &seconds))
            return wrong(c, f, value, "is no duration, such as 90, 30m, 24h or 7d");
        json_put_uint(w, key, seconds);
        return CLI_OK;
    }
    if (body_duration(value, &seconds))
        value = clock_text(clock_wall_s() + (int64_t)seconds, text);
    json_put_str(w, key, value);
    return CLI_OK;
}

/* Calls `put` for each part between commas. */
static int each_item(struct cli *c, struct json_writer *w, const struct flag *f, const char *value,
                     int (*put)(struct cli *c, struct json_writer *w, const struct flag *f,
                                const char *item))
{
    int rc = CLI_OK;
    while (*value && !rc) {
        char item[LIST_ITEM_MAX];
        size_t len = strcspn(value, ",");
        if (len >= sizeof item)
            return wrong(c, f, value, "is too long");
        memcpy(item, value, len);
        item[len] = '\0';
        if (len > 0)
            rc = put(c, w, f, item);
        value += len + (value[len] == ',');
    }
    return rc;
}

static int put_item(struct cli *c, struct json_writer *w, const struct flag *f, const char *item)
{
    (void)c;
    (void)f;
    json_put_str(w, NULL, item);
    return CLI_OK;
}

static int put_object(struct cli *c, struct json_writer *w, const struct flag *f, const char *item)
{
    char id[ID_TEXT_MAX];
    int rc = names_resolve(c, f->ref, NULL, item, id);
    if (!rc)
        json_put_str(w, NULL, id);
    return rc;
}

/* Addresses that nobody routes on the internet: RFC 1918, 6598, 4193. */
static bool is_private(const struct ipaddr *a)
{
    static const char *const pools[] = {"10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16",
                                        "100.64.0.0/10", "fc00::/7"};
    struct prefix p;
    for (size_t i = 0; i < sizeof pools / sizeof *pools; i++)
        if (prefix_parse(pools[i], &p, NULL) == HW_OK && prefix_contains(&p, a))
            return true;
    return false;
}

static int put_endpoint(struct cli *c, struct json_writer *w, const struct flag *f,
                        const char *item)
{
    char address[LIST_ITEM_MAX];
    struct ipaddr a;
    size_t len = strcspn(item, "/");
    memcpy(address, item, len);
    address[len] = '\0';
    if (ipaddr_parse(address, &a) != HW_OK)
        return wrong(c, f, item, "is no address");
    bool inside = is_private(&a), reachable = true;
    for (const char *p = item + len; *p;) {
        size_t n = strcspn(p + 1, "/");
        if (n == 7 && memcmp(p + 1, "private", n) == 0)
            inside = true;
        else if (n == 6 && memcmp(p + 1, "public", n) == 0)
            inside = false;
        else if (n == 11 && memcmp(p + 1, "unreachable", n) == 0)
            reachable = false;
        else
            return wrong(c, f, item, "must be ADDRESS[/private|/public][/unreachable]");
        p += n + 1;
    }
    json_open_object(w, NULL);
    json_put_str(w, "address", address);
    json_put_uint(w, "family", a.family);
    json_put_str(w, "scope", inside ? "private" : "public");
    json_put_bool(w, "reachable", reachable);
    json_close(w);
    return CLI_OK;
}

static int put_ref(struct cli *c, struct json_writer *w, const struct flag *f, const char *key,
                   const char *value)
{
    char id[ID_TEXT_MAX];
    int rc = names_resolve(c, f->ref, NULL, value, id);
    if (!rc)
        json_put_str(w, key, id);
    return rc;
}

int body_put(struct cli *c, struct json_writer *w, const struct flag *f, const char *key,
             const char *value)
{
    int rc = CLI_OK;
    if (strcmp(value, "null") == 0) {
        json_put_null(w, key);
        return CLI_OK;
    }
    switch (f->type) {
    case FLAG_WORD:
        return put_word(c, w, f, key, value);
    case FLAG_UINT:
    case FLAG_NUMBER:
        return put_number(c, w, f, key, value);
    case FLAG_BOOL:
        json_put_bool(w, key, strcmp(value, "true") == 0);
        return strcmp(value, "true") == 0 || strcmp(value, "false") == 0
                   ? CLI_OK
                   : wrong(c, f, value, "must be true or false");
    case FLAG_LIST:
    case FLAG_REFS:
    case FLAG_ENDPOINTS:
        json_open_array(w, key);
        rc = each_item(c, w, f, value,
                       f->type == FLAG_LIST   ? put_item
                       : f->type == FLAG_REFS ? put_object
                                              : put_endpoint);
        json_close(w);
        return rc;
    case FLAG_REF:
        return put_ref(c, w, f, key, value);
    case FLAG_TIME:
    case FLAG_DURATION:
        return put_time(c, w, f, key, value);
    case FLAG_TEXT:
    case FLAG_SINCE:
    case FLAG_FILE:
    case FLAG_ETAG:
    case FLAG_SWITCH:
        break;
    }
    json_put_str(w, key, value);
    return CLI_OK;
}

/* Members as their rows come: objects and arrays that are open now, as the start of a member. */
struct nest {
    struct json_writer *w;
    const char *member;
    size_t len; /* "rules[].source" of "rules[].source.prefixes"; 0: none */
};

static bool is_array(const char *name, size_t len)
{
    return len > 2 && name[len - 1] == ']';
}

static void close_last(struct nest *n)
{
    size_t from = n->len;
    while (from > 0 && n->member[from - 1] != '.')
        from--;
    json_close(n->w);
    if (is_array(n->member + from, n->len - from))
        json_close(n->w);
    n->len = from > 0 ? from - 1 : 0;
}

static void open_next(struct nest *n, const char *member)
{
    char key[64];
    size_t from = n->len > 0 ? n->len + 1 : 0, len = strcspn(member + from, ".");
    bool array = is_array(member + from, len);
    (void)snprintf(key, sizeof key, "%.*s", (int)(array ? len - 2 : len), member + from);
    if (array)
        json_open_array(n->w, key);
    json_open_object(n->w, array ? NULL : key);
    n->member = member;
    n->len = from + len;
}

/* Whether all that is open is on the way to `member`. */
static bool is_within(const struct nest *n, const char *member)
{
    return n->len == 0 || (strncmp(member, n->member, n->len) == 0 && member[n->len] == '.');
}

/* Opens and closes until the member's own name is next; returns that name. */
static const char *go_to(struct nest *n, const char *member)
{
    const char *dot = strrchr(member, '.');
    while (!is_within(n, member))
        close_last(n);
    while (dot && n->len < (size_t)(dot - member))
        open_next(n, member);
    return dot ? dot + 1 : member;
}

/* The verb's rows in their order: members of one object stand beside each other there. */
int body_put_flags(struct cli *c, struct json_writer *w, const struct args *a,
                   const struct flag *flags)
{
    struct nest nest = {.w = w};
    int rc = CLI_OK;
    for (const struct flag *f = flags; !rc && f && f->name; f++) {
        const char *value = args_value(a, f->name);
        if (f->member && value)
            rc = body_put(c, w, f, go_to(&nest, f->member), value);
    }
    while (nest.len > 0)
        close_last(&nest);
    return rc;
}

static int read_file(struct cli *c, const char *path, char **out)
{
    struct json_object *doc;
    struct err e = {0};
    size_t len;
    int rc = options_read(c, path, HW_REQUEST_BODY_MAX, out, &len);
    if (rc)
        return rc;
    if (json_parse(*out, len, HW_REQUEST_BODY_MAX, &doc, &e)) {
        free(*out);
        *out = NULL;
        return cli_fail(c, CLI_USAGE, "%s: %s", strcmp(path, "-") ? path : "standard input",
                        e.text);
    }
    json_free(doc);
    return CLI_OK;
}

int body_make(struct cli *c, const struct args *a, const struct flag *flags, char **out)
{
    struct json_writer w;
    *out = NULL;
    const char *file = args_value(a, "file");
    if (file)
        return read_file(c, file, out);
    if (!args_has_members(a))
        return CLI_OK;
    json_writer_init(&w);
    int rc = body_put_flags(c, &w, a, flags);
    if (rc) {
        json_writer_done(&w);
        return rc;
    }
    *out = json_finish(&w, NULL);
    return *out ? CLI_OK : cli_no_memory(c);
}

int body_query(struct cli *c, const struct args *a, struct strbuf *path)
{
    for (size_t i = 0; i < a->n_flags; i++) {
        const struct flag *f = a->flags[i].flag;
        char id[ID_TEXT_MAX], since[CLOCK_TEXT_MAX];
        const char *value = a->flags[i].value;
        uint64_t seconds;
        if (!f->member)
            continue;
        if (f->type == FLAG_REF) {
            int rc = names_resolve(c, f->ref, NULL, value, id);
            if (rc)
                return rc;
            value = id;
        }
        if (f->type == FLAG_SINCE && body_duration(value, &seconds))
            value = clock_text(clock_wall_s() - (int64_t)seconds, since);
        api_query(path, f->member, value);
    }
    return CLI_OK;
}
