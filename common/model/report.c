#include "common/model/report.h"
#include "common/esp_suite.h"
#include "common/json.h"
#include <stdlib.h>
#include <string.h>

#define LINK_MTU_MAX 65535u

/* Indexed by the enums that they name. */
static const char *const link_states[] = {"up", "degraded", "down", "disabled", "no_keys", NULL};
static const char *const keying_states[] = {"idle", "dialling", "connected", "failed", NULL};
static const char *const features[] = {"udp_gso", "udp_gro",  "tun_uso",
                                       "seccomp", "landlock", NULL};
static const char *const tunnel_states[] = {"no_sa", "probing", "up", "down", NULL};
static const char *const tunnel_reasons[] = {"none",      "answered", "no_answer", "no_sa",
                                             "peer_boot", "disabled", NULL};
static const char *const providers[] = {"ipsec-mb", "libcrypto",
                                        NULL}; /* less DP_PROVIDER_IPSEC_MB */

const char *report_link_state_name(enum report_link_state s)
{
    return link_states[s];
}

const char *report_keying_state_name(enum report_keying_state s)
{
    return keying_states[s];
}

const char *report_feature_name(unsigned bit)
{
    return bit < sizeof features / sizeof features[0] ? features[bit] : NULL;
}

/* ---- encode ---- */

static void put_or_null(struct json_writer *w, const char *key, const char *s)
{
    json_put_str(w, key, s[0] ? s : NULL);
}

void report_put_revisions_open(struct json_writer *w, const struct report_revisions *r)
{
    json_open_object(w, "revisions");
    json_put_uint(w, "received", r->received);
    json_put_uint(w, "applied", r->applied);
    json_put_uint(w, "in_force", r->in_force);
    json_open_array(w, "refused");
    for (size_t i = 0; i < r->n_refused; i++) {
        json_open_object(w, NULL);
        json_put_uint(w, "revision", r->refused[i].revision);
        json_put_str(w, "reason", r->refused[i].reason);
        json_close(w);
    }
    json_close(w);
}

void report_put_dataplane(struct json_writer *w, const struct report_dataplane *d)
{
    json_open_object(w, "dataplane");
    json_put_bool(w, "connected", d->connected);
    if (id_is_zero(&d->boot_id))
        json_put_null(w, "boot_id");
    else
        json_put_id(w, "boot_id", &d->boot_id);
    put_or_null(w, "version", d->version);
    json_put_uint(w, "workers", d->workers);
    json_put_str(w, "provider", d->provider ? dp_provider_name(d->provider) : NULL);
    json_open_array(w, "features");
    for (unsigned bit = 0; report_feature_name(bit); bit++)
        if (d->features & 1u << bit)
            json_put_str(w, NULL, report_feature_name(bit));
    json_close(w);
    json_close(w);
}

void report_put_drops(struct json_writer *w, const uint64_t drops[DROP_COUNT])
{
    json_open_object(w, "drops");
    for (unsigned i = DROP_NONE + 1; i < DROP_COUNT; i++)
        if (drops[i])
            json_put_uint(w, drop_reason_name(i), drops[i]);
    json_close(w);
}

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
    json_close(w);
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
    json_open_array(w, "tunnels");
    for (size_t i = 0; i < l->n_tunnels; i++)
        put_tunnel(w, &l->tunnels[i]);
    json_close(w);
}

static void put_totals(struct json_writer *w, const struct report_totals *t)
{
    json_open_object(w, "totals");
    json_put_uint(w, "goodput_tx_bps", t->goodput_tx_bps);
    json_put_uint(w, "goodput_rx_bps", t->goodput_rx_bps);
    json_put_uint(w, "wire_tx_bps", t->wire_tx_bps);
    json_put_uint(w, "wire_rx_bps", t->wire_rx_bps);
    json_put_uint(w, "tx_packets", t->tx_packets);
    json_put_uint(w, "rx_packets", t->rx_packets);
    json_put_uint(w, "tx_bytes", t->tx_bytes);
    json_put_uint(w, "rx_bytes", t->rx_bytes);
    json_close(w);
}

static void put_system(struct json_writer *w, const struct report *r)
{
    json_open_object(w, "system");
    json_put_bool(w, "ip_forward", r->ip_forward);
    json_open_array(w, "problems");
    for (size_t i = 0; i < r->n_problems; i++)
        json_put_str(w, NULL, r->problems[i]);
    json_close(w);
    json_close(w);
}

