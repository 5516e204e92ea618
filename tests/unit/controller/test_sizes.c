#include "controller/sizes/catalogue.h"
#include "controller/sizes/recommend.h"
#include "tests/unit/controller/store_file.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LEN(a) (sizeof(a) / sizeof *(a))

static struct store_figure figure(double gbps, unsigned mtu, const char *encryption)
{
    struct store_figure f = {.id = id_new(),
                             .published = true,
                             .mtu = mtu,
                             .tcp_streams = 128,
                             .metric = "throughput",
                             .source = "S",
                             .throughput_bps = gbps * 1e9};
    (void)snprintf(f.encryption, sizeof f.encryption, "%s", encryption);
    return f;
}

static void test_choice_by_mtu(void)
{
    struct store_figure f[] = {figure(1, 350, "ipsec"), figure(3, 1500, "ipsec"),
                               figure(9, 9000, "ipsec"), figure(20, 1500, "none"),
                               figure(20, 1500, "")};
    static const struct {
        unsigned mtu, chosen;
    } cases[] = {{68, 350},    {350, 350},   {1499, 350},  {1500, 1500},
                 {8999, 1500}, {9000, 9000}, {65535, 9000}};
    for (size_t i = 0; i < LEN(cases); i++) {
        const struct store_figure *c = figure_choose(f, LEN(f), cases[i].mtu, false);
        CU_ASSERT_PTR_NOT_NULL_FATAL(c);
        CU_ASSERT_EQUAL(c->mtu, cases[i].chosen);
        CU_ASSERT_STRING_EQUAL(c->encryption, "ipsec");
    }
    CU_ASSERT_PTR_NULL(figure_choose(f + 3, 2, 1500, false));
    CU_ASSERT_PTR_NULL(figure_choose(NULL, 0, 1500, false));
    (void)snprintf(f[1].metric, sizeof f[1].metric, "L7 throughput");
    CU_ASSERT_EQUAL(figure_choose(f, LEN(f), 1500, false)->mtu, 350);
}

/* Each of these beats the one before it, wherever it stands. */
static void test_choice_of_several(void)
{
    enum { N = 7 };
    struct store_figure f[N], shuffled[N];
    for (size_t i = 0; i < N; i++)
        f[i] = figure(9, 1500, "ipsec");
    (void)snprintf(f[0].note, sizeof f[0].note, "0 rules; HA pair");
    (void)snprintf(f[0].role, sizeof f[0].role, "encrypted transit");
    (void)snprintf(f[1].role, sizeof f[1].role, "encrypted peering");
    (void)snprintf(f[2].role, sizeof f[2].role, "spoke");
    (void)snprintf(f[3].role, sizeof f[3].role, "transit");
    for (size_t i = 4; i < N; i++)
        (void)snprintf(f[i].role, sizeof f[i].role, "encrypted transit");
    f[4].tcp_streams = 1;
    f[6].throughput_bps = 8e9;
    for (size_t n = 1; n <= N; n++)
        for (size_t turn = 0; turn < n; turn++) {
            for (size_t i = 0; i < n; i++)
                shuffled[i] = f[(i + turn) % n];
            const struct store_figure *c = figure_choose(shuffled, n, 1500, false);
            CU_ASSERT_TRUE(id_equal(&c->id, &f[n - 1].id));
        }
    f[0].published = false;
    CU_ASSERT_PTR_EQUAL(figure_choose(f, N, 1500, false), &f[0]);
    CU_ASSERT_PTR_EQUAL(figure_choose(f, N, 1500, true), &f[6]);
}

static struct store_size size(const char *name, unsigned vcpus, const char *note)
{
    struct store_size s = {.id = id_new(), .provider = "aws", .vcpus = vcpus};
    (void)snprintf(s.size, sizeof s.size, "%s", name);
    (void)snprintf(s.key, sizeof s.key, "aws/%s", name);
    (void)snprintf(s.note, sizeof s.note, "%s", note);
    return s;
}

