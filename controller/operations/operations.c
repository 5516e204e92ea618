#include "controller/operations/operations.h"
#include "common/json.h"
#include "controller/operations/result.h"
#include "controller/push/hub.h"
#include "controller/push/reported.h"
#include "controller/store/gateway.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STEP_OUTWARD "outward"
#define STEP_BACK    "back"
#define STEP_RUN     "run"
#define STEP_CANCEL  "cancel"

/* An operation with its steps. */
struct whole {
    struct store_operation op;
    struct store_step *steps;
    size_t n;
};

static void whole_done(struct whole *w)
{
    store_operation_done(&w->op);
    store_step_free(w->steps, w->n);
}

static int whole_get(struct db *db, const struct hw_id *id, struct whole *out, struct err *e)
{
    *out = (struct whole){0};
    int rc = store_operation_get(db, id, &out->op, e);
    if (rc)
        return rc;
    rc = store_step_list(db, id, &out->steps, &out->n, e);
    if (rc)
        store_operation_done(&out->op);
    return rc;
}

static void wake_up(struct operations_wake *wake, const struct hw_id *gateway)
{
    if (wake->n < sizeof wake->gateways / sizeof *wake->gateways)
        wake->gateways[wake->n++] = *gateway;
    else
        wake->all = true;
}

void operations_tell(const struct operations_wake *wake, struct hub *hub)
{
    if (wake->all)
        hub_wake_all(hub);
    else
        hub_wake(hub, wake->gateways, wake->n);
}

static bool is_cancel(const struct store_step *s)
{
    return !strcmp(s->name, STEP_CANCEL);
}

static bool is_trace(const struct store_operation *o)
{
    return !strcmp(o->kind, command_kind_name(COMMAND_TRACE_PATH));
}

static enum command_kind kind_of(const char *name)
{
    unsigned k = 0;
    while (k < COMMAND_UNKNOWN && strcmp(command_kind_name((enum command_kind)k), name) != 0)
        k++;
    return (enum command_kind)k;
}

/* ---- steps ---- */

static int add_step(struct db *db, const struct store_operation *o, unsigned position,
                    const char *name, const struct hw_id *gateway, const struct command *c,
                    struct operations_wake *wake, struct err *e)
{
    struct store_step s = {
        .id = id_new(), .operation_id = o->id, .position = position, .gateway_id = *gateway};
    (void)snprintf(s.name, sizeof s.name, "%s", name);
    s.params = command_params_encode(c);
    if (!s.params)
        return err_set(e, HW_ENOMEM, "out of memory");
    int rc = store_step_insert(db, &s, e);
    store_step_done(&s);
    wake_up(wake, gateway);
    return rc;
}

int operations_begin(struct db *db, struct store_operation *o, const struct command *c,
                     struct operations_wake *wake, struct err *e)
{
    struct operation_filter filter = {.state = -1, .gateway_id = &o->gateway_id, .open = true};
    struct store_page page = {.limit = OPERATIONS_OPEN_MAX};
    struct store_operation *open = NULL;
    size_t n = 0;
    int rc = store_operation_list(db, &page, &filter, &open, &n, e);
    if (rc)
        return rc;
    store_operation_free(open, n);
    if (n >= OPERATIONS_OPEN_MAX)
        return err_set(e, HW_ECONFLICT,
                       "%d operations of this gateway are open: wait, or cancel one",
                       OPERATIONS_OPEN_MAX);
    o->created_at = store_now(db);
    o->expires_at = o->created_at + OPERATIONS_QUEUE_S;
    rc = store_operation_insert(db, o, e);
    return rc ? rc
              : add_step(db, o, 0, is_trace(o) ? STEP_OUTWARD : STEP_RUN, &o->gateway_id, c, wake,
                         e);
}

/* ---- the end ---- */

static int close_step(struct db *db, struct store_step *s, enum operation_state state,
                      const char *code, const char *text, struct err *e)
{
    s->state = state;
    s->finished_at = store_now(db);
    (void)snprintf(s->error_code, sizeof s->error_code, "%s", code);
    (void)snprintf(s->error_text, sizeof s->error_text, "%s", text);
    return store_step_update(db, s, e);
}

/* Whatever of it is still open ends with it, and its gateways have a place free. */
static int finish(struct db *db, struct whole *w, enum operation_state state, const char *code,
                  const char *text, struct operations_wake *wake, struct err *e)
{
    struct store_operation *o = &w->op;
    int rc = 0;
    o->state = state;
    o->finished_at = store_now(db);
    (void)snprintf(o->error_code, sizeof o->error_code, "%s", code);
    (void)snprintf(o->error_text, sizeof o->error_text, "%s", text);
    for (size_t i = 0; i < w->n && !rc; i++) {
        if (!w->steps[i].finished_at)
            rc = close_step(db, &w->steps[i], state, code, text, e);
        wake_up(wake, &w->steps[i].gateway_id);
    }
    free(o->result);
    o->result = NULL;
    if (!rc)
        rc = result_of_steps(o->kind, w->steps, w->n, &o->result, e);
    return rc ? rc : store_operation_update(db, o, e);
}

