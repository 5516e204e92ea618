#include "common/clock.h"
#include "controller/api/api.h"
#include "controller/api/page.h"
#include "controller/api/resource.h"
#include "controller/api/rule_counter_json.h"
#include "controller/api/rules_audit.h"
#include "controller/api/status_json.h"
#include "controller/store/gateway.h"
#include "controller/store/rule_counter.h"
#include "controller/store/ruleset.h"
#include "controller/store/signed.h"
#include "controller/store/site.h"
#include "controller/store/telemetry.h"
#include "controller/telemetry/status.h"
#include <stdlib.h>

static const char *const members[] = {"name",        "site_id",  "scope",       "enabled",
                                      "base_policy", "log_base", "description", NULL};
static const char *const filters[] = {"site_id", NULL};
static const char *const actions[] = {"deny", "allow", NULL};
static const char *const scopes[] = {"site", "transit", NULL};

/* --- JSON --- */

static int put_count(struct json_writer *w, struct db *db, const char *what,
                     const struct store_ruleset *s, struct err *e)
{
    struct store_rule_counter c;
    int rc = store_rule_counter_get(db, &s->id, what, &c, e);
    if (rc)
        return rc;
    json_open_object(w, what);
    rule_counter_put(w, &c, clock_wall_s());
    json_close(w);
    return 0;
}

/* What a gateway says of the set is about the config that it has in force. */
static int is_behind(struct db *db, const struct hw_id *gateway, bool *behind, struct err *e)
{
    struct store_telemetry t;
    uint64_t planned = 0;
    *behind = false;
    int rc = store_config_revision(db, gateway, &planned, e);
    rc = rc ? rc : store_telemetry_last(db, gateway, &t, e);
    if (rc)
        return rc == HW_ENOTFOUND ? 0 : rc;
    *behind = t.in_force < planned;
    store_telemetry_done(&t);
    return 0;
}

static int put_gateway(struct json_writer *w, struct db *db, const struct hw_id *gateway,
                       const struct store_ruleset *s, struct err *e)
{
    struct store_firewall_status f;
    bool behind;
    int rc = store_firewall_status_get(db, gateway, &f, e);
    rc = rc ? rc : is_behind(db, gateway, &behind, e);
    if (rc)
        return rc;
    bool known = f.observed_at != 0 && !status_is_stale(f.observed_at, 0, clock_wall_s());
    bool ours = id_equal(&f.ruleset_id, &s->id);
    const char *state = !known               ? "unknown"
                        : ours && !f.applied ? "failed"
                        : ours && !behind    ? "applied"
                                             : "pending";
    json_open_object(w, NULL);
    json_put_id(w, "gateway_id", gateway);
    json_put_str(w, "state", state);
    json_put_str(w, "reason", ours ? f.error : "");
    if (known) {
        json_put_int(w, "conntrack_entries", f.conntrack_entries);
        json_put_int(w, "conntrack_max", f.conntrack_max);
    } else {
        json_put_null(w, "conntrack_entries");
        json_put_null(w, "conntrack_max");
    }
    status_json_seen(w, f.observed_at, clock_wall_s());
    json_close(w);
    return 0;
}

static int put_gateways(struct json_writer *w, struct db *db, const struct store_ruleset *s,
                        struct err *e)
{
    struct store_gateway *list = NULL;
    size_t n = 0;
    int rc = store_gateway_list(db, &(struct store_page){.limit = UINT32_MAX}, &s->site_id, &list,
                                &n, e);
    json_open_array(w, "gateways");
    for (size_t i = 0; i < n && !rc; i++)
        rc = put_gateway(w, db, &list[i].id, s, e);
    json_close(w);
    store_gateway_free(list, n);
    return rc;
}

static int put_ruleset(struct json_writer *w, const struct resource_context *c, const void *row,
                       struct err *e)
{
    const struct store_ruleset *s = row;
    json_put_id(w, "id", &s->id);
    json_put_str(w, "name", s->name);
    json_put_id(w, "site_id", &s->site_id);
    json_put_str(w, "scope", scopes[0]);
    json_put_bool(w, "enabled", s->enabled);
    json_put_str(w, "base_policy", actions[s->base_allow]);
    json_put_bool(w, "log_base", s->log_base);
    json_put_str(w, "description", s->description[0] ? s->description : NULL);
    json_put_uint(w, "rules_total", s->rules_total);
    json_open_object(w, "counters");
    int rc = put_count(w, c->db, "base", s, e);
    rc = rc ? rc : put_count(w, c->db, "established", s, e);
    rc = rc ? rc : put_count(w, c->db, "invalid", s, e);
    json_close(w);
    rc = rc ? rc : put_gateways(w, c->db, s, e);
    body_put_common(w, &s->common);
    return rc;
}

