#include "controller/api/api.h"
#include "controller/api/page.h"
#include "controller/api/resource.h"
#include "controller/api/status_json.h"
#include "controller/store/connection.h"
#include "controller/store/link.h"
#include "controller/telemetry/status.h"
#include <stdlib.h>

static const char *const changes[] = {"tunnels_override", "enabled", NULL};

static int put_link(struct json_writer *w, const struct resource_context *c, const void *row,
                    struct err *e)
{
    const struct store_link *l = row;
    struct status status = {0};
    int rc = status_of_link(c->db, l, store_now(c->db), &status, e);
    if (rc)
        return rc;
    json_put_id(w, "id", &l->id);
    if (id_is_zero(&l->connection_id))
        json_put_null(w, "connection_id");
    else
        json_put_id(w, "connection_id", &l->connection_id);
    json_put_str(w, "kind", link_kind_name(l->kind));
    json_put_id(w, "gateway_a_id", &l->gateway_a_id);
    json_put_id(w, "gateway_b_id", &l->gateway_b_id);
    json_put_uint(w, "tunnels", l->tunnels);
    json_put_str(w, "tunnels_reason", l->tunnels_reason);
    if (l->tunnels_override)
        json_put_uint(w, "tunnels_override", l->tunnels_override);
    else
        json_put_null(w, "tunnels_override");
    json_put_uint(w, "port_offset", l->port_offset);
    json_put_bool(w, "enabled", l->enabled);
    json_put_ip(w, "address_a", &l->address_a);
    json_put_ip(w, "address_b", &l->address_b);
    status_json_put_link(w, &status, store_now(c->db));
    body_put_common(w, &l->common);
    return 0;
}

static int read_link(const struct json_at *top, enum body_mode mode, void *row, struct err *e)
{
    struct store_link *l = row;
    uint64_t tunnels = l->tunnels_override;
    int rc = 0;
    if (json_presence(top, "tunnels_override") == JSON_NULL)
        tunnels = 0;
    else if (json_has(top, "tunnels_override"))
        rc = json_get_uint(top, "tunnels_override", 1, HW_TUNNELS_PER_LINK_MAX, &tunnels, e);
    if (!rc && body_wants(top, "enabled", mode, false))
        rc = json_get_bool(top, "enabled", &l->enabled, e);
    l->tunnels_override = (unsigned)tunnels;
    return rc;
}

/* One tunnel is no resilient path. */
static int check_link(struct db *db, const void *old, void *row, struct err *e)
{
    const struct store_link *l = row;
    struct store_connection c;
    (void)old;
    if (l->tunnels_override != 1 || id_is_zero(&l->connection_id))
        return 0;
    int rc = store_connection_get(db, &l->connection_id, &c, e);
    if (!rc && c.path_resiliency)
        rc = err_set_field(e, HW_ECONFLICT, "tunnels_override",
                           "connection %s has path_resiliency: at least 2 tunnels in each link",
                           c.name);
    return rc;
}

RESOURCE_GET(link)

static int list_links(struct db *db, const struct http_request *req, const struct store_page *page,
                      void **rows, size_t *n, struct err *e)
{
    struct store_link *list = NULL;
    struct hw_id connection_id, gateway_id;
    bool by_connection, by_gateway;
    int rc = page_filter_id(req, "connection_id", &connection_id, &by_connection, e);
    if (!rc)
        rc = page_filter_id(req, "gateway_id", &gateway_id, &by_gateway, e);
    if (!rc)
        rc = store_link_list(db, page, by_connection ? &connection_id : NULL,
                             by_gateway ? &gateway_id : NULL, &list, n, e);
    *rows = list;
    return rc;
}

static const char *const filters[] = {"connection_id", "gateway_id", NULL};

/* The planner makes and removes them. */
const struct resource links = {
    .path = "/api/v1/links",
    .filters = filters,
    .changes = changes,
    .size = sizeof(struct store_link),
    .id = offsetof(struct store_link, id),
    .common = offsetof(struct store_link, common),
    .key = RESOURCE_BY_ID,
    .planned = true,
    .read = read_link,
    .check = check_link,
    .put = put_link,
    .get = get_link,
    .list = list_links,
    .update = update_link,
};
