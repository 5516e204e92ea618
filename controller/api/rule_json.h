/* A rule as the API shows it. */
#ifndef HAWSER_CONTROLLER_API_RULE_JSON_H
#define HAWSER_CONTROLLER_API_RULE_JSON_H

#include "common/json.h"
#include "controller/store/rule.h"

/* "deny" and "allow", at the value of struct store_rule's `allow`. */
extern const char *const rule_actions[];

/* The members; `place` counts from 0. */
int rule_put(struct json_writer *w, struct db *db, const struct store_rule *r, size_t place,
             struct err *e);

#endif