/* ---- the way back ---- */

struct request {
    bool both_ways;
    struct hw_id target_gateway_id;
};

/* What the API accepted and stored; members that a kind has not are absent. */
static int read_request(const struct store_operation *o, struct request *out, struct err *e)
{
    struct json_object *doc;
    *out = (struct request){0};
    int rc = json_parse(o->request, strlen(o->request), HW_REQUEST_BODY_MAX, &doc, e);
    if (rc)
        return rc;
    struct json_at top = json_root(doc);
    if (json_has(&top, "both_ways"))
        rc = json_get_bool(&top, "both_ways", &out->both_ways, e);
    if (!rc && json_has(&top, "target_gateway_id"))
        rc = json_get_id(&top, "target_gateway_id", &out->target_gateway_id, e);
    json_free(doc);
    return rc;
}

/* The source of the way out, as the agent that traced it found it. */
static int traced_source(const char *result, struct ipaddr *out, struct err *e)
{
    struct json_object *doc;
    int rc = json_parse(result, strlen(result), COMMAND_RESULT_MAX, &doc, e);
    if (rc)
        return rc;
    struct json_at top = json_root(doc);
    rc = json_get_ip(&top, "source_address", out, e);
    json_free(doc);
    return rc;
}

static bool has_address(const struct store_gateway *g, const struct node *reported,
                        const struct ipaddr *a)
{
    if (ipaddr_equal(&g->overlay4, a) || ipaddr_equal(&g->overlay6, a))
        return true;
    for (size_t i = 0; i < g->n_endpoints; i++)
        if (ipaddr_equal(&g->endpoints[i].address, a))
            return true;
    return reported_interface(reported, a) != NULL;
}

/* An agent may not have another one send packets wherever it likes: only addresses that the store
 * knows as its gateway's. */
static int is_own(struct db *db, const struct hw_id *gateway_id, const struct ipaddr *a, bool *out,
                  struct err *e)
{
    struct store_gateway g;
    struct node *reported = NULL;
    int rc = store_gateway_get(db, gateway_id, &g, e);
    if (rc)
        return rc;
    rc = reported_node(&g, &reported, e);
    *out = !rc && has_address(&g, reported, a);
    free(reported);
    store_gateway_done(&g);
    return rc;
}

/* The same options between the same addresses, from the other end. */
static int add_back(struct db *db, struct whole *w, const struct store_step *outward,
                    const struct request *r, struct operations_wake *wake, struct err *e)
{
    struct command c = command_defaults(COMMAND_TRACE_PATH);
    bool own = false;
    int rc = command_params_decode(outward->params, strlen(outward->params), &c, e);
    struct ipaddr target = c.target;
    if (!rc)
        rc = traced_source(outward->result, &c.target, e);
    if (!rc)
        rc = is_own(db, &outward->gateway_id, &c.target, &own, e);
    if (rc)
        return rc;
    if (!own) {
        char address[IPADDR_TEXT_MAX], text[HW_TEXT_MAX + 1];
        (void)snprintf(text, sizeof text,
                       "no way back: the agent names %s as its source, which is no address of its "
                       "gateway",
                       ipaddr_text(&c.target, address));
        return finish(db, w, OPERATION_FAILED, "internal", text, wake, e);
    }
    c.source = c.network == COMMAND_UNDERLAY ? target : (struct ipaddr){0};
    rc = add_step(db, &w->op, (unsigned)w->n, STEP_BACK, &r->target_gateway_id, &c, wake, e);
    return rc ? rc : store_operation_update(db, &w->op, e);
}

/* A step is over: the next one, or the end. */
static int advance(struct db *db, struct whole *w, struct store_step *s,
                   struct operations_wake *wake, struct err *e)
{
    struct request r;
    int rc = read_request(&w->op, &r, e);
    if (rc)
        return rc;
    if (s->state == OPERATION_SUCCEEDED && !s->result)
        return finish(db, w, OPERATION_FAILED, "internal", "the agent reported no result", wake, e);
    if (s->state == OPERATION_SUCCEEDED && !strcmp(s->name, STEP_OUTWARD) && r.both_ways &&
        !id_is_zero(&r.target_gateway_id) && !w->op.cancelled_at)
        return add_back(db, w, s, &r, wake, e);
    return finish(db, w, s->state, s->error_code, s->error_text, wake, e);
}

/* ---- reports ---- */

