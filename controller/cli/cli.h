/*
 * One run of hawserctl: how to reach the controller, how to print, and why it failed. Functions of
 * this folder return an exit code: 0, or what cli_fail was told. The failure is kept, not printed:
 * main prints it once, `watch` shows it and goes on.
 */
#ifndef HAWSER_CONTROLLER_CLI_CLI_H
#define HAWSER_CONTROLLER_CLI_CLI_H

#include "common/json_show.h"
#include "common/strbuf.h"
#include <stdbool.h>
#include <stdint.h>

enum cli_exit {
    CLI_OK = 0,
    CLI_FAILED = 1,
    CLI_USAGE = 2, /* also 400 and 422 */
    CLI_NOT_FOUND = 3,
    CLI_NOT_ALLOWED = 4, /* 401, 403 */
    CLI_CONFLICT = 5,    /* 409, 412 */
};

enum cli_output { CLI_TABLE, CLI_WIDE, CLI_JSON, CLI_CSV };

struct http_client;
struct names;

struct cli {
    char *url;              /* https://HOST:PORT, without a slash at the end */
    char *authorization;    /* header line, or NULL: no token was given */
    const char *token_hint; /* where it was looked for */
    struct http_client *http;
    uint64_t timeout_ns;
    enum cli_output output;
    bool no_headers, verbose, yes;
    bool plan;               /* shows what a write would do instead of writing */
    bool colour;             /* standard output is a terminal that shows it */
    unsigned width;          /* of the terminal; 0: none, nothing is cut */
    bool stdin_taken;        /* by the token */
    struct names *names;     /* what was looked up */
    struct strbuf out;       /* results, written at the end of a command */
    char subject[160];       /* what the command is about: "site branch" */
    const char *noun, *verb; /* that are run */
    struct strbuf failure, hint;
};

void cli_done(struct cli *c);

/* Keeps why the command failed (control characters escaped) and returns `code`. The first one
 * stays. */
int cli_fail(struct cli *c, enum cli_exit code, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* What to do next; the first one stays. */
void cli_hint(struct cli *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Forgets failure and hint. */
void cli_forgive(struct cli *c);
int cli_no_memory(struct cli *c);

void cli_subject(struct cli *c, const char *noun, const char *name);

/* Value as JSON over several lines, without anything that a terminal would obey. */
int cli_put_json(struct cli *c, const struct json_at *at);
/* Writes what stands in c->out to standard output and empties it. Silent when nobody reads any more
 * (a closed pipe). */
int cli_flush(struct cli *c);

#endif
