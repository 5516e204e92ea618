#include "controller/telemetry/counters.h"
#include "common/bytes.h"
#include <pthread.h>
#include <stdlib.h>

#define SLOTS 256u /* a power of two */

/* ---- one gateway ---- */

void counters_free(struct counters *c)
{
    if (!c)
        return;
    free(c->links);
    free(c->tunnels);
    free(c);
}

static struct counters_tunnel of_tunnel(uint16_t link, const struct report_tunnel *t)
{
    return (struct counters_tunnel){.link = link,
                                    .number = (uint8_t)t->tunnel,
                                    .data = {[TUNNEL_TX_BYTES] = t->tx_bytes,
                                             [TUNNEL_RX_BYTES] = t->rx_bytes,
                                             [TUNNEL_TX_PACKETS] = t->tx_packets,
                                             [TUNNEL_RX_PACKETS] = t->rx_packets,
                                             [TUNNEL_WIRE_TX_BYTES] = t->wire_tx_bytes,
                                             [TUNNEL_WIRE_RX_BYTES] = t->wire_rx_bytes},
                                    .lost = t->probes_lost,
                                    .answered = t->probes_answered};
}

struct counters *counters_of(const struct report *r)
{
    struct counters *c = calloc(1, sizeof *c);
    size_t tunnels = 0;
    for (size_t i = 0; i < r->n_links; i++)
        tunnels += r->links[i].n_tunnels;
    if (c) {
        c->links = calloc(r->n_links + 1, sizeof *c->links);
        c->tunnels = calloc(tunnels + 1, sizeof *c->tunnels);
    }
    if (!c || !c->links || !c->tunnels) {
        counters_free(c);
        return NULL;
    }
    c->boot = r->dataplane.boot_id;
    c->n_links = r->n_links;
    for (size_t i = 0; i < r->n_links; i++) {
        const struct report_link *l = &r->links[i];
        c->links[i].id = l->link_id;
        c->links[i].state = (uint8_t)l->state;
        for (size_t k = 0; k < l->n_tunnels; k++)
            c->tunnels[c->n_tunnels++] = of_tunnel((uint16_t)i, &l->tunnels[k]);
    }
    for (size_t i = 0; i < r->n_workers; i++) {
        c->workers[i][WORKER_SEGMENTS_IN] = r->workers[i].segments_in;
        c->workers[i][WORKER_SEGMENTS_OUT] = r->workers[i].segments_out;
        c->workers[i][WORKER_HANDOFFS] = r->workers[i].handoff_in;
    }
    memcpy(c->drops, r->drops, sizeof c->drops);
    return c;
}

void counters_keep(struct counters *c, const struct report *r)
{
    for (size_t i = 0; i < r->n_links; i++)
        for (size_t k = 0; k < c->n_links; k++)
            if (id_equal(&c->links[k].id, &r->links[i].link_id))
                c->links[k].state = (uint8_t)r->links[i].state;
}

const struct counters_link *counters_link(const struct counters *c, const struct hw_id *id,
                                          size_t hint)
{
    if (hint < c->n_links && id_equal(&c->links[hint].id, id))
        return &c->links[hint];
    for (size_t i = 0; i < c->n_links; i++)
        if (id_equal(&c->links[i].id, id))
            return &c->links[i];
    return NULL;
}

static bool is(const struct counters *c, size_t i, const struct hw_id *link, unsigned number)
{
    const struct counters_tunnel *t = &c->tunnels[i];
    return t->number == number && id_equal(&c->links[t->link].id, link);
}

const struct counters_tunnel *counters_tunnel(const struct counters *c, const struct hw_id *link,
                                              unsigned number, size_t hint)
{
    if (hint < c->n_tunnels && is(c, hint, link, number))
        return &c->tunnels[hint];
    for (size_t i = 0; i < c->n_tunnels; i++)
        if (is(c, i, link, number))
            return &c->tunnels[i];
    return NULL;
}

/* ---- all of them ---- */

struct entry {
    struct entry *next;
    struct hw_id gateway;
    struct counters *counters;
    uint64_t put_ns;
};

struct counters_table {
    pthread_mutex_t lock;
    struct entry *slots[SLOTS];
};

struct counters_table *counters_table_new(void)
{
    struct counters_table *t = calloc(1, sizeof *t);
    if (t)
        pthread_mutex_init(&t->lock, NULL);
    return t;
}

void counters_table_free(struct counters_table *t)
{
    if (!t)
        return;
    for (size_t i = 0; i < SLOTS; i++) {
        struct entry *n;
        while ((n = t->slots[i])) {
            t->slots[i] = n->next;
            counters_free(n->counters);
            free(n);
        }
    }
    pthread_mutex_destroy(&t->lock);
    free(t);
}

static struct entry **find(struct counters_table *t, const struct hw_id *gateway)
{
    struct entry **p = &t->slots[load_be32(gateway->b) & (SLOTS - 1)];
    while (*p && !id_equal(&(*p)->gateway, gateway))
        p = &(*p)->next;
    return p;
}

struct counters *counters_table_take(struct counters_table *t, const struct hw_id *gateway)
{
    pthread_mutex_lock(&t->lock);
    struct entry **p = find(t, gateway), *n = *p;
    struct counters *c = n ? n->counters : NULL;
    if (n)
        *p = n->next;
    pthread_mutex_unlock(&t->lock);
    free(n);
    return c;
}

void counters_table_prune(struct counters_table *t, uint64_t before_ns)
{
    pthread_mutex_lock(&t->lock);
    for (size_t i = 0; i < SLOTS; i++) {
        struct entry **p = &t->slots[i], *n;
        while ((n = *p)) {
            if (n->put_ns >= before_ns) {
                p = &n->next;
                continue;
            }
            *p = n->next;
            counters_free(n->counters);
            free(n);
        }
    }
    pthread_mutex_unlock(&t->lock);
}

void counters_table_put(struct counters_table *t, const struct hw_id *gateway, struct counters *c,
                        uint64_t now_ns)
{
    struct entry *n = calloc(1, sizeof *n);
    if (!n) { /* the next report reads the store */
        counters_free(c);
        return;
    }
    *n = (struct entry){.gateway = *gateway, .counters = c, .put_ns = now_ns};
    pthread_mutex_lock(&t->lock);
    struct entry **p = find(t, gateway), *old = *p;
    n->next = old ? old->next : NULL;
    *p = n;
    pthread_mutex_unlock(&t->lock);
    if (old)
        counters_free(old->counters);
    free(old);
}
