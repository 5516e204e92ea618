/* Pairs of sites that were joined and are no longer. The planner makes them; deleting one lets the
 * kernels of both sites' gateways route to the other again as they route to the rest of the world.
 */
#include "controller/api/api.h"
#include "controller/api/page.h"
#include "controller/api/resource.h"
#include "controller/store/site_join.h"
#include <stdlib.h>

static int put_separation(struct json_writer *w, const struct resource_context *c, const void *row,
                          struct err *e)
{
    const struct store_site_join *j = row;
    (void)c, (void)e;
    json_put_id(w, "id", &j->id);
    json_put_id(w, "site_a_id", &j->site_a_id);
    json_put_id(w, "site_b_id", &j->site_b_id);
    body_put_common(w, &j->common);
    return 0;
}

static int get_separation(struct db *db, const struct hw_id *id, void *row, struct err *e)
{
    return store_site_join_former_get(db, id, row, e);
}

static int list_separations(struct db *db, const struct http_request *req,
                            const struct store_page *page, void **rows, size_t *n, struct err *e)
{
    struct store_site_join *list = NULL;
    struct hw_id site_id;
    bool by_site;
    int rc = page_filter_id(req, "site_id", &site_id, &by_site, e);
    if (!rc)
        rc = store_site_join_former(db, page, by_site ? &site_id : NULL, &list, n, e);
    *rows = list;
    return rc;
}

static int remove_separation(struct db *db, void *row, struct err *e)
{
    const struct store_site_join *j = row;
    return store_site_join_delete(db, &j->id, e);
}

static const char *const filters[] = {"site_id", NULL};

const struct resource separations = {
    .path = "/api/v1/separations",
    .filters = filters,
    .size = sizeof(struct store_site_join),
    .id = offsetof(struct store_site_join, id),
    .common = offsetof(struct store_site_join, common),
    .key = RESOURCE_BY_ID,
    .planned = true,
    .put = put_separation,
    .get = get_separation,
    .list = list_separations,
    .remove = remove_separation,
};
