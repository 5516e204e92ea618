/* Periods become rows of the next step, old ones go, and the clock may jump. */
#include "common/dp_proto.h"
#include "controller/store/telemetry_row.h"
#include "controller/telemetry/keeper.h"
#include "controller/telemetry/query.h"
#include "tests/unit/controller/store_fixture.h"
#include "tests/unit/suite.h"
#include <stdlib.h>

#define T0 (STORE_FIXTURE_NOW - STORE_FIXTURE_NOW % 3600)

static struct store_fixture f;
static struct err e;
static struct db *db;
static const struct hw_id *gw;

static void up(void)
{
    store_fixture_init(&f);
    gw = &f.gateways[0].id;
    db = store_fixture_begin(&f, STORE_TELEMETRY);
}

static void down(void)
{
    store_rollback(db);
    store_fixture_done(&f);
}

/* A report at `at` that adds 10 bytes, with a tunnel of one link. */
static void put(int64_t at)
{
    struct pack_link link = {.id = {{1}}, .tunnels = 1, .tunnels_up = 1};
    struct pack_tunnel tunnel = {.state = DP_TUNNEL_UP};
    struct pack_row r = {.reports = 1,
                         .ms = 10000,
                         .links = &link,
                         .n_links = 1,
                         .tunnels = &tunnel,
                         .n_tunnels = 1};
    r.gateway.counters[GATEWAY_TX_BYTES] = 10;
    link.counters[LINK_TX_BYTES] = 10;
    size_t main_len, detail_len;
    uint8_t *m = pack_main(&r, &main_len), *d = pack_detail(&r, &detail_len);
    CU_ASSERT_EQUAL(store_telemetry_row_put(db, gw, 0, at, m, main_len, d, detail_len, &e), 0);
    free(m);
    free(d);
}

static unsigned roll(int64_t now, unsigned max)
{
    unsigned done = 99;
    CU_ASSERT_EQUAL(keeper_roll(db, gw, now, max, &done, &e), 0);
    return done;
}

struct found {
    size_t n, details;
    uint64_t bytes, reports;
    int64_t first, last;
};

static int count(void *arg, const struct store_telemetry_row *row, struct err *why)
{
    struct found *n = arg;
    struct pack_row r;
    CU_ASSERT_EQUAL_FATAL(keeper_decode(row, true, &r, why), 0);
    n->first = n->n ? n->first : row->at;
    n->last = row->at;
    n->n++;
    n->details += row->detail != NULL;
    n->bytes += r.gateway.counters[GATEWAY_TX_BYTES];
    n->reports += r.reports;
    pack_row_done(&r);
    return 0;
}

static struct found rows(unsigned step)
{
    struct found n = {0};
    CU_ASSERT_EQUAL(store_telemetry_row_each(db, gw, step, 0, INT64_MAX, count, &n, &e), 0);
    return n;
}

static void test_steps(void)
{
    up();
    CU_ASSERT_EQUAL(roll(T0, 100), 0); /* nothing was ever reported */
    for (int i = 0; i < 3600; i += 10)
        put(T0 + i);
    CU_ASSERT_EQUAL(roll(T0 + 89, 100), 0); /* the minute is over, but not yet by 30 s */
    CU_ASSERT_EQUAL(roll(T0 + 90, 100), 1);
    CU_ASSERT_EQUAL(rows(60).reports, 6);
    CU_ASSERT_EQUAL(roll(T0 + 90, 100), 0);   /* once */
    CU_ASSERT_EQUAL(roll(T0 + 3629, 20), 20); /* no more than asked for */
    CU_ASSERT_EQUAL(roll(T0 + 3630, 1000), 39 + 4 + 1);
    CU_ASSERT_EQUAL(rows(60).n, 60);
    CU_ASSERT_EQUAL(rows(900).n, 4);
    CU_ASSERT_EQUAL(rows(900).details, 4);
    struct found hour = rows(3600);
    CU_ASSERT_TRUE(hour.n == 1 && hour.first == T0 && hour.details == 0);
    CU_ASSERT_EQUAL(hour.bytes, 3600);
    CU_ASSERT_EQUAL(hour.reports, 360);
    down();
}

/* A day of silence costs no rows, and what comes after it is rolled up all the same. */
static void test_gap(void)
{
    up();
    put(T0 + 5);
    put(T0 + 86400);
    CU_ASSERT_EQUAL(roll(T0 + 2 * 86400, 100), 2 + 2 + 2);
    CU_ASSERT_EQUAL(rows(60).n, 2);
    CU_ASSERT_EQUAL(rows(3600).last, T0 + 86400);
    /* What came late, into a period that is over, changes nothing. */
    put(T0 + 15);
    CU_ASSERT_EQUAL(roll(T0 + 2 * 86400, 100), 0);
    CU_ASSERT_EQUAL(rows(3600).bytes, 20);
    down();
}

