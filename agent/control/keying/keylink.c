#include "agent/control/keying/keylink.h"
#include "agent/control/keying/epoch.h"
#include "agent/control/keying/peer_cert.h"
#include "agent/control/keying/sa_request.h"
#include "common/clock.h"
#include "common/log.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* How often a certificate's end is looked for: the trusted clock moves on its own. */
#define CERT_CHECK_NS (30 * NS_PER_S)
/* Between an epoch, or an attempt at one, and the next that a peer asks for by WANT: each costs a
 * whole handshake. It can't have crossed the last epoch: that closed the connection which it would
 * have come by. */
#define WANT_PACE_NS (1 * NS_PER_S)

static const struct conn_handler link_conn;

/* ---- life ---- */

static void on_timer(void *arg)
{
    keylink_poll(arg);
}

int keylink_new(struct keying_core *core, const struct config_link *cfg, uint32_t mtu,
                struct keylink **out, struct err *e)
{
    struct keylink *l = calloc(1, sizeof *l);
    if (l)
        l->timer = evloop_timer_add(core->loop, on_timer, l);
    if (!l || !l->timer) {
        free(l);
        return err_set(e, HW_ENOMEM, "link: out of memory");
    }
    l->core = core;
    l->cfg = *cfg;
    l->mtu = mtu;
    rekey_init(&l->rekey);
    silence_init(&l->silence, evloop_now(core->loop));
    keylink_wake(l);
    *out = l;
    return 0;
}

void keylink_free(struct keylink *l)
{
    if (!l)
        return;
    epoch_forget(l);
    sa_request_forget(l);
    conn_close(l->xconn);
    conn_close(l->standing);
    evloop_timer_remove(l->timer);
    free(l);
}

void keylink_wake(struct keylink *l)
{
    evloop_timer_arm(l->timer, 0);
}

void keylink_changed(struct keylink *l)
{
    l->tell = true;
    keylink_wake(l);
}

bool keylink_allowed(const struct keylink *l)
{
    return l->cfg.enabled && l->mtu >= HW_LINK_MTU_MIN &&
           !denied_gateway(&l->core->denied, &l->cfg.peer_id);
}

/* Why the link may not be keyed, for the peer. */
static const char *disallowed(const struct keylink *l)
{
    return l->cfg.enabled && l->mtu < HW_LINK_MTU_MIN ? "the underlay at this end is too narrow"
                                                      : "link disabled";
}

static bool may_key(const struct keylink *l)
{
    return keylink_allowed(l) && l->core->client && l->core->dataplane;
}

static void close_connections(struct keylink *l)
{
    epoch_abandon(l);
    conn_close(l->standing);
    l->standing = NULL;
}

/* Nothing of the link is to go on: not its connections, not its keys. */
static void shut(struct keylink *l)
{
    close_connections(l);
    epoch_drop_all(l);
    rekey_init(&l->rekey);
    keylink_changed(l);
}

void keylink_judge(struct keylink *l)
{
    bool good = epoch_judge(l);
    if (l->standing)
        good &= !denied_serial(&l->core->denied, conn_peer(l->standing)->serial);
    if (!keylink_allowed(l) || !good)
        shut(l);
    keylink_wake(l);
}

static bool same_path(const struct config_link *a, const struct config_link *b)
{
    return id_equal(&a->peer_id, &b->peer_id) && ipaddr_equal(&a->local, &b->local) &&
           ipaddr_equal(&a->remote, &b->remote) && a->remote_port_base == b->remote_port_base;
}

/* The dataplane takes these for other tunnels and drops the keys of the former ones. */
static bool same_tunnels(const struct config_link *a, const struct config_link *b)
{
    return a->port_offset == b->port_offset && a->local.family == b->local.family;
}

unsigned keylink_suites(const struct keylink *l, uint8_t out[SA_SUITES_MAX])
{
    return sa_policy_suites(&l->cfg, l->permit, core_suites(l->core), out);
}

/* A new number of tunnels, or other suites, want a new epoch. What an adopted one was made for is
 * known only as far as the dataplane's dump told: it stays if this end would ask for its suite
 * first. */
