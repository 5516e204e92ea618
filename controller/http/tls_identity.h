/*
 * The TLS side of the listeners: which certificate a listener shows, and what its client's
 * certificate is worth. libmicrohttpd gives the choosing callback no argument, so the identities
 * are process-wide, one for each listener; they can be replaced while the listeners run.
 */
#ifndef HAWSER_CONTROLLER_HTTP_TLS_IDENTITY_H
#define HAWSER_CONTROLLER_HTTP_TLS_IDENTITY_H

#include "common/err.h"
#include "controller/http/client_cert.h"
#include "controller/http/request.h"
#include <gnutls/abstract.h>
#include <gnutls/gnutls.h>

#define TLS_IDENTITY_PRIORITIES "NORMAL:-VERS-ALL:+VERS-TLS1.3"

int tls_identity_set(enum http_listener listener, const char *cert_pem, const char *key_pem,
                     struct err *e);
gnutls_certificate_retrieve_function2 *tls_identity_callback(enum http_listener listener);
/* Frees all identities ever set. No handshake may be running. */
void tls_identity_done(void);

/* Judges the session's client certificate, now, against the CA that the listener trusts. */
void tls_identity_peer(gnutls_session_t session, struct client_cert *out);

#endif
