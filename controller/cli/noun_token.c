#include "controller/cli/api.h"
#include "controller/cli/args.h"
#include "controller/cli/body.h"
#include "controller/cli/nouns.h"
#include "controller/cli/shown_once.h"
#include "controller/cli/table.h"
#include <stdlib.h>
#include <string.h>

static const char *const formats[] = {"token", "shell", "cloud-init", NULL};

static const struct flag create_flags[] = {
    FLAG_OBJECT("site", "site_id", &noun_site, "where the gateway stands"),
    FLAG("gateway-name", "gateway_name", TEXT, "only this gateway may enrol"),
    FLAG("size", "size", TEXT, "instance size of the gateway"),
    FLAG("max-uses", "max_uses", UINT, "how many gateways may enrol by it"),
    FLAG("expires-in", "expires_in_seconds", DURATION, "24h when absent"),
    FLAG_WORDS("format", NULL, formats, "print this alone"),
    FLAGS_END,
};

static const struct flag set_flags[] = {
    FLAG("expires-at", "expires_at", TIME, "when it ends"),
    FLAGS_END,
};

static const struct column columns[] = {
    COLUMN("ID", "id", TEXT),
    COLUMN_REF("SITE", "site_id", &noun_site),
    COLUMN("GATEWAY", "gateway_name", TEXT),
    COLUMN_OF("USES", "uses", "max_uses"),
    COLUMN("ENDS", "expires_at", LEFT),
    WIDE("SIZE", "size", TEXT),
    WIDE("MADE", "created_at", AGE),
    COLUMNS_END,
};

static const char shell_lines[] =
    "install -o hawser-agent -g hawser -m 600 /dev/stdin /etc/hawser/token <<'END'\n"
    "%s\n"
    "END\n"
    "systemctl enable --now hawser-dataplane hawser-agent\n"
    "hawser-agent status\n";

static const char cloud_init_lines[] = "#cloud-config\n"
                                       "write_files:\n"
                                       "  - path: /etc/hawser/token\n"
                                       "    permissions: '0600'\n"
                                       "    owner: hawser-agent:hawser\n"
                                       "    content: '%s'\n"
                                       "runcmd:\n"
                                       "  - systemctl enable --now hawser-dataplane hawser-agent\n";

/* Fills the one hole of a text. */
static void put_lines(struct strbuf *out, const char *lines, const char *token)
{
    const char *hole = strstr(lines, "%s");
    strbuf_add(out, lines, (size_t)(hole - lines));
    strbuf_puts(out, token);
    strbuf_puts(out, hole + 2);
}

static int show(struct cli *c, const struct json_at *made, const char *format)
{
    const char *token;
    if (c->output == CLI_JSON && !format)
        return cli_put_json(c, made);
    int rc = shown_once(c, made, "token", "hwt1.", &token);
    if (rc)
        return rc;
    if (format && strcmp(format, "token") == 0) {
        strbuf_printf(&c->out, "%s\n", token);
    } else if (format) {
        put_lines(&c->out, strcmp(format, "shell") ? cloud_init_lines : shell_lines, token);
    } else {
        rc = table_print_one(c, columns, made);
        if (rc)
            return rc;
        strbuf_puts(&c->out, "\nThe token is shown this once. On the gateway, as root:\n\n");
        put_lines(&c->out, shell_lines, token);
    }
    return CLI_OK;
}

static int create(struct cli *c, const struct noun *n, const struct verb *v, struct args *a)
{
    struct api_reply reply = {0};
    char *body;
    const char *format = args_value(a, "format");
    int rc = body_make(c, a, v->flags, &body);
    rc = rc ? rc : api_call(c, "POST", n->path, body, &reply);
    if (!rc) {
        const struct json_at made = json_root(reply.json);
        rc = show(c, &made, format);
    }
    api_reply_done(&reply);
    free(body);
    return rc;
}

static const struct verb verbs[] = {
    VERB_LIST("Lists the enrolment tokens, without the tokens themselves",
              "token list --site branch", nouns_by_site),
    VERB_SHOW("Shows an enrolment token whole, without the token itself",
              "token show 5f1c2d3e-4b5a-4697-8877-665544332211"),
    {.name = "create",
     .summary = "Creates an enrolment token and prints what the new machine needs",
     .example = "token create --site branch --gateway-name gw-branch-1 --format cloud-init",
     .shows = SHOWS_ROW,
     .method = "POST",
     .flags = create_flags,
     .required = "site",
     .run = create},
    VERB_SET("Changes when an enrolment token ends",
             "token set 5f1c2d3e-4b5a-4697-8877-665544332211 --expires-at 7d", set_flags),
    VERB_DELETE("Deletes an enrolment token; who has enrolled by it stays",
                "token delete 5f1c2d3e-4b5a-4697-8877-665544332211", false),
    VERBS_END,
};

const struct noun noun_token = {
    .name = "token",
    .title = "Enrolment tokens: what a new gateway enrols with",
    .path = "/api/v1/enrolment-tokens",
    .columns = columns,
    .verbs = verbs,
    .nameless = true,
};