static int read_scope(const struct json_at *top, struct err *e)
{
    unsigned scope = 0;
    int rc = json_get_enum(top, "scope", scopes, &scope, e);
    return rc || scope == 0
               ? rc
               : err_set_field(e, HW_EINVAL, "scope", "transit is not accepted yet: use site");
}

static int read_ruleset(const struct json_at *top, enum body_mode mode, void *row, struct err *e)
{
    struct store_ruleset *s = row;
    int rc = 0;
    if (body_wants(top, "name", mode, true))
        rc = json_get_name(top, "name", s->name, e);
    if (!rc && body_wants(top, "site_id", mode, true))
        rc = json_get_id(top, "site_id", &s->site_id, e);
    if (!rc && body_wants(top, "scope", mode, false))
        rc = read_scope(top, e);
    if (!rc && body_wants(top, "enabled", mode, false))
        rc = json_get_bool(top, "enabled", &s->enabled, e);
    if (!rc && body_wants(top, "base_policy", mode, false)) {
        unsigned action = 0;
        rc = json_get_enum(top, "base_policy", actions, &action, e);
        s->base_allow = action == 1;
    }
    if (!rc && body_wants(top, "log_base", mode, false))
        rc = json_get_bool(top, "log_base", &s->log_base, e);
    if (!rc && body_wants(top, "description", mode, false))
        rc = body_text_or_null(top, "description", s->description, sizeof s->description, e);
    return rc;
}

/* --- rules that need the store --- */

/* Rules are about one site's addresses: a set that has some stays where it is. */
static int check_ruleset(struct db *db, const void *old, void *row, struct err *e)
{
    const struct store_ruleset *was = old, *s = row;
    struct store_site site;
    if (was && was->rules_total && !id_equal(&was->site_id, &s->site_id))
        return err_set_field(e, HW_ECONFLICT, "site_id", "the set has %u rules of its site",
                             was->rules_total);
    int rc = store_site_get(db, &s->site_id, &site, e);
    return rc == HW_ENOTFOUND ? err_set_field(e, HW_EINVAL, "site_id", "there is no such site")
                              : rc;
}

/* --- the resource --- */

static void defaults(void *row)
{
    struct store_ruleset *s = row;
    s->enabled = true;
    s->base_allow = true;
}

RESOURCE_STORE(ruleset)

static int list_rulesets(struct db *db, const struct http_request *req,
                         const struct store_page *page, void **rows, size_t *n, struct err *e)
{
    struct store_ruleset *list = NULL;
    struct hw_id site_id;
    bool by_site;
    int rc = page_filter_id(req, "site_id", &site_id, &by_site, e);
    if (!rc)
        rc = store_ruleset_list(db, page, by_site ? &site_id : NULL, &list, n, e);
    *rows = list;
    return rc;
}

static int remove_ruleset(struct db *db, void *row, struct err *e)
{
    const struct store_ruleset *s = row;
    return store_ruleset_delete(db, &s->id, e);
}

static int put_lost(struct json_writer *w, struct db *db, const void *row, struct err *e)
{
    const struct store_ruleset *s = row;
    return rules_audit_put(w, db, &s->id, e);
}

const struct resource rulesets = {
    .path = "/api/v1/rulesets",
    .filters = filters,
    .members = members,
    .changes = members,
    .size = sizeof(struct store_ruleset),
    .id = offsetof(struct store_ruleset, id),
    .common = offsetof(struct store_ruleset, common),
    .key = offsetof(struct store_ruleset, name),
    .planned = true,
    .defaults = defaults,
    .read = read_ruleset,
    .check = check_ruleset,
    .put = put_ruleset,
    .get = get_ruleset,
    .list = list_rulesets,
    .insert = insert_ruleset,
    .update = update_ruleset,
    .remove = remove_ruleset,
    .lost = put_lost,
};