char *report_encode(const struct report *r, size_t *len)
{
    struct json_writer w;
    json_writer_init(&w);
    json_put_str(&w, "agent_version", r->agent_version);
    json_put_id(&w, "boot_id", &r->boot_id);
    json_put_int(&w, "time", r->time);
    json_put_int(&w, "wall_skew_seconds", r->wall_skew_seconds);
    report_put_revisions_open(&w, &r->revisions);
    json_close(&w);
    json_put_uint(&w, "denials_revision", r->denials_revision);
    node_put(&w, &r->node);
    report_put_dataplane(&w, &r->dataplane);
    json_put_double(&w, "interval_seconds", r->interval_seconds);
    put_totals(&w, &r->totals);
    json_open_array(&w, "links");
    for (size_t i = 0; i < r->n_links; i++) {
        json_open_object(&w, NULL);
        report_put_link_members(&w, &r->links[i]);
        json_close(&w);
    }
    json_close(&w);
    json_open_array(&w, "workers");
    for (size_t i = 0; i < r->n_workers; i++) {
        json_open_object(&w, NULL);
        json_put_double(&w, "busy_ratio", r->worker_busy[i]);
        json_close(&w);
    }
    json_close(&w);
    report_put_drops(&w, r->drops);
    put_system(&w, r);
    json_open_array(&w, "commands");
    json_close(&w);
    return json_finish(&w, len);
}

/* ---- decode ---- */

static int get_counter(const struct json_at *at, const char *key, uint64_t *out, struct err *e)
{
    return json_get_uint(at, key, 0, UINT64_MAX, out, e);
}

/* A member that may be null: *out stays as it is then. */
static int get_text_or_null(const struct json_at *at, const char *key, char *out, size_t cap,
                            struct err *e)
{
    struct json_at m;
    int rc = json_member(at, key, &m, e);
    return !rc && m.value ? json_as_text(&m, out, cap, e) : rc;
}

static int get_revisions(const struct json_at *top, struct report_revisions *r, struct err *e)
{
    static const char *const members[] = {"received", "applied", "in_force", "refused", NULL};
    static const char *const refused_members[] = {"revision", "reason", NULL};
    struct json_at o, a;
    int rc = json_get_object(top, "revisions", &o, e);
    rc = rc ? rc : json_members(&o, members, e);
    rc = rc ? rc : get_counter(&o, "received", &r->received, e);
    rc = rc ? rc : get_counter(&o, "applied", &r->applied, e);
    rc = rc ? rc : get_counter(&o, "in_force", &r->in_force, e);
    rc = rc ? rc : json_get_array(&o, "refused", REPORT_REFUSED_MAX, &a, &r->n_refused, e);
    for (size_t i = 0; !rc && i < r->n_refused; i++) {
        struct json_at v = json_element(&a, i);
        rc = json_members(&v, refused_members, e);
        rc = rc ? rc : get_counter(&v, "revision", &r->refused[i].revision, e);
        rc = rc ? rc
                : json_get_text(&v, "reason", r->refused[i].reason, sizeof r->refused[i].reason, e);
    }
    return rc;
}

static int get_features(const struct json_at *at, uint32_t *out, struct err *e)
{
    struct json_at a;
    size_t n = 0;
    int rc = json_get_array(at, "features", 32, &a, &n, e);
    for (size_t i = 0; !rc && i < n; i++) {
        struct json_at v = json_element(&a, i);
        const char *name = NULL;
        rc = json_as_str(&v, HW_TEXT_MAX, &name, e);
        for (unsigned bit = 0; !rc && report_feature_name(bit); bit++)
            if (strcmp(report_feature_name(bit), name) == 0)
                *out |= 1u << bit;
    }
    return rc;
}

static int get_dataplane(const struct json_at *top, struct report_dataplane *d, struct err *e)
{
    static const char *const members[] = {"connected", "boot_id",  "version", "workers",
                                          "provider",  "features", NULL};
    struct json_at o, m;
    unsigned provider = 0;
    int rc = json_get_object(top, "dataplane", &o, e);
    rc = rc ? rc : json_members(&o, members, e);
    rc = rc ? rc : json_get_bool(&o, "connected", &d->connected, e);
    rc = rc ? rc : json_member(&o, "boot_id", &m, e);
    if (!rc && m.value)
        rc = json_as_id(&m, &d->boot_id, e);
    rc = rc ? rc : get_text_or_null(&o, "version", d->version, sizeof d->version, e);
    rc = rc ? rc : json_get_u32(&o, "workers", 0, HW_WORKERS_MAX, &d->workers, e);
    rc = rc ? rc : json_member(&o, "provider", &m, e);
    if (!rc && m.value) {
        rc = json_as_enum(&m, providers, &provider, e);
        d->provider = provider + DP_PROVIDER_IPSEC_MB;
    }
    rc = rc ? rc : get_features(&o, &d->features, e);
    return rc;
}

