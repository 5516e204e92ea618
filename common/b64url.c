#include "common/b64url.h"
#include "common/err.h"
#include <stdlib.h>

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

char *b64url_encode(const void *data, size_t len)
{
    const uint8_t *in = data;
    if (len > SIZE_MAX / 4 - 4)
        return NULL;
    char *out = malloc(B64URL_LEN(len) + 1);
    if (!out)
        return NULL;
    char *p = out;
    for (size_t i = 0; i < len; i += 3) {
        size_t n = len - i < 3 ? len - i : 3;
        uint32_t v = (uint32_t)in[i] << 16;
        if (n > 1)
            v |= (uint32_t)in[i + 1] << 8;
        if (n > 2)
            v |= in[i + 2];
        for (size_t k = 0; k <= n; k++)
            *p++ = alphabet[v >> (18 - 6 * k) & 63];
    }
    *p = '\0';
    return out;
}

static int value_of(char c)
{
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 26;
    if (c >= '0' && c <= '9')
        return c - '0' + 52;
    return c == '-' ? 62 : c == '_' ? 63 : -1;
}

int b64url_decode(const char *text, size_t text_len, uint8_t **out, size_t *out_len)
{
    if (text_len % 4 == 1)
        return HW_EINVAL;
    uint8_t *buf = malloc(text_len / 4 * 3 + 3);
    if (!buf)
        return HW_ENOMEM;
    size_t n = 0;
    uint32_t bits = 0;
    unsigned have = 0;
    for (size_t i = 0; i < text_len; i++) {
        int v = value_of(text[i]);
        if (v < 0)
            goto refuse;
        bits = bits << 6 | (uint32_t)v;
        have += 6;
        if (have >= 8) {
            have -= 8;
            buf[n++] = (uint8_t)(bits >> have);
            bits &= (1u << have) - 1;
        }
    }
    if (bits != 0) /* the last character says more than the bytes can hold */
        goto refuse;
    buf[n] = '\0';
    *out = buf;
    *out_len = n;
    return HW_OK;
refuse:
    free(buf);
    return HW_EINVAL;
}
