#include "controller/api/plan_json.h"
#include "common/clock.h"
#include "common/esp_suite.h"
#include "common/json.h"
#include "common/strbuf.h"
#include "controller/store/link.h"
#include <stdio.h>

enum part { ADDED, REMOVED, CHANGED };

static enum part part_of(const struct plan_change *c)
{
    return !c->before ? ADDED : !c->after ? REMOVED : CHANGED;
}

static const char *gateway_name(const struct plan_side *s, const struct hw_id *id)
{
    for (size_t i = 0; i < s->topology->n_gateways; i++)
        if (id_equal(&s->topology->gateways[i].id, id))
            return s->topology->gateways[i].name;
    return "";
}

static const char *connection_name(const struct plan_side *s, const struct hw_id *id)
{
    for (size_t i = 0; i < s->topology->n_connections; i++)
        if (id_equal(&s->topology->connections[i].id, id))
            return s->topology->connections[i].name;
    return NULL;
}

static void put_known(struct json_writer *w, const char *key, bool known, uint64_t v)
{
    if (known)
        json_put_uint(w, key, v);
    else
        json_put_null(w, key);
}

static void put_link(struct json_writer *w, const struct plan_report *r,
                     const struct plan_change *c)
{
    static const char *const states[] = {"ready", "pending", "refused"};
    const struct planned_link *l = c->after ? c->after : c->before;
    const struct plan_side *s = c->after ? &r->after : &r->before;
    json_open_object(w, NULL);
    json_put_id(w, "link_id", &l->id);
    json_put_str(w, "connection", connection_name(s, &l->connection_id));
    json_put_str(w, "kind", link_kind_name(l->kind));
    json_put_str(w, "gateway_a", gateway_name(s, &l->gateway_a));
    json_put_str(w, "gateway_b", gateway_name(s, &l->gateway_b));
    put_known(w, "tunnels_before", c->before != NULL, c->before ? c->before->tunnels : 0);
    put_known(w, "tunnels_after", c->after != NULL, c->after ? c->after->tunnels : 0);
    json_put_str(w, "tunnels_reason", l->tunnels_reason);
    json_put_str(w, "state", states[l->state]);
    json_put_str(w, "detail",
                 l->reason[0]                       ? l->reason
                 : l->state == PLANNED_LINK_PENDING ? "an end is not enrolled yet"
                 : c->after && !c->after->enabled   ? "disabled"
                                                    : "");
    json_close(w);
}

static void put_links(struct json_writer *w, const struct plan_report *r)
{
    static const char *const parts[] = {"added", "removed", "changed"};
    json_open_object(w, "links");
    for (enum part p = ADDED; p <= CHANGED; p++) {
        json_open_array(w, parts[p]);
        for (size_t i = 0; i < r->diff.n_changes; i++)
            if (part_of(&r->diff.changes[i]) == p)
                put_link(w, r, &r->diff.changes[i]);
        json_close(w);
    }
    json_close(w);
}

static void put_mtu(struct json_writer *w, const struct plan_report *r)
{
    json_open_array(w, "mtu");
    for (size_t i = 0; i < r->diff.n_changes; i++) {
        const struct plan_change *c = &r->diff.changes[i];
        if (c->mtu_before == c->mtu_after)
            continue;
        json_open_object(w, NULL);
        json_put_id(w, "link_id", c->after ? &c->after->id : &c->before->id);
        put_known(w, "from", c->mtu_before != 0, c->mtu_before);
        put_known(w, "to", c->mtu_after != 0, c->mtu_after);
        json_close(w);
    }
    json_close(w);
}

static void put_refusals(struct json_writer *w, const struct plan_refusal *f)
{
    json_open_array(w, "refusals");
    if (f->refused) {
        json_open_object(w, NULL);
        json_put_uint(w, "change", f->change);
        json_put_null(w, "link_id");
        json_put_int(w, "status", f->status);
        json_put_str(w, "field", f->why.field[0] ? f->why.field : NULL);
        json_put_str(w, "detail", f->why.text);
        json_close(w);
    }
    json_close(w);
}

static bool has_link(const struct plan_side *s, const struct hw_id *connection)
{
    for (size_t i = 0; i < s->plan->n_links; i++)
        if (id_equal(&s->plan->links[i].connection_id, connection))
            return true;
    return false;
}

static struct config_permission permission_of(const struct plan_side *s, const struct hw_id *id)
{
    for (size_t i = 0; i < s->topology->n_connections; i++)
        if (id_equal(&s->topology->connections[i].id, id))
            return s->topology->connections[i].permission;
    return (struct config_permission){.suite = 0};
}