static int get_totals(const struct json_at *top, struct report_totals *t, struct err *e)
{
    static const char *const members[] = {"goodput_tx_bps", "goodput_rx_bps", "wire_tx_bps",
                                          "wire_rx_bps",    "tx_packets",     "rx_packets",
                                          "tx_bytes",       "rx_bytes",       NULL};
    uint64_t *const out[] = {&t->goodput_tx_bps, &t->goodput_rx_bps, &t->wire_tx_bps,
                             &t->wire_rx_bps,    &t->tx_packets,     &t->rx_packets,
                             &t->tx_bytes,       &t->rx_bytes};
    struct json_at o;
    int rc = json_get_object(top, "totals", &o, e);
    rc = rc ? rc : json_members(&o, members, e);
    for (unsigned i = 0; !rc && members[i]; i++)
        rc = get_counter(&o, members[i], out[i], e);
    return rc;
}

static int get_tunnel(const struct json_at *at, struct report_tunnel *t, struct err *e)
{
    static const char *const members[] = {
        "tunnel",          "state",       "reason",     "port",     "rtt_us",
        "tx_packets",      "tx_bytes",    "rx_packets", "rx_bytes", "probes_sent",
        "probes_answered", "probes_lost", NULL};
    int rc = json_members(at, members, e);
    rc = rc ? rc : json_get_u32(at, "tunnel", 0, HW_TUNNELS_PER_LINK_MAX - 1, &t->tunnel, e);
    rc = rc ? rc : json_get_enum(at, "state", tunnel_states, &t->state, e);
    rc = rc ? rc : json_get_enum(at, "reason", tunnel_reasons, &t->reason, e);
    rc = rc ? rc : json_get_u16(at, "port", 0, UINT16_MAX, &t->port, e);
    rc = rc ? rc : get_counter(at, "rtt_us", &t->rtt_us, e);
    rc = rc ? rc : get_counter(at, "tx_packets", &t->tx_packets, e);
    rc = rc ? rc : get_counter(at, "tx_bytes", &t->tx_bytes, e);
    rc = rc ? rc : get_counter(at, "rx_packets", &t->rx_packets, e);
    rc = rc ? rc : get_counter(at, "rx_bytes", &t->rx_bytes, e);
    rc = rc ? rc : get_counter(at, "probes_sent", &t->probes_sent, e);
    rc = rc ? rc : get_counter(at, "probes_answered", &t->probes_answered, e);
    rc = rc ? rc : get_counter(at, "probes_lost", &t->probes_lost, e);
    return rc;
}

