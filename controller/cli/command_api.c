#include "controller/cli/api.h"
#include "controller/cli/args.h"
#include "controller/cli/commands.h"
#include "controller/cli/options.h"
#include "controller/cli/visible.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static int check(struct cli *c, const char *method, const char *path)
{
    if (method[0] == '\0' || method[strspn(method, "ABCDEFGHIJKLMNOPQRSTUVWXYZ")] != '\0') {
        cli_hint(c, "GET, POST, PUT, PATCH or DELETE");
        return cli_fail(c, CLI_USAGE, "%s is no method", method);
    }
    for (const char *p = path; *p; p++)
        if (!isgraph((unsigned char)*p))
            return cli_fail(c, CLI_USAGE, "%s: a path is printable ASCII without blanks", path);
    if (path[0] != '/') {
        cli_hint(c, "such as /api/v1/sites");
        return cli_fail(c, CLI_USAGE, "%s does not begin with /", path);
    }
    return CLI_OK;
}

static int run(struct cli *c, const struct noun *n, const struct verb *v, struct args *a)
{
    const char *method = a->operands[0], *path = a->operands[1], *file = args_value(a, "file");
    struct api_reply reply = {0};
    char *body = NULL;
    size_t len;
    (void)n;
    (void)v;
    int rc = check(c, method, path);
    if (!rc && file)
        rc = options_read(c, file, HW_REQUEST_BODY_MAX, &body, &len);
    cli_subject(c, method, path);
    rc = rc ? rc : api_call(c, method, path, body, &reply);
    if (!rc && reply.json) {
        const struct json_at top = json_root(reply.json);
        rc = cli_put_json(c, &top);
    } else if (!rc) {
        visible_lines(&c->out, reply.text, reply.len);
    }
    api_reply_done(&reply);
    free(body);
    return rc;
}

static const struct flag flags[] = {
    FLAG("file", NULL, FILE, "body of the request; - is standard input"),
    FLAGS_END,
};

static const struct verb verbs[] = {
    {.name = "",
     .summary = "Sends any request with the token and prints the answer",
     .example = "api GET /api/v1/openapi.json",
     .arg = ARG_WORDS,
     .operands = "METHOD PATH",
     .flags = flags,
     .run = run},
    VERBS_END,
};

const struct noun noun_api = {
    .name = "api",
    .title = "Any request to the API",
    .verbs = verbs,
};
