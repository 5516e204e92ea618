/* A growing, always NUL-terminated string. After a failed allocation it stays in the error state
 * and strbuf_take returns NULL, so that callers check once at the end. */
#ifndef HAWSER_COMMON_STRBUF_H
#define HAWSER_COMMON_STRBUF_H

#include <stddef.h>

struct strbuf {
    char *data; /* NULL until something is added */
    size_t len;
    size_t cap;
    int failed;
};

#define STRBUF_INIT                                                                                \
    {                                                                                              \
        0                                                                                          \
    }

void strbuf_done(struct strbuf *b);
void strbuf_reset(struct strbuf *b);
/* Room for so many bytes in all: as long as they do, nothing is moved. */
void strbuf_reserve(struct strbuf *b, size_t len);
void strbuf_add(struct strbuf *b, const void *data, size_t len);
void strbuf_puts(struct strbuf *b, const char *s);
void strbuf_printf(struct strbuf *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* "" when empty; valid until the next change. */
const char *strbuf_str(const struct strbuf *b);
/* Hands the string to the caller (free it) and empties b; NULL after a failed allocation. */
char *strbuf_take(struct strbuf *b);

#endif
