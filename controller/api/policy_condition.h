/* The three guards of the encryption policy (DESIGN section 9) as five conditions, each judged
 * whatever the others say, in words for an operator. */
#ifndef HAWSER_CONTROLLER_API_POLICY_CONDITION_H
#define HAWSER_CONTROLLER_API_POLICY_CONDITION_H

#include "common/json.h"
#include "controller/store/connection.h"
#include "controller/store/site.h"

#define POLICY_CONDITIONS 5
#define POLICY_REASON_MIN 10 /* characters */
#define POLICY_DAYS_MAX   90

struct policy_condition {
    const char *code;
    bool met;
    char detail[HW_TEXT_MAX + 1];
    const char *field; /* member of the request at fault; NULL: none */
};

/* Who is to be permitted what: the request's or, of one that stands, the permission's own. */
struct policy_question {
    const struct store_connection *connection;
    const struct store_site *site_a, *site_b;
    const char *reason; /* trimmed; "": none is given */
    int64_t ends_at;    /* 0: none is given */
    int64_t now;
};

void policy_judge(const struct policy_question *q, struct policy_condition out[POLICY_CONDITIONS]);
unsigned policy_unmet(const struct policy_condition list[POLICY_CONDITIONS]);
/* Member "conditions": all of them, or the unmet ones alone. */
void policy_put_conditions(struct json_writer *w, const struct policy_condition *list,
                           bool unmet_alone);
/* Member "alternatives": what would be faster and stay encrypted. */
int policy_put_alternatives(struct json_writer *w, struct db *db, const struct store_connection *c,
                            struct err *e);
/* Characters, not bytes, of UTF-8 text. */
size_t policy_characters(const char *text);

#endif
