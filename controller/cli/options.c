#include "controller/cli/options.h"
#include "common/cleanup.h"
#include "common/clock.h"
#include "common/fsutil.h"
#include "common/http_client.h"
#include "common/secret.h"
#include <errno.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#define TOKEN_MAX   4096
#define WEB_CA      "/var/lib/hawser/web-ca.pem"
#define ETC_CONFIG  "/etc/hawser/hawserctl.json"
#define URL_DEFAULT "https://localhost:8443"

struct reach {
    char *url, *ca_file, *token_file;
    uint64_t timeout;
};

static const struct settings_row rows[] = {
    {.key = "url", .type = SETTINGS_STR, .offset = offsetof(struct reach, url)},
    {.key = "ca_file", .type = SETTINGS_STR, .offset = offsetof(struct reach, ca_file)},
    {.key = "token_file", .type = SETTINGS_STR, .offset = offsetof(struct reach, token_file)},
    {.key = "timeout",
     .type = SETTINGS_UINT,
     .offset = offsetof(struct reach, timeout),
     .fallback = "30",
     .min = 1,
     .max = 3600},
};
#define N_ROWS (sizeof rows / sizeof *rows)

const struct option_row option_rows[] = {
    {"--url", "URL", "controller; default " URL_DEFAULT " (HAWSER_URL)"},
    {"--ca", "FILE", "CA of its certificate; default the system's (HAWSER_CA)"},
    {"--token-file", "FILE", "API token; - is standard input (HAWSER_TOKEN_FILE, HAWSER_TOKEN)"},
    {"--config", "FILE",
     "default ~/.config/hawser/hawserctl.json or the one in /etc (HAWSER_CONFIG)"},
    {"--timeout", "SECONDS", "of each request; default 30"},
    {"-o", "table|wide|json", "form of the output"},
    {"--no-headers", NULL, "tables without their first line"},
    {"--yes", NULL, "asks nothing"},
    {"--plan", NULL, "shows what a write would do instead of writing"},
    {"-v", NULL, "requests on standard error"},
    {"--help", NULL, "of hawserctl, of a noun, of a verb"},
    {NULL, NULL, NULL},
};

/* ---- flags ---- */

static int add_flag(struct cli *c, struct options *o, const char *key, const char *value)
{
    if (o->n_flags == SETTINGS_FLAGS_MAX)
        return cli_fail(c, CLI_USAGE, "too many options");
    o->flags[o->n_flags++] = (struct settings_flag){.key = key, .value = value};
    return CLI_OK;
}

static int set_output(struct cli *c, const char *value)
{
    static const char *const names[] = {"table", "wide", "json", "csv"};
    for (unsigned i = 0; i < 4; i++) {
        if (strcmp(value, names[i]) != 0)
            continue;
        c->output = (enum cli_output)i;
        return CLI_OK;
    }
    cli_hint(c, "table, wide or json; csv for telemetry");
    return cli_fail(c, CLI_USAGE, "-o %s: no such form of output", value);
}

static int take_value(struct cli *c, struct options *o, const char *name, const char *value)
{
    if (strcmp(name, "--config") == 0) {
        o->config = value;
        return CLI_OK;
    }
    if (strcmp(name, "-o") == 0)
        return set_output(c, value);
    return add_flag(c, o,
                    strcmp(name, "--ca") == 0           ? "ca_file"
                    : strcmp(name, "--token-file") == 0 ? "token_file"
                                                        : name + 2,
                    value);
}

static void take_switch(struct cli *c, struct options *o, const char *name)
{
    if (strcmp(name, "--no-headers") == 0)
        c->no_headers = true;
    else if (strcmp(name, "--yes") == 0)
        c->yes = true;
    else if (strcmp(name, "--plan") == 0)
        c->plan = true;
    else if (strcmp(name, "-v") == 0)
        c->verbose = true;
    else
        o->help = true;
}

/* Row of an option; *behind is what follows '=' (or "-o" itself), or NULL. */
static const struct option_row *find_option(const char *word, const char **behind)
{
    size_t len = strcspn(word, "=");
    *behind = word[len] == '=' ? word + len + 1 : NULL;
    if (word[0] == '-' && word[1] == 'o' && word[2] != '\0' && word[2] != '=')
        *behind = word + 2, len = 2;
    for (const struct option_row *r = option_rows; r->name; r++)
        if (strlen(r->name) == len && memcmp(r->name, word, len) == 0)
            return r;
    return NULL;
}

