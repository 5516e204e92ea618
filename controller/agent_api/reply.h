/* What all replies to authenticated agents have in common. */
#ifndef HAWSER_CONTROLLER_AGENT_API_REPLY_H
#define HAWSER_CONTROLLER_AGENT_API_REPLY_H

#include "controller/http/response.h"
#include "controller/store/signed.h"
#include "controller/store/store.h"

/* Hawser-Time and Hawser-Controller-Revision. */
void reply_stamp(struct http_response *res, uint64_t controller_revision);

/* A signed document with the headers that the agent judges it by. */
int reply_signed(struct http_response *res, const struct store_signed *doc, struct err *e);

#endif
