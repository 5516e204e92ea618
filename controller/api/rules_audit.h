/* The audit's record of a write to the rules of a set. */
#ifndef HAWSER_CONTROLLER_API_RULES_AUDIT_H
#define HAWSER_CONTROLLER_API_RULES_AUDIT_H

#include "common/json.h"
#include "controller/http/request.h"
#include "controller/store/rule.h"

struct rule_list {
    const struct store_rule *v;
    size_t n;
};

/* About the rule that the path names, or the only one that was inserted. Else about the set:
 * {"rules":[…]} of those that went, came, changed or changed places among those that stayed. */
int rules_audit(struct db *db, const struct http_request *req, struct rule_list before,
                struct rule_list after, struct err *e);
/* "rules": all of a set, whole. */
int rules_audit_put(struct json_writer *w, struct db *db, const struct hw_id *ruleset_id,
                    struct err *e);
/* Everything that PATCH and PUT can say is the same. */
bool rules_same(const struct store_rule *a, const struct store_rule *b);

#endif
