#include "controller/firewall/match.h"
#include "common/json.h"
#include "controller/firewall/prefix_set.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PORTS_TEXT    12
#define PROTOCOL_TEXT 4

static const struct {
    const char *name;
    int protocol;
} protocols[] = {{"any", FIREWALL_ANY_PROTOCOL},
                 {"tcp", FIREWALL_TCP},
                 {"udp", FIREWALL_UDP},
                 {"icmp", FIREWALL_ICMP}};
#define N_PROTOCOLS (sizeof protocols / sizeof *protocols)

void rule_match_any(struct rule_match *m)
{
    *m = (struct rule_match){.protocol = FIREWALL_ANY_PROTOCOL};
}

/* ---- read ---- */

/* Decimal without sign or leading zeros, up to `max`; *end is what follows. -1: none. */
static long number(const char *s, long max, const char **end)
{
    long v = 0;
    const char *p = s;
    for (; *p >= '0' && *p <= '9' && v <= max; p++)
        v = 10 * v + (*p - '0');
    *end = p;
    return p == s || v > max || (s[0] == '0' && p - s > 1) ? -1 : v;
}

static int read_protocol(const struct json_at *top, struct rule_match *m, struct err *e)
{
    struct json_at at;
    const char *text = "", *end;
    int rc = json_member(top, "protocol", &at, e);
    rc = rc ? rc : json_as_str(&at, PROTOCOL_TEXT, &text, e);
    if (rc)
        return rc;
    for (size_t i = 0; i < N_PROTOCOLS; i++)
        if (strcmp(protocols[i].name, text) == 0) {
            m->protocol = protocols[i].protocol;
            return 0;
        }
    long v = number(text, UINT8_MAX, &end);
    if (v < 0 || *end)
        return json_refuse(&at, e, "any, tcp, udp, icmp or an IP protocol's number");
    m->protocol = (int)v;
    return 0;
}

static int cmp_id(const void *a, const void *b)
{
    return id_cmp(a, b);
}

static int read_groups(const struct json_at *side, struct match_side *s, struct err *e)
{
    struct json_at a;
    size_t n = 0, used = 0;
    int rc = json_get_array(side, "group_ids", FIREWALL_SIDE_GROUPS_MAX, &a, &n, e);
    for (size_t i = 0; i < n && !rc; i++) {
        struct json_at v = json_element(&a, i);
        rc = json_as_id(&v, &s->groups[i], e);
    }
    if (rc)
        return rc;
    qsort(s->groups, n, sizeof *s->groups, cmp_id);
    for (size_t i = 0; i < n; i++)
        if (!used || !id_equal(&s->groups[used - 1], &s->groups[i]))
            s->groups[used++] = s->groups[i];
    s->n_groups = used;
    return 0;
}

/* A side is replaced as a whole. */
static int read_side(const struct json_at *top, const char *key, struct match_side *s,
                     struct err *e)
{
    static const char *const members[] = {"prefixes", "group_ids", NULL};
    struct json_at at, a;
    size_t n = 0;
    int rc = json_get_object(top, key, &at, e);
    rc = rc ? rc : json_members(&at, members, e);
    if (rc)
        return rc;
    *s = (struct match_side){0};
    if (json_presence(&at, "prefixes") != JSON_ABSENT)
        rc = json_get_array(&at, "prefixes", FIREWALL_SIDE_PREFIXES_MAX, &a, &n, e);
    for (size_t i = 0; i < n && !rc; i++) {
        struct json_at v = json_element(&a, i);
        rc = json_as_prefix(&v, &s->prefixes[i], e);
    }
    s->n_prefixes = rc ? 0 : prefix_set_join(s->prefixes, n);
    if (!rc && json_presence(&at, "group_ids") != JSON_ABSENT)
        rc = read_groups(&at, s, e);
    return rc;
}

static int read_range(const struct json_at *at, struct firewall_ports *p, struct err *e)
{
    const char *text = "", *end;
    int rc = json_as_str(at, PORTS_TEXT - 1, &text, e);
    if (rc)
        return rc;
    long first = number(text, UINT16_MAX, &end), last = first;
    if (first >= 0 && *end == '-')
        last = number(end + 1, UINT16_MAX, &end);
    if (first < 0 || last < first || *end)
        return json_refuse(at, e, "a port or a range such as 8000-8099 is expected");
    *p = (struct firewall_ports){(uint16_t)first, (uint16_t)last};
    return 0;
}

static int cmp_ports(const void *a, const void *b)
{
    const struct firewall_ports *x = a, *y = b;
    return x->first < y->first ? -1 : x->first > y->first;
}

