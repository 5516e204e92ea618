/*
 * The only reads and writes of the TUN device: one queue of hawser0 per worker, IFF_VNET_HDR with a
 * header of 10 bytes in front of every packet, non-blocking.
 */
#ifndef HAWSER_DATAPLANE_TUN_IO_H
#define HAWSER_DATAPLANE_TUN_IO_H

#include "common/err.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

/* Header and the largest IP packet. */
#define TUN_IO_READ_MAX (10u + 65535u)

/* Checks that fd is a TUN queue as agreed and turns the offloads on (checksum, TSO and, where the
 * kernel has it, USO; none when `plain`). *uso tells what was got. */
int tun_io_prepare(int fd, bool plain, bool *uso, struct err *e);

/* Bytes read (header included), or -errno (-EAGAIN: nothing waits). */
ssize_t tun_io_read(int fd, void *buf, size_t cap);

/* Writes one packet gathered from `iov`, header first. 0 or -errno. */
int tun_io_write(int fd, const struct iovec *iov, int iovcnt);

#endif
