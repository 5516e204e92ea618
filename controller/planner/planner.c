#include "controller/planner/planner.h"
#include "controller/planner/config.h"
#include "controller/planner/joins.h"
#include <stdlib.h>

int planner_connection_kind(enum site_role a, enum site_role b, enum link_kind *out, struct err *e)
{
    if (a == SITE_SPOKE && b == SITE_SPOKE)
        return err_set_field(e, HW_EINVAL, "site_b_id",
                             "two spokes cannot be connected: one of the sites must be a transit");
    *out = a == SITE_TRANSIT && b == SITE_TRANSIT ? LINK_PEERING : LINK_ATTACHMENT;
    return 0;
}

static int take_links(const struct mesh *m, struct plan *p, struct err *e)
{
    p->links = calloc(m->n_links + 1, sizeof *p->links);
    if (!p->links)
        return err_set(e, HW_ENOMEM, "out of memory");
    p->n_links = m->n_links;
    for (size_t i = 0; i < m->n_links; i++)
        p->links[i] = m->links[i].plan;
    return 0;
}

static int take_domains(const struct fleet *f, struct plan *p, struct err *e)
{
    p->domains = calloc(f->n_domains + 1, sizeof *p->domains);
    if (!p->domains)
        return err_set(e, HW_ENOMEM, "out of memory");
    p->n_domains = f->n_domains;
    memcpy(p->domains, f->domains, f->n_domains * sizeof *p->domains);
    return 0;
}

static int take_gateways(const struct fleet *f, const struct mesh *m, struct plan *p, struct err *e)
{
    p->gateways = calloc(f->n_gateways + 1, sizeof *p->gateways);
    struct fib_cache *cache = fib_cache_new();
    int rc = p->gateways && cache ? 0 : err_set(e, HW_ENOMEM, "out of memory");
    for (size_t i = 0; !rc && i < f->n_gateways; i++) {
        const struct topo_gateway *g = f->gateways[i].gateway;
        if (g->state != TOPO_GATEWAY_ENROLLED)
            continue;
        struct planned_gateway *out = &p->gateways[p->n_gateways];
        rc = config_build(f, m, i, cache, &out->config, e);
        if (rc)
            break;
        p->n_gateways++;
        out->gateway_id = g->id;
        out->body = gateway_config_encode(&out->config, &out->body_len);
        if (!out->body)
            rc = err_set(e, HW_ENOMEM, "out of memory");
        else if (out->body_len > HW_CONFIG_BODY_MAX)
            rc = err_set(e, HW_EINVAL,
                         "the config of gateway %s would have %zu bytes, the limit is %u", g->name,
                         out->body_len, HW_CONFIG_BODY_MAX);
    }
    fib_cache_free(cache);
    return rc;
}

int planner_run(const struct topology *t, struct plan *out, struct err *e)
{
    struct fleet fleet;
    int rc = fleet_init(&fleet, t, e);
    if (rc)
        return rc;
    struct mesh mesh;
    rc = mesh_init(&mesh, &fleet, e);
    if (!rc) {
        struct plan p = {0};
        rc = take_links(&mesh, &p, e);
        if (!rc)
            rc = take_domains(&fleet, &p, e);
        if (!rc)
            rc = joins_find(&fleet, &p.joins, &p.n_joins, e);
        if (!rc)
            rc = take_gateways(&fleet, &mesh, &p, e);
        mesh_done(&mesh);
        if (rc)
            plan_done(&p);
        else
            *out = p;
    }
    fleet_done(&fleet);
    return rc;
}

void plan_done(struct plan *p)
{
    for (size_t i = 0; i < p->n_gateways; i++) {
        gateway_config_done(&p->gateways[i].config);
        free(p->gateways[i].body);
    }
    free(p->gateways);
    free(p->links);
    free(p->domains);
    free(p->joins);
    *p = (struct plan){0};
}
