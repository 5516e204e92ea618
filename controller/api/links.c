#include "controller/api/api.h"
#include "controller/api/body.h"
#include "controller/api/page.h"
#include "controller/app.h"
#include "controller/change.h"
#include "controller/store/link.h"
#include "controller/telemetry/status.h"
#include <stdlib.h>

static const char *const members[] = {"tunnels_override", "enabled", NULL};

static void put_status(struct json_writer *w, const struct status *s)
{
    json_open_object(w, "status");
    json_put_str(w, "state", status_state_name(s->state));
    json_put_str(w, "reason", s->reason);
    json_put_str(w, "observer", s->observer[0] ? s->observer : NULL);
    body_put_time(w, "observed_at", s->observed_at);
    json_put_uint(w, "tunnels_up", s->tunnels_up);
    json_put_uint(w, "tunnels_total", s->tunnels_total);
    json_close(w);
}

static int put_link(struct json_writer *w, struct db *db, const struct store_link *l, struct err *e)
{
    struct status status = {0};
    int rc = status_of_link(db, l, store_now(db), &status, e);
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
    if (l->tunnels_override)
        json_put_uint(w, "tunnels_override", l->tunnels_override);
    else
        json_put_null(w, "tunnels_override");
    json_put_uint(w, "port_offset", l->port_offset);
    json_put_bool(w, "enabled", l->enabled);
    json_put_ip(w, "address_a", &l->address_a);
    json_put_ip(w, "address_b", &l->address_b);
    put_status(w, &status);
    body_put_common(w, &l->common);
    return 0;
}

static int reply(struct app *app, const struct hw_id *id, struct http_response *res, struct err *e)
{
    struct db *db;
    struct store_link l;
    struct json_writer w;
    int rc = store_read(app->store, &db, e);
    if (rc)
        return rc;
    rc = store_link_get(db, id, &l, e);
    if (!rc) {
        json_writer_init(&w);
        rc = put_link(&w, db, &l, e);
        if (rc)
            json_writer_done(&w);
        else
            http_response_json(res, 200, json_finish(&w, NULL));
    }
    store_read_end(db);
    return rc;
}

static int list(struct db *db, const struct page *page, const struct hw_id *connection_id,
                const struct hw_id *gateway_id, struct http_response *res, struct err *e)
{
    struct store_link *rows = NULL;
    size_t n = 0;
    int rc = store_link_list(db, &page->store, connection_id, gateway_id, &rows, &n, e);
    if (rc)
        return rc;
    char last[ID_TEXT_MAX];
    struct json_writer w;
    page_open(&w);
    for (size_t i = 0; i < page_shown(page, n) && !rc; i++) {
        json_open_object(&w, NULL);
        rc = put_link(&w, db, &rows[i], e);
        json_close(&w);
        (void)id_text(&rows[i].id, last);
    }
    if (rc)
        json_writer_done(&w);
    else
        page_close(&w, page, n, n ? last : NULL, res);
    free(rows);
    return rc;
}

int links_list(struct app *app, struct http_request *req, struct http_response *res, struct err *e)
{
    static const char *const filters[] = {"connection_id", "gateway_id", NULL};
    struct page page;
    struct hw_id connection_id, gateway_id;
    bool by_connection, by_gateway;
    struct db *db;
    int rc = page_read(req, filters, &page, e);
    if (!rc)
        rc = page_filter_id(req, "connection_id", &connection_id, &by_connection, e);
    if (!rc)
        rc = page_filter_id(req, "gateway_id", &gateway_id, &by_gateway, e);
    if (!rc)
        rc = store_read(app->store, &db, e);
    if (!rc) {
        rc = list(db, &page, by_connection ? &connection_id : NULL, by_gateway ? &gateway_id : NULL,
                  res, e);
        store_read_end(db);
    }
    page_done(&page);
    return rc;
}

int links_get(struct app *app, struct http_request *req, struct http_response *res, struct err *e)
{
    struct hw_id id;
    int rc = http_request_param_id(req, 0, &id, e);
    return rc ? rc : reply(app, &id, res, e);
}

static int read_link(const struct json_at *top, struct store_link *l, struct err *e)
{
    uint64_t tunnels = l->tunnels_override;
    int rc = 0;
    if (json_presence(top, "tunnels_override") == JSON_NULL)
        tunnels = 0;
    else if (json_has(top, "tunnels_override"))
        rc = json_get_uint(top, "tunnels_override", 1, HW_TUNNELS_PER_LINK_MAX, &tunnels, e);
    if (!rc && body_wants(top, "enabled", BODY_PATCH, false))
        rc = json_get_bool(top, "enabled", &l->enabled, e);
    l->tunnels_override = (unsigned)tunnels;
    return rc;
}

static int change_link(struct db *db, const struct http_request *req, const struct hw_id *id,
                       struct err *e)
{
    struct store_link l;
    struct json_object *doc;
    struct json_at top;
    int rc = store_link_get(db, id, &l, e);
    if (!rc)
        rc = body_object(req, members, &doc, &top, e);
    if (rc)
        return rc;
    rc = read_link(&top, &l, e);
    json_free(doc);
    return rc ? rc : store_link_update(db, &l, e);
}

int links_patch(struct app *app, struct http_request *req, struct http_response *res, struct err *e)
{
    struct hw_id id;
    struct db *db;
    int rc = http_request_param_id(req, 0, &id, e);
    if (!rc)
        rc = change_begin(app, &db, e);
    if (rc)
        return rc;
    rc = change_end(app, db, change_link(db, req, &id, e), e);
    return rc ? rc : reply(app, &id, res, e);
}
