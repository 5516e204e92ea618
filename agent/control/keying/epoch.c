#include "agent/control/keying/epoch.h"
#include "agent/control/keying/keys.h"
#include "agent/control/keying/peer_cert.h"
#include "agent/control/keying/sa_request.h"
#include "common/clock.h"
#include "common/log.h"
#include "common/secret.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* How long a new epoch waits for the last one to be confirmed. After that the older inbound SAs are
 * gone, so that no more than three ever stand. */
#define CONFIRM_NS SA_OLD_IN_NS
/* A pending epoch with none in use beside it: a peer that has it sends probes by it at once. */
#define LONE_PENDING_NS (3 * NS_PER_S)

static void act(struct keylink *l, unsigned actions);

/* ---- retiring ---- */

static void release_spis(struct keylink *l, struct sa_epoch *ep)
{
    uint64_t now = evloop_now(l->core->loop);
    for (unsigned i = 0; i < HW_TUNNELS_PER_LINK_MAX; i++)
        spi_release(l->core->spis, ep->spi_in[i], now);
    memset(ep->spi_in, 0, sizeof ep->spi_in);
}

/* Takes an epoch out of the dataplane, both ways. */
static void retire(struct keylink *l, struct sa_epoch *ep)
{
    sa_request_retire(l, ep->epoch, true, true);
    release_spis(l, ep);
    sa_set_remove(&l->sas, ep->epoch);
}

/* ---- switching ---- */

/* The dataplane sends by `epoch` from now on: older outbound SAs go, older inbound ones get their
 * end. */
static void in_use(struct keylink *l, uint64_t epoch, bool confirmed)
{
    uint64_t now = evloop_now(l->core->loop);
    sa_set_switch(&l->sas, epoch, now);
    for (unsigned i = 0; i < l->sas.n; i++) {
        struct sa_epoch *ep = &l->sas.e[i];
        if (ep->epoch < epoch && ep->out > 0) {
            sa_request_retire(l, ep->epoch, false, true);
            ep->out = 0;
        }
    }
    struct sa_epoch *ep = sa_set_find(&l->sas, epoch);
    if (!ep)
        return; /* already at its hard limit again */
    ep->confirmed |= confirmed;
    rekey_keyed(&l->rekey, now, sa_policy_soft_ns(&l->core->policy, rand_u32()));
    l->rekeyed_at = core_now_s(l->core);
    l->waived = l->silent = false;
    silence_switched(&l->silence, ep->out, now, rand_u32());
    char link[ID_TEXT_MAX], peer[ID_TEXT_MAX];
    log_info("link keyed link=%s gw=%s epoch=%" PRIu64 " tunnels=%u suite=%s",
             id_text(&l->cfg.id, link), id_text(&l->cfg.peer_id, peer), epoch, ep->out,
             esp_suite_by_id(ep->suite)->name);
}

static void tell_deleted(struct keylink *l, uint64_t epoch)
{
    struct message m = {.type = MESSAGE_DELETE, .link = l->cfg.id, .epoch = epoch - 1};
    if (l->standing && epoch > 1)
        conn_send(l->standing, &m);
}

/* A pending epoch that proved to be the peer's was switched to, outside of any exchange. */
static void pending_switched(struct keylink *l, uint64_t epoch, int status, const char *text)
{
    struct sa_epoch *ep = sa_set_find(&l->sas, epoch);
    if (!ep)
        return;
    if (status == 0) {
        in_use(l, epoch, true);
        tell_deleted(l, epoch);
    } else if (status != HW_ECLOSED) {
        log_warn_limited("dataplane did not switch epoch=%" PRIu64 ": %s", epoch, text);
        retire(l, ep);
        rekey_want(&l->rekey, WANT_MISMATCH);
    }
    keylink_changed(l);
}

static void on_switched(struct keylink *l, uint64_t epoch, int status, const char *text)
{
    l->switching = 0;
    if (l->exchanging && l->x.epoch == epoch)
        act(l, exchange_switched(&l->x, status, text));
    else
        pending_switched(l, epoch, status, text);
}

static void request_switch(struct keylink *l, uint64_t epoch)
{
    struct err e;
    l->switching = epoch;
    if (sa_request_switch(l, epoch, on_switched, &e) == 0)
        return;
    l->switching = 0;
    if (l->exchanging && l->x.epoch == epoch)
        act(l, exchange_switched(&l->x, e.code, e.text));
}

