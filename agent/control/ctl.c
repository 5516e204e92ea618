#include "agent/control/ctl.h"
#include "agent/control/settings.h"
#include "common/cleanup.h"
#include "common/clock.h"
#include "common/log.h"
#include "common/unixsock.h"
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define CLIENTS_MAX 16
#define COMMAND_MAX 64
#define ANSWER_MAX  (64u << 20)
#define PATIENCE_MS 10000
#define PAUSE_NS    (100 * NS_PER_MS)

struct client {
    struct ctl *ctl;
    int fd; /* −1: free */
    struct ev_io *io;
};

struct ctl {
    struct evloop *loop;
    struct status *status;
    char path[PATH_MAX];
    int fd;
    struct ev_io *io;
    struct ev_timer *pause;
    uint64_t paused;
    struct client clients[CLIENTS_MAX];
};

/* One row a command. */
static const struct command {
    const char *name;
    char *(*answer)(struct status *s, size_t *len);
} commands[] = {
    {"status", status_json},
};

static void drop(struct client *c)
{
    evloop_io_remove(c->io);
    (void)close(c->fd);
    c->fd = -1;
}

/* Text into a memfd. Returns the fd or −1. */
static int make_file(const char *text, size_t len)
{
    int fd = memfd_create("hawser-answer", MFD_CLOEXEC);
    size_t at = 0;
    while (fd >= 0 && at < len) {
        ssize_t n = write(fd, text + at, len - at);
        if (n < 0 && errno != EINTR) {
            (void)close(fd);
            return -1;
        }
        at += n > 0 ? (size_t)n : 0;
    }
    return fd;
}

static void answer(struct client *c, const char *name)
{
    static const char unknown[] = "error: unknown command", failed[] = "error: out of memory";
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        if (strcmp(commands[i].name, name) != 0)
            continue;
        size_t len;
        auto_free char *text = commands[i].answer(c->ctl->status, &len);
        auto_close int file = text ? make_file(text, len) : -1;
        if (file >= 0)
            (void)unixsock_send(c->fd, "ok", 2, &file, 1, NULL);
        else
            (void)unixsock_send(c->fd, failed, sizeof failed - 1, NULL, 0, NULL);
        return;
    }
    (void)unixsock_send(c->fd, unknown, sizeof unknown - 1, NULL, 0, NULL);
}

static void on_client(void *arg, int fd, unsigned events)
{
    struct client *c = arg;
    char name[COMMAND_MAX];
    int n_fds = 0;
    (void)events;
    ssize_t n = unixsock_recv(fd, name, sizeof name - 1, NULL, &n_fds, NULL);
    if (n == HW_EAGAIN)
        return;
    if (n <= 0) {
        drop(c);
        return;
    }
    name[n] = '\0';
    answer(c, name);
}

/* Out of descriptors: the client that waits would wake the loop again at once. */
static void pause_listening(struct ctl *ctl)
{
    ctl->paused++;
    evloop_io_events(ctl->io, 0);
    evloop_timer_arm(ctl->pause, PAUSE_NS);
}

static void on_pause(void *arg)
{
    evloop_io_events(((struct ctl *)arg)->io, EV_READ);
}

static void on_connect(void *arg, int listen_fd, unsigned events)
{
    struct ctl *ctl = arg;
    (void)events;
    int fd = unixsock_accept(listen_fd, NULL);
    if (fd < 0 && fd != HW_EAGAIN)
        pause_listening(ctl);
    if (fd < 0)
        return;
    for (size_t i = 0; i < CLIENTS_MAX; i++) {
        struct client *c = &ctl->clients[i];
        if (c->fd >= 0)
            continue;
        c->io = evloop_io_add(ctl->loop, fd, EV_READ, on_client, c);
        if (!c->io)
            break;
        c->fd = fd;
        return;
    }
    (void)close(fd);
}

int ctl_new(struct evloop *loop, const char *run_dir, struct status *status, struct ctl **out,
            struct err *e)
{
    struct ctl *c = calloc(1, sizeof *c);
    if (!c)
        return err_set(e, HW_ENOMEM, "out of memory");
    c->loop = loop;
    c->status = status;
    c->fd = -1;
    for (size_t i = 0; i < CLIENTS_MAX; i++) {
        c->clients[i].ctl = c;
        c->clients[i].fd = -1;
    }
    int rc = agent_path(run_dir, "agent.sock", c->path, sizeof c->path, e);
    if (rc == 0) {
        c->fd = unixsock_listen(c->path, 0600, (gid_t)-1, e);
        rc = c->fd < 0 ? c->fd : 0;
    }
    if (rc == 0) {
        c->io = evloop_io_add(loop, c->fd, EV_READ, on_connect, c);
        c->pause = evloop_timer_add(loop, on_pause, c);
        if (!c->io || !c->pause)
            rc = err_set(e, HW_ENOMEM, "out of memory");
    }
    if (rc < 0) {
        ctl_free(c);
        return rc;
    }
    *out = c;
    return 0;
}

void ctl_free(struct ctl *c)
{
    if (!c)
        return;
    for (size_t i = 0; i < CLIENTS_MAX; i++)
        if (c->clients[i].fd >= 0)
            drop(&c->clients[i]);
    if (c->io)
        evloop_io_remove(c->io);
    if (c->pause)
        evloop_timer_remove(c->pause);
    if (c->fd >= 0) {
        (void)close(c->fd);
        (void)unlink(c->path);
    }
    free(c);
}

uint64_t ctl_paused(const struct ctl *c)
{
    return c->paused;
}

static int read_file(int fd, char **text, size_t *len, struct err *e)
{
    struct stat st;
    if (fstat(fd, &st) < 0 || st.st_size < 0 || (size_t)st.st_size > ANSWER_MAX)
        return err_set(e, HW_EPROTO, "the agent's answer has no sensible size");
    size_t size = (size_t)st.st_size, at = 0;
    char *buf = malloc(size + 1);
    if (!buf)
        return err_set(e, HW_ENOMEM, "out of memory");
    while (at < size) {
        ssize_t n = pread(fd, buf + at, size - at, (off_t)at);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0) {
            free(buf);
            return err_set(e, HW_EPROTO, "the agent's answer is cut off");
        }
        at += (size_t)n;
    }
    buf[size] = '\0';
    *text = buf;
    *len = size;
    return 0;
}

int ctl_ask(const char *run_dir, const char *command, char **text, size_t *len, struct err *e)
{
    char path[PATH_MAX], reply[128];
    int rc = agent_path(run_dir, "agent.sock", path, sizeof path, e);
    if (rc < 0)
        return rc;
    auto_close int fd = unixsock_connect(path, e);
    if (fd < 0) {
        (void)err_wrap(e, "no agent answers at %s", path);
        return HW_ECLOSED;
    }
    rc = unixsock_send(fd, command, strlen(command), NULL, 0, e);
    if (rc < 0)
        return rc;
    struct pollfd p = {.fd = fd, .events = POLLIN};
    int file = -1, n_files = 1;
    if (poll(&p, 1, PATIENCE_MS) <= 0)
        return err_set(e, HW_ETIMEOUT, "the agent does not answer");
    ssize_t n = unixsock_recv(fd, reply, sizeof reply - 1, &file, &n_files, e);
    if (n <= 0)
        return err_set(e, HW_ECLOSED, "the agent closed the connection");
    reply[n] = '\0';
    if (n_files != 1)
        return err_set(e, HW_EFAIL, "agent: %s", reply);
    rc = read_file(file, text, len, e);
    (void)close(file);
    return rc;
}