/* Set back by a day: periods of then are rolled up again as they come. */
static void test_clock_set_back(void)
{
    up();
    put(T0 + 86400);
    CU_ASSERT_EQUAL(roll(T0 + 86400 + 7300, 100), 3);
    put(T0);
    CU_ASSERT_EQUAL(roll(T0 + 20, 100), 0);
    put(T0 + 10);
    CU_ASSERT_EQUAL(roll(T0 + 100, 100), 1);
    put(T0 + 120);
    CU_ASSERT_EQUAL(roll(T0 + 240, 100), 1);
    CU_ASSERT_EQUAL(rows(60).n, 3);
    CU_ASSERT_EQUAL(rows(60).bytes, 40);
    down();
}

static void test_expiry(void)
{
    unsigned n;
    up();
    for (int i = 0; i < 10; i++)
        put(T0 + i);
    CU_ASSERT_EQUAL(keeper_expire(db, T0 + 7205, 100, &n, &e), 0);
    CU_ASSERT_EQUAL(n, 5);
    CU_ASSERT_EQUAL(rows(0).details, 5);
    CU_ASSERT_EQUAL(rows(0).n, 10);
    CU_ASSERT_EQUAL(keeper_expire(db, T0 + 86403, 2, &n, &e), 0);
    CU_ASSERT_EQUAL(n, 2);
    CU_ASSERT_EQUAL(keeper_expire(db, T0 + 86403, 100, &n, &e), 0);
    CU_ASSERT_EQUAL(rows(0).n, 7);
    CU_ASSERT_EQUAL(roll(T0 + 7300, 100), 3);
    CU_ASSERT_EQUAL(keeper_expire(db, T0 + 400ll * 86400 + 3601, 100, &n, &e), 0);
    CU_ASSERT_EQUAL(rows(0).n + rows(60).n + rows(900).n + rows(3600).n, 0);
    down();
}

static struct query ask(const char *metric, int64_t from, int64_t to, enum keeper_step step)
{
    struct query q = {.from = from, .to = to, .step = step, .n_series = 1};
    q.series[0] = (struct query_series){.object = {.kind = METRIC_GATEWAY, .id = *gw},
                                        .metric = metric_find(METRIC_GATEWAY, metric),
                                        .observer = *gw};
    CU_ASSERT_EQUAL_FATAL(query_run(db, &q, &e), 0);
    return q;
}

/* Rolled up or not, and where nobody reported. */
static void test_query(void)
{
    up();
    for (int i = 0; i < 120; i += 10)
        put(T0 + i);
    put(T0 + 200);
    CU_ASSERT_EQUAL(roll(T0 + 90, 100), 1);
    struct query q = ask("tx_bytes", T0 + 3, T0 + 240, KEEPER_MINUTE);
    CU_ASSERT_EQUAL_FATAL(q.n_times, 4);
    CU_ASSERT_EQUAL(q.times[0], T0);
    CU_ASSERT_EQUAL(q.series[0].values[0].avg, 60);
    CU_ASSERT_EQUAL(q.series[0].values[1].avg, 60); /* from the reports */
    CU_ASSERT_TRUE(isnan(q.series[0].values[2].avg));
    CU_ASSERT_EQUAL(q.series[0].values[3].avg, 10);
    query_done(&q);
    q = ask("tx_bytes", T0, T0 + 240, KEEPER_RAW);
    CU_ASSERT_EQUAL_FATAL(q.n_times, 14); /* 13 reports and the gap */
    CU_ASSERT_EQUAL(q.times[12], T0 + 120);
    CU_ASSERT_TRUE(isnan(q.series[0].values[12].avg));
    CU_ASSERT_EQUAL(q.series[0].values[13].avg, 10);
    query_done(&q);
    q = (struct query){
        .from = T0, .to = T0 + 8 * 86400ll * 20, .step = KEEPER_MINUTE, .n_series = 1};
    CU_ASSERT_EQUAL(query_run(db, &q, &e), HW_EINVAL);
    CU_ASSERT_STRING_EQUAL(e.field, "step");
    query_done(&q);
    down();
}

static void test_choice_of_step(void)
{
    static const struct {
        int64_t reach, ago;
        bool detail;
        enum keeper_step step;
    } cases[] = {{3600, 0, false, KEEPER_RAW},           {7200, 0, false, KEEPER_RAW},
                 {7201 + 10, 0, false, KEEPER_MINUTE},   {43200, 0, false, KEEPER_MINUTE},
                 {86400, 0, false, KEEPER_QUARTER},      {8 * 86400, 0, false, KEEPER_HOUR},
                 {3600, 86400, false, KEEPER_MINUTE},    {3600, 8 * 86400, false, KEEPER_QUARTER},
                 {3600, 31 * 86400, false, KEEPER_HOUR}, {3600, 7200, true, KEEPER_MINUTE},
                 {3600, 86400, true, KEEPER_QUARTER},    {30 * 86400, 0, true, KEEPER_QUARTER}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        CU_ASSERT_EQUAL(
            query_step(T0 - cases[i].ago - cases[i].reach, T0 - cases[i].ago, T0, cases[i].detail),
            cases[i].step);
}

int main(void)
{
    CU_TestInfo tests[] = {{"steps", test_steps},
                           {"a gap, and a late report", test_gap},
                           {"the clock is set back", test_clock_set_back},
                           {"expiry", test_expiry},
                           {"queries", test_query},
                           {"choice of step", test_choice_of_step},
                           CU_TEST_INFO_NULL};
    return suite_run("keeper", tests);
}