/* ---- installing ---- */

static void on_installed(struct keylink *l, uint64_t epoch, int status, const char *text)
{
    if (l->exchanging && l->x.epoch == epoch)
        act(l, exchange_installed(&l->x, status, text, evloop_now(l->core->loop)));
}

/* Keys exist from here until the client has sent them. */
static int install(struct keylink *l, enum dp_direction direction, struct err *e)
{
    struct dp_sa_install m;
    int rc = keys_derive(l->xconn, &l->x, direction, &m, e);
    if (rc != 0)
        return rc;
    sa_policy_limits(&l->core->policy, &m);
    rc = sa_request_install(l, &m, on_installed, e);
    secret_wipe(&m, sizeof m);
    return rc;
}

/* SAs of an older boot of the peer's dataplane are of no use to anybody. */
static void retire_other_boots(struct keylink *l, const struct hw_id *peer_boot)
{
    for (unsigned i = l->sas.n; i-- > 0;)
        if (!id_equal(&l->sas.e[i].peer_boot, peer_boot))
            retire(l, &l->sas.e[i]);
}

/* At most three inbound SAs a tunnel, the new one included. A standing-by outbound epoch that this
 * one overtakes is given up too. */
static void make_room(struct keylink *l)
{
    struct sa_epoch *ep;
    retire_other_boots(l, &l->x.peer_boot);
    while ((ep = sa_set_surplus(&l->sas)) != NULL)
        retire(l, ep);
    for (unsigned i = 0; i < l->sas.n; i++) {
        ep = &l->sas.e[i];
        if (!ep->active && ep->out > 0) {
            sa_request_retire(l, ep->epoch, false, true);
            ep->out = 0;
        }
    }
}

static int install_both(struct keylink *l, struct err *e)
{
    struct exchange *x = &l->x;
    uint64_t now = evloop_now(l->core->loop);
    for (unsigned i = x->n; i < x->terms.n; i++)
        spi_release(l->core->spis, x->terms.spi[i], now);
    x->terms.n = x->n;
    make_room(l);
    struct sa_epoch *ep = sa_set_add(&l->sas, x->epoch, now);
    if (!ep)
        return err_set(e, HW_EFAIL, "no room for epoch %" PRIu64, x->epoch);
    ep->in = ep->out = x->n;
    ep->suite = x->suite;
    ep->esn = x->esn;
    ep->peer_boot = x->peer_boot;
    ep->peer_cert = x->terms.peer_cert;
    memcpy(ep->spi_in, x->terms.spi, x->n * sizeof ep->spi_in[0]);
    int rc = install(l, DP_DIR_IN, e);
    return rc ? rc : install(l, DP_DIR_OUT, e);
}

/* ---- the exchange ---- */

static void over(struct keylink *l)
{
    l->exchanging = false;
    keylink_wake(l);
}

static void exchange_done(struct keylink *l)
{
    l->core->counters.exchanges_done++;
    l->last_error[0] = '\0';
    l->peer_mtu = l->x.peer_mtu;
    l->asked_tunnels = l->xasked_tunnels;
    memcpy(l->asked_suites, l->xasked_suites, sizeof l->asked_suites);
    uint64_t epoch = l->x.epoch;
    in_use(l, epoch, l->x.role == EXCHANGE_RESPONDER);
    over(l);
    keylink_keep_standing(l);
    tell_deleted(l, epoch);
    keylink_changed(l);
}

/* Undoes what the exchange has put into the dataplane. */
static void undo(struct keylink *l)
{
    struct exchange *x = &l->x;
    struct sa_epoch *ep = x->installed ? sa_set_find(&l->sas, x->epoch) : NULL;
    uint64_t now = evloop_now(l->core->loop);
    if (ep)
        retire(l, ep);
    for (unsigned i = 0; !ep && i < x->terms.n; i++)
        spi_release(l->core->spis, x->terms.spi[i], now);
}