int options_take(struct cli *c, int *argc, char **argv, struct options *out)
{
    int kept = 1, i = 1;
    for (; i < *argc && strcmp(argv[i], "--") != 0; i++) {
        const char *behind;
        const struct option_row *r = find_option(argv[i], &behind);
        int rc = CLI_OK;
        if (strcmp(argv[i], "--version") == 0) {
            out->version = true;
        } else if (strcmp(argv[i], "--print-verbs") == 0) {
            out->print_verbs = true;
        } else if (!r || (!r->value && behind)) {
            argv[kept++] = argv[i];
        } else if (!r->value) {
            take_switch(c, out, r->name);
        } else if (!behind && i + 1 >= *argc) {
            return cli_fail(c, CLI_USAGE, "%s needs a value: %s", r->name, r->value);
        } else {
            rc = take_value(c, out, r->name, behind ? behind : argv[++i]);
        }
        if (rc)
            return rc;
    }
    for (; i < *argc; i++)
        argv[kept++] = argv[i];
    argv[kept] = NULL;
    *argc = kept;
    return CLI_OK;
}

/* ---- files ---- */

static int read_stdin(struct cli *c, size_t cap, char **out, size_t *len)
{
    char *buf = malloc(cap + 1);
    size_t n = 0;
    if (!buf)
        return cli_no_memory(c);
    for (;;) {
        ssize_t got = read(STDIN_FILENO, buf + n, cap + 1 - n);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0 || (n += (size_t)got) > cap)
            break;
    }
    if (n > cap) {
        free(buf);
        return cli_fail(c, CLI_USAGE, "standard input is longer than %zu bytes", cap);
    }
    buf[n] = '\0';
    *out = buf;
    *len = n;
    return CLI_OK;
}

int options_read(struct cli *c, const char *path, size_t cap, char **out, size_t *len)
{
    struct err e = {0};
    if (strcmp(path, "-") == 0) {
        if (c->stdin_taken)
            return cli_fail(c, CLI_USAGE, "standard input cannot be both the token and --file");
        return read_stdin(c, cap, out, len);
    }
    if (fsutil_read(path, cap, out, len, &e))
        return cli_fail(c, CLI_USAGE, "%s", e.text);
    return CLI_OK;
}

/* ---- token ---- */

static int set_token(struct cli *c, const char *text, size_t len, const char *where)
{
    while (len > 0 && strchr(" \t\r\n", text[len - 1]))
        len--;
    for (size_t i = 0; i < len; i++)
        if (text[i] <= ' ' || text[i] > '~')
            return cli_fail(c, CLI_USAGE, "%s holds no API token: one line hwa1.…", where);
    if (len == 0)
        return cli_fail(c, CLI_USAGE, "%s is empty", where);
    if (asprintf(&c->authorization, "Authorization: Bearer %.*s", (int)len, text) < 0) {
        c->authorization = NULL;
        return cli_no_memory(c);
    }
    return CLI_OK;
}

/* A secret that others can read is none, so it is not used as one. */
static int judge_mode(struct cli *c, const char *path)
{
    struct stat st;
    if (stat(path, &st) != 0)
        return cli_fail(c, CLI_USAGE, "token file %s: %s", path, strerror(errno));
    if (S_ISREG(st.st_mode) && (st.st_mode & 077)) {
        cli_hint(c, "chmod 600 %s", path);
        return cli_fail(c, CLI_USAGE, "token file %s can be read by others (mode %04o)", path,
                        (unsigned)st.st_mode & 07777);
    }
    return CLI_OK;
}

static int load_token(struct cli *c, const char *path)
{
    char *text = NULL;
    size_t len = 0;
    bool from_stdin = strcmp(path, "-") == 0;
    int rc = from_stdin ? CLI_OK : judge_mode(c, path);
    rc = rc ? rc : options_read(c, path, TOKEN_MAX, &text, &len);
    if (!rc) {
        rc = set_token(c, text, len, from_stdin ? "standard input" : path);
        secret_wipe(text, len);
        free(text);
    }
    c->stdin_taken = from_stdin;
    return rc;
}

static bool is_flag_set(const struct options *o, const char *key)
{
    for (size_t i = 0; i < o->n_flags; i++)
        if (strcmp(o->flags[i].key, key) == 0)
            return true;
    return false;
}

