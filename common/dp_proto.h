/*
 * hawser-agent <-> hawser-dataplane: fixed-layout messages over SOCK_SEQPACKET (DESIGN section 2).
 *
 * Both ends run on one machine, so integers are in host order; every struct is free of implicit
 * padding (asserted below) and reserved bytes are zero. A message is `struct dp_header` followed by
 * one body. The receiver calls dp_validate() once, at its edge; after that the body is trusted to
 * be in range.
 *
 * Order on a new connection: dataplane sends HELLO (with the counters memfd); the agent sends what
 * it wants, usually DUMP first; each request with a body is answered by exactly one ACK carrying
 * its `seq`, after every worker concerned has taken it. Events (TUNNEL_STATE …) have seq 0.
 *
 * State in the dataplane outlives the connection. A newer connection with the right credentials
 * replaces it.
 */
#ifndef HAWSER_COMMON_DP_PROTO_H
#define HAWSER_COMMON_DP_PROTO_H

#include "common/err.h"
#include "common/esp_suite.h"
#include "common/id.h"
#include "common/ipaddr.h"
#include "common/limits.h"
#include <stddef.h>
#include <stdint.h>

#define DP_PROTO_VERSION  1
#define DP_SOCKET_DEFAULT "/run/hawser/dataplane.sock"
#define DP_MSG_MAX        16384

enum dp_type {
    /* agent to dataplane; each is answered by one ACK unless said otherwise */
    DP_ATTACH_TUN = 1, /* + 1 fd */
    DP_ATTACH_UDP = 2, /* + 1 fd */
    DP_NODE_SET = 3,
    DP_LINK_SET = 4, /* creates or changes; idempotent */
    DP_LINK_REMOVE = 5,
    DP_SA_INSTALL = 6,
    DP_SA_SWITCH = 7,
    DP_SA_RETIRE = 8,
    DP_FIB_COMMIT = 9, /* + 1 fd: struct dp_fib_header and tables; copied, validated whole */
    DP_DUMP = 10,      /* answered by DUMP_* messages, the last being DUMP_END; no ACK */
    DP_QUIESCE = 11,   /* end the process in order (no ACK): upgrade, or a stuck worker */
    /* dataplane to agent */
    DP_HELLO = 64, /* + 1 fd: counters, read-only (dp_stats.h) */
    DP_ACK = 65,
    DP_TUNNEL_STATE = 66,
    DP_SA_FIRST_RX = 67,   /* first authenticated packet on an inbound SA */
    DP_SA_SOFT_LIMIT = 68, /* bytes, packets or sequence numbers: key anew */
    DP_PEER_MOVED = 69,    /* authenticated in-window packet from another outer address */
    DP_SA_EXPIRED = 70,    /* hard limit reached: the SA is gone */
    DP_DUMP_TUN = 80,
    DP_DUMP_UDP = 81,
    DP_DUMP_NODE = 82,
    DP_DUMP_LINK = 83,
    DP_DUMP_SA = 84,
    DP_DUMP_FIB = 85,
    DP_DUMP_END = 86,
};

struct dp_header {
    uint16_t version; /* DP_PROTO_VERSION */
    uint16_t type;    /* enum dp_type */
    uint32_t length;  /* of the whole message, this header included */
    uint32_t seq;     /* chosen by the agent, ≠ 0; repeated in ACK and DUMP_* */
    uint32_t reserved;
};

struct dp_addr {
    uint8_t family; /* 0 none, 4, 6 */
    uint8_t reserved[3];
    uint8_t b[16]; /* IPv4 in the first four bytes */
};

/* How a packet came in; the FIB is looked up by (domain, class, prefix). */
enum dp_class {
    DP_CLASS_SITE = 0,
    DP_CLASS_ATTACHMENT = 1,
    DP_CLASS_PEERING = 2,
    DP_CLASS_BYPASS = 3,
    DP_CLASS_COUNT = 4
};

enum dp_tunnel_state {
    DP_TUNNEL_NO_SA = 0,
    DP_TUNNEL_PROBING = 1,
    DP_TUNNEL_UP = 2,
    DP_TUNNEL_DOWN = 3
};

