#include "common/clock.h"
#include "common/evloop.h"
#include "tests/unit/suite.h"
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

static struct evloop *loop;
static unsigned calls;

static void fresh_loop(void)
{
    calls = 0;
    CU_ASSERT_EQUAL_FATAL(evloop_new(&loop, NULL), 0);
}

static void stop(void *arg)
{
    (void)arg;
    evloop_stop(loop);
}

/* Every test is bounded: a lost event ends here and fails on its own assertion. */
static void run_bounded(void)
{
    struct ev_timer *limit = evloop_timer_add(loop, stop, NULL);
    evloop_timer_arm(limit, 5 * NS_PER_S);
    CU_ASSERT_EQUAL(evloop_run(loop, NULL), 0);
    evloop_timer_remove(limit);
}

static int pair[2];
static struct ev_io *io_a, *io_b;

static void read_one(void *arg, int fd, unsigned events)
{
    char c;
    (void)arg;
    CU_ASSERT_EQUAL(events, EV_READ);
    CU_ASSERT_EQUAL(read(fd, &c, 1), 1);
    if (++calls == 3)
        evloop_stop(loop);
}

static void test_level_triggered(void)
{
    fresh_loop();
    CU_ASSERT_EQUAL_FATAL(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair), 0);
    CU_ASSERT_PTR_NOT_NULL(evloop_io_add(loop, pair[0], EV_READ, read_one, NULL));
    CU_ASSERT_EQUAL(write(pair[1], "abc", 3), 3);
    run_bounded();
    CU_ASSERT_EQUAL(calls, 3);
    evloop_free(loop);
    (void)close(pair[0]);
    (void)close(pair[1]);
}

/* Both are ready in the same turn; whichever comes first removes both, so the other must not be
 * called. */
static void remove_both(void *arg, int fd, unsigned events)
{
    (void)arg;
    (void)fd;
    (void)events;
    calls++;
    evloop_io_remove(io_a);
    evloop_io_remove(io_b);
    evloop_stop(loop);
}

static void test_remove_within_a_turn(void)
{
    fresh_loop();
    CU_ASSERT_EQUAL_FATAL(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair), 0);
    io_a = evloop_io_add(loop, pair[0], EV_WRITE, remove_both, NULL);
    io_b = evloop_io_add(loop, pair[1], EV_WRITE, remove_both, NULL);
    run_bounded();
    CU_ASSERT_EQUAL(calls, 1);
    evloop_free(loop);
    (void)close(pair[0]);
    (void)close(pair[1]);
}

static unsigned seen_events;

static void note_hang_up(void *arg, int fd, unsigned events)
{
    (void)arg;
    (void)fd;
    seen_events = events;
    evloop_stop(loop);
}

static void test_hang_up(void)
{
    fresh_loop();
    CU_ASSERT_EQUAL_FATAL(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair), 0);
    struct ev_io *io = evloop_io_add(loop, pair[0], EV_WRITE, note_hang_up, NULL);
    evloop_io_events(io, EV_READ | EV_HUP);
    (void)close(pair[1]);
    run_bounded();
    CU_ASSERT_EQUAL(seen_events, EV_READ | EV_HUP);
    evloop_free(loop);
    (void)close(pair[0]);
}

static unsigned order[8];
static struct ev_timer *timers[8];

static void note_order(void *arg)
{
    order[calls++] = (unsigned)((struct ev_timer **)arg - timers);
    if (calls == 5)
        evloop_stop(loop);
}

static void test_timers_in_order(void)
{
    static const uint64_t delay_ms[8] = {5, 1, 7, 3, 9, 2, 0, 8};
    fresh_loop();
    uint64_t start = evloop_now(loop);
    for (unsigned i = 0; i < 8; i++) {
        timers[i] = evloop_timer_add(loop, note_order, &timers[i]);
        evloop_timer_arm(timers[i], 100 * NS_PER_MS);
        evloop_timer_arm(timers[i], delay_ms[i] * NS_PER_MS); /* replaces the earlier time */
    }
    evloop_timer_disarm(timers[3]);
    evloop_timer_remove(timers[7]);
    run_bounded();
    static const unsigned want[5] = {6, 1, 5, 0, 2};
    for (unsigned i = 0; i < 5; i++)
        CU_ASSERT_EQUAL(order[i], want[i]);
    CU_ASSERT(evloop_now(loop) - start >= 7 * NS_PER_MS); /* never early */
    evloop_free(loop);
}

