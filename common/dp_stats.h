/*
 * Counters in shared memory: a memfd that the dataplane writes and the agent maps read-only.
 * Every field has one writing thread; readers load 64-bit fields singly (relaxed), so related
 * fields may be some packets apart. Offsets come from the header, so that a newer dataplane can
 * append fields.
 */
#ifndef HAWSER_COMMON_DP_STATS_H
#define HAWSER_COMMON_DP_STATS_H

#include "common/drop_reason.h"
#include "common/id.h"
#include "common/limits.h"
#include <stdint.h>

#define DP_STATS_MAGIC   0x48575354u
#define DP_STATS_VERSION 1
#define DP_STATS_DROPS   64 /* room for reasons; DROP_COUNT of them in use */

struct dp_stats_header {
    uint32_t magic, version;
    struct hw_id boot;
    uint32_t workers, worker_offset, worker_stride;
    uint32_t tunnels, tunnel_offset, tunnel_stride; /* slots, HW_TUNNELS_MAX at most */
};

struct dp_stats_worker { /* written by its worker alone */
    uint64_t heartbeat;  /* turns of the loop */
    uint64_t heartbeat_mono_ns;
    uint64_t busy_ns;                                                /* time outside of waiting */
    uint64_t tun_reads, tun_read_bytes, tun_writes, tun_write_bytes; /* super-packets */
    uint64_t udp_reads, udp_read_bytes, udp_writes, udp_write_bytes; /* calls, wire bytes */
    uint64_t segments_in, segments_out;                              /* ESP packets */
    uint64_t handoff_in, handoff_out;
    uint64_t gso_splits;       /* bursts cut at the kernel's limits */
    uint64_t outer_fragmented; /* sent with outer fragmentation (small underlay) */
    uint64_t tid;              /* kernel thread id, for per-thread CPU time */
    uint64_t drops[DP_STATS_DROPS];
    uint64_t reserved[8];
} __attribute__((aligned(64)));

struct dp_stats_tunnel { /* written by the tunnel's worker; a slot is free while `used` is 0 */
    uint32_t used;
    uint16_t tunnel;
    uint16_t worker;
    struct hw_id link;
    uint32_t state; /* enum dp_tunnel_state */
    uint32_t reason;
    uint64_t state_mono_ns; /* since when */
    /* data only: probes and dummies are counted apart */
    uint64_t tx_packets, tx_inner_bytes, tx_wire_bytes;
    uint64_t rx_packets, rx_inner_bytes, rx_wire_bytes;
    uint64_t probes_sent, probes_answered, probes_lost, probes_reflected;
    uint64_t rtt_us_last, rtt_us_min, rtt_us_sum; /* sum over probes_answered */
    uint64_t last_rx_mono_ns;                     /* any authenticated packet */
    uint64_t tx_epoch, rx_epoch;
    uint64_t mtu;
    uint64_t auth_failures, replays;
    uint64_t reserved[4];
} __attribute__((aligned(64)));

#endif
