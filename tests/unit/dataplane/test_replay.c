#include "agent/dataplane/replay.h"
#include "tests/unit/dataplane/packet_test.h"
#include <string.h>

struct step {
    uint64_t seq;
    bool accept;
};

/* Each number is offered once; what is accepted is committed. */
static void run_steps(struct replay *r, const struct step *steps, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        bool got = replay_check(r, steps[i].seq);
        if (got != steps[i].accept)
            printf("step %zu: sequence %llu\n", i, (unsigned long long)steps[i].seq);
        CU_ASSERT_EQUAL(got, steps[i].accept);
        if (got)
            replay_commit(r, steps[i].seq);
    }
}

static void test_window_of_64(void)
{
    static const struct step steps[] = {
        {0, false}, /* never valid */
        {1, true},      {1, false},     {9, true},
        {8, true},      {7, true},      {7, false},
        {6, true},      {2, true},      {64, true}, /* window is now 1 to 64 */
        {3, true},      {1, false},     {65, true}, /* 2 to 65 */
        {2, false},                                 /* seen */
        {4, true},      {100, true},                /* 37 to 100 */
        {36, false},                                /* left of the window */
        {37, true},     {37, false},    {63, true},
        {64, false}, /* seen before the window moved */
        {163, true}, /* 100 to 163 */
        {100, false},   {99, false},    {101, true},
        {162, true},    {227, true}, /* a jump of exactly one window: 164 to 227, nothing of it seen
                                      */
        {163, false},   {164, true},    {226, true},
        {100000, true}, /* far jump */
        {99936, false}, {99937, true},  {99999, true},
        {99999, false}, {100001, true}, {100001, false},
    };
    struct replay r;
    replay_init(&r, 64, false);
    run_steps(&r, steps, sizeof steps / sizeof steps[0]);
}

static void test_window_of_8192(void)
{
    static const struct step steps[] = {
        {8192, true},  {1, true},      {1, false},       {8193, true},   {1, false},
        {2, true},     {16384, true},  {8192, false},    {8193, false},  {8194, true},
        {24576, true}, {16384, false}, {16385, true},    {24576, false}, {32768, true},
        {24577, true}, {24576, false}, {1u << 31, true}, {32768, false}};
    struct replay r;
    replay_init(&r, 8192, true);
    run_steps(&r, steps, sizeof steps / sizeof steps[0]);
}

/* Checking changes nothing: a forged packet must not move the window. */
static void test_check_alone_changes_nothing(void)
{
    struct replay r, before;
    replay_init(&r, 64, true);
    replay_commit(&r, 10);
    before = r;
    CU_ASSERT_TRUE(replay_check(&r, 1ull << 40));
    CU_ASSERT_TRUE(replay_check(&r, 11));
    CU_ASSERT_EQUAL(memcmp(&r, &before, sizeof r), 0);
}

/* RFC 4303 appendix A2.2, both cases, and the edges of the first subspace. */
static void test_high_half(void)
{
    static const struct {
        uint64_t top;
        uint32_t low;
        uint64_t full;
    } rows[] = {
        {0, 1, 1},
        {5, 3, 3},
        {5, 0xffffffff, 0}, /* would lie before the first packet: none such */
        {1000, 1001, 1001},
        {0xfffffff0, 0xfffffff5, 0xfffffff5},  /* case A, right of the window */
        {0xfffffff0, 5, 0x100000005},          /* case A, low half wrapped */
        {0xfffffff0, 0xffffffc0, 0xffffffc0},  /* case A, within */
        {0xfffffff0, 0xffffff00, 0x1ffffff00}, /* case A, left of it: taken as the next subspace */
        {0x100000005, 0xfffffff0, 0xfffffff0}, /* case B, before the wrap */
        {0x100000005, 6, 0x100000006},
        {0x100000005, 3, 0x100000003},
        {0x1ffffffff, 0, 0x200000000},
        {0x200000000, 0xffffffff, 0x1ffffffff},
    };
    struct replay r;
    replay_init(&r, 64, true);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        r.top = rows[i].top;
        CU_ASSERT_EQUAL(replay_infer(&r, rows[i].low), rows[i].full);
    }
    replay_init(&r, 64, false);
    r.top = 0xfffffff0;
    CU_ASSERT_EQUAL(replay_infer(&r, 5), 5);
}

/* Against a plain list of what was seen, with jumps of every size. */
static void test_against_a_list(void)
{
    static bool seen[200000];
    struct replay r;
    uint64_t rng = 3, top = 0;
    replay_init(&r, 256, true);
    for (int i = 0; i < 300000; i++) {
        uint64_t v = test_random(&rng);
        uint64_t seq = v % 16 == 0                ? top + v / 16 % 400
                       : top + 5 > (v / 16 % 300) ? top + 5 - v / 16 % 300
                                                  : 1;
        if (seq >= sizeof seen)
            break;
        bool want = seq != 0 && (seq > top || top - seq < 256) && !seen[seq];
        if (replay_check(&r, seq) != want)
            CU_FAIL_FATAL("differs from the list");
        if (!want)
            continue;
        replay_commit(&r, seq);
        seen[seq] = true;
        top = seq > top ? seq : top;
    }
    CU_ASSERT(top > 100000);
}

int main(void)
{
    CU_TestInfo tests[] = {{"window of 64", test_window_of_64},
                           {"window of 8192", test_window_of_8192},
                           {"check alone changes nothing", test_check_alone_changes_nothing},
                           {"high half", test_high_half},
                           {"against a list", test_against_a_list},
                           CU_TEST_INFO_NULL};
    return packet_test_run("replay", tests);
}
