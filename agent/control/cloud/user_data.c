#include "agent/control/cloud/user_data.h"
#include "agent/control/cloud/provider.h"
#include "common/json.h"
#include "common/model/enrol.h"
#include <string.h>

#define LINE_KEY "hawser-token:"

static char *from_json(const char *text, size_t len)
{
    struct json_object *doc;
    struct json_at hawser;
    const char *token;
    char *copy = NULL;
    if (json_parse(text, len, CLOUD_USER_DATA_MAX, &doc, NULL) < 0)
        return NULL;
    struct json_at top = json_root(doc);
    if (json_has(&top, "hawser") && json_get_object(&top, "hawser", &hawser, NULL) == 0 &&
        json_get_str(&hawser, "token", ENROL_TOKEN_MAX, &token, NULL) == 0)
        copy = strdup(token);
    json_free_secret(doc);
    return copy;
}

static size_t skip(const char *p, size_t len, const char *set)
{
    size_t n = 0;
    while (n < len && strchr(set, p[n]) && p[n])
        n++;
    return n;
}

/* A comment "# hawser-token: hwt1.…": the token, not terminated, and its length. */
static const char *token_of_line(const char *p, size_t len, size_t *token_len)
{
    size_t n = skip(p, len, " \t");
    size_t marks = skip(p + n, len - n, "#");
    n += marks;
    n += skip(p + n, len - n, " \t");
    if (marks == 0 || len - n < sizeof LINE_KEY - 1 ||
        memcmp(p + n, LINE_KEY, sizeof LINE_KEY - 1) != 0)
        return NULL;
    n += sizeof LINE_KEY - 1;
    n += skip(p + n, len - n, " \t");
    while (len > n && strchr(" \t\r", p[len - 1]))
        len--;
    *token_len = len - n;
    return *token_len > 0 && *token_len <= ENROL_TOKEN_MAX ? p + n : NULL;
}

static char *from_lines(const char *p, const char *end)
{
    while (p < end) {
        const char *eol = memchr(p, '\n', (size_t)(end - p));
        size_t token_len;
        const char *token = token_of_line(p, (size_t)((eol ? eol : end) - p), &token_len);
        if (token)
            return strndup(token, token_len);
        p = eol ? eol + 1 : end;
    }
    return NULL;
}

char *user_data_token(const char *text, size_t len)
{
    size_t white = skip(text, len, " \t\r\n");
    if (white < len && text[white] == '{')
        return from_json(text, len);
    return from_lines(text, text + len);
}
