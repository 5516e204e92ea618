#include "agent/control/link_mtu.h"
#include "agent/control/underlay.h"
#include "common/log.h"
#include <stdlib.h>

/* Until the underlay has its address its MTU is guessed. */
#define USUAL_MTU 1500u

/* What keying says of a link's other end. */
struct peer {
    struct hw_id link;
    uint32_t mtu;   /* its inner MTU; 0: unknown */
    uint64_t epoch; /* whose connection stands; 0: none */
};

struct link_mtu {
    struct peer *peers;
    size_t n_peers;
    uint32_t *own, *effective;
    struct onward_table heard, told;
};

int link_mtu_new(struct link_mtu **out, struct err *e)
{
    struct link_mtu *m = calloc(1, sizeof *m);
    if (!m)
        return err_set(e, HW_ENOMEM, "out of memory");
    *out = m;
    return 0;
}

void link_mtu_free(struct link_mtu *m)
{
    if (!m)
        return;
    free(m->peers);
    free(m->own);
    free(m->effective);
    onward_table_done(&m->heard);
    onward_table_done(&m->told);
    free(m);
}

static struct peer *find_peer(const struct link_mtu *m, const struct hw_id *link)
{
    for (size_t i = 0; i < m->n_peers; i++)
        if (id_equal(&m->peers[i].link, link))
            return &m->peers[i];
    return NULL;
}

/* Makes the entry if there is none; NULL without memory for it. */
static struct peer *peer_of(struct link_mtu *m, const struct hw_id *link)
{
    struct peer *p = find_peer(m, link);
    if (p)
        return p;
    struct peer *grown = realloc(m->peers, (m->n_peers + 1) * sizeof *grown);
    if (!grown)
        return NULL;
    m->peers = grown;
    m->peers[m->n_peers] = (struct peer){.link = *link};
    return &m->peers[m->n_peers++];
}

bool link_mtu_peer(struct link_mtu *m, const struct hw_id *link, uint32_t mtu)
{
    struct peer *p = peer_of(m, link);
    if (!p || p->mtu == mtu)
        return false;
    p->mtu = mtu;
    return true;
}

bool link_mtu_peer_known(const struct link_mtu *m, const struct hw_id *link)
{
    const struct peer *p = find_peer(m, link);
    return p && p->mtu > 0;
}

bool link_mtu_connection(struct link_mtu *m, const struct hw_id *link, uint64_t epoch)
{
    struct peer *p = peer_of(m, link);
    if (!p || p->epoch == epoch)
        return false;
    p->epoch = epoch;
    if (epoch == 0)
        return false;
    onward_mark_stale(&m->heard, link);
    onward_forget(&m->told, link);
    return true;
}

bool link_mtu_onward(struct link_mtu *m, const struct gateway_config *c, const struct hw_id *link,
                     const struct prefix *p, uint32_t mtu)
{
    return onward_concerns(c, link, p) && onward_set(&m->heard, link, p, mtu);
}

bool link_mtu_drop_stale(struct link_mtu *m, const struct gateway_config *c)
{
    return onward_drop_stale(&m->heard, c);
}

/* Links with the same source share one look-up. */
static uint32_t own_mtu(struct nl *n, const struct gateway_config *c, size_t at,
                        const uint32_t *earlier)
{
    const struct config_link *l = &c->links[at];
    for (size_t i = 0; i < at; i++)
        if (c->links[i].suites == l->suites && ipaddr_equal(&c->links[i].local, &l->local))
            return earlier[i];
    unsigned outer = USUAL_MTU;
    struct err why = {0};
    if (underlay_mtu(n, &l->local, &outer, &why) < 0)
        log_warn_limited("the MTU of a link is not known yet: %s", why.text);
    return underlay_inner_mtu(outer, l->local.family, l->suites);
}

int link_mtu_find(struct link_mtu *m, struct nl *n, const struct gateway_config *c, struct err *e)
{
    uint32_t *own = calloc(c->n_links + 1, sizeof *own);
    uint32_t *effective = calloc(c->n_links + 1, sizeof *effective);
    if (!own || !effective) {
        free(own);
        free(effective);
        return err_set(e, HW_ENOMEM, "out of memory");
    }
    for (size_t i = 0; i < c->n_links; i++) {
        const struct peer *p = find_peer(m, &c->links[i].id);
        own[i] = own_mtu(n, c, i, own);
        effective[i] = p && p->mtu && p->mtu < own[i] ? p->mtu : own[i];
    }
    free(m->own);
    free(m->effective);
    m->own = own;
    m->effective = effective;
    return 0;
}

void link_mtu_facts(const struct link_mtu *m, struct gateway_facts *out)
{
    out->own_mtus = m->own;
    out->mtus = m->effective;
    out->heard = &m->heard;
}

void link_mtu_tell(struct link_mtu *m, const struct gateway_config *c, uint32_t site_mtu,
                   onward_tell_fn tell, void *arg)
{
    for (size_t i = 0; i < c->n_links; i++)
        onward_tell(c, i, m->effective, site_mtu, &m->heard, &m->told, tell, arg);
}

void link_mtu_forget_others(struct link_mtu *m, const struct gateway_config *c)
{
    size_t kept = 0;
    if (m->n_peers <= 2 * c->n_links)
        return;
    for (size_t i = 0; i < m->n_peers; i++)
        for (size_t k = 0; k < c->n_links; k++)
            if (id_equal(&m->peers[i].link, &c->links[k].id)) {
                m->peers[kept++] = m->peers[i];
                break;
            }
    m->n_peers = kept;
}