enum dp_tunnel_reason {
    DP_REASON_NONE = 0,
    DP_REASON_ANSWERED = 1,  /* a probe came back inside ESP */
    DP_REASON_NO_ANSWER = 2, /* `missed` probes in a row */
    DP_REASON_NO_SA = 3,     /* retired, expired or never keyed */
    DP_REASON_PEER_BOOT = 4, /* the peer's dataplane is a new one */
    DP_REASON_DISABLED = 5,
};

struct dp_hello {
    struct hw_id boot; /* 128 random bits made at start; stands in OFFER and ACCEPT */
    uint16_t workers;
    uint8_t provider; /* enum dp_provider in use */
    uint8_t reserved0;
    uint32_t suites;   /* bit (1 << enum esp_suite_id) for each suite it can run */
    uint32_t features; /* enum dp_feature bits found at start */
    uint32_t reserved1;
    char build[48]; /* version text, NUL-terminated */
};
enum dp_provider { DP_PROVIDER_IPSEC_MB = 1, DP_PROVIDER_LIBCRYPTO = 2 };
enum dp_feature {
    DP_FEATURE_UDP_GSO = 1,
    DP_FEATURE_UDP_GRO = 2,
    DP_FEATURE_TUN_USO = 4,
    DP_FEATURE_SECCOMP = 8,
    DP_FEATURE_LANDLOCK = 16
};

struct dp_ack {
    int32_t status; /* 0 or enum hw_err */
    uint32_t reserved;
    char text[120]; /* why not, NUL-terminated; "" when status is 0 */
};

/* Queue i of hawser0 belongs to worker i. IFF_VNET_HDR with a 10-byte header, non-blocking. */
struct dp_attach_tun {
    uint16_t queue;
    uint16_t queues; /* in all; = workers */
    uint32_t mtu;    /* of the device: largest inner packet read from it */
};

/* The bound socket of UDP port base + port_index, one per family. Worker port_index % workers owns
 * it. The agent has set mark, IP_PMTUDISC_PROBE, buffers; the dataplane sets UDP_GRO, PKTINFO and
 * TOS itself. */
struct dp_attach_udp {
    uint8_t family;     /* 4 or 6 */
    uint8_t port_index; /* 0 to 49 */
    uint16_t port;
    uint32_t reserved;
};

struct dp_node_set {
    struct hw_id gateway;
    struct dp_addr overlay4, overlay6; /* own; STAMP to them is answered by the worker */
    uint64_t flow_seed;                /* fleet-wide: prefix set -> gateway */
    uint64_t tunnel_seed;              /* gateway -> tunnel */
};

/* One link and all of its tunnels. Tunnel i uses port index (port_offset + i) % 50 at both ends. */
struct dp_link_set {
    struct hw_id link;
    struct hw_id peer;     /* gateway id */
    struct dp_addr local;  /* outer source (IP_PKTINFO) */
    struct dp_addr remote; /* outer destination as configured */
    struct dp_addr peer_overlay4, peer_overlay6;
    uint16_t remote_port_base;
    uint8_t port_offset;  /* 0 to 49 */
    uint8_t tunnels;      /* 1 to 50 */
    uint8_t class_;       /* enum dp_class of packets arriving by it; never SITE */
    uint8_t enabled;      /* 0: carries nothing, probes stop */
    uint8_t remote_fixed; /* 1: never follow a moved endpoint */
    uint8_t missed;       /* probes in a row until down: 1 to 20 */
    uint32_t mtu;         /* inner MTU of its tunnels: 576 to 65521 */
    uint32_t interval_ms; /* probe interval once up: 10 to 60000 */
    uint32_t reserved;
};
struct dp_link_remove {
    struct hw_id link;
};

enum dp_direction { DP_DIR_IN = 0, DP_DIR_OUT = 1 };

struct dp_sa {
    uint16_t tunnel;
    uint16_t reserved;
    uint32_t spi;             /* ≥ 256 */
    uint8_t key[ESP_KEY_MAX]; /* the suite's key_len bytes, rest zero */
    uint8_t salt[ESP_SALT_LEN];
};

/* The certificate by which the peer came to its keys, for the agent alone: the dataplane keeps it
 * beside the SA and gives it back in a dump, so that a certificate revoked while the agent was away
 * is found, and one that ends. */
struct dp_peer_cert {
    uint8_t serial[20];
    uint8_t serial_len; /* 0: unknown */
    uint8_t reserved[3];
    int64_t not_after; /* seconds since 1970 */
};

