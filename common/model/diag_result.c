#include "common/model/diag_result.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

#define COUNT_MAX 100000u
#define MS_MAX    1e7

static const char *const mtu_sources[] = {"", "device", "icmp", "search", NULL};
static const char *const protocols[] = {"udp", "icmp", NULL};
static const char *const outcomes[] = {"connected",   "refused", "timeout",
                                       "unreachable", "error",   NULL};

void diag_spread_add(struct diag_spread *s, double ms)
{
    s->min = s->n == 0 || ms < s->min ? ms : s->min;
    s->max = s->n == 0 || ms > s->max ? ms : s->max;
    s->sum += ms;
    s->n++;
}

/* ---- encode ---- */

/* Microseconds are as fine as these measurements are. */
static double rounded(double ms)
{
    return round(ms * 1000) / 1000;
}

static void put_spread(struct json_writer *w, const char *key, const struct diag_spread *s)
{
    json_open_object(w, key);
    json_put_double(w, "avg", s->n ? rounded(s->sum / s->n) : NAN);
    json_put_double(w, "min", s->n ? rounded(s->min) : NAN);
    json_put_double(w, "max", s->n ? rounded(s->max) : NAN);
    json_close(w);
}

static void put_uint_or_null(struct json_writer *w, const char *key, unsigned v)
{
    if (v)
        json_put_uint(w, key, v);
    else
        json_put_null(w, key);
}

static void put_text_or_null(struct json_writer *w, const char *key, const char *s)
{
    json_put_str(w, key, s[0] ? s : NULL);
}

static void put_mtu(struct json_writer *w, const char *key, unsigned mtu, enum mtu_source source)
{
    put_uint_or_null(w, key, mtu);
    put_text_or_null(w, "mtu_source", mtu_sources[source]);
}

static void put_hop(struct json_writer *w, const struct path_hop *h, size_t number)
{
    json_open_object(w, NULL);
    json_put_uint(w, "hop", number);
    json_put_ip(w, "address", h->n_addresses ? &h->addresses[0] : &(struct ipaddr){0});
    json_open_array(w, "addresses");
    for (size_t i = 0; i < h->n_addresses; i++)
        json_put_ip(w, NULL, &h->addresses[i]);
    json_close(w);
    put_text_or_null(w, "name", h->name);
    json_put_uint(w, "sent", h->sent);
    json_put_uint(w, "answered", h->answered);
    put_spread(w, "rtt_ms", &h->rtt);
    put_mtu(w, "mtu", h->mtu, h->mtu_source);
    put_text_or_null(w, "note", h->note);
    json_close(w);
}

void path_trace_put(struct json_writer *w, const struct path_trace *t)
{
    char verdict[DIAG_VERDICT_MAX];
    if (!id_is_zero(&t->gateway_id))
        json_put_id(w, "gateway_id", &t->gateway_id);
    json_put_ip(w, "source_address", &t->source);
    json_put_ip(w, "destination_address", &t->destination);
    json_put_uint(w, "family", t->destination.family);
    json_put_str(w, "protocol", protocols[t->protocol]);
    json_put_bool(w, "reached", t->reached);
    put_mtu(w, "path_mtu", t->path_mtu, t->mtu_source);
    json_put_str(w, "verdict", path_trace_verdict(t, verdict));
    json_open_array(w, "hops");
    for (size_t i = 0; i < t->n_hops; i++)
        put_hop(w, &t->hops[i], i + 1);
    json_close(w);
}

static void put_reply(struct json_writer *w, const struct ping_reply *r, size_t number)
{
    json_open_object(w, NULL);
    json_put_uint(w, "sequence", number);
    json_put_double(w, "rtt_ms", r->rtt_ms < 0 ? NAN : rounded(r->rtt_ms));
    put_uint_or_null(w, "ttl", r->ttl);
    json_put_ip(w, "from", &r->from);
    put_text_or_null(w, "error", r->error);
    json_close(w);
}

