#include "controller/cli/visible.h"
#include "common/json_scan.h"
#include <stdbool.h>
#include <string.h>

enum form { FORM_LINE, FORM_LINES, FORM_JSON };

static uint32_t decode(const uint8_t *p, size_t n)
{
    switch (n) {
    case 1:
        return p[0];
    case 2:
        return (uint32_t)(p[0] & 0x1f) << 6 | (p[1] & 0x3f);
    case 3:
        return (uint32_t)(p[0] & 0x0f) << 12 | (uint32_t)(p[1] & 0x3f) << 6 | (p[2] & 0x3f);
    default:
        return (uint32_t)(p[0] & 0x07) << 18 | (uint32_t)(p[1] & 0x3f) << 12 |
               (uint32_t)(p[2] & 0x3f) << 6 | (p[3] & 0x3f);
    }
}

/* C0, DEL and C1 drive terminals; the others hide text or turn its direction (Unicode TR 36). */
static bool is_hidden(uint32_t c)
{
    return c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0xad || c == 0x61c ||
           (c >= 0x200b && c <= 0x200f) || (c >= 0x2028 && c <= 0x202e) ||
           (c >= 0x2060 && c <= 0x206f) || c == 0xfeff || (c >= 0xfff9 && c <= 0xfffb) ||
           (c >= 0xe0000 && c <= 0xe0fff);
}

static void add_escape(struct strbuf *out, uint32_t c, enum form form)
{
    if (form == FORM_JSON && c > 0xffff)
        strbuf_printf(out, "\\u%04x\\u%04x", 0xd800 + ((c - 0x10000) >> 10),
                      0xdc00 + ((c - 0x10000) & 0x3ff));
    else if (form == FORM_JSON)
        strbuf_printf(out, "\\u%04x", c);
    else if (c == '\n' || c == '\t' || c == '\r')
        strbuf_puts(out, c == '\n' ? "\\n" : c == '\t' ? "\\t" : "\\r");
    else if (c < 0x80)
        strbuf_printf(out, "\\x%02x", c);
    else
        strbuf_printf(out, "\\u%04x", c);
}

static void add(struct strbuf *out, const char *s, size_t len, enum form form)
{
    const uint8_t *p = (const uint8_t *)s, *end = p + len;
    while (p < end) {
        size_t n = json_scan_utf8(p, end);
        if (n == 0) {
            strbuf_printf(out, "\\x%02x", *p++);
            continue;
        }
        uint32_t c = decode(p, n);
        /* A JSON text's own line ends stand between its tokens; in strings they are escaped. */
        bool layout = form != FORM_LINE && (c == '\n' || c == '\t');
        if (is_hidden(c) && !layout)
            add_escape(out, c, form);
        else
            strbuf_add(out, p, n);
        p += n;
    }
}

void visible_text(struct strbuf *out, const char *s)
{
    add(out, s, strlen(s), FORM_LINE);
}

void visible_lines(struct strbuf *out, const char *s, size_t len)
{
    add(out, s, len, FORM_LINES);
}

void visible_json(struct strbuf *out, const char *json)
{
    add(out, json, strlen(json), FORM_JSON);
}

size_t visible_width(const char *s)
{
    size_t n = 0;
    for (; *s; s++)
        n += ((uint8_t)*s & 0xc0) != 0x80;
    return n;
}
