#include "common/unixsock.h"
#include "tests/unit/suite.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char dir[] = "/tmp/hawser-unixsock-XXXXXX";
static char path[64];

static void test_conversation(void)
{
    char buf[16];
    uid_t uid;
    pid_t pid;
    struct stat st;
    int l = unixsock_listen(path, 0660, getgid(), NULL);
    CU_ASSERT_FATAL(l >= 0);
    CU_ASSERT_EQUAL(stat(path, &st), 0);
    CU_ASSERT_EQUAL(st.st_mode & 0777, 0660);
    CU_ASSERT_EQUAL(unixsock_accept(l, NULL), HW_EAGAIN);
    int c = unixsock_connect(path, NULL);
    CU_ASSERT_FATAL(c >= 0);
    int s = unixsock_accept(l, NULL);
    CU_ASSERT_FATAL(s >= 0);
    CU_ASSERT_EQUAL(fcntl(s, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
    CU_ASSERT_EQUAL(unixsock_peer(s, &uid, NULL, &pid, NULL), HW_OK);
    CU_ASSERT_EQUAL(uid, getuid());
    CU_ASSERT_EQUAL(pid, getpid());
    CU_ASSERT_EQUAL(unixsock_recv(s, buf, sizeof buf, NULL, NULL, NULL), HW_EAGAIN);
    CU_ASSERT_EQUAL(unixsock_send(c, "one", 3, NULL, 0, NULL), HW_OK);
    CU_ASSERT_EQUAL(unixsock_send(c, "second", 6, NULL, 0, NULL), HW_OK);
    CU_ASSERT_EQUAL(unixsock_recv(s, buf, sizeof buf, NULL, NULL, NULL), 3);
    CU_ASSERT_EQUAL(unixsock_recv(s, buf, sizeof buf, NULL, NULL, NULL), 6);
    CU_ASSERT_EQUAL(memcmp(buf, "second", 6), 0);
    (void)close(c);
    CU_ASSERT_EQUAL(unixsock_recv(s, buf, sizeof buf, NULL, NULL, NULL), 0);
    CU_ASSERT_EQUAL(unixsock_send(s, "x", 1, NULL, 0, NULL), HW_ECLOSED);
    (void)close(s);
    (void)close(l);
}

static void test_listener_replaces_only_a_dead_one(void)
{
    struct err e;
    int first =
        unixsock_listen(path, 0600, (gid_t)-1, NULL); /* the file of the test before is left */
    CU_ASSERT_FATAL(first >= 0);
    CU_ASSERT_EQUAL(unixsock_listen(path, 0600, (gid_t)-1, &e), HW_ECONFLICT);
    (void)close(first);
    first = unixsock_listen(path, 0600, (gid_t)-1, NULL);
    CU_ASSERT(first >= 0);
    (void)close(first);
    CU_ASSERT_EQUAL(unlink(path), 0);
    int plain = open(path, O_CREAT | O_WRONLY, 0600);
    CU_ASSERT(plain >= 0);
    (void)close(plain);
    CU_ASSERT_EQUAL(unixsock_listen(path, 0600, (gid_t)-1, &e), HW_ECONFLICT);
    CU_ASSERT_EQUAL(unlink(path), 0);
    char longer[200];
    memset(longer, 'a', sizeof longer - 1);
    longer[sizeof longer - 1] = '\0';
    CU_ASSERT_EQUAL(unixsock_listen(longer, 0600, (gid_t)-1, &e), HW_EINVAL);
    CU_ASSERT_EQUAL(unixsock_connect(path, &e), HW_EFAIL);
}

static int connected[2];

static void connect_pair(void)
{
    int l = unixsock_listen(path, 0600, (gid_t)-1, NULL);
    connected[0] = unixsock_connect(path, NULL);
    connected[1] = unixsock_accept(l, NULL);
    CU_ASSERT_FATAL(connected[0] >= 0 && connected[1] >= 0);
    (void)close(l);
}

static void close_pair(void)
{
    (void)close(connected[0]);
    (void)close(connected[1]);
}

static int open_fds(void)
{
    int n = 0;
    for (int fd = 0; fd < 256; fd++)
        n += fcntl(fd, F_GETFD) != -1;
    return n;
}

static void test_fds(void)
{
    int ends[2], got[2] = {-1, -1}, n = 2;
    char buf[4], c = 0;
    connect_pair();
    CU_ASSERT_EQUAL_FATAL(pipe2(ends, O_CLOEXEC), 0);
    CU_ASSERT_EQUAL(unixsock_send(connected[0], "fds", 3, ends, 2, NULL), HW_OK);
    CU_ASSERT_EQUAL(unixsock_recv(connected[1], buf, sizeof buf, got, &n, NULL), 3);
    CU_ASSERT_EQUAL_FATAL(n, 2);
    CU_ASSERT_EQUAL(fcntl(got[0], F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
    CU_ASSERT_EQUAL(write(got[1], "!", 1), 1);
    CU_ASSERT_EQUAL(read(ends[0], &c, 1), 1);
    CU_ASSERT_EQUAL(c, '!');
    (void)close(got[0]);
    (void)close(got[1]);
    /* No room, less room, a message too long: nothing stays open by mistake. */
    int before = open_fds();
    CU_ASSERT_EQUAL(unixsock_send(connected[0], "fds", 3, ends, 2, NULL), HW_OK);
    CU_ASSERT_EQUAL(unixsock_recv(connected[1], buf, sizeof buf, NULL, NULL, NULL), 3);
    CU_ASSERT_EQUAL(open_fds(), before);
    n = 1;
    CU_ASSERT_EQUAL(unixsock_send(connected[0], "fds", 3, ends, 2, NULL), HW_OK);
    CU_ASSERT_EQUAL(unixsock_recv(connected[1], buf, sizeof buf, got, &n, NULL), 3);
    CU_ASSERT_EQUAL(n, 1);
    (void)close(got[0]);
    n = 2;
    CU_ASSERT_EQUAL(unixsock_send(connected[0], "too long", 8, ends, 2, NULL), HW_OK);
    CU_ASSERT_EQUAL(unixsock_recv(connected[1], buf, sizeof buf, got, &n, NULL), HW_ETOOBIG);
    CU_ASSERT_EQUAL(n, 0);
    CU_ASSERT_EQUAL(open_fds(), before);
    CU_ASSERT_EQUAL(unixsock_send(connected[0], "x", 1, ends, UNIXSOCK_FDS_MAX + 1, NULL),
                    HW_EINVAL);
    (void)close(ends[0]);
    (void)close(ends[1]);
    close_pair();
}

static void test_full(void)
{
    static char block[4096];
    int rc = HW_OK;
    connect_pair();
    for (int i = 0; i < 10000 && rc == HW_OK; i++)
        rc = unixsock_send(connected[0], block, sizeof block, NULL, 0, NULL);
    CU_ASSERT_EQUAL(rc, HW_EAGAIN);
    CU_ASSERT_EQUAL(unixsock_send(connected[1], block, sizeof block, NULL, 0, NULL), HW_OK);
    close_pair();
}

int main(void)
{
    CU_TestInfo tests[] = {
        {"conversation", test_conversation},
        {"listener replaces only a dead one", test_listener_replaces_only_a_dead_one},
        {"fds", test_fds},
        {"full", test_full},
        CU_TEST_INFO_NULL};
    if (!mkdtemp(dir))
        return 2;
    (void)snprintf(path, sizeof path, "%s/s", dir);
    int rc = suite_run("unixsock", tests);
    (void)unlink(path);
    (void)rmdir(dir);
    return rc;
}
