#include "controller/telemetry/ingest.h"
#include "common/cleanup.h"
#include "common/json.h"
#include "controller/store/link.h"
#include "controller/store/telemetry.h"
#include "controller/store/telemetry_row.h"
#include "controller/telemetry/counters.h"
#include "controller/telemetry/report_row.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

/* The text of the array that is all of what `w` has written: without the object around it. */
static char *finish_array(struct json_writer *w)
{
    char *whole = json_finish(w, NULL);
    char *array = whole ? strchr(whole, '[') : NULL;
    if (!array)
        return whole;
    size_t len = strlen(array) - 1;
    memmove(whole, array, len);
    whole[len] = '\0';
    return whole;
}

/* Canonical text of the array of interfaces. */
static char *interfaces_text(const struct node *node)
{
    struct json_writer w;
    json_writer_init(&w);
    json_open_array(&w, "interfaces");
    for (size_t i = 0; i < node->n_interfaces; i++)
        node_interface_put(&w, &node->interfaces[i]);
    json_close(&w);
    return finish_array(&w);
}

static bool take_endpoints(const struct node *node, struct store_gateway *g)
{
    bool changed = node->n_endpoints != g->n_endpoints;
    for (size_t i = 0; i < node->n_endpoints; i++) {
        struct store_endpoint p = {.address = node->endpoints[i].address,
                                   .is_public = node->endpoints[i].scope == NODE_PUBLIC,
                                   .reachable = node->endpoints[i].reachable};
        const struct store_endpoint *old = &g->endpoints[i];
        changed = changed || !ipaddr_equal(&old->address, &p.address) ||
                  old->is_public != p.is_public || old->reachable != p.reachable;
        g->endpoints[i] = p;
    }
    g->n_endpoints = node->n_endpoints;
    return changed;
}

int ingest_node(const struct node *node, struct store_gateway *g, bool *changed, struct err *e)
{
    char *text = interfaces_text(node);
    if (!text)
        return err_set(e, HW_ENOMEM, "out of memory");
    *changed = !g->interfaces_json || strcmp(text, g->interfaces_json) != 0;
    free(g->interfaces_json);
    g->interfaces_json = text;
    if (!g->endpoints_by_operator)
        *changed = take_endpoints(node, g) || *changed;
    return 0;
}

/* A machine that was given another size is planned by it, where the size came from the machine. One
 * that can't say at present (its metadata service is away) is what it was. */
static bool take_cloud(const struct node_cloud *c, struct store_gateway *g, bool *replan)
{
    if (!c->provider[0] || node_cloud_equal(c, &g->cloud))
        return false;
    if (c->size[0] && strcmp(g->size, g->cloud.size) == 0 && strcmp(g->size, c->size) != 0) {
        memcpy(g->size, c->size, sizeof g->size);
        *replan = true;
    }
    g->cloud = *c;
    return true;
}

/* The number of workers is known only while the dataplane is connected; what was known stands until
 * then. */
int ingest_identity(const struct report *r, struct store_gateway *g, bool *changed, bool *replan,
                    struct err *e)
{
    int rc = ingest_node(&r->node, g, replan, e);
    if (rc)
        return rc;
    if (r->dataplane.connected && r->dataplane.workers != g->workers) {
        g->workers = r->dataplane.workers;
        *replan = true;
    }
    bool moved = take_cloud(&r->cloud, g, replan);
    char boot[ID_TEXT_MAX], version[sizeof g->agent_version];
    id_text(&r->boot_id, boot);
    (void)snprintf(version, sizeof version, "%.*s", HW_NAME_MAX, r->agent_version);
    *changed =
        *replan || moved || strcmp(boot, g->boot_id) != 0 || strcmp(version, g->agent_version) != 0;
    memcpy(g->boot_id, boot, sizeof boot);
    memcpy(g->agent_version, version, sizeof version);
    return 0;
}

static char *refused_text(const struct report_revisions *r)
{
    struct json_writer w;
    json_writer_init(&w);
    json_open_array(&w, "r");
    for (size_t i = 0; i < r->n_refused; i++) {
        json_open_object(&w, NULL);
        json_put_uint(&w, "revision", r->refused[i].revision);
        json_put_str(&w, "reason", r->refused[i].reason);
        json_close(&w);
    }
    json_close(&w);
    return finish_array(&w);
}

static void count_links(const struct report *r, struct store_telemetry *t)
{
    for (size_t i = 0; i < r->n_links; i++) {
        switch (r->links[i].state) {
        case REPORT_LINK_UP:
            t->links_up++;
            break;
        case REPORT_LINK_DEGRADED:
            t->links_degraded++;
            break;
        case REPORT_LINK_DOWN:
        case REPORT_LINK_NO_KEYS:
            t->links_down++;
            break;
        case REPORT_LINK_DISABLED:
            break;
        }
    }
}

static double hottest(const struct report *r)
{
    double busy = r->n_workers && r->interval_seconds > 0 ? 0 : NAN;
    for (size_t i = 0; i < r->n_workers; i++)
        if (r->workers[i].busy_ratio > busy)
            busy = r->workers[i].busy_ratio;
    return busy;
}

