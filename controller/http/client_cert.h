/* What the TLS layer found out about a client's certificate. Filled anew for every request by
 * http/server.c. */
#ifndef HAWSER_CONTROLLER_HTTP_CLIENT_CERT_H
#define HAWSER_CONTROLLER_HTTP_CLIENT_CERT_H

#include <stdbool.h>
#include <stdint.h>

#define CLIENT_CERT_URI_MAX    128
#define CLIENT_CERT_SERIAL_MAX 64

struct client_cert {
    bool present;      /* the client sent one; nothing below is trusted by this alone */
    bool verified;     /* chain to the gateway CA, within its time, allowed as a TLS client */
    bool expired_only; /* as verified, except that its time is over: good for renewal alone */
    char san_uri[CLIENT_CERT_URI_MAX]; /* the one URI of its subjectAltName; "" for none or several
                                        */
    char serial[CLIENT_CERT_SERIAL_MAX]; /* lower-case hex, two digits a byte, no leading zero bytes
                                          */
    int64_t not_before, not_after;       /* seconds since 1970 */
};

#endif
