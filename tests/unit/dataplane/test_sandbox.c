/* What is still possible behind the sandbox, tried from within: in a child, since there is no way
 * back. */
#include "agent/dataplane/sandbox.h"
#include "common/dp_proto.h"
#include "tests/unit/dataplane/packet_test.h"
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define NOBODY 65534

static int udp, pipe_read, pipe_write;

/* Each returns 0 or errno. */
static int result(long rc)
{
    return rc < 0 ? errno : 0;
}
static int make_socket(void)
{
    return result(socket(AF_INET, SOCK_DGRAM, 0));
}
static int open_file(void)
{
    return result(open("/etc/passwd", O_RDONLY));
}
static int run_program(void)
{
    char *const argv[] = {(char *)(uintptr_t) "true", NULL};
    return result(execv("/bin/true", argv));
}
static int fork_process(void)
{
    return result(syscall(SYS_fork));
}
static int map(int prot)
{
    void *p = mmap(NULL, 4096, prot, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return p == MAP_FAILED ? errno : 0;
}
static int map_code(void)
{
    return map(PROT_READ | PROT_EXEC);
}
static int map_data(void)
{
    return map(PROT_READ | PROT_WRITE);
}
static int other_ioctl(void)
{
    int n;
    return result(ioctl(pipe_read, FIONREAD, &n));
}
static int set_option(int level, int name)
{
    int on = 1;
    return result(setsockopt(udp, level, name, &on, sizeof on));
}
static int set_buffer(void)
{
    return set_option(SOL_SOCKET, SO_RCVBUF);
}
static int set_mark(void)
{
    return set_option(SOL_SOCKET, SO_MARK);
}
static int set_transparent(void)
{
    return set_option(IPPROTO_IP, IP_TRANSPARENT);
}
static int set_recvtos(void)
{
    return set_option(IPPROTO_IP, IP_RECVTOS);
}
static int connect_out(void)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(9)};
    return result(connect(udp, (struct sockaddr *)&to, sizeof to));
}
static int send_datagram(void)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(9)};
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return result(sendto(udp, "x", 1, 0, (struct sockaddr *)&to, sizeof to));
}
static int write_pipe(void)
{
    return result(write(pipe_write, "x", 1));
}
static int signal_parent(void)
{
    return result(kill(getppid(), 0));
}
static int become_dumpable(void)
{
    return result(syscall(SYS_prctl, 4 /* PR_SET_DUMPABLE */, 1, 0, 0, 0));
}
static int change_affinity(void)
{
    unsigned long mask = 1;
    return result(syscall(SYS_sched_setaffinity, 0, sizeof mask, &mask));
}

static const struct {
    const char *what;
    int (*attempt)(void);
    bool allowed;
} attempts[] = {
    {"send a datagram", send_datagram, true},
    {"write to an open descriptor", write_pipe, true},
    {"map memory", map_data, true},
    {"IP_RECVTOS", set_recvtos, true},
    {"make a socket", make_socket, false},
    {"open a file", open_file, false},
    {"run a program", run_program, false},
    {"fork", fork_process, false},
    {"map executable memory", map_code, false},
    {"other ioctl", other_ioctl, false},
    {"SO_RCVBUF", set_buffer, false},
    {"SO_MARK", set_mark, false},
    {"IP_TRANSPARENT", set_transparent, false},
    {"connect", connect_out, false},
    {"send a signal", signal_parent, false},
    {"become dumpable", become_dumpable, false},
    {"change affinity", change_affinity, false},
};
#define N_ATTEMPTS (sizeof attempts / sizeof attempts[0])

static int results[N_ATTEMPTS];

/* In a second thread too, which was there before: the filter must hold for all. */
static void *try_all(void *arg)
{
    int *into = arg;
    for (unsigned i = 0; i < N_ATTEMPTS; i++)
        into[i] = attempts[i].attempt();
    return NULL;
}

static pthread_barrier_t sealed;

