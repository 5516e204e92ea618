#include "agent/control/status_text.h"
#include "common/json.h"
#include "common/limits.h"
#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

#define STATUS_MAX (64u << 20)

/* The text comes from our own agent, perhaps of another version: what is missing is shown as "-"
 * and no error. */
static const char *text(const struct json_at *at, const char *key)
{
    const char *s;
    return json_has(at, key) && json_get_str(at, key, SIZE_MAX, &s, NULL) == 0 ? s : "-";
}

static uint64_t number(const struct json_at *at, const char *key)
{
    uint64_t v;
    return json_has(at, key) && json_get_uint(at, key, 0, UINT64_MAX, &v, NULL) == 0 ? v : 0;
}

static bool flag(const struct json_at *at, const char *key)
{
    bool v;
    return json_has(at, key) && json_get_bool(at, key, &v, NULL) == 0 && v;
}

static bool object(const struct json_at *at, const char *key, struct json_at *out)
{
    return json_has(at, key) && json_get_object(at, key, out, NULL) == 0;
}

static size_t array(const struct json_at *at, const char *key, struct json_at *out)
{
    size_t n;
    return json_has(at, key) && json_get_array(at, key, SIZE_MAX, out, &n, NULL) == 0 ? n : 0;
}

static const char *age(int64_t now_s, uint64_t then_s, char out[48])
{
    int64_t d = then_s ? now_s - (int64_t)then_s : -1;
    if (then_s == 0)
        return "never";
    d = d < 0 ? 0 : d;
    if (d < 120)
        (void)snprintf(out, 48, "%" PRId64 " s ago", d);
    else if (d < 7200)
        (void)snprintf(out, 48, "%" PRId64 " min ago", d / 60);
    else if (d < 2 * 86400)
        (void)snprintf(out, 48, "%" PRId64 " h ago", d / 3600);
    else
        (void)snprintf(out, 48, "%" PRId64 " d ago", d / 86400);
    return out;
}

static const char *scaled(double v, double step, const char *const units[5], char out[32])
{
    unsigned i = 0;
    while (v >= step && i < 4) {
        v /= step;
        i++;
    }
    (void)snprintf(out, 32, i ? "%.2f %s" : "%.0f %s", v, units[i]);
    return out;
}

static const char *bytes(uint64_t v, char out[32])
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    return scaled((double)v, 1024, units, out);
}

static const char *bits(uint64_t v, char out[32])
{
    static const char *const units[] = {"bit/s", "kbit/s", "Mbit/s", "Gbit/s", "Tbit/s"};
    return scaled((double)v, 1000, units, out);
}

static void print_controller(FILE *f, const struct json_at *top, int64_t now_s)
{
    struct json_at c, r;
    char when[48];
    if (object(top, "controller", &c)) {
        (void)fprintf(f, "  controller:   %s %s, last contact %s\n", text(&c, "url"),
                      text(&c, "state"), age(now_s, number(&c, "last_contact"), when));
        if (strcmp(text(&c, "last_error"), "") != 0)
            (void)fprintf(f, "                %s\n", text(&c, "last_error"));
    }
    if (!object(top, "revisions", &r))
        return;
    (void)fprintf(f,
                  "  config:       revision %" PRIu64 " in force, %" PRIu64 " confirmed, %" PRIu64
                  " received\n",
                  number(&r, "in_force"), number(&r, "confirmed"), number(&r, "received"));
    struct json_at refused;
    size_t n = array(&r, "refused", &refused);
    for (size_t i = 0; i < n; i++) {
        struct json_at one = json_element(&refused, i);
        (void)fprintf(f, "  refused:      revision %" PRIu64 ": %s\n", number(&one, "revision"),
                      text(&one, "reason"));
    }
}

static void print_where(FILE *f, const struct json_at *cloud)
{
    static const char *const keys[] = {"provider", "region", "size"};
    bool any = false;
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        struct json_at v;
        if (!object(cloud, keys[i], &v))
            continue;
        (void)fprintf(f, any ? ", %s%s%s (%s)" : "  cloud:        %s%s%s (%s)", i ? keys[i] : "",
                      i ? " " : "", text(&v, "value"), text(&v, "source"));
        any = true;
    }
    if (any)
        (void)fputc('\n', f);
}

static void print_cloud(FILE *f, const struct json_at *top)
{
    struct json_at cloud, list;
    if (!object(top, "cloud", &cloud))
        return;
    print_where(f, &cloud);
    size_t n = array(&cloud, "public_addresses", &list);
    for (size_t i = 0; i < n; i++) {
        struct json_at p = json_element(&list, i);
        bool inside = json_has(&p, "inside");
        (void)fprintf(f, "  public:       %s%s%s (%s)\n", text(&p, "address"),
                      inside ? " for " : "", inside ? text(&p, "inside") : "", text(&p, "source"));
    }
    if (json_has(&cloud, "error"))
        (void)fprintf(f, "  metadata:     %s: %s\n", text(&cloud, "service"),
                      text(&cloud, "error"));
}

