/*
 * AEAD for ESP: one table of providers, each of which seals and opens one packet per call. Both
 * providers give the same bytes. A key object belongs to one direction of one SA and so to one
 * thread at a time.
 *
 * There is no batch call: AES-GCM of both libraries fills the core's AES units within one packet,
 * and the caller's loop keeps key and packet in cache.
 */
#ifndef HAWSER_DATAPLANE_AEAD_H
#define HAWSER_DATAPLANE_AEAD_H

#include "common/err.h"
#include "common/esp_suite.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define AEAD_NONCE_LEN 12
#define AEAD_AAD_MAX   16
#define AEAD_TAG_LEN   16

struct aead_key; /* expanded key, provider's own; wiped on free */

/* One packet. dst may equal src, or lie before it (overlapping) when opening; otherwise they must
 * be apart. */
struct aead_op {
    const uint8_t *src;
    uint8_t *dst;
    size_t len;           /* of the text, tag not counted */
    const uint8_t *nonce; /* AEAD_NONCE_LEN bytes */
    const uint8_t *aad;
    size_t aad_len; /* ESP's is AEAD_AAD_MAX at most */
};

struct aead_provider {
    uint8_t id; /* enum dp_provider */
    const char *name;
    uint32_t suites; /* bit (1 << enum esp_suite_id) for each that it runs */
    /* `seal`: for sealing (1) or opening (0). NULL when memory or the library fails. */
    struct aead_key *(*key_new)(const struct esp_suite *suite, const uint8_t *key, bool seal);
    void (*key_free)(struct aead_key *k);
    /* Writes len bytes at dst and the tag. */
    void (*seal)(struct aead_key *k, const struct aead_op *op, uint8_t tag[AEAD_TAG_LEN]);
    /* False when the tag is wrong; dst then holds nothing usable. */
    bool (*open)(struct aead_key *k, const struct aead_op *op, const uint8_t tag[AEAD_TAG_LEN]);
};

/* Control thread, once, before any worker starts and before the sandbox: finds the libraries' best
 * code for this machine. */
int aead_init(struct err *e);
/* By name: "ipsec-mb", "libcrypto", or "auto" for the fastest that runs here. NULL when unknown or
 * unusable. */
const struct aead_provider *aead_provider_by_name(const char *name);
const struct aead_provider *aead_provider_at(size_t i); /* NULL past the end */

#endif
