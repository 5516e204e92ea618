#include "agent/dataplane/engine_state.h"
#include <stdlib.h>
#include <string.h>

static int dump_room(struct engine *en, struct order_dump *o, struct err *e)
{
    size_t tunnels = 0;
    for (unsigned i = 0; i < HW_LINKS_MAX; i++)
        tunnels += en->link[i].used ? en->link[i].set.tunnels : 0;
    o->state = calloc(HW_LINKS_MAX, sizeof *o->state);
    bool ok = o->state != NULL;
    for (unsigned i = 0; i < en->shared.workers; i++) {
        o->sa[i] = calloc(tunnels * (TUNNEL_IN_MAX + 2) + 1, sizeof *o->sa[i]);
        o->udp[i] = calloc(2 * HW_PORTS_PER_GATEWAY, sizeof *o->udp[i]);
        ok = ok && o->sa[i] != NULL && o->udp[i] != NULL;
    }
    return ok ? 0 : err_set(e, HW_ENOMEM, "dump: out of memory");
}

static void dump_done(struct order_dump *o)
{
    free(o->state);
    for (unsigned i = 0; i < HW_WORKERS_MAX; i++) {
        free(o->sa[i]);
        free(o->udp[i]);
    }
}

static void emit_fds(const struct engine *en, const struct order_dump *o, engine_emit_fn *emit,
                     void *ctx)
{
    for (unsigned i = 0; i < en->shared.workers; i++) {
        if (o->tun[i].queues != 0)
            emit(ctx, DP_DUMP_TUN, &o->tun[i], sizeof o->tun[i]);
    }
    for (unsigned i = 0; i < en->shared.workers; i++) {
        for (unsigned k = 0; k < o->n_udp[i]; k++)
            emit(ctx, DP_DUMP_UDP, &o->udp[i][k], sizeof o->udp[i][k]);
    }
}

static void emit_links(const struct engine *en, const struct order_dump *o, engine_emit_fn *emit,
                       void *ctx)
{
    for (unsigned i = 0; i < HW_LINKS_MAX; i++) {
        if (!en->link[i].used)
            continue;
        struct dp_dump_link d = {.set = en->link[i].set};
        memcpy(d.state, o->state[i], sizeof d.state);
        emit(ctx, DP_DUMP_LINK, &d, sizeof d);
    }
    for (unsigned i = 0; i < en->shared.workers; i++) {
        for (unsigned k = 0; k < o->n[i]; k++)
            emit(ctx, DP_DUMP_SA, &o->sa[i][k], sizeof o->sa[i][k]);
    }
}

int engine_dump(struct engine *en, engine_emit_fn *emit, void *ctx, struct err *e)
{
    struct order_dump o = {0};
    int rc = dump_room(en, &o, e);
    if (rc == 0) {
        engine_order_all(en, order_dump, &o);
        emit_fds(en, &o, emit, ctx);
        if (!id_is_zero(&en->node.gateway))
            emit(ctx, DP_DUMP_NODE, &en->node, sizeof en->node);
        emit_links(en, &o, emit, ctx);
        const struct routing *r = snapshot_current(&en->routing);
        struct dp_dump_fib f = {.generation = r->fib != NULL ? fib_generation(r->fib) : 0};
        emit(ctx, DP_DUMP_FIB, &f, sizeof f);
    }
    dump_done(&o);
    return rc;
}
