/* The head of a request as libmicrohttpd parsed it, judged and taken over. */
#ifndef HAWSER_CONTROLLER_HTTP_HEAD_H
#define HAWSER_CONTROLLER_HTTP_HEAD_H

#include "common/err.h"
#include "controller/http/request.h"
#include <microhttpd.h>

/* The request line as it lies in the connection's memory. */
struct head_line {
    const char *method, *target, *version;
    size_t target_len;    /* as it came: the library decodes it in its place */
    bool blank_in_target; /* or a control character */
};

/* From MHD_OPTION_URI_LOG_CALLBACK; method and version come with the whole head. */
struct head_line head_line_begin(const char *target);

/*
 * Header fields. HW_EPROTO for what two readers could understand differently: where the request
 * ends is in doubt then, and nothing after it can be read.
 *
 * A head that the library can't parse never comes here. It answers by itself, with a line of HTML
 * and the end of the connection, and has no callback to replace that: a request line or field that
 * is none or a Content-Length that is no number (400), a broken chunk (400), a Content-Length or
 * chunk over 64 bits (413), a path (414) or header (431) over the connection's memory (where that
 * has no room for the answer either, the deadline ends the connection), HTTP/0 or HTTP/2 and above
 * (505).
 */
int head_read(struct http_request *req, struct MHD_Connection *mhd, const struct head_line *line,
              struct err *e);

/* The query, for a request whose path is set. HW_EPROTO: refused, but a request all the same. */
int head_read_target(struct http_request *req, struct MHD_Connection *mhd, struct err *e);

enum http_method head_method(const char *name);

/* MHD_OPTION_UNESCAPE_CALLBACK. "%00" and other control characters must not vanish into a C string:
 * they become 0x01, which head_read_target refuses. */
size_t head_unescape(void *arg, struct MHD_Connection *mhd, char *s);

#endif
