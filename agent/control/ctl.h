/*
 * The local socket RUN_DIR/agent.sock, which answers without the controller. A request is one
 * message with the name of a command; the answer is a message "ok" with the text in a memfd beside
 * it (texts outgrow messages), or "error: …".
 */
#ifndef HAWSER_AGENT_CONTROL_CTL_H
#define HAWSER_AGENT_CONTROL_CTL_H

#include "agent/control/status.h"
#include "common/err.h"
#include "common/evloop.h"
#include <stddef.h>

struct ctl;

int ctl_new(struct evloop *loop, const char *run_dir, struct status *status, struct ctl **out,
            struct err *e);
/* How often no descriptor was left for a client. */
uint64_t ctl_paused(const struct ctl *c);
/* Also removes the socket's file. */
void ctl_free(struct ctl *c);

/* The client's side, blocking: asks the running agent. Free *text. HW_ECLOSED when none is running.
 */
int ctl_ask(const char *run_dir, const char *command, char **text, size_t *len, struct err *e);

#endif
