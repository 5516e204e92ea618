#include "agent/control/diag/diag.h"
#include "agent/control/diag/job.h"
#include "agent/control/diag/overlay_source.h"
#include "common/clock.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COMMAND_TIME_NS (120 * NS_PER_S)

struct task {
    struct diag *d;
    struct command command;
    const struct job_kind *kind; /* NULL: a free place */
    void *job;
    struct ev_timer *deadline;
};

struct diag {
    struct evloop *loop;
    const struct agent_settings *settings;
    const struct diag_events *events;
    void *arg;
    struct diag_budget budget;
    struct task tasks[DIAG_AT_ONCE];
};

/* ---- what is not done ---- */

/* The overlay leads where the config has a route of this gateway's own traffic to other sites. */
static bool overlay_reaches(const struct gateway_config *config, const struct ipaddr *target)
{
    for (size_t i = 0; i < config->n_peers; i++)
        if (ipaddr_equal(&config->peers[i].overlay4, target) ||
            ipaddr_equal(&config->peers[i].overlay6, target))
            return true;
    for (size_t i = 0; i < config->n_routes; i++)
        if (config->routes[i].target == ROUTE_SET &&
            prefix_contains(&config->routes[i].prefix, target))
            return true;
    return false;
}

const char *diag_refusal(const struct command *c, const struct gateway_config *config,
                         const char **code)
{
    *code = "not-permitted";
    if (c->refusal[0])
        return c->refusal;
    *code = "unsupported";
    if (c->kind == COMMAND_UNKNOWN)
        return "this agent does not know such a command";
    *code = "refused";
    if (ipaddr_is_special(&c->target))
        return "no target: multicast, broadcast, loopback, unspecified or link-local";
    *code = "no-route";
    if (c->network == COMMAND_OVERLAY && !config)
        return "no config is in force yet";
    if (c->network == COMMAND_OVERLAY && !overlay_reaches(config, &c->target))
        return "no tunnel leads to this target";
    return NULL;
}

static const char *code_of(int rc)
{
    switch (rc) {
    case HW_ENOTFOUND:
        return "no-route";
    case HW_EFORBIDDEN:
        return "refused";
    case HW_EINVAL:
    case HW_ETOOBIG:
    case HW_ETIMEOUT:
        return "not-permitted";
    default:
        return "internal";
    }
}

/* ---- tasks ---- */

static struct task *find(struct diag *d, const struct hw_id *id)
{
    for (size_t i = 0; i < DIAG_AT_ONCE; i++)
        if (d->tasks[i].kind && id_equal(&d->tasks[i].command.id, id))
            return &d->tasks[i];
    return NULL;
}

static void clear(struct task *t)
{
    if (t->kind && t->job)
        t->kind->free(t->job);
    t->kind = NULL;
    t->job = NULL;
    evloop_timer_disarm(t->deadline);
}

/* Its place is free before the end is told: what is told may start the next. */
static void finish(struct task *t, enum command_state state, const char *code, const char *text)
{
    struct diag *d = t->d;
    struct hw_id id = t->command.id;
    char *result = NULL, reason[ERR_TEXT_MAX];
    (void)snprintf(reason, sizeof reason, "%s", text);
    if (t->job) {
        struct json_writer w;
        size_t len = 0;
        json_writer_init(&w);
        t->kind->put(t->job, &w);
        result = json_finish(&w, &len);
        if (result && len > COMMAND_RESULT_MAX) {
            free(result);
            result = NULL;
        }
    }
    clear(t);
    d->events->over(d->arg, &id, state, result, code, reason);
}

static void on_progress(void *arg, unsigned done, unsigned total, const char *text)
{
    struct task *t = arg;
    t->d->events->progress(t->d->arg, &t->command.id, done, total, text);
}

static void on_over(void *arg, const struct err *why)
{
    if (why)
        finish(arg, COMMAND_FAILED, code_of(why->code), why->text);
    else
        finish(arg, COMMAND_SUCCEEDED, NULL, "");
}

static const struct job_events job_events = {on_progress, on_over};

static void on_deadline(void *arg)
{
    finish(arg, COMMAND_FAILED, "not-permitted", "120 s are over, no command may take longer");
}

static struct task *free_task(struct diag *d)
{
    for (size_t i = 0; i < DIAG_AT_ONCE; i++)
        if (!d->tasks[i].kind)
            return &d->tasks[i];
    return NULL;
}

void diag_start(struct diag *d, const struct command *c, const struct gateway_config *config)
{
    static const struct job_kind *const kinds[] = {&job_trace_path, &job_ping, &job_tcp_connect};
    const char *code, *refusal = diag_refusal(c, config, &code);
    struct task *t = free_task(d);
    if (!refusal && !t) {
        refusal = "two commands are under way at this gateway";
        code = "busy";
    }
    if (refusal) {
        d->events->over(d->arg, &c->id, COMMAND_FAILED, NULL, code, refusal);
        return;
    }
    struct err e = {0};
    t->command = *c;
    if (c->network == COMMAND_OVERLAY)
        t->command.source = overlay_source(d->settings, config, &c->target);
    t->kind = kinds[c->kind];
    evloop_timer_arm(t->deadline, COMMAND_TIME_NS);
    struct job_env env = {.loop = d->loop,
                          .budget = &d->budget,
                          .command = &t->command,
                          .events = &job_events,
                          .arg = t};
    int rc = t->kind->start(&env, &t->job, &e);
    if (rc < 0)
        finish(t, COMMAND_FAILED, code_of(rc), e.text);
}

bool diag_cancel(struct diag *d, const struct hw_id *id)
{
    struct task *t = find(d, id);
    if (t)
        finish(t, COMMAND_CANCELLED, "cancelled", "cancelled");
    return t != NULL;
}

int diag_new(struct evloop *loop, const struct agent_settings *settings,
             const struct diag_events *events, void *arg, struct diag **out, struct err *e)
{
    struct diag *d = calloc(1, sizeof *d);
    if (!d)
        return err_set(e, HW_ENOMEM, "out of memory");
    d->loop = loop;
    d->settings = settings;
    d->events = events;
    d->arg = arg;
    for (size_t i = 0; i < DIAG_AT_ONCE; i++) {
        d->tasks[i].d = d;
        d->tasks[i].deadline = evloop_timer_add(loop, on_deadline, &d->tasks[i]);
        if (!d->tasks[i].deadline) {
            diag_free(d);
            return err_set(e, HW_ENOMEM, "out of memory");
        }
    }
    *out = d;
    return 0;
}

void diag_free(struct diag *d)
{
    if (!d)
        return;
    for (size_t i = 0; i < DIAG_AT_ONCE; i++) {
        if (!d->tasks[i].deadline)
            continue;
        clear(&d->tasks[i]);
        evloop_timer_remove(d->tasks[i].deadline);
    }
    free(d);
}
