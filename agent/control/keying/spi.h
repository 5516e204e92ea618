/*
 * SPIs of this gateway's inbound SAs: random, ≥ 256 (RFC 4303 section 2.1), unique in the gateway,
 * and not given out again for an hour after their SA went, so that a late packet never meets
 * another SA. Pure.
 */
#ifndef HAWSER_AGENT_CONTROL_KEYING_SPI_H
#define HAWSER_AGENT_CONTROL_KEYING_SPI_H

#include "common/err.h"
#include <stddef.h>
#include <stdint.h>

#define SPI_MIN      256u
#define SPI_REUSE_NS (3600 * 1000000000ull)

struct spi_pool;

int spi_pool_new(struct spi_pool **out, struct err *e);
void spi_pool_free(struct spi_pool *p);

/* Fills out[n] with fresh SPIs, marked as in use. Only HW_ENOMEM can fail it; then nothing is
 * taken. */
int spi_take(struct spi_pool *p, uint32_t *out, size_t n, uint64_t now, struct err *e);
/* An SPI found in the dataplane: in use. Known ones are accepted. */
int spi_adopt(struct spi_pool *p, uint32_t spi, struct err *e);
/* Its SA is gone: the hour begins. Unknown ones are ignored. */
void spi_release(struct spi_pool *p, uint32_t spi, uint64_t now);

/* In use or in their hour. */
size_t spi_count(const struct spi_pool *p, uint64_t now);

#endif
