/* hawser-agent: the command line. Everything else starts in app.c. */
#include "agent/control/agent_clock.h"
#include "agent/control/app.h"
#include "agent/control/cloud/cloud.h"
#include "agent/control/ctl.h"
#include "agent/control/enrol.h"
#include "agent/control/identity.h"
#include "agent/control/settings.h"
#include "agent/control/state_dir.h"
#include "agent/control/status_text.h"
#include "common/clock.h"
#include "common/evloop.h"
#include "common/log.h"
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { EXIT_OK, EXIT_FAILED, EXIT_USAGE, EXIT_NOT_FOUND, EXIT_NOT_AUTHORISED };

static const char usage[] =
    "usage: hawser-agent [COMMAND] [--config FILE] [--KEY VALUE]…\n"
    "\n"
    "  run                 the service (default)\n"
    "  enrol               enrol with a token and end: hawser-agent enrol --token-file "
    "/etc/hawser/token\n"
    "  status              what this gateway has and does: hawser-agent status [--json | --dump]\n"
    "\n"
    "  --config FILE       settings, instead of " AGENT_SETTINGS_FILE "\n"
    "  --check-config      check the settings and end\n"
    "  --purge             take tunnels, hawser0, rules and routes down, put sysctls back, and "
    "end\n"
    "  --version, --help\n"
    "\n"
    "Each key of the settings is also a flag: --state-dir /var/lib/hawser\n";

struct options {
    const char *command;
    const char *config;
    bool check, purge, json, dump;
};

/* What is left of argv after the settings' own flags. Returns −1 to go on, or the exit status. */
static int parse(int argc, char **argv, struct options *o)
{
    for (int i = 1; i < argc; i++) {
        const char *a = argv[i];
        if (strcmp(a, "--help") == 0 || strcmp(a, "-h") == 0) {
            (void)fputs(usage, stdout);
            return EXIT_OK;
        }
        if (strcmp(a, "--version") == 0) {
            (void)puts("hawser-agent " HAWSER_VERSION);
            return EXIT_OK;
        }
        if (strcmp(a, "--config") == 0 && i + 1 < argc)
            o->config = argv[++i];
        else if (strncmp(a, "--config=", 9) == 0)
            o->config = a + 9;
        else if (strcmp(a, "--check-config") == 0)
            o->check = true;
        else if (strcmp(a, "--purge") == 0)
            o->purge = true;
        else if (strcmp(a, "--json") == 0)
            o->json = true;
        else if (strcmp(a, "--dump") == 0)
            o->dump = true;
        else if (a[0] != '-' && !o->command)
            o->command = a;
        else {
            (void)fprintf(stderr, "hawser-agent: not understood: %s (--help shows what is)\n", a);
            return EXIT_USAGE;
        }
    }
    return -1;
}

static int fail(const struct err *e)
{
    (void)fprintf(stderr, "hawser-agent: %s\n", e->text);
    return e->code == HW_EFORBIDDEN  ? EXIT_NOT_AUTHORISED
           : e->code == HW_ENOTFOUND ? EXIT_NOT_FOUND
                                     : EXIT_FAILED;
}

static int run_service(const struct agent_settings *s)
{
    struct err e = {0};
    if (app_run(s, &e) == 0)
        return EXIT_OK;
    log_error("%s", e.text);
    return EXIT_FAILED;
}

static int run_purge(const struct agent_settings *s)
{
    struct err e = {0};
    return app_purge(s, &e) < 0 ? fail(&e) : EXIT_OK;
}

static int run_status(const struct agent_settings *s, const struct options *o)
{
    struct err e = {0};
    char *json;
    size_t len;
    if (ctl_ask(s->run_dir, "status", &json, &len, &e) < 0)
        return fail(&e);
    int rc = 0;
    if (o->json)
        (void)printf("%s\n", json);
    else
        rc = o->dump ? status_text_dump(stdout, json, len, &e)
                     : status_text_print(stdout, json, len, clock_wall_s(), &e);
    free(json);
    return rc < 0 ? fail(&e) : EXIT_OK;
}

struct enrolment {
    struct enrol_params params;
    struct cloud *cloud;
    struct enrol *enrol;
    int status;
    struct err why;
};

static void on_enrolled(void *arg, int status, const struct err *why)
{
    struct enrolment *n = arg;
    n->status = status;
    n->why = *why;
    evloop_stop(n->params.loop);
}

