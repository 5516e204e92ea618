#include "agent/control/status.h"
#include "agent/control/agent_clock.h"
#include "agent/control/cloud/cloud.h"
#include "agent/control/config_apply.h"
#include "agent/control/config_cycle.h"
#include "agent/control/config_store.h"
#include "agent/control/conntrack.h"
#include "agent/control/controller_link.h"
#include "agent/control/ctl.h"
#include "agent/control/denials_store.h"
#include "agent/control/dp_client.h"
#include "agent/control/identity.h"
#include "agent/control/interfaces.h"
#include "agent/control/keying/keying.h"
#include "agent/control/sysctl.h"
#include "agent/control/telemetry.h"
#include "common/clock.h"
#include "common/json.h"
#include <inttypes.h>
#include <linux/capability.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KEYING_ALARM_FAILURES 3

struct since {
    struct hw_id link;
    enum report_link_state state;
    int64_t since;
};

struct status {
    const struct app *app;
    struct since *links;
    size_t n_links;
};

int status_new(const struct app *app, struct status **out, struct err *e)
{
    struct status *s = calloc(1, sizeof *s);
    if (!s)
        return err_set(e, HW_ENOMEM, "out of memory");
    s->app = app;
    *out = s;
    return 0;
}

void status_free(struct status *s)
{
    if (!s)
        return;
    free(s->links);
    free(s);
}

/* Since when a link has the state; now, if it is new. */
static int64_t since_of(struct status *s, const struct hw_id *link, enum report_link_state state)
{
    int64_t now = agent_clock_now(s->app->clock);
    for (size_t i = 0; i < s->n_links; i++) {
        struct since *l = &s->links[i];
        if (!id_equal(&l->link, link))
            continue;
        if (l->state != state)
            *l = (struct since){*link, state, now};
        return l->since;
    }
    struct since *grown = realloc(s->links, (s->n_links + 1) * sizeof *grown);
    if (!grown)
        return now;
    s->links = grown;
    s->links[s->n_links++] = (struct since){*link, state, now};
    return now;
}

/* Links that are gone need no memory; it is gone through when more than as many as there are have
 * gathered. */
static void forget_others(struct status *s, const struct gateway_config *c)
{
    size_t kept = 0;
    if (s->n_links <= 2 * c->n_links)
        return;
    for (size_t i = 0; i < s->n_links; i++)
        for (size_t k = 0; k < c->n_links; k++)
            if (id_equal(&s->links[i].link, &c->links[k].id)) {
                s->links[kept++] = s->links[i];
                break;
            }
    s->n_links = kept;
}

/* ---- links ---- */

static unsigned tunnels_up(const struct report_link *l)
{
    unsigned up = 0;
    for (size_t i = 0; i < l->n_tunnels; i++)
        up += l->tunnels[i].state == DP_TUNNEL_UP;
    return up;
}

static void too_narrow(const struct config_link *c, const struct keying_link_status *k, char *out,
                       size_t size)
{
    char text[IPADDR_TEXT_MAX];
    (void)snprintf(out, size,
                   "the MTU of the underlay at %s leaves %" PRIu32
                   " bytes for a packet in a tunnel, at least %u are needed",
                   ipaddr_text(&c->local, text), k->own_mtu, HW_LINK_MTU_MIN);
}

/* One state and one sentence for a link. `expected`: tunnels of the epoch in use. */
static void judge_link(const struct app *app, const struct config_link *c,
                       const struct keying_link_status *k, struct report_link *out)
{
    unsigned expected = k->keyed && k->tunnels ? k->tunnels : c->tunnels;
    unsigned up = tunnels_up(out);
    const char *why = "";
    out->state = REPORT_LINK_DOWN;
    if (!c->enabled) {
        out->state = REPORT_LINK_DISABLED;
        why = "disabled by an operator";
    } else if (k->own_mtu < HW_LINK_MTU_MIN) {
        too_narrow(c, k, out->reason, sizeof out->reason);
        return;
    } else if (k->denied || (app->link && controller_link_revoked(app->link))) {
        out->state = REPORT_LINK_NO_KEYS;
        why = k->denied ? "the peer is revoked" : "this gateway is revoked";
    } else if (!dp_client_connected(app->dp)) {
        why = "the dataplane is away";
    } else if (!k->keyed) {
        out->state = REPORT_LINK_NO_KEYS;
        why = k->last_error[0] ? k->last_error : "not keyed yet";
    } else if (up == 0) {
        why = "no tunnel is answered";
    } else if (up < expected) {
        out->state = REPORT_LINK_DEGRADED;
        (void)snprintf(out->reason, sizeof out->reason, "%u of %u tunnels are up", up, expected);
        return;
    } else {
        out->state = REPORT_LINK_UP;
        why = k->permission;
    }
    (void)snprintf(out->reason, sizeof out->reason, "%s", why);
}

