/*
 * What diagnostics found: the schemas PathTrace, PingResult and TcpConnectResult of schema/openapi
 * as structs, their JSON, and the sentence that sums each up. Agents write them without names and
 * gateway id; the controller fills these in and writes the sentence anew.
 */
#ifndef HAWSER_COMMON_MODEL_DIAG_RESULT_H
#define HAWSER_COMMON_MODEL_DIAG_RESULT_H

#include "common/err.h"
#include "common/json.h"
#include "common/limits.h"
#include "common/model/command.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DIAG_HOPS_MAX      64
#define DIAG_ANSWERERS_MAX 8
#define DIAG_NOTE_MAX      80
#define DIAG_VERDICT_MAX   1024
#define DIAG_REPLIES_MAX   100
#define DIAG_ATTEMPTS_MAX  10

/* Milliseconds; n samples. */
struct diag_spread {
    unsigned n;
    double sum, min, max;
};
void diag_spread_add(struct diag_spread *s, double ms);

enum mtu_source { MTU_UNKNOWN, MTU_DEVICE, MTU_ICMP, MTU_SEARCH };

struct path_hop {
    struct ipaddr addresses[DIAG_ANSWERERS_MAX]; /* the most frequent first */
    unsigned counts[DIAG_ANSWERERS_MAX];
    size_t n_addresses;
    char name[HW_NAME_MAX + 1]; /* "" */
    unsigned sent, answered;
    struct diag_spread rtt;
    unsigned mtu; /* 0: not known */
    enum mtu_source mtu_source;
    char note[DIAG_NOTE_MAX]; /* "" */
};

struct path_trace {
    struct hw_id gateway_id; /* zero: not filled in */
    struct ipaddr source, destination;
    char destination_name[HW_NAME_MAX + 1];
    enum command_protocol protocol;
    bool reached;
    unsigned path_mtu; /* 0: never answered */
    enum mtu_source mtu_source;
    struct path_hop hops[DIAG_HOPS_MAX];
    size_t n_hops;
};

struct ping_reply {
    double rtt_ms; /* negative: lost */
    unsigned ttl;  /* 0: not known */
    struct ipaddr from;
    char error[DIAG_NOTE_MAX];
};
struct ping_result {
    struct ipaddr source, destination;
    unsigned sent, received, duplicates;
    struct ping_reply replies[DIAG_REPLIES_MAX]; /* of sequence 1 … */
    size_t n_replies;
};

enum tcp_outcome { TCP_CONNECTED, TCP_REFUSED, TCP_TIMEOUT, TCP_UNREACHABLE, TCP_ERROR };
struct tcp_attempt {
    enum tcp_outcome outcome;
    double duration_ms;
    char error[DIAG_NOTE_MAX];
};
struct tcp_result {
    struct ipaddr source, destination;
    uint16_t port;
    struct tcp_attempt attempts[DIAG_ATTEMPTS_MAX];
    size_t n_attempts;
};

/* Of one direction. Returns out. */
char *path_trace_verdict(const struct path_trace *t, char out[DIAG_VERDICT_MAX]);
/* Over both; `back` may be NULL. */
char *path_both_verdict(const struct path_trace *outward, const struct path_trace *back,
                        char out[DIAG_VERDICT_MAX]);
char *ping_verdict(const struct ping_result *p, char out[DIAG_VERDICT_MAX]);
char *tcp_verdict(const struct tcp_result *t, char out[DIAG_VERDICT_MAX]);
/* The best attempt's; TCP_TIMEOUT without any. */
enum tcp_outcome tcp_result_outcome(const struct tcp_result *t);

/* Members of an open object. */
void path_trace_put(struct json_writer *w, const struct path_trace *t);
void ping_result_put(struct json_writer *w, const struct ping_result *p);
void tcp_result_put(struct json_writer *w, const struct tcp_result *t);

/* HW_EINVAL with the path. A gateway id and names may be missing or null. */
int path_trace_get(const struct json_at *at, struct path_trace *out, struct err *e);
int ping_result_get(const struct json_at *at, struct ping_result *out, struct err *e);
int tcp_result_get(const struct json_at *at, struct tcp_result *out, struct err *e);

#endif
