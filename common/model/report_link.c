/* Links and tunnels of a report. */
#include "common/esp_suite.h"
#include "common/model/report_part.h"
#include <stdlib.h>

#define LINK_MTU_MAX 65535u

/* Indexed by the enums that they name. */
static const char *const link_states[] = {"up", "degraded", "down", "disabled", "no_keys", NULL};
static const char *const keying_states[] = {"idle", "dialling", "connected", "failed", NULL};
static const char *const tunnel_states[] = {"no_sa", "probing", "up", "down", NULL};
static const char *const tunnel_reasons[] = {"none",      "answered", "no_answer", "no_sa",
                                             "peer_boot", "disabled", NULL};

const char *report_link_state_name(enum report_link_state s)
{
    return link_states[s];
}

const char *report_keying_state_name(enum report_keying_state s)
{
    return keying_states[s];
}

/* ---- encode ---- */

static void put_tunnel(struct json_writer *w, const struct report_tunnel *t)
{
    json_open_object(w, NULL);
    json_put_uint(w, "tunnel", t->tunnel);
    json_put_str(w, "state", dp_tunnel_state_name(t->state));
    json_put_str(w, "reason", dp_tunnel_reason_name(t->reason));
    json_put_uint(w, "port", t->port);
    json_put_uint(w, "rtt_us", t->rtt_us);
    json_put_uint(w, "tx_packets", t->tx_packets);
    json_put_uint(w, "tx_bytes", t->tx_bytes);
    json_put_uint(w, "rx_packets", t->rx_packets);
    json_put_uint(w, "rx_bytes", t->rx_bytes);
    json_put_uint(w, "probes_sent", t->probes_sent);
    json_put_uint(w, "probes_answered", t->probes_answered);
    json_put_uint(w, "probes_lost", t->probes_lost);
    json_put_uint(w, "worker", t->worker);
    json_put_uint(w, "mtu", t->mtu);
    json_put_uint(w, "wire_tx_bytes", t->wire_tx_bytes);
    json_put_uint(w, "wire_rx_bytes", t->wire_rx_bytes);
    json_put_uint(w, "rtt_us_min", t->rtt_us_min);
    json_put_uint(w, "rtt_us_max", t->rtt_us_max);
    json_put_uint(w, "probes_reflected", t->probes_reflected);
    json_put_uint(w, "auth_failures", t->auth_failures);
    json_put_uint(w, "replays", t->replays);
    json_close(w);
}

static void put_link_measured(struct json_writer *w, const struct report_link *l)
{
    json_put_uint(w, "wire_tx_bps", l->wire_tx_bps);
    json_put_uint(w, "wire_rx_bps", l->wire_rx_bps);
    json_put_uint(w, "tx_pps", l->tx_pps);
    json_put_uint(w, "rx_pps", l->rx_pps);
    if (l->underlay_mtu)
        json_put_uint(w, "underlay_mtu", l->underlay_mtu);
    else
        json_put_null(w, "underlay_mtu");
    json_open_object(w, "spread");
    report_put_spread(w, "tx_bps", &l->goodput_tx);
    report_put_spread(w, "rx_bps", &l->goodput_rx);
    json_close(w);
    report_put_spread(w, "rtt_us", &l->rtt_us);
    report_put_ratio(w, "loss_ratio", &l->loss);
    report_put_ratio(w, "imbalance_ratio", &l->imbalance);
}

void report_put_link_members(struct json_writer *w, const struct report_link *l)
{
    const struct esp_suite *suite = esp_suite_by_id(l->suite);
    json_put_id(w, "link_id", &l->link_id);
    json_put_str(w, "state", link_states[l->state]);
    json_put_str(w, "reason", l->reason);
    json_put_int(w, "since", l->since);
    json_put_uint(w, "epoch", l->epoch);
    if (l->rekeyed_at)
        json_put_int(w, "rekeyed_at", l->rekeyed_at);
    else
        json_put_null(w, "rekeyed_at");
    json_put_str(w, "suite", suite ? suite->name : NULL);
    json_open_object(w, "keying");
    json_put_str(w, "state", keying_states[l->keying]);
    json_put_str(w, "last_error", l->keying_error);
    json_put_uint(w, "failures", l->keying_failures);
    json_close(w);
    json_put_uint(w, "mtu", l->mtu);
    json_put_uint(w, "tx_bps", l->tx_bps);
    json_put_uint(w, "rx_bps", l->rx_bps);
    put_link_measured(w, l);
    json_open_array(w, "tunnels");
    for (size_t i = 0; i < l->n_tunnels; i++)
        put_tunnel(w, &l->tunnels[i]);
    json_close(w);
}

/* ---- decode ---- */

