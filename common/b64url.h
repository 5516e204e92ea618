/* base64url without padding (RFC 4648 section 5). */
#ifndef HAWSER_COMMON_B64URL_H
#define HAWSER_COMMON_B64URL_H

#include <stddef.h>
#include <stdint.h>

/* Characters of the text of n bytes, without the NUL. */
#define B64URL_LEN(n) (((n)*4 + 2) / 3)

/* NUL-terminated text to free, or NULL when out of memory. */
char *b64url_encode(const void *data, size_t len);
/* Strict: no padding, no white space, no stray bits. *out (free it) and *out_len only on success;
 * HW_EINVAL or HW_ENOMEM. *out has one more byte, a NUL. */
int b64url_decode(const char *text, size_t text_len, uint8_t **out, size_t *out_len);

#endif
