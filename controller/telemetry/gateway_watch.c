#include "controller/telemetry/gateway_watch.h"
#include "common/bytes.h"
#include "common/clock.h"
#include "common/log.h"
#include <pthread.h>
#include <stdlib.h>

#define SLOTS 256u /* a power of two */

struct machine {
    struct machine *next;
    struct hw_id gateway;
    struct hw_id boot, before;  /* newest, and the one before it; zero: none seen */
    uint64_t cloned_until_ns;   /* 0: no alarm */
    uint64_t restless_until_ns; /* the same */
    uint64_t paid_until_ns;     /* plans that it has asked for, one after the other at their pace */
};

struct gateway_watch {
    pthread_mutex_t lock;
    struct machine *slots[SLOTS];
};

struct gateway_watch *gateway_watch_new(void)
{
    struct gateway_watch *w = calloc(1, sizeof *w);
    if (w)
        pthread_mutex_init(&w->lock, NULL);
    return w;
}

void gateway_watch_free(struct gateway_watch *w)
{
    if (!w)
        return;
    for (size_t i = 0; i < SLOTS; i++) {
        struct machine *m;
        while ((m = w->slots[i])) {
            w->slots[i] = m->next;
            free(m);
        }
    }
    pthread_mutex_destroy(&w->lock);
    free(w);
}

/* The place of the gateway's entry, which may be empty. Lock held. */
static struct machine **find(struct gateway_watch *w, const struct hw_id *gateway)
{
    struct machine **p = &w->slots[load_be32(gateway->b) & (SLOTS - 1)];
    while (*p && !id_equal(&(*p)->gateway, gateway))
        p = &(*p)->next;
    return p;
}

/* Lock held. NULL when out of memory. */
static struct machine *find_or_add(struct gateway_watch *w, const struct hw_id *gateway)
{
    struct machine **p = find(w, gateway);
    if (!*p) {
        *p = calloc(1, sizeof **p);
        if (*p)
            (*p)->gateway = *gateway;
    }
    return *p;
}

/* An alarm's sign: true when the alarm is new. */
static bool raise(uint64_t *until_ns, uint64_t now_ns)
{
    bool new = now_ns >= *until_ns;
    *until_ns = now_ns + GATEWAY_WATCH_ALARM_S * NS_PER_S;
    return new;
}

void gateway_watch_boot(struct gateway_watch *w, const struct hw_id *gateway,
                        const struct hw_id *boot, uint64_t now_ns)
{
    bool alarm = false;
    pthread_mutex_lock(&w->lock);
    struct machine *m = find_or_add(w, gateway);
    if (m && !id_equal(&m->boot, boot)) {
        if (id_equal(&m->before, boot))
            alarm = raise(&m->cloned_until_ns, now_ns);
        m->before = m->boot;
        m->boot = *boot;
    }
    pthread_mutex_unlock(&w->lock);
    if (alarm) {
        char id[ID_TEXT_MAX];
        log_warn("cloned gateway gw=%s: two machines speak with the same key",
                 id_text(gateway, id));
    }
}

bool gateway_watch_plan(struct gateway_watch *w, const struct hw_id *gateway, uint64_t now_ns)
{
    const uint64_t pace_ns = GATEWAY_WATCH_PLAN_S * NS_PER_S;
    bool may = true, alarm = false;
    pthread_mutex_lock(&w->lock);
    struct machine *m = find_or_add(w, gateway);
    if (m) {
        uint64_t paid = m->paid_until_ns > now_ns ? m->paid_until_ns : now_ns;
        may = paid - now_ns <= (GATEWAY_WATCH_BURST - 1) * pace_ns;
        if (may)
            m->paid_until_ns = paid + pace_ns;
        else
            alarm = raise(&m->restless_until_ns, now_ns);
    }
    pthread_mutex_unlock(&w->lock);
    if (alarm) {
        char id[ID_TEXT_MAX];
        log_warn("restless gateway gw=%s: what it reports changes so often that it is planned once"
                 " in %d s",
                 id_text(gateway, id), GATEWAY_WATCH_PLAN_S);
    }
    return may;
}

bool gateway_watch_restless(struct gateway_watch *w, const struct hw_id *gateway, uint64_t now_ns)
{
    pthread_mutex_lock(&w->lock);
    struct machine *m = *find(w, gateway);
    bool restless = m && now_ns < m->restless_until_ns;
    pthread_mutex_unlock(&w->lock);
    return restless;
}

bool gateway_watch_cloned(struct gateway_watch *w, const struct hw_id *gateway, uint64_t now_ns)
{
    pthread_mutex_lock(&w->lock);
    struct machine *m = *find(w, gateway);
    bool cloned = m && now_ns < m->cloned_until_ns;
    pthread_mutex_unlock(&w->lock);
    return cloned;
}

void gateway_watch_forget(struct gateway_watch *w, const struct hw_id *gateway)
{
    pthread_mutex_lock(&w->lock);
    struct machine **p = find(w, gateway), *gone = *p;
    if (gone)
        *p = gone->next;
    pthread_mutex_unlock(&w->lock);
    free(gone);
}
