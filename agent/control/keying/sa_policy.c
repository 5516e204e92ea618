#include "agent/control/keying/sa_policy.h"
#include "common/clock.h"

void sa_policy_init(struct sa_policy *p, uint32_t soft_seconds, uint32_t hard_seconds,
                    uint64_t soft_bytes, uint64_t hard_bytes, uint32_t window, bool esn)
{
    *p = (struct sa_policy){
        .soft_seconds = soft_seconds ? soft_seconds : SA_SOFT_SECONDS,
        .hard_seconds = hard_seconds ? hard_seconds : SA_HARD_SECONDS,
        .soft_bytes = soft_bytes ? soft_bytes : SA_SOFT_BYTES,
        .hard_bytes = hard_bytes ? hard_bytes : SA_HARD_BYTES,
        .window = window ? window : SA_WINDOW,
        .esn = esn,
    };
    if (p->hard_seconds < p->soft_seconds)
        p->hard_seconds = p->soft_seconds;
    if (p->hard_bytes < p->soft_bytes)
        p->hard_bytes = p->soft_bytes;
}

void sa_policy_limits(const struct sa_policy *p, struct dp_sa_install *m)
{
    m->soft_bytes = p->soft_bytes;
    m->hard_bytes = p->hard_bytes;
    m->soft_packets = m->esn ? 0 : SA_SOFT_PACKETS_NO_ESN;
    m->hard_packets = m->esn ? 0 : SA_HARD_PACKETS_NO_ESN;
    m->hard_seconds = p->hard_seconds;
}

uint64_t sa_policy_soft_ns(const struct sa_policy *p, uint32_t random)
{
    uint64_t soft = p->soft_seconds * NS_PER_S;
    uint64_t spread = soft / 5;
    return soft - spread / 2 + (spread ? (uint64_t)random * 65521 % spread : 0);
}