static enum operation_state state_of(enum command_state s)
{
    static const enum operation_state states[] = {OPERATION_RUNNING, OPERATION_SUCCEEDED,
                                                  OPERATION_FAILED, OPERATION_CANCELLED,
                                                  OPERATION_EXPIRED};
    return states[s];
}

/* A result that is not as agreed is the agent's failure; it must not come again and again. */
static int take_result(struct db *db, const struct store_operation *o, struct store_step *s,
                       const char *reported, struct err *e)
{
    struct err why = {0};
    int rc = result_complete(db, o->kind, &s->gateway_id, reported, &s->result, &why);
    if (rc == HW_EINVAL || rc == HW_EPROTO || rc == HW_ETOOBIG) {
        s->state = OPERATION_FAILED;
        (void)snprintf(s->error_code, sizeof s->error_code, "internal");
        (void)snprintf(s->error_text, sizeof s->error_text, "the agent's result: %.60s: %.100s",
                       why.field, why.text);
        return 0;
    }
    if (rc && e)
        *e = why;
    return rc;
}

static int take_report(struct db *db, const struct store_operation *o, struct store_step *s,
                       const struct command_report *r, struct err *e)
{
    int64_t now = store_now(db);
    s->sequence = r->sequence;
    s->state = state_of(r->state);
    s->done = r->done;
    s->total = r->total;
    (void)snprintf(s->progress, sizeof s->progress, "%s", r->text);
    (void)snprintf(s->error_code, sizeof s->error_code, "%s", r->error_code);
    (void)snprintf(s->error_text, sizeof s->error_text, "%s", r->error_text);
    s->started_at = s->started_at ? s->started_at : now;
    s->reported_at = now;
    int rc = 0;
    if (operation_over(s->state)) {
        s->finished_at = now;
        if (r->result && !is_cancel(s))
            rc = take_result(db, o, s, r->result, e);
    }
    return rc ? rc : store_step_update(db, s, e);
}

static struct store_step *step_of(struct whole *w, const struct hw_id *id)
{
    for (size_t i = 0; i < w->n; i++)
        if (id_equal(&w->steps[i].id, id))
            return &w->steps[i];
    return NULL;
}

static int report_step(struct db *db, struct whole *w, struct store_step *s,
                       const struct command_report *r, struct operations_wake *wake, struct err *e)
{
    if (operation_over(s->state) || operation_over(w->op.state))
        return err_set(e, HW_ECONFLICT, "this command is already over");
    if (r->sequence <= s->sequence)
        return 0;
    int rc = take_report(db, &w->op, s, r, e);
    if (rc || is_cancel(s))
        return rc;
    if (w->op.state == OPERATION_QUEUED) {
        w->op.state = OPERATION_RUNNING;
        w->op.started_at = store_now(db);
    }
    return operation_over(s->state) ? advance(db, w, s, wake, e)
                                    : store_operation_update(db, &w->op, e);
}

int operations_report(struct db *db, const struct hw_id *gateway_id, const struct hw_id *command_id,
                      const struct command_report *r, struct operations_wake *wake, struct err *e)
{
    struct store_step found;
    struct whole w;
    int rc = store_step_get(db, command_id, &found, e);
    if (rc)
        return rc;
    bool own = id_equal(&found.gateway_id, gateway_id);
    struct hw_id operation_id = found.operation_id;
    store_step_done(&found);
    if (!own)
        return err_set(e, HW_ENOTFOUND, "no such command");
    rc = whole_get(db, &operation_id, &w, e);
    if (rc)
        return rc;
    struct store_step *s = step_of(&w, command_id);
    rc = s ? report_step(db, &w, s, r, wake, e) : err_set(e, HW_ENOTFOUND, "no such command");
    whole_done(&w);
    return rc;
}

/* ---- cancel ---- */

/* The step that is open, a cancel aside. */
static struct store_step *open_step(struct whole *w)
{
    for (size_t i = 0; i < w->n; i++)
        if (!w->steps[i].finished_at && !is_cancel(&w->steps[i]))
            return &w->steps[i];
    return NULL;
}

static int cancel(struct db *db, struct whole *w, struct operations_wake *wake, struct err *e)
{
    if (operation_over(w->op.state) || w->op.cancelled_at)
        return 0;
    struct store_step *s = open_step(w);
    w->op.cancelled_at = store_now(db);
    /* One that an agent has been given but not yet spoken of learns of it by its first report. */
    if (!s || !s->sequence)
        return finish(db, w, OPERATION_CANCELLED, "cancelled", "cancelled", wake, e);
    struct command c = {.kind = COMMAND_CANCEL, .cancels = s->id};
    int rc = add_step(db, &w->op, (unsigned)w->n, STEP_CANCEL, &s->gateway_id, &c, wake, e);
    return rc ? rc : store_operation_update(db, &w->op, e);
}

