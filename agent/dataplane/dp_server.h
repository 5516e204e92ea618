/*
 * The seam to the agent: messages of dp_proto.h become engine calls, one ACK each. One agent is
 * served; a newer connection with the right credentials replaces the old. State outlives
 * connections.
 */
#ifndef HAWSER_DATAPLANE_DP_SERVER_H
#define HAWSER_DATAPLANE_DP_SERVER_H

#include "agent/dataplane/engine.h"
#include "common/err.h"
#include "common/evloop.h"
#include <sys/types.h>

struct dp_server;

struct dp_server_options {
    int listen_fd;     /* of unixsock_listen; −1: none, connections come by dp_server_adopt */
    uid_t agent_uid;   /* who may connect */
    uint32_t features; /* bits of enum dp_feature for HELLO besides the engine's own */
};

/* Serves on the loop until freed; listen_fd stays the caller's. DP_QUIESCE stops the loop. */
int dp_server_new(struct evloop *loop, struct engine *en, const struct dp_server_options *o,
                  struct dp_server **out, struct err *e);
void dp_server_free(struct dp_server *s);

/* Takes a connected socket as the agent's if its peer may be one; closes it otherwise. */
void dp_server_adopt(struct dp_server *s, int fd);

#endif