/* All SAs of one direction of one epoch of a link. The message buffer is wiped by both ends after
 * use. Inbound ones are live at once; outbound ones stand by until SA_SWITCH, or, per tunnel, until
 * the first authenticated packet on the inbound SA of the same epoch. */
struct dp_sa_install {
    struct hw_id link;
    struct hw_id peer_boot; /* the peer dataplane's: another than before resets tunnel state */
    struct dp_peer_cert peer_cert;
    uint64_t epoch;                      /* rises per link; ≥ 1 */
    uint64_t soft_bytes, hard_bytes;     /* per SA; 0: none */
    uint64_t soft_packets, hard_packets; /* per SA; 0: none */
    uint32_t hard_seconds;               /* from now; 0: none */
    uint32_t window;   /* inbound replay window in packets, a power of two 64 to 8192 */
    uint8_t direction; /* enum dp_direction */
    uint8_t suite;     /* enum esp_suite_id */
    uint8_t esn;       /* 64-bit sequence numbers (RFC 4303 section 2.2.1) */
    uint8_t count;     /* of sa[], 1 to 50 */
    uint32_t reserved;
    struct dp_sa sa[HW_TUNNELS_PER_LINK_MAX]; /* sent shortened to `count` entries */
};
/* Send on this epoch from now on, all tunnels. */
struct dp_sa_switch {
    struct hw_id link;
    uint64_t epoch;
};
/* Both or one direction of one epoch; its keys are wiped before the ACK. epoch 0: all epochs. */
struct dp_sa_retire {
    struct hw_id link;
    uint64_t epoch;
    uint8_t in, out; /* 1: that direction */
    uint8_t reserved[6];
};

/* The FIB file. Tables follow the header in this order, each entry fixed-size. Indexes are checked.
 */
#define DP_FIB_MAGIC    0x48574642u
#define DP_FIB_SIZE_MAX (64u << 20)
struct dp_fib_header {
    uint32_t magic;
    uint32_t version;    /* DP_PROTO_VERSION */
    uint64_t generation; /* the config_revision it comes from */
    uint32_t n_links;    /* struct hw_id: every link that the tables name */
    uint32_t n_sources;
    uint32_t n_source_links; /* uint32_t: indexes into links */
    uint32_t n_routes;
    uint32_t n_sets;
    uint32_t n_members;
};
/* Longest match on the inner source: its domain, and by which links it may come in (RFC 4301
 * section 5.2). */
struct dp_fib_source {
    uint8_t addr[16];
    uint8_t family, len;
    uint16_t domain;
    uint8_t local; /* 1: may come in by TUN (own site or own overlay) */
    uint8_t reserved[3];
    uint32_t links_first, links_count; /* into source_links */
};
enum dp_route_kind { DP_ROUTE_LOCAL = 1 /* to TUN */, DP_ROUTE_SET = 2, DP_ROUTE_UNREACHABLE = 3 };
struct dp_fib_route {
    uint8_t addr[16];
    uint8_t family, len;
    uint16_t domain;
    uint8_t class_; /* enum dp_class of arrival */
    uint8_t kind;
    uint16_t reserved;
    uint32_t set; /* into sets when kind is SET */
    uint32_t mtu; /* 0: the tunnel's own */
};
struct dp_fib_member {
    uint32_t link; /* into links */
    uint32_t weight;
};
#define DP_BUCKET_NONE 255
struct dp_fib_set {
    uint32_t members_first, members_count; /* into members; 1 to 64 */
    uint8_t bucket[HW_BUCKETS];            /* index within the set's members */
};
struct dp_fib_commit {
    uint64_t generation;
    uint64_t size; /* of the file */
};

struct dp_tunnel_event {
    struct hw_id link;
    uint16_t tunnel;
    uint8_t state;    /* enum dp_tunnel_state */
    uint8_t reason;   /* enum dp_tunnel_reason */
    uint32_t rtt_us;  /* of the answer that raised it; 0: unknown */
    uint64_t mono_ns; /* CLOCK_MONOTONIC of the change */
};
struct dp_sa_event { /* SA_FIRST_RX, SA_SOFT_LIMIT, SA_EXPIRED */
    struct hw_id link;
    uint64_t epoch;
    uint32_t spi;
    uint16_t tunnel;
    uint8_t direction;
    uint8_t reserved;
};
struct dp_peer_moved {
    struct hw_id link;
    struct dp_addr remote;
    uint16_t tunnel;
    uint16_t port;
};

