/* Counters of rules and rulesets as the API shows them. */
#ifndef HAWSER_CONTROLLER_API_RULE_COUNTER_JSON_H
#define HAWSER_CONTROLLER_API_RULE_COUNTER_JSON_H

#include "common/json.h"
#include "controller/store/rule_counter.h"

/* Members of an open object; null before a gateway has reported. */
void rule_counter_put(struct json_writer *w, const struct store_rule_counter *c, int64_t now_s);

#endif
