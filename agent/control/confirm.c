#include "agent/control/confirm.h"

void confirm_applied(struct confirm *c, uint64_t now_ns, uint64_t timeout_ns, bool reachable_before)
{
    *c = (struct confirm){.waiting = true,
                          .reachable_before = reachable_before,
                          .applied_ns = now_ns,
                          .timeout_ns = timeout_ns};
}

void confirm_cancel(struct confirm *c)
{
    *c = (struct confirm){.waiting = false};
}

enum confirm_action confirm_exchange(struct confirm *c, uint64_t started_ns)
{
    /* An answer to what was asked before the apply says nothing about the path after it. */
    if (!c->waiting || started_ns < c->applied_ns)
        return CONFIRM_NOTHING;
    confirm_cancel(c);
    return CONFIRM_DO;
}

void confirm_failure(struct confirm *c, uint64_t started_ns, bool answered)
{
    if (!c->waiting || started_ns < c->applied_ns)
        return;
    if (answered)
        c->path_proven = true;
    else
        c->silent = true;
}

enum confirm_action confirm_tick(struct confirm *c, uint64_t now_ns)
{
    if (!c->waiting || !c->reachable_before || c->path_proven || !c->silent ||
        now_ns - c->applied_ns < c->timeout_ns)
        return CONFIRM_NOTHING;
    confirm_cancel(c);
    return CONFIRM_ROLL_BACK;
}

uint64_t confirm_deadline(const struct confirm *c)
{
    if (!c->waiting || !c->reachable_before || c->path_proven)
        return 0;
    return c->applied_ns + c->timeout_ns;
}
