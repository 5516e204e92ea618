#include "common/model/report.h"
#include "common/esp_suite.h"
#include "common/model/report_part.h"
#include <stdlib.h>
#include <string.h>

/* Indexed by the enums that they name. */
static const char *const features[] = {"udp_gso", "udp_gro",  "tun_uso",
                                       "seccomp", "landlock", NULL};
static const char *const providers[] = {"ipsec-mb", "libcrypto",
                                        NULL}; /* less DP_PROVIDER_IPSEC_MB */

const char *report_feature_name(unsigned bit)
{
    return bit < sizeof features / sizeof features[0] ? features[bit] : NULL;
}

/* ---- encode ---- */

static void put_or_null(struct json_writer *w, const char *key, const char *s)
{
    json_put_str(w, key, s[0] ? s : NULL);
}

void report_put_revisions_open(struct json_writer *w, const struct report_revisions *r)
{
    json_open_object(w, "revisions");
    json_put_uint(w, "received", r->received);
    json_put_uint(w, "applied", r->applied);
    json_put_uint(w, "in_force", r->in_force);
    json_open_array(w, "refused");
    for (size_t i = 0; i < r->n_refused; i++) {
        json_open_object(w, NULL);
        json_put_uint(w, "revision", r->refused[i].revision);
        json_put_str(w, "reason", r->refused[i].reason);
        json_close(w);
    }
    json_close(w);
}

void report_put_dataplane(struct json_writer *w, const struct report_dataplane *d)
{
    json_open_object(w, "dataplane");
    json_put_bool(w, "connected", d->connected);
    if (id_is_zero(&d->boot_id))
        json_put_null(w, "boot_id");
    else
        json_put_id(w, "boot_id", &d->boot_id);
    put_or_null(w, "version", d->version);
    json_put_uint(w, "workers", d->workers);
    json_put_str(w, "provider", d->provider ? dp_provider_name(d->provider) : NULL);
    json_open_array(w, "features");
    for (unsigned bit = 0; report_feature_name(bit); bit++)
        if (d->features & 1u << bit)
            json_put_str(w, NULL, report_feature_name(bit));
    json_close(w);
    json_open_array(w, "suites");
    for (unsigned id = 1; id <= ESP_SUITE_MAX; id++)
        if (d->suites & 1u << id)
            json_put_str(w, NULL, esp_suite_by_id(id)->name);
    json_close(w);
    json_close(w);
}

void report_put_drops(struct json_writer *w, const uint64_t drops[DROP_COUNT])
{
    json_open_object(w, "drops");
    for (unsigned i = DROP_NONE + 1; i < DROP_COUNT; i++)
        if (drops[i])
            json_put_uint(w, drop_reason_name(i), drops[i]);
    json_close(w);
}

static void put_system(struct json_writer *w, const struct report *r)
{
    json_open_object(w, "system");
    json_put_bool(w, "ip_forward", r->ip_forward);
    json_open_array(w, "problems");
    for (size_t i = 0; i < r->n_problems; i++)
        json_put_str(w, NULL, r->problems[i]);
    json_close(w);
    json_close(w);
}

char *report_encode(const struct report *r, size_t *len)
{
    struct json_writer w;
    json_writer_init(&w);
    json_put_str(&w, "agent_version", r->agent_version);
    json_put_id(&w, "boot_id", &r->boot_id);
    json_put_int(&w, "time", r->time);
    json_put_int(&w, "wall_skew_seconds", r->wall_skew_seconds);
    report_put_revisions_open(&w, &r->revisions);
    json_close(&w);
    json_put_uint(&w, "denials_revision", r->denials_revision);
    node_put(&w, &r->node);
    if (r->cloud.provider[0])
        node_cloud_put(&w, &r->cloud);
    report_put_dataplane(&w, &r->dataplane);
    json_put_double(&w, "interval_seconds", r->interval_seconds);
    json_put_uint(&w, "samples", r->samples);
    report_put_totals(&w, &r->totals);
    json_open_array(&w, "links");
    for (size_t i = 0; i < r->n_links; i++) {
        json_open_object(&w, NULL);
        report_put_link_members(&w, &r->links[i]);
        json_close(&w);
    }
    json_close(&w);
    report_put_workers(&w, r);
    report_put_drops(&w, r->drops);
    put_system(&w, r);
    report_put_conntrack(&w, &r->conntrack);
    firewall_report_put(&w, &r->firewall);
    json_open_array(&w, "commands");
    json_close(&w);
    return json_finish(&w, len);
}

