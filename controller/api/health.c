#include "common/json.h"
#include "controller/api/api.h"
#include "controller/app.h"
#include "controller/store/store.h"

int health_alive(struct app *app, struct http_request *req, struct http_response *res,
                 struct err *e)
{
    static const char body[] = "{\"status\":\"alive\"}";
    (void)app, (void)req, (void)e;
    http_response_static(res, 200, "application/json", body, sizeof body - 1);
    return 0;
}

/* Ready: the store takes writes and nobody has asked the controller to stop. */
int health_ready(struct app *app, struct http_request *req, struct http_response *res,
                 struct err *e)
{
    (void)req, (void)e;
    bool store = store_writable(app->store), running = !app->stopping;
    struct json_writer w;
    json_writer_init(&w);
    json_put_str(&w, "status", store && running ? "ready" : "not ready");
    json_open_object(&w, "checks");
    json_put_bool(&w, "store_writable", store);
    json_put_bool(&w, "running", running);
    json_close(&w);
    http_response_json(res, store && running ? 200 : 503, json_finish(&w, NULL));
    return 0;
}

int health_version(struct app *app, struct http_request *req, struct http_response *res,
                   struct err *e)
{
    (void)app, (void)req, (void)e;
    struct json_writer w;
    json_writer_init(&w);
    json_put_str(&w, "version", HAWSER_VERSION);
    json_put_str(&w, "api", "v1");
    http_response_json(res, 200, json_finish(&w, NULL));
    return 0;
}
