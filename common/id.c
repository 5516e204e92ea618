#include "common/id.h"
#include "common/err.h"
#include <errno.h>
#include <stdlib.h>
#include <sys/random.h>

/* True at the four places of the text that hold a hyphen. */
static bool is_hyphen_place(unsigned i)
{
    return i == 8 || i == 13 || i == 18 || i == 23;
}

struct hw_id id_new(void)
{
    struct hw_id id;
    rand_bytes(id.b, sizeof id.b);
    id.b[6] = (uint8_t)((id.b[6] & 0x0f) | 0x40); /* version 4 */
    id.b[8] = (uint8_t)((id.b[8] & 0x3f) | 0x80); /* variant of RFC 9562 */
    return id;
}

char *id_text(const struct hw_id *id, char out[ID_TEXT_MAX])
{
    static const char hex[] = "0123456789abcdef";
    unsigned byte = 0;
    for (unsigned i = 0; i < ID_TEXT_LEN;) {
        if (is_hyphen_place(i)) {
            out[i++] = '-';
            continue;
        }
        out[i++] = hex[id->b[byte] >> 4];
        out[i++] = hex[id->b[byte] & 15];
        byte++;
    }
    out[ID_TEXT_LEN] = '\0';
    return out;
}

static int nibble(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return -1;
}

int id_parse(const char *text, struct hw_id *out)
{
    struct hw_id id;
    unsigned byte = 0;
    if (!text || strnlen(text, ID_TEXT_MAX) != ID_TEXT_LEN)
        return HW_EINVAL;
    for (unsigned i = 0; i < ID_TEXT_LEN;) {
        if (is_hyphen_place(i)) {
            if (text[i++] != '-')
                return HW_EINVAL;
            continue;
        }
        int high = nibble(text[i]), low = nibble(text[i + 1]);
        if (high < 0 || low < 0)
            return HW_EINVAL;
        id.b[byte++] = (uint8_t)(high << 4 | low);
        i += 2;
    }
    *out = id;
    return HW_OK;
}

void rand_bytes(void *out, size_t len)
{
    uint8_t *p = out;
    while (len > 0) {
        ssize_t n = getrandom(p, len, 0);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            abort();
        p += n;
        len -= (size_t)n;
    }
}

uint32_t rand_u32(void)
{
    uint32_t v;
    rand_bytes(&v, sizeof v);
    return v;
}

uint32_t rand_below(uint32_t bound)
{
    /* Values below 2^32 mod bound would make the low results likelier. */
    uint32_t reject = (uint32_t)(-bound) % bound;
    uint32_t v;
    do
        v = rand_u32();
    while (v < reject);
    return v % bound;
}
