#include "controller/push/hub.h"
#include "tests/unit/suite.h"
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#define LOG_MAX 64

/* Tickets in the order in which they were woken. */
struct wakes {
    uint64_t ticket[LOG_MAX];
    size_t n;
};

static void note(void *arg, uint64_t ticket)
{
    struct wakes *w = arg;
    if (w->n < LOG_MAX)
        w->ticket[w->n++] = ticket;
}

static struct hw_id gateway(uint8_t number)
{
    struct hw_id id = {{0}};
    id.b[3] = number;
    id.b[15] = number;
    return id;
}

static struct hub *make(struct wakes *w)
{
    struct hub *h = NULL;
    memset(w, 0, sizeof *w);
    CU_ASSERT_EQUAL_FATAL(hub_new(note, w, &h, NULL), 0);
    return h;
}

static int park(struct hub *h, uint8_t number, uint64_t ticket)
{
    struct hw_id id = gateway(number);
    return hub_park(h, &id, hub_token(h), ticket, NULL);
}

static void test_wakes_only_the_named(void)
{
    struct wakes w;
    struct hub *h = make(&w);
    for (uint8_t i = 1; i <= 5; i++)
        CU_ASSERT_EQUAL(park(h, i, 100u + i), 0);
    struct hw_id named[3] = {gateway(2), gateway(4), gateway(77)};
    hub_wake(h, named, 3);
    CU_ASSERT_EQUAL_FATAL(w.n, 2);
    CU_ASSERT_EQUAL(w.ticket[0], 102);
    CU_ASSERT_EQUAL(w.ticket[1], 104);
    CU_ASSERT_EQUAL(hub_resume(h, 102), HUB_CHANGED);
    CU_ASSERT_EQUAL(hub_resume(h, 102), HUB_NOT_WOKEN); /* once */
    CU_ASSERT_EQUAL(hub_resume(h, 101), HUB_NOT_WOKEN); /* its deadline came */
    CU_ASSERT_EQUAL(hub_parked(h), 3);
    hub_wake(h, named, 3); /* 4 has been woken and is not woken twice */
    CU_ASSERT_EQUAL(w.n, 2);
    hub_wake_all(h);
    CU_ASSERT_EQUAL(w.n, 4);
    hub_free(h);
}

static void test_newer_ends_older(void)
{
    struct wakes w;
    struct hub *h = make(&w);
    CU_ASSERT_EQUAL(park(h, 1, 10), 0);
    CU_ASSERT_EQUAL(park(h, 1, 11), 0);
    CU_ASSERT_EQUAL_FATAL(w.n, 1);
    CU_ASSERT_EQUAL(w.ticket[0], 10);
    struct hw_id id = gateway(1);
    hub_wake(h, &id, 1);
    CU_ASSERT_EQUAL_FATAL(w.n, 2);
    CU_ASSERT_EQUAL(w.ticket[1], 11);
    CU_ASSERT_EQUAL(hub_resume(h, 10), HUB_SUPERSEDED);
    CU_ASSERT_EQUAL(hub_resume(h, 11), HUB_CHANGED);
    CU_ASSERT_EQUAL(hub_parked(h), 0);
    hub_free(h);
}

/* Between the look into the store and the parking something changed: parking is refused. */
static void test_no_waking_is_lost(void)
{
    struct wakes w;
    struct hub *h = make(&w);
    struct hw_id id = gateway(1), other = gateway(2);
    uint64_t token = hub_token(h);
    hub_wake(h, &id, 1);
    CU_ASSERT_EQUAL(hub_park(h, &id, token, 10, NULL), HW_ESTALE);
    CU_ASSERT_EQUAL(hub_parked(h), 0);
    token = hub_token(h);
    CU_ASSERT_EQUAL(hub_park(h, &id, token, 10, NULL), 0);
    CU_ASSERT_EQUAL(hub_park(h, &other, token, 11, NULL), 0);
    hub_free(h);
}

static void test_ended_requests(void)
{
    struct wakes w;
    struct hub *h = make(&w);
    CU_ASSERT_EQUAL(park(h, 1, 10), 0);
    hub_end(h, 10);
    hub_end(h, 10);
    hub_end(h, 999);
    hub_wake_all(h);
    CU_ASSERT_EQUAL(w.n, 0);
    CU_ASSERT_EQUAL(hub_parked(h), 0);
    hub_free(h);
    hub_free(NULL);
}

/* ---- many threads ---- */

#define THREADS 4
#define ROUNDS  5000

struct storm {
    struct hub *hub;
    _Atomic uint64_t woken, next;
};

static void count(void *arg, uint64_t ticket)
{
    struct storm *s = arg;
    atomic_fetch_add(&s->woken, 1);
    hub_end(s->hub, ticket); /* as the server does when a woken request ends at once */
}

static void *storm_thread(void *arg)
{
    struct storm *s = arg;
    for (unsigned i = 0; i < ROUNDS; i++) {
        uint64_t ticket = atomic_fetch_add(&s->next, 1) + 1;
        struct hw_id id = gateway((uint8_t)(ticket % 7));
        (void)hub_park(s->hub, &id, hub_token(s->hub), ticket, NULL);
        if (i % 3 == 0)
            hub_wake(s->hub, &id, 1);
        if (i % 50 == 0)
            hub_wake_all(s->hub);
    }
    return NULL;
}

static void test_threads(void)
{
    struct storm s = {0};
    pthread_t threads[THREADS];
    CU_ASSERT_EQUAL_FATAL(hub_new(count, &s, &s.hub, NULL), 0);
    for (int i = 0; i < THREADS; i++)
        CU_ASSERT_EQUAL_FATAL(pthread_create(&threads[i], NULL, storm_thread, &s), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    CU_ASSERT_TRUE(hub_parked(s.hub) <= 7); /* at most the newest of each gateway */
    hub_wake_all(s.hub);
    CU_ASSERT_EQUAL(hub_parked(s.hub), 0);
    CU_ASSERT_TRUE(s.woken > 0);
    hub_free(s.hub);
}

int main(void)
{
    CU_TestInfo tests[] = {{"wakes the named alone", test_wakes_only_the_named},
                           {"a newer poll ends the older", test_newer_ends_older},
                           {"no waking is lost", test_no_waking_is_lost},
                           {"ended requests", test_ended_requests},
                           {"many threads", test_threads},
                           CU_TEST_INFO_NULL};
    return suite_run("hub", tests);
}
