/*
 * Nanoseconds per packet of each AEAD provider, sealing and opening, as the engine calls them: one
 * packet per call, in place, 8 bytes of ESP header and 4 high bits of the sequence number
 * authenticated beside it. Prints one JSON object a line.
 */
#include "agent/dataplane/aead.h"
#include "common/clock.h"
#include "common/esp_suite.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BUFFERS       64 /* packets in rotation: more than fits the nearest cache at the large sizes */
#define BUFFER_SIZE   9216
#define SAMPLES       9
#define NS_PER_SAMPLE 40000000u
#define PACKETS_MAX   (1u << 20)

static uint8_t buffers[BUFFERS][BUFFER_SIZE];
static uint8_t tags[BUFFERS][AEAD_TAG_LEN];

static struct aead_op op_for(unsigned i, size_t len, uint8_t nonce[AEAD_NONCE_LEN],
                             const uint8_t aad[12])
{
    memcpy(nonce + 4, &i, sizeof(i));
    return (struct aead_op){.src = buffers[i % BUFFERS],
                            .dst = buffers[i % BUFFERS],
                            .len = len,
                            .nonce = nonce,
                            .aad = aad,
                            .aad_len = 12};
}

static void seal_all(const struct aead_provider *p, struct aead_key *k, size_t len, unsigned count)
{
    uint8_t nonce[AEAD_NONCE_LEN] = {0}, aad[12] = {0};
    for (unsigned i = 0; i < count; i++) {
        struct aead_op op = op_for(i, len, nonce, aad);
        p->seal(k, &op, tags[i % BUFFERS]);
    }
}

/* A good packet would be changed by being opened in place and then fail; opening to a second place
 * keeps it. */
static void open_all(const struct aead_provider *p, struct aead_key *k, size_t len, unsigned count)
{
    static uint8_t out[BUFFER_SIZE];
    uint8_t nonce[AEAD_NONCE_LEN] = {0}, aad[12] = {0};
    for (unsigned i = 0; i < count; i++) {
        struct aead_op op = op_for(i % BUFFERS, len, nonce, aad);
        op.dst = out;
        if (!p->open(k, &op, tags[i % BUFFERS])) {
            fprintf(stderr, "hawser-bench-aead: %s does not open what it sealed\n", p->name);
            exit(1);
        }
    }
}

typedef void step_fn(const struct aead_provider *p, struct aead_key *k, size_t len, unsigned count);

static double ns_per_packet(step_fn *step, const struct aead_provider *p, struct aead_key *k,
                            size_t len, unsigned count)
{
    uint64_t start = clock_mono_ns();
    step(p, k, len, count);
    return (double)(clock_mono_ns() - start) / count;
}

/* Packets that take about NS_PER_SAMPLE, found by a first run. */
static unsigned packets_for(step_fn *step, const struct aead_provider *p, struct aead_key *k,
                            size_t len)
{
    double ns = ns_per_packet(step, p, k, len, BUFFERS * 16);
    double wanted = NS_PER_SAMPLE / (ns > 1 ? ns : 1);
    return wanted > PACKETS_MAX ? PACKETS_MAX : (unsigned)wanted + BUFFERS;
}

static void measure(const struct aead_provider *p, const struct esp_suite *suite, size_t len,
                    bool seal)
{
    uint8_t key[ESP_KEY_MAX] = {1, 2, 3};
    struct aead_key *sealing = p->key_new(suite, key, true);
    struct aead_key *opening = p->key_new(suite, key, false);
    if (!sealing || !opening) {
        fprintf(stderr, "hawser-bench-aead: %s has no %s\n", p->name, suite->name);
        exit(1);
    }
    step_fn *step = seal ? seal_all : open_all;
    struct aead_key *k = seal ? sealing : opening;
    seal_all(p, sealing, len, BUFFERS);
    unsigned count = packets_for(step, p, k, len);
    printf("{\"provider\": \"%s\", \"suite\": \"%s\", \"op\": \"%s\", \"bytes\": %zu, \"ns\": [",
           p->name, suite->name, seal ? "seal" : "open", len);
    for (int i = 0; i < SAMPLES; i++)
        printf("%s%.1f", i ? ", " : "", ns_per_packet(step, p, k, len, count));
    printf("]}\n");
    p->key_free(sealing);
    p->key_free(opening);
}

int main(void)
{
    static const size_t sizes[] = {64, 350, 1400, 8900};
    struct err e;
    if (aead_init(&e) != 0) {
        fprintf(stderr, "hawser-bench-aead: %s\n", e.text);
        return 1;
    }
    const struct esp_suite *suite = esp_suite_by_name("aes-256-gcm");
    const struct aead_provider *p;
    for (size_t n = 0; (p = aead_provider_at(n)); n++) {
        for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
            measure(p, suite, sizes[i], true);
            measure(p, suite, sizes[i], false);
        }
    }
    return 0;
}
