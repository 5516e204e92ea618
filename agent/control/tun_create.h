/*
 * hawser0: a persistent multi-queue TUN device owned by the dataplane's user (without an owner
 * anybody could attach to it). The agent opens the queues and keeps duplicates: closing one queue
 * renumbers the others, and queue i belongs to worker i.
 */
#ifndef HAWSER_AGENT_CONTROL_TUN_CREATE_H
#define HAWSER_AGENT_CONTROL_TUN_CREATE_H

#include "agent/control/netlink/nl.h"
#include "common/err.h"
#include "common/limits.h"
#include <stdbool.h>
#include <sys/types.h>

/* Sees to it that the device exists, is ours by kind, persistent and has its owner; no queue stays
 * open. A device of that name with other properties is replaced. *ifindex is set; *created when it
 * is a new one. */
int tun_ensure(struct nl *n, uid_t owner, int *ifindex, bool *created, struct err *e);

struct tun_queues {
    int fd[HW_WORKERS_MAX];
    unsigned n; /* 0: none held */
    int ifindex;
};

/* Closes what q holds and opens queues 0 … n−1 in this order, non-blocking, with a 10-byte vnet
 * header. Nobody else may hold queues of the device at that moment. All or none. */
int tun_queues_open(struct tun_queues *q, unsigned n, int ifindex, struct err *e);
void tun_queues_close(struct tun_queues *q);

#endif
