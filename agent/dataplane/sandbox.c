#include "agent/dataplane/sandbox.h"

#include "common/dp_proto.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/if_tun.h>
#include <netinet/in.h>
#include <seccomp.h>
#include <stdbool.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef UDP_GRO
#define UDP_GRO 104
#endif
#define SOL_UDP_LEVEL 17

/* ---- capabilities ---- */

/* The bounding set and securebits take CAP_SETPCAP; a process without it has nothing that they
 * could bound. */
static int drop_bounds(struct err *e)
{
    for (int cap = 0; cap <= CAP_LAST_CAP; cap++) {
        if (prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) != 0 && errno != EPERM && errno != EINVAL)
            return err_errno(e, errno, "drop capability %d from the bounding set", cap);
    }
    const unsigned long bits = 1 << 0 | 1 << 1 /* NOROOT, locked */;
    if (prctl(PR_SET_SECUREBITS, bits, 0, 0, 0) != 0 && errno != EPERM)
        return err_errno(e, errno, "set securebits");
    if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) != 0)
        return err_errno(e, errno, "clear ambient capabilities");
    return 0;
}

static int drop_capabilities(struct err *e)
{
    if (drop_bounds(e) != 0)
        return HW_EFAIL;
    struct __user_cap_header_struct h = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct none[2] = {0}, now[2];
    if (syscall(SYS_capset, &h, none) != 0)
        return err_errno(e, errno, "drop capabilities");
    h = (struct __user_cap_header_struct){.version = _LINUX_CAPABILITY_VERSION_3};
    if (syscall(SYS_capget, &h, now) != 0)
        return err_errno(e, errno, "read capabilities");
    if (memcmp(now, none, sizeof now) != 0)
        return err_set(e, HW_EFAIL, "capabilities are still there after dropping them");
    return 0;
}

/* ---- Landlock: no rule is added, so everything that it knows of is refused ---- */

/* As of ABI 6; headers on the build machine may know less. */
struct landlock_attr {
    uint64_t fs, net, scoped;
};
#define LANDLOCK_VERSION_FLAG 1u

static uint64_t landlock_fs(long abi)
{
    if (abi >= 5)
        return 0xffff; /* with ioctl on devices */
    if (abi >= 3)
        return 0x7fff; /* with truncation */
    return abi == 2 ? 0x3fff : 0x1fff;
}

/* A kernel without Landlock is served too; HELLO tells the agent. */
static int restrict_landlock(uint32_t *features, struct err *e)
{
    long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_VERSION_FLAG);
    if (abi < 1)
        return 0;
    struct landlock_attr a = {
        .fs = landlock_fs(abi), .net = abi >= 4 ? 3 : 0, .scoped = abi >= 6 ? 3 : 0};
    size_t size = abi >= 6 ? sizeof a : abi >= 4 ? 16 : 8;
    long fd = syscall(SYS_landlock_create_ruleset, &a, size, 0);
    if (fd < 0)
        return err_errno(e, errno, "make a Landlock ruleset");
    long rc = syscall(SYS_landlock_restrict_self, fd, 0);
    int errnum = errno;
    close((int)fd);
    if (rc != 0)
        return err_errno(e, errnum, "enter Landlock");
    *features |= DP_FEATURE_LANDLOCK;
    return 0;
}

int sandbox_drop(uint32_t *features, struct err *e)
{
    if (geteuid() == 0)
        return err_set(
            e, HW_EFORBIDDEN,
            "runs as root: start it as a user of its own, or with --no-sandbox in tests");
    if (drop_capabilities(e) != 0)
        return HW_EFAIL;
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        return err_errno(e, errno, "set no_new_privs");
    /* No core dump, no ptrace by the same user: keys are in this memory. */
    if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0)
        return err_errno(e, errno, "forbid dumps");
    return restrict_landlock(features, e);
}

/* ---- seccomp ---- */

/* Whatever the argument. What creates sockets, opens files, starts threads or programs is not here.
 */