struct dp_dump_tun {
    uint16_t queue, queues;
    uint32_t mtu;
};
struct dp_dump_fib {
    uint64_t generation; /* 0: none committed */
};
struct dp_dump_sa {
    struct hw_id link;
    struct hw_id peer_boot;
    uint64_t epoch;
    uint64_t age_ns; /* since install */
    uint32_t spi;
    uint16_t tunnel;
    uint8_t direction;
    uint8_t suite;
    uint8_t active; /* outbound: sends by it; inbound: has received */
    uint8_t esn;
    uint8_t reserved[6];
    struct dp_peer_cert peer_cert;
};
struct dp_dump_link {
    struct dp_link_set set;
    uint8_t state[HW_TUNNELS_PER_LINK_MAX]; /* enum dp_tunnel_state */
    uint8_t reserved[2];
};

#define DP_NO_PADDING(type, size)                                                                  \
    _Static_assert(sizeof(type) == (size), #type " has padding or changed its layout")
DP_NO_PADDING(struct dp_header, 16);
DP_NO_PADDING(struct dp_addr, 20);
DP_NO_PADDING(struct dp_hello, 80);
DP_NO_PADDING(struct dp_ack, 128);
DP_NO_PADDING(struct dp_attach_tun, 8);
DP_NO_PADDING(struct dp_attach_udp, 8);
DP_NO_PADDING(struct dp_node_set, 72);
DP_NO_PADDING(struct dp_link_set, 132);
DP_NO_PADDING(struct dp_sa, 44);
DP_NO_PADDING(struct dp_peer_cert, 32);
DP_NO_PADDING(struct dp_sa_install, 120 + 44 * HW_TUNNELS_PER_LINK_MAX);
DP_NO_PADDING(struct dp_sa_switch, 24);
DP_NO_PADDING(struct dp_sa_retire, 32);
DP_NO_PADDING(struct dp_fib_header, 40);
DP_NO_PADDING(struct dp_fib_source, 32);
DP_NO_PADDING(struct dp_fib_route, 32);
DP_NO_PADDING(struct dp_fib_set, 8 + HW_BUCKETS);
DP_NO_PADDING(struct dp_tunnel_event, 32);
DP_NO_PADDING(struct dp_sa_event, 32);
DP_NO_PADDING(struct dp_peer_moved, 40);
DP_NO_PADDING(struct dp_dump_sa, 96);
DP_NO_PADDING(struct dp_dump_link, 184);

/* Bytes of a dp_sa_install body with `count` entries. */
static inline uint32_t dp_sa_install_len(unsigned count)
{
    return (uint32_t)(offsetof(struct dp_sa_install, sa) + count * sizeof(struct dp_sa));
}

/* Fills the header of a message with a body of `body_len` bytes. */
void dp_header_init(struct dp_header *h, enum dp_type type, uint32_t seq, uint32_t body_len);

/* The edge: checks version, type, exact length, the body's ranges and `n_fds` of one received
 * message. `to_dataplane`: which direction's types are allowed. 0, or HW_EPROTO with the reason in
 * *e. The body is at (const char *)msg + sizeof(struct dp_header); copy it out before use, msg may
 * be unaligned. */
int dp_validate(const void *msg, size_t len, int n_fds, int to_dataplane, struct err *e);

/* Name of a message type for logs: "sa-install". */
const char *dp_type_name(unsigned type);

struct ipaddr dp_addr_to_ip(const struct dp_addr *a);
struct dp_addr dp_addr_from_ip(const struct ipaddr *a);

const char *dp_tunnel_state_name(unsigned state); /* "no_sa" "probing" "up" "down" */
const char *dp_tunnel_reason_name(unsigned reason);
const char *dp_provider_name(unsigned provider); /* "ipsec-mb" "libcrypto" */

/* The FIB file's edge, shared by its maker's tests and its reader: every count, index, family,
 * prefix and bucket of a complete image of `len` bytes. */
int dp_fib_validate(const void *image, size_t len, struct err *e);

#endif
