#include "agent/control/config_cycle.h"
#include "agent/control/config_apply.h"
#include "agent/control/config_store.h"
#include "agent/control/confirm.h"
#include "common/clock.h"
#include "common/log.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BUSY_RETRY_NS  (100 * NS_PER_MS)
#define FIRST_RETRY_NS (5 * NS_PER_S)

struct config_cycle {
    struct config_cycle_params p;
    struct ev_timer *confirm_timer;
    struct ev_timer *apply_timer;
    struct confirm confirm;
    uint64_t silent_urls;          /* bits: no answer since the apply */
    uint64_t applied;              /* newest revision that was in force */
    struct stored_config *pending; /* to be applied as soon as config_apply is free */
    bool applying;                 /* config_apply has one of ours */
};

static void arm_confirm(struct config_cycle *c)
{
    uint64_t deadline = confirm_deadline(&c->confirm), now = clock_mono_ns();
    if (deadline == 0)
        evloop_timer_disarm(c->confirm_timer);
    else
        evloop_timer_arm(c->confirm_timer, deadline > now ? deadline - now : 0);
}

/* With nothing else in force there is nothing to fall back to: the same is tried again. */
static void try_first_again(struct config_cycle *c)
{
    struct stored_config *again = config_store_candidate(c->p.store);
    if (!again)
        again = config_store_confirmed(c->p.store);
    if (!again || c->pending)
        return;
    c->pending = stored_config_ref(again);
    evloop_timer_arm(c->apply_timer, FIRST_RETRY_NS);
}

static void take_failure(struct config_cycle *c, uint64_t revision, const struct err *why)
{
    struct err e = {0};
    const struct stored_config *candidate = config_store_candidate(c->p.store);
    log_error("config not applied rev=%" PRIu64 ": %s", revision, why->text);
    if (!config_apply_current(c->p.apply))
        try_first_again(c);
    else if (candidate && candidate->doc.revision == revision &&
             config_store_refuse(c->p.store, why->text, &e) < 0)
        log_error("refusal not stored rev=%" PRIu64 ": %s", revision, e.text);
}

/* The controller had been reachable: nobody else can have brought the candidate. */
static void take_success(struct config_cycle *c, uint64_t revision)
{
    const struct stored_config *candidate = config_store_candidate(c->p.store);
    log_info("config in force rev=%" PRIu64, revision);
    c->applied = revision > c->applied ? revision : c->applied;
    if (!candidate || candidate->doc.revision != revision)
        return;
    c->silent_urls = 0;
    confirm_applied(&c->confirm, clock_mono_ns(), c->p.confirm_timeout_ns,
                    config_store_confirmed(c->p.store) != NULL);
    arm_confirm(c);
}

static void on_applied(void *arg, uint64_t revision, const struct err *why)
{
    struct config_cycle *c = arg;
    c->applying = false;
    if (why)
        take_failure(c, revision, why);
    else
        take_success(c, revision);
    c->p.changed(c->p.arg);
}

static void apply_pending(struct config_cycle *c)
{
    struct stored_config *next = c->pending;
    if (!next)
        return;
    c->pending = NULL;
    c->applying = true;
    int rc = config_apply_start(c->p.apply, next, on_applied, c, NULL);
    if (rc == HW_EAGAIN) {
        c->applying = false;
        c->pending = next;
        evloop_timer_arm(c->apply_timer, BUSY_RETRY_NS);
        return;
    }
    stored_config_unref(next);
}

static void apply(struct config_cycle *c, struct stored_config *next)
{
    stored_config_unref(c->pending);
    c->pending = stored_config_ref(next);
    confirm_cancel(&c->confirm);
    arm_confirm(c);
    apply_pending(c);
}

static void on_apply_timer(void *arg)
{
    apply_pending(arg);
}

static void roll_back(struct config_cycle *c)
{
    struct err e = {0};
    char reason[HW_TEXT_MAX + 1];
    const struct stored_config *bad = config_store_candidate(c->p.store);
    struct stored_config *good = config_store_confirmed(c->p.store);
    if (!bad || !good)
        return;
    (void)snprintf(reason, sizeof reason,
                   "no answer from the controller within %llu s after it was applied",
                   c->p.confirm_timeout_ns / NS_PER_S);
    log_error("config rolled back rev=%" PRIu64 " to rev=%" PRIu64 ": %s", bad->doc.revision,
              good->doc.revision, reason);
    if (config_store_refuse(c->p.store, reason, &e) < 0)
        log_error("refusal not stored: %s", e.text);
    apply(c, good);
}

