/* GET /api/v1/gateways/{id}/openings: what a cloud's firewall must let through for this gateway, as
 * planned: also before it has enrolled, when its addresses were given. */
#include "controller/api/api.h"
#include "controller/app.h"
#include "controller/planner/addressing.h"
#include "controller/push/topology_load.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ANY       "any"
#define PORTS_MAX 16 /* "64000-64049" */

struct opening {
    const char *direction, *protocol, *local_ports, *remote_ports;
    const struct ipaddr *local, *remote; /* family 0: any */
    const struct topo_gateway *peer;     /* NULL: the controller */
    const char *purpose;
};

static void put_address(struct json_writer *w, const char *key, const struct ipaddr *a)
{
    json_open_array(w, key);
    if (a->family)
        json_put_ip(w, NULL, a);
    json_close(w);
}

static void put_opening(struct json_writer *w, const struct opening *o, const char *why)
{
    json_open_object(w, NULL);
    json_put_str(w, "direction", o->direction);
    json_put_str(w, "protocol", o->protocol);
    json_put_str(w, "local_ports", o->local_ports);
    json_put_str(w, "remote_ports", o->remote_ports);
    put_address(w, "local_addresses", o->local);
    put_address(w, "remote_addresses", o->remote);
    if (o->peer)
        json_put_id(w, "peer_id", &o->peer->id);
    else
        json_put_null(w, "peer_id");
    json_put_str(w, "peer", o->peer ? o->peer->name : "controller");
    json_put_str(w, "purpose", o->purpose);
    json_put_str(w, "why", why);
    json_close(w);
}

static void port_range(char out[PORTS_MAX], unsigned base)
{
    (void)snprintf(out, PORTS_MAX, "%u-%u", base, base + HW_PORTS_PER_GATEWAY - 1);
}

/* All fifty ports whatever the number of tunnels is now, so that another number needs no other
 * firewall. Either end sends first where the other can be reached. */
static void put_link(struct json_writer *w, const struct topo_gateway *own,
                     const struct topo_gateway *peer, const struct address_end *here,
                     const struct address_end *there, unsigned tunnels)
{
    static const struct ipaddr any = {0};
    char why[HW_TEXT_MAX + 1], own_port[PORTS_MAX], peer_port[PORTS_MAX], own_ports[PORTS_MAX],
        peer_ports[PORTS_MAX];
    port_range(own_ports, own->port_base);
    port_range(peer_ports, peer->port_base);
    (void)snprintf(own_port, sizeof own_port, "%u", own->port_base);
    (void)snprintf(peer_port, sizeof peer_port, "%u", peer->port_base);
    for (int out = 0; out < 2; out++) {
        const char *direction = out ? "out" : "in";
        if (!(out ? there : here)->reachable)
            continue;
        (void)snprintf(why, sizeof why, "%u encrypted tunnels of link %s - %s", tunnels, own->name,
                       peer->name);
        put_opening(w,
                    &(struct opening){direction, "udp", own_ports, peer_ports, &here->source,
                                      &there->address, peer, "tunnels"},
                    why);
        put_opening(w,
                    &(struct opening){direction, "tcp", out ? ANY : own_port, out ? peer_port : ANY,
                                      &here->source, &there->address, peer, "keying"},
                    here->reachable && there->reachable ? "either end may start a key exchange"
                    : out                               ? "this gateway starts the key exchanges"
                                                        : "the peer starts the key exchanges");
    }
    (void)snprintf(why, sizeof why,
                   "routers on the way to %s say by ICMP which packets are too big for them",
                   peer->name);
    put_opening(w, &(struct opening){"in", "icmp", ANY, ANY, &here->source, &any, peer, "path-mtu"},
                why);
}

static const struct topo_gateway *gateway_of(const struct topology *t, const struct hw_id *id)
{
    for (size_t i = 0; i < t->n_gateways; i++)
        if (id_equal(&t->gateways[i].id, id))
            return &t->gateways[i];
    return NULL;
}

static const struct topo_connection *connection_of(const struct topology *t, const struct hw_id *id)
{
    for (size_t i = 0; i < t->n_connections; i++)
        if (id_equal(&t->connections[i].id, id))
            return &t->connections[i];
    return NULL;
}

/* A link whose ends have no addresses yet, or none that fit, opens nothing. */
static void put_links(struct json_writer *w, const struct loaded_topology *t,
                      const struct topo_gateway *own)
{
    for (size_t i = 0; i < t->n_link_rows; i++) {
        const struct store_link *l = &t->link_rows[i];
        bool is_a = id_equal(&l->gateway_a_id, &own->id);
        if (!is_a && !id_equal(&l->gateway_b_id, &own->id))
            continue;
        const struct topo_gateway *peer =
            gateway_of(&t->topology, is_a ? &l->gateway_b_id : &l->gateway_a_id);
        const struct topo_connection *c = connection_of(&t->topology, &l->connection_id);
        struct address_pair pair;
        if (!peer ||
            addressing_pair(is_a ? own : peer, is_a ? peer : own, c ? c->path : TOPO_PATH_AUTO,
                            c ? c->underlay_family : 0, &pair, NULL))
            continue;
        put_link(w, own, peer, is_a ? &pair.a : &pair.b, is_a ? &pair.b : &pair.a, l->tunnels);
    }
}

/* "https://HOST:PORT" of the settings: its port, and its address where it isn't a name. */
static void put_controller(struct json_writer *w, const char *url)
{
    static const struct ipaddr any = {0};
    char host[SETTINGS_URL_MAX], why[SETTINGS_URL_MAX + 32];
    struct ipaddr address = {0};
    const char *start = url + strlen("https://"), *colon = strrchr(start, ':');
    if (colon && strchr(colon, ']'))
        colon = NULL;
    bool bracketed = *start == '[';
    size_t len = colon ? (size_t)(colon - start) : strlen(start);
    (void)snprintf(host, sizeof host, "%.*s", (int)len - 2 * bracketed, start + bracketed);
    if (ipaddr_parse(host, &address))
        address = any;
    (void)snprintf(why, sizeof why, "configs and reports: %s", url);
    put_opening(w,
                &(struct opening){"out", "tcp", ANY, colon ? colon + 1 : "443", &any, &address,
                                  NULL, "controller"},
                why);
}

int openings_list(struct app *app, struct http_request *req, struct http_response *res,
                  struct err *e)
{
    struct loaded_topology t = {0};
    struct hw_id id;
    struct db *db;
    int rc = http_request_param_id(req, 0, &id, e);
    if (!rc)
        rc = store_read(app->store, &db, e);
    if (rc)
        return rc;
    rc = topology_load(db, &t, e);
    store_read_end(db);
    const struct topo_gateway *own = rc ? NULL : gateway_of(&t.topology, &id);
    if (!rc && !own)
        rc = err_set(e, HW_ENOTFOUND, "no such gateway");
    if (!rc) {
        struct json_writer w;
        json_writer_init(&w);
        json_put_id(&w, "gateway_id", &id);
        json_open_array(&w, "items");
        put_links(&w, &t, own);
        if (own->state != TOPO_GATEWAY_REVOKED)
            for (size_t i = 0; i < app->settings.n_agent_urls; i++)
                put_controller(&w, app->settings.agent_urls[i]);
        json_close(&w);
        http_response_json(res, 200, json_finish(&w, NULL));
    }
    loaded_topology_done(&t);
    return rc;
}