/* A permission that comes, and one that ends with the change, whatever the change was about. */
static void put_permission_warnings(struct json_writer *w, const struct plan_report *r)
{
    char text[HW_NAME_MAX + 128], until[CLOCK_TEXT_MAX];
    for (size_t i = 0; i < r->after.topology->n_connections; i++) {
        const struct topo_connection *c = &r->after.topology->connections[i];
        struct config_permission before = permission_of(&r->before, &c->id);
        if (id_equal(&before.id, &c->permission.id))
            continue;
        if (c->permission.suite)
            (void)snprintf(text, sizeof text,
                           "connection %s may run by %s until %s: its traffic is not secret then",
                           c->name, esp_weak_name(c->permission.suite),
                           clock_text(c->permission.until, until));
        else
            (void)snprintf(text, sizeof text,
                           "the permission of connection %s for %s ends: it is encrypted again",
                           c->name, esp_weak_name(before.suite));
        json_put_str(w, NULL, text);
    }
}

/* Connections that are new, and nothing but a wish until their sites have gateways. */
static void put_warnings(struct json_writer *w, const struct plan_report *r)
{
    char text[HW_NAME_MAX + 96];
    json_open_array(w, "warnings");
    for (size_t i = 0; i < r->after.topology->n_connections; i++) {
        const struct topo_connection *c = &r->after.topology->connections[i];
        if (connection_name(&r->before, &c->id) || has_link(&r->after, &c->id))
            continue;
        (void)snprintf(text, sizeof text,
                       "connection %s has no link until both of its sites have a gateway", c->name);
        json_put_str(w, NULL, text);
    }
    put_permission_warnings(w, r);
    json_close(w);
}

static void say_count(struct strbuf *b, const char *verb, unsigned n, const char *what)
{
    if (n)
        strbuf_printf(b, "%s%s %u %s%s", b->len ? "; " : "", verb, n, what, n == 1 ? "" : "s");
}

/* One sentence for people. */
static void put_summary(struct json_writer *w, const struct plan_report *r)
{
    static const char *const verbs[] = {"adds", "removes", "changes"};
    struct strbuf b = STRBUF_INIT;
    unsigned n[3] = {0};
    for (size_t i = 0; i < r->diff.n_changes; i++)
        n[part_of(&r->diff.changes[i])]++;
    if (r->refusal->refused) {
        strbuf_printf(&b, "write %zu would be refused: %s", r->refusal->change + 1,
                      r->refusal->why.text);
    } else {
        for (enum part p = ADDED; p <= CHANGED; p++)
            say_count(&b, verbs[p], n[p], "link");
        if (!b.len)
            strbuf_puts(&b, "changes no link");
        say_count(&b, "adds", r->diff.tunnels_added, "tunnel");
        say_count(&b, "removes", r->diff.tunnels_removed, "tunnel");
        if (r->diff.tunnels_rekeyed)
            say_count(&b, "re-keys", r->diff.tunnels_rekeyed, "tunnel");
        else
            strbuf_puts(&b, "; re-keys none");
        if (r->diff.flows_moved > 0)
            strbuf_printf(&b, "; %.1f %% of the flows move", r->diff.flows_moved * 100);
        else
            strbuf_puts(&b, "; no flows move");
    }
    w->failed = w->failed || b.failed;
    json_put_str(w, "summary", b.data);
    strbuf_done(&b);
}

char *plan_json(const struct plan_report *r)
{
    struct json_writer w;
    json_writer_init(&w);
    json_put_bool(&w, "feasible", !r->refusal->refused);
    put_summary(&w, r);
    put_refusals(&w, r->refusal);
    put_warnings(&w, r);
    put_links(&w, r);
    json_open_object(&w, "tunnels");
    json_put_uint(&w, "added", r->diff.tunnels_added);
    json_put_uint(&w, "removed", r->diff.tunnels_removed);
    json_put_uint(&w, "rekeyed", r->diff.tunnels_rekeyed);
    json_close(&w);
    put_mtu(&w, r);
    json_put_double(&w, "flows_moved", r->diff.flows_moved);
    json_open_array(&w, "gateways_pushed");
    for (size_t i = 0; i < r->n_pushed; i++)
        json_put_id(&w, NULL, &r->pushed[i]);
    json_close(&w);
    return json_finish(&w, NULL);
}
