#include "agent/control/keying/keying.h"
#include "agent/control/keying/acceptor.h"
#include "agent/control/keying/core.h"
#include "agent/control/keying/epoch.h"
#include "agent/control/keying/keylink.h"
#include "agent/control/keying/message.h"
#include "common/log.h"
#include <stdlib.h>
#include <string.h>

struct keying {
    struct keying_core core;
    struct acceptor *acceptor;
    struct keylink **links;
    size_t n_links;
    /* Of the present dataplane, until a config has named the links: it may come after the dump. */
    struct dp_dump early;
    bool has_early;
};

static struct keylink *find_link(const struct keying *k, const struct hw_id *id)
{
    for (size_t i = 0; i < k->n_links; i++)
        if (id_equal(&k->links[i]->cfg.id, id))
            return k->links[i];
    return NULL;
}

/* ---- what the acceptor asks ---- */

static bool is_peer(void *arg, const struct hw_id *gateway)
{
    const struct keying *k = arg;
    for (size_t i = 0; i < k->n_links; i++)
        if (keylink_allowed(k->links[i]) && id_equal(&k->links[i]->cfg.peer_id, gateway))
            return true;
    return false;
}

/* The first message of a connection whose peer has proved to be `gateway`. */
static void on_first(void *arg, struct conn *c, const struct hw_id *gateway,
                     const struct message *m, const uint8_t *raw, size_t len)
{
    struct keying *k = arg;
    struct keylink *l = find_link(k, &m->link);
    bool first = m->type == MESSAGE_OFFER || m->type == MESSAGE_HELLO;
    if (!first || (l && !id_equal(&l->cfg.peer_id, gateway))) {
        k->core.counters.bad_message++;
        conn_close(c);
    } else if (!l) {
        keylink_refuse(c, &m->link, REFUSE_LINK, "no such link");
    } else if (m->type == MESSAGE_OFFER) {
        keylink_take_offer(l, c, m, raw, len);
    } else {
        keylink_take_hello(l, c, m);
    }
}

static const struct acceptor_handler acceptor_calls = {is_peer, on_first};

/* ---- life ---- */

int keying_new(struct evloop *loop, struct dp_client *dp, const struct keying_settings *settings,
               const struct keying_handler *handler, void *arg, struct keying **out, struct err *e)
{
    struct keying *k = calloc(1, sizeof *k);
    if (!k)
        return err_set(e, HW_ENOMEM, "keying: out of memory");
    k->core.loop = loop;
    k->core.dp = dp;
    k->core.handler = handler;
    k->core.arg = arg;
    sa_policy_init(&k->core.policy, settings->soft_seconds, settings->hard_seconds,
                   settings->soft_bytes, settings->hard_bytes, settings->window, !settings->no_esn);
    int rc = spi_pool_new(&k->core.spis, e);
    if (rc == 0)
        rc = acceptor_new(&k->core, &acceptor_calls, k, &k->acceptor, e);
    if (rc != 0) {
        keying_free(k);
        return rc;
    }
    *out = k;
    return 0;
}

static void early_done(struct keying *k)
{
    free(k->early.links);
    free(k->early.sas);
    k->early = (struct dp_dump){0};
    k->has_early = false;
}

/* Without memory the links are keyed anew. */
static void early_keep(struct keying *k, const struct dp_dump *dump)
{
    struct dp_dump_link *links = calloc(dump->n_links + 1, sizeof *links);
    struct dp_dump_sa *sas = calloc(dump->n_sas + 1, sizeof *sas);
    early_done(k);
    if (!links || !sas) {
        free(links);
        free(sas);
        return;
    }
    if (dump->n_links)
        memcpy(links, dump->links, dump->n_links * sizeof *links);
    if (dump->n_sas)
        memcpy(sas, dump->sas, dump->n_sas * sizeof *sas);
    k->early = (struct dp_dump){
        .links = links, .n_links = dump->n_links, .sas = sas, .n_sas = dump->n_sas};
    k->has_early = true;
}

