/*
 * Keying of all links of this gateway (DESIGN section 5): TLS 1.3 between the two agents, one full
 * handshake for every epoch, SA keys by its exporter, handed to the dataplane and forgotten.
 *
 * The owner (agent/control/app.c) calls, all on the loop's thread:
 *
 * - keying_set_identity(): certificate, key and CA; again after every renewal
 * - keying_set_config(): the config in force; again after every apply (or rollback)
 * - keying_set_denials(), keying_set_ended(): the denials in force; again after every change
 * - keying_dataplane_up(): after each connect, dump and reconcile
 * - keying_dataplane_lost(): when it is gone
 * - keying_event(): every event of the dataplane
 *
 * Each is level-triggered: calling it with what already holds changes nothing. The order at start
 * is free: SAs found in a dump wait for the first config.
 *
 * Keying itself sends only SA_INSTALL, SA_SWITCH and SA_RETIRE; LINK_SET and LINK_REMOVE are the
 * owner's, and a link's LINK_SET must have been handed to the dp_client before keying_set_config()
 * or keying_dataplane_up() names the link.
 */
#ifndef HAWSER_AGENT_CONTROL_KEYING_KEYING_H
#define HAWSER_AGENT_CONTROL_KEYING_KEYING_H

#include "agent/control/dp_client.h"
#include "common/err.h"
#include "common/evloop.h"
#include "common/id.h"
#include "common/ipaddr.h"
#include "common/model/gateway_config.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct keying;

struct keying_handler {
    /* Something in keying_status() of this link changed: keyed, lost, failed, another peer MTU. Any
     * function here may be called from it, but keying_free(). */
    void (*link_changed)(void *arg, const struct hw_id *link);
    /* The peer announced the onward MTU of a prefix. No keying_set_…() from inside it. */
    void (*peer_mtu)(void *arg, const struct hw_id *link, const struct prefix *prefix,
                     uint32_t mtu);
    /* Trusted time in seconds since 1970, by which certificates are judged. */
    int64_t (*trusted_now)(void *arg);
    /* Has the controller set that time since the agent began? Permissions of the encryption policy
     * hold only then: a wall clock that was set back would revive one. */
    bool (*clock_trusted)(void *arg);
};

struct keying_settings {
    uint32_t soft_seconds;           /* rekey_seconds; ± 10 % */
    uint32_t hard_seconds;           /* rekey_hard_seconds */
    uint64_t soft_bytes, hard_bytes; /* of one SA; 0: the designed 2^38 and 2^42 */
    uint32_t window;                 /* inbound replay window offered; 0: 8192 */
    bool no_esn;                     /* offer and accept 32-bit sequence numbers only */
};

/* `dp` outlives the keying. No socket is opened before identity and config are there. */
int keying_new(struct evloop *loop, struct dp_client *dp, const struct keying_settings *settings,
               const struct keying_handler *handler, void *arg, struct keying **out, struct err *e);
/* Closes connections and the listener; SAs in the dataplane stay: traffic survives the agent. */
void keying_free(struct keying *k);

/* PEM texts. Connections made before stay; new ones use the new certificate. */
int keying_set_identity(struct keying *k, const char *certificate_pem, const char *key_pem,
                        const char *ca_pem, struct err *e);

/* `inner_mtus[i]`: the inner MTU of config->links[i] as this end sees it; below HW_LINK_MTU_MIN the
 * link is as one that is disabled. Copies what it needs.
 * Opens the listener on config->port_base; a failure to do so is returned, and tried again by
 * itself every few seconds. Links that are gone or disabled lose their connections; disabled ones
 * their SAs as well. */
int keying_set_config(struct keying *k, const struct gateway_config *config,
                      const uint32_t *inner_mtus, struct err *e);

/* The whole set, replacing the former. Serials in lower-case hex as in the denials document. SAs of
 * denied peers are retired and their connections closed before this returns to the loop. */
int keying_set_denials(struct keying *k, const struct hw_id *gateways, size_t n_gateways,
                       const char *const *serials, size_t n_serials, struct err *e);

/* Permissions of the encryption policy that have ended, whatever a config says; the whole set,
 * replacing the former. */
int keying_set_ended(struct keying *k, const struct hw_id *permissions, size_t n, struct err *e);

/* `dump` as of this connection. SAs found there are adopted and nothing is keyed anew for them;
 * links without are keyed at once. */
void keying_dataplane_up(struct keying *k, const struct dp_hello *hello,
                         const struct dp_dump *dump);
void keying_dataplane_lost(struct keying *k);
void keying_event(struct keying *k, const struct dp_event *event);

/* Announces an onward MTU to the link's peer, if it is connected (the owner repeats it from
 * link_changed). */
int keying_announce_mtu(struct keying *k, const struct hw_id *link, const struct prefix *prefix,
                        uint32_t mtu);

/* Keys the link anew now, whatever its age (an operator's command). */
int keying_rekey_now(struct keying *k, const struct hw_id *link, struct err *e);

enum keying_state { KEYING_IDLE, KEYING_DIALLING, KEYING_CONNECTED, KEYING_FAILED };
/* "idle" "dialling" "connected" "failed" */
const char *keying_state_name(enum keying_state state);

struct keying_link_status {
    enum keying_state state; /* of the connection, not of the SAs */
    char last_error[160];    /* "" when the last attempt succeeded */
    unsigned failures;       /* attempts in a row; an alarm from the third on */
    bool denied;             /* the peer is revoked */
    bool keyed;              /* SAs of `epoch` are in the dataplane, both ways */
    uint64_t epoch;          /* 0: none yet */
    int64_t rekeyed_at;      /* trusted seconds since 1970; 0: never */
    uint8_t suite;           /* enum esp_suite_id; 0: none */
    unsigned tunnels;        /* keyed: N of the epoch */
    uint32_t own_mtu;        /* inner MTU as this end sees it */
    uint32_t peer_mtu; /* inner MTU as the peer sees it; 0: unknown (adopted after a restart) */
    struct hw_id peer_boot; /* dataplane boot id of the peer; zero: unknown */
    char permission[160];   /* what became of the link's permission, for people; "": it has none */
};

/* HW_ENOTFOUND for a link that isn't configured. */
int keying_status(const struct keying *k, const struct hw_id *link, struct keying_link_status *out);

/* Since start; each refusal has one place. */
struct keying_counters {
    uint64_t accepted;         /* TCP connections taken */
    uint64_t refused_address;  /* from an address of no peer */
    uint64_t refused_crowd;    /* more than one address may have unauthenticated at once */
    uint64_t refused_full;     /* more than the cap unauthenticated at once */
    uint64_t handshake_failed; /* no, wrong, foreign or expired certificate; not TLS 1.3; garbage */
    uint64_t refused_peer;     /* good certificate of a gateway that is no peer, or denied */
    uint64_t bad_message;      /* malformed, out of order, or of another link */
    uint64_t timed_out;
    uint64_t paused; /* no descriptor was left for a connection */
    uint64_t exchanges_done, exchanges_failed;
};
const struct keying_counters *keying_counters(const struct keying *k);

#endif
