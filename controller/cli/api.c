#include "controller/cli/api.h"
#include "common/clock.h"
#include "common/http_client.h"
#include "common/secret.h"
#include "controller/cli/nouns.h"
#include "controller/cli/visible.h"
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define REPLY_MAX (64u << 20)

void api_reply_done(struct api_reply *r)
{
    if (!r)
        return;
    json_free_secret(r->json);
    if (r->text)
        secret_wipe(r->text, r->len);
    free(r->text);
    *r = (struct api_reply){0};
}

void api_query(struct strbuf *path, const char *name, const char *value)
{
    strbuf_printf(path, "%c%s=", strchr(strbuf_str(path), '?') ? '&' : '?', name);
    for (const char *p = value; *p; p++) {
        if (isalnum((unsigned char)*p) || strchr("-._~", *p))
            strbuf_add(path, p, 1);
        else
            strbuf_printf(path, "%%%02X", (unsigned char)*p);
    }
}

/* ---- no answer ---- */

static int no_answer(struct cli *c, const struct http_response *r)
{
    switch (r->outcome) {
    case HTTP_TLS:
        cli_hint(c, "--ca FILE names the CA of the controller's certificate; `hawser-controller "
                    "bootstrap` printed its path");
        return cli_fail(c, CLI_FAILED, "%s is not trusted: %s", c->url, r->error);
    case HTTP_TOO_BIG:
        return cli_fail(c, CLI_FAILED, "the answer of %s is too large", c->url);
    case HTTP_REFUSED:
        cli_hint(c, "is hawser-controller running there? --url names another one");
        return cli_fail(c, CLI_FAILED, "nobody listens at %s: %s", c->url, r->error);
    default:
        cli_hint(c, "--url names another controller, --timeout waits longer");
        return cli_fail(c, CLI_FAILED, "no answer from %s: %s", c->url, r->error);
    }
}

/* ---- refusals ---- */

static enum cli_exit exit_of(int status)
{
    switch (status) {
    case 400:
    case 405:
    case 413:
    case 415:
    case 422:
        return CLI_USAGE;
    case 401:
    case 403:
        return CLI_NOT_ALLOWED;
    case 404:
        return CLI_NOT_FOUND;
    case 409:
    case 412:
        return CLI_CONFLICT;
    default:
        return CLI_FAILED;
    }
}

/* The name behind "site " at one place of a text, where the words end. */
static bool name_behind(const char *detail, const char *at, size_t len, char out[HW_NAME_MAX + 1])
{
    const char *name = at + len + 1;
    if (at[len] != ' ' || (at > detail && at[-1] != ' '))
        return false;
    size_t n = strcspn(name, " ,;:.()");
    if (n == 0 || n > HW_NAME_MAX)
        return false;
    memcpy(out, name, n);
    out[n] = '\0';
    return json_name_ok(out);
}

/* "overlaps … of site hub": the object to look at next. */
static bool hint_of_object(struct cli *c, const char *detail)
{
    char name[HW_NAME_MAX + 1];
    for (const struct noun *const *n = nouns; *n; n++) {
        if (!(*n)->path || (*n)->label || (*n)->nameless || (*n)->parent)
            continue;
        for (const char *at = strstr(detail, (*n)->name); at; at = strstr(at + 1, (*n)->name)) {
            if (!name_behind(detail, at, strlen((*n)->name), name))
                continue;
            cli_hint(c, "hawserctl %s show %s", (*n)->name, name);
            return true;
        }
    }
    return false;
}

static void hint_of_refusal(struct cli *c, int status, const char *detail)
{
    const struct noun *n = nouns_find(c->noun);
    if (status == 401 && !c->authorization)
        cli_hint(c, "give the API token by --token-file FILE, HAWSER_TOKEN_FILE or HAWSER_TOKEN");
    else if (status == 401)
        cli_hint(c,
                 "the token is not known to %s; `hawser-controller bootstrap "
                 "--new-admin-token` makes a new one",
                 c->url);
    else if (status == 403)
        cli_hint(c, "hawserctl whoami");
    else if (status == 404 && n && nouns_verb(n, "list"))
        cli_hint(c, "hawserctl %s list", c->noun);
    else if (status == 409 && !hint_of_object(c, detail) && n && nouns_verb(n, "list"))
        cli_hint(c, "hawserctl %s list", c->noun);
    else if ((status == 400 || status == 422) && c->verb[0])
        cli_hint(c, "hawserctl %s %s --help", c->noun, c->verb);
    else if (status == 412)
        cli_hint(c, "somebody else changed it; look at it and try again, or --force");
    else if (status == 429 || status == 503)
        cli_hint(c, "try again in a moment");
}

