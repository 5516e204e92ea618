#include "controller/operations/result.h"
#include "common/json.h"
#include "common/model/diag_result.h"
#include "controller/store/gateway.h"
#include <stdlib.h>
#include <string.h>

static int parse(const char *text, struct json_object **doc, struct err *e)
{
    return json_parse(text, strlen(text), COMMAND_RESULT_MAX, doc, e);
}

/* The gateway that has this address. */
static const char *name_of(const struct store_gateway *gateways, size_t n, const struct ipaddr *a)
{
    for (size_t i = 0; i < n; i++) {
        if (ipaddr_equal(&gateways[i].overlay4, a) || ipaddr_equal(&gateways[i].overlay6, a))
            return gateways[i].name;
        for (size_t k = 0; k < gateways[i].n_endpoints; k++)
            if (ipaddr_equal(&gateways[i].endpoints[k].address, a))
                return gateways[i].name;
    }
    return "";
}

static int add_names(struct db *db, struct path_trace *t, struct err *e)
{
    struct store_gateway *gateways = NULL;
    size_t n = 0;
    int rc = store_gateway_all(db, &gateways, &n, e);
    if (rc)
        return rc;
    (void)strcpy(t->destination_name, name_of(gateways, n, &t->destination));
    for (size_t i = 0; i < t->n_hops; i++)
        if (t->hops[i].n_addresses)
            (void)strcpy(t->hops[i].name, name_of(gateways, n, &t->hops[i].addresses[0]));
    store_gateway_free(gateways, n);
    return 0;
}

static int complete_trace(struct db *db, const struct hw_id *gateway_id, const struct json_at *top,
                          struct json_writer *w, struct err *e)
{
    struct path_trace *t = calloc(1, sizeof *t);
    if (!t)
        return err_set(e, HW_ENOMEM, "out of memory");
    int rc = path_trace_get(top, t, e);
    if (!rc)
        rc = add_names(db, t, e);
    if (!rc) {
        t->gateway_id = *gateway_id;
        path_trace_put(w, t);
    }
    free(t);
    return rc;
}

static int complete_ping(const struct json_at *top, struct json_writer *w, struct err *e)
{
    struct ping_result *p = calloc(1, sizeof *p);
    if (!p)
        return err_set(e, HW_ENOMEM, "out of memory");
    int rc = ping_result_get(top, p, e);
    if (!rc)
        ping_result_put(w, p);
    free(p);
    return rc;
}

static int complete_tcp(const struct json_at *top, struct json_writer *w, struct err *e)
{
    struct tcp_result t;
    int rc = tcp_result_get(top, &t, e);
    if (!rc)
        tcp_result_put(w, &t);
    return rc;
}

int result_complete(struct db *db, const char *kind, const struct hw_id *gateway_id,
                    const char *reported, char **out, struct err *e)
{
    struct json_object *doc;
    struct json_writer w;
    int rc = parse(reported, &doc, e);
    if (rc)
        return rc;
    struct json_at top = json_root(doc);
    json_writer_init(&w);
    if (!strcmp(kind, command_kind_name(COMMAND_TRACE_PATH)))
        rc = complete_trace(db, gateway_id, &top, &w, e);
    else if (!strcmp(kind, command_kind_name(COMMAND_PING)))
        rc = complete_ping(&top, &w, e);
    else
        rc = complete_tcp(&top, &w, e);
    json_free(doc);
    if (rc) {
        json_writer_done(&w);
        return rc;
    }
    *out = json_finish(&w, NULL);
    return *out ? 0 : err_set(e, HW_ENOMEM, "out of memory");
}

/* ---- both ways ---- */

static const char *result_named(const struct store_step *steps, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (!strcmp(steps[i].name, name))
            return steps[i].result;
    return NULL;
}

/* NULL where there is no such trace. */
static int read_trace(const char *text, struct path_trace **out, struct err *e)
{
    struct json_object *doc;
    *out = NULL;
    if (!text)
        return 0;
    struct path_trace *t = calloc(1, sizeof *t);
    if (!t)
        return err_set(e, HW_ENOMEM, "out of memory");
    int rc = parse(text, &doc, e);
    if (!rc) {
        struct json_at top = json_root(doc);
        rc = path_trace_get(&top, t, e);
        json_free(doc);
    }
    if (rc)
        free(t);
    else
        *out = t;
    return rc;
}

static void put_copy(struct json_writer *w, const char *key, const char *text)
{
    if (text)
        json_put_raw(w, key, strdup(text));
    else
        json_put_null(w, key);
}

static int both_ways(const char *outward, const char *back, char **out, struct err *e)
{
    char verdict[DIAG_VERDICT_MAX];
    struct path_trace *one = NULL, *two = NULL;
    struct json_writer w;
    int rc = read_trace(outward, &one, e);
    if (!rc)
        rc = read_trace(back, &two, e);
    if (!rc) {
        json_writer_init(&w);
        json_put_str(&w, "verdict", path_both_verdict(one, two, verdict));
        put_copy(&w, "outward", outward);
        put_copy(&w, "back", back);
        *out = json_finish(&w, NULL);
        rc = *out ? 0 : err_set(e, HW_ENOMEM, "out of memory");
    }
    free(one);
    free(two);
    return rc;
}

int result_of_steps(const char *kind, const struct store_step *steps, size_t n, char **out,
                    struct err *e)
{
    const char *run = result_named(steps, n, "run"), *outward = result_named(steps, n, "outward");
    *out = NULL;
    if (!strcmp(kind, command_kind_name(COMMAND_TRACE_PATH)))
        return outward ? both_ways(outward, result_named(steps, n, "back"), out, e) : 0;
    if (run && !(*out = strdup(run)))
        return err_set(e, HW_ENOMEM, "out of memory");
    return 0;
}
