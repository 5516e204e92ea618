#include "controller/cli/api.h"
#include "controller/cli/args.h"
#include "controller/cli/commands.h"
#include "controller/cli/visible.h"
#include <stdlib.h>

static int put_json(struct cli *c, const char *controller)
{
    struct json_writer w;
    json_writer_init(&w);
    json_put_str(&w, "hawserctl", HAWSER_VERSION);
    json_put_str(&w, "controller", controller);
    char *text = json_finish(&w, NULL);
    if (!text)
        return cli_no_memory(c);
    visible_json(&c->out, text);
    strbuf_puts(&c->out, "\n");
    free(text);
    return CLI_OK;
}

static int run(struct cli *c, const struct noun *n, const struct verb *v, struct args *a)
{
    struct api_reply reply = {0};
    struct json_at version;
    (void)n;
    (void)v;
    (void)a;
    int rc = api_call(c, "GET", "/version", NULL, &reply);
    const struct json_at top = json_root(reply.json);
    if (!rc && !json_find(&top, "version", &version))
        rc = cli_fail(c, CLI_FAILED, "%s says no version; is it a Hawser controller?", c->url);
    if (!rc && c->output == CLI_JSON) {
        rc = put_json(c, json_plain(&version));
    } else if (!rc) {
        strbuf_puts(&c->out, "hawserctl   " HAWSER_VERSION "\ncontroller  ");
        visible_text(&c->out, json_plain(&version));
        strbuf_printf(&c->out, " at %s\n", c->url);
    }
    api_reply_done(&reply);
    return rc;
}

static const struct verb verbs[] = {
    {.name = "",
     .summary = "Shows the version of hawserctl and of the controller",
     .example = "version",
     .run = run},
    VERBS_END,
};

const struct noun noun_version = {
    .name = "version",
    .title = "Version of hawserctl and of the controller",
    .verbs = verbs,
};
