#include "controller/http/server.h"
#include "common/cleanup.h"
#include "common/clock.h"
#include "common/limits.h"
#include "common/log.h"
#include "common/secret.h"
#include "controller/http/exchange.h"
#include "controller/http/listen.h"
#include "controller/http/parking.h"
#include "controller/http/problem.h"
#include "controller/http/tls_identity.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Longest body of a refused request that is still read: a client that is cut off while it sends may
 * see a reset instead of the answer. Well over every body_max, so that a body just too long is
 * always answered; the deadline of the request bounds slow senders. */
#define DRAIN_MAX (2u << 20)

#define STOP_WAIT_S 5

/* What a connection holds while it is open: the head, a part of the body that came with it, and the
 * head of the answer. Browsers' heads are long and people few; of agents, 10,000 are parked. */
static const size_t connection_memory[] = {[HTTP_PEOPLE] = 32768, [HTTP_AGENTS] = 8192};

/* --- one exchange --- */

static struct conn *conn_of(struct MHD_Connection *mhd)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    return info ? info->socket_context : NULL;
}

static void read_client_cert(struct exchange *x, struct MHD_Connection *mhd)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_GNUTLS_SESSION);
    if (info && info->tls_session)
        tls_identity_peer(info->tls_session, &x->req.cert);
}

