#include "common/json_scan.h"
#include "common/limits.h"
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define NUMBER_MAX 64 /* characters */

struct scan {
    const uint8_t *start, *p, *end;
    unsigned depth;
    struct json_counts *counts;
    struct err *e;
};

static int value(struct scan *s);

static int refuse(const struct scan *s, const char *why)
{
    unsigned line = 1, column = 1;
    for (const uint8_t *q = s->start; q < s->p; q++) {
        if (*q == '\n') {
            line++;
            column = 1;
        } else if ((*q & 0xc0) != 0x80) {
            column++;
        }
    }
    return err_set(s->e, HW_EINVAL, "line %u, column %u: %s", line, column, why);
}

/* The next byte, or 0 at the end (a NUL in the text is refused wherever it stands). */
static uint8_t peek(const struct scan *s)
{
    return s->p < s->end ? *s->p : 0;
}

static bool take(struct scan *s, char c)
{
    if (peek(s) != (uint8_t)c)
        return false;
    s->p++;
    return true;
}

static void skip_space(struct scan *s)
{
    while (peek(s) == ' ' || peek(s) == '\t' || peek(s) == '\n' || peek(s) == '\r')
        s->p++;
}

static bool is_digit(uint8_t c)
{
    return c >= '0' && c <= '9';
}

/* Four hexadecimal digits of a \u escape; −1 when they are not. */
static int hex4(struct scan *s)
{
    int v = 0;
    for (int i = 0; i < 4; i++) {
        uint8_t c = peek(s);
        int d = is_digit(c)            ? c - '0'
                : c >= 'a' && c <= 'f' ? c - 'a' + 10
                : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                       : -1;
        if (d < 0)
            return -1;
        v = v << 4 | d;
        s->p++;
    }
    return v;
}

static int escape(struct scan *s)
{
    uint8_t c = peek(s);
    if (c != 'u') {
        if (c == 0 || !strchr("\"\\/bfnrt", c))
            return refuse(s, "unknown escape");
        s->p++;
        return HW_OK;
    }
    s->p++;
    int v = hex4(s);
    if (v < 0)
        return refuse(s, "\\u needs four hexadecimal digits");
    if (v == 0)
        return refuse(s, "NUL in a string");
    if (v >= 0xdc00 && v <= 0xdfff)
        return refuse(s, "lone surrogate");
    if (v >= 0xd800 && v <= 0xdbff) {
        int low = take(s, '\\') && take(s, 'u') ? hex4(s) : -1;
        if (low < 0xdc00 || low > 0xdfff)
            return refuse(s, "lone surrogate");
    }
    return HW_OK;
}

/* One multi-byte character (RFC 3629 section 4: shortest form, no surrogates, at most U+10FFFF). */
size_t json_scan_utf8(const uint8_t *p, const uint8_t *end)
{
    uint8_t c = *p;
    if (c < 0x80)
        return 1;
    unsigned more = c >= 0xc2 && c <= 0xdf   ? 1
                    : (c & 0xf0) == 0xe0     ? 2
                    : c >= 0xf0 && c <= 0xf4 ? 3
                                             : 0;
    if (more == 0 || (size_t)(end - p) <= more)
        return 0;
    uint8_t low = c == 0xe0 ? 0xa0 : c == 0xf0 ? 0x90 : 0x80;
    uint8_t high = c == 0xed ? 0x9f : c == 0xf4 ? 0x8f : 0xbf;
    if (p[1] < low || p[1] > high)
        return 0;
    for (unsigned i = 2; i <= more; i++)
        if ((p[i] & 0xc0) != 0x80)
            return 0;
    return more + 1;
}

static int utf8(struct scan *s)
{
    size_t len = json_scan_utf8(s->p, s->end);
    if (len == 0)
        return refuse(s, "invalid UTF-8");
    s->p += len;
    return HW_OK;
}

static int string(struct scan *s)
{
    if (!take(s, '"'))
        return refuse(s, "a string is expected");
    while (s->p < s->end) {
        uint8_t c = *s->p;
        int rc = HW_OK;
        if (c == '"') {
            s->p++;
            return HW_OK;
        }
        if (c < 0x20)
            return refuse(s, "control character in a string");
        if (c == '\\') {
            s->p++;
            rc = escape(s);
        } else if (c < 0x80) {
            s->p++;
        } else {
            rc = utf8(s);
        }
        if (rc != HW_OK)
            return rc;
    }
    return refuse(s, "string has no end");
}