/* ---- decode ---- */

/* A member that may be null: *out stays as it is then. */
static int get_text_or_null(const struct json_at *at, const char *key, char *out, size_t cap,
                            struct err *e)
{
    struct json_at m;
    int rc = json_member(at, key, &m, e);
    return !rc && m.value ? json_as_text(&m, out, cap, e) : rc;
}

static int get_revisions(const struct json_at *top, struct report_revisions *r, struct err *e)
{
    static const char *const members[] = {"received", "applied", "in_force", "refused", NULL};
    static const char *const refused_members[] = {"revision", "reason", NULL};
    struct json_at o, a;
    int rc = json_get_object(top, "revisions", &o, e);
    rc = rc ? rc : json_members(&o, members, e);
    rc = rc ? rc : report_get_counter(&o, "received", &r->received, e);
    rc = rc ? rc : report_get_counter(&o, "applied", &r->applied, e);
    rc = rc ? rc : report_get_counter(&o, "in_force", &r->in_force, e);
    rc = rc ? rc : json_get_array(&o, "refused", REPORT_REFUSED_MAX, &a, &r->n_refused, e);
    for (size_t i = 0; !rc && i < r->n_refused; i++) {
        struct json_at v = json_element(&a, i);
        rc = json_members(&v, refused_members, e);
        rc = rc ? rc : report_get_counter(&v, "revision", &r->refused[i].revision, e);
        rc = rc ? rc
                : json_get_text(&v, "reason", r->refused[i].reason, sizeof r->refused[i].reason, e);
    }
    return rc;
}

static int get_features(const struct json_at *at, uint32_t *out, struct err *e)
{
    struct json_at a;
    size_t n = 0;
    int rc = json_get_array(at, "features", 32, &a, &n, e);
    for (size_t i = 0; !rc && i < n; i++) {
        struct json_at v = json_element(&a, i);
        const char *name = NULL;
        rc = json_as_str(&v, HW_TEXT_MAX, &name, e);
        for (unsigned bit = 0; !rc && report_feature_name(bit); bit++)
            if (strcmp(report_feature_name(bit), name) == 0)
                *out |= 1u << bit;
    }
    return rc;
}

/* A suite of tomorrow is passed over: it is never asked for. */
static int get_suites(const struct json_at *at, uint32_t *out, struct err *e)
{
    struct json_at a;
    size_t n = 0;
    if (!json_has(at, "suites"))
        return 0;
    int rc = json_get_array(at, "suites", 32, &a, &n, e);
    for (size_t i = 0; !rc && i < n; i++) {
        struct json_at v = json_element(&a, i);
        const char *name = NULL;
        rc = json_as_str(&v, HW_TEXT_MAX, &name, e);
        const struct esp_suite *s = rc ? NULL : esp_suite_by_name(name);
        if (s)
            *out |= 1u << s->id;
    }
    return rc;
}

static int get_dataplane(const struct json_at *top, struct report_dataplane *d, struct err *e)
{
    static const char *const members[] = {"connected", "boot_id",  "version", "workers",
                                          "provider",  "features", "suites",  NULL};
    struct json_at o, m;
    unsigned provider = 0;
    int rc = json_get_object(top, "dataplane", &o, e);
    rc = rc ? rc : json_members(&o, members, e);
    rc = rc ? rc : json_get_bool(&o, "connected", &d->connected, e);
    rc = rc ? rc : json_member(&o, "boot_id", &m, e);
    if (!rc && m.value)
        rc = json_as_id(&m, &d->boot_id, e);
    rc = rc ? rc : get_text_or_null(&o, "version", d->version, sizeof d->version, e);
    rc = rc ? rc : json_get_u32(&o, "workers", 0, HW_WORKERS_MAX, &d->workers, e);
    rc = rc ? rc : json_member(&o, "provider", &m, e);
    if (!rc && m.value) {
        rc = json_as_enum(&m, providers, &provider, e);
        d->provider = provider + DP_PROVIDER_IPSEC_MB;
    }
    rc = rc ? rc : get_features(&o, &d->features, e);
    rc = rc ? rc : get_suites(&o, &d->suites, e);
    return rc;
}

