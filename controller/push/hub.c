#include "controller/push/hub.h"
#include "common/bytes.h"
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/queue.h>

#define HUB_SLOTS 1024u /* of both indexes; a power of two */

struct poll {
    struct hw_id gateway;
    uint64_t ticket;
    enum hub_reason reason;
    bool current; /* the gateway's newest poll: in by_gateway */
    bool to_wake; /* in the waking list */
    LIST_ENTRY(poll) by_gateway;
    LIST_ENTRY(poll) by_ticket;
    TAILQ_ENTRY(poll) waking;
};

LIST_HEAD(poll_list, poll);
TAILQ_HEAD(poll_queue, poll);

struct hub {
    hub_wake_fn wake;
    void *arg;
    pthread_mutex_t lock; /* guards all below */
    struct poll_list gateways[HUB_SLOTS];
    struct poll_list tickets[HUB_SLOTS];
    struct poll_queue waking; /* decided, not yet told to the server */
    uint64_t generation;      /* rises with every waking: the token */
    size_t n;
};

static struct poll_list *gateway_slot(struct hub *h, const struct hw_id *gateway)
{
    return &h->gateways[load_be32(gateway->b) & (HUB_SLOTS - 1)];
}

static struct poll_list *ticket_slot(struct hub *h, uint64_t ticket)
{
    return &h->tickets[ticket & (HUB_SLOTS - 1)];
}

static struct poll *find_ticket(struct hub *h, uint64_t ticket)
{
    struct poll *p = NULL;
    LIST_FOREACH(p, ticket_slot(h, ticket), by_ticket)
    {
        if (p->ticket == ticket)
            return p;
    }
    return NULL;
}

static struct poll *find_gateway(struct hub *h, const struct hw_id *gateway)
{
    struct poll *p = NULL;
    LIST_FOREACH(p, gateway_slot(h, gateway), by_gateway)
    {
        if (id_equal(&p->gateway, gateway))
            return p;
    }
    return NULL;
}

/* Lock held. The poll stays known by its ticket until its request resumes or ends. */
static void decide(struct hub *h, struct poll *p, enum hub_reason why)
{
    p->reason = why;
    if (p->current) {
        LIST_REMOVE(p, by_gateway);
        p->current = false;
    }
    if (!p->to_wake) {
        TAILQ_INSERT_TAIL(&h->waking, p, waking);
        p->to_wake = true;
    }
}

/* Lock held. */
static void drop(struct hub *h, struct poll *p)
{
    if (p->current)
        LIST_REMOVE(p, by_gateway);
    if (p->to_wake)
        TAILQ_REMOVE(&h->waking, p, waking);
    LIST_REMOVE(p, by_ticket);
    h->n--;
    free(p);
}

/*
 * Tells the server of all that is decided. The lock is not held while the server is called: the
 * server takes its own lock there, and holds it when it tells the hub that a request has ended.
 */
static void tell(struct hub *h)
{
    pthread_mutex_lock(&h->lock);
    struct poll *p;
    while ((p = TAILQ_FIRST(&h->waking))) {
        TAILQ_REMOVE(&h->waking, p, waking);
        p->to_wake = false;
        uint64_t ticket = p->ticket;
        pthread_mutex_unlock(&h->lock);
        h->wake(h->arg, ticket);
        pthread_mutex_lock(&h->lock);
    }
    pthread_mutex_unlock(&h->lock);
}

int hub_new(hub_wake_fn wake, void *arg, struct hub **out, struct err *e)
{
    struct hub *h = calloc(1, sizeof *h);
    if (!h)
        return err_set(e, HW_ENOMEM, "out of memory");
    h->wake = wake;
    h->arg = arg;
    pthread_mutex_init(&h->lock, NULL);
    TAILQ_INIT(&h->waking);
    *out = h;
    return 0;
}

void hub_free(struct hub *h)
{
    if (!h)
        return;
    for (size_t i = 0; i < HUB_SLOTS; i++) {
        struct poll *p;
        while ((p = LIST_FIRST(&h->tickets[i])))
            drop(h, p);
    }
    pthread_mutex_destroy(&h->lock);
    free(h);
}

uint64_t hub_token(struct hub *h)
{
    pthread_mutex_lock(&h->lock);
    uint64_t token = h->generation;
    pthread_mutex_unlock(&h->lock);
    return token;
}

int hub_park(struct hub *h, const struct hw_id *gateway, uint64_t token, uint64_t ticket,
             struct err *e)
{
    struct poll *p = calloc(1, sizeof *p);
    if (!p)
        return err_set(e, HW_ENOMEM, "out of memory");
    *p = (struct poll){.gateway = *gateway, .ticket = ticket, .current = true};
    pthread_mutex_lock(&h->lock);
    if (h->generation != token) {
        pthread_mutex_unlock(&h->lock);
        free(p);
        return err_set(e, HW_ESTALE, "something changed");
    }
    struct poll *older = find_gateway(h, gateway);
    if (older)
        decide(h, older, HUB_SUPERSEDED);
    LIST_INSERT_HEAD(gateway_slot(h, gateway), p, by_gateway);
    LIST_INSERT_HEAD(ticket_slot(h, ticket), p, by_ticket);
    h->n++;
    pthread_mutex_unlock(&h->lock);
    tell(h);
    return 0;
}

enum hub_reason hub_resume(struct hub *h, uint64_t ticket)
{
    pthread_mutex_lock(&h->lock);
    struct poll *p = find_ticket(h, ticket);
    enum hub_reason why = p ? p->reason : HUB_NOT_WOKEN;
    if (p)
        drop(h, p);
    pthread_mutex_unlock(&h->lock);
    return why;
}

void hub_end(struct hub *h, uint64_t ticket)
{
    (void)hub_resume(h, ticket);
}

void hub_wake(struct hub *h, const struct hw_id *gateways, size_t n)
{
    pthread_mutex_lock(&h->lock);
    h->generation++;
    for (size_t i = 0; i < n; i++) {
        struct poll *p = find_gateway(h, &gateways[i]);
        if (p)
            decide(h, p, HUB_CHANGED);
    }
    pthread_mutex_unlock(&h->lock);
    tell(h);
}

void hub_wake_all(struct hub *h)
{
    pthread_mutex_lock(&h->lock);
    h->generation++;
    for (size_t i = 0; i < HUB_SLOTS; i++) {
        struct poll *p;
        while ((p = LIST_FIRST(&h->gateways[i])))
            decide(h, p, HUB_CHANGED);
    }
    pthread_mutex_unlock(&h->lock);
    tell(h);
}

size_t hub_parked(struct hub *h)
{
    pthread_mutex_lock(&h->lock);
    size_t n = h->n;
    pthread_mutex_unlock(&h->lock);
    return n;
}
