/*
 * One keying connection: TLS 1.3 over TCP on the event loop, in whole messages. Either dialled or
 * accepted; which messages may come when is the owner's matter. Nothing is read before `secured`
 * has returned.
 */
#ifndef HAWSER_AGENT_CONTROL_KEYING_CONN_H
#define HAWSER_AGENT_CONTROL_KEYING_CONN_H

#include "agent/control/keying/message.h"
#include "common/evloop.h"
#include "common/ipaddr.h"
#include "common/tls.h"
#include <stddef.h>
#include <stdint.h>

#define CONN_TIMEOUT_NS (10 * 1000000000ull)

struct conn;

struct conn_handler {
    /* The handshake has succeeded at this end, so the peer has proved its certificate. */
    void (*secured)(void *arg, struct conn *c);
    /* One message; `raw` are its bytes as they came. */
    void (*message)(void *arg, struct conn *c, const struct message *m, const uint8_t *raw,
                    size_t len);
    /* The connection ended without conn_close(): `code` HW_EAUTH (a certificate, ours or theirs),
     * HW_EPROTO, HW_ETIMEOUT, HW_ECLOSED. It is gone when this returns; conn_close() is not to be
     * called. */
    void (*closed)(void *arg, struct conn *c, int code, const char *why);
};

/* Connects from `local` to `remote`. `now_s`: the time at which the peer's certificate is judged.
 * The whole of connect and handshake has CONN_TIMEOUT_NS; afterwards conn_deadline() rules.
 * Callbacks come from the loop, never from here. */
int conn_dial(struct evloop *loop, struct tls_context *client, int64_t now_s,
              const struct ipaddr *local, const struct ipaddr *remote, uint16_t port,
              const struct conn_handler *handler, void *arg, struct conn **out, struct err *e);
/* Takes over an accepted socket (also on failure). The same deadline, until conn_deadline() says
 * otherwise. */
int conn_accept(struct evloop *loop, struct tls_context *server, int64_t now_s, int fd,
                const struct conn_handler *handler, void *arg, struct conn **out, struct err *e);
/* Hands the connection to another owner. */
void conn_owner(struct conn *c, const struct conn_handler *handler, void *arg);

/* Closes and forgets it, without a callback; usable from its own callbacks. NULL is accepted. */
void conn_close(struct conn *c);
/* The same, once what was sent has left (2 s at most). */
void conn_finish(struct conn *c);

/* The connection times out then (delay from now); 0: never. */
void conn_deadline(struct conn *c, uint64_t delay_ns);

/* Queues a message. A peer that takes nothing until the queue is full loses the connection
 * (`closed` comes from the loop). */
void conn_send(struct conn *c, const struct message *m);
void conn_send_bytes(struct conn *c, const void *data, size_t len);

/* From `secured` on. */
const struct x509_info *conn_peer(const struct conn *c);
/* The gateway id of the peer's certificate, or HW_EAUTH when it is no gateway's. */
int conn_peer_gateway(const struct conn *c, struct hw_id *id);
int conn_export(struct conn *c, const char *label, const void *context, size_t context_len,
                void *out, size_t len, struct err *e);

#endif
