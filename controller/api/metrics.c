#include "common/strbuf.h"
#include "controller/api/api.h"
#include "controller/api/metrics_firewall.h"
#include "controller/api/metrics_fleet.h"
#include "controller/app.h"
#include "controller/http/server.h"
#include "controller/store/store.h"
#include <string.h>

/* Prometheus' text format, version 0.0.4. */
#define CONTENT_TYPE "text/plain; version=0.0.4; charset=utf-8"

static const char *const listeners[HTTP_LISTENERS] = {"people", "agents"};

/* One row a counter of the listeners. */
static const struct {
    const char *name, *type, *help;
    size_t offset; /* in struct http_server_counters */
} rows[] = {
#define AT(field) offsetof(struct http_server_counters, field)
    {"hawser_http_connections_total", "counter", "TCP connections accepted", AT(connections)},
    {"hawser_http_connections_without_request_total", "counter",
     "Connections that ended before a request: garbage, old TLS, silence", AT(without_request)},
    {"hawser_http_requests_total", "counter", "Requests begun", AT(requests)},
    {"hawser_http_deadline_cuts_total", "counter",
     "Connections cut because a request or an answer took too long", AT(cut_deadline)},
    {"hawser_http_parked_requests", "gauge", "Long polls parked now", AT(parked)},
#undef AT
};

static void put_head(struct strbuf *b, const char *name, const char *type, const char *help)
{
    strbuf_printf(b, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void put_listeners(struct strbuf *b, struct http_server *server)
{
    struct http_server_counters c[HTTP_LISTENERS];
    for (enum http_listener l = HTTP_PEOPLE; l < HTTP_LISTENERS; l++)
        http_server_counters(server, l, &c[l]);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        put_head(b, rows[i].name, rows[i].type, rows[i].help);
        for (int l = 0; l < HTTP_LISTENERS; l++) {
            uint64_t v;
            memcpy(&v, (const char *)&c[l] + rows[i].offset, sizeof v);
            strbuf_printf(b, "%s{listener=\"%s\"} %llu\n", rows[i].name, listeners[l],
                          (unsigned long long)v);
        }
    }
}

int metrics_get(struct app *app, struct http_request *req, struct http_response *res, struct err *e)
{
    struct strbuf b = STRBUF_INIT, fleet = STRBUF_INIT;
    struct db *db;
    (void)req;
    int rc = store_read(app->store, &db, e);
    if (rc)
        return rc;
    uint64_t revision = store_revision(db);
    rc = metrics_put_fleet(&fleet, app, db, e);
    rc = rc ? rc : metrics_put_firewall(&fleet, db, e);
    store_read_end(db);
    if (rc) {
        strbuf_done(&fleet);
        return rc;
    }
    put_head(&b, "hawser_build_info", "gauge", "Version of the controller");
    strbuf_printf(&b, "hawser_build_info{version=\"%s\"} 1\n", HAWSER_VERSION);
    put_head(&b, "hawser_controller_revision", "gauge", "Global revision");
    strbuf_printf(&b, "hawser_controller_revision %llu\n", (unsigned long long)revision);
    put_listeners(&b, app->server);
    strbuf_add(&b, strbuf_str(&fleet), fleet.len);
    b.failed |= fleet.failed;
    strbuf_done(&fleet);
    size_t len = b.len;
    http_response_take(res, 200, CONTENT_TYPE, strbuf_take(&b), len);
    return 0;
}
