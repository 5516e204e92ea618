/*
 * A row of telemetry in memory, and its bytes in the store (docs/protocols.md, "Telemetry in the
 * store"): `main` for the gateway and its links, `detail` for tunnels and workers. Reading is
 * strict about lengths, and steps over what a newer writer appended to a record.
 */
#ifndef HAWSER_CONTROLLER_TELEMETRY_PACK_H
#define HAWSER_CONTROLLER_TELEMETRY_PACK_H

#include "common/drop_reason.h"
#include "common/err.h"
#include "common/id.h"
#include "common/limits.h"
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Smallest and largest are of one-second samples; all NaN: not known. */
struct gauge {
    float avg, min, max;
};
#define GAUGE_UNKNOWN ((struct gauge){NAN, NAN, NAN})

enum pack_link_gauge {
    LINK_GOODPUT_TX,
    LINK_GOODPUT_RX,
    LINK_WIRE_TX,
    LINK_WIRE_RX,
    LINK_TX_PPS,
    LINK_RX_PPS,
    LINK_RTT_US,
    LINK_IMBALANCE,
    LINK_GAUGES
};
enum pack_link_counter {
    LINK_PROBES_LOST,
    LINK_PROBES_ANSWERED,
    LINK_TX_BYTES,
    LINK_RX_BYTES,
    LINK_TX_PACKETS,
    LINK_RX_PACKETS,
    LINK_COUNTERS
};
struct pack_link {
    struct hw_id id;
    uint8_t state; /* enum report_link_state, the worst */
    uint8_t suite; /* enum esp_suite_id, 0: none known */
    uint16_t tunnels_up, tunnels, mtu;
    uint32_t up_ms;     /* in state up or degraded */
    uint32_t changes;   /* of its state */
    uint32_t rekey_age; /* seconds, at the period's end */
    struct gauge gauges[LINK_GAUGES];
    uint64_t counters[LINK_COUNTERS];
};

enum pack_gateway_gauge {
    GATEWAY_GOODPUT_TX,
    GATEWAY_GOODPUT_RX,
    GATEWAY_WIRE_TX,
    GATEWAY_WIRE_RX,
    GATEWAY_TX_PPS,
    GATEWAY_RX_PPS,
    GATEWAY_BUSY, /* hottest worker */
    GATEWAY_IMBALANCE,
    GATEWAY_CONNTRACK,
    GATEWAY_GAUGES
};
enum pack_gateway_counter {
    GATEWAY_TX_BYTES,
    GATEWAY_RX_BYTES,
    GATEWAY_TX_PACKETS,
    GATEWAY_RX_PACKETS,
    GATEWAY_WIRE_TX_BYTES,
    GATEWAY_WIRE_RX_BYTES,
    GATEWAY_HANDOFFS,
    GATEWAY_DROPS,
    GATEWAY_COUNTERS
};
struct pack_gateway {
    struct gauge gauges[GATEWAY_GAUGES];
    uint64_t counters[GATEWAY_COUNTERS];
    uint16_t links_up, links, tunnels_up, tunnels;
};

enum pack_tunnel_gauge { TUNNEL_GOODPUT_TX, TUNNEL_GOODPUT_RX, TUNNEL_RTT_US, TUNNEL_GAUGES };
enum pack_tunnel_counter {
    TUNNEL_TX_BYTES,
    TUNNEL_RX_BYTES,
    TUNNEL_TX_PACKETS,
    TUNNEL_RX_PACKETS,
    TUNNEL_WIRE_TX_BYTES,
    TUNNEL_WIRE_RX_BYTES,
    TUNNEL_COUNTERS
};
struct pack_tunnel {
    uint16_t link;         /* index into links */
    uint8_t number, state; /* enum dp_tunnel_state, the worst */
    uint16_t mtu, worker;
    struct gauge gauges[TUNNEL_GAUGES];
    uint32_t probes_lost, probes_answered;
    uint64_t counters[TUNNEL_COUNTERS];
};

enum pack_worker_counter {
    WORKER_SEGMENTS_IN,
    WORKER_SEGMENTS_OUT,
    WORKER_HANDOFFS,
    WORKER_COUNTERS
};
struct pack_worker {
    uint8_t number, tunnels;
    struct gauge busy;
    uint64_t counters[WORKER_COUNTERS];
};

#define PACK_CONNECTED 1u /* flag: the dataplane was connected through the whole period */

struct pack_row {
    uint8_t flags;
    uint16_t reports;
    uint32_t ms; /* covered by them */
    struct pack_gateway gateway;
    uint64_t drops[DROP_COUNT];
    struct pack_link *links; /* rising by id */
    size_t n_links;
    struct pack_tunnel *tunnels; /* rising by link, then number */
    size_t n_tunnels;
    struct pack_worker workers[HW_WORKERS_MAX]; /* by number */
    size_t n_workers;
};
void pack_row_done(struct pack_row *r);

/* malloc'ed bytes; NULL when out of memory. */
uint8_t *pack_main(const struct pack_row *r, size_t *len);
uint8_t *pack_detail(const struct pack_row *r, size_t *len);

/* Fills an empty row, main first; detail may be left out. HW_EPROTO: not bytes of this form. The
 * row owns its arrays, also after a failure. */
int unpack_main(const uint8_t *data, size_t len, struct pack_row *out, struct err *e);
int unpack_detail(const uint8_t *data, size_t len, struct pack_row *out, struct err *e);

#endif