static void begin(struct http_server *s, struct exchange *x, const char *method,
                  const char *version)
{
    struct http_request *req = &x->req;
    struct err e = {0};
    char text[ID_TEXT_MAX];
    struct hw_id id = id_new();
    memcpy(req->id, id_text(&id, text), sizeof req->id);
    req->method = head_method(method);
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(x->mhd, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
    uint16_t port;
    if (info && info->client_addr)
        (void)ipaddr_from_sockaddr(info->client_addr, &req->peer, &port);
    x->conn->line.method = method;
    x->conn->line.version = version;
    if (head_read(req, x->mhd, &x->conn->line, &e)) {
        x->broken_head = true;
        problem_from_err(req, &x->res, &e);
        return;
    }
    if (head_read_target(req, x->mhd, &e)) {
        problem_from_err(req, &x->res, &e);
        return;
    }
    if (parking_stopping(s)) {
        err_set(&e, HW_EAGAIN, "the controller is stopping");
        problem_from_err(req, &x->res, &e);
        return;
    }
    if (s->config.listeners[req->listener].client_ca_pem)
        read_client_cert(x, x->mhd);
    s->config.begin(s->config.arg, req, &x->res, &x->body_max);
}

static struct exchange *exchange_new(struct listener *l, struct MHD_Connection *mhd,
                                     const char *url, const char *method, const char *version)
{
    struct exchange *x = calloc(1, sizeof *x);
    if (!x)
        return NULL;
    x->mhd = mhd;
    x->conn = conn_of(mhd);
    x->req.server = l->server;
    x->req.listener = l->kind;
    x->req.path = url;
    if (!x->conn) {
        free(x);
        return NULL;
    }
    parking_add(l->server, x);
    begin(l->server, x, method, version);
    return x;
}

/* An answer may hold a new token. Bodies are NUL-terminated text. */
static void wipe_and_free(void *body)
{
    secret_wipe(body, strlen(body));
    free(body);
}

static enum MHD_Result send_response(struct exchange *x)
{
    static char none[1]; /* an empty body needs some address */
    struct http_response *res = &x->res;
    struct MHD_Response *r;
    if (res->body) {
        r = MHD_create_response_from_buffer_with_free_callback(res->body_len, res->body,
                                                               wipe_and_free);
        if (r)
            res->body = NULL;
    } else {
        char *fixed = none;
        if (res->fixed_body)
            memcpy(&fixed, &res->fixed_body, sizeof fixed); /* MHD only reads persistent memory */
        r = MHD_create_response_from_buffer(res->fixed_body ? res->body_len : 0, fixed,
                                            MHD_RESPMEM_PERSISTENT);
    }
    if (!r)
        return MHD_NO;
    if (res->content_type)
        (void)MHD_add_response_header(r, MHD_HTTP_HEADER_CONTENT_TYPE, res->content_type);
    (void)MHD_add_response_header(r, "X-Request-Id", x->req.id);
    for (const struct http_fixed_header *h = http_response_fixed(res); h->name; h++)
        (void)MHD_add_response_header(r, h->name, h->value);
    (void)MHD_add_response_header(r, MHD_HTTP_HEADER_CACHE_CONTROL,
                                  res->cache ? res->cache : "no-store");
    if (x->broken_head || parking_stopping(x->req.server))
        (void)MHD_add_response_header(r, MHD_HTTP_HEADER_CONNECTION, "close");
    for (size_t i = 0; i < res->n_headers; i++)
        (void)MHD_add_response_header(r, res->headers[i].name, res->headers[i].value);
    enum MHD_Result rc = MHD_queue_response(x->mhd, res->status ? (unsigned)res->status : 503, r);
    MHD_destroy_response(r);
    return rc;
}

/* Content-Length of a request that is refused already, or has a limit: too long to be read at all?
 */
static bool too_long_to_read(const struct exchange *x)
{
    const char *text = http_request_header(&x->req, "Content-Length");
    if (!text)
        return false;
    unsigned long long len = strtoull(text, NULL, 10);
    return x->res.status ? len > DRAIN_MAX : len > x->body_max && len > DRAIN_MAX;
}

/* A request may hold a token's secret. */
static void body_done(struct exchange *x)
{
    secret_wipe(x->body, x->body_len);
    free(x->body);
    x->body = NULL;
    x->body_len = 0;
}

static void refuse_too_big(struct exchange *x)
{
    struct err e = {0};
    err_set(&e, HW_ETOOBIG, "the body may have at most %zu bytes here", x->body_max);
    problem_from_err(&x->req, &x->res, &e);
    body_done(x);
}

/* Room for the whole body, by Content-Length where it is told. */
static bool body_room(struct exchange *x)
{
    const char *text = http_request_header(&x->req, "Content-Length");
    unsigned long long len = text ? strtoull(text, NULL, 10) : x->body_max;
    x->body_cap = len < x->body_max ? (size_t)len : x->body_max;
    x->body = malloc(x->body_cap + 1);
    return x->body != NULL;
}

static void take_body(struct exchange *x, const char *data, size_t len)
{
    if (x->res.status)
        return;
    if (!x->body && !body_room(x)) {
        http_response_empty(&x->res, 503);
    } else if (len > x->body_cap - x->body_len) {
        refuse_too_big(x);
    } else {
        memcpy(x->body + x->body_len, data, len);
        x->body_len += len;
        x->body[x->body_len] = '\0';
    }
}

/* Runs the handler until it answers or is suspended. */
static enum MHD_Result run(struct http_server *s, struct exchange *x)
{
    for (;;) {
        x->req.parked = false;
        s->config.handle(s->config.arg, &x->req, &x->res);
        if (!x->req.parked)
            break;
        if (x->req.park_over) {
            http_response_empty(&x->res, 503); /* parked again although its time is over */
            break;
        }
        if (parking_suspend(s, x))
            return MHD_YES;
        x->req.resumed = true;
        x->req.park_over = parking_over(s, x);
    }
    return send_response(x);
}

static enum MHD_Result resume(struct http_server *s, struct exchange *x)
{
    pthread_mutex_lock(&s->lock);
    bool gone = x->gone;
    x->req.resumed = true;
    x->req.park_over = s->stopping || clock_mono_ns() >= x->req.park_until_ns;
    pthread_mutex_unlock(&s->lock);
    return gone ? MHD_NO : run(s, x);
}

static enum MHD_Result on_access(void *arg, struct MHD_Connection *mhd, const char *url,
                                 const char *method, const char *version, const char *data,
                                 size_t *len, void **state)
{
    struct listener *l = arg;
    struct exchange *x = *state;
    if (!x) {
        x = exchange_new(l, mhd, url, method, version);
        if (!x)
            return MHD_NO;
        *state = x;
        if (x->broken_head)
            return send_response(x);
        if (too_long_to_read(x)) {
            if (!x->res.status)
                refuse_too_big(x);
            return send_response(x);
        }
        return MHD_YES;
    }
    if (*len) {
        take_body(x, data, *len);
        *len = 0;
        return MHD_YES;
    }
    if (x->req.parked)
        return resume(l->server, x);
    parking_deadline(l->server, x->conn, l->server->config.answer_seconds);
    if (x->res.status)
        return send_response(x);
    x->req.body = x->body;
    x->req.body_len = x->body_len;
    return run(l->server, x);
}

/* --- notices of libmicrohttpd --- */

/* A new connection, before anything is read from it. */
static enum MHD_Result on_accept(void *arg, const struct sockaddr *from, socklen_t len)
{
    const struct listener *l = arg;
    (void)from;
    (void)len;
    return parking_stopping(l->server) ? MHD_NO : MHD_YES;
}

/* The request line is in: the request's absolute time starts. */
static void *on_request_line(void *arg, const char *uri, struct MHD_Connection *mhd)
{
    struct listener *l = arg;
    struct conn *c = conn_of(mhd);
    if (c) {
        c->line = head_line_begin(uri);
        pthread_mutex_lock(&l->server->lock);
        c->deadline_ns = parking_deadline_in(l->server->config.request_seconds);
        c->had_request = true;
        pthread_mutex_unlock(&l->server->lock);
    }
    return NULL;
}

static void on_completed(void *arg, struct MHD_Connection *mhd, void **state,
                         enum MHD_RequestTerminationCode why)
{
    struct listener *l = arg;
    struct http_server *s = l->server;
    struct exchange *x = *state;
    (void)mhd;
    (void)why;
    if (!x)
        return;
    *state = NULL;
    pthread_mutex_lock(&s->lock);
    parking_remove(s, x);
    if (x->state == PARKED)
        s->parked--;
    x->conn->deadline_ns = parking_deadline_in(s->config.idle_seconds);
    pthread_mutex_unlock(&s->lock);
    if (x->req.on_end)
        x->req.on_end(x->req.on_end_arg, x->req.ticket);
    http_response_done(&x->res);
    body_done(x);
    free(x);
}

static void conn_opened(struct listener *l, struct MHD_Connection *mhd, void **context)
{
    struct http_server *s = l->server;
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_CONNECTION_FD);
    struct conn *c = calloc(1, sizeof *c);
    if (!c || !info) { /* without context its requests are refused in exchange_new */
        free(c);
        return;
    }
    c->listener = l;
    c->fd = info->connect_fd;
    pthread_mutex_lock(&s->lock);
    c->deadline_ns = parking_deadline_in(s->config.request_seconds);
    c->next = s->conns;
    if (c->next)
        c->next->prev = c;
    s->conns = c;
    s->counters[l->kind].connections++;
    pthread_mutex_unlock(&s->lock);
    *context = c;
}