int operations_cancel(struct db *db, const struct hw_id *id, struct operations_wake *wake,
                      struct err *e)
{
    struct whole w;
    int rc = whole_get(db, id, &w, e);
    if (rc)
        return rc;
    rc = cancel(db, &w, wake, e);
    whole_done(&w);
    return rc;
}

/* ---- what a poll carries ---- */

static int to_command(struct db *db, const struct store_step *s, struct command *out, struct err *e)
{
    struct store_operation o;
    int rc = store_operation_get(db, &s->operation_id, &o, e);
    if (rc)
        return rc;
    *out = command_defaults(is_cancel(s) ? COMMAND_CANCEL : kind_of(o.kind));
    out->id = s->id;
    out->issued_at = o.created_at;
    out->expires_at = s->position ? store_now(db) + OPERATIONS_QUEUE_S : o.expires_at;
    store_operation_done(&o);
    return command_params_decode(s->params, strlen(s->params), out, e);
}

int operations_due(struct db *db, const struct hw_id *gateway_id,
                   struct command out[COMMAND_POLL_MAX], size_t *n, struct err *e)
{
    struct store_step *steps = NULL;
    size_t n_steps = 0;
    unsigned busy = 0;
    *n = 0;
    int rc = store_step_open(db, gateway_id, &steps, &n_steps, e);
    for (size_t i = 0; i < n_steps && !rc; i++)
        busy += steps[i].sequence && !is_cancel(&steps[i]);
    for (size_t i = 0; i < n_steps && !rc && *n < COMMAND_POLL_MAX; i++) {
        if (steps[i].sequence || (!is_cancel(&steps[i]) && busy >= OPERATIONS_AT_ONCE))
            continue;
        busy += !is_cancel(&steps[i]);
        rc = to_command(db, &steps[i], &out[*n], e);
        *n += !rc;
    }
    store_step_free(steps, n_steps);
    return rc;
}

/* ---- by the clock ---- */

/* Since when the open step waits to be begun. */
static int64_t waits_since(const struct whole *w, const struct store_step *s)
{
    int64_t since = w->op.created_at;
    for (size_t i = 0; i < s->position && i < w->n; i++)
        if (w->steps[i].finished_at > since)
            since = w->steps[i].finished_at;
    return since;
}

static int judge(struct db *db, struct whole *w, struct operations_wake *wake, struct err *e)
{
    int64_t now = store_now(db);
    struct store_step *s = open_step(w);
    if (!s)
        return finish(db, w, OPERATION_FAILED, "internal", "it had no step left", wake, e);
    if (!s->sequence && now >= waits_since(w, s) + OPERATIONS_QUEUE_S) {
        bool first = s->position == 0;
        return finish(db, w, first ? OPERATION_EXPIRED : OPERATION_FAILED, "not-delivered",
                      first ? "no agent began it in time"
                            : "the agent at the other end did not begin the way back in time",
                      wake, e);
    }
    if (s->sequence && w->op.cancelled_at && now > w->op.cancelled_at + OPERATIONS_SILENCE_S)
        return finish(db, w, OPERATION_CANCELLED, "cancelled",
                      "cancelled; the agent has not confirmed it", wake, e);
    if (s->sequence &&
        (now > s->reported_at + OPERATIONS_SILENCE_S || now > s->started_at + OPERATIONS_TIME_S))
        return finish(db, w, OPERATION_FAILED, "no-answer", "the agent has fallen silent", wake, e);
    return 0;
}

static int expire_open(struct db *db, struct operations_wake *wake, struct err *e)
{
    struct operation_filter filter = {.state = -1, .open = true};
    struct store_page page = {.limit = UINT32_MAX};
    struct store_operation *open = NULL;
    size_t n = 0;
    int rc = store_operation_list(db, &page, &filter, &open, &n, e);
    for (size_t i = 0; i < n && !rc; i++) {
        struct whole w;
        rc = whole_get(db, &open[i].id, &w, e);
        if (rc)
            break;
        rc = judge(db, &w, wake, e);
        whole_done(&w);
    }
    store_operation_free(open, n);
    return rc;
}

int operations_expire(struct db *db, struct operations_wake *wake, struct err *e)
{
    int rc = expire_open(db, wake, e);
    return rc ? rc
              : store_operation_expire(db, store_now(db) - OPERATIONS_KEPT_S, OPERATIONS_KEPT_MAX,
                                       e);
}

int operations_any_open(struct db *db, bool *out, struct err *e)
{
    struct operation_filter filter = {.state = -1, .open = true};
    struct store_page page = {.limit = 1};
    struct store_operation *open = NULL;
    size_t n = 0;
    int rc = store_operation_list(db, &page, &filter, &open, &n, e);
    store_operation_free(open, n);
    *out = !rc && n > 0;
    return rc;
}
