/*
 * trace-path: for each TTL a round of probes at the size that passed so far, beginning with the
 * device's MTU. A "too big" lowers the size; a hop that answers small probes and not large ones
 * lies behind a line that drops them in silence: the size that passes is searched for
 * (docs/protocols.md, "Path search").
 */
#include "agent/control/diag/job.h"
#include "common/clock.h"
#include "common/model/diag_result.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SMALL_SIZE      84u
#define FLOOR4          576u  /* RFC 1122 section 3.3.2 */
#define FLOOR6          1280u /* RFC 8200 section 5 */
#define MTU4_MIN        68u   /* RFC 791 */
#define SILENT_MAX      8     /* hops in a row that say nothing: then nobody beyond is waited for */
#define SEARCH_PROBES   2     /* of one size: a single loss must not halve the answer */
#define BURST           8     /* a Linux machine sends 6 errors at once, then one a second */
#define PACE_NS         (1100 * NS_PER_MS)
#define SEARCH_PATIENCE (200 * NS_PER_MS)
#define SEARCH_RTTS     8

/* A hop that answers small probes alone is asked whether it limits its ICMP (BURST), then for the
 * large size once more, then searched. */
enum phase {
    PHASE_LARGE,
    PHASE_SMALL,
    PHASE_BURST,
    PHASE_AGAIN,
    PHASE_FLOOR,
    PHASE_SEARCH,
    PHASE_BEFORE, /* the target has answered: does it answer one hop nearer as well? */
};

struct trace {
    struct job_env env;
    struct prober *prober;
    struct path_trace result;

    unsigned ttl;
    unsigned size; /* of large probes: the most that is known to pass so far */
    enum mtu_source source;
    enum phase phase;
    unsigned silent; /* hops in a row */
    bool at_target;  /* the target has answered at this TTL */
    bool refused;    /* a router says that it goes no further */
    bool paced;      /* this hop limits how often it answers: one probe a second */

    /* of the round under way */
    unsigned round_size, round_first;
    unsigned answered;
    unsigned told;   /* by "too big"; 0: nothing */
    unsigned passed; /* largest size that came through to this TTL */
    unsigned fails;  /* smallest size that did not */
};

static struct path_hop *hop_now(struct trace *t)
{
    return &t->result.hops[t->ttl - 1];
}

/* The most frequent answerer stands first. */
static void add_answerer(struct path_hop *h, const struct ipaddr *from)
{
    size_t i = 0;
    while (i < h->n_addresses && !ipaddr_equal(&h->addresses[i], from))
        i++;
    if (i == DIAG_ANSWERERS_MAX)
        return;
    if (i == h->n_addresses) {
        h->addresses[h->n_addresses++] = *from;
        h->counts[i] = 0;
    }
    h->counts[i]++;
    for (; i > 0 && h->counts[i] > h->counts[i - 1]; i--) {
        struct ipaddr a = h->addresses[i];
        unsigned n = h->counts[i];
        h->addresses[i] = h->addresses[i - 1];
        h->counts[i] = h->counts[i - 1];
        h->addresses[i - 1] = a;
        h->counts[i - 1] = n;
    }
}

/* What a router may say: less than was sent, and no less than the protocol allows. */
static bool mtu_is_sane(const struct trace *t, const struct probe *p, unsigned mtu)
{
    return mtu < p->size && mtu >= (t->result.destination.family == 4 ? MTU4_MIN : FLOOR6);
}

static void on_reply(void *arg, const struct probe *p, const struct probe_reply *r, uint64_t rtt_ns,
                     bool first)
{
    struct trace *t = arg;
    if (!first || p->ttl != t->ttl)
        return;
    if (r->kind == PROBE_TOO_BIG) {
        if (mtu_is_sane(t, p, r->mtu) && r->mtu < t->size) {
            t->told = r->mtu;
            prober_stop(t->prober);
        }
        return;
    }
    struct path_hop *h = hop_now(t);
    t->passed = p->size > t->passed ? p->size : t->passed;
    t->at_target =
        t->at_target || r->kind == PROBE_TARGET || ipaddr_equal(&r->from, &t->result.destination);
    if (r->kind == PROBE_UNREACHABLE) {
        t->refused = true;
        (void)snprintf(h->note, sizeof h->note, "%s", r->note);
    }
    add_answerer(h, &r->from);
    if (p->number < t->round_first)
        return; /* late: that it passed is known now */
    t->answered++;
    if (t->phase > PHASE_BURST)
        prober_stop(t->prober); /* one answer proves the size */
    if (t->phase <= PHASE_SMALL || t->phase == PHASE_BEFORE) {
        h->answered++;
        diag_spread_add(&h->rtt, (double)rtt_ns / NS_PER_MS);
    }
}

