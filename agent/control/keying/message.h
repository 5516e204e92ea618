/*
 * The messages of the keying connection (docs/protocols.md, "Keying messages"): network order,
 * fixed layouts. What message_decode() lets through is in range, apart from what only an exchange
 * can judge.
 */
#ifndef HAWSER_AGENT_CONTROL_KEYING_MESSAGE_H
#define HAWSER_AGENT_CONTROL_KEYING_MESSAGE_H

#include "common/err.h"
#include "common/id.h"
#include "common/ipaddr.h"
#include "common/limits.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MESSAGE_VERSION     1
#define MESSAGE_HEADER_LEN  4
#define MESSAGE_BODY_MAX    4092
#define MESSAGE_MAX         (MESSAGE_HEADER_LEN + MESSAGE_BODY_MAX)
#define MESSAGE_SUITES_MAX  16
#define MESSAGE_REFUSE_TEXT 120
#define MESSAGE_MTU_MIN     HW_LINK_MTU_MIN
#define MESSAGE_MTU_MAX     65521u
#define MESSAGE_WINDOW_MIN  64u
#define MESSAGE_WINDOW_MAX  8192u
/* Leaves room to add one for ever after. */
#define MESSAGE_EPOCH_MAX (UINT64_MAX >> 1)

enum message_type {
    MESSAGE_OFFER = 1,
    MESSAGE_ACCEPT = 2,
    MESSAGE_READY = 3,
    MESSAGE_DELETE = 4,
    MESSAGE_WANT = 5,
    MESSAGE_MTU = 6,
    MESSAGE_HELLO = 7,
    MESSAGE_REFUSE = 8,
};

/* Why an end asks for a new epoch. */
enum want_reason {
    WANT_NO_KEYS = 1,
    WANT_LIMIT = 2,    /* soft limit of time, bytes or packets */
    WANT_BOOT = 3,     /* its dataplane is a new one */
    WANT_CONFIG = 4,   /* tunnels or suites changed */
    WANT_MISMATCH = 5, /* HELLO named an epoch that the other end doesn't send by */
    WANT_OPERATOR = 6,
};

enum refuse_code {
    REFUSE_COLLISION = 1,   /* this end's own exchange goes on */
    REFUSE_LINK = 2,        /* no such link with this peer, or disabled */
    REFUSE_DATAPLANE = 3,   /* none connected, or it refused the SAs */
    REFUSE_SUITE = 4,       /* none in common */
    REFUSE_UNCONFIRMED = 5, /* the last epoch isn't confirmed both ways yet */
    REFUSE_EPOCH = 6,       /* no higher one exists */
};

/* OFFER and ACCEPT. */
struct message_offer {
    bool esn;
    uint8_t n;        /* tunnels */
    uint8_t n_suites; /* ACCEPT: 1 */
    struct hw_id own, peer, boot;
    uint64_t epoch;
    uint32_t window;
    uint32_t mtu;      /* inner */
    uint64_t features; /* none defined: sent as 0, any accepted */
    uint8_t
        suites[MESSAGE_SUITES_MAX]; /* in order of preference; unknown ones may stand among them */
    uint32_t
        spi[HW_TUNNELS_PER_LINK_MAX]; /* for packets that the sender of the message will receive */
};

struct message {
    enum message_type type;
    struct hw_id link; /* every message names it */
    union {
        struct message_offer offer; /* OFFER, ACCEPT */
        struct {
            uint64_t epoch;     /* READY, DELETE, HELLO (0: no keys) */
            uint32_t hello_mtu; /* HELLO: inner MTU */
        };
        uint8_t reason; /* WANT: enum want_reason, or one of a later version */
        struct {
            uint32_t mtu;
            struct prefix prefix;
        } mtu; /* MTU */
        struct {
            uint16_t code;                      /* enum refuse_code, or one of a later version */
            char text[MESSAGE_REFUSE_TEXT + 1]; /* printable ASCII */
        } refuse;                               /* REFUSE */
    };
};

/* "OFFER" */
const char *message_name(unsigned type);

/* Writes the whole message and returns its length. The values are the caller's own: they must be in
 * range. */
size_t message_encode(const struct message *m, uint8_t out[MESSAGE_MAX]);

/* Length of the whole message that begins with these MESSAGE_HEADER_LEN bytes; HW_EPROTO (in *e
 * why) for an unknown type or a length that no message of the type has. */
int message_frame(const uint8_t header[MESSAGE_HEADER_LEN], size_t *total, struct err *e);
/* One whole message of exactly `len` bytes. HW_EPROTO with the reason otherwise; *out only on
 * success. */
int message_decode(const uint8_t *data, size_t len, struct message *out, struct err *e);

#endif
