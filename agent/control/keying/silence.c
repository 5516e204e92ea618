#include "agent/control/keying/silence.h"
#include "agent/control/keying/rekey.h"
#include "common/clock.h"

void silence_init(struct silence *s, uint64_t now)
{
    *s = (struct silence){.since_ns = now};
}

bool silence_tunnel(struct silence *s, unsigned tunnel, enum dp_tunnel_state state, uint64_t now)
{
    bool up = state == DP_TUNNEL_UP;
    if (tunnel >= HW_TUNNELS_PER_LINK_MAX || s->up[tunnel] == up)
        return false;
    s->up[tunnel] = up;
    if (!up) {
        if (--s->n_up == 0)
            s->since_ns = now;
        return false;
    }
    s->epochs = 0;
    s->extra_ns = 0;
    s->unanswered = false;
    return ++s->n_up == 1;
}

void silence_switched(struct silence *s, unsigned tunnels, uint64_t now, uint32_t random)
{
    /* Tunnels that are no more end without a word of the dataplane. */
    for (unsigned i = tunnels; i < HW_TUNNELS_PER_LINK_MAX; i++)
        (void)silence_tunnel(s, i, DP_TUNNEL_NO_SA, now);
    if (s->unanswered) {
        s->epochs++;
        s->extra_ns = rekey_backoff_ns(s->epochs, random);
    }
    s->unanswered = s->n_up == 0;
    s->since_ns = now;
}

uint64_t silence_patience_ns(uint32_t interval_ms, unsigned missed)
{
    uint64_t ns = SILENCE_DETECTIONS * (uint64_t)missed * interval_ms * NS_PER_MS;
    return ns > SILENCE_PATIENCE_MIN_NS ? ns : SILENCE_PATIENCE_MIN_NS;
}

uint64_t silence_due_ns(const struct silence *s, uint64_t patience_ns)
{
    return s->n_up == 0 ? s->since_ns + patience_ns + s->extra_ns : SILENCE_NEVER;
}

bool silence_lasts(const struct silence *s, uint64_t patience_ns, uint64_t now)
{
    return s->n_up == 0 && now >= s->since_ns + patience_ns;
}

bool silence_alarm(const struct silence *s)
{
    return s->epochs >= SILENCE_ALARM_EPOCHS;
}