/* ---- rounds ---- */

static void start_round(struct trace *t, enum phase phase, unsigned size, unsigned count)
{
    uint64_t timeout = t->env.command->timeout_ms * NS_PER_MS, pace = t->paced ? PACE_NS : 0;
    if (phase > PHASE_SMALL) {
        uint64_t patience = (uint64_t)(hop_now(t)->rtt.max * SEARCH_RTTS) * NS_PER_MS;
        patience = patience > SEARCH_PATIENCE ? patience : SEARCH_PATIENCE;
        timeout = patience < timeout ? patience : timeout;
    }
    t->phase = phase;
    t->round_size = size;
    t->round_first = prober_sent(t->prober);
    t->answered = 0;
    t->told = 0;
    prober_start(t->prober, &(struct prober_round){.ttl = (uint8_t)t->ttl,
                                                   .size = (uint16_t)size,
                                                   .dont_fragment = true,
                                                   .count = count,
                                                   .delay_ns = pace,
                                                   .interval_ns = pace,
                                                   .timeout_ns = timeout});
}

static void over(struct trace *t, const struct err *why)
{
    t->env.events->over(t->env.arg, why);
}

static void start_hop(struct trace *t)
{
    char text[HW_TEXT_MAX + 1];
    t->ttl++;
    t->result.n_hops = t->ttl;
    t->passed = 0;
    t->paced = false;
    (void)snprintf(text, sizeof text, "hop %u", t->ttl);
    t->env.events->progress(t->env.arg, t->ttl - 1, t->env.command->max_hops, text);
    start_round(t, PHASE_LARGE, t->size, t->env.command->probes_per_hop);
}

/* The target answers here. A silent hop before it may have been the target itself, which had sent
 * all the errors that it sends a second. */
static void settle(struct trace *t)
{
    t->result.reached = true;
    t->result.n_hops = t->ttl;
    t->result.path_mtu = hop_now(t)->mtu;
    t->result.mtu_source = hop_now(t)->mtu_source;
    if (t->ttl == 1 || t->result.hops[t->ttl - 2].n_addresses > 0) {
        over(t, NULL);
        return;
    }
    t->ttl--;
    t->at_target = false;
    t->passed = 0;
    t->paced = true;
    start_round(t, PHASE_BEFORE, t->size, SEARCH_PROBES);
}

static void after_before(struct trace *t, unsigned sent)
{
    struct path_hop *h = hop_now(t);
    h->sent += sent;
    if (t->passed) {
        h->mtu = t->size;
        h->mtu_source = t->source;
    }
    if (t->at_target)
        settle(t);
    else
        over(t, NULL);
}

/* This hop is done; `mtu` is what arrives there, 0 when that is not known. */
static void hop_done(struct trace *t, unsigned mtu)
{
    struct path_hop *h = hop_now(t);
    h->mtu = mtu;
    h->mtu_source = mtu ? t->source : MTU_UNKNOWN;
    t->silent = h->n_addresses ? 0 : t->silent + 1;
    if (t->at_target)
        settle(t);
    else if (t->refused || t->silent == SILENT_MAX || t->ttl == t->env.command->max_hops)
        over(t, NULL);
    else
        start_hop(t);
}

/* The router before this hop drops what is too big and does not say so. */
static void note_silent_dropper(struct trace *t)
{
    struct path_hop *before = t->ttl > 1 ? &t->result.hops[t->ttl - 2] : NULL;
    if (before && before->n_addresses && !before->note[0])
        (void)snprintf(before->note, sizeof before->note, "does not send \"too big\"");
}

