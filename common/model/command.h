/*
 * Commands to an agent and what it reports about them (docs/protocols.md, "Commands"): the reply of
 * a poll, and the body of POST /agent/v1/operations/{id}. Results are model/diag_result.h's.
 */
#ifndef HAWSER_COMMON_MODEL_COMMAND_H
#define HAWSER_COMMON_MODEL_COMMAND_H

#include "common/err.h"
#include "common/id.h"
#include "common/ipaddr.h"
#include "common/json.h"
#include "common/limits.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define COMMAND_POLL_MAX   16 /* in one answer */
#define COMMAND_RESULT_MAX (256u << 10)
#define COMMAND_REPORT_MAX (320u << 10)

enum command_kind {
    COMMAND_TRACE_PATH,
    COMMAND_PING,
    COMMAND_TCP_CONNECT,
    COMMAND_CANCEL,
    COMMAND_UNKNOWN, /* of a newer controller */
};
enum command_network { COMMAND_UNDERLAY, COMMAND_OVERLAY };
enum command_protocol { COMMAND_UDP, COMMAND_ICMP };

struct command {
    struct hw_id id;
    enum command_kind kind;
    int64_t issued_at, expires_at; /* seconds since 1970 */
    /* Why the parameters are not accepted; "" when they are. A bad command is reported, it does not
     * keep its agent from reading the rest of the answer. */
    char refusal[HW_TEXT_MAX + 1];

    struct ipaddr target;
    struct ipaddr source; /* family 0: by the route */
    enum command_network network;
    unsigned timeout_ms;
    /* trace-path */
    enum command_protocol protocol;
    unsigned max_hops, probes_per_hop;
    uint16_t port; /* also of tcp-connect */
    /* ping */
    unsigned count, interval_ms, size_bytes;
    bool dont_fragment;
    /* tcp-connect */
    unsigned attempts;
    /* cancel */
    struct hw_id cancels;
};

/* "trace-path" … ; NULL for COMMAND_UNKNOWN. */
const char *command_kind_name(enum command_kind k);
const char *command_network_name(enum command_network n);
const char *command_protocol_name(enum command_protocol p);

/* Members of the API's request bodies with their ranges and defaults, and of `params`: read from an
 * object into c, whose kind is set. Absent ones stay as they are. What `target` and `source` may be
 * is not judged here. */
int command_read_options(const struct json_at *at, struct command *c, struct err *e);
void command_put_options(struct json_writer *w, const struct command *c);
/* A fresh command of the kind with the API's defaults. */
struct command command_defaults(enum command_kind kind);

/* `params` alone, as the store keeps them: to free. */
char *command_params_encode(const struct command *c);
/* Fills c's parameters; c->kind is set. HW_EINVAL as c->refusal says. */
int command_params_decode(const char *json, size_t len, struct command *c, struct err *e);

/* GET /agent/v1/poll. */
struct command_poll {
    uint64_t config_revision, denials_revision;
    struct command commands[COMMAND_POLL_MAX];
    size_t n_commands;
};
char *command_poll_encode(const struct command_poll *p, size_t *len);
int command_poll_decode(const char *json, size_t len, struct command_poll *out, struct err *e);

enum command_state {
    COMMAND_RUNNING,
    COMMAND_SUCCEEDED,
    COMMAND_FAILED,
    COMMAND_CANCELLED,
    COMMAND_EXPIRED,
};
#define COMMAND_CODE_MAX 32

struct command_report {
    uint64_t sequence;
    enum command_state state;
    unsigned done, total; /* total 0: not known */
    char text[HW_TEXT_MAX + 1];
    char *result;                      /* JSON, or NULL */
    char error_code[COMMAND_CODE_MAX]; /* "" */
    char error_text[HW_TEXT_MAX + 1];
};
const char *command_state_name(enum command_state s);
/* Takes r->result over. */
char *command_report_encode(struct command_report *r, size_t *len);
/* The result is handed out as its own text, to be judged by its kind. */
int command_report_decode(const char *json, size_t len, struct command_report *out, struct err *e);
void command_report_done(struct command_report *r);

#endif
