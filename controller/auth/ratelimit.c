#include "controller/auth/ratelimit.h"
#include "common/clock.h"
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define SLOTS 4096
#define WAYS  4

struct slot {
    struct ipaddr key; /* family 0: free */
    double failures;   /* as of `at_ns`; drains at RATELIMIT_PER_SECOND */
    uint64_t at_ns;
};

struct ratelimit {
    pthread_mutex_t lock;
    struct slot slots[SLOTS];
};

struct ratelimit *ratelimit_new(void)
{
    struct ratelimit *r = calloc(1, sizeof *r);
    if (r)
        pthread_mutex_init(&r->lock, NULL);
    return r;
}

void ratelimit_free(struct ratelimit *r)
{
    if (!r)
        return;
    pthread_mutex_destroy(&r->lock);
    free(r);
}

static struct ipaddr key_of(const struct ipaddr *a)
{
    struct ipaddr key = *a;
    if (key.family == 6)
        memset(key.b + 8, 0, 8);
    return key;
}

/* Callers took their time before they had the lock: it may be a little before the slot's. */
static void drain(struct slot *s, uint64_t now_ns)
{
    if (now_ns <= s->at_ns)
        return;
    double gone = (double)(now_ns - s->at_ns) / (double)NS_PER_S * RATELIMIT_PER_SECOND;
    s->failures = s->failures > gone ? s->failures - gone : 0;
    s->at_ns = now_ns;
}

/* The key's slot among its few places; with `take`, the one with the fewest failures is given up
 * for it, so a flood of addresses cannot push out the worst. */
static struct slot *find(struct ratelimit *r, const struct ipaddr *key, uint64_t now_ns, bool take)
{
    uint64_t hash = 14695981039346656037u; /* FNV-1a */
    for (size_t i = 0; i < sizeof key->b; i++)
        hash = (hash ^ key->b[i]) * 1099511628211u;
    struct slot *set = &r->slots[(hash >> 20) % (SLOTS / WAYS) * WAYS], *least = set;
    for (struct slot *s = set; s < set + WAYS; s++) {
        drain(s, now_ns);
        if (ipaddr_equal(&s->key, key))
            return s;
        if (s->failures < least->failures)
            least = s;
    }
    if (!take)
        return NULL;
    *least = (struct slot){.key = *key, .at_ns = now_ns};
    return least;
}

bool ratelimit_allows(struct ratelimit *r, const struct ipaddr *a, uint64_t now_ns)
{
    struct ipaddr key = key_of(a);
    pthread_mutex_lock(&r->lock);
    const struct slot *s = find(r, &key, now_ns, false);
    bool ok = !s || s->failures + 1 <= RATELIMIT_BURST;
    pthread_mutex_unlock(&r->lock);
    return ok;
}

void ratelimit_failed(struct ratelimit *r, const struct ipaddr *a, uint64_t now_ns)
{
    struct ipaddr key = key_of(a);
    pthread_mutex_lock(&r->lock);
    find(r, &key, now_ns, true)->failures += 1;
    pthread_mutex_unlock(&r->lock);
}
