#include "controller/telemetry/ingest.h"
#include "common/cleanup.h"
#include "common/json.h"
#include "controller/store/link.h"
#include "controller/store/telemetry.h"
#include <stdio.h>
#include <string.h>

/* Canonical text of the array of interfaces. */
static char *interfaces_text(const struct node *node)
{
    struct json_writer w;
    json_writer_init(&w);
    json_open_array(&w, "interfaces");
    for (size_t i = 0; i < node->n_interfaces; i++)
        node_interface_put(&w, &node->interfaces[i]);
    json_close(&w);
    char *whole = json_finish(&w, NULL);
    /* {"interfaces":[…]} without what stands around the array. */
    static const char head[] = "{\"interfaces\":";
    if (whole) {
        size_t len = strlen(whole) - (sizeof head - 1) - 1;
        memmove(whole, whole + sizeof head - 1, len);
        whole[len] = '\0';
    }
    return whole;
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
    char boot[ID_TEXT_MAX], version[sizeof g->agent_version];
    id_text(&r->boot_id, boot);
    (void)snprintf(version, sizeof version, "%.*s", HW_NAME_MAX, r->agent_version);
    *changed = *replan || strcmp(boot, g->boot_id) != 0 || strcmp(version, g->agent_version) != 0;
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
    char *whole = json_finish(&w, NULL);
    if (whole) { /* {"r":[…]} */
        size_t len = strlen(whole) - 6;
        memmove(whole, whole + 5, len);
        whole[len] = '\0';
    }
    return whole;
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
                                .report_json = (char *)(uintptr_t)json};
    count_links(r, &t);
    return store_telemetry_put(db, &t, e);
}

static bool is_own(const struct store_link *own, size_t n, const struct hw_id *id)
{
    for (size_t i = 0; i < n; i++)
        if (id_equal(&own[i].id, id))
            return true;
    return false;
}

/* Reports are kept for a day: a gateway in wrong hands must not fill the disk with what it makes
 * up. Links that were planned away lately find room in the base. */
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
                     const struct store_link *own, size_t n_own, struct err *e)
{
    int rc = 0;
    for (size_t i = 0; !rc && i < r->n_links; i++) {
        const struct report_link *l = &r->links[i];
        if (!is_own(own, n_own, &l->link_id))
            continue;
        struct store_link_status s = {.link_id = l->link_id,
                                      .gateway_id = *gateway,
                                      .observed_at = store_now(db),
                                      .tunnels_total = (unsigned)l->n_tunnels};
        for (size_t k = 0; k < l->n_tunnels; k++)
            s.tunnels_up += l->tunnels[k].state == DP_TUNNEL_UP;
        (void)snprintf(s.state, sizeof s.state, "%s", report_link_state_name(l->state));
        memcpy(s.reason, l->reason, sizeof s.reason);
        rc = store_link_status_put(db, &s, e);
    }
    return rc;
}

int ingest_telemetry(struct db *db, const struct hw_id *gateway, const struct report *r,
                     const char *json, struct err *e)
{
    const struct store_page all = {.limit = HW_LINKS_MAX};
    struct store_link *own = NULL;
    size_t n_own = 0;
    int rc = store_link_list(db, &all, NULL, gateway, &own, &n_own, e);
    if (!rc)
        rc = check_size(strlen(json), n_own, e);
    if (!rc)
        rc = put_last(db, gateway, r, json, e);
    if (!rc)
        rc = put_links(db, gateway, r, own, n_own, e);
    free(own);
    return rc;
}
