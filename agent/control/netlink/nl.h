/* One rtnetlink request socket over libmnl: send, collect answers, turn kernel errors into codes
 * with the kernel's own words (extended ack). */
#ifndef HAWSER_AGENT_CONTROL_NETLINK_NL_H
#define HAWSER_AGENT_CONTROL_NETLINK_NL_H

#include "common/err.h"
#include "common/ipaddr.h"
#include <libmnl/libmnl.h>
#include <linux/rtnetlink.h>
#include <stdbool.h>

struct nl;

/* Room for every request made here. */
#define NL_REQUEST_MAX 512

struct nl_request {
    _Alignas(struct nlmsghdr) char buf[NL_REQUEST_MAX];
};

/* Takes one answer; returns 0 to go on or a negative code to stop. */
typedef int (*nl_answer_fn)(const struct nlmsghdr *h, void *arg, struct err *e);

int nl_open(struct nl **out, struct err *e);
void nl_close(struct nl *n);

/* Starts a request of `type` with a family header of `extra` zeroed bytes, which *body points at.
 */
struct nlmsghdr *nl_request_init(struct nl_request *r, uint16_t type, uint16_t flags, size_t extra,
                                 void **body);

/* Sends and reads until the acknowledgement (or the end of a dump). 0, HW_ENOTFOUND (no such
 * object), HW_ECONFLICT (it is there already), HW_EFORBIDDEN (a capability is missing), HW_EAGAIN
 * (a dump changed under our hands three times) or HW_EFAIL. `fn` may be NULL. */
int nl_talk(struct nl *n, struct nlmsghdr *h, nl_answer_fn fn, void *arg, struct err *e);

/* Address attributes. `nl_get_ip` returns HW_EPROTO when the length does not fit the family. */
void nl_put_ip(struct nlmsghdr *h, uint16_t type, const struct ipaddr *a);
int nl_get_ip(const struct nlattr *attr, unsigned char af, struct ipaddr *out);
unsigned char nl_family(const struct ipaddr *a);

/* A socket that hears of changes to links, addresses, routes and rules; non-blocking. */
int nl_monitor_open(int *fd, struct err *e);
/* Reads all that is there; true if anything changed (or the kernel dropped messages). */
bool nl_monitor_drain(int fd);

#endif