void keying_free(struct keying *k)
{
    if (!k)
        return;
    for (size_t i = 0; i < k->n_links; i++)
        keylink_free(k->links[i]);
    free(k->links);
    acceptor_free(k->acceptor);
    early_done(k);
    tls_context_free(k->core.client);
    tls_context_free(k->core.server);
    spi_pool_free(k->core.spis);
    denied_done(&k->core.denied);
    free(k);
}

static void wake_all(struct keying *k)
{
    for (size_t i = 0; i < k->n_links; i++)
        keylink_wake(k->links[i]);
}

/* Both contexts or none. */
static int make_contexts(struct keying *k, const struct x509_st *ca, const struct x509_st *cert,
                         const struct evp_pkey_st *key, struct err *e)
{
    struct tls_context *client, *server;
    int rc = tls_context_new(TLS_CLIENT, ca, cert, key, &client, e);
    if (rc != 0)
        return rc;
    rc = tls_context_new(TLS_SERVER, ca, cert, key, &server, e);
    if (rc != 0) {
        tls_context_free(client);
        return rc;
    }
    tls_context_free(k->core.client);
    tls_context_free(k->core.server);
    k->core.client = client;
    k->core.server = server;
    return 0;
}

int keying_set_identity(struct keying *k, const char *certificate_pem, const char *key_pem,
                        const char *ca_pem, struct err *e)
{
    struct x509_st *cert = NULL, *ca = NULL;
    struct evp_pkey_st *key = NULL;
    int rc = x509_cert_parse(certificate_pem, strlen(certificate_pem), &cert, e);
    if (rc == 0)
        rc = x509_cert_parse(ca_pem, strlen(ca_pem), &ca, e);
    if (rc == 0)
        rc = x509_key_parse(key_pem, strlen(key_pem), &key, e);
    if (rc == 0)
        rc = make_contexts(k, ca, cert, key, e);
    x509_key_free(key);
    x509_cert_free(ca);
    x509_cert_free(cert);
    if (rc != 0)
        return rc;
    acceptor_poll(k->acceptor);
    wake_all(k);
    return 0;
}

/* The links of `config`, taken over from the present ones where they exist. On failure nothing has
 * changed but links made for nothing, which are freed. */
static int make_links(struct keying *k, const struct gateway_config *config,
                      const uint32_t *inner_mtus, struct keylink **links, struct err *e)
{
    for (size_t i = 0; i < config->n_links; i++) {
        links[i] = find_link(k, &config->links[i].id);
        if (links[i])
            continue;
        int rc = keylink_new(&k->core, &config->links[i], inner_mtus[i], &links[i], e);
        if (rc == 0)
            continue;
        while (i-- > 0)
            if (!find_link(k, &config->links[i].id))
                keylink_free(links[i]);
        return rc;
    }
    return 0;
}

static bool names_link(const struct gateway_config *config, const struct hw_id *id)
{
    for (size_t i = 0; i < config->n_links; i++)
        if (id_equal(&config->links[i].id, id))
            return true;
    return false;
}

int keying_set_config(struct keying *k, const struct gateway_config *config,
                      const uint32_t *inner_mtus, struct err *e)
{
    struct keylink **links = calloc(config->n_links + 1, sizeof(struct keylink *));
    if (!links)
        return err_set(e, HW_ENOMEM, "keying: out of memory");
    k->core.own = config->gateway_id;
    int rc = make_links(k, config, inner_mtus, links, e);
    if (rc != 0) {
        free(links);
        return rc;
    }
    for (size_t i = 0; i < k->n_links; i++)
        if (!names_link(config, &k->links[i]->cfg.id))
            keylink_free(k->links[i]);
    free(k->links);
    k->links = links;
    k->n_links = config->n_links;
    for (size_t i = 0; i < config->n_links; i++)
        keylink_configure(links[i], &config->links[i], inner_mtus[i]);
    for (size_t i = 0; k->has_early && i < k->n_links; i++)
        keylink_dataplane_up(links[i], &k->early);
    early_done(k);
    return acceptor_set_config(k->acceptor, config, e);
}

