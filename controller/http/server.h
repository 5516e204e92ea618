/*
 * The HTTP servers: TLS 1.3, one listener for people and one for agents, several addresses each.
 * Deals alone with libmicrohttpd (server.c, parking.c and head.c include its header) and with what
 * that leaves open: absolute deadlines, judging client certificates, clients that leave while
 * suspended, stopping with suspended ones.
 */
#ifndef HAWSER_CONTROLLER_HTTP_SERVER_H
#define HAWSER_CONTROLLER_HTTP_SERVER_H

#include "common/err.h"
#include "controller/http/request.h"
#include "controller/http/response.h"

#define HTTP_LISTEN_MAX 8 /* addresses of a listener */

struct http_listener_config {
    const char *addresses[HTTP_LISTEN_MAX]; /* "192.0.2.1:8443", "[::]:8443" */
    size_t n_addresses;
    const char *cert_pem, *key_pem; /* chain and key of the listener */
    const char
        *client_ca_pem; /* asks for client certificates and judges them by it; NULL: none asked */
    unsigned connections_max;            /* of each address */
    unsigned connections_per_client_max; /* from one client address */
};

struct http_server_config {
    struct http_listener_config listeners[HTTP_LISTENERS];
    unsigned threads; /* of each address; at least 2 */
    unsigned
        request_seconds; /* absolute: handshake, or the request from its first line to its end */
    unsigned answer_seconds; /* absolute: from there to the answer's last byte, parking left out */
    unsigned idle_seconds;   /* inactivity, and between requests */

    /* Called when the header is whole. Sets *body_max; a response filled here is sent instead of
     * calling `handle` (after the body, if it is short enough, has been read and thrown away). */
    void (*begin)(void *arg, struct http_request *req, struct http_response *res, size_t *body_max);
    /* Called when the body is whole, and again after each parking. Fills *res or parks. */
    void (*handle)(void *arg, struct http_request *req, struct http_response *res);
    void *arg;
};

struct http_server;

/* *out is set before the first request can come; NULL on failure. */
int http_server_start(const struct http_server_config *c, struct http_server **out, struct err *e);

/* Has the handler of a parked request run again. From any thread, at any time; an old ticket does
 * nothing. */
void http_server_wake(struct http_server *s, uint64_t ticket);

/* New certificate for handshakes from now on; running connections keep theirs. */
int http_server_set_certificate(struct http_server *s, enum http_listener listener,
                                const char *cert_pem, const char *key_pem, struct err *e);

struct http_server_counters {
    uint64_t connections;
    uint64_t without_request; /* connections that ended before a request line: garbage, old TLS,
                                 silence */
    uint64_t requests;
    uint64_t cut_deadline; /* connections cut because a request or an answer took too long */
    uint64_t parked;       /* requests parked now */
};
void http_server_counters(struct http_server *s, enum http_listener listener,
                          struct http_server_counters *out);

/* Wakes all parked requests (their handlers see park_over), refuses new connections, waits for
 * running requests up to five seconds, stops and frees. NULL is accepted. */
void http_server_stop(struct http_server *s);

#endif