/* MTU of the interface that has the link's own address. */
static uint32_t underlay_mtu(const struct node *n, const struct ipaddr *local)
{
    for (size_t i = 0; i < n->n_interfaces; i++)
        for (size_t k = 0; k < n->interfaces[i].n_addresses; k++)
            if (ipaddr_equal(&n->interfaces[i].addresses[k].addr, local))
                return n->interfaces[i].mtu;
    return 0;
}

static void fill_link(struct status *s, const struct gateway_config *config,
                      const struct config_link *c, struct report_link *out)
{
    const struct app *app = s->app;
    struct keying_link_status k = {0};
    (void)keying_status(app->keying, &c->id, &k);
    (void)telemetry_fill_link(app->telemetry, &c->id, config->port_base, c->port_offset, out, NULL);
    out->link_id = c->id;
    out->epoch = k.epoch;
    out->rekeyed_at = k.rekeyed_at;
    out->suite = k.suite;
    out->keying = (enum report_keying_state)k.state;
    (void)snprintf(out->keying_error, sizeof out->keying_error, "%s", k.last_error);
    out->keying_failures = k.failures;
    out->mtu = config_apply_link_mtu(app->apply, &c->id);
    judge_link(app, c, &k, out);
    out->since = since_of(s, &c->id, out->state);
}

_Static_assert((int)KEYING_IDLE == REPORT_KEYING_IDLE &&
                   (int)KEYING_DIALLING == REPORT_KEYING_DIALLING &&
                   (int)KEYING_CONNECTED == REPORT_KEYING_CONNECTED &&
                   (int)KEYING_FAILED == REPORT_KEYING_FAILED,
               "a report's keying states are keying's own");

static void fill_links(struct status *s, struct report *r)
{
    const struct stored_config *c = config_apply_current(s->app->apply);
    if (!c || c->config.n_links == 0)
        return;
    r->links = calloc(c->config.n_links, sizeof *r->links);
    if (!r->links)
        return;
    r->n_links = c->config.n_links;
    for (size_t i = 0; i < r->n_links; i++) {
        fill_link(s, &c->config, &c->config.links[i], &r->links[i]);
        r->links[i].underlay_mtu = underlay_mtu(&r->node, &c->config.links[i].local);
    }
    forget_others(s, &c->config);
}

/* ---- problems ---- */

