#include "common/clock.h"
#include "common/evloop.h"
#include "common/log.h"
#include "common/sdnotify.h"
#include "controller/api/routes.h"
#include "controller/app.h"
#include "controller/audit_command.h"
#include "controller/auth/role.h"
#include "controller/bootstrap.h"
#include "controller/housekeeping.h"
#include "controller/restored.h"
#include "controller/service_user.h"
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

enum exit_code { EXIT_OK = 0, EXIT_FAILED = 1, EXIT_USAGE = 2, EXIT_DONE_BEFORE = 3 };

static const char usage_text[] =
    "hawser-controller: keeps topology and policy of a Hawser network and configures its gateways\n"
    "\n"
    "  hawser-controller [run] [--config FILE]    serve until SIGTERM; SIGHUP reads certificates "
    "anew\n"
    "  hawser-controller bootstrap [--config FILE] [--url https://HOST:PORT]… [--new-admin-token]\n"
    "                                             once, before the first start: store, CA, admin "
    "token\n"
    "  hawser-controller restored [--config FILE]\n"
    "                                             a backup was put in place: configs are held "
    "until "
    "an\n"
    "                                             admin accepts what this store says\n"
    "  hawser-controller audit verify [--from N] [--head N:HASH] [--config FILE]\n"
    "                                             is the audit whole? exit code 1 names the first "
    "record that isn't\n"
    "  hawser-controller --check-config [--config FILE]\n"
    "  hawser-controller --print-routes | --version | --help\n"
    "\n"
    "Each key of /etc/hawser/controller.json is a flag too (listen: --listen ADDRESS:PORT,…) and "
    "a\n"
    "variable (HAWSER_LISTEN). Exit codes: 0 ok, 1 failed, 2 usage, 3 bootstrapped already.\n";

enum verb {
    VERB_RUN,
    VERB_BOOTSTRAP,
    VERB_RESTORED,
    VERB_AUDIT,
    VERB_CHECK,
    VERB_ROUTES,
    VERB_VERSION,
    VERB_HELP
};

struct command {
    enum verb verb;
    const char *config;
    struct bootstrap_options bootstrap;
    struct audit_options audit;
    bool verify;
    struct settings_flag flags[SETTINGS_FLAGS_MAX];
    size_t n_flags;
};

static int usage(const char *why, const char *what)
{
    (void)fprintf(stderr, "hawser-controller: %s: %s\n\n%s", why, what, usage_text);
    return EXIT_USAGE;
}

static bool verb_of(const char *word, enum verb *out)
{
    static const struct {
        const char *word;
        enum verb verb;
    } verbs[] = {
        {"run", VERB_RUN},
        {"bootstrap", VERB_BOOTSTRAP},
        {"restored", VERB_RESTORED},
        {"audit", VERB_AUDIT},
        {"--check-config", VERB_CHECK},
        {"--print-routes", VERB_ROUTES},
        {"--version", VERB_VERSION},
        {"--help", VERB_HELP},
        {"-h", VERB_HELP},
    };
    for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++) {
        if (!strcmp(word, verbs[i].word)) {
            *out = verbs[i].verb;
            return true;
        }
    }
    return false;
}

/* A word of "audit verify …". How many words it takes; 0: it is none. */
static int parse_audit(const char *word, const char *value, struct command *c)
{
    if (!strcmp(word, "verify") && !c->verify)
        return c->verify = true;
    if (!strcmp(word, "--from") && value && audit_command_from(value, &c->audit))
        return 2;
    if (!strcmp(word, "--head") && value && audit_command_head(value, &c->audit))
        return 2;
    return 0;
}

/* Words left after the settings' flags are taken out. */
static int parse(int argc, char **argv, struct command *c)
{
    bool have_verb = false;
    for (int i = 1; i < argc; i++) {
        const char *word = argv[i], *value = i + 1 < argc ? argv[i + 1] : NULL;
        bool is_config = !strcmp(word, "--config"), is_url = !strcmp(word, "--url");
        if (is_config || is_url) {
            if (!value)
                return usage("a value is missing after", word);
            i++;
            if (is_config)
                c->config = value;
            else if (c->bootstrap.n_urls == BOOTSTRAP_URLS_MAX)
                return usage("too many", word);
            else
                c->bootstrap.urls[c->bootstrap.n_urls++] = value;
        } else if (!strcmp(word, "--new-admin-token")) {
            c->bootstrap.new_admin_token = true;
        } else if (have_verb && c->verb == VERB_AUDIT) {
            int used = parse_audit(word, value, c);
            if (!used)
                return usage("audit verify has no such word, or not this value for it", word);
            i += used - 1;
        } else if (!have_verb && verb_of(word, &c->verb)) {
            have_verb = true;
        } else {
            return usage("unknown word", word);
        }
    }
    if (c->verb != VERB_BOOTSTRAP && (c->bootstrap.n_urls || c->bootstrap.new_admin_token))
        return usage("--url and --new-admin-token belong to", "bootstrap");
    if (c->verb == VERB_AUDIT && !c->verify)
        return usage("what of the audit?", "audit verify");
    return EXIT_OK;
}

/* One line a route: listener, method, path, role. Compared with the OpenAPI document by a test. */
static int print_routes(void)
{
    for (size_t i = 0; i < routes_count; i++)
        printf("%s %s %s %s\n", routes[i].listener == HTTP_AGENTS ? "agents" : "people",
               http_method_name(routes[i].method), routes[i].path, role_name(routes[i].role));
    return EXIT_OK;
}

/* Each parked poll is an open socket. */
static void raise_file_limit(void)
{
    struct rlimit r;
    if (getrlimit(RLIMIT_NOFILE, &r) == 0 && r.rlim_cur < r.rlim_max) {
        r.rlim_cur = r.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &r);
    }
}

