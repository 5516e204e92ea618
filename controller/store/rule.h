/* Rules of a ruleset, in the order of their ranks. */
#ifndef HAWSER_CONTROLLER_STORE_RULE_H
#define HAWSER_CONTROLLER_STORE_RULE_H

#include "common/id.h"
#include "common/limits.h"
#include "controller/store/store.h"

#define RULE_RANK_STEP 1024

struct store_rule {
    struct hw_id id, ruleset_id;
    int64_t rank;
    char name[HW_NAME_MAX + 1];
    bool enabled, allow, log;
    char *match; /* canonical JSON (controller/firewall/match.h); owned */
    char description[HW_TEXT_MAX + 1];
    struct store_common common;
};

/* All rules of a set, in their order. store_rule_free() them. */
int store_rule_list(struct db *db, const struct hw_id *ruleset_id, struct store_rule **out,
                    size_t *n, struct err *e);
void store_rule_free(struct store_rule *list, size_t n);

/* Fills r->common. HW_ECONFLICT: the ruleset has a rule of this name. */
int store_rule_insert(struct db *db, struct store_rule *r, struct err *e);
int store_rule_update(struct db *db, struct store_rule *r, struct err *e);
int store_rule_delete(struct db *db, const struct hw_id *id, struct err *e);
/* Only its place: what it says is as old as before. */
int store_rule_move(struct db *db, const struct hw_id *id, int64_t rank, struct err *e);
/* Another rule may have its name from here on, until it is updated. */
int store_rule_unname(struct db *db, const struct hw_id *id, struct err *e);
/* The groups that a rule names now. */
int store_rule_groups(struct db *db, const struct hw_id *id, const struct hw_id *groups, size_t n,
                      struct err *e);

#endif
