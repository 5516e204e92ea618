#include "controller/api/metrics_firewall.h"
#include "controller/store/rule_counter.h"
#include <stdlib.h>

/* Rules times gateways of a fleet have no other bound. */
#define SERIES_MAX 5000

/* No rule can be named so. */
#define BASE "(base)"

static void put_family(struct strbuf *b, const char *name, const char *help,
                       const struct store_rule_series *list, size_t n, size_t value)
{
    strbuf_printf(b, "# HELP %s %s\n# TYPE %s counter\n", name, help, name);
    for (size_t i = 0; i < n; i++) {
        const struct store_rule_series *s = &list[i];
        strbuf_printf(b, "%s{gateway=\"%s\",rule=\"%s\",action=\"%s\"} %llu\n", name, s->gateway,
                      s->rule[0] ? s->rule : BASE, s->allow ? "allow" : "deny",
                      (unsigned long long)*(const uint64_t *)((const char *)s + value));
    }
}

int metrics_put_firewall(struct strbuf *b, struct db *db, struct err *e)
{
    struct store_rule_series *list = NULL;
    size_t n = 0;
    uint64_t all = 0;
    int rc = store_rule_counter_series(db, SERIES_MAX, &list, &n, &all, e);
    if (rc)
        return rc;
    if (n) {
        put_family(b, "hawser_firewall_rule_hits_total",
                   "First packets of connections that a rule decided", list, n,
                   offsetof(struct store_rule_series, packets));
        put_family(b, "hawser_firewall_rule_bytes_total", "Their bytes", list, n,
                   offsetof(struct store_rule_series, bytes));
        strbuf_printf(b,
                      "# HELP hawser_firewall_rule_series_left_out Rules beyond the %d shown\n"
                      "# TYPE hawser_firewall_rule_series_left_out gauge\n"
                      "hawser_firewall_rule_series_left_out %llu\n",
                      SERIES_MAX, (unsigned long long)(all - n));
    }
    free(list);
    return 0;
}