static void exchange_failed(struct keylink *l)
{
    struct exchange *x = &l->x;
    char link[ID_TEXT_MAX];
    undo(l);
    if (l->xconn && x->role == EXCHANGE_RESPONDER && x->refuse_code)
        keylink_refuse(l->xconn, &l->cfg.id, x->refuse_code, x->why);
    else
        conn_close(l->xconn);
    l->xconn = NULL;
    over(l);
    if (x->collided) {
        rekey_yielded(&l->rekey, evloop_now(l->core->loop), rand_u32());
        return;
    }
    l->core->counters.exchanges_failed++;
    if (x->role == EXCHANGE_INITIATOR) {
        keylink_attempt_failed(l, x->why);
        return;
    }
    (void)snprintf(l->last_error, sizeof l->last_error, "%s", x->why);
    log_warn_limited("peer's exchange failed link=%s: %s", id_text(&l->cfg.id, link), x->why);
    keylink_changed(l);
}

/* Whether the peer uses the epoch will show; its connection is of no more use. */
static void exchange_pending(struct keylink *l)
{
    conn_close(l->xconn);
    l->xconn = NULL;
    over(l);
}

static void act(struct keylink *l, unsigned actions)
{
    struct err e;
    if ((actions & EXCHANGE_SEND) && l->xconn)
        conn_send_bytes(l->xconn, l->x.out, l->x.out_len);
    if (actions & EXCHANGE_INSTALL) {
        int rc = install_both(l, &e);
        if (rc != 0)
            act(l, exchange_installed(&l->x, rc, e.text, evloop_now(l->core->loop)));
    }
    if (actions & EXCHANGE_SWITCH)
        request_switch(l, l->x.epoch);
    if (actions & EXCHANGE_DONE)
        exchange_done(l);
    if (actions & EXCHANGE_PENDING)
        exchange_pending(l);
    if (actions & EXCHANGE_FAIL)
        exchange_failed(l);
    keylink_wake(l);
}

/* What this end brings to an exchange, SPIs included. */
static int make_terms(struct keylink *l, struct exchange_terms *t, struct err *e)
{
    const struct keying_core *core = l->core;
    *t = (struct exchange_terms){.link = l->cfg.id,
                                 .own = core->own,
                                 .peer = l->cfg.peer_id,
                                 .boot = core->hello.boot,
                                 .peer_cert = peer_cert_of(conn_peer(l->xconn)),
                                 .epoch = l->sas.highest + 1,
                                 .n = l->cfg.tunnels,
                                 .esn = core->policy.esn,
                                 .window = core->policy.window,
                                 .mtu = l->mtu};
    _Static_assert(SA_SUITES_MAX <= MESSAGE_SUITES_MAX, "all suites can be offered");
    t->n_suites = keylink_suites(l, t->suites);
    if (t->n_suites == 0)
        return err_set(e, HW_EFAIL, "the dataplane runs none of the link's suites");
    if (t->epoch > MESSAGE_EPOCH_MAX)
        return err_set(e, HW_EFAIL, "no higher epoch");
    return spi_take(core->spis, t->spi, t->n, evloop_now(core->loop), e);
}

static void started(struct keylink *l)
{
    l->xasked_tunnels = l->cfg.tunnels;
    (void)keylink_suites(l, l->xasked_suites);
    l->exchanging = true;
    conn_deadline(l->xconn, 0); /* the exchange has its own */
}

void epoch_begin(struct keylink *l)
{
    struct exchange_terms terms;
    struct err e;
    if (make_terms(l, &terms, &e) != 0) {
        conn_close(l->xconn);
        l->xconn = NULL;
        keylink_attempt_failed(l, e.text);
        return;
    }
    started(l);
    act(l, exchange_begin(&l->x, &terms, evloop_now(l->core->loop)));
}

void epoch_respond(struct keylink *l, const struct message *offer, const uint8_t *raw, size_t len)
{
    struct exchange_terms terms;
    struct err e;
    if (make_terms(l, &terms, &e) != 0) {
        keylink_refuse(l->xconn, &l->cfg.id, REFUSE_DATAPLANE, e.text);
        l->xconn = NULL;
        return;
    }
    started(l);
    act(l, exchange_respond(&l->x, &terms, offer, raw, len, evloop_now(l->core->loop)));
}

void epoch_message(struct keylink *l, const struct message *m, const uint8_t *raw, size_t len)
{
    unsigned actions = exchange_message(&l->x, m, raw, len, evloop_now(l->core->loop));
    if ((actions & EXCHANGE_FAIL) && m->type != MESSAGE_REFUSE)
        l->core->counters.bad_message++;
    act(l, actions);
}

void epoch_closed(struct keylink *l, const char *why)
{
    l->xconn = NULL;
    act(l, exchange_closed(&l->x, why));
}