static void add_problem(struct report *r, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

static void add_problem(struct report *r, const char *fmt, ...)
{
    if (!r->problems || r->n_problems == REPORT_PROBLEMS_MAX)
        return;
    va_list ap;
    va_start(ap, fmt);
    (void)vsnprintf(r->problems[r->n_problems++], HW_TEXT_MAX + 1, fmt, ap);
    va_end(ap);
}

const char *status_missing_capabilities(void)
{
    static const struct {
        unsigned bit;
        const char *name;
    } needed[] = {{CAP_NET_ADMIN, "CAP_NET_ADMIN"}, {CAP_NET_RAW, "CAP_NET_RAW"}, {39, "CAP_BPF"}};
    static char missing[64];
    char line[128];
    unsigned long long effective = 0;
    FILE *f = fopen("/proc/self/status", "re");
    while (f && fgets(line, sizeof line, f))
        if (strncmp(line, "CapEff:", 7) == 0)
            effective = strtoull(line + 7, NULL, 16);
    if (f)
        (void)fclose(f);
    missing[0] = '\0';
    for (size_t i = 0; i < sizeof needed / sizeof *needed; i++) {
        size_t at = strlen(missing);
        if (!(effective >> needed[i].bit & 1))
            (void)snprintf(missing + at, sizeof missing - at, "%s%s", at ? " " : "",
                           needed[i].name);
    }
    return missing;
}

static void link_problems(const struct app *app, struct report *r)
{
    const struct stored_config *c = config_apply_current(app->apply);
    for (size_t i = 0; c && i < r->n_links && i < c->config.n_links; i++) {
        char text[ID_TEXT_MAX], why[HW_TEXT_MAX + 1];
        const struct config_link *l = &c->config.links[i];
        struct keying_link_status k;
        if (l->enabled && keying_status(app->keying, &l->id, &k) == 0 &&
            k.own_mtu < HW_LINK_MTU_MIN) {
            too_narrow(l, &k, why, sizeof why);
            add_problem(r, "link %s: %.150s", id_text(&l->id, text), why);
        }
        if (r->links[i].keying_failures >= KEYING_ALARM_FAILURES)
            add_problem(r, "link %s: keying failed %" PRIu64 " times in a row: %.100s",
                        id_text(&r->links[i].link_id, text), r->links[i].keying_failures,
                        r->links[i].keying_error);
    }
}

/* Larger packets than the cloud's network carries are lost without a word. */
static void cloud_problems(const struct app *app, struct report *r)
{
    const struct cloud_facts *f = cloud_facts(app->cloud);
    for (size_t i = 0; i < f->n_mtus; i++) {
        uint32_t mtu = underlay_mtu(&r->node, &f->mtus[i].address);
        char text[IPADDR_TEXT_MAX];
        if (mtu > f->mtus[i].mtu)
            add_problem(r,
                        "the interface of %s has the MTU %" PRIu32 ", its cloud's network %" PRIu32,
                        ipaddr_text(&f->mtus[i].address, text), mtu, f->mtus[i].mtu);
    }
}

static void fill_problems(const struct app *app, struct report *r)
{
    r->problems = calloc(REPORT_PROBLEMS_MAX, sizeof *r->problems);
    const char *missing = status_missing_capabilities();
    if (missing[0])
        add_problem(r, "missing capabilities: %s", missing);
    if (!identity_enrolled(app->identity))
        add_problem(r, "not enrolled%s%.150s", app->enrol_error[0] ? ": " : "", app->enrol_error);
    if (app->link && controller_link_revoked(app->link))
        add_problem(r, "this gateway is revoked");
    if (app->link && controller_link_refusal(app->link)[0])
        add_problem(r, "%s", controller_link_refusal(app->link));
    if (!dp_client_connected(app->dp))
        add_problem(r, "the dataplane is away: %.150s", dp_client_why(app->dp));
    if (config_apply_problem(app->apply)[0])
        add_problem(r, "config not wholly in force: %.150s", config_apply_problem(app->apply));
    if (config_apply_current(app->apply) && !r->ip_forward)
        add_problem(r, "forwarding is off");
    int64_t skew = agent_clock_skew(app->clock);
    if (skew > TRUSTED_CLOCK_ALARM_S || skew < -TRUSTED_CLOCK_ALARM_S)
        add_problem(r, "the wall clock is %" PRId64 " s off", skew);
    cloud_problems(app, r);
    link_problems(app, r);
}

/* ---- report ---- */

static void fill_dataplane(const struct app *app, struct report_dataplane *d)
{
    const struct dp_hello *h = dp_client_hello(app->dp);
    *d = (struct report_dataplane){.connected = h != NULL};
    if (!h)
        return;
    d->boot_id = h->boot;
    (void)snprintf(d->version, sizeof d->version, "%.*s", (int)sizeof h->build, h->build);
    d->workers = h->workers;
    d->provider = h->provider;
    d->features = h->features;
    d->suites = h->suites;
}

void status_fill(struct status *s, struct report *r)
{
    const struct app *app = s->app;
    (void)snprintf(r->agent_version, sizeof r->agent_version, "%s", HAWSER_VERSION);
    r->boot_id = app->boot;
    r->time = agent_clock_now(app->clock);
    r->wall_skew_seconds = agent_clock_skew(app->clock);
    r->denials_revision = app->denials ? denials_store_number(app->denials) : 0;
    struct nl *n;
    if (nl_open(&n, NULL) == 0) {
        (void)interfaces_read(n, app->settings, cloud_facts(app->cloud), &r->node, NULL);
        nl_close(n);
    }
    cloud_where(app->settings, cloud_facts(app->cloud), &r->cloud);
    fill_dataplane(app, &r->dataplane);
    telemetry_fill(app->telemetry, r);
    fill_links(s, r);
    r->conntrack = conntrack_read();
    r->ip_forward = sysctl_forwarding();
    fill_problems(app, r);
}

void status_done(struct report *r)
{
    report_done(r);
}

/* ---- status --json ---- */

static void put_identity(struct json_writer *w, const struct app *app)
{
    const struct stored_config *c = config_apply_current(app->apply);
    bool enrolled = identity_enrolled(app->identity);
    char text[CLOCK_TEXT_MAX];
    if (enrolled)
        json_put_id(w, "gateway_id", identity_gateway_id(app->identity));
    else
        json_put_null(w, "gateway_id");
    json_put_str(w, "name", c ? c->config.name : app->settings->name);
    json_put_str(w, "site_name", c ? c->config.site_name : NULL);
    json_put_str(w, "version", HAWSER_VERSION);
    json_put_id(w, "boot_id", &app->boot);
    json_put_bool(w, "enrolled", enrolled);
    if (!enrolled) {
        json_put_null(w, "certificate");
        return;
    }
    json_open_object(w, "certificate");
    json_put_str(w, "serial", identity_info(app->identity)->serial);
    json_put_str(w, "not_after", clock_text(identity_info(app->identity)->not_after, text));
    json_close(w);
}

static void put_controller(struct json_writer *w, const struct app *app)
{
    if (!app->link) {
        json_put_null(w, "controller");
        return;
    }
    struct controller_status c;
    controller_link_status(app->link, &c);
    json_open_object(w, "controller");
    json_put_str(w, "url", c.url);
    json_put_str(w, "state", controller_state_name(c.state));
    if (c.last_contact)
        json_put_int(w, "last_contact", c.last_contact);
    else
        json_put_null(w, "last_contact");
    json_put_str(w, "last_error", c.last_error);
    json_close(w);
}

static void put_revisions(struct json_writer *w, const struct app *app, const struct report *r)
{
    const struct stored_config *c = app->store ? config_store_confirmed(app->store) : NULL;
    report_put_revisions_open(w, &r->revisions);
    json_put_uint(w, "confirmed", c ? c->doc.revision : 0);
    json_close(w);
    json_put_uint(w, "denials_revision", r->denials_revision);
}

static void put_link(struct json_writer *w, const struct gateway_config *c, size_t i,
                     const struct report_link *l)
{
    const char *peer = NULL;
    for (size_t p = 0; p < c->n_peers; p++)
        if (id_equal(&c->peers[p].gateway_id, &c->links[i].peer_id))
            peer = c->peers[p].name;
    json_open_object(w, NULL);
    report_put_link_members(w, l);
    json_put_str(w, "peer", peer);
    json_put_ip(w, "local", &c->links[i].local);
    json_put_ip(w, "remote", &c->links[i].remote);
    json_close(w);
}

static void put_counters(struct json_writer *w, const struct app *app)
{
    const struct keying_counters *k = keying_counters(app->keying);
    const struct {
        const char *name;
        uint64_t value;
    } rows[] = {
        {"keying_accepted", k->accepted},
        {"keying_refused_address", k->refused_address},
        {"keying_refused_crowd", k->refused_crowd},
        {"keying_refused_full", k->refused_full},
        {"keying_refused_peer", k->refused_peer},
        {"keying_handshake_failed", k->handshake_failed},
        {"keying_bad_message", k->bad_message},
        {"keying_timed_out", k->timed_out},
        {"keying_paused", k->paused},
        {"keying_exchanges_done", k->exchanges_done},
        {"keying_exchanges_failed", k->exchanges_failed},
        {"status_paused", ctl_paused(app->ctl)},
    };
    json_open_object(w, "counters");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        json_put_uint(w, rows[i].name, rows[i].value);
    json_close(w);
}

char *status_json(struct status *s, size_t *len)
{
    const struct app *app = s->app;
    struct report *r = calloc(1, sizeof *r);
    if (!r)
        return NULL;
    if (app->cycle)
        config_cycle_revisions(app->cycle, &r->revisions);
    status_fill(s, r);
    struct json_writer w;
    json_writer_init(&w);
    put_identity(&w, app);
    put_controller(&w, app);
    put_revisions(&w, app, r);
    json_open_object(&w, "clock");
    json_put_int(&w, "trusted_time", r->time);
    json_put_int(&w, "skew_seconds", r->wall_skew_seconds);
    json_put_str(&w, "source", agent_clock_source(app->clock));
    json_close(&w);
    cloud_status_put(&w, app->cloud, &r->node);
    report_put_dataplane(&w, &r->dataplane);
    json_open_array(&w, "links");
    const struct stored_config *c = config_apply_current(app->apply);
    for (size_t i = 0; c && i < r->n_links; i++)
        put_link(&w, &c->config, i, &r->links[i]);
    json_close(&w);
    report_put_drops(&w, r->drops);
    put_counters(&w, app);
    json_open_object(&w, "system");
    json_put_bool(&w, "ip_forward", r->ip_forward);
    json_open_array(&w, "problems");
    for (size_t i = 0; i < r->n_problems; i++)
        json_put_str(&w, NULL, r->problems[i]);
    json_close(&w);
    json_close(&w);
    status_done(r);
    free(r);
    return json_finish(&w, len);
}
