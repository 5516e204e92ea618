#include "controller/cli/plan.h"
#include "controller/cli/api.h"
#include "controller/cli/args.h"
#include "controller/cli/commands.h"
#include "controller/cli/options.h"
#include "controller/cli/table.h"
#include "controller/cli/visible.h"
#include <stdlib.h>
#include <string.h>

static const struct column link_columns[] = {
    COLUMN("LINK", "gateway_a", TEXT),
    COLUMN("WITH", "gateway_b", TEXT),
    COLUMN("CONNECTION", "connection", TEXT),
    COLUMN("TUNNELS NOW", "tunnels_before", TEXT),
    COLUMN("THEN", "tunnels_after", TEXT),
    COLUMN("STATE", "state", STATE),
    COLUMN("WHY SO MANY", "tunnels_reason", TEXT),
    WIDE("DETAIL", "detail", TEXT),
    COLUMNS_END,
};

static const struct column refusal_columns[] = {
    COLUMN("REFUSED", "change", TEXT),
    COLUMN("STATUS", "status", TEXT),
    COLUMN("FIELD", "field", TEXT),
    COLUMN("DETAIL", "detail", TEXT),
    COLUMNS_END,
};

static int put_rows(struct cli *c, const struct json_at *plan, const char *path, const char *title,
                    const struct column *columns)
{
    struct json_at rows;
    if (!json_find(plan, path, &rows) || json_length(&rows) == 0)
        return CLI_OK;
    strbuf_printf(&c->out, "\n%s\n", title);
    return table_print(c, columns, &rows);
}

static int show(struct cli *c, const struct json_at *plan)
{
    struct json_at v, warnings = json_root(NULL);
    int rc = CLI_OK;
    bool feasible = json_find(plan, "feasible", &v) && strcmp(json_plain(&v), "true") == 0;
    if (c->output == CLI_JSON) {
        rc = cli_put_json(c, plan);
        return rc ? rc : feasible ? CLI_OK : CLI_FAILED;
    }
    visible_text(&c->out, json_find(plan, "summary", &v) ? json_plain(&v) : "");
    strbuf_puts(&c->out, "\n");
    (void)json_find(plan, "warnings", &warnings);
    for (size_t i = 0; i < json_length(&warnings); i++) {
        struct json_at warning = json_element(&warnings, i);
        strbuf_puts(&c->out, "warning: ");
        visible_text(&c->out, json_plain(&warning));
        strbuf_puts(&c->out, "\n");
    }
    rc = put_rows(c, plan, "refusals", "What is refused", refusal_columns);
    rc = rc ? rc : put_rows(c, plan, "links.added", "Links added", link_columns);
    rc = rc ? rc : put_rows(c, plan, "links.removed", "Links removed", link_columns);
    rc = rc ? rc : put_rows(c, plan, "links.changed", "Links changed", link_columns);
    return rc ? rc : feasible ? CLI_OK : CLI_FAILED;
}

static int ask(struct cli *c, const char *request)
{
    struct api_reply reply = {0};
    int rc = api_call(c, "POST", "/api/v1/plan", request, &reply);
    if (!rc) {
        const struct json_at plan = json_root(reply.json);
        rc = show(c, &plan);
    }
    api_reply_done(&reply);
    return rc;
}

int plan_one(struct cli *c, const char *method, const char *path, const char *body)
{
    struct json_writer w;
    json_writer_init(&w);
    json_open_array(&w, "changes");
    json_open_object(&w, NULL);
    json_put_str(&w, "method", method);
    json_put_str(&w, "path", path);
    if (body)
        json_put_raw(&w, "body", strdup(body));
    json_close(&w);
    json_close(&w);
    char *request = json_finish(&w, NULL);
    int rc = request ? ask(c, request) : cli_no_memory(c);
    free(request);
    return rc;
}

static int run(struct cli *c, const struct noun *n, const struct verb *v, struct args *a)
{
    char *request = NULL;
    size_t len;
    (void)n;
    (void)v;
    int rc = options_read(c, args_value(a, "file"), HW_REQUEST_BODY_MAX, &request, &len);
    rc = rc ? rc : ask(c, request);
    free(request);
    return rc;
}

static const struct flag flags[] = {
    FLAG("file", NULL, FILE,
         "{\"changes\": [{\"method\", \"path\", \"body\"}, …]}; - is standard input"),
    FLAGS_END,
};

static const struct verb verbs[] = {
    {.name = "",
     .summary = "Shows what several writes would do; --plan with a write shows what that one would",
     .example = "plan --file - < changes.json",
     .flags = flags,
     .required = "file",
     .run = run},
    VERBS_END,
};

const struct noun noun_plan = {
    .name = "plan",
    .title = "What a change would do",
    .verbs = verbs,
};
