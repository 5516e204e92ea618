/* Lower-case hexadecimal: secrets of tokens, pins, serial numbers, seeds. */
#ifndef HAWSER_COMMON_HEX_H
#define HAWSER_COMMON_HEX_H

#include <stddef.h>
#include <stdint.h>

/* Writes 2 * len digits and a NUL into out[2 * len + 1]; returns out. */
char *hex_encode(const void *data, size_t len, char *out);
/* Exactly 2 * len lower-case digits, or HW_EINVAL. out only on success. */
int hex_decode(const char *text, void *out, size_t len);

#endif
