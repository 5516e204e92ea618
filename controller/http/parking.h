/*
 * Requests under way, by ticket: parking and waking them, their absolute deadlines, and the thread
 * that watches for both and for clients that leave while they are parked. libmicrohttpd does none
 * of these: its timeout is for inactivity, and a suspended connection has none.
 */
#ifndef HAWSER_CONTROLLER_HTTP_PARKING_H
#define HAWSER_CONTROLLER_HTTP_PARKING_H

#include "common/err.h"
#include <stdbool.h>
#include <stdint.h>

struct http_server;
struct conn;
struct exchange;

/* Gives the request its ticket. */
void parking_add(struct http_server *s, struct exchange *x);
/* Under the lock. */
void parking_remove(struct http_server *s, struct exchange *x);

uint64_t parking_deadline_in(unsigned seconds);
void parking_deadline(struct http_server *s, struct conn *c, unsigned seconds);

/* Suspends the connection unless a wake came in between; false: call the handler again at once. */
bool parking_suspend(struct http_server *s, struct exchange *x);

/* From now on nothing is parked, and all that is parked is resumed. */
void parking_stop(struct http_server *s);
bool parking_stopping(struct http_server *s);
/* The request is not parked (again) but answered: the server stops, or the connection is cut. */
bool parking_over(struct http_server *s, const struct exchange *x);

int watcher_start(struct http_server *s, struct err *e);
/* Also after a start that failed. */
void watcher_end(struct http_server *s);

#endif