static int get_drops(const struct json_at *top, struct report *r, struct err *e)
{
    struct json_at o;
    int rc = json_get_object(top, "drops", &o, e);
    for (unsigned i = DROP_NONE + 1; !rc && i < DROP_COUNT; i++)
        if (json_has(&o, drop_reason_name(i)))
            rc = report_get_counter(&o, drop_reason_name(i), &r->drops[i], e);
    return rc;
}

static int get_system(const struct json_at *top, struct report *r, struct err *e)
{
    static const char *const members[] = {"ip_forward", "problems", NULL};
    struct json_at o, a;
    size_t n = 0;
    int rc = json_get_object(top, "system", &o, e);
    rc = rc ? rc : json_members(&o, members, e);
    rc = rc ? rc : json_get_bool(&o, "ip_forward", &r->ip_forward, e);
    rc = rc ? rc
            : json_get_room(&o, "problems", REPORT_PROBLEMS_MAX, sizeof *r->problems, &a,
                            &r->problems, &n, e);
    if (rc || n == 0)
        return rc;
    r->n_problems = n;
    for (size_t i = 0; !rc && i < n; i++) {
        struct json_at v = json_element(&a, i);
        rc = json_as_text(&v, r->problems[i], sizeof r->problems[i], e);
    }
    return rc;
}

static int decode_top(const struct json_at *top, struct report *r, struct err *e)
{
    static const char *const members[] = {"agent_version",
                                          "boot_id",
                                          "time",
                                          "wall_skew_seconds",
                                          "revisions",
                                          "denials_revision",
                                          "interfaces",
                                          "endpoints",
                                          "dataplane",
                                          "interval_seconds",
                                          "samples",
                                          "totals",
                                          "links",
                                          "workers",
                                          "drops",
                                          "system",
                                          "conntrack",
                                          "firewall",
                                          "commands",
                                          "cloud",
                                          NULL};
    struct json_at commands;
    size_t n;
    int rc = json_members(top, members, e);
    rc =
        rc ? rc : json_get_text(top, "agent_version", r->agent_version, sizeof r->agent_version, e);
    rc = rc ? rc : json_get_id(top, "boot_id", &r->boot_id, e);
    rc = rc ? rc : json_get_int(top, "time", 0, INT64_MAX, &r->time, e);
    rc =
        rc ? rc
           : json_get_int(top, "wall_skew_seconds", INT64_MIN, INT64_MAX, &r->wall_skew_seconds, e);
    rc = rc ? rc : get_revisions(top, &r->revisions, e);
    rc = rc ? rc : report_get_counter(top, "denials_revision", &r->denials_revision, e);
    rc = rc ? rc : node_get(top, &r->node, e);
    rc = rc ? rc : node_cloud_get(top, &r->cloud, e);
    rc = rc ? rc : get_dataplane(top, &r->dataplane, e);
    rc = rc ? rc : json_get_double(top, "interval_seconds", 0, 86400, &r->interval_seconds, e);
    if (!rc && json_has(top, "samples"))
        rc = json_get_u32(top, "samples", 0, 86400, &r->samples, e);
    rc = rc ? rc : report_get_totals(top, &r->totals, e);
    rc = rc ? rc : report_get_links(top, r, e);
    rc = rc ? rc : report_get_workers(top, r, e);
    rc = rc ? rc : get_drops(top, r, e);
    rc = rc ? rc : get_system(top, r, e);
    rc = rc ? rc : report_get_conntrack(top, &r->conntrack, e);
    rc = rc ? rc : firewall_report_get(top, &r->firewall, e);
    /* No agent of today runs commands, so none has results. */
    rc = rc ? rc : json_get_array(top, "commands", 0, &commands, &n, e);
    return rc;
}

int report_decode(const char *json, size_t len, struct report *out, struct err *e)
{
    struct json_object *doc;
    struct report r = {0};
    int rc = json_parse(json, len, REPORT_BODY_MAX, &doc, e);
    if (rc)
        return rc;
    struct json_at top = json_root(doc);
    rc = decode_top(&top, &r, e);
    json_free(doc);
    if (rc)
        report_done(&r);
    else
        *out = r;
    return rc;
}

void report_done(struct report *r)
{
    if (!r)
        return;
    for (size_t i = 0; i < r->n_links; i++)
        free(r->links[i].tunnels);
    free(r->links);
    free(r->problems);
    firewall_report_done(&r->firewall);
    *r = (struct report){0};
}
