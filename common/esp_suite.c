#include "common/esp_suite.h"
#include <string.h>

#define UDP_HDR_LEN   8u
#define IPV4_HDR_LEN  20u
#define IPV6_HDR_LEN  40u
#define INNER_LEN_MAX 65535u

static const struct esp_suite suites[] = {
    {
        .id = ESP_SUITE_AES_256_GCM,
        .name = "aes-256-gcm",
        .iana_encr = 20,
        .key_len = 32,
        .salt_len = ESP_SALT_LEN,
        .iv_len = ESP_IV_LEN,
        .icv_len = ESP_ICV_LEN,
        .libcrypto_name = "AES-256-GCM",
    },
    {
        .id = ESP_SUITE_AES_128_GCM,
        .name = "aes-128-gcm",
        .iana_encr = 20,
        .key_len = 16,
        .salt_len = ESP_SALT_LEN,
        .iv_len = ESP_IV_LEN,
        .icv_len = ESP_ICV_LEN,
        .libcrypto_name = "AES-128-GCM",
    },
};
#define N_SUITES (sizeof suites / sizeof suites[0])

const struct esp_suite *esp_suite_by_id(unsigned id)
{
    for (size_t i = 0; i < N_SUITES; i++)
        if (suites[i].id == id)
            return &suites[i];
    return NULL;
}

const struct esp_suite *esp_suite_by_name(const char *name)
{
    for (size_t i = 0; name && i < N_SUITES; i++)
        if (strcmp(suites[i].name, name) == 0)
            return &suites[i];
    return NULL;
}

unsigned esp_suite_strength(unsigned id)
{
    static const unsigned strengths[] = {[ESP_SUITE_NONE] = 1,
                                         [ESP_SUITE_AES_256_GMAC] = 2,
                                         [ESP_SUITE_AES_128_GCM] = 3,
                                         [ESP_SUITE_AES_256_GCM] = 4};
    return id < sizeof strengths / sizeof *strengths ? strengths[id] : 0;
}

const char *esp_weak_name(unsigned id)
{
    return id == ESP_SUITE_NONE ? "none" : id == ESP_SUITE_AES_256_GMAC ? "aes-256-gmac" : NULL;
}

unsigned esp_weak_by_name(const char *name)
{
    for (unsigned id = ESP_SUITE_AES_256_GMAC; name && id <= ESP_SUITE_NONE; id++)
        if (strcmp(esp_weak_name(id), name) == 0)
            return id;
    return ESP_SUITE_NONE_SET;
}

size_t esp_packet_len(const struct esp_suite *s, size_t inner_len)
{
    size_t padded = (inner_len + ESP_TRAILER_LEN + ESP_ALIGN - 1) / ESP_ALIGN * ESP_ALIGN;
    return ESP_HDR_LEN + s->iv_len + padded + s->icv_len;
}

size_t esp_inner_mtu(const struct esp_suite *s, size_t outer_mtu, unsigned family)
{
    size_t fixed = (family == 6 ? IPV6_HDR_LEN : IPV4_HDR_LEN) + UDP_HDR_LEN + (size_t)ESP_HDR_LEN +
                   s->iv_len + s->icv_len;
    if (outer_mtu < fixed + ESP_ALIGN)
        return 0;
    size_t inner = (outer_mtu - fixed) / ESP_ALIGN * ESP_ALIGN - ESP_TRAILER_LEN;
    return inner > INNER_LEN_MAX ? INNER_LEN_MAX : inner;
}