static int get_tunnel_late(const struct json_at *at, struct report_tunnel *t, struct err *e)
{
    int rc = 0;
    if (json_has(at, "worker"))
        rc = json_get_u32(at, "worker", 0, HW_WORKERS_MAX - 1, &t->worker, e);
    if (!rc && json_has(at, "mtu"))
        rc = json_get_u32(at, "mtu", 0, LINK_MTU_MAX, &t->mtu, e);
    rc = rc ? rc : report_get_late_counter(at, "wire_tx_bytes", &t->wire_tx_bytes, e);
    rc = rc ? rc : report_get_late_counter(at, "wire_rx_bytes", &t->wire_rx_bytes, e);
    rc = rc ? rc : report_get_late_counter(at, "rtt_us_min", &t->rtt_us_min, e);
    rc = rc ? rc : report_get_late_counter(at, "rtt_us_max", &t->rtt_us_max, e);
    rc = rc ? rc : report_get_late_counter(at, "probes_reflected", &t->probes_reflected, e);
    rc = rc ? rc : report_get_late_counter(at, "auth_failures", &t->auth_failures, e);
    rc = rc ? rc : report_get_late_counter(at, "replays", &t->replays, e);
    return rc;
}

static int get_tunnel(const struct json_at *at, struct report_tunnel *t, struct err *e)
{
    static const char *const members[] = {
        "tunnel",     "state",       "reason",           "port",
        "rtt_us",     "tx_packets",  "tx_bytes",         "rx_packets",
        "rx_bytes",   "probes_sent", "probes_answered",  "probes_lost",
        "worker",     "mtu",         "wire_tx_bytes",    "wire_rx_bytes",
        "rtt_us_min", "rtt_us_max",  "probes_reflected", "auth_failures",
        "replays",    NULL};
    int rc = json_members(at, members, e);
    rc = rc ? rc : json_get_u32(at, "tunnel", 0, HW_TUNNELS_PER_LINK_MAX - 1, &t->tunnel, e);
    rc = rc ? rc : json_get_enum(at, "state", tunnel_states, &t->state, e);
    rc = rc ? rc : json_get_enum(at, "reason", tunnel_reasons, &t->reason, e);
    rc = rc ? rc : json_get_u16(at, "port", 0, UINT16_MAX, &t->port, e);
    rc = rc ? rc : report_get_counter(at, "rtt_us", &t->rtt_us, e);
    rc = rc ? rc : report_get_counter(at, "tx_packets", &t->tx_packets, e);
    rc = rc ? rc : report_get_counter(at, "tx_bytes", &t->tx_bytes, e);
    rc = rc ? rc : report_get_counter(at, "rx_packets", &t->rx_packets, e);
    rc = rc ? rc : report_get_counter(at, "rx_bytes", &t->rx_bytes, e);
    rc = rc ? rc : report_get_counter(at, "probes_sent", &t->probes_sent, e);
    rc = rc ? rc : report_get_counter(at, "probes_answered", &t->probes_answered, e);
    rc = rc ? rc : report_get_counter(at, "probes_lost", &t->probes_lost, e);
    return rc ? rc : get_tunnel_late(at, t, e);
}

static int get_tunnels(const struct json_at *at, struct report_link *l, struct err *e)
{
    struct json_at a;
    size_t n = 0;
    int rc = json_get_room(at, "tunnels", HW_TUNNELS_PER_LINK_MAX, sizeof *l->tunnels, &a,
                           &l->tunnels, &n, e);
    if (rc || n == 0)
        return rc;
    l->n_tunnels = n;
    for (size_t i = 0; !rc && i < n; i++) {
        struct json_at v = json_element(&a, i);
        rc = get_tunnel(&v, &l->tunnels[i], e);
        if (!rc && i > 0 && l->tunnels[i].tunnel <= l->tunnels[i - 1].tunnel)
            rc = json_refuse(&v, e, "tunnels must rise");
    }
    return rc;
}

static int get_keying(const struct json_at *at, struct report_link *l, struct err *e)
{
    static const char *const members[] = {"state", "last_error", "failures", NULL};
    struct json_at o;
    unsigned state = 0;
    int rc = json_get_object(at, "keying", &o, e);
    rc = rc ? rc : json_members(&o, members, e);
    rc = rc ? rc : json_get_enum(&o, "state", keying_states, &state, e);
    l->keying = (enum report_keying_state)state;
    rc = rc ? rc : json_get_text(&o, "last_error", l->keying_error, sizeof l->keying_error, e);
    rc = rc ? rc : report_get_counter(&o, "failures", &l->keying_failures, e);
    return rc;
}

