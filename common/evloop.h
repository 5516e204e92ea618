/*
 * One epoll loop per control thread, with timers and signals as ordinary sources. A handler never
 * blocks and never re-enters the loop. All functions belong to the loop's thread, except
 * evloop_stop.
 */
#ifndef HAWSER_COMMON_EVLOOP_H
#define HAWSER_COMMON_EVLOOP_H

#include "common/err.h"
#include <stdint.h>

struct evloop;
struct ev_io;
struct ev_timer;

/* EV_HUP comes with errors and hang-ups, asked for or not, together with EV_READ or EV_WRITE if
 * these are asked for; asked for, it also tells of a peer that has closed its sending side. */
enum { EV_READ = 1, EV_WRITE = 2, EV_HUP = 4 };

typedef void (*ev_io_fn)(void *arg, int fd, unsigned events);
typedef void (*ev_timer_fn)(void *arg);
typedef void (*ev_signal_fn)(void *arg, int signo);

int evloop_new(struct evloop **out, struct err *e);
/* Frees the loop and every source still registered; fds stay open. */
void evloop_free(struct evloop *l);

/* Watches fd (level-triggered); the caller keeps owning the fd and removes the watch before closing
 * it. NULL on failure. A handler may remove any source, itself included: removed ones are not
 * called again. */
struct ev_io *evloop_io_add(struct evloop *l, int fd, unsigned events, ev_io_fn fn, void *arg);
void evloop_io_events(struct ev_io *io, unsigned events);
void evloop_io_remove(struct ev_io *io);

/* A timer, not armed yet. */
struct ev_timer *evloop_timer_add(struct evloop *l, ev_timer_fn fn, void *arg);
/* One shot, `delay_ns` after now (evloop_now); re-arming replaces the earlier time. */
void evloop_timer_arm(struct ev_timer *t, uint64_t delay_ns);
void evloop_timer_disarm(struct ev_timer *t);
void evloop_timer_remove(struct ev_timer *t);

/* Blocks the signal for the process and delivers it through the loop (signalfd). Call before
 * threads start. */
int evloop_signal(struct evloop *l, int signo, ev_signal_fn fn, void *arg, struct err *e);

/* Monotonic time read once per turn of the loop. */
uint64_t evloop_now(const struct evloop *l);

/* Until evloop_stop. Returns 0 or a negative code when epoll itself fails. */
int evloop_run(struct evloop *l, struct err *e);
/* Ends the loop after the present turn; safe from any thread and from handlers. */
void evloop_stop(struct evloop *l);

#endif
