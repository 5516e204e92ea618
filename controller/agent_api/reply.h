/* Replies with a signed document. The headers of every authenticated reply are api/dispatch.c's. */
#ifndef HAWSER_CONTROLLER_AGENT_API_REPLY_H
#define HAWSER_CONTROLLER_AGENT_API_REPLY_H

#include "controller/http/response.h"
#include "controller/store/signed.h"
#include "controller/store/store.h"

/* A signed document with the headers that the agent judges it by. */
int reply_signed(struct http_response *res, const struct store_signed *doc, struct err *e);

#endif
