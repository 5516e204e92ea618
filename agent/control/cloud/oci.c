/*
 * Oracle Cloud Infrastructure, instance metadata version 2: every request carries "Authorization:
 * Bearer Oracle". Neither public addresses nor the MTU are told: a gateway there is given its
 * public address by its settings or by an operator.
 */
#include "agent/control/cloud/provider.h"
#include "common/json.h"
#include <stdio.h>
#include <string.h>

enum { INSTANCE, USER_DATA, DONE };

static bool oci_ask(struct cloud_reading *r, struct cloud_ask *out)
{
    if (r->step == DONE || (r->step == USER_DATA && !r->want_user_data))
        return false;
    *out = (struct cloud_ask){.method = "GET",
                              .header = "Authorization: Bearer Oracle",
                              .may_miss = r->step == USER_DATA,
                              .user_data = r->step == USER_DATA};
    (void)snprintf(out->path, sizeof out->path, "/opc/v2/instance/%s",
                   r->step == USER_DATA ? "metadata/user_data" : "");
    return true;
}

static int oci_take(struct cloud_reading *r, const struct cloud_answer *a, struct err *e)
{
    struct node_cloud *where = &r->facts.where;
    struct json_object *doc;
    if (r->step++ == USER_DATA)
        return cloud_take_user_data(r, a, true, e);
    int rc = json_parse(a->body, a->len, CLOUD_ANSWER_MAX, &doc, e);
    if (rc)
        return rc;
    struct json_at top = json_root(doc);
    rc = cloud_facts_get_name(&top, "canonicalRegionName", where->region, e);
    rc = rc ? rc : cloud_facts_get_name(&top, "shape", where->size, e);
    json_free_secret(doc); /* the instance's document has the user data in it */
    return rc;
}

const struct cloud_provider cloud_oci = {.name = "oci", .ask = oci_ask, .take = oci_take};
