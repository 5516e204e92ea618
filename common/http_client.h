/*
 * HTTPS requests over libcurl: one at a time and blocking, or many on an event loop. TLS 1.3 at
 * least, no redirects, no cookies, an absolute deadline, a cap on the response. One kind of server
 * is spoken to without TLS: a cloud's metadata service at its link-local address.
 */
#ifndef HAWSER_COMMON_HTTP_CLIENT_H
#define HAWSER_COMMON_HTTP_CLIENT_H

#include "common/err.h"
#include "common/evloop.h"
#include "common/x509.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct http_client;
struct http_transfer;

enum http_trust {
    HTTP_TRUST_CONTROLLER, /* `ca` alone, server's SAN URI hawser://controller, host name not
                              checked */
    HTTP_TRUST_WEB,        /* host name checked; ca_file, or the system's CAs when NULL */
    HTTP_TRUST_NOBODY,     /* nothing is verified: only for GET /agent/v1/ca, judged by its pin */
    HTTP_TRUST_LINK_LOCAL, /* plain HTTP, and nothing else: a metadata service offers no TLS */
};

/* Kept by the client: certificate objects get a reference, strings are copied. A new identity is a
 * new client. */
struct http_client_params {
    enum http_trust trust;
    struct evloop *loop;        /* NULL: blocking requests only */
    const struct x509_st *ca;   /* CONTROLLER */
    const struct x509_st *cert; /* own certificate and key, or NULL */
    const struct evp_pkey_st *key;
    const char *ca_file; /* WEB */
    /* Time at which certificates are judged, asked at each handshake; NULL: the wall clock. */
    int64_t (*now)(void *arg);
    void *now_arg;
    uint32_t mark;          /* SO_MARK of every socket; 0: none */
    const char *user_agent; /* "hawser-agent/0.1.0" */
};

int http_client_new(const struct http_client_params *p, struct http_client **out, struct err *e);
/* Cancels what is under way (no callback comes) and closes all connections. */
void http_client_free(struct http_client *c);

struct http_request {
    const char *method;       /* "GET", "POST", … */
    const char *url;          /* https only; http only under LINK_LOCAL */
    const char *content_type; /* with a body; NULL: application/json */
    const void *body;
    size_t body_len;
    const char *const *headers;  /* further lines "Name: value", NULL-terminated; or NULL */
    uint64_t timeout_ns;         /* from start to last byte; required */
    uint64_t connect_timeout_ns; /* for TCP and TLS; 0: 10 s, never beyond timeout_ns */
    size_t response_max;         /* bytes of body accepted */
    bool fresh;                  /* do not reuse an open connection */
    bool secret;                 /* the response holds a secret: wiped when it ends */
};

enum http_outcome {
    HTTP_ANSWERED,  /* a complete response: look at status */
    HTTP_REFUSED,   /* TCP reset: the host lives, nobody listens */
    HTTP_NO_ANSWER, /* timeout, unreachable, or the connection broke off */
    HTTP_TLS,       /* the handshake failed, on either side's judgement */
    HTTP_TOO_BIG,   /* response beyond response_max */
    HTTP_FAILED,    /* anything else: bad URL, name not found, … */
};
const char *http_outcome_name(enum http_outcome o);

struct http_response {
    enum http_outcome outcome;
    /* The address gave any sign of life during this request: SYN-ACK, reset, TLS or HTTP bytes. */
    bool answered;
    int status; /* with HTTP_ANSWERED */
    char *body; /* NUL-terminated; "" when empty */
    size_t body_len;
    char error[200]; /* why not, for people; "" with HTTP_ANSWERED */
    bool secret;
    struct http_header *header_list;
};
/* Value of a response header (case-insensitive name), or NULL. The last one wins. */
const char *http_response_header(const struct http_response *r, const char *name);
void http_response_done(struct http_response *r);

/* Blocks until done or the deadline. 0 when *out was filled (whatever the outcome); empty it with
 * http_response_done. Negative only for wrong parameters or no memory. */
int http_client_run(struct http_client *c, const struct http_request *r, struct http_response *out,
                    struct err *e);

/* The transfer is over when this is called; `r` ends with the call. It may start and cancel other
 * transfers, but not free the client. */
typedef void (*http_done_fn)(void *arg, const struct http_response *r);
/* The request is copied. NULL (with *e) only for wrong parameters or no memory; the callback never
 * comes from inside this call. */
struct http_transfer *http_client_start(struct http_client *c, const struct http_request *r,
                                        http_done_fn fn, void *arg, struct err *e);
/* Ends it without a callback. */
void http_transfer_cancel(struct http_transfer *t);

#endif
