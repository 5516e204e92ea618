#include "agent/dataplane/snapshot.h"
#include "tests/unit/dataplane/packet_test.h"
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>

#define ALIVE  0x600dc0deu
#define SECOND 1000000000ull

struct object {
    uint32_t mark; /* ALIVE until freed */
    uint32_t n, again;
};

static unsigned freed;

static struct object *make(uint32_t n)
{
    struct object *o = malloc(sizeof *o);
    CU_ASSERT_PTR_NOT_NULL_FATAL(o);
    *o = (struct object){.mark = ALIVE, .n = n, .again = n};
    return o;
}

static void destroy(void *p)
{
    struct object *o = p;
    o->mark = 0;
    free(o);
    freed++;
}

static void test_free_waits_for_the_reader(void)
{
    struct snapshot_cell *c = aligned_alloc(64, sizeof *c);
    struct err e = {0};
    freed = 0;
    snapshot_init(c, 2, make(0));
    const struct object *held = snapshot_enter(c, 1);
    CU_ASSERT_EQUAL(held->n, 0);
    struct object *second = make(1);
    /* The reader does not leave: the new one is in force, the old one is given up, not freed. */
    CU_ASSERT_EQUAL(snapshot_replace(c, second, destroy, 1000000, &e), HW_ETIMEOUT);
    CU_ASSERT_EQUAL(freed, 0);
    CU_ASSERT_EQUAL(held->mark, ALIVE);
    CU_ASSERT_PTR_EQUAL(snapshot_current(c), second);
    CU_ASSERT_PTR_EQUAL(snapshot_enter(c, 0), second);
    snapshot_leave(c, 0);
    free((void *)(uintptr_t)held);
    snapshot_leave(c, 1);
    CU_ASSERT_EQUAL(snapshot_replace(c, make(2), destroy, SECOND, &e), 0);
    CU_ASSERT_EQUAL(freed, 1);
    destroy(snapshot_current(c));
    free(c);
}

/* A reader that entered after the swap does not hold the old one up. */
static void test_late_reader_does_not_block(void)
{
    struct snapshot_cell *c = aligned_alloc(64, sizeof *c);
    struct err e = {0};
    freed = 0;
    snapshot_init(c, 1, make(0));
    CU_ASSERT_EQUAL(snapshot_replace(c, make(1), destroy, SECOND, &e), 0);
    (void)snapshot_enter(c, 0);
    snapshot_leave(c, 0);
    CU_ASSERT_EQUAL(snapshot_replace(c, make(2), destroy, SECOND, &e), 0);
    CU_ASSERT_EQUAL(freed, 2);
    destroy(snapshot_current(c));
    free(c);
}

#define READERS      3
#define REPLACEMENTS 3000u

struct race {
    struct snapshot_cell *cell;
    unsigned index;
    atomic_bool *stop;
    unsigned wrong;
    _Atomic uint64_t turns;
};

static void *read_on(void *arg)
{
    struct race *r = arg;
    uint32_t newest = 0;
    while (!atomic_load(r->stop)) {
        const struct object *o = snapshot_enter(r->cell, r->index);
        r->wrong += o->mark != ALIVE || o->n != o->again || o->n < newest;
        newest = o->n;
        snapshot_leave(r->cell, r->index);
        if (atomic_fetch_add(&r->turns, 1) % 64 == 0)
            sched_yield();
    }
    return NULL;
}

/* Readers never see a freed object, and never an older one than before (also for the sanitizers).
 */
static void test_many_replacements(void)
{
    struct snapshot_cell *c = aligned_alloc(64, sizeof *c);
    snapshot_init(c, READERS, make(0));
    atomic_bool stop = false;
    struct race race[READERS];
    pthread_t thread[READERS];
    for (unsigned i = 0; i < READERS; i++) {
        race[i] = (struct race){.cell = c, .index = i, .stop = &stop};
        CU_ASSERT_EQUAL_FATAL(pthread_create(&thread[i], NULL, read_on, &race[i]), 0);
    }
    for (unsigned i = 0; i < READERS; i++) {
        while (atomic_load(&race[i].turns) == 0)
            sched_yield();
    }
    struct err e = {0};
    freed = 0;
    for (uint32_t n = 1; n <= REPLACEMENTS; n++)
        CU_ASSERT_EQUAL_FATAL(snapshot_replace(c, make(n), destroy, 20 * SECOND, &e), 0);
    atomic_store(&stop, true);
    for (unsigned i = 0; i < READERS; i++) {
        pthread_join(thread[i], NULL);
        CU_ASSERT_EQUAL(race[i].wrong, 0);
    }
    CU_ASSERT_EQUAL(freed, REPLACEMENTS);
    destroy(snapshot_current(c));
    free(c);
}

int main(void)
{
    CU_TestInfo tests[] = {{"free waits for the reader", test_free_waits_for_the_reader},
                           {"late reader does not block", test_late_reader_does_not_block},
                           {"many replacements", test_many_replacements},
                           CU_TEST_INFO_NULL};
    return packet_test_run("snapshot", tests);
}
