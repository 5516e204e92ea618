#include "controller/api/metrics_fleet.h"
#include "controller/api/performance.h"
#include "controller/store/gateway.h"
#include "controller/store/link.h"
#include "controller/store/signed.h"
#include "controller/store/site.h"
#include "controller/telemetry/last.h"
#include "controller/telemetry/status.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* X(name, type, help), in the order of the text: all samples of a family stand together. */
#define FAMILIES(X)                                                                                \
    X(GATEWAY_INFO, "hawser_gateway_info", "gauge", "What a gateway is; always 1")                 \
    X(GATEWAY_STATE, "hawser_gateway_state", "gauge", "1 for the state that a gateway is in")      \
    X(LAST_CONTACT, "hawser_agent_last_contact_timestamp_seconds", "gauge",                        \
      "When a gateway's last report came in")                                                      \
    X(CONFIG_REVISION, "hawser_agent_config_revision", "gauge",                                    \
      "Revision of a gateway's config, as planned and as it reports it")                           \
    X(PUBLISHED, "hawser_gateway_published_ratio", "gauge",                                        \
      "Goodput of the larger direction by what was published for the gateway's size")              \
    X(LINK_STATE, "hawser_link_state", "gauge", "1 for the state that a link is in")               \
    X(LINK_TUNNELS, "hawser_link_tunnels", "gauge", "Tunnels of a link by state, seen by an end")  \
    X(IMBALANCE, "hawser_link_imbalance_ratio", "gauge",                                           \
      "Largest by mean goodput of a link's tunnels")                                               \
    X(PATH_MTU, "hawser_path_mtu_bytes", "gauge", "MTU inside of a link's tunnels and below them") \
    X(REKEY, "hawser_link_last_rekey_timestamp_seconds", "gauge", "When a link was last keyed")    \
    X(TX_BYTES, "hawser_tunnel_tx_bytes_total", "counter", "Inner bytes sent")                     \
    X(RX_BYTES, "hawser_tunnel_rx_bytes_total", "counter", "Inner bytes received")                 \
    X(TX_PACKETS, "hawser_tunnel_tx_packets_total", "counter", "Inner packets sent")               \
    X(RX_PACKETS, "hawser_tunnel_rx_packets_total", "counter", "Inner packets received")           \
    X(WIRE_TX_BYTES, "hawser_tunnel_wire_tx_bytes_total", "counter", "Bytes sent on the underlay") \
    X(WIRE_RX_BYTES, "hawser_tunnel_wire_rx_bytes_total", "counter",                               \
      "Bytes received from the underlay")                                                          \
    X(RTT, "hawser_tunnel_rtt_seconds", "gauge", "Round trip of the last answered probe")          \
    X(LOST_PROBES, "hawser_tunnel_lost_probes_total", "counter", "Probes without an answer")       \
    X(DROPS, "hawser_drops_total", "counter", "Packets dropped by the engine")                     \
    X(BUSY, "hawser_cpu_busy_ratio", "gauge", "Busy part of a worker's time")                      \
    X(CONNTRACK, "hawser_conntrack_entries", "gauge", "Connections that the kernel tracks")

enum family {
#define FAMILY_ENUM(id, name, type, help) id,
    FAMILIES(FAMILY_ENUM)
#undef FAMILY_ENUM
        FAMILY_COUNT
};

static const struct {
    const char *name, *type, *help;
} families[FAMILY_COUNT] = {
#define FAMILY_ROW(id, name, type, help) [id] = {name, type, help},
    FAMILIES(FAMILY_ROW)
#undef FAMILY_ROW
};

struct metrics {
    struct strbuf text[FAMILY_COUNT];
    struct db *db;
    struct app *app;
    struct store_gateway *gateways;
    struct store_link *links;
    struct store_site *sites;
    size_t n_gateways, n_links, n_sites;
};

/* Names are of [a-z0-9-], and versions are cut to what needs no escaping. */
#define ADD(m, family, labels, ...)                                                                \
    strbuf_printf(&(m)->text[family], "%s{" labels "\n", families[family].name, __VA_ARGS__)

static const char *name_of(const struct metrics *m, const struct hw_id *gateway)
{
    for (size_t i = 0; i < m->n_gateways; i++)
        if (id_equal(&m->gateways[i].id, gateway))
            return m->gateways[i].name;
    return "";
}

static const char *site_of(const struct metrics *m, const struct hw_id *site)
{
    for (size_t i = 0; i < m->n_sites; i++)
        if (id_equal(&m->sites[i].id, site))
            return m->sites[i].name;
    return "";
}