struct running {
    struct app *app;
    struct evloop *loop;
    struct ev_timer *watchdog;
};

static void on_stop(void *arg, int signo)
{
    struct running *r = arg;
    log_info("stopping signal=%d", signo);
    sdnotify_send("STOPPING=1");
    r->app->stopping = true;
    evloop_stop(r->loop);
}

static void on_reload(void *arg, int signo)
{
    struct running *r = arg;
    struct err e = {0};
    (void)signo;
    if (app_renew_certificates(r->app, &e))
        log_error("certificates not read anew: %s", e.text);
    else
        log_info("certificates read anew");
}

static void on_watchdog(void *arg)
{
    struct running *r = arg;
    sdnotify_send("WATCHDOG=1");
    evloop_timer_arm(r->watchdog, sdnotify_watchdog_ns());
}

/* Before any thread starts, so that they inherit the blocked signals. */
static int prepare_loop(struct running *r, struct err *e)
{
    int rc = evloop_new(&r->loop, e);
    if (!rc)
        rc = evloop_signal(r->loop, SIGTERM, on_stop, r, e);
    if (!rc)
        rc = evloop_signal(r->loop, SIGINT, on_stop, r, e);
    if (!rc)
        rc = evloop_signal(r->loop, SIGHUP, on_reload, r, e);
    if (!rc && sdnotify_watchdog_ns()) {
        r->watchdog = evloop_timer_add(r->loop, on_watchdog, r);
        if (!r->watchdog)
            return err_set(e, HW_ENOMEM, "out of memory");
        evloop_timer_arm(r->watchdog, 0);
    }
    return rc;
}

static int serve(struct running *r, struct err *e)
{
    struct housekeeping *h = NULL;
    int rc = prepare_loop(r, e);
    if (!rc)
        rc = app_start(r->app, e);
    if (rc)
        return rc;
    rc = housekeeping_start(r->app, r->loop, &h, e);
    if (!rc) {
        log_info("ready version=%s state_dir=%s", HAWSER_VERSION, r->app->settings.state_dir);
        sdnotify_send("READY=1");
        rc = evloop_run(r->loop, e);
    }
    app_stop(r->app);
    housekeeping_stop(h);
    return rc;
}

static int run(const struct settings *s)
{
    struct err e = {0};
    struct running r = {.app = calloc(1, sizeof *r.app)};
    if (!r.app)
        return EXIT_FAILED;
    if (service_user_enter(s->user, s->state_dir, &e)) {
        log_error("%s", e.text);
        free(r.app);
        return EXIT_FAILED;
    }
    r.app->settings = *s;
    raise_file_limit();
    (void)signal(SIGPIPE, SIG_IGN);
    sdnotify_init();
    int rc = serve(&r, &e);
    if (rc)
        log_error("%s", e.text);
    evloop_free(r.loop);
    free(r.app);
    return rc ? EXIT_FAILED : EXIT_OK;
}

static int bootstrap(const struct settings *s, const struct bootstrap_options *o)
{
    struct err e = {0};
    int rc = bootstrap_run(s, o, &e);
    if (rc)
        (void)fprintf(stderr, "hawser-controller: bootstrap: %s\n", e.text);
    return rc == HW_ECONFLICT ? EXIT_DONE_BEFORE : rc ? EXIT_FAILED : EXIT_OK;
}

static int audit(const struct settings *s, const struct audit_options *o)
{
    struct err e = {0};
    bool intact = false;
    if (audit_command_verify(s, o, &intact, &e))
        (void)fprintf(stderr, "hawser-controller: audit: %s\n", e.text);
    return intact ? EXIT_OK : EXIT_FAILED;
}

static int restored(const struct settings *s)
{
    struct err e = {0};
    if (restored_run(s, &e)) {
        (void)fprintf(stderr, "hawser-controller: restored: %s\n", e.text);
        return EXIT_FAILED;
    }
    printf("configs are held: once the controller runs, repeat revocations that the backup lacks, "
           "then POST /api/v1/revisions/accept\n");
    return EXIT_OK;
}

static int with_settings(const struct command *c)
{
    struct err e = {0};
    struct settings *s = calloc(1, sizeof *s);
    int code = EXIT_OK;
    if (!s)
        return EXIT_FAILED;
    if (controller_settings_load(c->config, c->flags, c->n_flags, s, &e)) {
        (void)fprintf(stderr, "hawser-controller: settings: %s\n", e.text);
        free(s);
        return EXIT_USAGE;
    }
    log_init("controller", s->log_level);
    if (c->verb == VERB_CHECK)
        printf("settings are in order\n");
    else if (c->verb == VERB_BOOTSTRAP)
        code = bootstrap(s, &c->bootstrap);
    else if (c->verb == VERB_RESTORED)
        code = restored(s);
    else if (c->verb == VERB_AUDIT)
        code = audit(s, &c->audit);
    else
        code = run(s);
    free(s);
    return code;
}

int main(int argc, char **argv)
{
    struct command c = {.verb = VERB_RUN};
    struct err e = {0};
    (void)umask(0077);
    if (settings_take_flags(controller_settings_rows, controller_settings_rows_count, &argc, argv,
                            c.flags, &c.n_flags, &e))
        return usage("flags", e.text);
    int code = parse(argc, argv, &c);
    if (code)
        return code;
    switch (c.verb) {
    case VERB_HELP:
        return fputs(usage_text, stdout) < 0 ? EXIT_FAILED : EXIT_OK;
    case VERB_VERSION:
        printf("hawser-controller %s\n", HAWSER_VERSION);
        return EXIT_OK;
    case VERB_ROUTES:
        return print_routes();
    default:
        return with_settings(&c);
    }
}
