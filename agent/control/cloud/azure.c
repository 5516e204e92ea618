/*
 * Azure, Instance Metadata Service: every request carries "Metadata: true" and an api-version. A
 * public address of the Standard SKU does not stand at the interface but with the load balancers.
 * MTU is no part of it.
 */
#include "agent/control/cloud/provider.h"
#include "common/json.h"
#include <stdio.h>
#include <string.h>

enum { INSTANCE, BALANCER, USER_DATA, DONE };

static bool azure_ask(struct cloud_reading *r, struct cloud_ask *out)
{
    static const char *const paths[] = {
        [INSTANCE] = "/metadata/instance?api-version=2021-02-01&format=json",
        [BALANCER] = "/metadata/loadbalancer?api-version=2020-10-01&format=json",
        [USER_DATA] = "/metadata/instance/compute/userData?api-version=2021-02-01&format=text",
    };
    if (r->step == DONE || (r->step == USER_DATA && !r->want_user_data))
        return false;
    *out = (struct cloud_ask){.method = "GET",
                              .header = "Metadata: true",
                              .may_miss = r->step != INSTANCE,
                              .user_data = r->step == USER_DATA};
    (void)snprintf(out->path, sizeof out->path, "%s", paths[r->step]);
    return true;
}

/* A text that may be missing: "". */
static const char *text(const struct json_at *at, const char *key)
{
    const char *s;
    return json_has(at, key) && json_get_str(at, key, 4096, &s, NULL) == 0 ? s : "";
}

static int take_pair(const struct json_at *at, const char *inside, const char *outside,
                     struct cloud_facts *f, struct err *e)
{
    return cloud_facts_translate(f, text(at, inside), text(at, outside), e);
}

static int take_addresses(const struct json_at *interface, struct cloud_facts *f, struct err *e)
{
    struct json_at ipv4, list;
    size_t n;
    if (!json_has(interface, "ipv4"))
        return 0;
    int rc = json_get_object(interface, "ipv4", &ipv4, e);
    rc = rc ? rc : json_get_array(&ipv4, "ipAddress", 256, &list, &n, e);
    for (size_t i = 0; !rc && i < n; i++) {
        struct json_at one = json_element(&list, i);
        rc = take_pair(&one, "privateIpAddress", "publicIpAddress", f, e);
    }
    return rc;
}

static int take_instance(const struct json_at *top, struct cloud_facts *f, struct err *e)
{
    struct json_at compute, network, list;
    size_t n = 0;
    int rc = json_get_object(top, "compute", &compute, e);
    rc = rc ? rc : cloud_facts_get_name(&compute, "location", f->where.region, e);
    rc = rc ? rc : cloud_facts_get_name(&compute, "vmSize", f->where.size, e);
    rc = rc ? rc : json_get_object(top, "network", &network, e);
    rc = rc ? rc : json_get_array(&network, "interface", 64, &list, &n, e);
    for (size_t i = 0; !rc && i < n; i++) {
        struct json_at one = json_element(&list, i);
        rc = take_addresses(&one, f, e);
    }
    return rc;
}

static int take_balancer(const struct json_at *top, struct cloud_facts *f, struct err *e)
{
    struct json_at balancer, list;
    size_t n = 0;
    int rc = json_get_object(top, "loadbalancer", &balancer, e);
    if (rc || !json_has(&balancer, "publicIpAddresses"))
        return rc;
    rc = json_get_array(&balancer, "publicIpAddresses", 256, &list, &n, e);
    for (size_t i = 0; !rc && i < n; i++) {
        struct json_at one = json_element(&list, i);
        rc = take_pair(&one, "privateIpAddress", "frontendIpAddress", f, e);
    }
    return rc;
}

static int azure_take(struct cloud_reading *r, const struct cloud_answer *a, struct err *e)
{
    unsigned step = r->step++;
    struct json_object *doc;
    if (step == USER_DATA)
        return cloud_take_user_data(r, a, true, e);
    if (a->status != 200)
        return 0;
    int rc = json_parse(a->body, a->len, CLOUD_ANSWER_MAX, &doc, e);
    if (rc)
        return rc;
    struct json_at top = json_root(doc);
    rc = step == INSTANCE ? take_instance(&top, &r->facts, e) : take_balancer(&top, &r->facts, e);
    json_free_secret(doc); /* the instance's document has the user data in it */
    return rc;
}

const struct cloud_provider cloud_azure = {.name = "azure", .ask = azure_ask, .take = azure_take};
