/* Both providers against published vectors (Wycheproof) and against each other. */
#include "agent/dataplane/aead.h"
#include "tests/unit/dataplane/packet_test.h"
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

#define VECTORS HAWSER_TEST_DATA "/wycheproof/aes_gcm_test.json"

static size_t unhex(const char *text, uint8_t *out, size_t cap)
{
    size_t n = strlen(text) / 2;
    if (n > cap)
        abort();
    for (size_t i = 0; i < n; i++) {
        unsigned v = 0;
        (void)sscanf(text + 2 * i, "%2x", &v);
        out[i] = (uint8_t)v;
    }
    return n;
}

static const char *text_of(struct json_object *o, const char *name)
{
    return json_object_get_string(json_object_object_get(o, name));
}

static const struct esp_suite *suite_of_bits(int bits)
{
    return esp_suite_by_id(bits == 256   ? ESP_SUITE_AES_256_GCM
                           : bits == 128 ? ESP_SUITE_AES_128_GCM
                                         : ESP_SUITE_NONE_SET);
}

/* One vector: a valid one must seal to its ciphertext and open again, an invalid one must not open.
 */
static bool vector_holds(const struct aead_provider *p, const struct esp_suite *s,
                         struct json_object *t)
{
    uint8_t key[32], iv[12], aad[1024], msg[1024], ct[1024], tag[16], got[1024], got_tag[16];
    unhex(text_of(t, "key"), key, sizeof key);
    unhex(text_of(t, "iv"), iv, sizeof iv);
    size_t aad_len = unhex(text_of(t, "aad"), aad, sizeof aad);
    size_t len = unhex(text_of(t, "msg"), msg, sizeof msg);
    size_t ct_len = unhex(text_of(t, "ct"), ct, sizeof ct);
    unhex(text_of(t, "tag"), tag, sizeof tag);
    bool valid = strcmp(text_of(t, "result"), "valid") == 0;
    struct aead_key *out = p->key_new(s, key, true), *in = p->key_new(s, key, false);
    struct aead_op op = {
        .src = ct, .dst = got, .len = ct_len, .nonce = iv, .aad = aad, .aad_len = aad_len};
    bool ok = p->open(in, &op, tag) == valid;
    if (valid) {
        ok = ok && len == ct_len && memcmp(got, msg, len) == 0;
        op.src = msg;
        p->seal(out, &op, got_tag);
        ok = ok && memcmp(got, ct, len) == 0 && memcmp(got_tag, tag, sizeof tag) == 0;
    }
    p->key_free(out);
    p->key_free(in);
    return ok;
}

static void test_published_vectors(void)
{
    struct json_object *root = json_object_from_file(VECTORS);
    CU_ASSERT_PTR_NOT_NULL_FATAL(root);
    struct json_object *groups = json_object_object_get(root, "testGroups");
    unsigned tried = 0;
    for (size_t g = 0; g < json_object_array_length(groups); g++) {
        struct json_object *group = json_object_array_get_idx(groups, g);
        const struct esp_suite *s =
            suite_of_bits(json_object_get_int(json_object_object_get(group, "keySize")));
        if (!s || json_object_get_int(json_object_object_get(group, "ivSize")) != 96)
            continue;
        struct json_object *tests = json_object_object_get(group, "tests");
        for (size_t i = 0; i < json_object_array_length(tests); i++) {
            struct json_object *t = json_object_array_get_idx(tests, i);
            for (size_t k = 0; aead_provider_at(k); k++)
                CU_ASSERT_TRUE(vector_holds(aead_provider_at(k), s, t));
            tried++;
        }
    }
    CU_ASSERT_EQUAL(tried, 133);
    json_object_put(root);
}

struct pair {
    struct aead_key *seal[2], *open[2];
};
static void pair_new(struct pair *p, const struct esp_suite *s, const uint8_t *key)
{
    for (size_t i = 0; i < 2; i++) {
        p->seal[i] = aead_provider_at(i)->key_new(s, key, true);
        p->open[i] = aead_provider_at(i)->key_new(s, key, false);
        CU_ASSERT_PTR_NOT_NULL_FATAL(p->seal[i]);
        CU_ASSERT_PTR_NOT_NULL_FATAL(p->open[i]);
    }
}
static void pair_free(struct pair *p)
{
    for (size_t i = 0; i < 2; i++) {
        aead_provider_at(i)->key_free(p->seal[i]);
        aead_provider_at(i)->key_free(p->open[i]);
    }
}

/* Sealed by one, compared with the other, opened crosswise in place; every size up to 2 KiB and
 * some large. */
