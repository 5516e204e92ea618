#include "common/esp_suite.h"
#include "tests/unit/suite.h"

static void test_rows(void)
{
    const struct esp_suite *s = esp_suite_by_name("aes-256-gcm");
    CU_ASSERT_PTR_NOT_NULL_FATAL(s);
    CU_ASSERT_EQUAL(s->id, ESP_SUITE_AES_256_GCM);
    CU_ASSERT_EQUAL(s->key_len, 32);
    CU_ASSERT_EQUAL(s->iana_encr, 20);
    CU_ASSERT_PTR_EQUAL(esp_suite_by_id(ESP_SUITE_AES_256_GCM), s);
    s = esp_suite_by_id(ESP_SUITE_AES_128_GCM);
    CU_ASSERT_PTR_NOT_NULL_FATAL(s);
    CU_ASSERT_EQUAL(s->key_len, 16);
    CU_ASSERT_PTR_NULL(esp_suite_by_id(ESP_SUITE_NONE_SET));
    CU_ASSERT_PTR_NULL(esp_suite_by_id(ESP_SUITE_MAX + 1));
    CU_ASSERT_PTR_NULL(esp_suite_by_name("null"));
    CU_ASSERT_PTR_NULL(esp_suite_by_name(NULL));
}

/* A permission's suites have names, and no row by which anything could be keyed. */
static void test_weak(void)
{
    CU_ASSERT_EQUAL(esp_weak_by_name("none"), ESP_SUITE_NONE);
    CU_ASSERT_EQUAL(esp_weak_by_name("aes-256-gmac"), ESP_SUITE_AES_256_GMAC);
    CU_ASSERT_EQUAL(esp_weak_by_name("aes-256-gcm"), ESP_SUITE_NONE_SET);
    CU_ASSERT_EQUAL(esp_weak_by_name(NULL), ESP_SUITE_NONE_SET);
    CU_ASSERT_STRING_EQUAL(esp_weak_name(ESP_SUITE_NONE), "none");
    CU_ASSERT_PTR_NULL(esp_weak_name(ESP_SUITE_AES_256_GCM));
    CU_ASSERT_PTR_NULL(esp_suite_by_id(ESP_SUITE_NONE));
    CU_ASSERT_PTR_NULL(esp_suite_by_name("none"));
    CU_ASSERT(esp_suite_strength(ESP_SUITE_AES_256_GCM) >
              esp_suite_strength(ESP_SUITE_AES_128_GCM));
    CU_ASSERT(esp_suite_strength(ESP_SUITE_AES_128_GCM) >
              esp_suite_strength(ESP_SUITE_AES_256_GMAC));
    CU_ASSERT(esp_suite_strength(ESP_SUITE_AES_256_GMAC) > esp_suite_strength(ESP_SUITE_NONE));
    CU_ASSERT_EQUAL(esp_suite_strength(77), 0);
}

/* The largest inner packet fits exactly: one byte more doesn't, whatever the padding. */
static void test_inner_mtu_is_exact(void)
{
    const struct esp_suite *s = esp_suite_by_id(ESP_SUITE_AES_256_GCM);
    CU_ASSERT_EQUAL(esp_inner_mtu(s, 1500, 4), 1438);
    CU_ASSERT_EQUAL(esp_inner_mtu(s, 1500, 6), 1418);
    CU_ASSERT_EQUAL(esp_inner_mtu(s, 9000, 4), 8938);
    for (size_t outer = 70; outer < 9100; outer++) {
        for (unsigned family = 4; family <= 6; family += 2) {
            size_t headers = (family == 4 ? 20 : 40) + 8, inner = esp_inner_mtu(s, outer, family);
            if (inner == 0)
                continue;
            CU_ASSERT_FATAL(headers + esp_packet_len(s, inner) <= outer);
            CU_ASSERT_FATAL(headers + esp_packet_len(s, inner + 1) > outer);
        }
    }
    CU_ASSERT_EQUAL(esp_inner_mtu(s, 63, 4), 0);
    CU_ASSERT_EQUAL(esp_inner_mtu(s, 64, 4), 2);
    CU_ASSERT_EQUAL(esp_inner_mtu(s, 0, 6), 0);
    CU_ASSERT_EQUAL(esp_inner_mtu(s, 1000000, 6), 65535);
}

int main(void)
{
    CU_TestInfo tests[] = {{"rows", test_rows},
                           {"weak", test_weak},
                           {"inner MTU is exact", test_inner_mtu_is_exact},
                           CU_TEST_INFO_NULL};
    return suite_run("esp_suite", tests);
}
