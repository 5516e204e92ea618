/* When credentials were last used. */
#ifndef HAWSER_CONTROLLER_AUTH_USE_H
#define HAWSER_CONTROLLER_AUTH_USE_H

#include "controller/http/request.h"
#include "controller/store/store.h"

/* Remembers the use of req's API key, and of its session, not more often than once a minute. A
 * store that takes no writes, its disk full say, is no reason to refuse who only reads: the session
 * then ends earlier. */
void use_note(struct store *store, const struct http_request *req);

#endif