static const char *text_of(const struct json_at *problem, const char *member)
{
    struct json_at v;
    return json_find(problem, member, &v) && json_kind(&v) == JSON_KIND_STRING ? json_plain(&v)
                                                                               : NULL;
}

/* Further lines of problems that list conditions. */
static void add_conditions(struct strbuf *out, const struct json_at *problem)
{
    static const char *const lists[] = {"conditions", "alternatives"};
    for (size_t k = 0; k < 2; k++) {
        struct json_at list;
        if (!json_find(problem, lists[k], &list))
            continue;
        for (size_t i = 0; i < json_length(&list); i++) {
            struct json_at item = json_element(&list, i);
            const char *detail = k == 0 ? text_of(&item, "detail") : json_plain(&item);
            strbuf_puts(out, k == 0 ? "\n  not met: " : "\n  instead: ");
            visible_text(out, detail ? detail : "");
        }
    }
}

static int refused(struct cli *c, const struct api_reply *r)
{
    const struct json_at problem = json_root(r->json);
    const char *detail = text_of(&problem, "detail"), *field = text_of(&problem, "field");
    const char *request = text_of(&problem, "request_id");
    struct strbuf text = STRBUF_INIT;
    struct json_at conditions;
    if (!detail)
        detail = "the answer is no problem document; is this a Hawser controller?";
    if (json_find(&problem, "conditions", &conditions))
        cli_hint(c, "hawserctl connection policy%s", c->subject + strcspn(c->subject, " "));
    hint_of_refusal(c, r->status, detail);
    if (c->subject[0])
        strbuf_printf(&text, "%s: ", c->subject);
    visible_text(&text, detail); /* all on one line, whatever it holds */
    strbuf_puts(&text, " (");
    if (request && field) {
        visible_text(&text, field);
        strbuf_puts(&text, ", ");
    }
    if (request) {
        strbuf_puts(&text, "request ");
        visible_text(&text, request);
    } else {
        strbuf_printf(&text, "status %d", r->status);
    }
    strbuf_puts(&text, ")");
    add_conditions(&text, &problem);
    int rc = cli_fail(c, exit_of(r->status), "%s", strbuf_str(&text));
    strbuf_done(&text);
    return rc;
}

/* ---- requests ---- */

static void tell(const struct cli *c, const char *method, const char *url,
                 const struct http_response *r, uint64_t begun)
{
    const char *id = http_response_header(r, "X-Request-Id");
    struct strbuf line = STRBUF_INIT;
    if (!c->verbose)
        return;
    strbuf_printf(&line, "%s %s: ", method, url);
    if (r->outcome == HTTP_ANSWERED)
        strbuf_printf(&line, "%d, %zu bytes, %.1f ms", r->status, r->body_len,
                      (double)(clock_mono_ns() - begun) / 1e6);
    else
        strbuf_puts(&line, http_outcome_name(r->outcome));
    if (id) {
        strbuf_puts(&line, ", request ");
        visible_text(&line, id);
    }
    (void)fprintf(stderr, "%s\n", strbuf_str(&line));
    strbuf_done(&line);
}

static int judge(struct cli *c, struct http_response *r, struct api_reply *out)
{
    const char *kind = http_response_header(r, "Content-Type");
    const char *etag = http_response_header(r, "ETag");
    const char *next = http_response_header(r, "Hawser-Next-Cursor");
    struct err e = {0};
    int rc = CLI_OK;
    *out = (struct api_reply){.status = r->status, .text = r->body, .len = r->body_len};
    r->body = NULL;
    if (etag && strlen(etag) < sizeof out->etag)
        (void)snprintf(out->etag, sizeof out->etag, "%s", etag);
    if (next && strlen(next) < sizeof out->next)
        (void)snprintf(out->next, sizeof out->next, "%s", next);
    bool json = kind && strstr(kind, "json") && !strstr(kind, "ndjson");
    if (json && json_parse(out->text, out->len, REPLY_MAX, &out->json, &e))
        rc = cli_fail(c, CLI_FAILED, "%s answered what is no JSON: %s", c->url, e.text);
    if (!rc && (out->status < 200 || out->status > 299))
        rc = refused(c, out);
    if (rc)
        api_reply_done(out);
    return rc;
}

