#include "agent/dataplane/handoff.h"
#include "tests/unit/dataplane/packet_test.h"
#include <pthread.h>
#include <sched.h>

#define BUFFERS 40u

static void test_full_ring_keeps_the_buffer(void)
{
    struct err e;
    struct handoff *h;
    struct pktbuf_pool *pool;
    CU_ASSERT_EQUAL_FATAL(handoff_new(3, BUFFERS, &h, &e), 0);
    CU_ASSERT_EQUAL_FATAL(pktbuf_pool_new(BUFFERS, &pool, &e), 0);
    unsigned given = 0;
    for (;;) {
        struct handoff_item item = {.buf = pktbuf_get(pool), .note = {.slot = given}};
        if (!handoff_give(h, 0, 2, &item)) {
            pktbuf_put(item.buf);
            break;
        }
        given++;
    }
    CU_ASSERT_EQUAL(given, HANDOFF_SLOTS);
    CU_ASSERT_EQUAL(pktbuf_available(pool), BUFFERS - HANDOFF_SLOTS);
    CU_ASSERT_PTR_NULL(handoff_peek(h, 0, 1));
    CU_ASSERT_PTR_NULL(handoff_peek(h, 1, 2));
    for (unsigned i = 0; i < given; i++) {
        const struct handoff_item *item = handoff_peek(h, 0, 2);
        CU_ASSERT_PTR_NOT_NULL_FATAL(item);
        CU_ASSERT_EQUAL(item->note.slot, i);
        handoff_return(h, 0, 2);
    }
    CU_ASSERT_PTR_NULL(handoff_peek(h, 0, 2));
    handoff_collect(h, 1);
    CU_ASSERT_EQUAL(pktbuf_available(pool), BUFFERS - HANDOFF_SLOTS);
    handoff_collect(h, 0);
    CU_ASSERT_EQUAL(pktbuf_available(pool), BUFFERS);
    handoff_free(h);
    pktbuf_pool_free(pool);
}

/* Packets of all sizes packed until the buffer is full come out as they went in. */
static void test_packing(void)
{
    struct err e;
    struct pktbuf_pool *pool;
    CU_ASSERT_EQUAL_FATAL(pktbuf_pool_new(1, &pool, &e), 0);
    static uint8_t packet[65535];
    for (uint64_t seed = 1; seed < 50; seed++) {
        uint64_t state = seed, again = seed;
        struct pktbuf *b = pktbuf_get(pool);
        unsigned in = 0, out = 0;
        for (;; in++) {
            struct handoff_note note = {.hash = in, .slot = in * 3};
            note.len = (uint32_t)(test_random(&state) % (seed % 7 == 0 ? 65521 : 1500)) + 1;
            test_fill(&state, packet, note.len);
            if (!handoff_pack(b, &note, packet))
                break;
        }
        struct handoff_note note;
        uint8_t *data;
        for (uint32_t at = 0; handoff_unpack(b, &at, &note, &data); out++) {
            uint32_t len = (uint32_t)(test_random(&again) % (seed % 7 == 0 ? 65521 : 1500)) + 1;
            test_fill(&again, packet, len);
            CU_ASSERT_TRUE(note.hash == out && note.slot == out * 3 && note.len == len);
            CU_ASSERT_EQUAL(memcmp(data, packet, len), 0);
            CU_ASSERT_TRUE(data + len + HANDOFF_TAIL <= b->data + b->len);
        }
        CU_ASSERT_EQUAL(in, out);
        CU_ASSERT_TRUE(in > 0);
        pktbuf_put(b);
    }
    struct pktbuf *b = pktbuf_get(pool);
    struct handoff_note largest = {.len = 65521};
    CU_ASSERT_TRUE(handoff_pack(b, &largest, packet));
    pktbuf_put(b);
    pktbuf_pool_free(pool);
}

#define STREAM 100000u

struct taker {
    struct handoff *h;
    unsigned wrong, taken;
};

static void *take(void *arg)
{
    struct taker *t = arg;
    while (t->taken < STREAM) {
        const struct handoff_item *item = handoff_peek(t->h, 0, 1);
        if (!item) {
            sched_yield();
            continue;
        }
        t->wrong += item->note.hash != t->taken || item->buf->len != 4 ||
                    test_get32(item->buf->data) != t->taken;
        handoff_return(t->h, 0, 1);
        t->taken++;
    }
    return NULL;
}

/* Packets and buffers go round between two threads; nothing is lost, mixed up or reordered. */
static void test_round_trip_between_threads(void)
{
    struct err e;
    struct taker t = {0};
    struct pktbuf_pool *pool;
    CU_ASSERT_EQUAL_FATAL(handoff_new(2, BUFFERS, &t.h, &e), 0);
    CU_ASSERT_EQUAL_FATAL(pktbuf_pool_new(BUFFERS, &pool, &e), 0);
    pthread_t thread;
    CU_ASSERT_EQUAL_FATAL(pthread_create(&thread, NULL, take, &t), 0);
    for (uint32_t n = 0; n < STREAM;) {
        handoff_collect(t.h, 0);
        struct pktbuf *b = pktbuf_get(pool);
        if (!b) {
            sched_yield();
            continue;
        }
        test_put32(b->data, n);
        b->len = 4;
        struct handoff_item item = {.buf = b, .note = {.hash = n}};
        if (handoff_give(t.h, 0, 1, &item))
            n++;
        else
            pktbuf_put(b);
    }
    pthread_join(thread, NULL);
    handoff_collect(t.h, 0);
    CU_ASSERT_EQUAL(t.wrong, 0);
    CU_ASSERT_EQUAL(pktbuf_available(pool), BUFFERS);
    handoff_free(t.h);
    pktbuf_pool_free(pool);
}

int main(void)
{
    CU_TestInfo tests[] = {{"full ring keeps the buffer", test_full_ring_keeps_the_buffer},
                           {"packing", test_packing},
                           {"round trip between threads", test_round_trip_between_threads},
                           CU_TEST_INFO_NULL};
    return packet_test_run("handoff", tests);
}
