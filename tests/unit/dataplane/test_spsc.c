#include "agent/dataplane/spsc.h"
#include "tests/unit/dataplane/packet_test.h"
#include <pthread.h>
#include <sched.h>

static void put(struct spsc *r, uint64_t v)
{
    uint64_t *slot = spsc_reserve(r);
    CU_ASSERT_PTR_NOT_NULL_FATAL(slot);
    *slot = v;
    spsc_commit(r);
}

static void test_order_and_limits(void)
{
    struct spsc r;
    struct err e;
    CU_ASSERT_EQUAL(spsc_init(&r, 3, 8, &e), HW_EINVAL);
    CU_ASSERT_EQUAL_FATAL(spsc_init(&r, 4, 8, &e), 0);
    CU_ASSERT_PTR_NULL(spsc_peek(&r));
    CU_ASSERT_TRUE(spsc_drained(&r));
    for (uint64_t round = 0; round < 100; round++) {
        for (uint64_t i = 0; i < 4; i++)
            put(&r, round * 4 + i);
        CU_ASSERT_PTR_NULL(spsc_reserve(&r));
        CU_ASSERT_FALSE(spsc_drained(&r));
        for (uint64_t i = 0; i < 4; i++) {
            const uint64_t *v = spsc_peek(&r);
            CU_ASSERT_PTR_NOT_NULL_FATAL(v);
            CU_ASSERT_EQUAL(*v, round * 4 + i);
            spsc_release(&r);
        }
        CU_ASSERT_PTR_NULL(spsc_peek(&r));
        CU_ASSERT_TRUE(spsc_drained(&r));
    }
    spsc_done(&r);
}

/* What is reserved but not committed does not exist for the consumer. */
static void test_commit_publishes(void)
{
    struct spsc r;
    struct err e;
    CU_ASSERT_EQUAL_FATAL(spsc_init(&r, 2, 8, &e), 0);
    CU_ASSERT_PTR_NOT_NULL(spsc_reserve(&r));
    CU_ASSERT_PTR_NULL(spsc_peek(&r));
    spsc_commit(&r);
    CU_ASSERT_PTR_NOT_NULL(spsc_peek(&r));
    spsc_done(&r);
}

#define STREAM 300000u

struct item {
    uint32_t n;
    uint32_t copy[7];
};

static void *produce(void *arg)
{
    struct spsc *r = arg;
    for (uint32_t n = 0; n < STREAM;) {
        struct item *slot = spsc_reserve(r);
        if (!slot) {
            sched_yield();
            continue;
        }
        slot->n = n;
        for (int i = 0; i < 7; i++)
            slot->copy[i] = ~n;
        spsc_commit(r);
        n++;
    }
    return NULL;
}

/* Two threads: everything arrives once, in order and whole (also meant for ThreadSanitizer). */
static void test_two_threads(void)
{
    struct spsc r;
    struct err e;
    CU_ASSERT_EQUAL_FATAL(spsc_init(&r, 64, sizeof(struct item), &e), 0);
    pthread_t t;
    CU_ASSERT_EQUAL_FATAL(pthread_create(&t, NULL, produce, &r), 0);
    unsigned wrong = 0;
    for (uint32_t n = 0; n < STREAM;) {
        const struct item *slot = spsc_peek(&r);
        if (!slot) {
            sched_yield();
            continue;
        }
        wrong += slot->n != n;
        for (int i = 0; i < 7; i++)
            wrong += slot->copy[i] != ~n;
        spsc_release(&r);
        n++;
    }
    pthread_join(t, NULL);
    CU_ASSERT_EQUAL(wrong, 0);
    spsc_done(&r);
}

int main(void)
{
    CU_TestInfo tests[] = {{"order and limits", test_order_and_limits},
                           {"commit publishes", test_commit_publishes},
                           {"two threads", test_two_threads},
                           CU_TEST_INFO_NULL};
    return packet_test_run("spsc", tests);
}
