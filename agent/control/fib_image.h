/* The dataplane's FIB file (struct dp_fib_header and tables) from a config. Pure. */
#ifndef HAWSER_AGENT_CONTROL_FIB_IMAGE_H
#define HAWSER_AGENT_CONTROL_FIB_IMAGE_H

#include "common/err.h"
#include "common/model/gateway_config.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The config is valid (gateway_config_decode has judged it). `limits`: MTU of each of its routes,
 * 0: the tunnel's own. Free *image. */
int fib_image_make(const struct gateway_config *c, const uint32_t *limits, uint64_t generation,
                   unsigned char **image, size_t *len, struct err *e);
/* Equal but for the generation. */
bool fib_image_same(const unsigned char *a, size_t a_len, const unsigned char *b, size_t b_len);

#endif
