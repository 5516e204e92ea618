#include "agent/dataplane/engine_state.h"
#include <stdlib.h>
#include <string.h>

/* ---- links ---- */

int engine_find_link(const struct engine *en, const struct hw_id *id)
{
    for (unsigned i = 0; i < HW_LINKS_MAX; i++) {
        if (en->link[i].used && id_equal(&en->link[i].set.link, id))
            return (int)i;
    }
    return FIB_NO_SLOT;
}

void engine_drop_link(struct engine *en, unsigned slot)
{
    struct order_link o = {.slot = slot};
    struct engine_link *l = &en->link[slot];
    engine_order_all(en, order_link_remove, &o);
    for (unsigned i = 0; i < HW_TUNNELS_PER_LINK_MAX; i++) {
        if (o.gone[i] == NULL)
            continue;
        free(o.gone[i]);
        en->stats_used[l->stats_slot[i]] = false;
    }
    for (unsigned i = 0; i < HW_WORKERS_MAX; i++)
        free(o.link[i]);
    engine_free_dead(o.dead);
    l->used = false;
}

static int free_stats_slot(struct engine *en)
{
    for (int i = 0; i < HW_TUNNELS_MAX; i++) {
        if (!en->stats_used[i])
            return i;
    }
    return -1;
}

static void free_order_link(struct engine *en, struct engine_link *l, struct order_link *o)
{
    for (unsigned i = 0; i < HW_TUNNELS_PER_LINK_MAX; i++) {
        if (o->fresh[i] != NULL || o->gone[i] != NULL)
            en->stats_used[l->stats_slot[i]] = false;
        free(o->fresh[i]);
        free(o->gone[i]);
    }
    for (unsigned i = 0; i < HW_WORKERS_MAX; i++)
        free(o->link[i]);
    engine_free_dead(o->dead);
}

/* Memory for what the workers will add: tunnels from `have` on, and the link where it is new. */
static int prepare_link(struct engine *en, struct engine_link *l, unsigned have,
                        struct order_link *o, struct err *e)
{
    for (unsigned i = have; i < o->set.tunnels; i++) {
        int s = free_stats_slot(en);
        if (s < 0)
            return err_set(e, HW_ETOOBIG, "more than %u tunnels", HW_TUNNELS_MAX);
        o->fresh[i] = calloc(1, sizeof *o->fresh[i]);
        if (o->fresh[i] == NULL)
            return err_set(e, HW_ENOMEM, "out of memory");
        l->stats_slot[i] = (uint16_t)s;
        en->stats_used[s] = true;
        o->st[i] = &en->stats.tunnels[s];
    }
    for (unsigned i = 0; i < en->shared.workers && !l->used; i++) {
        o->link[i] = calloc(1, sizeof *o->link[i]);
        if (o->link[i] == NULL)
            return err_set(e, HW_ENOMEM, "out of memory");
    }
    return 0;
}

/* Ports or family differ: tunnels belong to other sockets, perhaps of other workers, and their keys
 * with them. */
static bool moves_tunnels(const struct dp_link_set *a, const struct dp_link_set *b)
{
    return a->port_offset != b->port_offset || a->local.family != b->local.family;
}

static int slot_for(struct engine *en, const struct dp_link_set *m, struct err *e)
{
    int slot = engine_find_link(en, &m->link);
    if (slot != FIB_NO_SLOT) {
        if (moves_tunnels(&en->link[slot].set, m))
            engine_drop_link(en, (unsigned)slot);
        return slot;
    }
    for (int i = 0; i < HW_LINKS_MAX; i++) {
        if (!en->link[i].used)
            return i;
    }
    return err_set(e, HW_ETOOBIG, "more than %u links", HW_LINKS_MAX);
}

int engine_link_set(struct engine *en, const struct dp_link_set *m, struct err *e)
{
    int slot = slot_for(en, m, e);
    if (slot < 0)
        return HW_ETOOBIG;
    struct engine_link *l = &en->link[slot];
    struct order_link o = {.slot = (unsigned)slot, .set = *m};
    int rc = prepare_link(en, l, l->used ? l->set.tunnels : 0, &o, e);
    bool is_new = !l->used;
    if (rc == 0) {
        engine_order_all(en, order_link_set, &o);
        l->used = true;
        l->set = *m;
    }
    free_order_link(en, l, &o);
    /* The FIB may have named the link before it was there. */
    return rc == 0 && is_new ? engine_publish(en, en->fib_image, en->fib_len, e) : rc;
}

