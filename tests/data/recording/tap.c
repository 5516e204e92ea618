/*
 * What an agent says and hears, in the clear: preloaded into hawser-agent (LD_PRELOAD), it appends
 * the bytes of every TLS connection and of the dataplane's socket to the file HAWSER_TAP_FILE.
 * record.py reads it. Each entry: u8 kind, u64 key (whose stream), u32 length, the bytes.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <openssl/ssl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

enum kind { TLS_OUT = 1, TLS_IN, TLS_END, LOCAL_OUT, LOCAL_IN, LOCAL_FILE };

#define FILE_MAX (8u << 20)

static int tap_fd(void)
{
    static int fd = -2;
    if (fd == -2) {
        const char *path = getenv("HAWSER_TAP_FILE");
        fd = path ? open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600) : -1;
    }
    return fd;
}

static void note(enum kind kind, uint64_t key, const void *data, size_t len)
{
    uint8_t k = (uint8_t)kind;
    uint32_t n = (uint32_t)len;
    struct iovec parts[4] = {
        {&k, sizeof k}, {&key, sizeof key}, {&n, sizeof n}, {(void *)(uintptr_t)data, len}};
    /* A file that can't be written shows in what is missing from it. */
    ssize_t written = tap_fd() >= 0 ? writev(tap_fd(), parts, 4) : 0;
    (void)written;
}

#define REAL(result, name, ...)                                                                    \
    static result (*real)(__VA_ARGS__);                                                            \
    if (!real)                                                                                     \
    *(void **)&real = dlsym(RTLD_NEXT, name)

int SSL_write(SSL *s, const void *data, int len)
{
    REAL(int, "SSL_write", SSL *, const void *, int);
    int n = real(s, data, len);
    if (n > 0)
        note(TLS_OUT, (uintptr_t)s, data, (size_t)n);
    return n;
}

int SSL_read(SSL *s, void *data, int len)
{
    REAL(int, "SSL_read", SSL *, void *, int);
    int n = real(s, data, len);
    if (n > 0)
        note(TLS_IN, (uintptr_t)s, data, (size_t)n);
    return n;
}

void SSL_free(SSL *s)
{
    REAL(void, "SSL_free", SSL *);
    if (s)
        note(TLS_END, (uintptr_t)s, NULL, 0);
    real(s);
}

/* The file that goes with a message: a forwarding table. Sockets and devices are none. */
static void note_file(const struct msghdr *m)
{
    const struct cmsghdr *c = CMSG_FIRSTHDR(m);
    int fd;
    struct stat st;
    if (!c || c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
        return;
    memcpy(&fd, CMSG_DATA(c), sizeof fd);
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || st.st_size <= 0 || st.st_size > FILE_MAX)
        return;
    char *data = malloc((size_t)st.st_size);
    if (data && pread(fd, data, (size_t)st.st_size, 0) == st.st_size)
        note(LOCAL_FILE, (uint64_t)fd, data, (size_t)st.st_size);
    free(data);
}

static int is_seqpacket(int fd)
{
    int type = 0;
    socklen_t len = sizeof type;
    return getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &len) == 0 && type == SOCK_SEQPACKET;
}

ssize_t sendmsg(int fd, const struct msghdr *m, int flags)
{
    REAL(ssize_t, "sendmsg", int, const struct msghdr *, int);
    ssize_t n = real(fd, m, flags);
    if (n > 0 && m->msg_iovlen == 1 && is_seqpacket(fd)) {
        note(LOCAL_OUT, (uint64_t)fd, m->msg_iov[0].iov_base, (size_t)n);
        note_file(m);
    }
    return n;
}

ssize_t recvmsg(int fd, struct msghdr *m, int flags)
{
    REAL(ssize_t, "recvmsg", int, struct msghdr *, int);
    ssize_t n = real(fd, m, flags);
    if (n > 0 && m->msg_iovlen == 1 && is_seqpacket(fd))
        note(LOCAL_IN, (uint64_t)fd, m->msg_iov[0].iov_base, (size_t)n);
    return n;
}
