#include "agent/dataplane/liveness.h"

#include <string.h>

static void enter(struct liveness *l, enum dp_tunnel_state state, enum dp_tunnel_reason reason,
                  uint64_t now_ns)
{
    l->state = (uint8_t)state;
    l->reason = (uint8_t)reason;
    l->since_ns = now_ns;
}

void liveness_init(struct liveness *l, uint64_t now_ns)
{
    memset(l, 0, sizeof *l);
    l->missed = 3;
    l->interval_ns = 1000000000ull;
    l->next_ns = LIVENESS_NEVER;
    enter(l, DP_TUNNEL_NO_SA, DP_REASON_NO_SA, now_ns);
}

void liveness_settings(struct liveness *l, uint32_t interval_ms, unsigned missed)
{
    uint64_t interval_ns = (uint64_t)interval_ms * 1000000u;
    /* A shorter interval takes effect now, not after the longer one has run out. */
    if (l->next_ns != LIVENESS_NEVER && interval_ns < l->interval_ns)
        l->next_ns -=
            l->interval_ns - interval_ns < l->next_ns ? l->interval_ns - interval_ns : l->next_ns;
    l->interval_ns = interval_ns;
    l->missed = (uint8_t)missed;
}

void liveness_start(struct liveness *l, uint64_t now_ns)
{
    if (l->state != DP_TUNNEL_NO_SA)
        return;
    l->lost_row = 0;
    l->rtt_ns = 0;
    l->next_ns = now_ns;
    enter(l, DP_TUNNEL_PROBING, DP_REASON_NONE, now_ns);
}

void liveness_stop(struct liveness *l, enum dp_tunnel_reason reason, uint64_t now_ns)
{
    if (l->state == DP_TUNNEL_NO_SA && l->reason == reason)
        return;
    l->next_ns = LIVENESS_NEVER;
    /* Answers to probes of the time before prove nothing about the time after. */
    memset(l->probe, 0, sizeof l->probe);
    l->oldest_seq = l->next_seq;
    enter(l, DP_TUNNEL_NO_SA, reason, now_ns);
}

/* A probe is given one interval, and on a path that is long beside it the last round trip too. */
static uint64_t patience(const struct liveness *l)
{
    uint64_t interval = l->state == DP_TUNNEL_PROBING ? LIVENESS_FIRST_NS : l->interval_ns;
    return l->rtt_ns < interval / 2 ? interval : interval + l->rtt_ns;
}

static uint32_t expire(struct liveness *l, uint64_t now_ns)
{
    uint32_t lost = 0;
    for (; l->oldest_seq != l->next_seq; l->oldest_seq++) {
        struct liveness_probe *p = &l->probe[l->oldest_seq % LIVENESS_PROBES];
        if (p->seq != l->oldest_seq || p->sent_ns == 0)
            continue;
        if (now_ns - p->sent_ns < patience(l))
            break;
        p->lost = true;
        lost++;
    }
    return lost;
}

bool liveness_tick(struct liveness *l, uint64_t now_ns, uint32_t *lost)
{
    *lost = 0;
    if (l->state == DP_TUNNEL_NO_SA || now_ns < l->next_ns)
        return false;
    *lost = expire(l, now_ns);
    l->lost_row += *lost;
    if (l->state == DP_TUNNEL_UP && l->lost_row >= l->missed)
        enter(l, DP_TUNNEL_DOWN, DP_REASON_NO_ANSWER, now_ns);
    l->next_ns = now_ns + (l->state == DP_TUNNEL_PROBING ? LIVENESS_FIRST_NS : l->interval_ns);
    return true;
}

uint32_t liveness_sent(struct liveness *l, uint64_t now_ns)
{
    uint32_t seq = l->next_seq++;
    struct liveness_probe *p = &l->probe[seq % LIVENESS_PROBES];
    /* A place still taken means LIVENESS_PROBES intervals without an answer: that probe is long
     * lost. */
    if (l->next_seq - l->oldest_seq > LIVENESS_PROBES)
        l->oldest_seq = l->next_seq - LIVENESS_PROBES;
    *p = (struct liveness_probe){.sent_ns = now_ns, .seq = seq};
    return seq;
}

bool liveness_answered(struct liveness *l, uint32_t seq, uint64_t now_ns, uint64_t *rtt_ns)
{
    struct liveness_probe *p = &l->probe[seq % LIVENESS_PROBES];
    if (l->state == DP_TUNNEL_NO_SA || p->sent_ns == 0 || p->seq != seq)
        return false;
    *rtt_ns = now_ns > p->sent_ns ? now_ns - p->sent_ns : 0;
    *p = (struct liveness_probe){0};
    l->rtt_ns = *rtt_ns;
    l->lost_row = 0;
    if (l->state != DP_TUNNEL_UP) {
        if (l->state == DP_TUNNEL_PROBING)
            l->next_ns = now_ns + l->interval_ns;
        enter(l, DP_TUNNEL_UP, DP_REASON_ANSWERED, now_ns);
    }
    return true;
}
