#include "common/clock.h"
#include "controller/audit/audit.h"
#include "controller/audit/difference.h"
#include "controller/audit/refusals.h"
#include "controller/audit/retention.h"
#include "controller/audit/verify.h"
#include "controller/store/stmt.h"
#include "tests/unit/controller/store_file.h"
#include <stdlib.h>
#include <string.h>

#define DAY 86400

/* n records of one day each, from day 1 on. */
static void write_days(int n)
{
    for (int i = 1; i <= n; i++) {
        struct db *db = begin(STORE_TELEMETRY);
        db->now = (int64_t)i * DAY;
        CU_ASSERT_EQUAL_FATAL(audit_own(db, AUDIT_CONTROLLER, "test", "{}", NULL), 0);
        CU_ASSERT_EQUAL_FATAL(store_commit(db, NULL), 0);
    }
}

static uint64_t prune(unsigned days, int64_t now)
{
    uint64_t removed = 99;
    struct db *db = begin(STORE_TELEMETRY);
    db->now = now;
    CU_ASSERT_EQUAL_FATAL(retention_prune(db, days, now, &removed, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(store_commit(db, NULL), 0);
    return removed;
}

static struct audit_verdict verdict(uint64_t from, const struct store_audit_head *known)
{
    struct audit_verdict v;
    struct db *db = NULL;
    CU_ASSERT_EQUAL_FATAL(store_read(store, &db, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(audit_verify(db, from, known, &v, NULL), 0);
    store_read_end(db);
    return v;
}

static void test_empty(void)
{
    fresh();
    struct audit_verdict v = verdict(0, NULL);
    CU_ASSERT_EQUAL(v.broken, 0);
    CU_ASSERT_EQUAL(v.count, 0);
    CU_ASSERT_EQUAL(prune(1, 1000 * DAY), 0);
}

/* What is left stays verifiable, time after time. */
static void test_prune(void)
{
    fresh();
    write_days(20);
    CU_ASSERT_EQUAL(prune(0, 1000 * DAY), 0);
    CU_ASSERT_EQUAL(prune(19, 20 * DAY), 0); /* day 1 is not a day older than that */
    CU_ASSERT_EQUAL(prune(10, 20 * DAY), 9); /* days 1 to 9; a checkpoint is 21 */
    struct audit_verdict v = verdict(0, NULL);
    CU_ASSERT_EQUAL(v.broken, 0);
    CU_ASSERT_EQUAL(v.first, 10);
    CU_ASSERT_EQUAL(v.head.sequence, 21);
    CU_ASSERT_EQUAL(v.count, 12);
    CU_ASSERT_EQUAL(prune(10, 20 * DAY), 0); /* nothing more that day */
    CU_ASSERT_EQUAL(prune(5, 20 * DAY), 5);
    v = verdict(0, NULL);
    CU_ASSERT_EQUAL(v.broken, 0);
    CU_ASSERT_EQUAL(v.first, 15);
    CU_ASSERT_EQUAL(v.head.sequence, 22);
}

/* The clock alone is ahead: nothing was written since, so nothing is too old. */
static void test_prune_by_a_clock_ahead(void)
{
    fresh();
    write_days(3);
    CU_ASSERT_EQUAL(prune(2, 10000 * DAY), 0);
}

/* A checkpoint explains what it says, and no more. */
static void test_more_than_pruned(void)
{
    fresh();
    write_days(20);
    CU_ASSERT_EQUAL(prune(10, 20 * DAY), 9);
    struct db *db = begin(STORE_TELEMETRY);
    CU_ASSERT_EQUAL(store_audit_prune(db, 10, NULL), 0);
    CU_ASSERT_EQUAL(store_commit(db, NULL), 0);
    CU_ASSERT_EQUAL(verdict(0, NULL).broken, 11);
    CU_ASSERT_EQUAL(verdict(11, NULL).broken, 0);
}

static void test_known_head(void)
{
    fresh();
    write_days(3);
    struct store_audit_head known = verdict(0, NULL).head;
    write_days(2);
    CU_ASSERT_EQUAL(verdict(0, &known).broken, 0);
    known.hash[31] ^= 1;
    CU_ASSERT_EQUAL(verdict(0, &known).broken, 3);
    known.sequence = 6;
    CU_ASSERT_EQUAL(verdict(0, &known).broken, 6);
}

/* A chain written anew may begin behind every head that was kept: it must not pass for that. */
static void test_known_head_is_older(void)
{
    struct audit_verdict v;
    fresh();
    write_days(20);
    struct store_audit_head removed = verdict(0, NULL).head;
    CU_ASSERT_EQUAL(prune(0, 0), 0);
    CU_ASSERT_EQUAL(prune(10, 20 * DAY), 9);
    struct store_audit_head last_removed = {.sequence = 9};
    v = verdict(0, &removed); /* 20: still here */
    CU_ASSERT_EQUAL(v.broken, 0);
    v = verdict(0, &last_removed); /* the checkpoint has the true hash */
    CU_ASSERT_EQUAL(v.broken, 9);
    CU_ASSERT_PTR_NOT_NULL(strstr(v.why.text, "not the one"));
    last_removed.sequence = 8;
    v = verdict(0, &last_removed);
    CU_ASSERT_EQUAL(v.broken, 8);
    CU_ASSERT_PTR_NOT_NULL(strstr(v.why.text, "can't be compared"));
    v = verdict(21, &removed); /* 20 is what the first one follows */
    CU_ASSERT_EQUAL(v.broken, 0);
    removed.sequence = 19;
    CU_ASSERT_EQUAL(verdict(21, &removed).broken, 19);
}

/* A change that nobody has recorded gets its record at the commit, and one that is recorded no
 * second. */
static void test_witness(void)
{
    fresh();
    store_set_witness(store, audit_witness);
    CU_ASSERT_EQUAL(store_commit(begin(STORE_CHANGE), NULL), 0);
    CU_ASSERT_EQUAL(verdict(0, NULL).count, 1);
    struct db *db = begin(STORE_CHANGE);
    CU_ASSERT_EQUAL(audit_own(db, AUDIT_COMMAND, "x", NULL, NULL), 0);
    CU_ASSERT_EQUAL(store_commit(db, NULL), 0);
    CU_ASSERT_EQUAL(verdict(0, NULL).count, 2);
    CU_ASSERT_EQUAL(store_commit(begin(STORE_TELEMETRY), NULL), 0);
    store_rollback(begin(STORE_CHANGE));
    CU_ASSERT_EQUAL(verdict(0, NULL).count, 2);
    CU_ASSERT_EQUAL(store_commit(begin(STORE_CHANGE), NULL), 0);
    CU_ASSERT_EQUAL(verdict(0, NULL).count, 3);
}

static void test_difference(void)
{
    static const struct {
        const char *before, *after, *before_out, *after_out;
    } rows[] = {
        {"{\"a\":1,\"b\":[1,2]}", "{\"a\":1,\"b\":[2,1]}", "{\"b\":[1,2]}", "{\"b\":[2,1]}"},
        {"{\"a\":1}", "{\"a\":1}", "{}", "{}"},
        {"{\"a\":null}", "{\"a\":0,\"new\":true}", "{\"a\":null}", "{\"a\":0,\"new\":true}"},
        {"{\"a\":1,\"status\":{\"x\":1}}", "{\"a\":2,\"status\":{\"x\":2}}", "{\"a\":1}",
         "{\"a\":2}"},
        {NULL, "{\"a\":1,\"key\":null,\"revision\":5}", NULL, "{\"a\":1}"},
        {"{\"a\":\"\\u00e4/\\\"\"}", NULL, "{\"a\":\"ä/\\\"\"}", NULL},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char *before, *after;
        CU_ASSERT_EQUAL_FATAL(
            audit_difference(rows[i].before, rows[i].after, "key", &before, &after, NULL), 0);
        CU_ASSERT_EQUAL(before == NULL, rows[i].before_out == NULL);
        CU_ASSERT_EQUAL(after == NULL, rows[i].after_out == NULL);
        if (before)
            CU_ASSERT_STRING_EQUAL(before, rows[i].before_out);
        if (after)
            CU_ASSERT_STRING_EQUAL(after, rows[i].after_out);
        free(before);
        free(after);
    }
}

static void test_refusals(void)
{
    struct refusals *r = refusals_new();
    unsigned omitted = 9;
    uint64_t now = 1000 * NS_PER_S;
    CU_ASSERT_PTR_NOT_NULL_FATAL(r);
    for (int i = 0; i < REFUSALS_BURST; i++)
        CU_ASSERT_TRUE(refusals_take(r, now, &omitted));
    CU_ASSERT_EQUAL(omitted, 0);
    for (int i = 0; i < 7; i++)
        CU_ASSERT_FALSE(refusals_take(r, now, &omitted));
    CU_ASSERT_TRUE(refusals_take(r, now + NS_PER_S, &omitted));
    CU_ASSERT_EQUAL(omitted, 7);
    CU_ASSERT_FALSE(refusals_take(r, now + NS_PER_S, &omitted));
    CU_ASSERT_TRUE(refusals_take(r, now + 3 * NS_PER_S, &omitted));
    CU_ASSERT_EQUAL(omitted, 1);
    refusals_free(r);
}

static CU_TestInfo tests[] = {
    {"no record", test_empty},
    {"pruned", test_prune},
    {"a clock that is ahead prunes nothing", test_prune_by_a_clock_ahead},
    {"more is gone than a checkpoint says", test_more_than_pruned},
    {"a head kept elsewhere", test_known_head},
    {"a head older than the records", test_known_head_is_older},
    {"no change without a record", test_witness},
    {"what differs", test_difference},
    {"a flood of refusals", test_refusals},
    CU_TEST_INFO_NULL,
};

int main(void)
{
    return store_suite_run("audit", tests);
}
