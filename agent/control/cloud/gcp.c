/*
 * Google Compute Engine: requests and answers carry "Metadata-Flavor: Google"; an answer without it
 * is somebody else's. Machine type and zone are paths of which the last part counts.
 */
#include "agent/control/cloud/provider.h"
#include "common/json.h"
#include <stdio.h>
#include <string.h>

enum { SIZE, ZONE, INTERFACES, USER_DATA, DONE };

static bool gcp_ask(struct cloud_reading *r, struct cloud_ask *out)
{
    static const char *const paths[] = {
        [SIZE] = "machine-type",
        [ZONE] = "zone",
        [INTERFACES] = "network-interfaces/?recursive=true&alt=json",
        [USER_DATA] = "attributes/user-data",
    };
    if (r->step == DONE || (r->step == USER_DATA && !r->want_user_data))
        return false;
    *out = (struct cloud_ask){.method = "GET",
                              .header = "Metadata-Flavor: Google",
                              .may_miss = r->step == USER_DATA,
                              .user_data = r->step == USER_DATA};
    (void)snprintf(out->path, sizeof out->path, "/computeMetadata/v1/instance/%s", paths[r->step]);
    return true;
}

/* "projects/1234/machineTypes/n2-standard-4" */
static int take_last_part(const struct cloud_answer *a, char out[HW_NAME_MAX + 1], struct err *e)
{
    const char *s = a->body;
    for (const char *slash; (slash = memchr(s, '/', a->len - (size_t)(s - a->body)));)
        s = slash + 1;
    return cloud_facts_name(s, a->len - (size_t)(s - a->body), out, e);
}

/* Zone europe-west1-b is in the region europe-west1. */
static int take_zone(struct cloud_reading *r, const struct cloud_answer *a, struct err *e)
{
    char *region = r->facts.where.region;
    int rc = take_last_part(a, region, e);
    char *dash = rc ? NULL : strrchr(region, '-');
    if (rc)
        return rc;
    if (!dash || dash == region)
        return err_set(e, HW_EINVAL, "not a zone");
    *dash = '\0';
    return 0;
}

static int take_mtu(const struct json_at *interface, const char *ip, struct cloud_facts *f,
                    struct err *e)
{
    struct cloud_mtu m = {.mtu = 0};
    if (!json_has(interface, "mtu") || f->n_mtus == CLOUD_MTUS_MAX)
        return 0;
    int rc = json_get_u32(interface, "mtu", 576, 65535, &m.mtu, e);
    if (!rc && ipaddr_parse(ip, &m.address) < 0)
        rc = err_set(e, HW_EINVAL, "not an address");
    if (!rc)
        f->mtus[f->n_mtus++] = m;
    return rc;
}

static int take_interface(const struct json_at *interface, struct cloud_facts *f, struct err *e)
{
    struct json_at list;
    const char *ip, *outside;
    size_t n = 0;
    if (!json_has(interface, "ip")) /* IPv6 alone: those addresses stand on the interface */
        return 0;
    int rc = json_get_str(interface, "ip", 64, &ip, e);
    rc = rc ? rc : take_mtu(interface, ip, f, e);
    if (rc || !json_has(interface, "accessConfigs"))
        return rc;
    rc = json_get_array(interface, "accessConfigs", 64, &list, &n, e);
    for (size_t i = 0; !rc && i < n; i++) {
        struct json_at one = json_element(&list, i);
        if (!json_has(&one, "externalIp"))
            continue;
        rc = json_get_str(&one, "externalIp", 64, &outside, e);
        rc = rc ? rc : cloud_facts_translate(f, ip, outside, e);
    }
    return rc;
}

static int take_interfaces(struct cloud_reading *r, const struct cloud_answer *a, struct err *e)
{
    struct json_object *doc;
    size_t n;
    int rc = json_parse(a->body, a->len, CLOUD_ANSWER_MAX, &doc, e);
    if (rc)
        return rc;
    struct json_at top = json_root(doc);
    rc = json_as_array(&top, 64, &n, e);
    for (size_t i = 0; !rc && i < n; i++) {
        struct json_at one = json_element(&top, i);
        rc = take_interface(&one, &r->facts, e);
    }
    json_free(doc);
    return rc;
}

static int gcp_take(struct cloud_reading *r, const struct cloud_answer *a, struct err *e)
{
    if (!a->flavor || strcmp(a->flavor, "Google") != 0)
        return err_set(e, HW_EINVAL, "the answer does not say Metadata-Flavor: Google");
    switch (r->step++) {
    case SIZE:
        return take_last_part(a, r->facts.where.size, e);
    case ZONE:
        return take_zone(r, a, e);
    case INTERFACES:
        return take_interfaces(r, a, e);
    default:
        return cloud_take_user_data(r, a, false, e);
    }
}

const struct cloud_provider cloud_gcp = {.name = "gcp", .ask = gcp_ask, .take = gcp_take};