static bool config_differs(const struct keylink *l)
{
    const struct sa_epoch *active = sa_set_active(&l->sas);
    if (!active)
        return false;
    if (l->asked_tunnels && l->asked_tunnels != l->cfg.tunnels)
        return true;
    uint8_t suites[SA_SUITES_MAX];
    if (keylink_suites(l, suites) == 0)
        return false;
    return l->asked_suites[0] ? memcmp(l->asked_suites, suites, sizeof suites) != 0
                              : suites[0] != active->suite;
}

static struct sa_permit_facts permit_facts(const struct keylink *l)
{
    const struct config_permission *p = &l->cfg.permission;
    return (struct sa_permit_facts){.withdrawn = denied_permission(&l->core->denied, &p->id),
                                    .was_over = id_equal(&l->over, &p->id),
                                    .clock_trusted = core_clock_trusted(l->core),
                                    .now_s = core_now_s(l->core),
                                    .engine = core_suites(l->core)};
}

/* Where the permission's end, or its withdrawal, has changed what this end may key by,
 * config_differs() says so next. */
static void judge_permission(struct keylink *l)
{
    char link[ID_TEXT_MAX], text[SA_PERMIT_TEXT_MAX];
    struct sa_permit_facts facts = permit_facts(l);
    enum sa_permit permit = sa_policy_permit(&l->cfg.permission, &facts);
    if (permit == SA_PERMIT_OVER)
        l->over = l->cfg.permission.id;
    if (permit == l->permit)
        return;
    l->permit = permit;
    rekey_hurry(&l->rekey);
    log_info("permission link=%s: %s", id_text(&l->cfg.id, link),
             permit == SA_PERMIT_NONE ? "none"
                                      : sa_policy_permit_text(&l->cfg.permission, permit, 0, text));
    keylink_changed(l);
}

/* The trusted clock moves on its own: the end is looked for now and then too. */
static uint64_t permission_next_ns(const struct keylink *l, uint64_t now)
{
    if (l->permit != SA_PERMIT_IN_FORCE && l->permit != SA_PERMIT_CLOCK &&
        l->permit != SA_PERMIT_ENGINE)
        return UINT64_MAX;
    int64_t left = l->cfg.permission.until - core_now_s(l->core);
    bool soon = left > 0 && left < (int64_t)(CERT_CHECK_NS / NS_PER_S);
    return now + (soon ? (uint64_t)left * NS_PER_S : CERT_CHECK_NS);
}

static void send_hello(struct keylink *l, struct conn *c)
{
    const struct sa_epoch *active = sa_set_active(&l->sas);
    struct message m = {.type = MESSAGE_HELLO, .link = l->cfg.id};
    m.epoch = active ? active->epoch : 0;
    m.hello_mtu = l->mtu;
    conn_send(c, &m);
}

void keylink_configure(struct keylink *l, const struct config_link *cfg, uint32_t mtu)
{
    bool moved = !same_path(&l->cfg, cfg);
    bool newly_enabled = cfg->enabled && !l->cfg.enabled;
    bool other_mtu = mtu != l->mtu;
    bool other_terms = cfg->tunnels != l->cfg.tunnels || cfg->n_suites != l->cfg.n_suites ||
                       memcmp(cfg->suite_order, l->cfg.suite_order, cfg->n_suites) != 0;
    bool new_tunnels = !same_tunnels(&l->cfg, cfg);
    if (moved)
        close_connections(l);
    if (new_tunnels) {
        epoch_abandon(l);
        epoch_drop_all(l);
    }
    l->cfg = *cfg;
    l->mtu = mtu;
    judge_permission(l);
    if (!keylink_allowed(l)) {
        shut(l);
        return;
    }
    if (moved || new_tunnels || newly_enabled || other_terms)
        rekey_hurry(&l->rekey);
    if (other_mtu && l->standing)
        send_hello(l, l->standing);
    keylink_wake(l);
}

