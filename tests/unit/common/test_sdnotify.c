#include "common/clock.h"
#include "common/sdnotify.h"
#include "tests/unit/suite.h"
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static void test_silent_without_supervisor(void)
{
    (void)unsetenv("NOTIFY_SOCKET");
    sdnotify_init();
    sdnotify_send("READY=1");
    CU_ASSERT_EQUAL(sdnotify_watchdog_ns(), 0);
}

static void test_abstract_socket(void)
{
    struct sockaddr_un sun = {.sun_family = AF_UNIX};
    char name[64], got[64] = "", pid[16];
    (void)snprintf(name, sizeof name, "@hawser-sdnotify-%d", getpid());
    (void)snprintf(pid, sizeof pid, "%d", getpid());
    memcpy(sun.sun_path, name, strlen(name));
    sun.sun_path[0] = '\0';
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    socklen_t len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(name));
    CU_ASSERT_EQUAL_FATAL(bind(fd, (struct sockaddr *)&sun, len), 0);
    (void)setenv("NOTIFY_SOCKET", name, 1);
    (void)setenv("WATCHDOG_USEC", "30000000", 1);
    (void)setenv("WATCHDOG_PID", pid, 1);
    sdnotify_init();
    CU_ASSERT_EQUAL(sdnotify_watchdog_ns(), 15 * NS_PER_S);
    sdnotify_send("READY=1\nSTATUS=up");
    CU_ASSERT_EQUAL(recv(fd, got, sizeof got - 1, 0), 17);
    CU_ASSERT_STRING_EQUAL(got, "READY=1\nSTATUS=up");
    (void)close(fd);
    sdnotify_send("WATCHDOG=1"); /* nobody listens any more */
}

int main(void)
{
    CU_TestInfo tests[] = {{"silent without supervisor", test_silent_without_supervisor},
                           {"abstract socket", test_abstract_socket},
                           CU_TEST_INFO_NULL};
    return suite_run("sdnotify", tests);
}