static void conn_closed(struct http_server *s, struct conn *c)
{
    pthread_mutex_lock(&s->lock);
    if (c->prev)
        c->prev->next = c->next;
    else
        s->conns = c->next;
    if (c->next)
        c->next->prev = c->prev;
    if (!c->had_request)
        s->counters[c->listener->kind].without_request++;
    pthread_mutex_unlock(&s->lock);
    free(c);
}

static void on_connection(void *arg, struct MHD_Connection *mhd, void **context,
                          enum MHD_ConnectionNotificationCode what)
{
    struct listener *l = arg;
    if (what == MHD_CONNECTION_NOTIFY_STARTED) {
        conn_opened(l, mhd, context);
    } else if (*context) {
        conn_closed(l->server, *context);
        *context = NULL;
    }
}

static void on_log(void *arg, const char *fmt, va_list ap) __attribute__((format(printf, 2, 0)));
static void on_log(void *arg, const char *fmt, va_list ap)
{
    (void)arg;
    char text[256];
    (void)vsnprintf(text, sizeof text, fmt, ap);
    text[strcspn(text, "\r\n")] = '\0';
    log_debug("http library: %s", text);
}

/* --- start and stop --- */

static int start_listener(struct http_server *s, enum http_listener kind, const char *address,
                          struct err *e)
{
    const struct http_listener_config *lc = &s->config.listeners[kind];
    struct listener *l = &s->listeners[s->n_listeners];
    l->server = s;
    l->kind = kind;
    l->fd = http_listen(address, e);
    if (l->fd < 0)
        return l->fd;
    struct MHD_OptionItem tls[] = {
        {MHD_OPTION_HTTPS_PRIORITIES, 0, (void *)TLS_IDENTITY_PRIORITIES},
        {lc->client_ca_pem ? MHD_OPTION_HTTPS_MEM_TRUST : MHD_OPTION_END, 0,
         (void *)(uintptr_t)lc->client_ca_pem},
        {MHD_OPTION_END, 0, NULL},
    };
    l->daemon = MHD_start_daemon(
        MHD_USE_TLS | MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG,
        0, on_accept, l, on_access, l, MHD_OPTION_EXTERNAL_LOGGER, on_log, NULL,
        MHD_OPTION_LISTEN_SOCKET, l->fd, MHD_OPTION_THREAD_POOL_SIZE,
        s->config.threads < 2 ? 2u : s->config.threads, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
        connection_memory[kind], MHD_OPTION_CONNECTION_LIMIT, lc->connections_max,
        MHD_OPTION_PER_IP_CONNECTION_LIMIT, lc->connections_per_client_max,
        MHD_OPTION_CONNECTION_TIMEOUT, s->config.idle_seconds, MHD_OPTION_UNESCAPE_CALLBACK,
        head_unescape, NULL, MHD_OPTION_URI_LOG_CALLBACK, on_request_line, l,
        MHD_OPTION_NOTIFY_COMPLETED, on_completed, l, MHD_OPTION_NOTIFY_CONNECTION, on_connection,
        l, MHD_OPTION_HTTPS_CERT_CALLBACK, tls_identity_callback(kind), MHD_OPTION_ARRAY, tls,
        MHD_OPTION_END);
    if (!l->daemon) {
        (void)close(l->fd);
        return err_set(e, HW_EFAIL, "start the server on %s", address);
    }
    s->n_listeners++;
    return 0;
}

