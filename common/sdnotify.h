/* systemd's notify protocol (sd_notify(3)): datagrams to the socket named by NOTIFY_SOCKET. */
#ifndef HAWSER_COMMON_SDNOTIFY_H
#define HAWSER_COMMON_SDNOTIFY_H

#include <stdint.h>

/* Opens the socket if the supervisor gave one; call before a sandbox closes in. Does nothing
 * otherwise, and the functions below are then without effect. */
void sdnotify_init(void);
/* Lines as in "READY=1" or "STATUS=…"; failures are ignored: there is nobody to tell. */
void sdnotify_send(const char *state);
/* Half of the interval that the watchdog wants, or 0 when there is none: send "WATCHDOG=1" that
 * often. */
uint64_t sdnotify_watchdog_ns(void);

#endif