static int find_token(struct cli *c, const struct options *o, const struct reach *r)
{
    const char *text = getenv("HAWSER_TOKEN");
    if (text && !is_flag_set(o, "token_file") && !getenv("HAWSER_TOKEN_FILE"))
        return set_token(c, text, strlen(text), "HAWSER_TOKEN");
    return r->token_file ? load_token(c, r->token_file) : CLI_OK;
}

/* ---- all of it ---- */

/* Writes the path of the file that is read when nobody names one; false: there is none. */
static bool default_config(char out[PATH_MAX])
{
    const char *xdg = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
    out[0] = '\0';
    if (xdg && xdg[0] == '/')
        (void)snprintf(out, PATH_MAX, "%s/hawser/hawserctl.json", xdg);
    else if (home && home[0] == '/')
        (void)snprintf(out, PATH_MAX, "%s/.config/hawser/hawserctl.json", home);
    if (out[0] && access(out, F_OK) == 0)
        return true;
    (void)snprintf(out, PATH_MAX, "%s", ETC_CONFIG);
    return access(out, F_OK) == 0;
}

static int set_url(struct cli *c, const char *url)
{
    size_t len = strlen(url);
    while (len > 0 && url[len - 1] == '/')
        len--;
    if (strncmp(url, "https://", 8) != 0 || len < 9 || memchr(url + 8, '/', len - 8)) {
        cli_hint(c, "--url https://controller.example.net:8443");
        return cli_fail(c, CLI_USAGE, "%s is not https://HOST:PORT", url);
    }
    c->url = strndup(url, len);
    return c->url ? CLI_OK : cli_no_memory(c);
}

static bool is_local(const char *url)
{
    static const char *const hosts[] = {"https://localhost", "https://127.0.0.1", "https://[::1]"};
    for (size_t i = 0; i < sizeof hosts / sizeof *hosts; i++) {
        size_t len = strlen(hosts[i]);
        if (strncmp(url, hosts[i], len) == 0 && (url[len] == ':' || url[len] == '\0'))
            return true;
    }
    return false;
}

static int make_client(struct cli *c, const char *ca_file)
{
    struct err e = {0};
    struct http_client_params p = {
        .trust = HTTP_TRUST_WEB,
        .ca_file = ca_file,
        .user_agent = "hawserctl/" HAWSER_VERSION,
    };
    if (ca_file && access(ca_file, R_OK) != 0)
        return cli_fail(c, CLI_USAGE, "CA file %s: %s", ca_file, strerror(errno));
    /* On the controller's own machine its certificate is judged by its own CA. */
    if (!ca_file && is_local(c->url) && access(WEB_CA, R_OK) == 0)
        p.ca_file = WEB_CA;
    if (http_client_new(&p, &c->http, &e))
        return cli_fail(c, CLI_FAILED, "%s", e.text);
    return CLI_OK;
}

static void look_at_terminal(struct cli *c)
{
    const char *term = getenv("TERM");
    struct winsize size;
    if (!isatty(STDOUT_FILENO))
        return;
    c->colour = !getenv("NO_COLOR") && term && strcmp(term, "dumb") != 0;
    c->width = 100;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col >= 40)
        c->width = size.ws_col;
}

int options_apply(struct cli *c, const struct options *o)
{
    struct err e = {0};
    char path[PATH_MAX];
    struct settings_flag flags[SETTINGS_FLAGS_MAX + 1];
    size_t n = 0;
    const char *config = o->config ? o->config : getenv("HAWSER_CONFIG"), *ca = getenv("HAWSER_CA");
    bool named = config != NULL;
    struct reach r;
    if (!named && default_config(path))
        config = path;
    if (ca)
        flags[n++] = (struct settings_flag){"ca_file", ca};
    memcpy(flags + n, o->flags, o->n_flags * sizeof *flags);
    n += o->n_flags;
    if (settings_load(rows, N_ROWS, config, named, flags, n, &r, &e))
        return cli_fail(c, CLI_USAGE, "%s", e.text);
    look_at_terminal(c);
    c->timeout_ns = r.timeout * NS_PER_S;
    int rc = set_url(c, r.url ? r.url : URL_DEFAULT);
    rc = rc ? rc : make_client(c, r.ca_file);
    rc = rc ? rc : find_token(c, o, &r);
    settings_done(rows, N_ROWS, &r);
    return rc;
}
