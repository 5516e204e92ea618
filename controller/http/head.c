#include "controller/http/head.h"
#include <string.h>
#include <strings.h>

static bool has_control(const char *text)
{
    for (; *text; text++)
        if ((unsigned char)*text < 0x20 || *text == 0x7f)
            return true;
    return false;
}

/* RFC 9110 section 5.6.2. */
static bool is_token(const char *text)
{
    static const char tchar[] = "!#$%&'*+-.^_`|~0123456789"
                                "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    size_t len = strspn(text, tchar);
    return len > 0 && text[len] == '\0';
}

struct collect {
    struct http_pair *pairs;
    size_t n;
    const char *bad; /* why the request is refused */
};

static enum MHD_Result collect_pair(void *arg, enum MHD_ValueKind kind, const char *name,
                                    const char *value)
{
    struct collect *c = arg;
    (void)kind;
    if (c->n == HTTP_PAIRS_MAX) {
        c->bad = "too many fields";
        return MHD_NO;
    }
    if (!name || has_control(name) || (value && has_control(value))) {
        c->bad = "control characters";
        return MHD_NO;
    }
    c->pairs[c->n++] = (struct http_pair){.name = name, .value = value ? value : ""};
    return MHD_YES;
}

/* Fields whose repetition means that two readers could see two different requests (RFC 9110
 * section 7.2, RFC 9112 section 6.3). */
static const char *repeated_field(const struct http_request *req)
{
    static const char *const once[] = {
        "Host",          "Content-Length", "Transfer-Encoding", "Content-Type",
        "Authorization", "If-Match",       "Idempotency-Key",   "Origin",
        "Hawser-Csrf"};
    for (size_t i = 0; i < sizeof once / sizeof *once; i++) {
        size_t seen = 0;
        for (size_t k = 0; k < req->n_headers; k++)
            seen += !strcasecmp(req->headers[k].name, once[i]);
        if (seen > 1)
            return once[i];
    }
    return NULL;
}

/* Where a body ends must be beyond doubt (RFC 9112 section 6.3); the library reads on until the end
 * of the connection, or takes one of two answers. */
static const char *doubtful_length(const struct http_request *req)
{
    const char *coding = http_request_header(req, "Transfer-Encoding");
    if (!coding)
        return NULL;
    if (strcasecmp(coding, "chunked") != 0)
        return "chunked is the only transfer coding known here";
    return http_request_header(req, "Content-Length")
               ? "Content-Length and Transfer-Encoding exclude each other"
               : NULL;
}

/* The end of a line, which the library has made two NULs. NULL: it isn't there. */
static const char *line_end(const char *at, const char *end)
{
    return end - at >= 2 && !at[0] && !at[1] ? at + 2 : NULL;
}

/*
 * The library hands out C strings, which end at the client's first NUL; it also takes single line
 * feeds for ends of lines, joins folded lines (and harms their names), leaves out a field without a
 * name, and takes a NUL alone for the end of the head. What it has parsed still lies where it came
 * in, with separators and ends of lines turned into NULs: a head that consists of these parts and
 * of nothing else hides nothing.
 */
static bool is_whole(const struct http_request *req, const struct head_line *line, size_t size)
{
    const char *end = line->method + size, *at = line->version;
    if (line->method + strlen(line->method) + 1 != line->target ||
        line->target + line->target_len + 1 != line->version)
        return false;
    at = line_end(at + strlen(at), end);
    for (size_t i = 0; at && i < req->n_headers; i++) {
        const struct http_pair *h = &req->headers[i];
        if (at != h->name)
            return false;
        at += strlen(at) + 1;
        at += strspn(at, " \t");
        at = at == h->value ? line_end(at + strlen(at), end) : NULL;
    }
    return at && line_end(at, end) == end;
}

static int judge_form(const struct http_request *req, struct MHD_Connection *mhd,
                      const struct head_line *line, struct err *e)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);
    if (!is_token(line->method))
        return err_set(e, HW_EPROTO, "the method is none");
    if (line->blank_in_target) /* RFC 9112 section 3.2 */
        return err_set(e, HW_EPROTO, "a blank or control character in the request target");
    for (size_t i = 0; i < req->n_headers; i++)
        if (!is_token(req->headers[i].name)) /* RFC 9112 section 5.1 */
            return err_set(e, HW_EPROTO, "a header field's name is none");
    if (!info || !is_whole(req, line, info->header_size))
        return err_set(e, HW_EPROTO, "the head has a NUL, a folded line or a line feed alone");
    return 0;
}

int head_read(struct http_request *req, struct MHD_Connection *mhd, const struct head_line *line,
              struct err *e)
{
    struct collect headers = {.pairs = req->headers};
    (void)MHD_get_connection_values(mhd, MHD_HEADER_KIND, collect_pair, &headers);
    req->n_headers = headers.n;
    if (headers.bad)
        return err_set(e, HW_EPROTO, "%s in the header", headers.bad);
    int rc = judge_form(req, mhd, line, e);
    if (rc)
        return rc;
    const char *repeated = repeated_field(req);
    if (repeated)
        return err_set(e, HW_EPROTO, "header field %s appears more than once", repeated);
    /* RFC 9112 section 3.2. */
    if (strcmp(line->version, MHD_HTTP_VERSION_1_0) != 0 && !http_request_header(req, "Host"))
        return err_set(e, HW_EPROTO, "the header field Host is missing");
    const char *doubt = doubtful_length(req);
    return doubt ? err_set(e, HW_EPROTO, "%s", doubt) : 0;
}

int head_read_target(struct http_request *req, struct MHD_Connection *mhd, struct err *e)
{
    struct collect query = {.pairs = req->query};
    (void)MHD_get_connection_values(mhd, MHD_GET_ARGUMENT_KIND, collect_pair, &query);
    req->n_query = query.n;
    if (query.bad)
        return err_set_field(e, HW_EPROTO, "query", "%s in the query", query.bad);
    if (has_control(req->path))
        return err_set(e, HW_EPROTO, "control characters in the path");
    for (size_t i = 0; i < req->n_query; i++)
        for (size_t k = 0; k < i; k++)
            if (!strcmp(req->query[i].name, req->query[k].name))
                return err_set_field(e, HW_EPROTO, "query", "a query parameter appears twice");
    return 0;
}

enum http_method head_method(const char *name)
{
    if (!strcmp(name, MHD_HTTP_METHOD_HEAD))
        return HTTP_GET;
    for (enum http_method m = HTTP_GET; m < HTTP_OTHER; m++)
        if (!strcmp(name, http_method_name(m)))
            return m;
    return HTTP_OTHER;
}

struct head_line head_line_begin(const char *target)
{
    struct head_line line = {.target = target, .target_len = strlen(target)};
    line.blank_in_target = has_control(target) || strchr(target, ' ');
    return line;
}

size_t head_unescape(void *arg, struct MHD_Connection *mhd, char *s)
{
    (void)arg;
    (void)mhd;
    size_t len = MHD_http_unescape(s);
    for (size_t i = 0; i < len; i++)
        if ((unsigned char)s[i] < 0x20 || s[i] == 0x7f)
            s[i] = 0x01;
    return len;
}
