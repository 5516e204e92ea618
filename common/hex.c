#include "common/hex.h"
#include "common/err.h"
#include <string.h>

char *hex_encode(const void *data, size_t len, char *out)
{
    static const char digits[] = "0123456789abcdef";
    const uint8_t *in = data;
    for (size_t i = 0; i < len; i++) {
        out[2 * i] = digits[in[i] >> 4];
        out[2 * i + 1] = digits[in[i] & 15];
    }
    out[2 * len] = '\0';
    return out;
}

static int value_of(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

int hex_decode(const char *text, void *out, size_t len)
{
    uint8_t *bytes = out;
    if (strlen(text) != 2 * len)
        return HW_EINVAL;
    for (size_t i = 0; i < 2 * len; i++)
        if (value_of(text[i]) < 0)
            return HW_EINVAL;
    for (size_t i = 0; i < len; i++)
        bytes[i] = (uint8_t)(value_of(text[2 * i]) << 4 | value_of(text[2 * i + 1]));
    return HW_OK;
}
