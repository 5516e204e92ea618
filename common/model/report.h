/* What an agent tells the controller every few seconds (docs/protocols.md, "Report"). */
#ifndef HAWSER_COMMON_MODEL_REPORT_H
#define HAWSER_COMMON_MODEL_REPORT_H

#include "common/dp_proto.h"
#include "common/drop_reason.h"
#include "common/err.h"
#include "common/id.h"
#include "common/limits.h"
#include "common/model/firewall.h"
#include "common/model/node.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define REPORT_REFUSED_MAX  16
#define REPORT_PROBLEMS_MAX 32
#define REPORT_VERSION_MAX  64
#define REPORT_BODY_MAX     (8u << 20)

enum report_link_state {
    REPORT_LINK_UP,       /* every tunnel is up */
    REPORT_LINK_DEGRADED, /* some are */
    REPORT_LINK_DOWN,
    REPORT_LINK_DISABLED,
    REPORT_LINK_NO_KEYS,
};
const char *
report_link_state_name(enum report_link_state s); /* "up" "degraded" "down" "disabled" "no_keys" */

enum report_keying_state {
    REPORT_KEYING_IDLE,
    REPORT_KEYING_DIALLING,
    REPORT_KEYING_CONNECTED,
    REPORT_KEYING_FAILED
};
const char *report_keying_state_name(enum report_keying_state s);

/* Over the one-second samples of the interval. */
struct report_spread {
    bool known;
    double avg, min, max;
};

struct report_ratio {
    bool known;
    double value;
};

struct report_refused {
    uint64_t revision;
    char reason[HW_TEXT_MAX + 1];
};

struct report_revisions {
    uint64_t received, applied, in_force;
    struct report_refused refused[REPORT_REFUSED_MAX];
    size_t n_refused;
};

struct report_tunnel {
    unsigned tunnel;
    unsigned state;  /* enum dp_tunnel_state */
    unsigned reason; /* enum dp_tunnel_reason */
    uint16_t port;
    uint64_t rtt_us; /* 0: unknown */
    uint64_t tx_packets, tx_bytes, rx_packets,
        rx_bytes; /* inner data since the slot began; no probes */
    uint64_t probes_sent, probes_answered, probes_lost, probes_reflected;
    unsigned worker;
    uint32_t mtu; /* 0: unknown */
    uint64_t wire_tx_bytes, wire_rx_bytes;
    uint64_t rtt_us_min, rtt_us_max; /* over the interval's samples; 0: unknown */
    uint64_t auth_failures, replays;
};

struct report_link {
    struct hw_id link_id;
    enum report_link_state state;
    char reason[HW_TEXT_MAX + 1];
    int64_t since;      /* unix seconds */
    uint64_t epoch;     /* 0: never keyed */
    int64_t rekeyed_at; /* 0: never */
    unsigned suite;     /* enum esp_suite_id; 0: none */
    enum report_keying_state keying;
    char keying_error[HW_TEXT_MAX + 1];
    uint64_t keying_failures;
    uint32_t mtu;
    uint64_t tx_bps, rx_bps; /* goodput */
    uint64_t wire_tx_bps, wire_rx_bps, tx_pps, rx_pps;
    uint32_t underlay_mtu; /* 0: unknown */
    struct report_spread goodput_tx, goodput_rx, rtt_us;
    struct report_ratio loss;      /* probes lost ÷ (lost + answered) in the interval */
    struct report_ratio imbalance; /* largest ÷ mean of the tunnels' goodput */
    struct report_tunnel *tunnels;
    size_t n_tunnels;
};

struct report_totals {
    uint64_t goodput_tx_bps, goodput_rx_bps, wire_tx_bps, wire_rx_bps;
    uint64_t tx_packets, rx_packets, tx_bytes, rx_bytes;
    uint64_t wire_tx_bytes, wire_rx_bytes, tx_pps, rx_pps;
    struct report_spread goodput_tx, goodput_rx, wire_tx, wire_rx;
};

struct report_worker {
    double busy_ratio, busy_ratio_max; /* 0–1: over the interval, of its busiest second */
    uint64_t segments_in, segments_out, handoff_in, handoff_out;
    unsigned tunnels;
};

struct report_conntrack {
    bool known;
    uint64_t entries, max;
};

struct report_dataplane {
    bool connected;
    struct hw_id boot_id;             /* zero (null) when not connected */
    char version[REPORT_VERSION_MAX]; /* "" = null */
    unsigned workers;
    unsigned provider; /* enum dp_provider; 0 = null */
    uint32_t features; /* enum dp_feature bits */
    uint32_t suites;   /* bit (1 << enum esp_suite_id) */
};

struct report {
    char agent_version[REPORT_VERSION_MAX];
    struct hw_id boot_id;
    int64_t time; /* the agent's trusted clock */
    int64_t wall_skew_seconds;
    struct report_revisions revisions;
    uint64_t denials_revision;
    struct node node;
    struct node_cloud cloud;
    struct report_dataplane dataplane;
    double interval_seconds;
    unsigned samples; /* one-second looks in the interval */
    struct report_totals totals;
    struct report_link *links;
    size_t n_links;
    struct report_worker workers[HW_WORKERS_MAX]; /* by number */
    size_t n_workers;
    uint64_t drops[DROP_COUNT]; /* index 0 unused; zeros are left out of the JSON */
    struct report_conntrack conntrack;
    struct firewall_report firewall;
    bool ip_forward;
    char (*problems)[HW_TEXT_MAX + 1]; /* at most REPORT_PROBLEMS_MAX */
    size_t n_problems;
};

char *report_encode(const struct report *r, size_t *len);
/* On success *out owns its arrays. Drop reasons that this side doesn't know are ignored (a newer
 * dataplane). */
int report_decode(const char *json, size_t len, struct report *out, struct err *e);
void report_done(struct report *r);

struct json_writer;
/* Parts that `hawser-agent status --json` shows alike: values of the members "revisions" (without
 * closing it, so that the caller may add to it), "dataplane", "drops", and one link's members
 * inside an open object. */
void report_put_revisions_open(struct json_writer *w, const struct report_revisions *r);
void report_put_dataplane(struct json_writer *w, const struct report_dataplane *d);
void report_put_drops(struct json_writer *w, const uint64_t drops[DROP_COUNT]);
void report_put_link_members(struct json_writer *w, const struct report_link *l);

/* Names of feature bits for status and report: "udp_gso". NULL beyond the last. */
const char *report_feature_name(unsigned bit);

#endif