int keying_set_denials(struct keying *k, const struct hw_id *gateways, size_t n_gateways,
                       const char *const *serials, size_t n_serials, struct err *e)
{
    int rc = denied_set(&k->core.denied, gateways, n_gateways, serials, n_serials, e);
    if (rc != 0)
        return rc;
    for (size_t i = 0; i < k->n_links; i++)
        keylink_judge(k->links[i]);
    acceptor_judge(k->acceptor);
    return 0;
}

int keying_set_ended(struct keying *k, const struct hw_id *permissions, size_t n, struct err *e)
{
    int rc = denied_set_permissions(&k->core.denied, permissions, n, e);
    for (size_t i = 0; !rc && i < k->n_links; i++)
        keylink_wake(k->links[i]);
    return rc;
}

/* ---- dataplane ---- */

void keying_dataplane_up(struct keying *k, const struct dp_hello *hello, const struct dp_dump *dump)
{
    k->core.hello = *hello;
    k->core.dataplane = true;
    if (k->n_links == 0)
        early_keep(k, dump);
    for (size_t i = 0; i < k->n_links; i++)
        keylink_dataplane_up(k->links[i], dump);
}

void keying_dataplane_lost(struct keying *k)
{
    if (!k->core.dataplane)
        return;
    k->core.dataplane = false;
    early_done(k);
    for (size_t i = 0; i < k->n_links; i++)
        keylink_dataplane_lost(k->links[i]);
}

void keying_event(struct keying *k, const struct dp_event *event)
{
    struct keylink *l;
    if (event->type == DP_TUNNEL_STATE && k->core.dataplane) {
        if ((l = find_link(k, &event->tunnel.link)) != NULL)
            keylink_tunnel(l, event->tunnel.tunnel, event->tunnel.state);
        return;
    }
    bool of_sa = event->type == DP_SA_FIRST_RX || event->type == DP_SA_SOFT_LIMIT ||
                 event->type == DP_SA_EXPIRED;
    l = of_sa && k->core.dataplane ? find_link(k, &event->sa.link) : NULL;
    if (l)
        epoch_event(l, event->type, &event->sa);
}

/* ---- commands and status ---- */

int keying_announce_mtu(struct keying *k, const struct hw_id *link, const struct prefix *prefix,
                        uint32_t mtu)
{
    struct keylink *l = find_link(k, link);
    if (!l)
        return HW_ENOTFOUND;
    if (!l->standing)
        return HW_EAGAIN;
    if (mtu < MESSAGE_MTU_MIN || mtu > MESSAGE_MTU_MAX)
        return HW_EINVAL;
    struct message m = {.type = MESSAGE_MTU, .link = *link};
    m.mtu.prefix = *prefix;
    m.mtu.mtu = mtu;
    conn_send(l->standing, &m);
    return 0;
}

int keying_rekey_now(struct keying *k, const struct hw_id *link, struct err *e)
{
    struct keylink *l = find_link(k, link);
    if (!l)
        return err_set(e, HW_ENOTFOUND, "no such link");
    rekey_want(&l->rekey, WANT_OPERATOR);
    rekey_hurry(&l->rekey);
    keylink_wake(l);
    return 0;
}

const char *keying_state_name(enum keying_state state)
{
    static const char *const names[] = {"idle", "dialling", "connected", "failed"};
    return names[state];
}

int keying_status(const struct keying *k, const struct hw_id *link, struct keying_link_status *out)
{
    const struct keylink *l = find_link(k, link);
    if (!l)
        return HW_ENOTFOUND;
    keylink_status(l, out);
    return 0;
}

const struct keying_counters *keying_counters(const struct keying *k)
{
    return &k->core.counters;
}
