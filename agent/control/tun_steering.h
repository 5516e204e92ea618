/*
 * Which queue of hawser0, and with it which worker, gets a packet that the kernel sends out: a
 * program of the kernel's own (BPF) hashes addresses and ports, the same for both directions and
 * for super-packets as for small ones. Without it the kernel learns from what the workers write
 * by which queue a flow's answers came, and where the two ends of a tunnel have different numbers
 * of workers, a flow may be driven from queue to queue by its own answers, out of order each time.
 */
#ifndef HAWSER_AGENT_CONTROL_TUN_STEERING_H
#define HAWSER_AGENT_CONTROL_TUN_STEERING_H

#include "common/err.h"

/* Of the whole device, by any of its queues; stays with the device. Needs CAP_BPF. */
int tun_steering_attach(int queue_fd, struct err *e);

#endif
