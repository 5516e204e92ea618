#include "common/strbuf.h"
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_CAP 64

void strbuf_done(struct strbuf *b)
{
    if (!b)
        return;
    free(b->data);
    *b = (struct strbuf){0};
}

void strbuf_reset(struct strbuf *b)
{
    b->len = 0;
    if (b->data)
        b->data[0] = '\0';
}

/* Room for `more` bytes and the NUL; false (and the error state) when there is no memory. */
static int reserve(struct strbuf *b, size_t more)
{
    if (b->failed)
        return 0;
    if (more >= SIZE_MAX / 2 - b->len) {
        b->failed = 1;
        return 0;
    }
    size_t need = b->len + more + 1;
    if (need <= b->cap)
        return 1;
    size_t cap = b->cap ? b->cap : FIRST_CAP;
    while (cap < need)
        cap *= 2;
    char *p = realloc(b->data, cap);
    if (!p) {
        b->failed = 1;
        return 0;
    }
    b->data = p;
    b->cap = cap;
    return 1;
}

void strbuf_reserve(struct strbuf *b, size_t len)
{
    if (len > b->len)
        (void)reserve(b, len - b->len);
}

void strbuf_add(struct strbuf *b, const void *data, size_t len)
{
    if (!reserve(b, len))
        return;
    if (len)
        memcpy(b->data + b->len, data, len);
    b->len += len;
    b->data[b->len] = '\0';
}

void strbuf_puts(struct strbuf *b, const char *s)
{
    strbuf_add(b, s, strlen(s));
}

void strbuf_printf(struct strbuf *b, const char *fmt, ...)
{
    va_list ap, again;
    va_start(ap, fmt);
    va_copy(again, ap);
    int n = vsnprintf(NULL, 0, fmt, ap);
    va_end(ap);
    if (n < 0)
        b->failed = 1;
    else if (reserve(b, (size_t)n)) {
        (void)vsnprintf(b->data + b->len, (size_t)n + 1, fmt, again);
        b->len += (size_t)n;
    }
    va_end(again);
}

const char *strbuf_str(const struct strbuf *b)
{
    return b->data ? b->data : "";
}

char *strbuf_take(struct strbuf *b)
{
    char *out = NULL;
    if (reserve(b, 0)) {
        out = b->data;
        out[b->len] = '\0';
        b->data = NULL;
    }
    strbuf_done(b);
    return out;
}
