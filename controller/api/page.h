/* Lists in pages: ?limit= and an opaque ?cursor=, {"items": […], "next_cursor": …}. */
#ifndef HAWSER_CONTROLLER_API_PAGE_H
#define HAWSER_CONTROLLER_API_PAGE_H

#include "common/err.h"
#include "common/json.h"
#include "controller/http/request.h"
#include "controller/http/response.h"
#include "controller/store/store.h"

#define PAGE_LIMIT_DEFAULT 100
#define PAGE_LIMIT_MAX     1000

struct page {
    unsigned limit;          /* items to show */
    char *after;             /* decoded cursor; owned */
    struct store_page store; /* one row more, to know whether more follow; borrows `after` */
};

/* `filters`: the query parameters that the list knows besides limit and cursor (NULL-terminated);
 * others are refused, since a misspelt filter would show everything. */
int page_read(const struct http_request *req, const char *const *filters, struct page *out,
              struct err *e);
void page_done(struct page *p);

/* Optional filter by id: *set tells whether it was given. */
int page_filter_id(const struct http_request *req, const char *name, struct hw_id *out, bool *set,
                   struct err *e);

/* How many of the n rows read are shown. */
size_t page_shown(const struct page *p, size_t n);
/* {"items": [ */
void page_open(struct json_writer *w);
/* ], "next_cursor": …}, from the last shown row's key (NULL when there is none), as the 200 answer.
 */
void page_close(struct json_writer *w, const struct page *p, size_t n, const char *last_key,
                struct http_response *res);

#endif