void keylink_dataplane_up(struct keylink *l, const struct dp_dump *dump)
{
    epoch_adopt(l, dump);
    keylink_judge(l);
    l->reconnect_ns = 0;
    keylink_changed(l);
}

void keylink_dataplane_lost(struct keylink *l)
{
    epoch_abandon(l);
    l->switching = 0;
    keylink_changed(l);
}

/* ---- what is due ---- */

/* After a lost connection the lower id reconnects, or the only end that can. */
static bool must_reconnect(const struct keylink *l)
{
    return !l->standing && l->cfg.dial && sa_set_active(&l->sas) &&
           (!l->cfg.peer_dials || id_cmp(&l->core->own, &l->cfg.peer_id) < 0);
}

static void dial(struct keylink *l, enum keylink_purpose purpose)
{
    struct err e;
    l->purpose = purpose;
    int rc = conn_dial(l->core->loop, l->core->client, core_now_s(l->core), &l->cfg.local,
                       &l->cfg.remote, l->cfg.remote_port_base, &link_conn, l, &l->xconn, &e);
    if (rc != 0) {
        l->xconn = NULL;
        keylink_attempt_failed(l, e.text);
    }
}

/* This end can't reach the peer: ask it. Every request counts as an attempt, until keys have come.
 */
static void send_want(struct keylink *l, uint64_t now)
{
    struct message m = {.type = MESSAGE_WANT, .link = l->cfg.id};
    m.reason = l->rekey.wanted ? l->rekey.wanted : WANT_LIMIT;
    conn_send(l->standing, &m);
    rekey_failed(&l->rekey, now, rand_u32());
}

static void start_something(struct keylink *l, uint64_t now)
{
    if (rekey_due(&l->rekey, now) && now >= epoch_allowed_ns(l) && (l->cfg.dial || l->standing)) {
        if (l->cfg.dial)
            dial(l, KEYLINK_FOR_EPOCH);
        else
            send_want(l, now);
    } else if (must_reconnect(l) && now >= l->reconnect_ns) {
        dial(l, KEYLINK_FOR_HELLO);
    }
}

/* A revoked gateway whose revocation never reached us is gone when its certificate ends. */
static void check_certificate(struct keylink *l)
{
    const struct sa_epoch *active = sa_set_active(&l->sas);
    if (!active || !peer_cert_ended(&active->peer_cert, core_now_s(l->core)))
        return;
    char link[ID_TEXT_MAX];
    log_warn("the peer's certificate has ended, keys dropped link=%s", id_text(&l->cfg.id, link));
    shut(l);
}

/* ---- silence ---- */

static uint64_t patience(const struct keylink *l)
{
    return silence_patience_ns(l->cfg.liveness_interval_ms, l->cfg.liveness_missed);
}

static uint64_t silence_next_ns(const struct keylink *l)
{
    if (l->silent || !may_key(l) || !sa_set_active(&l->sas))
        return SILENCE_NEVER;
    return silence_due_ns(&l->silence, patience(l));
}

/* Whatever the keys in use were agreed for, nothing answers by them: they are not worth waiting
 * for. */
static void check_silence(struct keylink *l, uint64_t now)
{
    char link[ID_TEXT_MAX];
    if (now < silence_next_ns(l))
        return;
    l->silent = true;
    l->waived = true;
    rekey_suspect(&l->rekey, WANT_MISMATCH);
    log_write(l->silence.epochs + 1 == SILENCE_ALARM_EPOCHS ? LOG_LEVEL_WARN : LOG_LEVEL_INFO,
              "no tunnel answers, keying anew link=%s silent_epochs=%u", id_text(&l->cfg.id, link),
              l->silence.epochs + 1);
    keylink_changed(l);
}

void keylink_tunnel(struct keylink *l, unsigned tunnel, enum dp_tunnel_state state)
{
    bool answers = silence_tunnel(&l->silence, tunnel, state, evloop_now(l->core->loop));
    if (answers && l->silent) {
        l->silent = false;
        if (rekey_withdraw(&l->rekey))
            l->waived = false;
    }
    if (answers)
        keylink_changed(l);
    else
        keylink_wake(l);
}

