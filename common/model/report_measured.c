/* Rates, spreads, workers and connection tracking of a report. */
#include "common/model/report_part.h"

#define RATE_MAX 1e15 /* bit/s, packets/s or microseconds that anybody could mean */

/* ---- spread and ratio ---- */

void report_put_spread(struct json_writer *w, const char *key, const struct report_spread *s)
{
    if (!s->known) {
        json_put_null(w, key);
        return;
    }
    json_open_object(w, key);
    json_put_double(w, "avg", s->avg);
    json_put_double(w, "min", s->min);
    json_put_double(w, "max", s->max);
    json_close(w);
}

int report_get_spread(const struct json_at *at, const char *key, struct report_spread *out,
                      struct err *e)
{
    static const char *const members[] = {"avg", "min", "max", NULL};
    struct json_at o;
    if (!json_has(at, key))
        return 0;
    int rc = json_get_object(at, key, &o, e);
    rc = rc ? rc : json_members(&o, members, e);
    rc = rc ? rc : json_get_double(&o, "min", 0, RATE_MAX, &out->min, e);
    rc = rc ? rc : json_get_double(&o, "max", out->min, RATE_MAX, &out->max, e);
    rc = rc ? rc : json_get_double(&o, "avg", out->min, out->max, &out->avg, e);
    out->known = rc == 0;
    return rc;
}

void report_put_ratio(struct json_writer *w, const char *key, const struct report_ratio *r)
{
    if (r->known)
        json_put_double(w, key, r->value);
    else
        json_put_null(w, key);
}

int report_get_ratio(const struct json_at *at, const char *key, double max,
                     struct report_ratio *out, struct err *e)
{
    if (!json_has(at, key))
        return 0;
    int rc = json_get_double(at, key, 0, max, &out->value, e);
    out->known = rc == 0;
    return rc;
}

/* ---- totals ---- */

static const char *const spreads[] = {"goodput_tx_bps", "goodput_rx_bps", "wire_tx_bps",
                                      "wire_rx_bps", NULL};

void report_put_totals(struct json_writer *w, const struct report_totals *t)
{
    const struct report_spread *const of[] = {&t->goodput_tx, &t->goodput_rx, &t->wire_tx,
                                              &t->wire_rx};
    json_open_object(w, "totals");
    json_put_uint(w, "goodput_tx_bps", t->goodput_tx_bps);
    json_put_uint(w, "goodput_rx_bps", t->goodput_rx_bps);
    json_put_uint(w, "wire_tx_bps", t->wire_tx_bps);
    json_put_uint(w, "wire_rx_bps", t->wire_rx_bps);
    json_put_uint(w, "tx_packets", t->tx_packets);
    json_put_uint(w, "rx_packets", t->rx_packets);
    json_put_uint(w, "tx_bytes", t->tx_bytes);
    json_put_uint(w, "rx_bytes", t->rx_bytes);
    json_put_uint(w, "wire_tx_bytes", t->wire_tx_bytes);
    json_put_uint(w, "wire_rx_bytes", t->wire_rx_bytes);
    json_put_uint(w, "tx_pps", t->tx_pps);
    json_put_uint(w, "rx_pps", t->rx_pps);
    json_open_object(w, "spread");
    for (unsigned i = 0; spreads[i]; i++)
        report_put_spread(w, spreads[i], of[i]);
    json_close(w);
    json_close(w);
}

static int get_total_spreads(const struct json_at *at, struct report_totals *t, struct err *e)
{
    struct report_spread *const of[] = {&t->goodput_tx, &t->goodput_rx, &t->wire_tx, &t->wire_rx};
    struct json_at o;
    if (!json_has(at, "spread"))
        return 0;
    int rc = json_get_object(at, "spread", &o, e);
    rc = rc ? rc : json_members(&o, spreads, e);
    for (unsigned i = 0; !rc && spreads[i]; i++)
        rc = report_get_spread(&o, spreads[i], of[i], e);
    return rc;
}