static int send_request(struct cli *c, const struct http_request *q, struct http_response *r)
{
    struct err e = {0};
    return http_client_run(c->http, q, r, &e) ? cli_fail(c, CLI_FAILED, "%s", e.text) : CLI_OK;
}

/* Lines of a request: who asks, under which key a write is made once, on which state it is made. */
struct lines {
    char key[64], match[API_ETAG_MAX + 16];
    const char *all[4];
};

static void make_lines(const struct cli *c, bool post, const char *etag, struct lines *l)
{
    char id[ID_TEXT_MAX];
    size_t n = 0;
    if (post) {
        struct hw_id fresh = id_new();
        (void)snprintf(l->key, sizeof l->key, "Idempotency-Key: %s", id_text(&fresh, id));
        l->all[n++] = l->key;
    }
    if (etag) {
        (void)snprintf(l->match, sizeof l->match, "If-Match: %s", etag);
        l->all[n++] = l->match;
    }
    l->all[n++] = c->authorization;
    l->all[n] = NULL;
}

int api_call(struct cli *c, const char *method, const char *path, const char *body,
             struct api_reply *out)
{
    return api_write(c, method, path, body, NULL, out);
}

int api_write(struct cli *c, const char *method, const char *path, const char *body,
              const char *etag, struct api_reply *out)
{
    struct lines lines;
    struct http_response r = {0};
    char *url;
    uint64_t begun = clock_mono_ns();
    *out = (struct api_reply){0};
    if (asprintf(&url, "%s%s", c->url, path) < 0)
        return cli_no_memory(c);
    struct http_request q = {
        .method = method,
        .url = url,
        .body = body,
        .body_len = body ? strlen(body) : 0,
        .headers = lines.all,
        .timeout_ns = c->timeout_ns,
        .response_max = REPLY_MAX,
    };
    bool post = strcmp(method, "POST") == 0;
    make_lines(c, post, etag, &lines);
    int rc = send_request(c, &q, &r);
    /* A connection that broke off says nothing about the write; under its key it is made once. */
    if (!rc && post && r.outcome == HTTP_NO_ANSWER && clock_mono_ns() - begun < c->timeout_ns) {
        http_response_done(&r);
        rc = send_request(c, &q, &r);
    }
    if (!rc) {
        tell(c, method, url, &r, begun);
        rc = r.outcome == HTTP_ANSWERED ? judge(c, &r, out) : no_answer(c, &r);
    }
    http_response_done(&r);
    free(url);
    return rc;
}

/* Fetches one page; *cursor is "" on the first and, afterwards, on the last one. */
static int get_page(struct cli *c, const char *path, struct strbuf *cursor, struct api_reply *out)
{
    struct strbuf full = STRBUF_INIT;
    struct json_at next;
    strbuf_puts(&full, path);
    api_query(&full, "limit", "1000");
    if (cursor->len > 0)
        api_query(&full, "cursor", strbuf_str(cursor));
    int rc = full.failed ? cli_no_memory(c) : api_call(c, "GET", strbuf_str(&full), NULL, out);
    strbuf_done(&full);
    if (rc)
        return rc;
    const struct json_at top = json_root(out->json);
    strbuf_reset(cursor);
    if (json_find(&top, "next_cursor", &next) && json_kind(&next) == JSON_KIND_STRING)
        strbuf_puts(cursor, json_plain(&next));
    return cursor->failed ? cli_no_memory(c) : CLI_OK;
}

int api_list(struct cli *c, const char *path, struct json_object **out)
{
    struct strbuf cursor = STRBUF_INIT;
    struct api_reply first = {0}, page = {0};
    struct json_at all, items;
    int rc = get_page(c, path, &cursor, &first);
    const struct json_at top = json_root(first.json);
    if (!rc && !(json_find(&top, "items", &all) && json_kind(&all) == JSON_KIND_ARRAY))
        rc = cli_fail(c, CLI_FAILED, "%s%s answered no list", c->url, path);
    while (!rc && cursor.len > 0) {
        rc = get_page(c, path, &cursor, &page);
        const struct json_at more = json_root(page.json);
        if (!rc && (!json_find(&more, "items", &items) || json_array_append(&all, &items, NULL)))
            rc = cli_fail(c, CLI_FAILED, "%s%s: a page is no list", c->url, path);
        api_reply_done(&page);
    }
    strbuf_done(&cursor);
    if (!rc) {
        *out = first.json;
        first.json = NULL;
    }
    api_reply_done(&first);
    return rc;
}
