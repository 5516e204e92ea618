#include "controller/http/listen.h"
#include "common/ipaddr.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BACKLOG 1024

/* "ADDRESS:PORT", where an IPv6 address stands in brackets. */
static int parse(const char *text, struct ipaddr *a, uint16_t *port, struct err *e)
{
    char host[IPADDR_TEXT_MAX];
    const char *colon = strrchr(text, ':');
    const char *digits = colon ? colon + 1 : "";
    bool bracket = text[0] == '[' && colon && colon > text && colon[-1] == ']';
    size_t len = colon ? (size_t)(colon - text) - (bracket ? 2u : 0u) : 0;
    size_t n_digits = strlen(digits);
    unsigned long number = n_digits <= 5 ? strtoul(digits, NULL, 10) : 0;
    if (len && len < sizeof host && number && number <= 65535 &&
        strspn(digits, "0123456789") == n_digits) {
        memcpy(host, text + (bracket ? 1 : 0), len);
        host[len] = '\0';
        if (!ipaddr_parse(host, a) && (a->family == 6) == bracket) {
            *port = (uint16_t)number;
            return 0;
        }
    }
    return err_set(e, HW_EINVAL, "%s: not ADDRESS:PORT or [ADDRESS]:PORT", text);
}

int http_listen(const char *address, struct err *e)
{
    struct ipaddr a;
    uint16_t port = 0;
    int rc = parse(address, &a, &port, e);
    if (rc)
        return rc;
    struct sockaddr_storage sa;
    socklen_t sa_len = ipaddr_to_sockaddr(&a, port, &sa);
    int one = 1, fd = socket(sa.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0 && errno == EAFNOSUPPORT)
        return err_set(e, HW_ENOTFOUND, "%s: this machine has no IPv%u", address, a.family);
    if (fd < 0)
        return err_errno(e, errno, "%s: socket", address);
    /* IPv6 alone, so that both families can be listed side by side. */
    if (a.family == 6)
        (void)setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &one, sizeof one);
    (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (bind(fd, (struct sockaddr *)&sa, sa_len) || listen(fd, BACKLOG)) {
        int saved = errno;
        (void)close(fd);
        return err_errno(e, saved, "listen on %s", address);
    }
    return fd;
}