/* A machine without IPv6 is no obstacle as long as another address is there. */
static int start_listeners(struct http_server *s, enum http_listener kind, struct err *e)
{
    const struct http_listener_config *lc = &s->config.listeners[kind];
    size_t started = 0;
    int rc = 0;
    for (size_t i = 0; i < lc->n_addresses; i++) {
        rc = start_listener(s, kind, lc->addresses[i], e);
        if (rc == HW_ENOTFOUND)
            log_warn("not listening on %s: the machine lacks its address family", lc->addresses[i]);
        else if (rc)
            return rc;
        else
            started++;
    }
    return started ? 0 : rc;
}

int http_server_set_certificate(struct http_server *s, enum http_listener listener,
                                const char *cert_pem, const char *key_pem, struct err *e)
{
    (void)s;
    return tls_identity_set(listener, cert_pem, key_pem, e);
}

int http_server_start(const struct http_server_config *c, struct http_server **out, struct err *e)
{
    struct http_server *s = calloc(1, sizeof *s);
    if (!s)
        return err_set(e, HW_ENOMEM, "out of memory");
    s->config = *c;
    pthread_mutex_init(&s->lock, NULL);
    *out = s; /* before the first request can come, whose handler may use it */
    int rc = watcher_start(s, e);
    for (enum http_listener k = HTTP_PEOPLE; k < HTTP_LISTENERS && !rc; k++) {
        const struct http_listener_config *lc = &c->listeners[k];
        if (lc->n_addresses)
            rc = tls_identity_set(k, lc->cert_pem, lc->key_pem, e);
        rc = rc ? rc : start_listeners(s, k, e);
    }
    if (rc) {
        http_server_stop(s);
        *out = NULL;
    }
    return rc;
}

/* A daemon that is stopped with a suspended connection aborts the process. Once `stopping` is set
 * no connection is accepted, no request handled and none parked; those that are parked are resumed,
 * and each has answered or gone before the daemons are stopped. They go on listening until then:
 * MHD_quiesce_daemon would take the listening socket out of the epoll sets of the library's threads
 * behind their backs, and whichever of the two comes second aborts the process (0.9.75). */
static void drain(struct http_server *s)
{
    parking_stop(s);
    uint64_t until = clock_mono_ns() + STOP_WAIT_S * NS_PER_S;
    for (;;) {
        pthread_mutex_lock(&s->lock);
        size_t running = s->running;
        pthread_mutex_unlock(&s->lock);
        if (!running || clock_mono_ns() >= until)
            return;
        (void)usleep(2000);
    }
}

void http_server_stop(struct http_server *s)
{
    if (!s)
        return;
    drain(s);
    for (size_t i = 0; i < s->n_listeners; i++)
        MHD_stop_daemon(s->listeners[i].daemon); /* closes the listening socket as well */
    watcher_end(s);
    tls_identity_done();
    pthread_mutex_destroy(&s->lock);
    free(s);
}