static int get_tunnels(const struct json_at *at, struct report_link *l, struct err *e)
{
    struct json_at a;
    size_t n = 0;
    int rc = json_get_array(at, "tunnels", HW_TUNNELS_PER_LINK_MAX, &a, &n, e);
    if (rc || n == 0)
        return rc;
    l->tunnels = calloc(n, sizeof *l->tunnels);
    if (!l->tunnels)
        return err_set(e, HW_ENOMEM, "out of memory");
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
    rc = rc ? rc : get_counter(&o, "failures", &l->keying_failures, e);
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

static int get_link(const struct json_at *at, struct report_link *l, struct err *e)
{
    static const char *const members[] = {"link_id",    "state",   "reason", "since", "epoch",
                                          "rekeyed_at", "suite",   "keying", "mtu",   "tx_bps",
                                          "rx_bps",     "tunnels", NULL};
    struct json_at m;
    unsigned state = 0;
    int rc = json_members(at, members, e);
    rc = rc ? rc : json_get_id(at, "link_id", &l->link_id, e);
    rc = rc ? rc : json_get_enum(at, "state", link_states, &state, e);
    l->state = (enum report_link_state)state;
    rc = rc ? rc : json_get_text(at, "reason", l->reason, sizeof l->reason, e);
    rc = rc ? rc : json_get_int(at, "since", 0, INT64_MAX, &l->since, e);
    rc = rc ? rc : get_counter(at, "epoch", &l->epoch, e);
    rc = rc ? rc : json_member(at, "rekeyed_at", &m, e);
    if (!rc && m.value)
        rc = json_as_int(&m, 0, INT64_MAX, &l->rekeyed_at, e);
    rc = rc ? rc : get_suite(at, &l->suite, e);
    rc = rc ? rc : get_keying(at, l, e);
    rc = rc ? rc : json_get_u32(at, "mtu", 0, LINK_MTU_MAX, &l->mtu, e);
    rc = rc ? rc : get_counter(at, "tx_bps", &l->tx_bps, e);
    rc = rc ? rc : get_counter(at, "rx_bps", &l->rx_bps, e);
    rc = rc ? rc : get_tunnels(at, l, e);
    return rc;
}

static int get_links(const struct json_at *top, struct report *r, struct err *e)
{
    struct json_at a;
    size_t n = 0;
    int rc = json_get_array(top, "links", HW_LINKS_MAX, &a, &n, e);
    if (rc || n == 0)
        return rc;
    r->links = calloc(n, sizeof *r->links);
    if (!r->links)
        return err_set(e, HW_ENOMEM, "out of memory");
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

static int get_workers(const struct json_at *top, struct report *r, struct err *e)
{
    static const char *const members[] = {"busy_ratio", NULL};
    struct json_at a;
    int rc = json_get_array(top, "workers", HW_WORKERS_MAX, &a, &r->n_workers, e);
    for (size_t i = 0; !rc && i < r->n_workers; i++) {
        struct json_at v = json_element(&a, i);
        rc = json_members(&v, members, e);
        rc = rc ? rc : json_get_double(&v, "busy_ratio", 0, 1, &r->worker_busy[i], e);
    }
    return rc;
}

static int get_drops(const struct json_at *top, struct report *r, struct err *e)
{
    struct json_at o;
    int rc = json_get_object(top, "drops", &o, e);
    for (unsigned i = DROP_NONE + 1; !rc && i < DROP_COUNT; i++)
        if (json_has(&o, drop_reason_name(i)))
            rc = get_counter(&o, drop_reason_name(i), &r->drops[i], e);
    return rc;
}

static int get_system(const struct json_at *top, struct report *r, struct err *e)
{
    static const char *const members[] = {"ip_forward", "problems", NULL};
    struct json_at o, a;
    size_t n = 0;
    int rc = json_get_object(top, "system", &o, e);
    rc = rc ? rc : json_members(&o, members, e);
    rc = rc ? rc : json_get_bool(&o, "ip_forward", &r->ip_forward, e);
    rc = rc ? rc : json_get_array(&o, "problems", REPORT_PROBLEMS_MAX, &a, &n, e);
    if (rc || n == 0)
        return rc;
    r->problems = calloc(n, sizeof *r->problems);
    if (!r->problems)
        return err_set(e, HW_ENOMEM, "out of memory");
    r->n_problems = n;
    for (size_t i = 0; !rc && i < n; i++) {
        struct json_at v = json_element(&a, i);
        rc = json_as_text(&v, r->problems[i], sizeof r->problems[i], e);
    }
    return rc;
}

static int decode_top(const struct json_at *top, struct report *r, struct err *e)
{
    static const char *const members[] = {"agent_version",     "boot_id",   "time",
                                          "wall_skew_seconds", "revisions", "denials_revision",
                                          "interfaces",        "endpoints", "dataplane",
                                          "interval_seconds",  "totals",    "links",
                                          "workers",           "drops",     "system",
                                          "commands",          NULL};
    struct json_at commands;
    size_t n;
    int rc = json_members(top, members, e);
    rc =
        rc ? rc : json_get_text(top, "agent_version", r->agent_version, sizeof r->agent_version, e);
    rc = rc ? rc : json_get_id(top, "boot_id", &r->boot_id, e);
    rc = rc ? rc : json_get_int(top, "time", 0, INT64_MAX, &r->time, e);
    rc =
        rc ? rc
           : json_get_int(top, "wall_skew_seconds", INT64_MIN, INT64_MAX, &r->wall_skew_seconds, e);
    rc = rc ? rc : get_revisions(top, &r->revisions, e);
    rc = rc ? rc : get_counter(top, "denials_revision", &r->denials_revision, e);
    rc = rc ? rc : node_get(top, &r->node, e);
    rc = rc ? rc : get_dataplane(top, &r->dataplane, e);
    rc = rc ? rc : json_get_double(top, "interval_seconds", 0, 86400, &r->interval_seconds, e);
    rc = rc ? rc : get_totals(top, &r->totals, e);
    rc = rc ? rc : get_links(top, r, e);
    rc = rc ? rc : get_workers(top, r, e);
    rc = rc ? rc : get_drops(top, r, e);
    rc = rc ? rc : get_system(top, r, e);
    /* No agent of today runs commands, so none has results. */
    rc = rc ? rc : json_get_array(top, "commands", 0, &commands, &n, e);
    return rc;
}

int report_decode(const char *json, size_t len, struct report *out, struct err *e)
{
    struct json_object *doc;
    struct report r = {0};
    int rc = json_parse(json, len, REPORT_BODY_MAX, &doc, e);
    if (rc)
        return rc;
    struct json_at top = json_root(doc);
    rc = decode_top(&top, &r, e);
    json_free(doc);
    if (rc)
        report_done(&r);
    else
        *out = r;
    return rc;
}

void report_done(struct report *r)
{
    if (!r)
        return;
    for (size_t i = 0; i < r->n_links; i++)
        free(r->links[i].tunnels);
    free(r->links);
    free(r->problems);
    *r = (struct report){0};
}
