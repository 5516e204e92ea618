/*
 * One key exchange of one link (DESIGN section 5): OFFER, ACCEPT, READY, and the order in which the
 * dataplane is told, receive first. No I/O and no clock here: every call takes `now`, and answers
 * what has to be done.
 *
 *   initiator   begin      -> SEND (OFFER)            responder
 *               accept     -> INSTALL                 respond   -> INSTALL (inbound, outbound on
 * stand-by) installed  -> SWITCH                  installed -> SEND (ACCEPT) switched   -> SEND
 * (READY), DONE      ready, or first packet -> SWITCH switched  -> DONE
 *
 * Once ACCEPT has come, the initiator needs its connection no more; once ACCEPT is sent, the
 * responder leaves the epoch pending when the connection is lost: the first packet on it (or HELLO)
 * switches later.
 */
#ifndef HAWSER_AGENT_CONTROL_KEYING_EXCHANGE_H
#define HAWSER_AGENT_CONTROL_KEYING_EXCHANGE_H

#include "agent/control/keying/message.h"
#include "common/dp_proto.h"
#include "common/id.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define EXCHANGE_STEP_NS   (10 * 1000000000ull)
#define EXCHANGE_BYTES_MAX 512 /* of an OFFER or ACCEPT as sent */
#define EXCHANGE_HASH_LEN  32

enum exchange_role { EXCHANGE_INITIATOR, EXCHANGE_RESPONDER };

enum exchange_state {
    EXCHANGE_OFFERED,    /* initiator: waits for ACCEPT */
    EXCHANGE_INSTALLING, /* waits for the dataplane to take both directions */
    EXCHANGE_ACCEPTED,   /* responder: waits for READY or a first packet */
    EXCHANGE_SWITCHING,  /* waits for the dataplane to send by the new epoch */
    EXCHANGE_OVER,
};

/* What a call asks for; several bits may be set, to be done in rising order. */
enum exchange_action {
    EXCHANGE_SEND = 1, /* out[0..out_len) on the exchange's connection, if it still has one */
    EXCHANGE_INSTALL =
        2, /* SAs of both directions as agreed, inbound first; exchange_installed() for each ACK */
    EXCHANGE_SWITCH = 4,   /* then exchange_switched() */
    EXCHANGE_DONE = 8,     /* the epoch is in use; the connection becomes the standing one */
    EXCHANGE_PENDING = 16, /* installed, but whether the peer uses it will show */
    EXCHANGE_FAIL = 32,    /* `why`; when `installed` is set, retire the epoch; answer REFUSE when
                              refuse_code is set */
};

/* What this end brings. */
struct exchange_terms {
    struct hw_id link, own, peer, boot;
    struct dp_peer_cert peer_cert; /* of the connection: it goes with the keys */
    uint64_t epoch;                /* the lowest that will do: one above the newest known */
    unsigned n;
    bool esn;
    uint32_t window, mtu;
    uint8_t suites[MESSAGE_SUITES_MAX]; /* in order of preference */
    unsigned n_suites;
    uint32_t spi[HW_TUNNELS_PER_LINK_MAX];
};

struct exchange {
    enum exchange_role role;
    enum exchange_state state;
    struct exchange_terms terms;
    uint64_t deadline_ns;
    bool connected;
    bool installed; /* SAs were asked of the dataplane */
    unsigned acks_left;

    /* agreed, from INSTALL on */
    uint64_t epoch;
    unsigned n;
    uint8_t suite;
    bool esn;
    uint32_t window;
    struct hw_id peer_boot;
    uint32_t peer_mtu;
    uint32_t peer_spi[HW_TUNNELS_PER_LINK_MAX];
    uint8_t hash[EXCHANGE_HASH_LEN]; /* SHA-256(OFFER ‖ ACCEPT as sent) */

    uint8_t first[EXCHANGE_BYTES_MAX]; /* the OFFER, until it is hashed */
    size_t first_len;
    uint8_t out[EXCHANGE_BYTES_MAX];
    size_t out_len;

    bool collided; /* the peer's own exchange goes on: no failure of this end */
    uint16_t refuse_code;
    char why[160];
};

unsigned exchange_begin(struct exchange *x, const struct exchange_terms *terms, uint64_t now);
/* `raw`: the OFFER's bytes as they came. */
unsigned exchange_respond(struct exchange *x, const struct exchange_terms *terms,
                          const struct message *offer, const uint8_t *raw, size_t len,
                          uint64_t now);

/* ACCEPT, READY or REFUSE came on the exchange's connection. */
unsigned exchange_message(struct exchange *x, const struct message *m, const uint8_t *raw,
                          size_t len, uint64_t now);
/* One of the two installs was acknowledged (status 0) or refused. */
unsigned exchange_installed(struct exchange *x, int status, const char *text, uint64_t now);
unsigned exchange_switched(struct exchange *x, int status, const char *text);
/* The first authenticated packet on one of the epoch's inbound SAs. */
unsigned exchange_first_rx(struct exchange *x, uint64_t now);
/* The exchange's connection is gone. */
unsigned exchange_closed(struct exchange *x, const char *why);
/* x->deadline_ns has passed. */
unsigned exchange_expired(struct exchange *x);

/* The peer's OFFER comes while this exchange runs: does this one give way? The lower gateway id's
 * exchange goes on. A peer that offers again although it had accepted, or whose own exchange this
 * is, has given the old one up. */
bool exchange_yields(const struct exchange *x, const struct message_offer *theirs);

#endif
