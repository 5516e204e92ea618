#include "controller/cli/verbs.h"
#include "controller/cli/api.h"
#include "controller/cli/body.h"
#include "controller/cli/detail.h"
#include "controller/cli/names.h"
#include "controller/cli/nouns.h"
#include "controller/cli/plan.h"
#include "controller/cli/table.h"
#include "controller/cli/visible.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The noun's own path, with the id of the object that it lies in. */
static int base_path(struct cli *c, const struct noun *n, const struct args *a, struct strbuf *out)
{
    char id[ID_TEXT_MAX];
    if (!n->parent) {
        strbuf_puts(out, n->path);
        return CLI_OK;
    }
    int rc = names_resolve(c, n->parent, NULL, args_value(a, n->parent->name), id);
    if (rc)
        return rc;
    const char *hole = strstr(n->path, "%s");
    strbuf_add(out, n->path, (size_t)(hole - n->path));
    strbuf_puts(out, id);
    strbuf_puts(out, hole + 2);
    return out->failed ? cli_no_memory(c) : CLI_OK;
}

int verbs_path(struct cli *c, const struct noun *n, const struct verb *v, const struct args *a,
               struct strbuf *out)
{
    char id[ID_TEXT_MAX];
    int rc = base_path(c, n, a, out);
    if (!rc && v->arg == ARG_OBJECT) {
        rc = names_resolve(c, n, strbuf_str(out), a->operands[0], id);
        if (!rc)
            strbuf_printf(out, "/%s", id);
    }
    if (!rc && v->suffix)
        strbuf_puts(out, v->suffix);
    return rc ? rc : out->failed ? cli_no_memory(c) : CLI_OK;
}

int verbs_get(struct cli *c, const struct noun *n, const struct verb *v, const struct args *a,
              struct api_reply *out)
{
    struct strbuf path = STRBUF_INIT;
    int rc = verbs_path(c, n, v, a, &path);
    rc = rc ? rc : body_query(c, a, &path);
    rc = rc ? rc : api_call(c, "GET", strbuf_str(&path), NULL, out);
    strbuf_done(&path);
    return rc;
}

int verbs_confirm(struct cli *c, const char *what)
{
    char answer[16] = "";
    if (c->yes)
        return CLI_OK;
    if (!isatty(STDIN_FILENO) || !isatty(STDERR_FILENO)) {
        cli_hint(c, "--yes says that it is meant");
        return cli_fail(c, CLI_USAGE, "%s: nobody to ask", what);
    }
    (void)fprintf(stderr, "%s? [y/N] ", what);
    if (fgets(answer, sizeof answer, stdin) && (answer[0] == 'y' || answer[0] == 'Y'))
        return CLI_OK;
    return cli_fail(c, CLI_FAILED, "nothing was done");
}

int verbs_show(struct cli *c, const struct noun *n, const struct verb *v,
               const struct json_at *answer)
{
    const struct column *columns = v->columns ? v->columns : n->columns;
    struct json_at items;
    bool list = v->shows == SHOWS_LIST && json_find(answer, "items", &items);
    if (c->output == CLI_JSON)
        return cli_put_json(c, list ? &items : answer);
    if (list)
        return table_print(c, columns, &items);
    return v->shows == SHOWS_ROW ? table_print_one(c, columns, answer) : detail_print(c, answer);
}

static int run_list(struct cli *c, const struct noun *n, const struct verb *v, const struct args *a)
{
    struct strbuf path = STRBUF_INIT;
    struct json_object *doc = NULL;
    int rc = verbs_path(c, n, v, a, &path);
    rc = rc ? rc : body_query(c, a, &path);
    rc = rc ? rc : api_list(c, strbuf_str(&path), &doc);
    if (!rc) {
        const struct json_at top = json_root(doc);
        rc = verbs_show(c, n, v, &top);
    }
    json_free(doc);
    strbuf_done(&path);
    return rc;
}

static int say_done(struct cli *c, const struct verb *v)
{
    size_t len = strlen(v->name);
    if (c->output == CLI_JSON)
        return CLI_OK;
    strbuf_puts(&c->out, c->subject);
    strbuf_printf(&c->out, ": %s%s\n", v->name, v->name[len - 1] == 'e' ? "d" : "ed");
    return CLI_OK;
}

/* The body, or for a GET the query at the end of the path. */
static int add_members(struct cli *c, const struct verb *v, const struct args *a,
                       struct strbuf *path, char **body)
{
    if (strcmp(v->method, "GET") == 0)
        return body_query(c, a, path);
    int rc = body_make(c, a, v->flags, body);
    if (!rc && *body && v->shape)
        rc = v->shape(c, body);
    /* Every member of a body may be absent. */
    if (!rc && !*body && nouns_takes_body(v))
        *body = strdup("{}");
    return rc;
}

