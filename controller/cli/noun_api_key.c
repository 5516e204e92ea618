#include "controller/cli/api.h"
#include "controller/cli/args.h"
#include "controller/cli/body.h"
#include "controller/cli/cell.h"
#include "controller/cli/nouns.h"
#include "controller/cli/shown_once.h"
#include <stdio.h>
#include <stdlib.h>

static const char *const roles[] = {"viewer", "operator", "admin", NULL};

static const struct flag create_flags[] = {
    FLAG("name", "name", TEXT, "as a DNS label: who or what will use it"),
    FLAG_WORDS("role", "role", roles, "what it may do"),
    FLAG("expires-in-days", "expires_in_days", UINT, "1 to 400; 90 when absent"),
    FLAGS_END,
};

static const struct column columns[] = {
    COLUMN("NAME", "name", TEXT),
    COLUMN("ROLE", "role", TEXT),
    COLUMN("STATE", "state", STATE),
    COLUMN("ENDS", "expires_at", LEFT),
    COLUMN("USED", "last_used_at", AGE),
    COLUMN("BEGINS WITH", "prefix", TEXT),
    WIDE("MADE BY", "created_by", TEXT),
    WIDE("MADE", "created_at", AGE),
    WIDE("ID", "id", TEXT),
    COLUMNS_END,
};

/* The key alone goes to standard output, so that it can be sent into a file; what else there is to
 * say is for people. */
static int show(struct cli *c, const struct json_at *made)
{
    const char *key;
    struct strbuf left = STRBUF_INIT;
    const struct column ends = COLUMN("ENDS", "expires_at", LEFT);
    if (c->output == CLI_JSON)
        return cli_put_json(c, made);
    int rc = shown_once(c, made, "key", "hwa1.", &key);
    if (rc)
        return rc;
    cell_text(c, &ends, made, &left);
    (void)fprintf(stderr, "%s: created; ends %s. The key is shown this once:\n", c->subject,
                  strbuf_str(&left));
    strbuf_done(&left);
    strbuf_puts(&c->out, key);
    strbuf_puts(&c->out, "\n");
    return CLI_OK;
}

static int create(struct cli *c, const struct noun *n, const struct verb *v, struct args *a)
{
    struct api_reply reply = {0};
    char *body;
    int rc = body_make(c, a, v->flags, &body);
    rc = rc ? rc : api_call(c, "POST", n->path, body, &reply);
    const struct json_at made = json_root(reply.json);
    rc = rc ? rc : show(c, &made);
    api_reply_done(&reply);
    free(body);
    return rc;
}

static const struct verb verbs[] = {
    VERB_LIST("Lists the API keys, without the keys themselves", "api-key list", NULL),
    VERB_SHOW("Shows an API key whole, without the key itself", "api-key show terraform"),
    {.name = "create",
     .summary = "Creates an API key and prints it, alone on standard output",
     .example = "api-key create --name terraform --role operator --expires-in-days 30 > token",
     .shows = SHOWS_ROW,
     .method = "POST",
     .flags = create_flags,
     .required = "name role",
     .run = create},
    VERB_DELETE("Ends an API key at once, with every session that rests on it",
                "api-key delete terraform --yes", true),
    VERBS_END,
};

const struct noun noun_api_key = {
    .name = "api-key",
    .title = "API keys: what people and programs sign in with",
    .path = "/api/v1/api-keys",
    .columns = columns,
    .verbs = verbs,
};