/* The suite's name, or null: none. A name that this side doesn't know is refused. */
static int get_suite(const struct json_at *at, unsigned *out, struct err *e)
{
    struct json_at m;
    const char *name;
    int rc = json_member(at, "suite", &m, e);
    if (rc || !m.value)
        return rc;
    rc = json_as_str(&m, HW_TEXT_MAX, &name, e);
    if (rc)
        return rc;
    const struct esp_suite *s = esp_suite_by_name(name);
    if (!s)
        return json_refuse(&m, e, "unknown suite");
    *out = s->id;
    return HW_OK;
}

static int get_link_spreads(const struct json_at *at, struct report_link *l, struct err *e)
{
    static const char *const members[] = {"tx_bps", "rx_bps", NULL};
    struct json_at o;
    if (!json_has(at, "spread"))
        return 0;
    int rc = json_get_object(at, "spread", &o, e);
    rc = rc ? rc : json_members(&o, members, e);
    rc = rc ? rc : report_get_spread(&o, "tx_bps", &l->goodput_tx, e);
    rc = rc ? rc : report_get_spread(&o, "rx_bps", &l->goodput_rx, e);
    return rc;
}

static int get_link_measured(const struct json_at *at, struct report_link *l, struct err *e)
{
    int rc = report_get_late_counter(at, "wire_tx_bps", &l->wire_tx_bps, e);
    rc = rc ? rc : report_get_late_counter(at, "wire_rx_bps", &l->wire_rx_bps, e);
    rc = rc ? rc : report_get_late_counter(at, "tx_pps", &l->tx_pps, e);
    rc = rc ? rc : report_get_late_counter(at, "rx_pps", &l->rx_pps, e);
    if (!rc && json_has(at, "underlay_mtu"))
        rc = json_get_u32(at, "underlay_mtu", 0, LINK_MTU_MAX, &l->underlay_mtu, e);
    rc = rc ? rc : get_link_spreads(at, l, e);
    rc = rc ? rc : report_get_spread(at, "rtt_us", &l->rtt_us, e);
    rc = rc ? rc : report_get_ratio(at, "loss_ratio", 1, &l->loss, e);
    rc = rc ? rc
            : report_get_ratio(at, "imbalance_ratio", HW_TUNNELS_PER_LINK_MAX, &l->imbalance, e);
    return rc;
}

static int get_link(const struct json_at *at, struct report_link *l, struct err *e)
{
    static const char *const members[] = {
        "link_id", "state",        "reason", "since",  "epoch",       "rekeyed_at",      "suite",
        "keying",  "mtu",          "tx_bps", "rx_bps", "wire_tx_bps", "wire_rx_bps",     "tx_pps",
        "rx_pps",  "underlay_mtu", "spread", "rtt_us", "loss_ratio",  "imbalance_ratio", "tunnels",
        NULL};
    struct json_at m;
    unsigned state = 0;
    int rc = json_members(at, members, e);
    rc = rc ? rc : json_get_id(at, "link_id", &l->link_id, e);
    rc = rc ? rc : json_get_enum(at, "state", link_states, &state, e);
    l->state = (enum report_link_state)state;
    rc = rc ? rc : json_get_text(at, "reason", l->reason, sizeof l->reason, e);
    rc = rc ? rc : json_get_int(at, "since", 0, INT64_MAX, &l->since, e);
    rc = rc ? rc : report_get_counter(at, "epoch", &l->epoch, e);
    rc = rc ? rc : json_member(at, "rekeyed_at", &m, e);
    if (!rc && m.value)
        rc = json_as_int(&m, 0, INT64_MAX, &l->rekeyed_at, e);
    rc = rc ? rc : get_suite(at, &l->suite, e);
    rc = rc ? rc : get_keying(at, l, e);
    rc = rc ? rc : json_get_u32(at, "mtu", 0, LINK_MTU_MAX, &l->mtu, e);
    rc = rc ? rc : report_get_counter(at, "tx_bps", &l->tx_bps, e);
    rc = rc ? rc : report_get_counter(at, "rx_bps", &l->rx_bps, e);
    rc = rc ? rc : get_link_measured(at, l, e);
    rc = rc ? rc : get_tunnels(at, l, e);
    return rc;
}

int report_get_links(const struct json_at *top, struct report *r, struct err *e)
{
    struct json_at a;
    size_t n = 0;
    int rc = json_get_room(top, "links", HW_LINKS_MAX, sizeof *r->links, &a, &r->links, &n, e);
    if (rc || n == 0)
        return rc;
    r->n_links = n;
    for (size_t i = 0; !rc && i < n; i++) {
        struct json_at v = json_element(&a, i);
        rc = get_link(&v, &r->links[i], e);
        for (size_t k = 0; !rc && k < i; k++)
            if (id_equal(&r->links[k].link_id, &r->links[i].link_id))
                rc = json_refuse(&v, e, "link stands twice");
    }
    return rc;
}
