/*
 * The keying listener: who may connect, and who may speak. A connection stays here until its peer
 * has proved to be a configured gateway and its first message has come; then it belongs to a link.
 */
#ifndef HAWSER_AGENT_CONTROL_KEYING_ACCEPTOR_H
#define HAWSER_AGENT_CONTROL_KEYING_ACCEPTOR_H

#include "agent/control/keying/conn.h"
#include "agent/control/keying/core.h"
#include "common/model/gateway_config.h"

#define ACCEPTOR_WAITING_MAX 32 /* connections that belong to no link yet … */
/* … and of these from one address (IPv6: one /64), so that none keeps the others out. A peer dials
 * once a link. */
#define ACCEPTOR_ADDRESS_MAX 8

struct acceptor;

struct acceptor_handler {
    /* Is this gateway the peer of a link that may key? */
    bool (*is_peer)(void *arg, const struct hw_id *gateway);
    /* The connection is the callee's: to keep, refuse or close. */
    void (*first)(void *arg, struct conn *c, const struct hw_id *gateway, const struct message *m,
                  const uint8_t *raw, size_t len);
};

int acceptor_new(struct keying_core *core, const struct acceptor_handler *handler, void *arg,
                 struct acceptor **out, struct err *e);
void acceptor_free(struct acceptor *a);

/* Port and peers' addresses. Opens the sockets, if there is an identity; a failure is returned, and
 * the attempt repeated every few seconds. */
int acceptor_set_config(struct acceptor *a, const struct gateway_config *config, struct err *e);
/* Opens what is not open yet. */
void acceptor_poll(struct acceptor *a);
/* After new denials: waiting connections of denied peers are closed. */
void acceptor_judge(struct acceptor *a);

#endif
