#include "controller/api/rule_json.h"
#include "common/clock.h"
#include "controller/api/body.h"
#include "controller/api/rule_counter_json.h"
#include "controller/firewall/match.h"

const char *const rule_actions[] = {"deny", "allow", NULL};

int rule_put(struct json_writer *w, struct db *db, const struct store_rule *r, size_t place,
             struct err *e)
{
    struct store_rule_counter c;
    struct rule_match m;
    int rc = rule_match_parse(r->match, &m, e);
    rc = rc ? rc : store_rule_counter_get(db, &r->id, "rule", &c, e);
    if (rc)
        return rc;
    json_put_id(w, "id", &r->id);
    json_put_id(w, "ruleset_id", &r->ruleset_id);
    json_put_uint(w, "position", place + 1);
    json_put_str(w, "name", r->name);
    json_put_bool(w, "enabled", r->enabled);
    json_put_str(w, "action", rule_actions[r->allow]);
    rule_match_put(w, &m);
    json_put_bool(w, "log", r->log);
    json_put_str(w, "description", r->description[0] ? r->description : NULL);
    json_open_object(w, "counters");
    rule_counter_put(w, &c, clock_wall_s());
    json_close(w);
    body_put_common(w, &r->common);
    return 0;
}