int engine_link_remove(struct engine *en, const struct hw_id *link, struct err *e)
{
    int slot = engine_find_link(en, link);
    if (slot == FIB_NO_SLOT)
        return 0;
    /* First out of the tables, so that no packet finds the slot when another link has it. */
    en->link[slot].used = false;
    int rc = engine_publish(en, en->fib_image, en->fib_len, e);
    engine_drop_link(en, (unsigned)slot);
    return rc;
}

/* ---- SAs ---- */

static int link_of(const struct engine *en, const struct hw_id *id, struct err *e)
{
    int slot = engine_find_link(en, id);
    return slot != FIB_NO_SLOT ? slot : err_set(e, HW_ENOTFOUND, "no such link");
}

static void free_not_taken(struct order_sa *o)
{
    for (unsigned i = 0; i < HW_TUNNELS_PER_LINK_MAX; i++)
        sa_free(o->sa[i]);
}

static int make_sas(struct engine *en, const struct dp_sa_install *m, unsigned tunnels,
                    struct order_sa *o, struct err *e)
{
    for (unsigned i = 0; i < m->count; i++) {
        unsigned t = m->sa[i].tunnel;
        if (t >= tunnels)
            return err_set(e, HW_EINVAL, "link has no tunnel %u", t);
        int rc = sa_new(en->aead, m, i, clock_mono_ns(), &o->sa[t], e);
        if (rc != 0)
            return rc;
    }
    return 0;
}

/* A refused installation leaves nothing of its epoch behind. */
static void take_back(struct engine *en, const struct order_sa *install, bool in)
{
    struct order_sa o = {.slot = install->slot, .epoch = install->epoch, .in = in, .out = !in};
    engine_order_all(en, order_sa_retire, &o);
    engine_free_dead(o.dead);
}

int engine_sa_install(struct engine *en, const struct dp_sa_install *m, struct err *e)
{
    int slot = link_of(en, &m->link, e);
    if (slot < 0)
        return slot;
    struct order_sa o = {.slot = (unsigned)slot, .peer_boot = m->peer_boot, .epoch = m->epoch};
    int rc = make_sas(en, m, en->link[slot].set.tunnels, &o, e);
    if (rc == 0)
        engine_order_all(en, order_sa_install, &o);
    for (unsigned i = 0; rc == 0 && i < en->shared.workers; i++) {
        if (o.err[i].code != 0) {
            *e = o.err[i];
            rc = e->code;
        }
    }
    engine_free_dead(o.dead);
    if (rc != 0 && rc != HW_ESTALE)
        take_back(en, &o, m->direction == DP_DIR_IN);
    free_not_taken(&o);
    return rc;
}

int engine_sa_switch(struct engine *en, const struct dp_sa_switch *m, struct err *e)
{
    int slot = link_of(en, &m->link, e);
    if (slot < 0)
        return slot;
    struct order_sa o = {.slot = (unsigned)slot, .epoch = m->epoch};
    engine_order_all(en, order_sa_switch, &o);
    engine_free_dead(o.dead);
    unsigned found = 0;
    for (unsigned i = 0; i < en->shared.workers; i++)
        found += o.found[i];
    return found != 0 ? 0 : err_set(e, HW_ENOTFOUND, "no tunnel has an outbound SA of this epoch");
}

int engine_sa_retire(struct engine *en, const struct dp_sa_retire *m, struct err *e)
{
    int slot = link_of(en, &m->link, e);
    if (slot < 0)
        return slot;
    struct order_sa o = {
        .slot = (unsigned)slot, .epoch = m->epoch, .in = m->in != 0, .out = m->out != 0};
    engine_order_all(en, order_sa_retire, &o);
    engine_free_dead(o.dead);
    return 0;
}