static bool digits(struct scan *s)
{
    if (!is_digit(peek(s)))
        return false;
    while (is_digit(peek(s)))
        s->p++;
    return true;
}

/* An integer that neither int64_t nor uint64_t holds would be silently clamped by json-c. */
static bool integer_fits(const uint8_t *from, size_t len)
{
    char text[NUMBER_MAX + 1];
    memcpy(text, from, len);
    text[len] = '\0';
    errno = 0;
    if (text[0] == '-')
        (void)strtoll(text, NULL, 10);
    else
        (void)strtoull(text, NULL, 10);
    return errno == 0;
}

static int number(struct scan *s)
{
    const uint8_t *from = s->p;
    bool integer = true;
    (void)take(s, '-');
    if (!take(s, '0') && !digits(s))
        return refuse(s, "a value is expected");
    if (take(s, '.')) {
        integer = false;
        if (!digits(s))
            return refuse(s, "digits are expected after the point");
    }
    if (take(s, 'e') || take(s, 'E')) {
        integer = false;
        if (!take(s, '+'))
            (void)take(s, '-');
        if (!digits(s))
            return refuse(s, "digits are expected in the exponent");
    }
    size_t len = (size_t)(s->p - from);
    if (len > NUMBER_MAX || (integer && !integer_fits(from, len)))
        return refuse(s, "number out of range");
    return HW_OK;
}

static int literal(struct scan *s, const char *word)
{
    size_t n = strlen(word);
    if ((size_t)(s->end - s->p) < n || memcmp(s->p, word, n) != 0)
        return refuse(s, "a value is expected");
    s->p += n;
    return HW_OK;
}

static int count_object(struct scan *s, size_t *index)
{
    struct json_counts *c = s->counts;
    if (c->objects == c->cap) {
        size_t cap = c->cap ? 2 * c->cap : 64;
        uint32_t *n = reallocarray(c->n, cap, sizeof *n);
        if (!n)
            return err_set(s->e, HW_ENOMEM, "out of memory");
        c->n = n;
        c->cap = cap;
    }
    *index = c->objects++;
    c->n[*index] = 0;
    return HW_OK;
}

static int member(struct scan *s)
{
    skip_space(s);
    int rc = string(s);
    if (rc != HW_OK)
        return rc;
    skip_space(s);
    if (!take(s, ':'))
        return refuse(s, "':' is expected");
    return value(s);
}

static int object(struct scan *s)
{
    size_t index = 0;
    int rc = count_object(s, &index);
    if (rc != HW_OK)
        return rc;
    skip_space(s);
    if (take(s, '}'))
        return HW_OK;
    for (;;) {
        rc = member(s);
        if (rc != HW_OK)
            return rc;
        s->counts->n[index]++;
        if (take(s, '}'))
            return HW_OK;
        if (!take(s, ','))
            return refuse(s, "',' or '}' is expected");
    }
}

static int array(struct scan *s)
{
    skip_space(s);
    if (take(s, ']'))
        return HW_OK;
    for (;;) {
        int rc = value(s);
        if (rc != HW_OK)
            return rc;
        if (take(s, ']'))
            return HW_OK;
        if (!take(s, ','))
            return refuse(s, "',' or ']' is expected");
    }
}

/* A value with the white space around it. Recursion is bounded by HW_JSON_DEPTH_MAX. */
static int value(struct scan *s)
{
    int rc;
    skip_space(s);
    uint8_t c = peek(s);
    if (c == '{' || c == '[') {
        if (s->depth == HW_JSON_DEPTH_MAX)
            return refuse(s, "nested too deep");
        s->p++;
        s->depth++;
        rc = c == '{' ? object(s) : array(s);
        s->depth--;
    } else if (c == '"') {
        rc = string(s);
    } else if (c == 't') {
        rc = literal(s, "true");
    } else if (c == 'f') {
        rc = literal(s, "false");
    } else if (c == 'n') {
        rc = literal(s, "null");
    } else {
        rc = number(s);
    }
    if (rc == HW_OK)
        skip_space(s);
    return rc;
}

int json_scan(const char *text, size_t len, struct json_counts *counts, struct err *e)
{
    const uint8_t *p = (const uint8_t *)text;
    struct scan s = {.start = p, .p = p, .end = p + len, .counts = counts, .e = e};
    int rc = value(&s);
    if (rc == HW_OK && s.p != s.end)
        rc = refuse(&s, "only one value is allowed");
    return rc;
}
