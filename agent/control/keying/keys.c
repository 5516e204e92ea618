#include "agent/control/keying/keys.h"
#include "common/bytes.h"
#include "common/secret.h"
#include <string.h>
#ifdef HAWSER_TEST_KEYLOG
#include "agent/control/keying/keylog.h"
#endif

#define LABEL       "EXPORTER-hawser-esp-v1"
#define CONTEXT_LEN (EXCHANGE_HASH_LEN + 1 + 2 + 4)

/* Which way on the wire: 0 = from initiator to responder. */
static uint8_t wire_direction(const struct exchange *x, enum dp_direction direction)
{
    bool from_initiator = (x->role == EXCHANGE_INITIATOR) == (direction == DP_DIR_OUT);
    return from_initiator ? 0 : 1;
}

/* One exporter call an SA: key, then salt. The context binds it to every byte of both messages, to
 * its direction, tunnel and SPI, so no two SAs ever share a key. */
static int derive_one(struct conn *c, const struct exchange *x, uint8_t wire,
                      const struct esp_suite *suite, struct dp_sa *sa, struct err *e)
{
    uint8_t context[CONTEXT_LEN], out[ESP_KEY_MAX + ESP_SALT_LEN];
    struct byte_writer w = byte_writer_init(context, sizeof context);
    byte_put(&w, x->hash, sizeof x->hash);
    byte_put8(&w, wire);
    byte_put16(&w, sa->tunnel);
    byte_put32(&w, sa->spi);
    size_t len = (size_t)suite->key_len + suite->salt_len;
    int rc = conn_export(c, LABEL, context, sizeof context, out, len, e);
    if (rc == 0) {
        memcpy(sa->key, out, suite->key_len);
        memcpy(sa->salt, out + suite->key_len, suite->salt_len);
    }
    secret_wipe(out, sizeof out);
    return rc;
}

int keys_derive(struct conn *c, const struct exchange *x, enum dp_direction direction,
                struct dp_sa_install *m, struct err *e)
{
    const struct esp_suite *suite = esp_suite_by_id(x->suite);
    if (!suite)
        return err_set(e, HW_EINVAL, "suite %u unknown", x->suite);
    *m = (struct dp_sa_install){.link = x->terms.link,
                                .peer_boot = x->peer_boot,
                                .peer_cert = x->terms.peer_cert,
                                .epoch = x->epoch,
                                .window = x->window,
                                .direction = (uint8_t)direction,
                                .suite = x->suite,
                                .esn = x->esn,
                                .count = (uint8_t)x->n};
    const uint32_t *spi = direction == DP_DIR_IN ? x->terms.spi : x->peer_spi;
    for (unsigned i = 0; i < x->n; i++) {
        m->sa[i].tunnel = (uint16_t)i;
        m->sa[i].spi = spi[i];
        int rc = derive_one(c, x, wire_direction(x, direction), suite, &m->sa[i], e);
        if (rc != 0) {
            secret_wipe(m, sizeof *m);
            return rc;
        }
    }
#ifdef HAWSER_TEST_KEYLOG
    keylog_write(m);
#endif
    return 0;
}
