#include "agent/dataplane/pktbuf.h"
#include "tests/unit/dataplane/packet_test.h"
#include <string.h>

static void test_pool_runs_empty_and_refills(void)
{
    struct pktbuf_pool *pool = NULL;
    CU_ASSERT_EQUAL_FATAL(pktbuf_pool_new(3, &pool, NULL), 0);
    struct pktbuf *a = pktbuf_get(pool), *b = pktbuf_get(pool), *c = pktbuf_get(pool);
    CU_ASSERT_PTR_NOT_NULL_FATAL(a);
    CU_ASSERT_PTR_NOT_NULL_FATAL(b);
    CU_ASSERT_PTR_NOT_NULL_FATAL(c);
    CU_ASSERT_PTR_NULL(pktbuf_get(pool));
    CU_ASSERT_EQUAL(pktbuf_available(pool), 0);
    pktbuf_put(b);
    CU_ASSERT_PTR_EQUAL(pktbuf_get(pool), b);
    pktbuf_put(a);
    pktbuf_put(b);
    pktbuf_put(c);
    pktbuf_put(NULL);
    CU_ASSERT_EQUAL(pktbuf_available(pool), 3);
    pktbuf_pool_free(pool);
}

static void test_areas_do_not_overlap(void)
{
    struct pktbuf_pool *pool = NULL;
    CU_ASSERT_EQUAL_FATAL(pktbuf_pool_new(4, &pool, NULL), 0);
    struct pktbuf *bufs[4];
    const size_t area = PKTBUF_HEADROOM + PKTBUF_ROOM + PKTBUF_TAILROOM;
    for (int i = 0; i < 4; i++) {
        bufs[i] = pktbuf_get(pool);
        CU_ASSERT_EQUAL((uintptr_t)bufs[i]->data % 64, 0);
        CU_ASSERT_EQUAL(pktbuf_room(bufs[i]), PKTBUF_ROOM + PKTBUF_TAILROOM);
        memset(bufs[i]->area, i + 1, area);
    }
    for (int i = 0; i < 4; i++)
        for (size_t k = 0; k < area; k++)
            if (bufs[i]->area[k] != i + 1)
                CU_FAIL_FATAL("areas overlap");
    for (int i = 0; i < 4; i++)
        pktbuf_put(bufs[i]);
    pktbuf_pool_free(pool);
}

static void test_a_buffer_comes_back_empty(void)
{
    struct pktbuf_pool *pool = NULL;
    CU_ASSERT_EQUAL_FATAL(pktbuf_pool_new(1, &pool, NULL), 0);
    struct pktbuf *b = pktbuf_get(pool);
    b->data += 26;
    b->len = 1000;
    CU_ASSERT_EQUAL(pktbuf_room(b), PKTBUF_ROOM + PKTBUF_TAILROOM - 1026);
    pktbuf_put(b);
    b = pktbuf_get(pool);
    CU_ASSERT_EQUAL(b->len, 0);
    CU_ASSERT_PTR_EQUAL(b->data, b->area + PKTBUF_HEADROOM);
    pktbuf_put(b);
    pktbuf_pool_free(pool);
    CU_ASSERT_NOT_EQUAL(pktbuf_pool_new(0, &pool, NULL), 0);
}

int main(void)
{
    CU_TestInfo tests[] = {{"runs empty and refills", test_pool_runs_empty_and_refills},
                           {"areas do not overlap", test_areas_do_not_overlap},
                           {"a buffer comes back empty", test_a_buffer_comes_back_empty},
                           CU_TEST_INFO_NULL};
    return packet_test_run("pktbuf", tests);
}