static void test_providers_agree(void)
{
    static uint8_t text[65600], a[65600], b[65600];
    uint64_t rng = 7;
    for (int suite = ESP_SUITE_AES_256_GCM; suite <= ESP_SUITE_MAX; suite++) {
        uint8_t key[32];
        test_fill(&rng, key, sizeof key);
        struct pair p;
        pair_new(&p, esp_suite_by_id((unsigned)suite), key);
        for (size_t round = 0; round < 1200; round++) {
            size_t len = round < 1100 ? round * 2 : test_random(&rng) % 65536;
            uint8_t nonce[12], aad[12], tag_a[16], tag_b[16];
            size_t at = round % 16; /* any alignment */
            test_fill(&rng, nonce, sizeof nonce);
            test_fill(&rng, aad, sizeof aad);
            test_fill(&rng, text, len);
            struct aead_op op = {.src = text,
                                 .dst = a + at,
                                 .len = len,
                                 .nonce = nonce,
                                 .aad = aad,
                                 .aad_len = round & 1 ? 8 : 12};
            aead_provider_at(0)->seal(p.seal[0], &op, tag_a);
            op.dst = b + at;
            aead_provider_at(1)->seal(p.seal[1], &op, tag_b);
            if (memcmp(a + at, b + at, len) != 0 || memcmp(tag_a, tag_b, 16) != 0)
                CU_FAIL_FATAL("ciphertexts differ");
            op.src = op.dst = a + at;
            CU_ASSERT_TRUE(aead_provider_at(1)->open(p.open[1], &op, tag_a));
            op.src = op.dst = b + at;
            CU_ASSERT_TRUE(aead_provider_at(0)->open(p.open[0], &op, tag_a));
            if (memcmp(a + at, text, len) != 0 || memcmp(b + at, text, len) != 0)
                CU_FAIL_FATAL("opened text differs");
        }
        pair_free(&p);
    }
}

/* The text may land before the place where it was read, however little: what copy-free merging
 * relies on. */
static void test_opening_moves_text_down(void)
{
    static uint8_t text[9000], buf[9400];
    uint8_t key[32] = {1}, nonce[12] = {2}, aad[12] = {3}, tag[16];
    struct pair p;
    uint64_t rng = 99;
    pair_new(&p, esp_suite_by_id(ESP_SUITE_AES_256_GCM), key);
    for (unsigned round = 0; round < 3000; round++) {
        size_t k = round & 1, len = test_random(&rng) % sizeof text,
               down = 1 + test_random(&rng) % 300;
        test_fill(&rng, text, len);
        struct aead_op op = {
            .src = text, .dst = buf + 300, .len = len, .nonce = nonce, .aad = aad, .aad_len = 12};
        aead_provider_at(k)->seal(p.seal[k], &op, tag);
        op.src = buf + 300;
        op.dst = buf + 300 - down;
        CU_ASSERT_TRUE(aead_provider_at(k)->open(p.open[k], &op, tag));
        if (memcmp(op.dst, text, len) != 0)
            CU_FAIL_FATAL("text damaged by overlap");
    }
    pair_free(&p);
}

static void test_changed_bytes_do_not_open(void)
{
    uint8_t key[32] = {9}, nonce[12] = {1}, aad[12] = {2}, text[200] = {3}, sealed[200], tag[16],
            out[200];
    struct pair p;
    pair_new(&p, esp_suite_by_id(ESP_SUITE_AES_128_GCM), key);
    for (size_t k = 0; k < 2; k++) {
        struct aead_op op = {.src = text,
                             .dst = sealed,
                             .len = sizeof text,
                             .nonce = nonce,
                             .aad = aad,
                             .aad_len = sizeof aad};
        aead_provider_at(k)->seal(p.seal[k], &op, tag);
        op.src = sealed;
        op.dst = out;
        uint8_t *parts[] = {sealed, tag, aad, nonce};
        const size_t sizes[] = {sizeof sealed, sizeof tag, sizeof aad, sizeof nonce};
        for (size_t part = 0; part < 4; part++)
            for (size_t i = 0; i < sizes[part]; i++) {
                parts[part][i] ^= 0x40;
                CU_ASSERT_FALSE(aead_provider_at(k)->open(p.open[k], &op, tag));
                parts[part][i] ^= 0x40;
            }
        CU_ASSERT_TRUE(aead_provider_at(k)->open(p.open[k], &op, tag));
    }
    pair_free(&p);
}

static void test_choice_by_name(void)
{
    CU_ASSERT_STRING_EQUAL(aead_provider_by_name("libcrypto")->name, "libcrypto");
    CU_ASSERT_STRING_EQUAL(aead_provider_by_name("ipsec-mb")->name, "ipsec-mb");
    CU_ASSERT_PTR_EQUAL(aead_provider_by_name("auto"), aead_provider_at(0));
    CU_ASSERT_PTR_NULL(aead_provider_by_name("rot13"));
    CU_ASSERT_PTR_NULL(aead_provider_at(2));
}

int main(void)
{
    if (aead_init(NULL) != 0)
        return 2;
    CU_TestInfo tests[] = {{"published vectors", test_published_vectors},
                           {"providers agree", test_providers_agree},
                           {"opening moves text down", test_opening_moves_text_down},
                           {"changed bytes do not open", test_changed_bytes_do_not_open},
                           {"choice by name", test_choice_by_name},
                           CU_TEST_INFO_NULL};
    return packet_test_run("aead", tests);
}
