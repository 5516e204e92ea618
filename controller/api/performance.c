#include "controller/api/performance.h"
#include "common/model/node.h"
#include "controller/api/size_json.h"
#include "controller/sizes/figure.h"
#include "controller/store/site.h"
#include "controller/telemetry/status.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MTU_USUAL 1500u /* while no interface is known */

/* The smallest of the interfaces that carry the underlay (docs/protocols.md, "Instance sizes"). */
static unsigned underlay_mtu(const struct store_gateway *g)
{
    struct json_object *doc = NULL;
    unsigned smallest = 0;
    if (!g->interfaces_json ||
        json_parse(g->interfaces_json, strlen(g->interfaces_json), HW_CONFIG_BODY_MAX, &doc, NULL))
        return MTU_USUAL;
    struct json_at list = json_root(doc);
    for (size_t i = 0; i < json_length(&list); i++) {
        struct json_at one = json_element(&list, i);
        const char *role;
        uint32_t mtu;
        if (json_get_str(&one, "role", HW_NAME_MAX, &role, NULL) ||
            json_get_u32(&one, "mtu", 1, UINT32_MAX, &mtu, NULL) ||
            strcmp(role, node_role_name(NODE_SITE)) == 0)
            continue;
        if (!smallest || mtu < smallest)
            smallest = mtu;
    }
    json_free(doc);
    return smallest ? smallest : MTU_USUAL;
}

/* A size belongs to the provider of the gateway's site. */
static int find_figure(struct db *db, const struct store_gateway *g, struct performance *out,
                       struct err *e)
{
    struct store_site site;
    const struct store_page one = {.limit = 1};
    struct store_size *size = NULL;
    struct store_figure *figures = NULL;
    size_t n_sizes = 0, n = 0;
    int rc = store_site_get(db, &g->site_id, &site, e);
    if (!rc)
        rc = store_size_list(db, &one, site.provider, g->size, &size, &n_sizes, e);
    if (!rc && n_sizes)
        rc = store_figure_list(db, &size->id, &figures, &n, e);
    const struct store_figure *f = rc ? NULL : figure_choose(figures, n, underlay_mtu(g), true);
    if (f) {
        out->known = true;
        out->figure = *f;
    }
    free(size);
    free(figures);
    return rc;
}

int performance_of(struct db *db, const struct store_gateway *g, const struct store_telemetry *t,
                   struct performance *out, struct err *e)
{
    *out = (struct performance){.live_bps = NAN, .ratio = NAN};
    if (!g->size[0])
        return 0;
    int rc = find_figure(db, g, out, e);
    if (rc || !out->known)
        return rc;
    if (t && t->observed_at && !status_is_stale(t->observed_at, t->interval_seconds, store_now(db)))
        out->live_bps =
            t->goodput_tx_bps > t->goodput_rx_bps ? t->goodput_tx_bps : t->goodput_rx_bps;
    out->ratio = out->live_bps / out->figure.throughput_bps;
    return 0;
}

void performance_put(struct json_writer *w, const struct performance *p)
{
    if (!p->known) {
        json_put_null(w, "performance");
        return;
    }
    json_open_object(w, "performance");
    json_put_double(w, "live_bps", p->live_bps); /* NaN becomes null */
    json_put_double(w, "published_bps", p->figure.throughput_bps);
    json_put_double(w, "ratio", p->ratio);
    json_open_object(w, "figure");
    size_json_put_figure(w, &p->figure);
    json_close(w);
    json_close(w);
}