static void tick(struct config_cycle *c)
{
    if (confirm_tick(&c->confirm, clock_mono_ns()) == CONFIRM_ROLL_BACK)
        roll_back(c);
}

static void on_confirm_timer(void *arg)
{
    tick(arg);
}

static void confirm_candidate(struct config_cycle *c)
{
    struct err e = {0};
    const struct stored_config *candidate = config_store_candidate(c->p.store);
    if (!candidate)
        return;
    uint64_t revision = candidate->doc.revision;
    if (config_store_confirm(c->p.store, &e) < 0) {
        log_error("config not confirmed on disk: %s", e.text);
        return;
    }
    log_info("config confirmed rev=%" PRIu64, revision);
    c->p.changed(c->p.arg);
}

void config_cycle_start(struct config_cycle *c)
{
    struct stored_config *candidate = config_store_candidate(c->p.store);
    struct stored_config *confirmed = config_store_confirmed(c->p.store);
    bool same_boot = candidate && id_equal(&candidate->boot, &c->p.boot);
    if (candidate && (same_boot || !confirmed))
        apply(c, candidate);
    else if (confirmed)
        apply(c, confirmed);
}

void config_cycle_received(struct config_cycle *c)
{
    struct stored_config *candidate = config_store_candidate(c->p.store);
    if (candidate)
        apply(c, candidate);
}

/* A boot used the confirmed config; the newer one waited for a controller that could confirm it. */
static void resume_candidate(struct config_cycle *c)
{
    struct stored_config *candidate = config_store_candidate(c->p.store);
    const struct stored_config *now = config_apply_current(c->p.apply);
    if (!candidate || c->pending || c->applying ||
        (now && now->doc.revision == candidate->doc.revision))
        return;
    log_info("config received before the boot is applied rev=%" PRIu64, candidate->doc.revision);
    apply(c, candidate);
}

void config_cycle_exchange(struct config_cycle *c, uint64_t started_ns)
{
    c->silent_urls = 0;
    if (confirm_exchange(&c->confirm, started_ns) == CONFIRM_DO)
        confirm_candidate(c);
    arm_confirm(c);
    resume_candidate(c);
}

void config_cycle_failure(struct config_cycle *c, uint64_t started_ns, bool answered, size_t url,
                          size_t n_urls)
{
    if (!c->confirm.waiting || started_ns < c->confirm.applied_ns)
        return;
    /* "Its address" are all of them: one that answers is enough, none is only when all were asked.
     */
    c->silent_urls |= answered ? 0 : 1ull << url;
    if (answered || c->silent_urls == (1ull << n_urls) - 1)
        confirm_failure(&c->confirm, started_ns, answered);
    tick(c);
    arm_confirm(c);
}

bool config_cycle_waiting(const struct config_cycle *c)
{
    return c->confirm.waiting;
}

void config_cycle_revisions(const struct config_cycle *c, struct report_revisions *out)
{
    const struct report_refused *refused;
    const struct stored_config *now = config_apply_current(c->p.apply);
    out->received = config_store_received(c->p.store);
    out->applied = c->applied;
    out->in_force = now ? now->doc.revision : 0;
    out->n_refused = config_store_refused(c->p.store, &refused);
    if (out->n_refused)
        memcpy(out->refused, refused, out->n_refused * sizeof *refused);
}

int config_cycle_new(const struct config_cycle_params *p, struct config_cycle **out, struct err *e)
{
    struct config_cycle *c = calloc(1, sizeof *c);
    if (!c)
        return err_set(e, HW_ENOMEM, "out of memory");
    c->p = *p;
    c->confirm_timer = evloop_timer_add(p->loop, on_confirm_timer, c);
    c->apply_timer = evloop_timer_add(p->loop, on_apply_timer, c);
    if (!c->confirm_timer || !c->apply_timer) {
        config_cycle_free(c);
        return err_set(e, HW_ENOMEM, "out of memory");
    }
    *out = c;
    return 0;
}

void config_cycle_free(struct config_cycle *c)
{
    if (!c)
        return;
    if (c->confirm_timer)
        evloop_timer_remove(c->confirm_timer);
    if (c->apply_timer)
        evloop_timer_remove(c->apply_timer);
    stored_config_unref(c->pending);
    free(c);
}
