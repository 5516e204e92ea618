#include "common/model/firewall.h"
#include "controller/api/api.h"
#include "controller/api/page.h"
#include "controller/api/resource.h"
#include "controller/firewall/checks.h"
#include "controller/firewall/prefix_set.h"
#include "controller/store/address_group.h"
#include "controller/store/site.h"
#include <stdlib.h>

static const char *const members[] = {"name", "site_id", "description", "prefixes", NULL};
static const char *const filters[] = {"site_id", NULL};

static int put_group(struct json_writer *w, const struct resource_context *c, const void *row,
                     struct err *e)
{
    const struct store_address_group *g = row;
    (void)c, (void)e;
    json_put_id(w, "id", &g->id);
    json_put_str(w, "name", g->name);
    json_put_id(w, "site_id", &g->site_id);
    json_put_str(w, "description", g->description[0] ? g->description : NULL);
    json_open_array(w, "prefixes");
    for (size_t i = 0; i < g->n_prefixes; i++)
        json_put_prefix(w, NULL, &g->prefixes[i]);
    json_close(w);
    json_put_uint(w, "rules_using", g->rules_using);
    body_put_common(w, &g->common);
    return 0;
}

static int read_prefixes(const struct json_at *top, struct store_address_group *g, struct err *e)
{
    struct json_at array;
    size_t n = 0;
    int rc = json_get_array(top, "prefixes", FIREWALL_GROUP_PREFIXES_MAX, &array, &n, e);
    if (rc)
        return rc;
    free(g->prefixes);
    g->n_prefixes = 0;
    g->prefixes = calloc(n ? n : 1, sizeof *g->prefixes);
    if (!g->prefixes)
        return err_set(e, HW_ENOMEM, "out of memory");
    for (size_t i = 0; i < n && !rc; i++) {
        struct json_at at = json_element(&array, i);
        rc = json_as_prefix(&at, &g->prefixes[i], e);
    }
    if (!rc)
        g->n_prefixes = prefix_set_join(g->prefixes, n);
    return rc;
}

static int read_group(const struct json_at *top, enum body_mode mode, void *row, struct err *e)
{
    struct store_address_group *g = row;
    int rc = 0;
    if (body_wants(top, "name", mode, true))
        rc = json_get_name(top, "name", g->name, e);
    if (!rc && body_wants(top, "site_id", mode, true))
        rc = json_get_id(top, "site_id", &g->site_id, e);
    if (!rc && body_wants(top, "description", mode, false))
        rc = body_text_or_null(top, "description", g->description, sizeof g->description, e);
    if (!rc && body_wants(top, "prefixes", mode, true))
        rc = read_prefixes(top, g, e);
    return rc;
}

static int check_group(struct db *db, const void *old, void *row, struct err *e)
{
    const struct store_address_group *was = old, *g = row;
    struct store_site site;
    if (was && was->rules_using && !id_equal(&was->site_id, &g->site_id))
        return err_set_field(e, HW_ECONFLICT, "site_id", "%u rules of its site use the group",
                             was->rules_using);
    int rc = store_site_get(db, &g->site_id, &site, e);
    return rc == HW_ENOTFOUND ? err_set_field(e, HW_EINVAL, "site_id", "there is no such site")
                              : rc;
}

RESOURCE_STORE(address_group)

static int update_group(struct db *db, void *row, struct err *e)
{
    const struct store_address_group *g = row;
    int rc = update_address_group(db, row, e);
    return rc || !g->rules_using ? rc : firewall_check_site(db, &g->site_id, "prefixes", e);
}

static int list_groups(struct db *db, const struct http_request *req, const struct store_page *page,
                       void **rows, size_t *n, struct err *e)
{
    struct store_address_group *list = NULL;
    struct hw_id site_id;
    bool by_site;
    int rc = page_filter_id(req, "site_id", &site_id, &by_site, e);
    if (!rc)
        rc = store_address_group_list(db, page, by_site ? &site_id : NULL, &list, n, e);
    *rows = list;
    return rc;
}

static int remove_group(struct db *db, void *row, struct err *e)
{
    const struct store_address_group *g = row;
    if (g->rules_using)
        return err_set(e, HW_ECONFLICT, "%u rules use the group", g->rules_using);
    return store_address_group_delete(db, &g->id, e);
}

static void group_done(void *row)
{
    free(((struct store_address_group *)row)->prefixes);
}

const struct resource address_groups = {
    .path = "/api/v1/address-groups",
    .filters = filters,
    .members = members,
    .changes = members,
    .size = sizeof(struct store_address_group),
    .id = offsetof(struct store_address_group, id),
    .common = offsetof(struct store_address_group, common),
    .key = RESOURCE_BY_ID,
    .planned = true,
    .read = read_group,
    .check = check_group,
    .put = put_group,
    .get = get_address_group,
    .list = list_groups,
    .insert = insert_address_group,
    .update = update_group,
    .remove = remove_group,
    .done = group_done,
};
