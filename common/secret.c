#include "common/secret.h"
#include <stdint.h>
#include <string.h>

void secret_wipe(void *p, size_t len)
{
    if (p && len)
        explicit_bzero(p, len);
}

bool secret_equal(const void *a, const void *b, size_t len)
{
    const volatile uint8_t *x = a, *y = b;
    uint8_t diff = 0;
    for (size_t i = 0; i < len; i++)
        diff = (uint8_t)(diff | (x[i] ^ y[i]));
    return diff == 0;
}
