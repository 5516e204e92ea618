/* One HTTP request as handlers see it. The fields belong to the thread that runs the handler. */
#ifndef HAWSER_CONTROLLER_HTTP_REQUEST_H
#define HAWSER_CONTROLLER_HTTP_REQUEST_H

#include "common/err.h"
#include "common/id.h"
#include "common/ipaddr.h"
#include "common/limits.h"
#include "controller/http/client_cert.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum http_method { HTTP_GET, HTTP_POST, HTTP_PUT, HTTP_PATCH, HTTP_DELETE, HTTP_OTHER };
enum http_listener { HTTP_PEOPLE, HTTP_AGENTS, HTTP_LISTENERS };

/* Who may call a route. */
enum http_role {
    ROLE_PUBLIC,   /* anyone */
    ROLE_VIEWER,   /* API key, or session begun with one, of at least this role … */
    ROLE_OPERATOR, /* … which may do all that the one before it may */
    ROLE_ADMIN,
    ROLE_AGENT,       /* certificate of a gateway that exists and is not revoked */
    ROLE_AGENT_RENEW, /* the same; its certificate may have ended less than 180 days ago */
};

#define HTTP_PARAMS_MAX 2
#define HTTP_PARAM_LEN  64
#define HTTP_PAIRS_MAX  48

struct http_pair {
    const char *name, *value; /* value is "" when absent */
};

struct db;
struct http_server;
struct http_route;

struct http_request {
    enum http_listener listener;
    enum http_method method; /* HEAD is handled as GET */
    const char *path;        /* percent-decoded, no control characters */
    struct http_pair query[HTTP_PAIRS_MAX];
    size_t n_query;
    struct http_pair headers[HTTP_PAIRS_MAX];
    size_t n_headers;
    const char *body; /* NUL-terminated for convenience; NULL when there is none */
    size_t body_len;
    char id[ID_TEXT_MAX];    /* request id: in the answer's header, in problems and in the log */
    struct ipaddr peer;      /* the client's address */
    struct client_cert cert; /* agents' listener alone */

    char params[HTTP_PARAMS_MAX][HTTP_PARAM_LEN]; /* {…} of the route's path, in order */
    size_t n_params;

    /* A write that is only tried: within this transaction, which its maker undoes. NULL: for good.
     */
    struct db *within;

    const struct http_route *route; /* NULL when the request was refused before its handler */

    /* Set by the role check: */
    enum http_role role;     /* of who asks, not of the route */
    struct hw_id gateway_id; /* ROLE_AGENT and ROLE_AGENT_RENEW */
    struct hw_id api_key_id; /* a person's */
    char api_key_name[HW_NAME_MAX + 1];
    int64_t api_key_used_at; /* its last use that the store knows */
    bool by_session;         /* by the console's cookie, not by Authorization */
    struct hw_id session_id; /* then */
    int64_t session_used_at; /* as above */

    /* Parking (http/server.h): */
    struct http_server *server;
    uint64_t ticket; /* names this request for http_server_wake; never 0, never reused */
    bool resumed;    /* the handler is called again after having parked */
    bool park_over;  /* … because its time is over: answer now */
    bool parked;     /* set by http_request_park */
    uint64_t park_until_ns;
    void (*on_end)(void *arg, uint64_t ticket);
    void *on_end_arg;
};

const char *http_method_name(enum http_method m);

#define HTTP_PATH_TEXT_MAX 256
/* The path for a log line: percent-encoded again and cut to fit, so that a blank in it cannot begin
 * a key=value pair of the client's own making. Returns out. */
char *http_request_path_text(const struct http_request *r, char out[HTTP_PATH_TEXT_MAX]);

/* NULL when absent. Header names in any case. */
const char *http_request_query(const struct http_request *r, const char *name);
const char *http_request_header(const struct http_request *r, const char *name);

/* Decimal query parameter within [min, max]; `fallback` when absent. HW_EINVAL with the field
 * otherwise. */
int http_request_query_u64(const struct http_request *r, const char *name, uint64_t min,
                           uint64_t max, uint64_t fallback, uint64_t *out, struct err *e);
/* Path parameter as id; text that is no id names nothing: HW_ENOTFOUND. */
int http_request_param_id(const struct http_request *r, size_t index, struct hw_id *out,
                          struct err *e);

/*
 * To be called by a handler that has nothing to say yet, which then returns 0 and leaves the
 * response alone. The connection is suspended, at no cost in threads, until
 * http_server_wake(ticket), `until_ns` (monotonic) or the server's stop; then the handler runs
 * again with `resumed` set. A wake between this call and the suspension is not lost. `on_end` (may
 * be NULL) is called exactly once when the request is over, answered or not (a client that left is
 * noticed while parked); it may run on any server thread and must not call back into the server.
 */
void http_request_park(struct http_request *r, uint64_t until_ns,
                       void (*on_end)(void *arg, uint64_t ticket), void *arg);

#endif
