#include "controller/telemetry/boot_watch.h"
#include "common/bytes.h"
#include "common/clock.h"
#include "common/log.h"
#include <pthread.h>
#include <stdlib.h>

#define SLOTS 256u /* a power of two */

struct machine {
    struct machine *next;
    struct hw_id gateway;
    struct hw_id boot, before; /* newest, and the one before it */
    uint64_t cloned_until_ns;  /* 0: no alarm */
};

struct boot_watch {
    pthread_mutex_t lock;
    struct machine *slots[SLOTS];
};

struct boot_watch *boot_watch_new(void)
{
    struct boot_watch *w = calloc(1, sizeof *w);
    if (w)
        pthread_mutex_init(&w->lock, NULL);
    return w;
}

void boot_watch_free(struct boot_watch *w)
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
static struct machine **find(struct boot_watch *w, const struct hw_id *gateway)
{
    struct machine **p = &w->slots[load_be32(gateway->b) & (SLOTS - 1)];
    while (*p && !id_equal(&(*p)->gateway, gateway))
        p = &(*p)->next;
    return p;
}

void boot_watch_seen(struct boot_watch *w, const struct hw_id *gateway, const struct hw_id *boot,
                     uint64_t now_ns)
{
    bool alarm = false;
    pthread_mutex_lock(&w->lock);
    struct machine **p = find(w, gateway);
    if (!*p) {
        *p = calloc(1, sizeof **p);
        if (*p)
            **p = (struct machine){.gateway = *gateway, .boot = *boot};
    } else if (!id_equal(&(*p)->boot, boot)) {
        if (id_equal(&(*p)->before, boot)) {
            alarm = now_ns >= (*p)->cloned_until_ns;
            (*p)->cloned_until_ns = now_ns + BOOT_WATCH_ALARM_S * NS_PER_S;
        }
        (*p)->before = (*p)->boot;
        (*p)->boot = *boot;
    }
    pthread_mutex_unlock(&w->lock);
    if (alarm) {
        char id[ID_TEXT_MAX];
        log_warn("cloned gateway gw=%s: two machines speak with the same key",
                 id_text(gateway, id));
    }
}

bool boot_watch_cloned(struct boot_watch *w, const struct hw_id *gateway, uint64_t now_ns)
{
    pthread_mutex_lock(&w->lock);
    struct machine *m = *find(w, gateway);
    bool cloned = m && now_ns < m->cloned_until_ns;
    pthread_mutex_unlock(&w->lock);
    return cloned;
}

void boot_watch_forget(struct boot_watch *w, const struct hw_id *gateway)
{
    pthread_mutex_lock(&w->lock);
    struct machine **p = find(w, gateway), *gone = *p;
    if (gone)
        *p = gone->next;
    pthread_mutex_unlock(&w->lock);
    free(gone);
}
