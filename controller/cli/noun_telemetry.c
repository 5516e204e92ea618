#include "common/clock.h"
#include "controller/cli/api.h"
#include "controller/cli/args.h"
#include "controller/cli/body.h"
#include "controller/cli/cell.h"
#include "controller/cli/names.h"
#include "controller/cli/nouns.h"
#include "controller/cli/table.h"
#include "controller/cli/visible.h"
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OBJECT_MAX 256

static const char *const steps[] = {"auto", "raw", "1m", "15m", "1h", NULL};

static const struct flag flags[] = {
    FLAG("object", "object", LIST,
         "gateway/NAME, link/A/B, tunnel/A/B/NUMBER, worker/GATEWAY/NUMBER"),
    FLAG("metric", "metric", LIST, "goodput_tx_bps, rtt_ms, …; docs/protocols.md has all"),
    FLAG("range", "range", TEXT, "up to now, such as 15m or 7d; 1h when absent"),
    FLAG("from", "from", TEXT, "begin instead of a range, RFC 3339"),
    FLAG("to", "to", TEXT, "end; now when absent"),
    FLAG_WORDS("step", "step", steps, "length of a period"),
    FLAG_OBJECT("observer", "observer_id", &noun_gateway, "of links and tunnels, whose reports"),
    FLAGS_END,
};

static const struct column columns[] = {
    COLUMN("TIME", "time", TEXT),       COLUMN("OBJECT", "object", TEXT),
    COLUMN("METRIC", "metric", TEXT),   COLUMN("AVERAGE", "avg", TEXT),
    COLUMN("LEAST", "min", TEXT),       COLUMN("MOST", "max", TEXT),
    WIDE("OBSERVER", "observer", TEXT), COLUMNS_END,
};

/* ---- what is asked for ---- */

static bool is_number(const char *s)
{
    return *s && s[strspn(s, "0123456789")] == '\0';
}

/* "link/gw-a/gw-b" with the name's id in its place. */
static int add_object(struct cli *c, const char *text, struct strbuf *out)
{
    char name[OBJECT_MAX], id[ID_TEXT_MAX];
    const char *slash = strchr(text, '/');
    bool numbered = strncmp(text, "tunnel/", 7) == 0 || strncmp(text, "worker/", 7) == 0;
    bool link = strncmp(text, "link/", 5) == 0 || strncmp(text, "tunnel/", 7) == 0;
    if (!slash || (!link && !numbered && strncmp(text, "gateway/", 8) != 0)) {
        cli_hint(c, "gateway/NAME, link/A/B, tunnel/A/B/NUMBER or worker/GATEWAY/NUMBER");
        return cli_fail(c, CLI_USAGE, "--object %s names no object", text);
    }
    (void)snprintf(name, sizeof name, "%s", slash + 1);
    char *number = numbered ? strrchr(name, '/') : NULL;
    if (numbered && (!number || !is_number(number + 1)))
        return cli_fail(c, CLI_USAGE, "--object %s: which number?", text);
    if (number)
        *number++ = '\0';
    int rc = names_resolve(c, link ? &noun_link : &noun_gateway, NULL, name, id);
    if (rc)
        return rc;
    strbuf_printf(out, "%s%.*s%s", out->len ? "," : "", (int)(slash - text + 1), text, id);
    if (number)
        strbuf_printf(out, "/%s", number);
    return CLI_OK;
}

static int add_objects(struct cli *c, const char *list, struct strbuf *path)
{
    struct strbuf objects = STRBUF_INIT;
    int rc = CLI_OK;
    while (!rc && *list) {
        char one[OBJECT_MAX];
        size_t len = strcspn(list, ",");
        if (len >= sizeof one)
            rc = cli_fail(c, CLI_USAGE, "--object %s is too long", list);
        (void)snprintf(one, sizeof one, "%.*s", (int)len, list);
        rc = rc ? rc : add_object(c, one, &objects);
        list += len + (list[len] == ',');
    }
    if (!rc)
        api_query(path, "object", strbuf_str(&objects));
    strbuf_done(&objects);
    return rc;
}

/* ---- the answer as rows ---- */

static void put_value(struct json_writer *w, const char *key, const struct json_at *series,
                      size_t i, const char *unit)
{
    struct json_at all, v = json_root(NULL);
    struct strbuf text = STRBUF_INIT;
    if (json_find(series, key, &all))
        v = json_element(&all, i);
    double d = json_number(&v, 0);
    if (json_kind(&v) != JSON_KIND_NUMBER)
        json_put_null(w, key);
    else if (strcmp(unit, "bit/s") == 0 || strcmp(unit, "packets/s") == 0)
        cell_scaled(&text, d, unit);
    else if (strcmp(unit, "bytes") == 0)
        cell_bytes(&text, d);
    else if (strcmp(unit, "ratio") == 0)
        strbuf_printf(&text, "%.3g %%", d * 100);
    else
        strbuf_printf(&text, "%.6g%s%s", d, strcmp(unit, "ms") == 0 ? " " : "",
                      strcmp(unit, "ms") == 0 ? "ms" : "");
    if (text.len)
        json_put_str(w, key, strbuf_str(&text));
    strbuf_done(&text);
}