void epoch_abandon(struct keylink *l)
{
    if (l->exchanging) {
        undo(l);
        over(l);
    }
    conn_close(l->xconn);
    l->xconn = NULL;
}

/* ---- time ---- */

uint64_t epoch_allowed_ns(struct keylink *l)
{
    const struct sa_epoch *pending = sa_set_pending(&l->sas);
    if (l->waived)
        return 0;
    const struct sa_epoch *active = sa_set_active(&l->sas);
    if (pending)
        return pending->installed_ns + (active ? CONFIRM_NS : LONE_PENDING_NS);
    return active && !active->confirmed ? l->sas.switched_ns + CONFIRM_NS : 0;
}

void epoch_tick(struct keylink *l, uint64_t now)
{
    struct sa_epoch *ep;
    if (l->exchanging && now >= l->x.deadline_ns)
        act(l, exchange_expired(&l->x));
    while ((ep = sa_set_due(&l->sas, now)) != NULL)
        retire(l, ep);
}

uint64_t epoch_next_ns(const struct keylink *l)
{
    uint64_t next = sa_set_next_ns(&l->sas);
    return l->exchanging && l->x.deadline_ns < next ? l->x.deadline_ns : next;
}

/* ---- what the dataplane and the peer tell ---- */

/* The peer sends by an epoch that this end has only on stand-by, or already sends by. */
static void confirmed(struct keylink *l, struct sa_epoch *ep)
{
    const struct sa_epoch *active = sa_set_active(&l->sas);
    ep->confirmed = true;
    if (ep->active || ep->out == 0 || l->switching || (active && active->epoch > ep->epoch))
        return;
    if (l->exchanging && l->x.epoch == ep->epoch)
        act(l, exchange_first_rx(&l->x, evloop_now(l->core->loop)));
    else
        request_switch(l, ep->epoch);
}

/* The dataplane has dropped one SA at its hard limit. */
static void expired(struct keylink *l, struct sa_epoch *ep, const struct dp_sa_event *ev)
{
    unsigned *left = ev->direction == DP_DIR_IN ? &ep->in : &ep->out;
    if (*left > 0)
        --*left;
    if (ev->direction == DP_DIR_IN && ev->tunnel < HW_TUNNELS_PER_LINK_MAX) {
        spi_release(l->core->spis, ep->spi_in[ev->tunnel], evloop_now(l->core->loop));
        ep->spi_in[ev->tunnel] = 0;
    }
    if (ep->active) {
        rekey_want(&l->rekey, WANT_LIMIT);
        ep->active = ep->in > 0 && ep->out > 0;
    }
    if (ep->in == 0 && ep->out == 0)
        sa_set_remove(&l->sas, ep->epoch);
    keylink_changed(l);
}

void epoch_event(struct keylink *l, enum dp_type type, const struct dp_sa_event *ev)
{
    struct sa_epoch *ep = sa_set_find(&l->sas, ev->epoch);
    if (!ep)
        return;
    if (type == DP_SA_FIRST_RX)
        confirmed(l, ep);
    else if (type == DP_SA_SOFT_LIMIT && ep->active)
        rekey_want(&l->rekey, WANT_LIMIT);
    else if (type == DP_SA_EXPIRED)
        expired(l, ep, ev);
    keylink_wake(l);
}

/* An epoch that this end has never had, or can't send by any more, is the peer's alone: only a new
 * one helps. A peer that is behind learns of it from this end's HELLO and acts itself. */
void epoch_peer_sends(struct keylink *l, uint64_t epoch)
{
    const struct sa_epoch *active = sa_set_active(&l->sas);
    struct sa_epoch *ep = sa_set_find(&l->sas, epoch);
    if (l->exchanging || epoch == 0)
        return;
    if (!ep || (ep->out == 0 && (!active || active->epoch < epoch)))
        rekey_want(&l->rekey, WANT_MISMATCH);
    else
        confirmed(l, ep);
    keylink_wake(l);
}

void epoch_peer_deleted(struct keylink *l, uint64_t epoch)
{
    const struct sa_epoch *active = sa_set_active(&l->sas);
    if (active && epoch < active->epoch && epoch + 1 >= active->epoch)
        sa_set_find(&l->sas, active->epoch)->confirmed = true;
    sa_set_peer_deleted(&l->sas, epoch, evloop_now(l->core->loop));
    keylink_wake(l);
}

/* ---- adoption and end ---- */

