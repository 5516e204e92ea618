#include "agent/dataplane/sa.h"
#include "common/clock.h"
#include "common/secret.h"
#include <stdlib.h>
#include <string.h>

static uint64_t limit(uint64_t configured)
{
    return configured ? configured : UINT64_MAX;
}

static bool window_valid(uint32_t w)
{
    return w >= REPLAY_WINDOW_MIN && w <= REPLAY_WINDOW_MAX && (w & (w - 1)) == 0;
}

/* Numbers never pass the end of their space; without ESN that is an own hard limit (RFC 4303
 * section 3.3.3). */
static void set_limits(struct sa *sa, const struct dp_sa_install *m)
{
    sa->soft_bytes = limit(m->soft_bytes);
    sa->hard_bytes = limit(m->hard_bytes);
    sa->soft_packets = limit(m->soft_packets);
    sa->hard_packets = limit(m->hard_packets);
    if (!m->esn && sa->hard_packets > UINT32_MAX)
        sa->hard_packets = UINT32_MAX;
    if (sa->soft_bytes > sa->hard_bytes)
        sa->soft_bytes = sa->hard_bytes;
    if (sa->soft_packets > sa->hard_packets)
        sa->soft_packets = sa->hard_packets;
}

int sa_new(const struct aead_provider *aead, const struct dp_sa_install *m, unsigned i,
           uint64_t now_ns, struct sa **out, struct err *e)
{
    const struct dp_sa *cold = &m->sa[i];
    const struct esp_suite *suite = esp_suite_by_id(m->suite);
    if (!suite || !(aead->suites & (1u << m->suite)))
        return err_set(e, HW_EINVAL, "suite %u is not run by %s", m->suite, aead->name);
    if (m->direction == DP_DIR_IN && !window_valid(m->window))
        return err_set(e, HW_EINVAL, "replay window %u", m->window);
    struct sa *sa = aligned_alloc(64, (sizeof *sa + 63) & ~(size_t)63);
    if (!sa)
        return err_set(e, HW_ENOMEM, "SA");
    memset(sa, 0, sizeof *sa);
    sa->key = aead->key_new(suite, cold->key, m->direction == DP_DIR_OUT);
    if (!sa->key) {
        free(sa);
        return err_set(e, HW_EFAIL, "%s refused a key", aead->name);
    }
    sa->aead = aead;
    sa->spi = cold->spi;
    memcpy(sa->salt, cold->salt, sizeof sa->salt);
    sa->esn = m->esn;
    sa->direction = m->direction;
    sa->suite = m->suite;
    sa->tunnel = cold->tunnel;
    sa->installed_ns = now_ns;
    sa->expires_ns = m->hard_seconds ? now_ns + m->hard_seconds * NS_PER_S : UINT64_MAX;
    sa->epoch = m->epoch;
    sa->link = m->link;
    sa->peer_boot = m->peer_boot;
    sa->peer_cert = m->peer_cert;
    set_limits(sa, m);
    if (m->direction == DP_DIR_IN)
        replay_init(&sa->replay, m->window, m->esn != 0);
    *out = sa;
    return 0;
}

void sa_free(struct sa *sa)
{
    if (!sa)
        return;
    sa->aead->key_free(sa->key);
    secret_wipe(sa, sizeof *sa);
    free(sa);
}