/* Rising, with those that overlap or touch joined. */
static size_t join_ports(struct firewall_ports *p, size_t n)
{
    size_t used = 0;
    qsort(p, n, sizeof *p, cmp_ports);
    for (size_t i = 0; i < n; i++) {
        if (!used || p[i].first > p[used - 1].last + 1)
            p[used++] = p[i];
        else if (p[i].last > p[used - 1].last)
            p[used - 1].last = p[i].last;
    }
    return used;
}

static int read_ports(const struct json_at *top, const char *key, struct firewall_ports *p,
                      size_t *n_ports, struct err *e)
{
    struct json_at a;
    size_t n = 0;
    int rc = json_get_array(top, key, FIREWALL_PORTS_MAX, &a, &n, e);
    for (size_t i = 0; i < n && !rc; i++) {
        struct json_at v = json_element(&a, i);
        rc = read_range(&v, &p[i], e);
    }
    *n_ports = rc ? 0 : join_ports(p, n);
    return rc;
}

int rule_match_read(const struct json_at *at, struct rule_match *m, struct err *e)
{
    int rc = 0;
    if (json_presence(at, "protocol") != JSON_ABSENT)
        rc = read_protocol(at, m, e);
    if (!rc && json_presence(at, "source") != JSON_ABSENT)
        rc = read_side(at, "source", &m->source, e);
    if (!rc && json_presence(at, "destination") != JSON_ABSENT)
        rc = read_side(at, "destination", &m->destination, e);
    if (!rc && json_presence(at, "source_ports") != JSON_ABSENT)
        rc = read_ports(at, "source_ports", m->source_ports, &m->n_source_ports, e);
    if (!rc && json_presence(at, "destination_ports") != JSON_ABSENT)
        rc = read_ports(at, "destination_ports", m->destination_ports, &m->n_destination_ports, e);
    if (!rc && (m->n_source_ports || m->n_destination_ports) && m->protocol != FIREWALL_TCP &&
        m->protocol != FIREWALL_UDP) {
        struct json_at ports;
        rc = json_member(at, m->n_source_ports ? "source_ports" : "destination_ports", &ports, e);
        rc = json_refuse(rc ? at : &ports, e, "ports go with protocol tcp or udp alone");
    }
    return rc;
}

/* ---- put ---- */

static void put_side(struct json_writer *w, const char *key, const struct match_side *s)
{
    json_open_object(w, key);
    json_open_array(w, "prefixes");
    for (size_t i = 0; i < s->n_prefixes; i++)
        json_put_prefix(w, NULL, &s->prefixes[i]);
    json_close(w);
    json_open_array(w, "group_ids");
    for (size_t i = 0; i < s->n_groups; i++)
        json_put_id(w, NULL, &s->groups[i]);
    json_close(w);
    json_close(w);
}

static void put_ports(struct json_writer *w, const char *key, const struct firewall_ports *p,
                      size_t n)
{
    json_open_array(w, key);
    for (size_t i = 0; i < n; i++) {
        char text[PORTS_TEXT];
        if (p[i].first == p[i].last)
            (void)snprintf(text, sizeof text, "%u", p[i].first);
        else
            (void)snprintf(text, sizeof text, "%u-%u", p[i].first, p[i].last);
        json_put_str(w, NULL, text);
    }
    json_close(w);
}

void rule_match_put(struct json_writer *w, const struct rule_match *m)
{
    char text[16];
    (void)snprintf(text, sizeof text, "%d", m->protocol);
    for (size_t i = 0; i < N_PROTOCOLS; i++)
        if (protocols[i].protocol == m->protocol)
            (void)snprintf(text, sizeof text, "%s", protocols[i].name);
    json_put_str(w, "protocol", text);
    put_side(w, "source", &m->source);
    put_side(w, "destination", &m->destination);
    put_ports(w, "source_ports", m->source_ports, m->n_source_ports);
    put_ports(w, "destination_ports", m->destination_ports, m->n_destination_ports);
}

char *rule_match_text(const struct rule_match *m)
{
    struct json_writer w;
    json_writer_init(&w);
    rule_match_put(&w, m);
    return json_finish(&w, NULL);
}

int rule_match_parse(const char *text, struct rule_match *m, struct err *e)
{
    struct json_object *doc;
    int rc = json_parse(text, strlen(text), HW_REQUEST_BODY_MAX, &doc, e);
    if (rc)
        return rc;
    struct json_at top = json_root(doc);
    rule_match_any(m);
    rc = rule_match_read(&top, m, e);
    json_free(doc);
    return rc;
}
