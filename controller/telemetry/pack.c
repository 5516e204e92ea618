#include "controller/telemetry/pack.h"
#include "common/bytes.h"
#include <stdlib.h>

#define VERSION       1
#define MAIN_HEADER   20u
#define GATEWAY_LEN   180u
#define DROP_LEN      10u
#define LINK_LEN      188u
#define DETAIL_HEADER 8u
#define WORKER_LEN    40u
#define TUNNEL_LEN    100u

void pack_row_done(struct pack_row *r)
{
    if (!r)
        return;
    free(r->links);
    free(r->tunnels);
    *r = (struct pack_row){0};
}

/* ---- pieces ---- */

static void put_float(struct byte_writer *w, float v)
{
    uint32_t bits;
    memcpy(&bits, &v, sizeof bits);
    byte_put32(w, isnan(v) ? 0x7fc00000u : bits);
}

static float get_float(struct byte_reader *r)
{
    uint32_t bits = byte_get32(r);
    float v;
    memcpy(&v, &bits, sizeof v);
    return v;
}

static void put_gauges(struct byte_writer *w, const struct gauge *g, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        put_float(w, g[i].avg);
        put_float(w, g[i].min);
        put_float(w, g[i].max);
    }
}

static void get_gauges(struct byte_reader *r, struct gauge *g, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        g[i].avg = get_float(r);
        g[i].min = get_float(r);
        g[i].max = get_float(r);
    }
}

static void put_counters(struct byte_writer *w, const uint64_t *c, size_t n)
{
    for (size_t i = 0; i < n; i++)
        byte_put64(w, c[i]);
}

static void get_counters(struct byte_reader *r, uint64_t *c, size_t n)
{
    for (size_t i = 0; i < n; i++)
        c[i] = byte_get64(r);
}

/* ---- main ---- */

static size_t count_drops(const struct pack_row *r)
{
    size_t n = 0;
    for (size_t i = DROP_NONE + 1; i < DROP_COUNT; i++)
        n += r->drops[i] != 0;
    return n;
}

static void put_gateway(struct byte_writer *w, const struct pack_gateway *g)
{
    put_gauges(w, g->gauges, GATEWAY_GAUGES);
    put_counters(w, g->counters, GATEWAY_COUNTERS);
    byte_put16(w, g->links_up);
    byte_put16(w, g->links);
    byte_put16(w, g->tunnels_up);
    byte_put16(w, g->tunnels);
}

static void put_link(struct byte_writer *w, const struct pack_link *l)
{
    byte_put(w, l->id.b, sizeof l->id.b);
    byte_put8(w, l->state);
    byte_put8(w, l->suite);
    byte_put16(w, l->tunnels_up);
    byte_put16(w, l->tunnels);
    byte_put16(w, l->mtu);
    byte_put32(w, l->up_ms);
    byte_put32(w, l->changes);
    put_gauges(w, l->gauges, LINK_GAUGES);
    put_counters(w, l->counters, LINK_COUNTERS);
    byte_put32(w, l->rekey_age);
    byte_put64(w, 0);
}

uint8_t *pack_main(const struct pack_row *r, size_t *len)
{
    size_t drops = count_drops(r);
    *len = MAIN_HEADER + GATEWAY_LEN + drops * DROP_LEN + r->n_links * LINK_LEN;
    uint8_t *data = malloc(*len);
    if (!data)
        return NULL;
    struct byte_writer w = byte_writer_init(data, *len);
    byte_put8(&w, VERSION);
    byte_put8(&w, r->flags);
    byte_put16(&w, r->reports);
    byte_put32(&w, r->ms);
    byte_put16(&w, GATEWAY_LEN);
    byte_put16(&w, (uint16_t)drops);
    byte_put16(&w, (uint16_t)r->n_links);
    byte_put16(&w, LINK_LEN);
    byte_put32(&w, 0);
    put_gateway(&w, &r->gateway);
    for (unsigned i = DROP_NONE + 1; i < DROP_COUNT; i++) {
        if (!r->drops[i])
            continue;
        byte_put16(&w, (uint16_t)i);
        byte_put64(&w, r->drops[i]);
    }
    for (size_t i = 0; i < r->n_links; i++)
        put_link(&w, &r->links[i]);
    return data;
}

static void get_gateway(struct byte_reader *r, struct pack_gateway *g)
{
    get_gauges(r, g->gauges, GATEWAY_GAUGES);
    get_counters(r, g->counters, GATEWAY_COUNTERS);
    g->links_up = byte_get16(r);
    g->links = byte_get16(r);
    g->tunnels_up = byte_get16(r);
    g->tunnels = byte_get16(r);
}

static void get_link(struct byte_reader *r, struct pack_link *l)
{
    const uint8_t *id = byte_take(r, sizeof l->id.b);
    if (id)
        memcpy(l->id.b, id, sizeof l->id.b);
    l->state = byte_get8(r);
    l->suite = byte_get8(r);
    l->tunnels_up = byte_get16(r);
    l->tunnels = byte_get16(r);
    l->mtu = byte_get16(r);
    l->up_ms = byte_get32(r);
    l->changes = byte_get32(r);
    get_gauges(r, l->gauges, LINK_GAUGES);
    get_counters(r, l->counters, LINK_COUNTERS);
    l->rekey_age = byte_get32(r);
}

/* Its own reader for each record, so that what is longer is stepped over. */
static struct byte_reader record(struct byte_reader *r, size_t len)
{
    const uint8_t *p = byte_take(r, len);
    return byte_reader_init(p, p ? len : 0);
}

static int damaged(struct err *e)
{
    return err_set(e, HW_EPROTO, "telemetry row: layout not understood");
}

