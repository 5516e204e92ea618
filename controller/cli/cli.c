#include "controller/cli/cli.h"
#include "common/http_client.h"
#include "common/secret.h"
#include "controller/cli/names.h"
#include "controller/cli/visible.h"
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void cli_done(struct cli *c)
{
    free(c->url);
    if (c->authorization)
        secret_wipe(c->authorization, strlen(c->authorization));
    free(c->authorization);
    http_client_free(c->http);
    names_free(c->names);
    if (c->out.data)
        secret_wipe(c->out.data, c->out.len); /* an enrolment token may stand there */
    strbuf_done(&c->out);
    strbuf_done(&c->failure);
    strbuf_done(&c->hint);
    *c = (struct cli){0};
}

/* Formats into `into` unless something stands there. */
static void __attribute__((format(printf, 2, 0)))
keep(struct strbuf *into, const char *fmt, va_list ap)
{
    char *text = NULL;
    if (into->len > 0)
        return;
    if (vasprintf(&text, fmt, ap) < 0)
        text = NULL;
    visible_lines(into, text ? text : "out of memory", strlen(text ? text : "out of memory"));
    free(text);
}

int cli_fail(struct cli *c, enum cli_exit code, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    keep(&c->failure, fmt, ap);
    va_end(ap);
    return (int)code;
}

void cli_hint(struct cli *c, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    keep(&c->hint, fmt, ap);
    va_end(ap);
}

void cli_forgive(struct cli *c)
{
    strbuf_reset(&c->failure);
    strbuf_reset(&c->hint);
}

int cli_no_memory(struct cli *c)
{
    return cli_fail(c, CLI_FAILED, "out of memory");
}

void cli_subject(struct cli *c, const char *noun, const char *name)
{
    (void)snprintf(c->subject, sizeof c->subject, "%s%s%.*s", noun, name ? " " : "",
                   (int)sizeof c->subject - 40, name ? name : "");
}

int cli_put_json(struct cli *c, const struct json_at *at)
{
    char *text = json_pretty(at);
    if (!text)
        return cli_no_memory(c);
    visible_json(&c->out, text);
    strbuf_puts(&c->out, "\n");
    secret_wipe(text, strlen(text));
    free(text);
    return CLI_OK;
}

int cli_flush(struct cli *c)
{
    const char *p = strbuf_str(&c->out);
    size_t left = c->out.len;
    if (c->out.failed)
        return cli_no_memory(c);
    while (left > 0) {
        ssize_t n = write(STDOUT_FILENO, p, left);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EPIPE)
            return CLI_FAILED;
        if (n < 0)
            return cli_fail(c, CLI_FAILED, "standard output: %s", strerror(errno));
        p += n;
        left -= (size_t)n;
    }
    strbuf_reset(&c->out);
    return CLI_OK;
}