static void *wait_then_try(void *arg)
{
    pthread_barrier_wait(&sealed); /* alive */
    pthread_barrier_wait(&sealed);
    (void)try_all(arg);
    pthread_barrier_wait(&sealed);
    /* Stays: a sanitizer's work at the end of a thread is not allowed here. */
    pthread_barrier_wait(&sealed);
    return NULL;
}

static void report(int fd, const void *data, size_t len)
{
    if (write(fd, data, len) != (ssize_t)len)
        _exit(9);
}

/* Exit codes name the step that failed. */
_Noreturn static void child(int fd)
{
    struct err e = {0};
    uint32_t features = 0;
    static int other[N_ATTEMPTS];
    pthread_t t;
    if (geteuid() == 0 && (setgroups(0, NULL) != 0 || setresgid(NOBODY, NOBODY, NOBODY) != 0 ||
                           setresuid(NOBODY, NOBODY, NOBODY) != 0))
        _exit(2);
    udp = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    int p[2];
    if (udp < 0 || pipe(p) != 0)
        _exit(3);
    pipe_read = p[0];
    pipe_write = p[1];
    if (sandbox_drop(&features, &e) != 0)
        _exit(4);
    pthread_barrier_init(&sealed, NULL, 2);
    if (pthread_create(&t, NULL, wait_then_try, other) != 0)
        _exit(5);
    pthread_barrier_wait(&sealed);
    if (sandbox_seal(&features, &e) != 0)
        _exit(6);
    pthread_barrier_wait(&sealed);
    pthread_barrier_wait(&sealed);
    (void)try_all(results);
    report(fd, results, sizeof results);
    report(fd, other, sizeof other);
    report(fd, &features, sizeof features);
    /* Not _exit: sanitizers prepare for functions that don't return, with calls that are forbidden
     * now. */
    for (;;)
        (void)syscall(SYS_exit_group, 0);
}

static void test_from_within(void)
{
    int p[2], got[2][N_ATTEMPTS], status;
    uint32_t features = 0;
    CU_ASSERT_EQUAL_FATAL(pipe(p), 0);
    pid_t pid = fork();
    CU_ASSERT_TRUE_FATAL(pid >= 0);
    if (pid == 0)
        child(p[1]);
    close(p[1]);
    CU_ASSERT_EQUAL_FATAL(read(p[0], got[0], sizeof got[0]), (ssize_t)sizeof got[0]);
    CU_ASSERT_EQUAL_FATAL(read(p[0], got[1], sizeof got[1]), (ssize_t)sizeof got[1]);
    CU_ASSERT_EQUAL_FATAL(read(p[0], &features, sizeof features), (ssize_t)sizeof features);
    close(p[0]);
    CU_ASSERT_EQUAL(waitpid(pid, &status, 0), pid);
    CU_ASSERT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    for (unsigned thread = 0; thread < 2; thread++) {
        for (unsigned i = 0; i < N_ATTEMPTS; i++) {
            bool refused = got[thread][i] == EPERM || got[thread][i] == EACCES;
            bool right = attempts[i].allowed ? got[thread][i] == 0 : refused;
            if (!right)
                printf("thread %u: %s: %s\n", thread, attempts[i].what, strerror(got[thread][i]));
            CU_ASSERT_TRUE(right);
        }
    }
    CU_ASSERT_TRUE(features & DP_FEATURE_SECCOMP);
}

static void test_root_is_refused(void)
{
    if (geteuid() != 0)
        return;
    struct err e = {0};
    uint32_t features = 0;
    CU_ASSERT_EQUAL(sandbox_drop(&features, &e), HW_EFORBIDDEN);
    CU_ASSERT_EQUAL(features, 0);
}

int main(void)
{
    CU_TestInfo tests[] = {{"from within", test_from_within},
                           {"root is refused", test_root_is_refused},
                           CU_TEST_INFO_NULL};
    return packet_test_run("sandbox", tests);
}