static bool idle(const struct keylink *l)
{
    return may_key(l) && !l->exchanging && !l->xconn && !l->switching;
}

static uint64_t earliest(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static void set_timer(struct keylink *l, uint64_t now)
{
    uint64_t next = epoch_next_ns(l);
    if (sa_set_active(&l->sas))
        next = earliest(next, now + CERT_CHECK_NS);
    if (idle(l) && (l->cfg.dial || l->standing)) {
        uint64_t rekey = rekey_next_ns(&l->rekey), allowed = epoch_allowed_ns(l);
        next = earliest(next, rekey > allowed ? rekey : allowed);
    }
    next = earliest(next, silence_next_ns(l));
    next = earliest(next, permission_next_ns(l, now));
    if (idle(l) && must_reconnect(l))
        next = earliest(next, l->reconnect_ns);
    if (next == UINT64_MAX)
        evloop_timer_disarm(l->timer);
    else
        evloop_timer_arm(l->timer, next > now ? next - now : 0);
}

void keylink_poll(struct keylink *l)
{
    uint64_t now = evloop_now(l->core->loop);
    epoch_tick(l, now);
    check_certificate(l);
    check_silence(l, now);
    judge_permission(l);
    if (may_key(l) && !sa_set_active(&l->sas))
        rekey_want(&l->rekey, WANT_NO_KEYS);
    else if (config_differs(l))
        rekey_want(&l->rekey, WANT_CONFIG);
    if (idle(l))
        start_something(l, now);
    set_timer(l, now);
    if (l->tell) {
        l->tell = false;
        struct hw_id id = l->cfg.id;
        l->core->handler->link_changed(l->core->arg, &id);
    }
}

/* ---- connections ---- */

void keylink_refuse(struct conn *c, const struct hw_id *link, uint16_t code, const char *text)
{
    struct message m = {.type = MESSAGE_REFUSE, .link = *link};
    m.refuse.code = code;
    (void)snprintf(m.refuse.text, sizeof m.refuse.text, "%s", text);
    conn_send(c, &m);
    conn_finish(c);
}

void keylink_attempt_failed(struct keylink *l, const char *why)
{
    uint64_t now = evloop_now(l->core->loop);
    char link[ID_TEXT_MAX], peer[ID_TEXT_MAX];
    (void)snprintf(l->last_error, sizeof l->last_error, "%s", why);
    if (l->purpose == KEYLINK_FOR_HELLO) {
        l->reconnects_failed++;
        l->reconnect_ns = now + rekey_backoff_ns(l->reconnects_failed, rand_u32());
    } else {
        rekey_failed(&l->rekey, now, rand_u32());
    }
    unsigned failures = l->rekey.failures + l->reconnects_failed;
    log_write(failures == REKEY_ALARM_FAILURES ? LOG_LEVEL_WARN : LOG_LEVEL_INFO,
              "keying failed link=%s gw=%s failures=%u: %s", id_text(&l->cfg.id, link),
              id_text(&l->cfg.peer_id, peer), failures, why);
    keylink_changed(l);
}

/* Takes `c` as the connection that carries DELETE, WANT and MTU; an older one is closed. */
static void take_standing(struct keylink *l, struct conn *c)
{
    if (l->standing != c)
        conn_close(l->standing);
    l->standing = c;
    l->reconnects_failed = 0;
    conn_owner(c, &link_conn, l);
    conn_deadline(c, 0);
    keylink_wake(l);
}

void keylink_keep_standing(struct keylink *l)
{
    struct conn *c = l->xconn;
    l->xconn = NULL;
    if (c)
        take_standing(l, c);
}

/* The dialled peer has proved who it is. */
static void on_secured(void *arg, struct conn *c)
{
    struct keylink *l = arg;
    struct hw_id id;
    if (conn_peer_gateway(c, &id) != 0 || !id_equal(&id, &l->cfg.peer_id) ||
        denied_serial(&l->core->denied, conn_peer(c)->serial)) {
        l->core->counters.refused_peer++;
        conn_close(c);
        l->xconn = NULL;
        keylink_attempt_failed(l, "the certificate there is not the peer's");
        return;
    }
    if (l->purpose == KEYLINK_FOR_EPOCH) {
        epoch_begin(l);
    } else {
        send_hello(l, c);
        conn_deadline(c, CONN_TIMEOUT_NS);
    }
}

static void take_want(struct keylink *l, uint8_t reason)
{
    const struct sa_epoch *active = sa_set_active(&l->sas);
    l->waived |= reason == WANT_NO_KEYS || reason == WANT_BOOT;
    rekey_want(&l->rekey, reason ? reason : WANT_OPERATOR);
    rekey_hurry(&l->rekey);
    if (active)
        rekey_not_before(&l->rekey, active->installed_ns + WANT_PACE_NS);
    rekey_pace(&l->rekey, WANT_PACE_NS);
    keylink_wake(l);
}

static void take_peer_mtu(struct keylink *l, uint32_t mtu)
{
    if (l->peer_mtu == mtu)
        return;
    l->peer_mtu = mtu;
    keylink_changed(l);
}

/* What may come at any time on a connection of the link. False: not one of these. */
static bool standing_message(struct keylink *l, struct conn *c, const struct message *m)
{
    if (!id_equal(&m->link, &l->cfg.id))
        return false;
    switch (m->type) {
    case MESSAGE_DELETE:
        epoch_peer_deleted(l, m->epoch);
        return true;
    case MESSAGE_WANT:
        take_want(l, m->reason);
        return true;
    case MESSAGE_MTU:
        l->core->handler->peer_mtu(l->core->arg, &l->cfg.id, &m->mtu.prefix, m->mtu.mtu);
        return true;
    case MESSAGE_HELLO:
        if (c == l->standing)
            take_peer_mtu(l, m->hello_mtu);
        return c == l->standing;
    default:
        return false;
    }
}

/* The answer to this end's HELLO. */
static void hello_answered(struct keylink *l, struct conn *c, const struct message *m)
{
    l->xconn = NULL;
    if (m->type == MESSAGE_HELLO && id_equal(&m->link, &l->cfg.id)) {
        take_standing(l, c);
        l->last_error[0] = '\0';
        take_peer_mtu(l, m->hello_mtu);
        epoch_peer_sends(l, m->epoch);
        keylink_changed(l);
        return;
    }
    bool refused = m->type == MESSAGE_REFUSE;
    l->core->counters.bad_message += !refused;
    conn_close(c);
    keylink_attempt_failed(l, refused ? m->refuse.text : "no answer to HELLO, but another message");
}

static void on_message(void *arg, struct conn *c, const struct message *m, const uint8_t *raw,
                       size_t len)
{
    struct keylink *l = arg;
    /* The initiator's DELETE may follow its READY while the dataplane still switches. */
    bool early = l->exchanging && l->x.state == EXCHANGE_SWITCHING;
    if ((c == l->standing || early) && standing_message(l, c, m))
        return;
    if (c == l->standing) {
        l->core->counters.bad_message++;
        conn_close(c);
        l->standing = NULL;
        keylink_changed(l);
    } else if (l->exchanging) {
        epoch_message(l, m, raw, len);
    } else {
        hello_answered(l, c, m);
    }
}

static void on_closed(void *arg, struct conn *c, int code, const char *why)
{
    struct keylink *l = arg;
    if (code == HW_EPROTO)
        l->core->counters.bad_message++;
    else if (code == HW_ETIMEOUT)
        l->core->counters.timed_out++;
    if (c == l->standing) {
        l->standing = NULL;
        l->reconnect_ns = evloop_now(l->core->loop) + rekey_backoff_ns(1, rand_u32());
        keylink_changed(l);
        return;
    }
    if (l->exchanging) {
        epoch_closed(l, why);
        return;
    }
    l->xconn = NULL;
    keylink_attempt_failed(l, why);
}

static const struct conn_handler link_conn = {on_secured, on_message, on_closed};

/* May the peer's OFFER be answered now? 0, or the code to refuse it with. */
static uint16_t judge_offer(struct keylink *l, const struct message_offer *o, const char **why)
{
    const struct sa_epoch *active = sa_set_active(&l->sas);
    if (!keylink_allowed(l)) {
        *why = disallowed(l);
        return REFUSE_LINK;
    }
    if (!may_key(l)) {
        *why = "no dataplane";
        return REFUSE_DATAPLANE;
    }
    if (l->exchanging && !exchange_yields(&l->x, o)) {
        *why = "this end's own exchange goes on";
        return REFUSE_COLLISION;
    }
    /* A peer that rebooted knows nothing of the last epoch. */
    uint64_t now = evloop_now(l->core->loop);
    if (active && !active->confirmed && !sa_set_pending(&l->sas) &&
        id_equal(&active->peer_boot, &o->boot) && now < epoch_allowed_ns(l) &&
        !silence_lasts(&l->silence, patience(l), now)) {
        *why = "the last epoch is not confirmed yet";
        return REFUSE_UNCONFIRMED;
    }
    return 0;
}

void keylink_take_offer(struct keylink *l, struct conn *c, const struct message *m,
                        const uint8_t *raw, size_t len)
{
    const char *why = "";
    if (!id_equal(&m->offer.own, &l->cfg.peer_id) || !id_equal(&m->offer.peer, &l->core->own)) {
        l->core->counters.bad_message++;
        conn_close(c);
        return;
    }
    uint16_t code = judge_offer(l, &m->offer, &why);
    if (code) {
        keylink_refuse(c, &l->cfg.id, code, why);
        return;
    }
    epoch_abandon(l);
    l->xconn = c;
    l->purpose = KEYLINK_FOR_EPOCH;
    conn_owner(c, &link_conn, l);
    epoch_respond(l, m, raw, len);
}

void keylink_take_hello(struct keylink *l, struct conn *c, const struct message *m)
{
    if (!keylink_allowed(l)) {
        keylink_refuse(c, &l->cfg.id, REFUSE_LINK, disallowed(l));
        return;
    }
    take_standing(l, c);
    send_hello(l, c);
    rekey_hurry(&l->rekey);
    rekey_pace(&l->rekey, WANT_PACE_NS);
    take_peer_mtu(l, m->hello_mtu);
    epoch_peer_sends(l, m->epoch);
    keylink_changed(l);
}

/* ---- status ---- */

static enum keying_state state_of(const struct keylink *l)
{
    if (l->standing)
        return KEYING_CONNECTED;
    if (l->xconn || l->exchanging)
        return KEYING_DIALLING;
    return l->rekey.failures || l->reconnects_failed ? KEYING_FAILED : KEYING_IDLE;
}

void keylink_status(const struct keylink *l, struct keying_link_status *out)
{
    const struct sa_epoch *active = sa_set_active(&l->sas);
    *out = (struct keying_link_status){
        .state = state_of(l),
        .failures = l->rekey.failures + l->reconnects_failed + l->silence.epochs,
        .denied = denied_gateway(&l->core->denied, &l->cfg.peer_id),
        .keyed = active != NULL && l->core->dataplane,
        .own_mtu = l->mtu,
        .peer_mtu = l->peer_mtu,
    };
    memcpy(out->last_error, l->last_error, sizeof out->last_error);
    _Static_assert(sizeof out->permission == SA_PERMIT_TEXT_MAX, "a permission's text fits");
    (void)sa_policy_permit_text(&l->cfg.permission, l->permit, active ? active->suite : 0,
                                out->permission);
    if (active && l->silence.epochs > 0 && l->last_error[0] == '\0')
        (void)snprintf(out->last_error, sizeof out->last_error,
                       "no tunnel answers, by none of the last %u epochs", l->silence.epochs);
    if (active) {
        out->epoch = active->epoch;
        out->rekeyed_at = l->rekeyed_at;
        out->suite = active->suite;
        out->tunnels = active->out;
        out->peer_boot = active->peer_boot;
    }
}
