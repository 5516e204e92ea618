/*
 * Which long polls are parked, by gateway (DESIGN section 4). Parking itself, its deadline and
 * clients that leave are http/server.h's; the hub knows a poll by its ticket, which is never
 * reused, so waking an ended one does nothing.
 *
 * One poll a gateway: a newer one ends the older. Safe from any thread.
 */
#ifndef HAWSER_CONTROLLER_PUSH_HUB_H
#define HAWSER_CONTROLLER_PUSH_HUB_H

#include "common/err.h"
#include "common/id.h"
#include <stddef.h>
#include <stdint.h>

struct hub;

enum hub_reason {
    HUB_NOT_WOKEN,  /* by the hub; its deadline came, or the server's stop */
    HUB_CHANGED,    /* look again: there may be something newer */
    HUB_SUPERSEDED, /* a newer poll of this gateway came */
};

/* http_server_wake in the daemon. Called without any lock of the hub. */
typedef void (*hub_wake_fn)(void *arg, uint64_t ticket);

int hub_new(hub_wake_fn wake, void *arg, struct hub **out, struct err *e);
void hub_free(struct hub *h);

/* Closes the gap between "nothing newer" and "parked": take a token, look into the store, park with
 * it. */
uint64_t hub_token(struct hub *h);

/* Enters the poll, ending an older one of the gateway. HW_ESTALE: somebody was woken after the
 * token was taken, so look again; HW_ENOMEM. The poll's owner calls hub_end when its request is
 * over. */
int hub_park(struct hub *h, const struct hw_id *gateway, uint64_t token, uint64_t ticket,
             struct err *e);
/* Takes the poll out of the list and says why it was woken. Unknown tickets were not. */
enum hub_reason hub_resume(struct hub *h, uint64_t ticket);
/* The request is over, answered or not. Unknown tickets are accepted. */
void hub_end(struct hub *h, uint64_t ticket);

void hub_wake(struct hub *h, const struct hw_id *gateways, size_t n);
void hub_wake_all(struct hub *h);

size_t hub_parked(struct hub *h);

#endif