static int put_last(struct db *db, const struct hw_id *gateway, const struct report *r,
                    const char *json, struct err *e)
{
    auto_free char *refused = refused_text(&r->revisions);
    if (!refused)
        return err_set(e, HW_ENOMEM, "out of memory");
    struct store_telemetry t = {.gateway_id = *gateway,
                                .observed_at = store_now(db),
                                .received = r->revisions.received,
                                .applied = r->revisions.applied,
                                .in_force = r->revisions.in_force,
                                .refused_json = refused,
                                .denials_revision = r->denials_revision,
                                .interval_seconds = r->interval_seconds,
                                .goodput_tx_bps = (double)r->totals.goodput_tx_bps,
                                .goodput_rx_bps = (double)r->totals.goodput_rx_bps,
                                .wire_tx_bps = (double)r->totals.wire_tx_bps,
                                .wire_rx_bps = (double)r->totals.wire_rx_bps,
                                .dataplane_connected = r->dataplane.connected,
                                .busy_ratio = hottest(r),
                                .report_json = json};
    if (r->n_problems)
        memcpy(t.problem, r->problems[0], sizeof t.problem);
    count_links(r, &t);
    return store_telemetry_put(db, &t, e);
}

struct own_links {
    const struct store_link *links;
    size_t n;
};

static bool is_own(const void *arg, const struct hw_id *id)
{
    const struct own_links *own = arg;
    for (size_t i = 0; i < own->n; i++)
        if (id_equal(&own->links[i].id, id))
            return true;
    return false;
}

/* The counters of the report before, from memory or from the store: before put_last replaces it.
 * NULL: there was none. */
static struct counters *counters_before(struct db *db, const struct hw_id *gateway,
                                        struct counters_table *table)
{
    struct counters *c = counters_table_take(table, gateway);
    auto_free char *json = NULL;
    struct report r;
    if (c || store_telemetry_report(db, gateway, &json, NULL) ||
        report_decode(json, strlen(json), &r, NULL))
        return c;
    c = counters_of(&r);
    report_done(&r);
    return c;
}

static int put_row(struct db *db, const struct hw_id *gateway, const struct report *r,
                   const struct counters *before, const struct own_links *own, struct err *e)
{
    struct pack_row row;
    int rc = report_row_make(r, before, is_own, own, &row, e);
    if (rc)
        return rc;
    size_t main_len, detail_len;
    auto_free uint8_t *main_data = pack_main(&row, &main_len);
    auto_free uint8_t *detail = pack_detail(&row, &detail_len);
    pack_row_done(&row);
    if (!main_data || !detail)
        return err_set(e, HW_ENOMEM, "out of memory");
    return store_telemetry_row_put(db, gateway, 0, store_now(db), main_data, main_len, detail,
                                   detail_len, e);
}

/* Rows are kept for a day: a gateway in wrong hands must not fill the disk with what it makes up.
 * Links that were planned away lately find room in the base. */
static int check_size(size_t len, size_t n_links, struct err *e)
{
    size_t max = REPORT_BASE_MAX + n_links * REPORT_LINK_MAX;
    return len <= max ? 0
                      : err_set(e, HW_ETOOBIG,
                                "a report of a gateway with %zu links has at most %zu bytes",
                                n_links, max);
}

/* A gateway speaks of its own links alone; others that it names (planned away meanwhile, or made
 * up) are passed over. */
static int put_links(struct db *db, const struct hw_id *gateway, const struct report *r,
                     const struct own_links *own, struct err *e)
{
    int rc = 0;
    for (size_t i = 0; !rc && i < r->n_links; i++) {
        const struct report_link *l = &r->links[i];
        if (!is_own(own, &l->link_id))
            continue;
        struct store_link_status s = {.link_id = l->link_id,
                                      .gateway_id = *gateway,
                                      .observed_at = store_now(db),
                                      .tunnels_total = (unsigned)l->n_tunnels,
                                      .suite = l->suite,
                                      .mtu = l->mtu,
                                      .tx_bps = (double)l->tx_bps,
                                      .rx_bps = (double)l->rx_bps,
                                      .rtt_us = l->rtt_us.known ? l->rtt_us.avg : NAN,
                                      .loss_ratio = l->loss.known ? l->loss.value : NAN};
        for (size_t k = 0; k < l->n_tunnels; k++)
            s.tunnels_up += l->tunnels[k].state == DP_TUNNEL_UP;
        (void)snprintf(s.state, sizeof s.state, "%s", report_link_state_name(l->state));
        memcpy(s.reason, l->reason, sizeof s.reason);
        rc = store_link_status_put(db, &s, e);
    }
    return rc;
}

/* What is known after this report: its own counters, or, while the dataplane is away, the old ones.
 * `before` is used up. */
static struct counters *counters_after(const struct report *r, struct counters *before)
{
    if (!r->dataplane.connected && before) {
        counters_keep(before, r);
        return before;
    }
    counters_free(before);
    return counters_of(r);
}

int ingest_telemetry(struct db *db, const struct hw_id *gateway, const struct report *r,
                     const char *json, struct counters_table *table, struct counters **next,
                     struct err *e)
{
    const struct store_page all = {.limit = HW_LINKS_MAX};
    struct store_link *links = NULL;
    struct own_links own = {0};
    int rc = store_link_list(db, &all, NULL, gateway, &links, &own.n, e);
    own.links = links;
    if (!rc)
        rc = check_size(strlen(json), own.n, e);
    if (rc) {
        free(links);
        return rc;
    }
    struct counters *before = counters_before(db, gateway, table);
    rc = put_last(db, gateway, r, json, e);
    if (!rc)
        rc = put_row(db, gateway, r, before, &own, e);
    if (!rc)
        rc = put_links(db, gateway, r, &own, e);
    free(links);
    if (rc)
        counters_free(before);
    else
        *next = counters_after(r, before);
    return rc;
}