/* "gateway/gw-a1" again, from the id */
static void put_object(struct cli *c, struct json_writer *w, const char *object)
{
    char id[ID_TEXT_MAX] = "";
    struct strbuf text = STRBUF_INIT;
    const char *slash = strchr(object, '/');
    bool link = strncmp(object, "link", 4) == 0 || strncmp(object, "tunnel", 6) == 0;
    if (slash && strlen(slash + 1) >= ID_TEXT_LEN) {
        memcpy(id, slash + 1, ID_TEXT_LEN);
        strbuf_printf(&text, "%.*s%s%s", (int)(slash - object + 1), object,
                      names_of(c, link ? &noun_link : &noun_gateway, id), slash + 1 + ID_TEXT_LEN);
    }
    json_put_str(w, "object", text.len ? strbuf_str(&text) : object);
    strbuf_done(&text);
}

static void put_series(struct cli *c, struct json_writer *w, const struct json_at *top,
                       const struct json_at *series)
{
    struct json_at offsets = json_root(NULL);
    int64_t from = 0;
    (void)clock_parse(json_plain_at(top, "from"), &from);
    (void)json_find(top, "offset_seconds", &offsets);
    for (size_t i = 0; i < json_length(&offsets); i++) {
        char time[CLOCK_TEXT_MAX];
        struct json_at offset = json_element(&offsets, i);
        json_open_object(w, NULL);
        json_put_str(w, "time", clock_text(from + (int64_t)json_number(&offset, 0), time));
        put_object(c, w, json_plain_at(series, "object"));
        json_put_str(w, "metric", json_plain_at(series, "metric"));
        put_value(w, "avg", series, i, json_plain_at(series, "unit"));
        put_value(w, "min", series, i, json_plain_at(series, "unit"));
        put_value(w, "max", series, i, json_plain_at(series, "unit"));
        json_put_str(w, "observer", json_plain_at(series, "observer"));
        json_close(w);
    }
}

static int put_table(struct cli *c, const struct json_at *top)
{
    struct json_writer w;
    struct json_at all = json_root(NULL), rows;
    struct json_object *doc = NULL;
    size_t len = 0;
    json_writer_init(&w);
    json_open_array(&w, "rows");
    (void)json_find(top, "series", &all);
    for (size_t i = 0; i < json_length(&all); i++) {
        struct json_at series = json_element(&all, i);
        put_series(c, &w, top, &series);
    }
    json_close(&w);
    char *text = json_finish(&w, &len);
    int rc = !text || json_parse(text, len, SIZE_MAX, &doc, NULL) ? cli_no_memory(c) : CLI_OK;
    const struct json_at made = json_root(doc);
    if (!rc && json_find(&made, "rows", &rows))
        rc = table_print(c, columns, &rows);
    json_free(doc);
    free(text);
    return rc;
}

static int run(struct cli *c, const struct noun *n, const struct verb *v, struct args *a)
{
    struct strbuf path = STRBUF_INIT;
    struct api_reply reply = {0};
    struct args rest = {0};
    (void)v;
    strbuf_puts(&path, n->path);
    int rc = add_objects(c, args_value(a, "object"), &path);
    for (size_t i = 0; i < a->n_flags; i++)
        if (strcmp(a->flags[i].flag->name, "object") != 0)
            rest.flags[rest.n_flags++] = a->flags[i];
    rc = rc ? rc : body_query(c, &rest, &path);
    if (c->output == CLI_CSV)
        api_query(&path, "format", "csv");
    rc = rc ? rc : api_call(c, "GET", strbuf_str(&path), NULL, &reply);
    const struct json_at top = json_root(reply.json);
    if (!rc && c->output == CLI_CSV)
        visible_lines(&c->out, reply.text, reply.len);
    else if (!rc)
        rc = c->output == CLI_JSON ? cli_put_json(c, &top) : put_table(c, &top);
    api_reply_done(&reply);
    strbuf_done(&path);
    return rc;
}

static const struct verb verbs[] = {
    {.name = "get",
     .summary = "Shows what was measured, over time",
     .example = "telemetry get --object gateway/gw-branch-1 --metric goodput_tx_bps --range 1h -o "
                "csv",
     .shows = SHOWS_LIST,
     .method = "GET",
     .flags = flags,
     .required = "object metric",
     .csv = true,
     .run = run},
    VERBS_END,
};

const struct noun noun_telemetry = {
    .name = "telemetry",
    .title = "Telemetry: rates, losses, delays and load over time",
    .path = "/api/v1/telemetry",
    .verbs = verbs,
};