static void print_gateway(FILE *f, const struct json_at *top, int64_t now_s)
{
    struct json_at o, list;
    (void)fprintf(f, "gateway: %s, site %s\n", text(top, "name"), text(top, "site_name"));
    (void)fprintf(f, "  id:           %s\n", text(top, "gateway_id"));
    (void)fprintf(f, "  agent:        %s, %s\n", text(top, "version"),
                  flag(top, "enrolled") ? "enrolled" : "not enrolled");
    if (object(top, "certificate", &o))
        (void)fprintf(f, "  certificate:  serial %s, ends %s\n", text(&o, "serial"),
                      text(&o, "not_after"));
    print_controller(f, top, now_s);
    print_cloud(f, top);
    if (object(top, "clock", &o)) {
        int64_t skew = 0;
        (void)json_get_int(&o, "skew_seconds", INT64_MIN, INT64_MAX, &skew, NULL);
        (void)fprintf(f, "  clock:        by %s, wall clock %+" PRId64 " s\n", text(&o, "source"),
                      skew);
    }
    if (object(top, "dataplane", &o)) {
        if (flag(&o, "connected"))
            (void)fprintf(f, "  dataplane:    %s, %" PRIu64 " workers, %s\n", text(&o, "version"),
                          number(&o, "workers"), text(&o, "provider"));
        else
            (void)fprintf(f, "  dataplane:    away\n");
    }
    if (!object(top, "system", &o))
        return;
    (void)fprintf(f, "  forwarding:   %s\n", flag(&o, "ip_forward") ? "on" : "off");
    size_t n = array(&o, "problems", &list);
    for (size_t i = 0; i < n; i++) {
        struct json_at one = json_element(&list, i);
        const char *s;
        if (json_as_str(&one, SIZE_MAX, &s, NULL) == 0)
            (void)fprintf(f, "  problem:      %s\n", s);
    }
}

static void print_tunnels(FILE *f, const struct json_at *link)
{
    struct json_at tunnels;
    size_t n = array(link, "tunnels", &tunnels), up = 0;
    uint64_t rtt = 0, tx = 0, rx = 0;
    char a[32], b[32];
    for (size_t i = 0; i < n; i++) {
        struct json_at t = json_element(&tunnels, i);
        bool is_up = strcmp(text(&t, "state"), "up") == 0;
        uint64_t r = number(&t, "rtt_us");
        up += is_up;
        rtt = is_up && r && (rtt == 0 || r < rtt) ? r : rtt;
        tx += number(&t, "tx_bytes");
        rx += number(&t, "rx_bytes");
    }
    (void)fprintf(f, "  tunnels:      %zu of %zu up", up, n);
    if (rtt)
        (void)fprintf(f, ", rtt %.3f ms", (double)rtt / 1000);
    (void)fprintf(f, "\n  transfer:     %s sent, %s received\n", bytes(tx, a), bytes(rx, b));
    (void)fprintf(f, "  rate:         %s sent, %s received\n", bits(number(link, "tx_bps"), a),
                  bits(number(link, "rx_bps"), b));
}

static void print_link(FILE *f, const struct json_at *l, int64_t now_s)
{
    struct json_at k;
    char when[48];
    (void)fprintf(f, "\nlink: %s\n", text(l, "peer"));
    (void)fprintf(f, "  id:           %s\n", text(l, "link_id"));
    (void)fprintf(f, "  state:        %s%s%s, since %s\n", text(l, "state"),
                  text(l, "reason")[0] ? ": " : "", text(l, "reason"),
                  age(now_s, number(l, "since"), when));
    (void)fprintf(f, "  path:         %s to %s\n", text(l, "local"), text(l, "remote"));
    (void)fprintf(f, "  keys:         %s, epoch %" PRIu64 ", made %s\n", text(l, "suite"),
                  number(l, "epoch"), age(now_s, number(l, "rekeyed_at"), when));
    if (object(l, "keying", &k)) {
        (void)fprintf(f, "  keying:       %s", text(&k, "state"));
        if (number(&k, "failures"))
            (void)fprintf(f, ", %" PRIu64 " failures in a row: %s", number(&k, "failures"),
                          text(&k, "last_error"));
        (void)fputc('\n', f);
    }
    (void)fprintf(f, "  mtu:          %" PRIu64 "\n", number(l, "mtu"));
    print_tunnels(f, l);
}

int status_text_print(FILE *f, const char *json, size_t len, int64_t now_s, struct err *e)
{
    struct json_object *doc;
    int rc = json_parse(json, len, STATUS_MAX, &doc, e);
    if (rc < 0)
        return rc;
    struct json_at top = json_root(doc), links;
    print_gateway(f, &top, now_s);
    size_t n = array(&top, "links", &links);
    for (size_t i = 0; i < n; i++) {
        struct json_at l = json_element(&links, i);
        print_link(f, &l, now_s);
    }
    json_free(doc);
    return 0;
}

static void dump_tunnel(FILE *f, const struct json_at *l, const struct json_at *t)
{
    static const char *const counters[] = {"rtt_us",          "tx_packets", "tx_bytes",
                                           "rx_packets",      "rx_bytes",   "probes_sent",
                                           "probes_answered", "probes_lost"};
    (void)fprintf(f, "%s\t%s\t%" PRIu64 "\t%" PRIu64 "\t%s\t%s", text(l, "link_id"),
                  text(l, "peer"), number(t, "tunnel"), number(t, "port"), text(t, "state"),
                  text(t, "reason"));
    for (size_t i = 0; i < sizeof counters / sizeof *counters; i++)
        (void)fprintf(f, "\t%" PRIu64, number(t, counters[i]));
    (void)fputc('\n', f);
}

int status_text_dump(FILE *f, const char *json, size_t len, struct err *e)
{
    struct json_object *doc;
    int rc = json_parse(json, len, STATUS_MAX, &doc, e);
    if (rc < 0)
        return rc;
    struct json_at top = json_root(doc), links;
    size_t n = array(&top, "links", &links);
    for (size_t i = 0; i < n; i++) {
        struct json_at l = json_element(&links, i), tunnels;
        size_t m = array(&l, "tunnels", &tunnels);
        for (size_t k = 0; k < m; k++) {
            struct json_at t = json_element(&tunnels, k);
            dump_tunnel(f, &l, &t);
        }
    }
    json_free(doc);
    return 0;
}
