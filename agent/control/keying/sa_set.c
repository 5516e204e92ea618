#include "agent/control/keying/sa_set.h"
#include "agent/control/keying/sa_policy.h"
#include <string.h>

struct sa_epoch *sa_set_find(struct sa_set *s, uint64_t epoch)
{
    for (unsigned i = 0; i < s->n; i++)
        if (s->e[i].epoch == epoch)
            return &s->e[i];
    return NULL;
}

const struct sa_epoch *sa_set_active(const struct sa_set *s)
{
    for (unsigned i = 0; i < s->n; i++)
        if (s->e[i].active)
            return &s->e[i];
    return NULL;
}

struct sa_epoch *sa_set_add(struct sa_set *s, uint64_t epoch, uint64_t now)
{
    if (s->n == SA_SET_MAX || epoch <= s->highest)
        return NULL;
    struct sa_epoch *e = &s->e[s->n++];
    *e = (struct sa_epoch){.epoch = epoch, .installed_ns = now, .in_ends_ns = SA_NO_END};
    s->highest = epoch;
    return e;
}

void sa_set_remove(struct sa_set *s, uint64_t epoch)
{
    const struct sa_epoch *e = sa_set_find(s, epoch);
    if (!e)
        return;
    size_t at = (size_t)(e - s->e);
    memmove(&s->e[at], &s->e[at + 1], (s->n - at - 1) * sizeof s->e[0]);
    s->n--;
}

void sa_set_clear(struct sa_set *s)
{
    s->n = 0;
}

/* Oldest first: one whose end is planned, else a pending one that another has overtaken. */
struct sa_epoch *sa_set_surplus(struct sa_set *s)
{
    unsigned inbound = 0;
    for (unsigned i = 0; i < s->n; i++)
        inbound += s->e[i].in > 0;
    if (inbound < SA_INBOUND_MAX && s->n < SA_SET_MAX)
        return NULL;
    for (unsigned i = 0; i < s->n; i++)
        if (!s->e[i].active && s->e[i].in_ends_ns != SA_NO_END)
            return &s->e[i];
    for (unsigned i = 0; i < s->n; i++)
        if (!s->e[i].active)
            return &s->e[i];
    return NULL;
}

void sa_set_switch(struct sa_set *s, uint64_t epoch, uint64_t now)
{
    for (unsigned i = 0; i < s->n; i++) {
        struct sa_epoch *e = &s->e[i];
        e->active = e->epoch == epoch;
        if (e->epoch < epoch && e->in_ends_ns == SA_NO_END)
            e->in_ends_ns = now + SA_OLD_IN_NS;
    }
    s->switched_ns = now;
}

void sa_set_peer_deleted(struct sa_set *s, uint64_t epoch, uint64_t now)
{
    uint64_t newest = s->n ? s->e[s->n - 1].epoch : 0;
    for (unsigned i = 0; i < s->n; i++) {
        struct sa_epoch *e = &s->e[i];
        if (e->epoch <= epoch && e->epoch < newest && e->in_ends_ns > now + SA_DELETED_IN_NS)
            e->in_ends_ns = now + SA_DELETED_IN_NS;
    }
}

struct sa_epoch *sa_set_due(struct sa_set *s, uint64_t now)
{
    for (unsigned i = 0; i < s->n; i++)
        if (s->e[i].in_ends_ns <= now)
            return &s->e[i];
    return NULL;
}

uint64_t sa_set_next_ns(const struct sa_set *s)
{
    uint64_t next = SA_NO_END;
    for (unsigned i = 0; i < s->n; i++)
        if (s->e[i].in_ends_ns < next)
            next = s->e[i].in_ends_ns;
    return next;
}

struct sa_epoch *sa_set_pending(struct sa_set *s)
{
    const struct sa_epoch *active = sa_set_active(s);
    for (unsigned i = s->n; i-- > 0;) {
        struct sa_epoch *e = &s->e[i];
        if (e->in && e->out && (!active || e->epoch > active->epoch))
            return e;
    }
    return NULL;
}

/* The entry for this epoch, made in its place if need be. Beyond SA_SET_MAX the oldest gives way.
 */
static struct sa_epoch *adopt_epoch(struct sa_set *s, const struct dp_dump_sa *sa, uint64_t now)
{
    struct sa_epoch *found = sa_set_find(s, sa->epoch);
    if (found)
        return found;
    if (s->n == SA_SET_MAX) {
        if (sa->epoch < s->e[0].epoch)
            return NULL;
        sa_set_remove(s, s->e[0].epoch);
    }
    unsigned at = s->n;
    while (at > 0 && s->e[at - 1].epoch > sa->epoch)
        at--;
    memmove(&s->e[at + 1], &s->e[at], (s->n - at) * sizeof s->e[0]);
    s->n++;
    s->e[at] = (struct sa_epoch){.epoch = sa->epoch,
                                 .suite = sa->suite,
                                 .esn = sa->esn != 0,
                                 .peer_boot = sa->peer_boot,
                                 .peer_cert = sa->peer_cert,
                                 .installed_ns = sa->age_ns < now ? now - sa->age_ns : 0,
                                 .in_ends_ns = SA_NO_END};
    return &s->e[at];
}

/* Active is the newest epoch by which all of its outbound SAs send. */
static void adopt_active(struct sa_set *s, const unsigned sending[SA_SET_MAX], uint64_t now)
{
    for (unsigned i = s->n; i-- > 0;) {
        if (s->e[i].out > 0 && sending[i] == s->e[i].out) {
            sa_set_switch(s, s->e[i].epoch, now);
            return;
        }
    }
}

void sa_set_adopt(struct sa_set *s, const struct hw_id *link, const struct dp_dump_sa *sas,
                  size_t n_sas, uint64_t now)
{
    unsigned sending[SA_SET_MAX] = {0};
    s->n = 0;
    for (size_t i = 0; i < n_sas; i++) {
        if (!id_equal(&sas[i].link, link) || sas[i].tunnel >= HW_TUNNELS_PER_LINK_MAX)
            continue;
        struct sa_epoch *e = adopt_epoch(s, &sas[i], now);
        if (!e)
            continue;
        if (sas[i].direction == DP_DIR_IN) {
            e->in++;
            e->spi_in[sas[i].tunnel] = sas[i].spi;
            e->confirmed |= sas[i].active != 0;
        } else {
            e->out++;
        }
        if (e->epoch > s->highest)
            s->highest = e->epoch;
    }
    for (size_t i = 0; i < n_sas; i++) {
        const struct sa_epoch *e = NULL;
        if (id_equal(&sas[i].link, link) && sas[i].direction == DP_DIR_OUT && sas[i].active)
            e = sa_set_find(s, sas[i].epoch);
        if (e)
            sending[e - s->e]++;
    }
    adopt_active(s, sending, now);
}
