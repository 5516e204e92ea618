/* Listening sockets. */
#ifndef HAWSER_CONTROLLER_HTTP_LISTEN_H
#define HAWSER_CONTROLLER_HTTP_LISTEN_H

#include "common/err.h"

/* "192.0.2.1:8443" or "[::]:8443" to a bound, listening TCP socket: returns the fd or a negative
 * code, HW_ENOTFOUND where the kernel lacks the address family. */
int http_listen(const char *address, struct err *e);

#endif
