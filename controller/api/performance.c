#include "controller/api/performance.h"
#include "common/model/node.h"
#include "controller/api/size_json.h"
#include "controller/sizes/figure.h"
#include "controller/store/site.h"
#include "controller/telemetry/status.h"
#include <math.h>
#include <stdio.h>
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

static int read_figures(struct db *db, const char *provider, const char *name,
                        struct store_figure **figures, size_t *n, struct err *e)
{
    const struct store_page one = {.limit = 1};
    struct store_size *size = NULL;
    size_t n_sizes = 0;
    int rc = store_size_list(db, &one, provider, name, &size, &n_sizes, e);
    if (!rc && n_sizes)
        rc = store_figure_list(db, &size->id, figures, n, e);
    free(size);
    return rc;
}

static void compare(const struct store_gateway *g, const struct store_telemetry *t, int64_t now_s,
                    const struct store_figure *figures, size_t n, struct performance *out)
{
    const struct store_figure *f = figure_choose(figures, n, underlay_mtu(g), true);
    if (!f)
        return;
    out->known = true;
    out->figure = *f;
    if (t && t->observed_at && !status_is_stale(t->observed_at, t->interval_seconds, now_s))
        out->live_bps =
            t->goodput_tx_bps > t->goodput_rx_bps ? t->goodput_tx_bps : t->goodput_rx_bps;
    out->ratio = out->live_bps / out->figure.throughput_bps;
}

/* A size belongs to the provider of the gateway's site. */
int performance_of(struct db *db, const struct store_gateway *g, const struct store_telemetry *t,
                   struct performance *out, struct err *e)
{
    struct store_site site;
    struct store_figure *figures = NULL;
    size_t n = 0;
    *out = (struct performance){.live_bps = NAN, .ratio = NAN};
    if (!g->size[0])
        return 0;
    int rc = store_site_get(db, &g->site_id, &site, e);
    if (!rc)
        rc = read_figures(db, site.provider, g->size, &figures, &n, e);
    if (!rc)
        compare(g, t, store_now(db), figures, n, out);
    free(figures);
    return rc;
}

int performance_among(struct db *db, struct performance_memo *memo, const char *provider,
                      const struct store_gateway *g, const struct store_telemetry *t,
                      struct performance *out, struct err *e)
{
    *out = (struct performance){.live_bps = NAN, .ratio = NAN};
    if (!g->size[0])
        return 0;
    struct performance_size *s = memo->sizes;
    while (s && (strcmp(s->provider, provider) != 0 || strcmp(s->size, g->size) != 0))
        s = s->next;
    if (!s) {
        s = calloc(1, sizeof *s);
        if (!s)
            return err_set(e, HW_ENOMEM, "out of memory");
        s->next = memo->sizes;
        memo->sizes = s;
        (void)snprintf(s->provider, sizeof s->provider, "%s", provider);
        (void)snprintf(s->size, sizeof s->size, "%s", g->size);
        int rc = read_figures(db, provider, g->size, &s->figures, &s->n, e);
        if (rc)
            return rc;
    }
    compare(g, t, store_now(db), s->figures, s->n, out);
    return 0;
}

void performance_memo_done(struct performance_memo *memo)
{
    while (memo->sizes) {
        struct performance_size *s = memo->sizes;
        memo->sizes = s->next;
        free(s->figures);
        free(s);
    }
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
