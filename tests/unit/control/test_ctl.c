/* The local socket: unknown commands, and no descriptor left for a client. */
#include "agent/control/ctl.h"
#include "common/clock.h"
#include "common/unixsock.h"
#include "tests/unit/suite.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define FDS_MAX 200

static char dir[] = "/tmp/hawser-ctl-XXXXXX";
static struct evloop *loop;
static struct ctl *ctl;

static void on_stop(void *arg)
{
    (void)arg;
    evloop_stop(loop);
}

static void run_for(struct ev_timer *stop, uint64_t ns)
{
    evloop_timer_arm(stop, ns);
    CU_ASSERT_EQUAL(evloop_run(loop, NULL), 0);
}

static void test_out_of_descriptors(void)
{
    char path[64], reply[64];
    int taken[FDS_MAX], n = 0, n_fds = 0;
    struct rlimit limit, few;
    (void)snprintf(path, sizeof path, "%s/agent.sock", dir);
    struct ev_timer *stop = evloop_timer_add(loop, on_stop, NULL);
    int client = unixsock_connect(path, NULL);
    CU_ASSERT_FATAL(client >= 0);
    CU_ASSERT_EQUAL(unixsock_send(client, "nonsense", 8, NULL, 0, NULL), 0);
    CU_ASSERT_EQUAL(getrlimit(RLIMIT_NOFILE, &limit), 0);
    few = limit;
    few.rlim_cur = FDS_MAX;
    CU_ASSERT_EQUAL(setrlimit(RLIMIT_NOFILE, &few), 0);
    while (n < FDS_MAX && (taken[n] = dup(client)) >= 0)
        n++;
    CU_ASSERT(n > 0 && n < FDS_MAX);
    /* it rests between the attempts, and begins again by itself */
    run_for(stop, 350 * NS_PER_MS);
    CU_ASSERT(ctl_paused(ctl) >= 2 && ctl_paused(ctl) <= 4);
    while (n > 0)
        (void)close(taken[--n]);
    CU_ASSERT_EQUAL(setrlimit(RLIMIT_NOFILE, &limit), 0);
    ssize_t got = HW_EAGAIN;
    for (int i = 0; i < 50 && got == HW_EAGAIN; i++) {
        run_for(stop, 20 * NS_PER_MS);
        got = unixsock_recv(client, reply, sizeof reply, NULL, &n_fds, NULL);
    }
    CU_ASSERT(got > 0 && strncmp(reply, "error: unknown", 14) == 0);
    (void)close(client);
    evloop_timer_remove(stop);
}

int main(void)
{
    CU_TestInfo tests[] = {
        {"out of descriptors", test_out_of_descriptors},
        CU_TEST_INFO_NULL,
    };
    if (!mkdtemp(dir) || evloop_new(&loop, NULL) < 0 || ctl_new(loop, dir, NULL, &ctl, NULL) < 0)
        return 2;
    int rc = suite_run("ctl", tests);
    ctl_free(ctl);
    evloop_free(loop);
    (void)rmdir(dir);
    return rc;
}
