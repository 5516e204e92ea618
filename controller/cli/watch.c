#include "common/clock.h"
#include "controller/cli/args.h"
#include "controller/cli/body.h"
#include "controller/cli/cell.h"
#include "controller/cli/commands.h"
#include "controller/cli/names.h"
#include "controller/cli/status.h"
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

/* What the terminal is put back to; read by the signal handler. */
static struct termios terminal_before;
static volatile sig_atomic_t terminal_changed, screen_taken;

static const char screen_take[] = "\x1b[?1049h\x1b[?25l";
static const char screen_give[] = "\x1b[?25h\x1b[?1049l";

static void restore(void)
{
    if (terminal_changed)
        (void)tcsetattr(STDIN_FILENO, TCSANOW, &terminal_before);
    if (screen_taken && write(STDOUT_FILENO, screen_give, sizeof screen_give - 1) < 0)
        return;
    terminal_changed = 0;
    screen_taken = 0;
}

/* A request may be under way, so the end is made here; both calls may be made by a handler. */
static void on_signal(int number)
{
    (void)number;
    restore();
    _exit(CLI_OK);
}

/* Keys without Enter and without echo, on a screen that is given back afterwards. */
static void prepare(const struct cli *c)
{
    struct sigaction end = {.sa_handler = on_signal};
    struct termios keys;
    (void)sigaction(SIGINT, &end, NULL);
    (void)sigaction(SIGTERM, &end, NULL);
    (void)sigaction(SIGHUP, &end, NULL);
    if (isatty(STDIN_FILENO) && tcgetattr(STDIN_FILENO, &terminal_before) == 0) {
        keys = terminal_before;
        keys.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
        terminal_changed = 1;
        (void)tcsetattr(STDIN_FILENO, TCSANOW, &keys);
    }
    if (c->width > 0 && write(STDOUT_FILENO, screen_take, sizeof screen_take - 1) > 0)
        screen_taken = 1;
}

/* False: the operator wants to end. */
static bool wait_for_key(uint64_t seconds)
{
    uint64_t end = clock_mono_ns() + seconds * NS_PER_S;
    for (;;) {
        uint64_t now = clock_mono_ns();
        struct pollfd key = {.fd = terminal_changed ? STDIN_FILENO : -1, .events = POLLIN};
        char pressed = 0;
        if (now >= end)
            return true;
        int n = poll(&key, 1, (int)((end - now) / NS_PER_MS) + 1);
        if (n > 0 && (read(STDIN_FILENO, &pressed, 1) <= 0 || pressed == 'q'))
            return false;
        if (n < 0 && errno != EINTR)
            return false;
    }
}

/* One page over the last one: each line is cleared behind its end, and all below. */
static int put_page(struct cli *c)
{
    char *page = strbuf_take(&c->out);
    if (!page)
        return cli_no_memory(c);
    if (screen_taken)
        strbuf_puts(&c->out, "\x1b[H");
    for (const char *line = page; *line;) {
        size_t len = strcspn(line, "\n");
        strbuf_add(&c->out, line, len);
        strbuf_puts(&c->out, screen_taken ? "\x1b[K\n" : "\n");
        line += len + (line[len] == '\n');
    }
    strbuf_puts(&c->out, screen_taken ? "\x1b[J" : "\n");
    free(page);
    return cli_flush(c);
}

/* Without an answer nothing of the page before is shown: it may be wrong by now. */
static void put_failure(struct cli *c, uint64_t seen_ns)
{
    strbuf_reset(&c->out);
    strbuf_printf(&c->out, "%sno answer%s", cell_begin(c, COLOUR_BAD), cell_end(c, COLOUR_BAD));
    if (seen_ns) {
        strbuf_puts(&c->out, " since ");
        cell_span(&c->out, (int64_t)((clock_mono_ns() - seen_ns) / NS_PER_S));
    }
    strbuf_printf(&c->out, "\n%s\n", strbuf_str(&c->failure));
    if (c->hint.len)
        strbuf_printf(&c->out, "hint: %s\n", strbuf_str(&c->hint));
    cli_forgive(c);
}

static int run(struct cli *c, const struct noun *n, const struct verb *v, struct args *a)
{
    const char *text = args_value(a, "interval");
    uint64_t interval = 2, seen_ns = 0;
    unsigned not_up;
    int rc;
    (void)n;
    (void)v;
    if (text && (!body_duration(text, &interval) || interval < 1 || interval > 3600))
        return cli_fail(c, CLI_USAGE, "--interval %s: must be from 1 to 3600 seconds", text);
    c->output = c->output == CLI_JSON ? CLI_TABLE : c->output;
    prepare(c);
    do {
        names_reset(c);
        rc = status_page(c, &not_up);
        if (rc == CLI_USAGE || rc == CLI_NOT_ALLOWED)
            break;
        if (rc)
            put_failure(c, seen_ns);
        else
            seen_ns = clock_mono_ns();
        rc = put_page(c);
    } while (!rc && wait_for_key(interval));
    restore();
    return rc;
}

static const struct flag flags[] = {
    FLAG("interval", NULL, DURATION, "between two looks; 2 when absent"),
    FLAGS_END,
};

static const struct verb verbs[] = {
    {.name = "",
     .summary = "Shows the status again and again, until q or Ctrl-C",
     .example = "watch --interval 5",
     .flags = flags,
     .run = run},
    VERBS_END,
};

const struct noun noun_watch = {
    .name = "watch",
    .title = "The status again and again",
    .verbs = verbs,
};