/* An ETag as it stands in a header; the quotes may be left out, as a shell takes them away. */
static int take_etag(struct cli *c, const char *text, char out[API_ETAG_MAX])
{
    size_t len = strlen(text);
    bool quoted = len > 1 && text[0] == '"' && text[len - 1] == '"';
    for (const char *p = text; *p; p++)
        if (*p < '!' || *p > '~' || (*p == '"' && !(quoted && (p == text || !p[1]))))
            len = 0;
    if (len == 0 || len + 3 > API_ETAG_MAX) {
        cli_hint(c, "`show NAME --etag` prints it");
        return cli_fail(c, CLI_USAGE, "--if-match %s: is no ETag", text);
    }
    (void)snprintf(out, API_ETAG_MAX, quoted ? "%s" : "\"%s\"", text);
    return CLI_OK;
}

/*
 * The state that the write is meant for: the one that the operator looked at (--if-match), or as
 * the object is now, before anybody is asked. "" writes whatever it is by then: --force, or an
 * object that has no tag.
 */
static int read_etag(struct cli *c, const struct verb *v, const struct args *a, const char *path,
                     char out[API_ETAG_MAX])
{
    struct api_reply now = {0};
    const char *wanted = args_value(a, "if-match");
    char *object;
    out[0] = '\0';
    if (wanted)
        return take_etag(c, wanted, out);
    if (!nouns_guards(v) || args_value(a, "force"))
        return CLI_OK;
    /* A list has the tag of the object that it lies in. */
    int len = v->arg == ARG_OBJECT ? (int)strlen(path) : (int)(strrchr(path, '/') - path);
    if (asprintf(&object, "%.*s", len, path) < 0)
        return cli_no_memory(c);
    int rc = api_call(c, "GET", object, NULL, &now);
    free(object);
    memcpy(out, now.etag, API_ETAG_MAX);
    api_reply_done(&now);
    return rc;
}

static int ask(struct cli *c, const struct verb *v)
{
    char what[200];
    (void)snprintf(what, sizeof what, "%s %s", v->name, c->subject);
    return v->confirm && !c->plan ? verbs_confirm(c, what) : CLI_OK;
}

static int show_etag(struct cli *c, const struct api_reply *r)
{
    if (!r->etag[0])
        return cli_fail(c, CLI_FAILED, "%s has no ETag", c->subject);
    visible_text(&c->out, r->etag);
    strbuf_puts(&c->out, "\n");
    return CLI_OK;
}

static int run_request(struct cli *c, const struct noun *n, const struct verb *v,
                       const struct args *a, const char *path, const char *body)
{
    struct api_reply reply = {0};
    char etag[API_ETAG_MAX];
    int rc = read_etag(c, v, a, path, etag);
    rc = rc ? rc : ask(c, v);
    rc = rc ? rc : api_write(c, v->method, path, body, etag[0] ? etag : NULL, &reply);
    const struct json_at top = json_root(reply.json);
    if (!rc && args_value(a, "etag"))
        rc = show_etag(c, &reply);
    else if (!rc)
        rc = v->shows == SHOWS_NOTHING ? say_done(c, v) : verbs_show(c, n, v, &top);
    api_reply_done(&reply);
    return rc;
}

static int run_one(struct cli *c, const struct noun *n, const struct verb *v, const struct args *a)
{
    struct strbuf path = STRBUF_INIT;
    char *body = NULL;
    int rc = verbs_path(c, n, v, a, &path);
    rc = rc ? rc : add_members(c, v, a, &path, &body);
    if (!rc)
        rc = c->plan ? plan_one(c, v->method, strbuf_str(&path), body)
                     : run_request(c, n, v, a, strbuf_str(&path), body);
    free(body);
    strbuf_done(&path);
    return rc;
}

int verbs_run(struct cli *c, const struct noun *n, const struct verb *v, struct args *a)
{
    const char *name = v->arg == ARG_OBJECT ? a->operands[0] : args_value(a, "name");
    cli_subject(c, n->name, name);
    if (c->plan && (v->run || !v->method || strcmp(v->method, "GET") == 0))
        return cli_fail(c, CLI_USAGE, "--plan: this verb does not write, or cannot be planned");
    if (v->run) {
        int rc = ask(c, v);
        return rc ? rc : v->run(c, n, v, a);
    }
    /* What lies in one object is a short list without pages. */
    bool pages = v->shows == SHOWS_LIST && v->arg == ARG_NONE && strcmp(v->method, "GET") == 0;
    return pages ? run_list(c, n, v, a) : run_one(c, n, v, a);
}