#define LINK_NAME_MAX (2 * HW_NAME_MAX + 3)

static char *link_name(const struct metrics *m, const struct store_link *l, char out[LINK_NAME_MAX])
{
    (void)snprintf(out, LINK_NAME_MAX, "%s--%s", name_of(m, &l->gateway_a_id),
                   name_of(m, &l->gateway_b_id));
    return out;
}

/* A label's value from outside: backslash, quote and line feed would need escaping; none of them
 * belongs there. */
static char *plain(const char *s, char *out, size_t cap)
{
    size_t n = 0;
    for (; *s && n + 1 < cap; s++)
        out[n++] = *s == '\\' || *s == '"' || (unsigned char)*s < ' ' ? '_' : *s;
    out[n] = '\0';
    return out;
}

/* ---- one gateway ---- */

static void put_tunnel(struct metrics *m, const char *gateway, const char *link,
                       const struct report_tunnel *t)
{
    const struct {
        enum family family;
        uint64_t value;
    } counters[] = {{TX_BYTES, t->tx_bytes},           {RX_BYTES, t->rx_bytes},
                    {TX_PACKETS, t->tx_packets},       {RX_PACKETS, t->rx_packets},
                    {WIRE_TX_BYTES, t->wire_tx_bytes}, {WIRE_RX_BYTES, t->wire_rx_bytes},
                    {LOST_PROBES, t->probes_lost}};
    for (size_t i = 0; i < sizeof counters / sizeof *counters; i++)
        ADD(m, counters[i].family, "gateway=\"%s\",link=\"%s\",tunnel=\"%u\"} %llu", gateway, link,
            t->tunnel, (unsigned long long)counters[i].value);
    if (t->rtt_us)
        ADD(m, RTT, "gateway=\"%s\",link=\"%s\",tunnel=\"%u\"} %.6f", gateway, link, t->tunnel,
            (double)t->rtt_us / 1e6);
}

static void put_link(struct metrics *m, const char *gateway, const char *link,
                     const struct report_link *l)
{
    unsigned by_state[DP_TUNNEL_DOWN + 1] = {0};
    for (size_t i = 0; i < l->n_tunnels; i++) {
        by_state[l->tunnels[i].state]++;
        put_tunnel(m, gateway, link, &l->tunnels[i]);
    }
    for (unsigned s = 0; s <= DP_TUNNEL_DOWN; s++)
        ADD(m, LINK_TUNNELS, "gateway=\"%s\",link=\"%s\",state=\"%s\"} %u", gateway, link,
            dp_tunnel_state_name(s), by_state[s]);
    if (l->imbalance.known)
        ADD(m, IMBALANCE, "gateway=\"%s\",link=\"%s\"} %.4g", gateway, link, l->imbalance.value);
    if (l->mtu)
        ADD(m, PATH_MTU, "gateway=\"%s\",link=\"%s\",scope=\"tunnel\"} %u", gateway, link, l->mtu);
    if (l->underlay_mtu)
        ADD(m, PATH_MTU, "gateway=\"%s\",link=\"%s\",scope=\"underlay\"} %u", gateway, link,
            l->underlay_mtu);
    if (l->rekeyed_at)
        ADD(m, REKEY, "gateway=\"%s\",link=\"%s\"} %lld", gateway, link, (long long)l->rekeyed_at);
}

static void put_report(struct metrics *m, const struct store_gateway *g, const struct report *r)
{
    const struct {
        const char *kind;
        uint64_t value;
    } revisions[] = {{"received", r->revisions.received},
                     {"applied", r->revisions.applied},
                     {"in_force", r->revisions.in_force}};
    for (size_t i = 0; i < sizeof revisions / sizeof *revisions; i++)
        ADD(m, CONFIG_REVISION, "gateway=\"%s\",kind=\"%s\"} %llu", g->name, revisions[i].kind,
            (unsigned long long)revisions[i].value);
    for (size_t i = 0; i < m->n_links; i++) {
        char name[LINK_NAME_MAX];
        for (size_t k = 0; k < r->n_links; k++)
            if (id_equal(&r->links[k].link_id, &m->links[i].id))
                put_link(m, g->name, link_name(m, &m->links[i], name), &r->links[k]);
    }
    for (unsigned d = DROP_NONE + 1; d < DROP_COUNT; d++)
        if (r->drops[d])
            ADD(m, DROPS, "gateway=\"%s\",reason=\"%s\"} %llu", g->name, drop_reason_name(d),
                (unsigned long long)r->drops[d]);
    for (size_t i = 0; i < r->n_workers; i++)
        ADD(m, BUSY, "gateway=\"%s\",core=\"%zu\",role=\"worker\"} %.4g", g->name, i,
            r->workers[i].busy_ratio);
    if (r->conntrack.known)
        ADD(m, CONNTRACK, "gateway=\"%s\"} %llu", g->name,
            (unsigned long long)r->conntrack.entries);
}

