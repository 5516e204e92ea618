/*
 * One link's keying: what it has, what it wants next, and its connections. epoch.c runs the
 * exchanges and tells the dataplane; keylink.c decides when to start one, dials, and keeps the
 * standing connection.
 *
 * Work that a callback asks for is done by keylink_wake() at the next turn of the loop, never from
 * inside it.
 */
#ifndef HAWSER_AGENT_CONTROL_KEYING_KEYLINK_H
#define HAWSER_AGENT_CONTROL_KEYING_KEYLINK_H

#include "agent/control/keying/conn.h"
#include "agent/control/keying/core.h"
#include "agent/control/keying/exchange.h"
#include "agent/control/keying/rekey.h"
#include "agent/control/keying/sa_set.h"
#include "agent/control/keying/silence.h"

struct sa_request;

/* What the connection `xconn` was made for. */
enum keylink_purpose { KEYLINK_FOR_EPOCH, KEYLINK_FOR_HELLO };

struct keylink {
    struct keying_core *core;
    struct config_link cfg;
    uint32_t mtu;           /* inner, as this end sees it */
    struct ev_timer *timer; /* keylink_poll() */

    /* keys */
    struct sa_set sas;
    struct rekey rekey;
    bool exchanging;
    struct exchange x;           /* while exchanging */
    uint64_t switching;          /* epoch that the dataplane is asked to send by; 0: none */
    struct sa_request *requests; /* under way */
    bool waived; /* the peer says that it has no keys: no confirmation to wait for */
    struct silence silence;
    bool silent; /* an epoch is wanted because no tunnel answers by the one in use */
    bool tell;   /* the owner is told at the next poll */
    /* Tunnels and suites that this end wanted for the keys in use (0: unknown), and for the
     * exchange under way. */
    unsigned asked_tunnels, xasked_tunnels;
    uint8_t asked_suites[SA_SUITES_MAX], xasked_suites[SA_SUITES_MAX];
    enum sa_permit permit;
    struct hw_id over; /* the permission whose time was seen to be over */
    int64_t rekeyed_at;
    uint32_t peer_mtu;

    /* connections */
    struct conn *xconn; /* dialled, or carrying the exchange */
    enum keylink_purpose purpose;
    struct conn *standing; /* carries DELETE, WANT, MTU */
    uint64_t reconnect_ns; /* no HELLO is dialled before */
    unsigned reconnects_failed;
    char last_error[160];
};

int keylink_new(struct keying_core *core, const struct config_link *cfg, uint32_t mtu,
                struct keylink **out, struct err *e);
/* Closes its connections; the SAs stay as they are. */
void keylink_free(struct keylink *l);
void keylink_configure(struct keylink *l, const struct config_link *cfg, uint32_t mtu);

/* Does now what is due, and sets the timer for what comes next. */
void keylink_poll(struct keylink *l);
/* … at the next turn of the loop. */
void keylink_wake(struct keylink *l);

/* The dataplane tells a tunnel's state. */
void keylink_tunnel(struct keylink *l, unsigned tunnel, enum dp_tunnel_state state);

/* Enabled, peer not revoked, the underlay wide enough for any tunnel. */
bool keylink_allowed(const struct keylink *l);
/* What this end may key by now, as sa_policy_suites(). */
unsigned keylink_suites(const struct keylink *l, uint8_t out[SA_SUITES_MAX]);

/* After new denials: closes and retires what they name. */
void keylink_judge(struct keylink *l);
void keylink_dataplane_up(struct keylink *l, const struct dp_dump *dump);
void keylink_dataplane_lost(struct keylink *l);

/* The first message of an accepted connection, whose peer is the link's; the connection is the
 * link's from now on. */
void keylink_take_offer(struct keylink *l, struct conn *c, const struct message *m,
                        const uint8_t *raw, size_t len);
void keylink_take_hello(struct keylink *l, struct conn *c, const struct message *m);

/* Answers REFUSE and closes. */
void keylink_refuse(struct conn *c, const struct hw_id *link, uint16_t code, const char *text);

/* For epoch.c: the exchange's connection becomes the standing one, an own attempt failed, something
 * to tell. */
void keylink_keep_standing(struct keylink *l);
void keylink_attempt_failed(struct keylink *l, const char *why);
void keylink_changed(struct keylink *l);

void keylink_status(const struct keylink *l, struct keying_link_status *out);

#endif
