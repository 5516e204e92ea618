/* AES-GCM by intel-ipsec-mb's direct calls. Its manager is only a table of functions here: it is
 * written once by aead_init() and then read by every thread. */
#include "agent/dataplane/aead_providers.h"
#include "common/dp_proto.h"
#include "common/secret.h"
#include <intel-ipsec-mb.h>
#include <stdlib.h>
#include <string.h>

/* Functions of the best instruction set found; NULL without AES instructions, where the library
 * would emulate them slowly. */
static IMB_MGR *manager;

struct aead_key {
    struct gcm_key_data expanded;
    aes_gcm_enc_dec_t run; /* sealing or opening, by key length */
};
_Static_assert(sizeof(struct gcm_key_data) % 16 == 0, "expanded keys are read by aligned loads");

int aead_ipsec_mb_init(struct err *e)
{
    if (manager)
        return 0;
    IMB_MGR *m = alloc_mb_mgr(0);
    if (!m)
        return err_set(e, HW_ENOMEM, "intel-ipsec-mb manager");
    if (!(m->features & IMB_FEATURE_AESNI)) {
        free_mb_mgr(m);
        return 0;
    }
    init_mb_mgr_auto(m, NULL);
    int code = imb_get_errno(m);
    if (code != 0) {
        free_mb_mgr(m);
        return err_set(e, HW_EFAIL, "intel-ipsec-mb: %s", imb_get_strerror(code));
    }
    manager = m;
    return 0;
}

bool aead_ipsec_mb_usable(void)
{
    return manager != NULL;
}

static struct aead_key *key_new(const struct esp_suite *suite, const uint8_t *key, bool seal)
{
    if (!manager)
        return NULL;
    size_t size = (sizeof(struct aead_key) + 63) & ~(size_t)63;
    struct aead_key *k = aligned_alloc(64, size);
    if (!k)
        return NULL;
    if (suite->id == ESP_SUITE_AES_256_GCM) {
        IMB_AES256_GCM_PRE(manager, key, &k->expanded);
        k->run = seal ? manager->gcm256_enc : manager->gcm256_dec;
    } else {
        IMB_AES128_GCM_PRE(manager, key, &k->expanded);
        k->run = seal ? manager->gcm128_enc : manager->gcm128_dec;
    }
    return k;
}

static void key_free(struct aead_key *k)
{
    if (!k)
        return;
    secret_wipe(k, sizeof *k);
    free(k);
}

static void seal(struct aead_key *k, const struct aead_op *op, uint8_t tag[AEAD_TAG_LEN])
{
    struct gcm_context_data scratch;
    k->run(&k->expanded, &scratch, op->dst, op->src, op->len, op->nonce, op->aad, op->aad_len, tag,
           AEAD_TAG_LEN);
}

/* Constant time: both halves are always compared. */
static bool tag_equal(const uint8_t a[AEAD_TAG_LEN], const uint8_t b[AEAD_TAG_LEN])
{
    uint64_t x[2], y[2];
    memcpy(x, a, sizeof x);
    memcpy(y, b, sizeof y);
    return ((x[0] ^ y[0]) | (x[1] ^ y[1])) == 0;
}

/* The library gives the tag of what it saw; it is compared here. */
static bool open_(struct aead_key *k, const struct aead_op *op, const uint8_t tag[AEAD_TAG_LEN])
{
    struct gcm_context_data scratch;
    uint8_t computed[AEAD_TAG_LEN];
    k->run(&k->expanded, &scratch, op->dst, op->src, op->len, op->nonce, op->aad, op->aad_len,
           computed, AEAD_TAG_LEN);
    return tag_equal(computed, tag);
}

const struct aead_provider aead_ipsec_mb = {
    .id = DP_PROVIDER_IPSEC_MB,
    .name = "ipsec-mb",
    .suites = 1u << ESP_SUITE_AES_256_GCM | 1u << ESP_SUITE_AES_128_GCM,
    .key_new = key_new,
    .key_free = key_free,
    .seal = seal,
    .open = open_,
};
