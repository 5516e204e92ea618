/* What the files that read and write a report share; no one else includes it. Members that older
 * agents don't send are 0, not known or an empty array where they are absent. */
#ifndef HAWSER_COMMON_MODEL_REPORT_PART_H
#define HAWSER_COMMON_MODEL_REPORT_PART_H

#include "common/json.h"
#include "common/model/report.h"

static inline int report_get_counter(const struct json_at *at, const char *key, uint64_t *out,
                                     struct err *e)
{
    return json_get_uint(at, key, 0, UINT64_MAX, out, e);
}

/* A member of newer agents. */
static inline int report_get_late_counter(const struct json_at *at, const char *key, uint64_t *out,
                                          struct err *e)
{
    return json_presence(at, key) == JSON_ABSENT ? 0 : report_get_counter(at, key, out, e);
}

void report_put_spread(struct json_writer *w, const char *key, const struct report_spread *s);
int report_get_spread(const struct json_at *at, const char *key, struct report_spread *out,
                      struct err *e);
/* A ratio that may be null. */
void report_put_ratio(struct json_writer *w, const char *key, const struct report_ratio *r);
int report_get_ratio(const struct json_at *at, const char *key, double max,
                     struct report_ratio *out, struct err *e);

int report_get_links(const struct json_at *top, struct report *r, struct err *e);
void report_put_totals(struct json_writer *w, const struct report_totals *t);
int report_get_totals(const struct json_at *top, struct report_totals *t, struct err *e);
void report_put_workers(struct json_writer *w, const struct report *r);
int report_get_workers(const struct json_at *top, struct report *r, struct err *e);
void report_put_conntrack(struct json_writer *w, const struct report_conntrack *c);
int report_get_conntrack(const struct json_at *top, struct report_conntrack *c, struct err *e);

#endif
