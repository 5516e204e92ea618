/* Requests to the dataplane about a link's SAs. They outlive their link: what it asked for and no
 * longer wants to hear of is dropped when it completes. */
#ifndef HAWSER_AGENT_CONTROL_KEYING_SA_REQUEST_H
#define HAWSER_AGENT_CONTROL_KEYING_SA_REQUEST_H

#include "agent/control/keying/keylink.h"

/* Called once, from the loop, unless the link has forgotten its requests. */
typedef void (*sa_request_fn)(struct keylink *l, uint64_t epoch, int status, const char *text);

/* *m holds keys: the caller wipes it. */
int sa_request_install(struct keylink *l, const struct dp_sa_install *m, sa_request_fn done,
                       struct err *e);
int sa_request_switch(struct keylink *l, uint64_t epoch, sa_request_fn done, struct err *e);
/* epoch 0: all. Nothing waits for it; a refusal is logged. Does nothing without a dataplane, whose
 * SAs the next dump shows. */
void sa_request_retire(struct keylink *l, uint64_t epoch, bool in, bool out);
void sa_request_forget(struct keylink *l);

#endif