void ping_result_put(struct json_writer *w, const struct ping_result *p)
{
    char verdict[DIAG_VERDICT_MAX];
    struct diag_spread rtt = {0};
    double squares = 0;
    for (size_t i = 0; i < p->n_replies; i++)
        if (p->replies[i].rtt_ms >= 0)
            diag_spread_add(&rtt, p->replies[i].rtt_ms);
    for (size_t i = 0; i < p->n_replies; i++)
        if (p->replies[i].rtt_ms >= 0)
            squares += pow(p->replies[i].rtt_ms - rtt.sum / rtt.n, 2);
    json_put_ip(w, "source_address", &p->source);
    json_put_ip(w, "destination_address", &p->destination);
    json_put_uint(w, "family", p->destination.family);
    json_put_uint(w, "sent", p->sent);
    json_put_uint(w, "received", p->received);
    json_put_uint(w, "duplicates", p->duplicates);
    json_put_double(w, "loss_ratio", p->sent ? 1.0 - (double)p->received / p->sent : 0);
    put_spread(w, "rtt_ms", &rtt);
    json_put_double(w, "stddev_ms", rtt.n ? rounded(sqrt(squares / rtt.n)) : NAN);
    json_open_array(w, "replies");
    for (size_t i = 0; i < p->n_replies; i++)
        put_reply(w, &p->replies[i], i + 1);
    json_close(w);
    json_put_str(w, "verdict", ping_verdict(p, verdict));
}

void tcp_result_put(struct json_writer *w, const struct tcp_result *t)
{
    char verdict[DIAG_VERDICT_MAX];
    json_put_ip(w, "source_address", &t->source);
    json_put_ip(w, "destination_address", &t->destination);
    json_put_uint(w, "family", t->destination.family);
    json_put_uint(w, "port", t->port);
    json_put_str(w, "outcome", outcomes[tcp_result_outcome(t)]);
    json_open_array(w, "attempts");
    for (size_t i = 0; i < t->n_attempts; i++) {
        json_open_object(w, NULL);
        json_put_str(w, "outcome", outcomes[t->attempts[i].outcome]);
        json_put_double(w, "duration_ms", rounded(t->attempts[i].duration_ms));
        put_text_or_null(w, "error", t->attempts[i].error);
        json_close(w);
    }
    json_close(w);
    json_put_str(w, "verdict", tcp_verdict(t, verdict));
}

/* ---- decode ---- */

static int get_count(const struct json_at *at, const char *key, unsigned *out, struct err *e)
{
    uint32_t v = 0;
    int rc = json_get_u32(at, key, 0, COUNT_MAX, &v, e);
    *out = v;
    return rc;
}

static int get_text_or_null(const struct json_at *at, const char *key, char *out, size_t cap,
                            struct err *e)
{
    return json_has(at, key) ? json_get_text(at, key, out, cap, e) : 0;
}

static int get_mtu(const struct json_at *at, const char *key, unsigned *mtu,
                   enum mtu_source *source, struct err *e)
{
    uint32_t v = 0;
    unsigned s = MTU_UNKNOWN;
    int rc = json_has(at, key) ? json_get_u32(at, key, 28, 65535, &v, e) : 0;
    if (!rc && json_has(at, "mtu_source"))
        rc = json_get_enum(at, "mtu_source", mtu_sources, &s, e);
    *mtu = v;
    *source = (enum mtu_source)s;
    return rc;
}

/* Average, least and greatest; how many samples they are of is the caller's knowledge. */
static int get_spread(const struct json_at *at, const char *key, unsigned n,
                      struct diag_spread *out, struct err *e)
{
    struct json_at s;
    double avg = 0, min = 0, max = 0;
    int rc = json_get_object(at, key, &s, e);
    if (rc || n == 0 || !json_has(&s, "avg"))
        return rc;
    rc = json_get_double(&s, "avg", 0, MS_MAX, &avg, e);
    rc = rc ? rc : json_get_double(&s, "min", 0, MS_MAX, &min, e);
    rc = rc ? rc : json_get_double(&s, "max", 0, MS_MAX, &max, e);
    *out = (struct diag_spread){.n = n, .sum = avg * n, .min = min, .max = max};
    return rc;
}

static int get_ends(const struct json_at *at, struct ipaddr *source, struct ipaddr *destination,
                    struct err *e)
{
    int rc = json_get_ip(at, "source_address", source, e);
    return rc ? rc : json_get_ip(at, "destination_address", destination, e);
}

