#include "controller/cli/shown_once.h"
#include <string.h>

int shown_once(struct cli *c, const struct json_at *made, const char *member, const char *begins,
               const char **out)
{
    static const char alphabet[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.";
    struct json_at v;
    const char *text =
        json_find(made, member, &v) && json_kind(&v) == JSON_KIND_STRING ? json_plain(&v) : "";
    if (strncmp(text, begins, strlen(begins)) != 0 || text[strspn(text, alphabet)] != '\0') {
        cli_hint(c, "hawserctl %s list; delete what was made and make another", c->noun);
        return cli_fail(c, CLI_FAILED, "the answer shows no secret");
    }
    *out = text;
    return CLI_OK;
}
