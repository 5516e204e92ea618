#include "agent/control/keying/rekey.h"
#include "common/clock.h"

#define BACKOFF_MAX_S 60u

void rekey_init(struct rekey *r)
{
    *r = (struct rekey){.due_ns = REKEY_NEVER};
}

void rekey_keyed(struct rekey *r, uint64_t now, uint64_t soft_ns)
{
    *r = (struct rekey){.due_ns = now + soft_ns};
}

void rekey_adopted(struct rekey *r, uint64_t now, uint64_t age_ns, uint64_t soft_ns)
{
    *r = (struct rekey){.due_ns = age_ns >= soft_ns ? now : now + (soft_ns - age_ns)};
}

void rekey_want(struct rekey *r, uint8_t reason)
{
    if (r->wanted == 0 || r->suspected)
        r->wanted = reason;
    r->suspected = false;
}

void rekey_suspect(struct rekey *r, uint8_t reason)
{
    if (r->wanted != 0)
        return;
    r->wanted = reason;
    r->suspected = true;
}

/* Spreads `ns` by ± 20 %. */
static uint64_t jitter(uint64_t ns, uint32_t random)
{
    return ns - ns / 5 + (uint64_t)random % (2 * (ns / 5) + 1);
}

uint64_t rekey_backoff_ns(unsigned failures, uint32_t random)
{
    unsigned s = failures == 0 ? 0 : failures > 6 ? BACKOFF_MAX_S : 1u << (failures - 1);
    return jitter(s * NS_PER_S, random);
}

void rekey_failed(struct rekey *r, uint64_t now, uint32_t random)
{
    if (r->failures < UINT16_MAX)
        r->failures++;
    r->tried_ns = now;
    r->retry_ns = now + rekey_backoff_ns(r->failures, random);
}

void rekey_yielded(struct rekey *r, uint64_t now, uint32_t random)
{
    r->tried_ns = now;
    r->retry_ns = now + jitter(2 * NS_PER_S, random);
}

void rekey_not_before(struct rekey *r, uint64_t ns)
{
    if (r->retry_ns < ns)
        r->retry_ns = ns;
}

void rekey_pace(struct rekey *r, uint64_t ns)
{
    if (r->tried_ns)
        rekey_not_before(r, r->tried_ns + ns);
}

bool rekey_withdraw(struct rekey *r)
{
    if (!r->suspected)
        return false;
    *r = (struct rekey){.due_ns = r->due_ns, .tried_ns = r->tried_ns};
    return true;
}

void rekey_hurry(struct rekey *r)
{
    r->retry_ns = 0;
}

bool rekey_needed(const struct rekey *r, uint64_t now)
{
    return r->wanted != 0 || now >= r->due_ns;
}

bool rekey_due(const struct rekey *r, uint64_t now)
{
    return rekey_needed(r, now) && now >= r->retry_ns;
}

uint64_t rekey_next_ns(const struct rekey *r)
{
    uint64_t needed = r->wanted ? 0 : r->due_ns;
    return needed > r->retry_ns ? needed : r->retry_ns;
}

bool rekey_alarm(const struct rekey *r)
{
    return r->failures >= REKEY_ALARM_FAILURES;
}
