/* Structure of a JSON text, judged before json-c parses it (json.c): grammar of RFC 8259, depth,
 * UTF-8, NUL, surrogates, size of integers. json-c is lenient in each of these. */
#ifndef HAWSER_COMMON_JSON_SCAN_H
#define HAWSER_COMMON_JSON_SCAN_H

#include "common/err.h"
#include <stddef.h>
#include <stdint.h>

/* Number of members of each object, in the order in which the objects begin. json-c keeps the last
 * of equal members silently; comparing its objects with these numbers shows it. */
struct json_counts {
    uint32_t *n;
    size_t objects, cap;
};

/* 0, or HW_EINVAL with line and column, or HW_ENOMEM. Free counts->n in every case. */
int json_scan(const char *text, size_t len, struct json_counts *counts, struct err *e);

/* Bytes of the well-formed UTF-8 sequence that begins at p (Unicode, table 3-7); 0: there is none.
 */
size_t json_scan_utf8(const uint8_t *p, const uint8_t *end);

#endif