static void test_order_of_answers(void)
{
    struct store_size s[] = {size("burst", 2, "burstable"), size("small", 2, ""),
                             size("unknown", 0, ""),        size("big", 16, ""),
                             size("bigger", 32, ""),        size("tiny", 1, ""),
                             size("measured", 64, ""),      size("nothing", 64, "")};
    struct store_figure f[LEN(s)] = {figure(50, 1500, "ipsec"), figure(5, 1500, "ipsec"),
                                     figure(12, 1500, "ipsec"), figure(12, 1500, "ipsec"),
                                     figure(30, 1500, "ipsec"), figure(0.6, 1500, "ipsec"),
                                     figure(10, 9000, "ipsec"), figure(40, 1500, "none")};
    static const char *const expected[] = {"measured", "big",   "bigger",
                                           "unknown",  "small", "burst"};
    struct sized sized[LEN(s)];
    struct recommendation r;
    f[6].published = false;
    for (size_t i = 0; i < LEN(s); i++)
        sized[i] = (struct sized){.size = &s[i], .figures = &f[i], .n_figures = 1};
    CU_ASSERT_EQUAL_FATAL(recommend(sized, LEN(s), 10e9, 1500, &r, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(r.n, LEN(expected));
    for (size_t i = 0; i < r.n; i++)
        CU_ASSERT_STRING_EQUAL(r.items[i].size->size, expected[i]);
    CU_ASSERT_EQUAL(r.items[4].gateways, 2);
    CU_ASSERT_EQUAL(r.items[4].expected_bps, 10e9);
    CU_ASSERT_STRING_EQUAL(r.items[0].reason,
                           "one measured: 10 Gbit/s at MTU 9000 (larger than asked: expect less), "
                           "measured here, 1.0 times what is asked");
    CU_ASSERT_STRING_EQUAL(r.items[4].reason, "2 x small: 5 Gbit/s each at MTU 1500, published by "
                                              "S, 1.0 times what is asked");
    CU_ASSERT_PTR_NOT_NULL(strstr(r.items[5].reason, "; a burst, not sustained"));
    CU_ASSERT_EQUAL_FATAL(recommend(sized + 7, 1, 10e9, 1500, &r, NULL), 0);
    CU_ASSERT_EQUAL(r.n, 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(r.explanation, "No size"));
}

/* Another catalogue than last time: ids and own figures stay, a size that is gone is the
 * operator's. */
static void test_another_catalogue(void)
{
    struct store_size gone = size("gone", 4, ""), *before = NULL, *after = NULL;
    struct store_figure mine = figure(1, 1500, "aes-256-gcm"), *figures = NULL;
    size_t n = 0, m = 0;
    bool changed = false;
    fresh();
    struct db *db = begin(STORE_CHANGE);
    CU_ASSERT_EQUAL(catalogue_load(db, &changed, NULL), 0);
    CU_ASSERT_TRUE(changed);
    CU_ASSERT_EQUAL(catalogue_load(db, &changed, NULL), 0);
    CU_ASSERT_FALSE(changed);
    CU_ASSERT_EQUAL(store_size_all(db, &before, &n, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(n, catalogue_sizes_count);
    mine.size_id = before[0].id;
    mine.published = false;
    CU_ASSERT_EQUAL(store_figure_insert(db, &mine, NULL), 0);
    CU_ASSERT_EQUAL(store_size_insert(db, &gone, NULL), 0);
    CU_ASSERT_EQUAL(store_meta_set(db, "catalogue", "another", NULL), 0);
    CU_ASSERT_EQUAL(catalogue_load(db, &changed, NULL), 0);
    CU_ASSERT_TRUE(changed);
    CU_ASSERT_EQUAL(store_size_all(db, &after, &m, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(m, n + 1);
    for (size_t i = 0, k = 0; i < m; i++) {
        CU_ASSERT_EQUAL(after[i].by_operator, strcmp(after[i].size, "gone") == 0);
        if (!after[i].by_operator)
            CU_ASSERT_TRUE(id_equal(&after[i].id, &before[k++].id));
    }
    CU_ASSERT_EQUAL(store_figure_list(db, &mine.size_id, &figures, &n, NULL), 0);
    CU_ASSERT_TRUE_FATAL(n > 1);
    CU_ASSERT_TRUE(id_equal(&figures[0].id, &mine.id));
    CU_ASSERT_TRUE(figures[1].published);
    free(before);
    free(after);
    free(figures);
    store_rollback(db);
}

static CU_TestInfo tests[] = {
    {"choice by MTU", test_choice_by_mtu},
    {"choice of several", test_choice_of_several},
    {"order of answers", test_order_of_answers},
    {"another catalogue", test_another_catalogue},
    CU_TEST_INFO_NULL,
};

int main(void)
{
    return store_suite_run("instance sizes", tests);
}