/* Where the machine runs goes into the request, so the cloud is asked first. */
static void on_cloud_read(void *arg, bool changed)
{
    struct enrolment *n = arg;
    (void)changed;
    if (n->enrol)
        return;
    if (access(n->params.token_file, F_OK) != 0)
        n->params.token = cloud_token(n->cloud);
    n->status = enrol_start(&n->params, &n->enrol, &n->why);
    if (n->status == 0)
        return;
    cloud_explain(n->cloud, &n->why);
    evloop_stop(n->params.loop);
}

static void on_start(void *arg)
{
    struct enrolment *n = arg;
    if (!cloud_read(n->cloud, access(n->params.token_file, F_OK) != 0))
        on_cloud_read(n, false);
}

static int enrol_now(const struct agent_settings *s, struct identity *id, struct agent_clock *clock,
                     struct err *e)
{
    struct enrolment n = {.status = HW_EFAIL};
    struct evloop *loop;
    int rc = evloop_new(&loop, e);
    if (rc < 0)
        return rc;
    n.params = (struct enrol_params){.loop = loop,
                                     .settings = s,
                                     .token_file = s->token_file,
                                     .identity = id,
                                     .clock = clock,
                                     .done = on_enrolled,
                                     .arg = &n};
    struct ev_timer *start = evloop_timer_add(loop, on_start, &n);
    rc = start ? cloud_new(loop, s, on_cloud_read, &n, &n.cloud, e)
               : err_set(e, HW_ENOMEM, "out of memory");
    if (rc == 0) {
        n.params.facts = cloud_facts(n.cloud);
        evloop_timer_arm(start, 0);
        rc = evloop_run(loop, e);
        enrol_free(n.enrol);
        cloud_free(n.cloud);
    }
    if (rc == 0 && n.status < 0) {
        *e = n.why;
        rc = e->code = n.status;
    }
    evloop_free(loop);
    return rc;
}

static int run_enrol(const struct agent_settings *s)
{
    struct err e = {0};
    struct agent_clock *clock = NULL;
    struct identity *id = NULL;
    int rc;
    (void)signal(SIGPIPE, SIG_IGN);
    if ((rc = state_dir_make(s->state_dir, &e)) == 0 &&
        (rc = agent_clock_new(s->state_dir, &clock, &e)) == 0 &&
        (rc = identity_load(s->state_dir, &id, &e)) == 0)
        rc = enrol_now(s, id, clock, &e);
    struct err why = {0};
    if (state_dir_hand_over(s->state_dir, &why) < 0)
        (void)fprintf(stderr, "hawser-agent: %s\n", why.text);
    if (rc == 0) {
        char text[ID_TEXT_MAX];
        (void)printf("enrolled as gateway %s\n", id_text(identity_gateway_id(id), text));
    }
    identity_free(id);
    agent_clock_free(clock);
    return rc < 0 ? fail(&e) : EXIT_OK;
}

static int dispatch(const struct agent_settings *s, const struct options *o)
{
    if (o->purge)
        return run_purge(s);
    if (!o->command || strcmp(o->command, "run") == 0)
        return run_service(s);
    if (strcmp(o->command, "status") == 0)
        return run_status(s, o);
    if (strcmp(o->command, "enrol") == 0)
        return run_enrol(s);
    (void)fprintf(stderr, "hawser-agent: no such command: %s (--help shows them)\n", o->command);
    return EXIT_USAGE;
}

int main(int argc, char **argv)
{
    struct settings_flag flags[SETTINGS_FLAGS_MAX];
    struct agent_settings settings;
    struct options o = {0};
    size_t n_flags = 0;
    struct err e = {0};
    log_init("agent", LOG_LEVEL_INFO);
    if (agent_settings_flags(&argc, argv, flags, &n_flags, &e) < 0) {
        (void)fprintf(stderr, "hawser-agent: %s\n", e.text);
        return EXIT_USAGE;
    }
    int status = parse(argc, argv, &o);
    if (status >= 0)
        return status;
    if (agent_settings_load(o.config, flags, n_flags, &settings, &e) < 0) {
        (void)fprintf(stderr, "hawser-agent: %s\n", e.text);
        return EXIT_USAGE;
    }
    log_set_level(settings.log_level);
    if (o.check)
        (void)puts("settings are in order");
    status = o.check ? EXIT_OK : dispatch(&settings, &o);
    agent_settings_done(&settings);
    return status;
}
