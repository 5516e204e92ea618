#include "controller/planner/buckets.h"
#include "tests/unit/controller/fleet_fixture.h"
#include "tests/unit/suite.h"
#include <math.h>

static struct bucket_member member(unsigned number, unsigned weight)
{
    return (struct bucket_member){.gateway = fixture_id("gate", number),
                                  .link = fixture_id("link", number),
                                  .weight = weight};
}

/* Shares follow the weights, within four standard deviations of a random draw. */
static void test_shares(void)
{
    static const unsigned weights[][4] = {
        {100, 100, 0, 0}, {100, 200, 0, 0}, {1, 1000, 0, 0}, {50, 100, 150, 300}, {7, 7, 7, 7}};
    for (size_t c = 0; c < sizeof weights / sizeof *weights; c++) {
        struct bucket_member m[4];
        size_t n = 0;
        double sum = 0;
        unsigned count[4] = {0};
        for (; n < 4 && weights[c][n]; n++) {
            m[n] = member((unsigned)n + 1, weights[c][n]);
            sum += weights[c][n];
        }
        uint8_t table[HW_BUCKETS];
        buckets_fill(m, n, table);
        for (unsigned b = 0; b < HW_BUCKETS; b++)
            count[table[b]]++;
        for (size_t i = 0; i < n; i++) {
            double share = weights[c][i] / sum, want = HW_BUCKETS * share;
            CU_ASSERT_TRUE(fabs(count[i] - want) <= 4 * sqrt(want * (1 - share)));
        }
    }
}

/* Any member away: the others' buckets stay, its own are spread; back again: the table is the old
 * one, so it takes only what was its own. */
static void test_least_disruption(void)
{
    enum { N = 8 };
    struct bucket_member all[N], rest[N - 1];
    uint8_t before[HW_BUCKETS], after[HW_BUCKETS], again[HW_BUCKETS];
    for (unsigned i = 0; i < N; i++)
        all[i] = member(i + 1, 40 + 30 * i);
    buckets_fill(all, N, before);
    for (unsigned gone = 0; gone < N; gone++) {
        for (unsigned i = 0, k = 0; i < N; i++)
            if (i != gone)
                rest[k++] = all[i];
        buckets_fill(rest, N - 1, after);
        unsigned taken[N] = {0};
        for (unsigned b = 0; b < HW_BUCKETS; b++) {
            unsigned now = after[b] < gone ? after[b] : after[b] + 1u;
            if (before[b] == gone)
                taken[now]++;
            CU_ASSERT_TRUE(before[b] == gone || now == before[b]);
        }
        for (unsigned i = 0; i < N; i++)
            CU_ASSERT_TRUE(i == gone || taken[i] > 0);
        buckets_fill(all, N, again);
        CU_ASSERT_EQUAL(memcmp(before, again, sizeof before), 0);
    }
}

/* A weight that changes moves buckets only to or from that member. */
static void test_weight_change(void)
{
    struct bucket_member m[3] = {member(1, 100), member(2, 100), member(3, 100)};
    uint8_t before[HW_BUCKETS], after[HW_BUCKETS];
    buckets_fill(m, 3, before);
    m[1].weight = 300;
    buckets_fill(m, 3, after);
    for (unsigned b = 0; b < HW_BUCKETS; b++)
        CU_ASSERT_TRUE(before[b] == after[b] || after[b] == 1);
}

static void test_order_of_members(void)
{
    struct bucket_member a[3] = {member(1, 10), member(2, 20), member(3, 30)};
    struct bucket_member b[3] = {a[2], a[0], a[1]};
    static const uint8_t now[3] = {1, 2, 0};
    uint8_t x[HW_BUCKETS], y[HW_BUCKETS];
    buckets_fill(a, 3, x);
    buckets_fill(b, 3, y);
    for (unsigned i = 0; i < HW_BUCKETS; i++)
        CU_ASSERT_EQUAL(now[x[i]], y[i]);
}

/* Two links to one gateway share its buckets; nobody else's move. */
static void test_two_links_to_one(void)
{
    struct bucket_member m[3] = {member(1, 100), member(2, 100), member(2, 100)};
    m[2].link = fixture_id("link", 77);
    uint8_t one[HW_BUCKETS], both[HW_BUCKETS];
    unsigned count[3] = {0};
    buckets_fill(m, 2, one);
    buckets_fill(m, 3, both);
    for (unsigned b = 0; b < HW_BUCKETS; b++) {
        CU_ASSERT_EQUAL(one[b] == 0, both[b] == 0);
        count[both[b]]++;
    }
    CU_ASSERT_TRUE(count[1] > 800 && count[2] > 800);
}

int main(void)
{
    CU_TestInfo tests[] = {{"shares follow weights", test_shares},
                           {"a member's going moves only its own", test_least_disruption},
                           {"a weight's change moves only its own", test_weight_change},
                           {"the order of members", test_order_of_members},
                           {"two links to one gateway", test_two_links_to_one},
                           CU_TEST_INFO_NULL};
    return suite_run("buckets", tests);
}