int report_get_totals(const struct json_at *top, struct report_totals *t, struct err *e)
{
    static const char *const members[] = {"goodput_tx_bps", "goodput_rx_bps",
                                          "wire_tx_bps",    "wire_rx_bps",
                                          "tx_packets",     "rx_packets",
                                          "tx_bytes",       "rx_bytes",
                                          "wire_tx_bytes",  "wire_rx_bytes",
                                          "tx_pps",         "rx_pps",
                                          "spread",         NULL};
    enum { FIRST_LATE = 8, COUNTERS = 12 };
    uint64_t *const out[] = {&t->goodput_tx_bps, &t->goodput_rx_bps, &t->wire_tx_bps,
                             &t->wire_rx_bps,    &t->tx_packets,     &t->rx_packets,
                             &t->tx_bytes,       &t->rx_bytes,       &t->wire_tx_bytes,
                             &t->wire_rx_bytes,  &t->tx_pps,         &t->rx_pps};
    struct json_at o;
    int rc = json_get_object(top, "totals", &o, e);
    rc = rc ? rc : json_members(&o, members, e);
    for (unsigned i = 0; !rc && i < FIRST_LATE; i++)
        rc = report_get_counter(&o, members[i], out[i], e);
    for (unsigned i = FIRST_LATE; !rc && i < COUNTERS; i++)
        rc = report_get_late_counter(&o, members[i], out[i], e);
    return rc ? rc : get_total_spreads(&o, t, e);
}

/* ---- workers ---- */

void report_put_workers(struct json_writer *w, const struct report *r)
{
    json_open_array(w, "workers");
    for (size_t i = 0; i < r->n_workers; i++) {
        const struct report_worker *k = &r->workers[i];
        json_open_object(w, NULL);
        json_put_double(w, "busy_ratio", k->busy_ratio);
        json_put_double(w, "busy_ratio_max", k->busy_ratio_max);
        json_put_uint(w, "segments_in", k->segments_in);
        json_put_uint(w, "segments_out", k->segments_out);
        json_put_uint(w, "handoff_in", k->handoff_in);
        json_put_uint(w, "handoff_out", k->handoff_out);
        json_put_uint(w, "tunnels", k->tunnels);
        json_close(w);
    }
    json_close(w);
}

static int get_worker(const struct json_at *at, struct report_worker *k, struct err *e)
{
    static const char *const members[] = {
        "busy_ratio", "busy_ratio_max", "segments_in", "segments_out",
        "handoff_in", "handoff_out",    "tunnels",     NULL};
    int rc = json_members(at, members, e);
    rc = rc ? rc : json_get_double(at, "busy_ratio", 0, 1, &k->busy_ratio, e);
    k->busy_ratio_max = k->busy_ratio;
    if (!rc && json_has(at, "busy_ratio_max"))
        rc = json_get_double(at, "busy_ratio_max", 0, 1, &k->busy_ratio_max, e);
    rc = rc ? rc : report_get_late_counter(at, "segments_in", &k->segments_in, e);
    rc = rc ? rc : report_get_late_counter(at, "segments_out", &k->segments_out, e);
    rc = rc ? rc : report_get_late_counter(at, "handoff_in", &k->handoff_in, e);
    rc = rc ? rc : report_get_late_counter(at, "handoff_out", &k->handoff_out, e);
    if (!rc && json_has(at, "tunnels"))
        rc = json_get_u32(at, "tunnels", 0, HW_TUNNELS_MAX, &k->tunnels, e);
    return rc;
}

int report_get_workers(const struct json_at *top, struct report *r, struct err *e)
{
    struct json_at a;
    int rc = json_get_array(top, "workers", HW_WORKERS_MAX, &a, &r->n_workers, e);
    for (size_t i = 0; !rc && i < r->n_workers; i++) {
        struct json_at v = json_element(&a, i);
        rc = get_worker(&v, &r->workers[i], e);
    }
    return rc;
}

/* ---- connection tracking ---- */

void report_put_conntrack(struct json_writer *w, const struct report_conntrack *c)
{
    if (!c->known) {
        json_put_null(w, "conntrack");
        return;
    }
    json_open_object(w, "conntrack");
    json_put_uint(w, "entries", c->entries);
    json_put_uint(w, "max", c->max);
    json_close(w);
}

int report_get_conntrack(const struct json_at *top, struct report_conntrack *c, struct err *e)
{
    static const char *const members[] = {"entries", "max", NULL};
    struct json_at o;
    if (!json_has(top, "conntrack"))
        return 0;
    int rc = json_get_object(top, "conntrack", &o, e);
    rc = rc ? rc : json_members(&o, members, e);
    rc = rc ? rc : report_get_counter(&o, "entries", &c->entries, e);
    rc = rc ? rc : report_get_counter(&o, "max", &c->max, e);
    c->known = rc == 0;
    return rc;
}