static void get_drops(struct byte_reader *r, size_t n, uint64_t drops[DROP_COUNT])
{
    for (size_t i = 0; i < n; i++) {
        unsigned reason = byte_get16(r);
        uint64_t count = byte_get64(r);
        if (reason > DROP_NONE && reason < DROP_COUNT)
            drops[reason] = count;
    }
}

int unpack_main(const uint8_t *data, size_t len, struct pack_row *out, struct err *e)
{
    struct byte_reader r = byte_reader_init(data, len);
    unsigned version = byte_get8(&r);
    out->flags = byte_get8(&r);
    out->reports = byte_get16(&r);
    out->ms = byte_get32(&r);
    size_t gateway = byte_get16(&r), drops = byte_get16(&r), links = byte_get16(&r),
           link = byte_get16(&r);
    (void)byte_get32(&r);
    if (!r.ok || version != VERSION || gateway < GATEWAY_LEN || link < LINK_LEN ||
        links > HW_LINKS_MAX || r.left < gateway + drops * DROP_LEN + links * link)
        return damaged(e);
    struct byte_reader g = record(&r, gateway);
    get_gateway(&g, &out->gateway);
    get_drops(&r, drops, out->drops);
    out->links = links ? calloc(links, sizeof *out->links) : NULL;
    if (links && !out->links)
        return err_set(e, HW_ENOMEM, "out of memory");
    for (out->n_links = 0; out->n_links < links; out->n_links++) {
        struct byte_reader l = record(&r, link);
        get_link(&l, &out->links[out->n_links]);
    }
    return 0;
}

/* ---- detail ---- */

static void put_worker(struct byte_writer *w, const struct pack_worker *k)
{
    byte_put8(w, k->number);
    byte_put8(w, k->tunnels);
    byte_put16(w, 0);
    put_gauges(w, &k->busy, 1);
    put_counters(w, k->counters, WORKER_COUNTERS);
}

static void put_tunnel(struct byte_writer *w, const struct pack_tunnel *t)
{
    byte_put16(w, t->link);
    byte_put8(w, t->number);
    byte_put8(w, t->state);
    byte_put16(w, t->mtu);
    byte_put16(w, t->worker);
    put_gauges(w, t->gauges, TUNNEL_GAUGES);
    byte_put32(w, t->probes_lost);
    byte_put32(w, t->probes_answered);
    put_counters(w, t->counters, TUNNEL_COUNTERS);
}

uint8_t *pack_detail(const struct pack_row *r, size_t *len)
{
    *len = DETAIL_HEADER + r->n_workers * WORKER_LEN + r->n_tunnels * TUNNEL_LEN;
    uint8_t *data = malloc(*len);
    if (!data)
        return NULL;
    struct byte_writer w = byte_writer_init(data, *len);
    byte_put8(&w, VERSION);
    byte_put8(&w, 0);
    byte_put16(&w, (uint16_t)r->n_tunnels);
    byte_put8(&w, TUNNEL_LEN);
    byte_put8(&w, 0);
    byte_put8(&w, (uint8_t)r->n_workers);
    byte_put8(&w, WORKER_LEN);
    for (size_t i = 0; i < r->n_workers; i++)
        put_worker(&w, &r->workers[i]);
    for (size_t i = 0; i < r->n_tunnels; i++)
        put_tunnel(&w, &r->tunnels[i]);
    return data;
}

static void get_worker(struct byte_reader *r, struct pack_worker *k)
{
    k->number = byte_get8(r);
    k->tunnels = byte_get8(r);
    (void)byte_get16(r);
    get_gauges(r, &k->busy, 1);
    get_counters(r, k->counters, WORKER_COUNTERS);
}

static void get_tunnel(struct byte_reader *r, struct pack_tunnel *t)
{
    t->link = byte_get16(r);
    t->number = byte_get8(r);
    t->state = byte_get8(r);
    t->mtu = byte_get16(r);
    t->worker = byte_get16(r);
    get_gauges(r, t->gauges, TUNNEL_GAUGES);
    t->probes_lost = byte_get32(r);
    t->probes_answered = byte_get32(r);
    get_counters(r, t->counters, TUNNEL_COUNTERS);
}

int unpack_detail(const uint8_t *data, size_t len, struct pack_row *out, struct err *e)
{
    struct byte_reader r = byte_reader_init(data, len);
    unsigned version = byte_get8(&r);
    (void)byte_get8(&r);
    size_t tunnels = byte_get16(&r), tunnel = byte_get8(&r);
    (void)byte_get8(&r);
    size_t workers = byte_get8(&r), worker = byte_get8(&r);
    if (!r.ok || version != VERSION || tunnel < TUNNEL_LEN || worker < WORKER_LEN ||
        workers > HW_WORKERS_MAX || r.left < workers * worker + tunnels * tunnel)
        return damaged(e);
    for (out->n_workers = 0; out->n_workers < workers; out->n_workers++) {
        struct byte_reader k = record(&r, worker);
        get_worker(&k, &out->workers[out->n_workers]);
    }
    out->tunnels = tunnels ? calloc(tunnels, sizeof *out->tunnels) : NULL;
    if (tunnels && !out->tunnels)
        return err_set(e, HW_ENOMEM, "out of memory");
    for (out->n_tunnels = 0; out->n_tunnels < tunnels; out->n_tunnels++) {
        struct byte_reader t = record(&r, tunnel);
        get_tunnel(&t, &out->tunnels[out->n_tunnels]);
        if (out->tunnels[out->n_tunnels].link >= out->n_links)
            return damaged(e);
    }
    return 0;
}
