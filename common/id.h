/* 16-byte random ids (UUID version 4, RFC 9562 section 5.4): lower-case text outside, bytes inside.
 */
#ifndef HAWSER_COMMON_ID_H
#define HAWSER_COMMON_ID_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define ID_TEXT_LEN 36
#define ID_TEXT_MAX 37 /* with the NUL */

struct hw_id {
    uint8_t b[16];
};

/* A fresh random id. Aborts if the kernel gives no randomness: nothing may go on with a guessable
 * id. */
struct hw_id id_new(void);
/* Writes the lower-case text with NUL into out[ID_TEXT_MAX] and returns out. */
char *id_text(const struct hw_id *id, char out[ID_TEXT_MAX]);
/* 0, or HW_EINVAL unless `text` is exactly a lower-case UUID of 36 characters. *out only on
 * success. */
int id_parse(const char *text, struct hw_id *out);

static inline int id_cmp(const struct hw_id *a, const struct hw_id *b)
{
    return memcmp(a->b, b->b, sizeof a->b);
}
static inline bool id_equal(const struct hw_id *a, const struct hw_id *b)
{
    return id_cmp(a, b) == 0;
}
static inline bool id_is_zero(const struct hw_id *a)
{
    static const struct hw_id zero;
    return id_cmp(a, &zero) == 0;
}

/* Kernel randomness; aborts rather than return fewer or weaker bytes. */
void rand_bytes(void *out, size_t len);
uint32_t rand_u32(void);
/* Uniform in [0, bound), bound > 0. */
uint32_t rand_below(uint32_t bound);

#endif
