#include "controller/cli/operation.h"
#include "common/clock.h"
#include "controller/cli/api.h"
#include "controller/cli/cell.h"
#include "controller/cli/nouns.h"
#include "controller/cli/table.h"
#include "controller/cli/visible.h"
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define LOOK_FIRST_MS 200
#define LOOK_MS       1000

static const struct column hop_columns[] = {
    COLUMN("HOP", "hop", TEXT),
    COLUMN("ADDRESS", "address", TEXT),
    COLUMN("NAME", "name", TEXT),
    COLUMN_OF("ANSWERED", "answered", "sent"),
    COLUMN("RTT", "rtt_ms.avg", MS),
    COLUMN("MTU", "mtu", TEXT),
    COLUMN("KNOWN BY", "mtu_source", TEXT),
    COLUMN("NOTE", "note", TEXT),
    COLUMNS_END,
};

static const struct column reply_columns[] = {
    COLUMN("SEQUENCE", "sequence", TEXT), COLUMN("FROM", "from", TEXT),
    COLUMN("RTT", "rtt_ms", MS),          COLUMN("TTL", "ttl", TEXT),
    COLUMN("ERROR", "error", TEXT),       COLUMNS_END,
};

static const struct column attempt_columns[] = {
    COLUMN("OUTCOME", "outcome", TEXT),
    COLUMN("AFTER", "duration_ms", MS),
    COLUMN("ERROR", "error", TEXT),
    COLUMNS_END,
};

static volatile sig_atomic_t interrupted;

static void on_interrupt(int number)
{
    (void)number;
    interrupted = 1;
}

static bool is_over(const char *state)
{
    return strcmp(state, "queued") != 0 && strcmp(state, "running") != 0;
}

/* ---- progress, on a terminal alone ---- */

static void put_progress(const struct json_at *operation)
{
    struct strbuf line = STRBUF_INIT;
    struct json_at total;
    if (!isatty(STDERR_FILENO))
        return;
    strbuf_puts(&line, "\r\x1b[K");
    visible_text(&line, json_plain_at(operation, "state"));
    if (json_find(operation, "progress.total", &total) && json_kind(&total) == JSON_KIND_NUMBER) {
        strbuf_puts(&line, ", ");
        visible_text(&line, json_plain_at(operation, "progress.done"));
        strbuf_puts(&line, " of ");
        visible_text(&line, json_plain(&total));
    }
    strbuf_puts(&line, " ");
    visible_text(&line, json_plain_at(operation, "progress.text"));
    (void)fputs(strbuf_str(&line), stderr);
    (void)fflush(stderr);
    strbuf_done(&line);
}

static void clear_progress(void)
{
    if (isatty(STDERR_FILENO))
        (void)fputs("\r\x1b[K", stderr);
}

/* ---- result ---- */

static void put_line(struct cli *c, const char *before, const char *text)
{
    strbuf_puts(&c->out, before);
    visible_text(&c->out, text);
    strbuf_puts(&c->out, "\n");
}

static int put_rows(struct cli *c, const struct json_at *result, const char *member,
                    const struct column *columns)
{
    struct json_at rows;
    return json_find(result, member, &rows) && json_length(&rows) > 0
               ? table_print(c, columns, &rows)
               : CLI_OK;
}

static int put_way(struct cli *c, const struct json_at *result, const char *way)
{
    struct json_at trace;
    if (!json_find(result, way, &trace) || json_kind(&trace) != JSON_KIND_OBJECT)
        return CLI_OK;
    strbuf_printf(&c->out, "%s, ", way);
    visible_text(&c->out, json_plain_at(&trace, "source_address"));
    strbuf_puts(&c->out, " to ");
    visible_text(&c->out, json_plain_at(&trace, "destination_address"));
    put_line(c, " by ", json_plain_at(&trace, "protocol"));
    int rc = put_rows(c, &trace, "hops", hop_columns);
    strbuf_puts(&c->out, "\n");
    return rc;
}

/* What was found, and whether it is what one hopes for: an answer, a connection, the far end. */
static bool is_good(const struct json_at *operation)
{
    const char *kind = json_plain_at(operation, "kind");
    if (strcmp(json_plain_at(operation, "state"), "succeeded") != 0)
        return false;
    if (strcmp(kind, "ping") == 0)
        return strcmp(json_plain_at(operation, "result.received"), "0") != 0;
    if (strcmp(kind, "tcp-connect") == 0)
        return strcmp(json_plain_at(operation, "result.outcome"), "connected") == 0;
    return strcmp(json_plain_at(operation, "result.outward.reached"), "true") == 0;
}

static int put_result(struct cli *c, const struct json_at *operation)
{
    struct json_at result = json_root(NULL);
    const char *error = json_plain_at(operation, "error.text");
    (void)json_find(operation, "result", &result);
    if (c->output == CLI_JSON)
        return cli_put_json(c, operation);
    int rc = put_way(c, &result, "outward");
    rc = rc ? rc : put_way(c, &result, "back");
    rc = rc ? rc : put_rows(c, &result, "replies", reply_columns);
    if (strcmp(json_plain_at(operation, "kind"), "tcp-connect") == 0)
        rc = rc ? rc : put_rows(c, &result, "attempts", attempt_columns);
    if (json_plain_at(&result, "verdict")[0])
        put_line(c, "", json_plain_at(&result, "verdict"));
    if (!rc && error[0])
        return cli_fail(c, CLI_FAILED, "%s: %s: %s", c->subject, json_plain_at(operation, "state"),
                        error);
    return rc;
}

/* ---- waiting ---- */

static int cancel(struct cli *c, const char *path)
{
    struct api_reply reply = {0};
    char full[128];
    (void)snprintf(full, sizeof full, "%s/cancel", path);
    int rc = api_call(c, "POST", full, NULL, &reply);
    api_reply_done(&reply);
    return rc;
}

/* Sleeps; a Ctrl-C ends it early. */
static void rest(unsigned ms)
{
    struct timespec t = {.tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000};
    (void)nanosleep(&t, NULL);
}

int operation_follow(struct cli *c, const char *id)
{
    struct sigaction wish = {.sa_handler = on_interrupt}, before;
    char path[100];
    bool cancelled = false, over = false;
    int rc = CLI_OK;
    (void)snprintf(path, sizeof path, "%s/%s", noun_operation.path, id);
    (void)sigaction(SIGINT, &wish, &before);
    for (unsigned looks = 0; !rc && !over; looks++) {
        struct api_reply reply = {0};
        if (looks > 0)
            rest(looks < 10 ? LOOK_FIRST_MS : LOOK_MS);
        if (interrupted && !cancelled) {
            cancelled = true;
            rc = cancel(c, path);
        }
        rc = rc ? rc : api_call(c, "GET", path, NULL, &reply);
        const struct json_at operation = json_root(reply.json);
        over = !rc && is_over(json_plain_at(&operation, "state"));
        if (over) {
            clear_progress();
            rc = put_result(c, &operation);
            rc = rc ? rc : is_good(&operation) ? CLI_OK : CLI_FAILED;
        } else if (!rc) {
            put_progress(&operation);
        }
        api_reply_done(&reply);
    }
    (void)sigaction(SIGINT, &before, NULL);
    return rc;
}