void epoch_drop_all(struct keylink *l)
{
    if (l->sas.n > 0)
        sa_request_retire(l, 0, true, true);
    for (unsigned i = 0; i < l->sas.n; i++)
        release_spis(l, &l->sas.e[i]);
    sa_set_clear(&l->sas);
    l->switching = 0;
    l->silent = false;
    silence_init(&l->silence, evloop_now(l->core->loop));
    l->rekey.due_ns = REKEY_NEVER;
}

bool epoch_judge(struct keylink *l)
{
    const struct sa_epoch *active = sa_set_active(&l->sas);
    if (active && peer_cert_denied(&active->peer_cert, &l->core->denied))
        return false;
    if (l->exchanging && peer_cert_denied(&l->x.terms.peer_cert, &l->core->denied))
        return false;
    for (unsigned i = l->sas.n; i-- > 0;)
        if (peer_cert_denied(&l->sas.e[i].peer_cert, &l->core->denied))
            retire(l, &l->sas.e[i]);
    return true;
}

/* Idempotent, so that SPIs which the exchange has handed to an epoch already may come twice. */
void epoch_forget(struct keylink *l)
{
    uint64_t now = evloop_now(l->core->loop);
    for (unsigned i = 0; l->exchanging && i < l->x.terms.n; i++)
        spi_release(l->core->spis, l->x.terms.spi[i], now);
    for (unsigned i = 0; i < l->sas.n; i++)
        release_spis(l, &l->sas.e[i]);
}

static const struct dp_dump_link *dumped_link(const struct keylink *l, const struct dp_dump *dump)
{
    for (size_t i = 0; i < dump->n_links; i++)
        if (id_equal(&dump->links[i].set.link, &l->cfg.id))
            return &dump->links[i];
    return NULL;
}

/* The LINK_SET that follows the dump makes other tunnels, without the keys that the dump shows. */
static bool keys_end(const struct keylink *l, const struct dp_dump *dump)
{
    const struct dp_dump_link *had = dumped_link(l, dump);
    return had && (had->set.port_offset != l->cfg.port_offset ||
                   had->set.local.family != l->cfg.local.family);
}

static void adopt_active(struct keylink *l, const struct dp_dump *dump)
{
    const struct sa_epoch *active = sa_set_active(&l->sas);
    uint64_t now = evloop_now(l->core->loop);
    uint64_t age = now - active->installed_ns;
    rekey_adopted(&l->rekey, now, age, sa_policy_soft_ns(&l->core->policy, rand_u32()));
    l->rekeyed_at = core_now_s(l->core) - (int64_t)(age / NS_PER_S);
    const struct dp_dump_link *had = dumped_link(l, dump);
    l->asked_tunnels = had ? had->set.tunnels : 0;
    for (unsigned i = 0; had && i < HW_TUNNELS_PER_LINK_MAX; i++)
        (void)silence_tunnel(&l->silence, i, had->state[i], now);
    for (unsigned i = 0; i < l->sas.n; i++) {
        struct sa_epoch *ep = &l->sas.e[i];
        if (ep->epoch < active->epoch && ep->out > 0) {
            sa_request_retire(l, ep->epoch, false, true);
            ep->out = 0;
        }
    }
}

void epoch_adopt(struct keylink *l, const struct dp_dump *dump)
{
    bool had_keys = sa_set_active(&l->sas) != NULL;
    for (unsigned i = 0; i < l->sas.n; i++)
        release_spis(l, &l->sas.e[i]);
    sa_set_adopt(&l->sas, &l->cfg.id, dump->sas, keys_end(l, dump) ? 0 : dump->n_sas,
                 evloop_now(l->core->loop));
    for (unsigned i = 0; i < l->sas.n; i++)
        for (unsigned t = 0; t < HW_TUNNELS_PER_LINK_MAX; t++)
            if (l->sas.e[i].spi_in[t])
                (void)spi_adopt(l->core->spis, l->sas.e[i].spi_in[t], NULL);
    rekey_init(&l->rekey);
    silence_init(&l->silence, evloop_now(l->core->loop));
    l->silent = false;
    if (sa_set_active(&l->sas))
        adopt_active(l, dump);
    else if (had_keys)
        rekey_want(&l->rekey, WANT_BOOT);
    struct sa_epoch *pending = sa_set_pending(&l->sas);
    if (pending && pending->confirmed)
        confirmed(l, pending);
}