static void search_on(struct trace *t)
{
    if (t->fails - t->passed <= 1) {
        t->size = t->passed;
        t->source = MTU_SEARCH;
        note_silent_dropper(t);
        hop_done(t, t->size);
        return;
    }
    start_round(t, PHASE_SEARCH, t->passed + (t->fails - t->passed) / 2, SEARCH_PROBES);
}

static void after_large(struct trace *t)
{
    if (t->answered || t->passed == t->size)
        hop_done(t, t->size);
    else if (t->size > SMALL_SIZE)
        start_round(t, PHASE_SMALL, SMALL_SIZE, t->env.command->probes_per_hop);
    else
        hop_done(t, 0);
}

static void after_small(struct trace *t)
{
    if (t->passed == t->size)
        hop_done(t, t->size); /* a late answer to a large one */
    else if (!t->passed)
        hop_done(t, 0);
    else
        start_round(t, PHASE_BURST, SMALL_SIZE, BURST);
}

/* Once more: what was lost before may have been lost for another reason. */
static void after_burst(struct trace *t)
{
    t->paced = t->answered < BURST;
    start_round(t, PHASE_AGAIN, t->size, SEARCH_PROBES);
}

static void after_again(struct trace *t)
{
    unsigned floor = t->result.destination.family == 4 ? FLOOR4 : FLOOR6;
    t->fails = t->size;
    if (t->passed == t->size)
        hop_done(t, t->size);
    else if (floor > t->passed && floor < t->fails)
        start_round(t, PHASE_FLOOR, floor, SEARCH_PROBES);
    else
        search_on(t);
}

static void on_round_over(void *arg, const struct err *why)
{
    struct trace *t = arg;
    struct path_hop *h = hop_now(t);
    unsigned sent = prober_sent(t->prober) - t->round_first;
    if (why) {
        over(t, why);
        return;
    }
    if (t->phase == PHASE_BEFORE) {
        after_before(t, sent);
        return;
    }
    if (t->told) {
        t->size = t->told;
        t->source = MTU_ICMP;
        start_round(t, PHASE_LARGE, t->size, t->env.command->probes_per_hop);
        return;
    }
    if (t->phase == PHASE_LARGE || t->phase == PHASE_SMALL)
        h->sent += sent;
    switch (t->phase) {
    case PHASE_LARGE:
        after_large(t);
        break;
    case PHASE_SMALL:
        after_small(t);
        break;
    case PHASE_BURST:
        after_burst(t);
        break;
    case PHASE_AGAIN:
        after_again(t);
        break;
    case PHASE_FLOOR:
    case PHASE_SEARCH:
        if (t->passed < t->round_size)
            t->fails = t->round_size;
        search_on(t);
        break;
    case PHASE_BEFORE:
        break;
    }
}

/* ---- job ---- */

static void trace_free(void *job)
{
    struct trace *t = job;
    if (!t)
        return;
    prober_free(t->prober);
    free(t);
}

static int trace_start(const struct job_env *env, void **job, struct err *e)
{
    static const struct prober_handler handler = {on_reply, on_round_over};
    const struct command *c = env->command;
    struct trace *t = calloc(1, sizeof *t);
    if (!t)
        return err_set(e, HW_ENOMEM, "out of memory");
    t->env = *env;
    struct prober_params p = {.loop = env->loop,
                              .budget = env->budget,
                              .target = c->target,
                              .source = c->source,
                              .marked = c->network == COMMAND_UNDERLAY,
                              .udp = c->protocol == COMMAND_UDP,
                              .port = c->port};
    int rc = prober_new(&p, &handler, t, &t->prober, e);
    if (rc < 0) {
        trace_free(t);
        return rc;
    }
    t->result.source = prober_flow(t->prober)->source;
    t->result.destination = c->target;
    t->result.protocol = c->protocol;
    t->size = prober_device_mtu(t->prober);
    t->source = MTU_DEVICE;
    if (t->size < SMALL_SIZE)
        t->size = SMALL_SIZE;
    start_hop(t);
    *job = t;
    return 0;
}

static void trace_put(const void *job, struct json_writer *w)
{
    path_trace_put(w, &((const struct trace *)job)->result);
}

const struct job_kind job_trace_path = {trace_start, trace_put, trace_free};