static int get_hop(const struct json_at *at, struct path_hop *h, struct err *e)
{
    struct json_at list;
    int rc = json_get_array(at, "addresses", DIAG_ANSWERERS_MAX, &list, &h->n_addresses, e);
    for (size_t i = 0; !rc && i < h->n_addresses; i++) {
        struct json_at a = json_element(&list, i);
        rc = json_as_ip(&a, &h->addresses[i], e);
    }
    rc = rc ? rc : get_text_or_null(at, "name", h->name, sizeof h->name, e);
    rc = rc ? rc : get_count(at, "sent", &h->sent, e);
    rc = rc ? rc : get_count(at, "answered", &h->answered, e);
    rc = rc ? rc : get_spread(at, "rtt_ms", h->answered, &h->rtt, e);
    rc = rc ? rc : get_mtu(at, "mtu", &h->mtu, &h->mtu_source, e);
    return rc ? rc : get_text_or_null(at, "note", h->note, sizeof h->note, e);
}

int path_trace_get(const struct json_at *at, struct path_trace *out, struct err *e)
{
    struct json_at hops;
    unsigned protocol = 0;
    *out = (struct path_trace){0};
    int rc = get_ends(at, &out->source, &out->destination, e);
    if (!rc && json_has(at, "gateway_id"))
        rc = json_get_id(at, "gateway_id", &out->gateway_id, e);
    rc = rc ? rc : json_get_enum(at, "protocol", protocols, &protocol, e);
    out->protocol = (enum command_protocol)protocol;
    rc = rc ? rc : json_get_bool(at, "reached", &out->reached, e);
    rc = rc ? rc : get_mtu(at, "path_mtu", &out->path_mtu, &out->mtu_source, e);
    rc = rc ? rc : json_get_array(at, "hops", DIAG_HOPS_MAX, &hops, &out->n_hops, e);
    for (size_t i = 0; !rc && i < out->n_hops; i++) {
        struct json_at hop = json_element(&hops, i);
        rc = get_hop(&hop, &out->hops[i], e);
    }
    return rc;
}

static int get_reply(const struct json_at *at, struct ping_reply *r, struct err *e)
{
    uint32_t ttl = 0;
    int rc = 0;
    r->rtt_ms = -1;
    if (json_has(at, "rtt_ms"))
        rc = json_get_double(at, "rtt_ms", 0, MS_MAX, &r->rtt_ms, e);
    if (!rc && json_has(at, "ttl"))
        rc = json_get_u32(at, "ttl", 0, 255, &ttl, e);
    r->ttl = ttl;
    if (!rc && json_has(at, "from"))
        rc = json_get_ip(at, "from", &r->from, e);
    return rc ? rc : get_text_or_null(at, "error", r->error, sizeof r->error, e);
}

int ping_result_get(const struct json_at *at, struct ping_result *out, struct err *e)
{
    struct json_at list;
    *out = (struct ping_result){0};
    int rc = get_ends(at, &out->source, &out->destination, e);
    rc = rc ? rc : get_count(at, "sent", &out->sent, e);
    rc = rc ? rc : get_count(at, "received", &out->received, e);
    rc = rc ? rc : get_count(at, "duplicates", &out->duplicates, e);
    if (!rc && out->received > out->sent)
        rc = err_set_field(e, HW_EINVAL, "received", "more than were sent");
    rc = rc ? rc : json_get_array(at, "replies", DIAG_REPLIES_MAX, &list, &out->n_replies, e);
    for (size_t i = 0; !rc && i < out->n_replies; i++) {
        struct json_at reply = json_element(&list, i);
        rc = get_reply(&reply, &out->replies[i], e);
    }
    return rc;
}

int tcp_result_get(const struct json_at *at, struct tcp_result *out, struct err *e)
{
    struct json_at list;
    *out = (struct tcp_result){0};
    int rc = get_ends(at, &out->source, &out->destination, e);
    rc = rc ? rc : json_get_u16(at, "port", 1, UINT16_MAX, &out->port, e);
    rc = rc ? rc : json_get_array(at, "attempts", DIAG_ATTEMPTS_MAX, &list, &out->n_attempts, e);
    for (size_t i = 0; !rc && i < out->n_attempts; i++) {
        struct json_at a = json_element(&list, i);
        unsigned outcome = 0;
        rc = json_get_enum(&a, "outcome", outcomes, &outcome, e);
        out->attempts[i].outcome = (enum tcp_outcome)outcome;
        rc = rc ? rc
                : json_get_double(&a, "duration_ms", 0, MS_MAX, &out->attempts[i].duration_ms, e);
        rc = rc ? rc
                : get_text_or_null(&a, "error", out->attempts[i].error,
                                   sizeof out->attempts[i].error, e);
    }
    return rc;
}