static void again(void *arg)
{
    struct ev_timer **t = arg;
    if (++calls < 100)
        evloop_timer_arm(*t, 0);
    else
        evloop_stop(loop);
}

static void starving(void *arg, int fd, unsigned events)
{
    (void)fd;
    (void)events;
    ++*(unsigned *)arg;
}

/* A timer that always arms itself for "now" leaves each turn's events their place. */
static void test_rearming_does_not_starve(void)
{
    unsigned turns = 0;
    struct ev_timer *t;
    fresh_loop();
    CU_ASSERT_EQUAL_FATAL(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair), 0);
    CU_ASSERT_PTR_NOT_NULL(evloop_io_add(loop, pair[0], EV_WRITE, starving, &turns));
    t = evloop_timer_add(loop, again, &t);
    evloop_timer_arm(t, 0);
    run_bounded();
    CU_ASSERT_EQUAL(calls, 100);
    CU_ASSERT(turns >= 99);
    evloop_free(loop);
    (void)close(pair[0]);
    (void)close(pair[1]);
}

static void remove_other(void *arg)
{
    struct ev_timer **other = arg;
    calls++;
    evloop_timer_remove(*other);
    *other = NULL;
}

static void test_timer_removes_timer(void)
{
    struct ev_timer *a, *b, *end;
    fresh_loop();
    a = evloop_timer_add(loop, remove_other, &b);
    b = evloop_timer_add(loop, remove_other, &a);
    end = evloop_timer_add(loop, stop, NULL);
    evloop_timer_arm(a, NS_PER_MS);
    evloop_timer_arm(b, NS_PER_MS);
    evloop_timer_arm(end, 2 * NS_PER_MS);
    run_bounded();
    CU_ASSERT_EQUAL(calls, 1);
    evloop_free(loop);
}

static void note_signal(void *arg, int signo)
{
    CU_ASSERT_EQUAL(signo, SIGUSR1);
    CU_ASSERT_PTR_EQUAL(arg, &calls);
    calls++;
    evloop_stop(loop);
}

static void test_signal(void)
{
    fresh_loop();
    CU_ASSERT_EQUAL(evloop_signal(loop, SIGUSR1, note_signal, &calls, NULL), 0);
    CU_ASSERT_EQUAL(kill(getpid(), SIGUSR1), 0);
    run_bounded();
    CU_ASSERT_EQUAL(calls, 1);
    evloop_free(loop);
}

static void *stop_from_elsewhere(void *arg)
{
    evloop_stop(arg);
    return NULL;
}

static void test_stop_from_another_thread(void)
{
    pthread_t t;
    fresh_loop();
    uint64_t start = clock_mono_ns();
    CU_ASSERT_EQUAL_FATAL(pthread_create(&t, NULL, stop_from_elsewhere, loop), 0);
    run_bounded();
    (void)pthread_join(t, NULL);
    CU_ASSERT(clock_mono_ns() - start < 4 * NS_PER_S);
    evloop_free(loop);
}

int main(void)
{
    CU_TestInfo tests[] = {{"level triggered", test_level_triggered},
                           {"remove within a turn", test_remove_within_a_turn},
                           {"hang-up", test_hang_up},
                           {"timers in order", test_timers_in_order},
                           {"re-arming does not starve", test_rearming_does_not_starve},
                           {"timer removes timer", test_timer_removes_timer},
                           {"signal", test_signal},
                           {"stop from another thread", test_stop_from_another_thread},
                           CU_TEST_INFO_NULL};
    return suite_run("evloop", tests);
}