static const int plain_calls[] = {
    SCMP_SYS(read),
    SCMP_SYS(readv),
    SCMP_SYS(write),
    SCMP_SYS(writev),
    SCMP_SYS(pread64),
    SCMP_SYS(close),
    SCMP_SYS(recvmsg),
    SCMP_SYS(recvmmsg),
    SCMP_SYS(sendmsg),
    SCMP_SYS(sendmmsg),
    SCMP_SYS(sendto),
    SCMP_SYS(accept4),
    SCMP_SYS(getsockopt),
    SCMP_SYS(epoll_wait),
    SCMP_SYS(epoll_pwait),
    SCMP_SYS(epoll_pwait2),
    SCMP_SYS(epoll_ctl),
    SCMP_SYS(poll),
    SCMP_SYS(ppoll),
    SCMP_SYS(munmap),
    SCMP_SYS(mremap),
    SCMP_SYS(brk),
    SCMP_SYS(madvise),
    SCMP_SYS(futex),
    SCMP_SYS(clock_gettime),
    SCMP_SYS(gettimeofday),
    SCMP_SYS(time),
    SCMP_SYS(sched_yield),
    SCMP_SYS(getrandom),
    SCMP_SYS(gettid),
    SCMP_SYS(getpid),
    SCMP_SYS(tgkill),
    SCMP_SYS(rt_sigprocmask),
    SCMP_SYS(rt_sigreturn),
    SCMP_SYS(rt_sigaction),
    SCMP_SYS(restart_syscall),
    SCMP_SYS(sched_getaffinity),
    SCMP_SYS(set_robust_list),
    SCMP_SYS(rseq),
    SCMP_SYS(fstat),
    SCMP_SYS(newfstatat),
    SCMP_SYS(exit),
    SCMP_SYS(exit_group),
};

/* With these values of the second argument. */
static const struct {
    int call;
    uint64_t value;
} by_second[] = {
    {SCMP_SYS(ioctl), TUNGETIFF},       {SCMP_SYS(ioctl), TUNSETOFFLOAD},
    {SCMP_SYS(ioctl), TUNGETVNETHDRSZ}, {SCMP_SYS(fcntl), F_GETFL},
    {SCMP_SYS(fcntl), F_SETFL},
};

/* With these values of the second and third. */
static const struct {
    int level, name;
} socket_options[] = {
    {SOL_UDP_LEVEL, UDP_GRO},          {IPPROTO_IP, IP_RECVTOS},
    {IPPROTO_IP, IP_MTU_DISCOVER},     {IPPROTO_IPV6, IPV6_RECVTCLASS},
    {IPPROTO_IPV6, IPV6_MTU_DISCOVER}, {IPPROTO_IPV6, IPV6_DONTFRAG},
};

static int add_rules(scmp_filter_ctx f)
{
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < sizeof plain_calls / sizeof plain_calls[0]; i++)
        rc = seccomp_rule_add(f, SCMP_ACT_ALLOW, plain_calls[i], 0);
    for (size_t i = 0; rc == 0 && i < sizeof by_second / sizeof by_second[0]; i++)
        rc = seccomp_rule_add(f, SCMP_ACT_ALLOW, by_second[i].call, 1,
                              SCMP_A1(SCMP_CMP_EQ, by_second[i].value, 0));
    for (size_t i = 0; rc == 0 && i < sizeof socket_options / sizeof socket_options[0]; i++)
        rc = seccomp_rule_add(f, SCMP_ACT_ALLOW, SCMP_SYS(setsockopt), 2,
                              SCMP_A1(SCMP_CMP_EQ, (uint64_t)socket_options[i].level, 0),
                              SCMP_A2(SCMP_CMP_EQ, (uint64_t)socket_options[i].name, 0));
    /* Memory may grow, but nothing in it becomes code. */
    static const int mapping[] = {SCMP_SYS(mmap), SCMP_SYS(mprotect)};
    for (size_t i = 0; rc == 0 && i < 2; i++)
        rc = seccomp_rule_add(f, SCMP_ACT_ALLOW, mapping[i], 1,
                              SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0));
    return rc;
}

int sandbox_seal(uint32_t *features, struct err *e)
{
    scmp_filter_ctx f = seccomp_init(SCMP_ACT_ERRNO(EPERM));
    if (f == NULL)
        return err_set(e, HW_ENOMEM, "make a system call filter");
    int rc = seccomp_attr_set(f, SCMP_FLTATR_CTL_TSYNC, 1);
    if (rc == 0)
        rc = seccomp_attr_set(f, SCMP_FLTATR_CTL_OPTIMIZE, 2);
    if (rc == 0)
        rc = add_rules(f);
    if (rc == 0)
        rc = seccomp_load(f);
    seccomp_release(f);
    if (rc != 0)
        return err_errno(e, -rc, "load the system call filter");
    *features |= DP_FEATURE_SECCOMP;
    return 0;
}
