/* ping: one round of echo requests. */
#include "agent/control/diag/job.h"
#include "common/clock.h"
#include "common/model/diag_result.h"
#include <stdio.h>
#include <stdlib.h>

#define PING_TTL 64

struct ping {
    struct job_env env;
    struct prober *prober;
    struct ping_result result;
};

static void on_reply(void *arg, const struct probe *p, const struct probe_reply *r, uint64_t rtt_ns,
                     bool first)
{
    struct ping *g = arg;
    char text[HW_TEXT_MAX + 1];
    if (p->number >= DIAG_REPLIES_MAX)
        return;
    struct ping_reply *reply = &g->result.replies[p->number];
    if (!first) {
        g->result.duplicates += r->kind == PROBE_TARGET;
        return;
    }
    reply->from = r->from;
    reply->ttl = r->ttl;
    if (r->kind == PROBE_TARGET) {
        reply->rtt_ms = (double)rtt_ns / NS_PER_MS;
        g->result.received++;
    } else if (r->kind == PROBE_TOO_BIG) {
        (void)snprintf(reply->error, sizeof reply->error, "too big: next hop takes %u", r->mtu);
    } else {
        (void)snprintf(reply->error, sizeof reply->error, "%s",
                       r->kind == PROBE_HOP ? "time exceeded" : r->note);
    }
    (void)snprintf(text, sizeof text, "%u of %u", p->number + 1u, g->env.command->count);
    g->env.events->progress(g->env.arg, p->number + 1u, g->env.command->count, text);
}

static void on_round_over(void *arg, const struct err *why)
{
    struct ping *g = arg;
    g->env.events->over(g->env.arg, why);
}

static void ping_free(void *job)
{
    struct ping *g = job;
    if (!g)
        return;
    prober_free(g->prober);
    free(g);
}

static int ping_start(const struct job_env *env, void **job, struct err *e)
{
    static const struct prober_handler handler = {on_reply, on_round_over};
    const struct command *c = env->command;
    struct ping *g = calloc(1, sizeof *g);
    if (!g)
        return err_set(e, HW_ENOMEM, "out of memory");
    g->env = *env;
    struct prober_params p = {.loop = env->loop,
                              .budget = env->budget,
                              .target = c->target,
                              .source = c->source,
                              .marked = c->network == COMMAND_UNDERLAY};
    int rc = prober_new(&p, &handler, g, &g->prober, e);
    if (rc == 0 && c->size_bytes < probe_size_min(prober_flow(g->prober)))
        rc = err_set(e, HW_EINVAL, "size_bytes: at least %u for this family",
                     probe_size_min(prober_flow(g->prober)));
    if (rc < 0) {
        ping_free(g);
        return rc;
    }
    g->result.source = prober_flow(g->prober)->source;
    g->result.destination = c->target;
    for (size_t i = 0; i < DIAG_REPLIES_MAX; i++)
        g->result.replies[i].rtt_ms = -1;
    prober_start(g->prober, &(struct prober_round){.ttl = PING_TTL,
                                                   .size = (uint16_t)c->size_bytes,
                                                   .dont_fragment = c->dont_fragment,
                                                   .count = c->count,
                                                   .interval_ns = c->interval_ms * NS_PER_MS,
                                                   .timeout_ns = c->timeout_ms * NS_PER_MS});
    *job = g;
    return 0;
}

static void ping_put(const void *job, struct json_writer *w)
{
    const struct ping *g = job;
    struct ping_result result = g->result;
    result.sent = prober_sent(g->prober);
    result.n_replies = result.sent < DIAG_REPLIES_MAX ? result.sent : DIAG_REPLIES_MAX;
    ping_result_put(w, &result);
}

const struct job_kind job_ping = {ping_start, ping_put, ping_free};
