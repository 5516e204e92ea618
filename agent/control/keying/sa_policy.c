#include "agent/control/keying/sa_policy.h"
#include "common/clock.h"
#include "common/esp_suite.h"
#include <stdio.h>
#include <string.h>

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

enum sa_permit sa_policy_permit(const struct config_permission *p,
                                const struct sa_permit_facts *facts)
{
    if (!p->suite)
        return SA_PERMIT_NONE;
    if (facts->withdrawn)
        return SA_PERMIT_WITHDRAWN;
    if (facts->was_over)
        return SA_PERMIT_OVER;
    if (!facts->clock_trusted)
        return SA_PERMIT_CLOCK;
    if (facts->now_s >= p->until)
        return SA_PERMIT_OVER;
    return facts->engine & 1u << p->suite ? SA_PERMIT_IN_FORCE : SA_PERMIT_ENGINE;
}

char *sa_policy_permit_text(const struct config_permission *p, enum sa_permit permit, uint8_t suite,
                            char out[SA_PERMIT_TEXT_MAX])
{
    char until[CLOCK_TEXT_MAX];
    const char *name = esp_weak_name(p->suite);
    const char *unused = permit == SA_PERMIT_ENGINE ? "the dataplane does not have it"
                         : permit == SA_PERMIT_CLOCK
                             ? "the controller has not set the clock since the agent began"
                         : suite == p->suite ? NULL
                                             : "the peer does not agree";
    out[0] = '\0';
    if (permit == SA_PERMIT_NONE || !name)
        return out;
    if (permit == SA_PERMIT_WITHDRAWN || permit == SA_PERMIT_OVER)
        (void)snprintf(out, SA_PERMIT_TEXT_MAX, "the permission for %s %s", name,
                       permit == SA_PERMIT_OVER ? "is over" : "has been withdrawn");
    else
        (void)snprintf(out, SA_PERMIT_TEXT_MAX, "%s is permitted until %s%s%s", name,
                       clock_text(p->until, until), unused ? " and not used: " : "",
                       unused ? unused : "");
    return out;
}

unsigned sa_policy_suites(const struct config_link *l, enum sa_permit permit, uint32_t engine,
                          uint8_t out[SA_SUITES_MAX])
{
    unsigned n = 0;
    memset(out, 0, SA_SUITES_MAX);
    if (permit == SA_PERMIT_IN_FORCE)
        out[n++] = l->permission.suite;
    for (size_t i = 0; i < l->n_suites && n < SA_SUITES_MAX; i++)
        if (engine & 1u << l->suite_order[i])
            out[n++] = l->suite_order[i];
    return n;
}
