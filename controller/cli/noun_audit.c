#include "controller/cli/api.h"
#include "controller/cli/args.h"
#include "controller/cli/body.h"
#include "controller/cli/nouns.h"
#include "controller/cli/table.h"
#include "controller/cli/visible.h"
#include <string.h>

static const char *const outcomes[] = {"done", "refused", NULL};
static const char *const orders[] = {"newest", "oldest", NULL};

/* clang-format off */
#define FILTERS                                                                                    \
    FLAG("from", "from", SINCE, "only what was done at or after this time"),                       \
    FLAG("to", "to", SINCE, "only what was done before this time"),                                \
    FLAG_OBJECT("actor", "actor_id", &noun_api_key, "only what this API key did; a gateway by its id"), \
    FLAG("object", "object_id", TEXT, "only what was done to the object of this id"),              \
    FLAG("type", "object_type", TEXT, "only what was done to objects of this kind, such as sites"), \
    FLAG_WORDS("outcome", "outcome", outcomes, "refused: for want of credentials or role")
/* clang-format on */

static const struct flag list_flags[] = {
    FILTERS,
    FLAG_WORDS("order", "order", orders, "newest first when absent"),
    FLAG("limit", "limit", UINT, "how many at most, 1 to 1000; 100 when absent"),
    FLAGS_END,
};

static const struct flag export_flags[] = {
    FILTERS,
    FLAGS_END,
};

static const struct column columns[] = {
    COLUMN("NO", "sequence", TEXT),       COLUMN("TIME", "time", TEXT),
    COLUMN("ACTOR", "actor", ACTOR),      COLUMN("ROLE", "actor.role", TEXT),
    COLUMN("ACTION", "action", TEXT),     COLUMN("OBJECT", "object", OBJECT),
    COLUMN("OUTCOME", "outcome", STATE),  WIDE("STATUS", "status", TEXT),
    WIDE("FROM", "request.client", TEXT), WIDE("CONSOLE", "actor.session", BOOL),
    WIDE("BEFORE", "before", TEXT),       WIDE("AFTER", "after", TEXT),
    WIDE("HASH", "hash", TEXT),           COLUMNS_END,
};

/* One page: nobody wants to wait for years of records. */
static int list(struct cli *c, const struct noun *n, const struct verb *v, struct args *a)
{
    struct strbuf path = STRBUF_INIT;
    struct api_reply reply = {0};
    struct json_at items = json_root(NULL);
    (void)v;
    strbuf_puts(&path, n->path);
    int rc = body_query(c, a, &path);
    rc = rc ? rc : api_call(c, "GET", strbuf_str(&path), NULL, &reply);
    const struct json_at top = json_root(reply.json);
    if (!rc && !json_find(&top, "items", &items))
        rc = cli_fail(c, CLI_FAILED, "%s answered no list", n->path);
    if (!rc)
        rc = c->output == CLI_JSON ? cli_put_json(c, &items) : table_print(c, columns, &items);
    api_reply_done(&reply);
    strbuf_done(&path);
    return rc;
}

/* The records' own bytes, since their hashes are made of these; on a terminal without what it would
 * obey. */
static int put_page(struct cli *c, const struct api_reply *page)
{
    if (c->width > 0)
        visible_lines(&c->out, page->text, page->len);
    else
        strbuf_add(&c->out, page->text, page->len);
    return cli_flush(c);
}

static int export(struct cli *c, const struct noun *n, const struct verb *v, struct args *a)
{
    struct strbuf all = STRBUF_INIT;
    char next[API_CURSOR_MAX] = "";
    (void)v;
    strbuf_puts(&all, n->path);
    int rc = body_query(c, a, &all);
    api_query(&all, "order", "oldest");
    api_query(&all, "format", "jsonl");
    api_query(&all, "limit", "1000");
    do {
        struct strbuf path = STRBUF_INIT;
        struct api_reply page = {0};
        strbuf_puts(&path, strbuf_str(&all));
        if (next[0])
            api_query(&path, "cursor", next);
        rc = rc ? rc : api_call(c, "GET", strbuf_str(&path), NULL, &page);
        rc = rc ? rc : put_page(c, &page);
        memcpy(next, page.next, sizeof next);
        api_reply_done(&page);
        strbuf_done(&path);
    } while (!rc && next[0]);
    strbuf_done(&all);
    return rc;
}

static const struct verb verbs[] = {
    {.name = "list",
     .summary = "Lists who changed what, the newest first",
     .example = "audit list --from 24h --type sites",
     .shows = SHOWS_LIST,
     .method = "GET",
     .flags = list_flags,
     .run = list},
    {.name = "export",
     .summary =
         "Prints all records, the oldest first, a JSON text a line, as their hashes were made",
     .example = "audit export > audit.jsonl",
     .shows = SHOWS_LIST,
     .method = "GET",
     .flags = export_flags,
     .run = export},
    VERBS_END,
};

const struct noun noun_audit = {
    .name = "audit",
    .title = "Audit: who changed what, as a chain of records",
    .path = "/api/v1/audit",
    .columns = columns,
    .verbs = verbs,
};