static int put_performance(struct metrics *m, const struct store_gateway *g, struct err *e)
{
    struct store_telemetry t;
    struct performance p;
    int rc = store_telemetry_last(m->db, &g->id, &t, e);
    if (rc)
        return rc;
    rc = performance_of(m->db, g, &t, &p, e);
    store_telemetry_done(&t);
    if (!rc && !isnan(p.ratio))
        ADD(m, PUBLISHED, "gateway=\"%s\"} %.4g", g->name, p.ratio);
    return rc;
}

static int put_gateway(struct metrics *m, const struct store_gateway *g, struct err *e)
{
    char size[HW_NAME_MAX + 1], version[HW_NAME_MAX + 1];
    struct status status = {.state = STATUS_UNKNOWN};
    struct last last;
    uint64_t planned = 0;
    int rc = status_of_gateway(m->db, m->app->watch, g, store_now(m->db), &status, e);
    rc = rc ? rc : store_config_revision(m->db, &g->id, &planned, e);
    if (rc)
        return rc;
    ADD(m, GATEWAY_INFO, "gateway=\"%s\",site=\"%s\",size=\"%s\",agent_version=\"%s\"} 1", g->name,
        site_of(m, &g->site_id), plain(g->size, size, sizeof size),
        plain(g->agent_version, version, sizeof version));
    for (int s = STATUS_UNKNOWN; s <= (int)STATUS_DOWN; s++)
        ADD(m, GATEWAY_STATE, "gateway=\"%s\",state=\"%s\"} %d", g->name,
            status_state_name((enum status_state)s), (int)status.state == s);
    ADD(m, CONFIG_REVISION, "gateway=\"%s\",kind=\"planned\"} %llu", g->name,
        (unsigned long long)planned);
    rc = last_read(m->db, &g->id, &last, e);
    if (rc)
        return rc == HW_ENOTFOUND ? 0 : rc;
    ADD(m, LAST_CONTACT, "gateway=\"%s\"} %lld", g->name, (long long)last.observed_at);
    if (!last.stale)
        put_report(m, g, &last.report);
    last_done(&last);
    return put_performance(m, g, e);
}

static int put_link_states(struct metrics *m, struct err *e)
{
    for (size_t i = 0; i < m->n_links; i++) {
        char name[LINK_NAME_MAX];
        struct status status;
        int rc = status_of_link(m->db, &m->links[i], store_now(m->db), &status, e);
        if (rc)
            return rc;
        for (int s = STATUS_UNKNOWN; s <= (int)STATUS_DISABLED; s++)
            ADD(m, LINK_STATE, "link=\"%s\",state=\"%s\"} %d", link_name(m, &m->links[i], name),
                status_state_name((enum status_state)s), (int)status.state == s);
    }
    return 0;
}

int metrics_put_fleet(struct strbuf *b, struct app *app, struct db *db, struct err *e)
{
    struct metrics m = {.db = db, .app = app};
    int rc = store_gateway_all(db, &m.gateways, &m.n_gateways, e);
    rc = rc ? rc : store_link_all(db, &m.links, &m.n_links, e);
    rc = rc ? rc : store_site_all(db, &m.sites, &m.n_sites, e);
    for (size_t i = 0; !rc && i < m.n_gateways; i++)
        rc = put_gateway(&m, &m.gateways[i], e);
    rc = rc ? rc : put_link_states(&m, e);
    for (int i = 0; i < FAMILY_COUNT; i++) {
        if (!rc && m.text[i].len) {
            strbuf_printf(b, "# HELP %s %s\n# TYPE %s %s\n", families[i].name, families[i].help,
                          families[i].name, families[i].type);
            strbuf_add(b, strbuf_str(&m.text[i]), m.text[i].len);
        }
        strbuf_done(&m.text[i]);
    }
    store_gateway_free(m.gateways, m.n_gateways);
    free(m.links);
    free(m.sites);
    return rc;
}
