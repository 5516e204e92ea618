#include "common/sdnotify.h"
#include "common/clock.h"
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* The connected socket, or −1; opened once at start. */
static int notify_fd = -1;
/* Half the interval of WATCHDOG_USEC, or 0. */
static uint64_t watchdog_ns;

/* WATCHDOG_PID, when set, names the process that is meant. */
static uint64_t read_watchdog(void)
{
    const char *usec = getenv("WATCHDOG_USEC"), *pid = getenv("WATCHDOG_PID");
    char *end;
    if (!usec || (pid && strtol(pid, NULL, 10) != getpid()))
        return 0;
    unsigned long long v = strtoull(usec, &end, 10);
    if (*end != '\0' || v > UINT64_MAX / NS_PER_US)
        return 0;
    return v * NS_PER_US / 2;
}

void sdnotify_init(void)
{
    struct sockaddr_un sun = {.sun_family = AF_UNIX};
    const char *path = getenv("NOTIFY_SOCKET");
    if (!path || (path[0] != '/' && path[0] != '@') || strlen(path) >= sizeof sun.sun_path)
        return;
    socklen_t len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(path));
    memcpy(sun.sun_path, path, strlen(path));
    if (path[0] == '@')
        sun.sun_path[0] = '\0'; /* the abstract name space */
    else
        len++;
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return;
    if (connect(fd, (const struct sockaddr *)&sun, len) != 0) {
        (void)close(fd);
        return;
    }
    notify_fd = fd;
    watchdog_ns = read_watchdog();
}

void sdnotify_send(const char *state)
{
    if (notify_fd < 0)
        return;
    ssize_t n = send(notify_fd, state, strlen(state), MSG_NOSIGNAL);
    (void)n;
}

uint64_t sdnotify_watchdog_ns(void)
{
    return watchdog_ns;
}
