/* AES-GCM by libcrypto: the portable provider. Each key holds a context with its key schedule; a
 * packet only sets the nonce. */
#include "agent/dataplane/aead_providers.h"
#include "common/dp_proto.h"
#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>

struct aead_key {
    EVP_CIPHER_CTX *ctx;
};

int aead_openssl_init(struct err *e)
{
    /* Fetching now loads what the library needs from disk before the sandbox closes it off. */
    EVP_CIPHER *c = EVP_CIPHER_fetch(NULL, "AES-256-GCM", NULL);
    if (!c)
        return err_set(e, HW_EFAIL, "libcrypto has no AES-256-GCM");
    EVP_CIPHER_free(c);
    return 0;
}

bool aead_openssl_usable(void)
{
    return true;
}

static struct aead_key *key_new(const struct esp_suite *suite, const uint8_t *key, bool seal)
{
    struct aead_key *k = calloc(1, sizeof *k);
    EVP_CIPHER *cipher = EVP_CIPHER_fetch(NULL, suite->libcrypto_name, NULL);
    if (k)
        k->ctx = EVP_CIPHER_CTX_new();
    bool ok =
        k && k->ctx && cipher && EVP_CipherInit_ex2(k->ctx, cipher, key, NULL, seal, NULL) == 1;
    EVP_CIPHER_free(cipher);
    if (ok)
        return k;
    if (k)
        EVP_CIPHER_CTX_free(k->ctx);
    free(k);
    return NULL;
}

/* EVP_CIPHER_CTX_free() wipes the key schedule. */
static void key_free(struct aead_key *k)
{
    if (!k)
        return;
    EVP_CIPHER_CTX_free(k->ctx);
    free(k);
}

/* libcrypto works in place or between buffers apart from each other; text that moves down a little
 * is moved first. */
static const uint8_t *settle_overlap(const struct aead_op *op)
{
    if (op->dst >= op->src || op->dst + op->len <= op->src)
        return op->src;
    memmove(op->dst, op->src, op->len);
    return op->dst;
}

/* With a ready context and lengths of a packet none of these calls can fail. */
static bool run(struct aead_key *k, const struct aead_op *op)
{
    int n = 0;
    const uint8_t *src = settle_overlap(op);
    bool ok = EVP_CipherInit_ex2(k->ctx, NULL, NULL, op->nonce, -1, NULL) == 1;
    ok = ok && EVP_CipherUpdate(k->ctx, NULL, &n, op->aad, (int)op->aad_len) == 1;
    return ok && (op->len == 0 || EVP_CipherUpdate(k->ctx, op->dst, &n, src, (int)op->len) == 1);
}

static void seal(struct aead_key *k, const struct aead_op *op, uint8_t tag[AEAD_TAG_LEN])
{
    int n = 0;
    bool ok = run(k, op) && EVP_CipherFinal_ex(k->ctx, op->dst, &n) == 1 &&
              EVP_CIPHER_CTX_ctrl(k->ctx, EVP_CTRL_AEAD_GET_TAG, AEAD_TAG_LEN, tag) == 1;
    if (!ok)
        abort(); /* a packet without a right tag must not leave */
}

static bool open_(struct aead_key *k, const struct aead_op *op, const uint8_t tag[AEAD_TAG_LEN])
{
    uint8_t copy[AEAD_TAG_LEN];
    int n = 0;
    memcpy(copy, tag, sizeof copy); /* the call takes no const */
    return run(k, op) &&
           EVP_CIPHER_CTX_ctrl(k->ctx, EVP_CTRL_AEAD_SET_TAG, AEAD_TAG_LEN, copy) == 1 &&
           EVP_CipherFinal_ex(k->ctx, op->dst, &n) == 1;
}

const struct aead_provider aead_openssl = {
    .id = DP_PROVIDER_LIBCRYPTO,
    .name = "libcrypto",
    .suites = 1u << ESP_SUITE_AES_256_GCM | 1u << ESP_SUITE_AES_128_GCM,
    .key_new = key_new,
    .key_free = key_free,
    .seal = seal,
    .open = open_,
};
