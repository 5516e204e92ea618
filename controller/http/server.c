#include "controller/http/server.h"
#include "common/cleanup.h"
#include "common/clock.h"
#include "common/limits.h"
#include "common/log.h"
#include "common/secret.h"
#include "controller/http/listen.h"
#include "controller/http/problem.h"
#include "controller/http/tls_identity.h"
#include <errno.h>
#include <gnutls/gnutls.h>
#include <gnutls/x509.h>
#include <microhttpd.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

/* Longest body of a refused request that is still read, so that the client gets to see the answer.
 */
#define DRAIN_MAX (64u << 10)

#define TICK_MS     200 /* how exact deadlines are */
#define TICKET_HEAD 4096
#define STOP_WAIT_S 5

/* One TCP connection, from its acceptance to its CLOSED notice. All fields: under server.lock. */
struct conn {
    struct conn *prev, *next;
    struct listener *listener;
    int fd;
    uint64_t deadline_ns; /* cut then; 0: none (parked) */
    bool cut;
    bool had_request;
};

enum exchange_state { RUNNING, PARKED };

/* One request and its answer. state, wake, gone: under server.lock; the rest: the daemon's thread.
 */
struct exchange {
    struct exchange *chain; /* of the ticket table */
    struct http_request req;
    struct http_response res;
    struct conn *conn;
    struct MHD_Connection *mhd;
    char *body; /* of body_cap bytes and a NUL, made whole at once: no copies to wipe elsewhere */
    size_t body_len, body_cap, body_max;
    enum exchange_state state;
    bool wake;        /* woken while running: don't suspend */
    bool gone;        /* the client left while parked */
    bool broken_head; /* nothing after it can be trusted to be where it should be */
};

/* One bound address with its own libmicrohttpd daemon. */
struct listener {
    struct http_server *server;
    enum http_listener kind;
    int fd; /* owned by the daemon once it runs */
    struct MHD_Daemon *daemon;
};

struct http_server {
    struct http_server_config config;
    struct listener listeners[HTTP_LISTENERS * HTTP_LISTEN_MAX];
    size_t n_listeners;

    pthread_mutex_t lock;
    struct conn *conns;
    struct exchange *tickets[TICKET_HEAD];
    uint64_t next_ticket;
    size_t running; /* exchanges alive */
    bool stopping;
    struct http_server_counters counters[HTTP_LISTENERS];
    size_t parked;

    pthread_t watcher;
    bool watcher_runs;
    int epoll_fd; /* disconnects of parked connections, by ticket; ticket 0 is stop_fd */
    int stop_fd;
};

/* --- tickets and parking --- */

static struct exchange *ticket_find(struct http_server *s, uint64_t ticket)
{
    struct exchange *x = s->tickets[ticket % TICKET_HEAD];
    while (x && x->req.ticket != ticket)
        x = x->chain;
    return x;
}

static void ticket_add(struct http_server *s, struct exchange *x)
{
    pthread_mutex_lock(&s->lock);
    x->req.ticket = ++s->next_ticket;
    x->chain = s->tickets[x->req.ticket % TICKET_HEAD];
    s->tickets[x->req.ticket % TICKET_HEAD] = x;
    s->running++;
    s->counters[x->req.listener].requests++;
    pthread_mutex_unlock(&s->lock);
}

static void ticket_remove(struct http_server *s, struct exchange *x)
{
    struct exchange **p = &s->tickets[x->req.ticket % TICKET_HEAD];
    while (*p && *p != x)
        p = &(*p)->chain;
    if (*p)
        *p = x->chain;
    s->running--;
}

static uint64_t deadline_in(unsigned seconds)
{
    return clock_mono_ns() + (uint64_t)seconds * NS_PER_S;
}

static void set_deadline(struct http_server *s, struct conn *c, unsigned seconds)
{
    pthread_mutex_lock(&s->lock);
    c->deadline_ns = deadline_in(seconds);
    pthread_mutex_unlock(&s->lock);
}

/* Under the lock. Resuming is legal here: the exchange is still in the table, so its connection has
 * not had its COMPLETED notice, which waits for this lock. */
static void wake_locked(struct http_server *s, struct exchange *x)
{
    if (x->state != PARKED) {
        x->wake = true;
        return;
    }
    x->state = RUNNING;
    s->parked--;
    x->conn->deadline_ns = deadline_in(s->config.answer_seconds);
    MHD_resume_connection(x->mhd);
}

void http_server_wake(struct http_server *s, uint64_t ticket)
{
    pthread_mutex_lock(&s->lock);
    struct exchange *x = ticket_find(s, ticket);
    if (x)
        wake_locked(s, x);
    pthread_mutex_unlock(&s->lock);
}

/* Suspends the connection unless a wake came in between; false: call the handler again at once. */
static bool suspend(struct http_server *s, struct exchange *x)
{
    struct epoll_event ev = {.events = EPOLLRDHUP | EPOLLONESHOT, .data.u64 = x->req.ticket};
    pthread_mutex_lock(&s->lock);
    bool go = !x->wake && !s->stopping && !x->conn->cut;
    x->wake = false;
    if (go) {
        x->state = PARKED;
        s->parked++;
        x->conn->deadline_ns = 0;
        MHD_suspend_connection(x->mhd);
        /* A disconnect that came earlier is reported at once, since RDHUP is a level. Without the
         * watch the park's own time limit still ends it. */
        if (epoll_ctl(s->epoll_fd, EPOLL_CTL_ADD, x->conn->fd, &ev) && errno == EEXIST)
            (void)epoll_ctl(s->epoll_fd, EPOLL_CTL_MOD, x->conn->fd, &ev);
    }
    pthread_mutex_unlock(&s->lock);
    return go;
}

/* --- the watcher: disconnects of parked connections, and all deadlines --- */

static void check_deadlines(struct http_server *s, uint64_t now)
{
    for (struct conn *c = s->conns; c; c = c->next) {
        if (c->deadline_ns && now >= c->deadline_ns && !c->cut) {
            c->cut = true;
            s->counters[c->listener->kind].cut_deadline++;
            /* The fd is open: it leaves this list in its CLOSED notice, which comes before the
             * close. */
            (void)shutdown(c->fd, SHUT_RDWR);
        }
    }
    for (size_t i = 0; s->parked && i < TICKET_HEAD; i++) {
        for (struct exchange *x = s->tickets[i]; x; x = x->chain) {
            if (x->state == PARKED && now >= x->req.park_until_ns)
                wake_locked(s, x);
        }
    }
}

static void client_left(struct http_server *s, uint64_t ticket)
{
    struct exchange *x = ticket_find(s, ticket);
    if (x && x->state == PARKED) {
        x->gone = true;
        wake_locked(s, x);
    }
}

static void *watcher_main(void *arg)
{
    struct http_server *s = arg;
    struct epoll_event ev[64];
    uint64_t next_tick = 0;
    for (;;) {
        int n = epoll_wait(s->epoll_fd, ev, 64, TICK_MS);
        uint64_t now = clock_mono_ns();
        pthread_mutex_lock(&s->lock);
        bool stop = false;
        for (int i = 0; i < n; i++) {
            if (ev[i].data.u64 == 0)
                stop = true;
            else
                client_left(s, ev[i].data.u64);
        }
        if (now >= next_tick) {
            check_deadlines(s, now);
            next_tick = now + TICK_MS * NS_PER_MS;
        }
        pthread_mutex_unlock(&s->lock);
        if (stop)
            return NULL;
    }
}

/* --- reading a request --- */

static bool has_control(const char *text)
{
    for (; *text; text++)
        if ((unsigned char)*text < 0x20 || *text == 0x7f)
            return true;
    return false;
}

struct collect {
    struct http_pair *pairs;
    size_t n;
    const char *bad; /* why the request is refused */
};

static enum MHD_Result collect_pair(void *arg, enum MHD_ValueKind kind, const char *name,
                                    const char *value)
{
    struct collect *c = arg;
    (void)kind;
    if (c->n == HTTP_PAIRS_MAX) {
        c->bad = "too many header fields or query parameters";
        return MHD_NO;
    }
    if (!name || has_control(name) || (value && has_control(value))) {
        c->bad = "control characters in a header field or query parameter";
        return MHD_NO;
    }
    c->pairs[c->n++] = (struct http_pair){.name = name, .value = value ? value : ""};
    return MHD_YES;
}

/* Fields whose repetition means that two readers could see two different requests (RFC 9110
 * section 7.2, RFC 9112 section 6.3). */
static const char *repeated_field(const struct http_request *req)
{
    static const char *const once[] = {"Host", "Content-Length", "Transfer-Encoding",
                                       "Content-Type", "Authorization"};
    for (size_t i = 0; i < sizeof once / sizeof *once; i++) {
        size_t seen = 0;
        for (size_t k = 0; k < req->n_headers; k++)
            seen += !strcasecmp(req->headers[k].name, once[i]);
        if (seen > 1)
            return once[i];
    }
    return NULL;
}

/* Where a body ends must be beyond doubt (RFC 9112 section 6.3); the library reads on until the end
 * of the connection, or takes one of two answers. */
static const char *doubtful_length(const struct http_request *req)
{
    const char *coding = http_request_header(req, "Transfer-Encoding");
    if (!coding)
        return NULL;
    if (strcasecmp(coding, "chunked") != 0)
        return "chunked is the only transfer coding known here";
    return http_request_header(req, "Content-Length")
               ? "Content-Length and Transfer-Encoding exclude each other"
               : NULL;
}

static int read_head(struct http_request *req, struct MHD_Connection *mhd, struct err *e)
{
    struct collect headers = {.pairs = req->headers}, query = {.pairs = req->query};
    (void)MHD_get_connection_values(mhd, MHD_HEADER_KIND, collect_pair, &headers);
    (void)MHD_get_connection_values(mhd, MHD_GET_ARGUMENT_KIND, collect_pair, &query);
    req->n_headers = headers.n;
    req->n_query = query.n;
    if (headers.bad || query.bad)
        return err_set(e, HW_EPROTO, "%s", headers.bad ? headers.bad : query.bad);
    if (has_control(req->path))
        return err_set(e, HW_EPROTO, "control characters in the path");
    const char *repeated = repeated_field(req);
    if (repeated)
        return err_set(e, HW_EPROTO, "header field %s appears more than once", repeated);
    const char *doubt = doubtful_length(req);
    if (doubt)
        return err_set(e, HW_EPROTO, "%s", doubt);
    for (size_t i = 0; i < req->n_query; i++)
        for (size_t k = 0; k < i; k++)
            if (!strcmp(req->query[i].name, req->query[k].name))
                return err_set_field(e, HW_EPROTO, "query", "a query parameter appears twice");
    return 0;
}

static enum http_method method_of(const char *name)
{
    if (!strcmp(name, MHD_HTTP_METHOD_HEAD))
        return HTTP_GET;
    for (enum http_method m = HTTP_GET; m < HTTP_OTHER; m++)
        if (!strcmp(name, http_method_name(m)))
            return m;
    return HTTP_OTHER;
}

/* "%00" and other control characters must not vanish into a C string: they become 0x01, which
 * read_head refuses. */
static size_t unescape(void *arg, struct MHD_Connection *mhd, char *s)
{
    (void)arg;
    (void)mhd;
    size_t len = MHD_http_unescape(s);
    for (size_t i = 0; i < len; i++)
        if ((unsigned char)s[i] < 0x20 || s[i] == 0x7f)
            s[i] = 0x01;
    return len;
}

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

static bool is_stopping(struct http_server *s)
{
    pthread_mutex_lock(&s->lock);
    bool stopping = s->stopping;
    pthread_mutex_unlock(&s->lock);
    return stopping;
}

static void begin(struct http_server *s, struct exchange *x, const char *method)
{
    struct http_request *req = &x->req;
    struct err e = {0};
    char text[ID_TEXT_MAX];
    struct hw_id id = id_new();
    memcpy(req->id, id_text(&id, text), sizeof req->id);
    req->method = method_of(method);
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(x->mhd, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
    uint16_t port;
    if (info && info->client_addr)
        (void)ipaddr_from_sockaddr(info->client_addr, &req->peer, &port);
    if (read_head(req, x->mhd, &e)) {
        x->broken_head = true;
        problem_from_err(req, &x->res, &e);
        return;
    }
    if (is_stopping(s)) {
        err_set(&e, HW_EAGAIN, "the controller is stopping");
        problem_from_err(req, &x->res, &e);
        return;
    }
    if (s->config.listeners[req->listener].client_ca_pem)
        read_client_cert(x, x->mhd);
    s->config.begin(s->config.arg, req, &x->res, &x->body_max);
}

static struct exchange *exchange_new(struct listener *l, struct MHD_Connection *mhd,
                                     const char *url, const char *method)
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
    ticket_add(l->server, x);
    begin(l->server, x, method);
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
    (void)MHD_add_response_header(r, "X-Content-Type-Options", "nosniff");
    (void)MHD_add_response_header(r, MHD_HTTP_HEADER_CACHE_CONTROL, "no-store");
    if (x->broken_head || is_stopping(x->req.server))
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
        if (suspend(s, x))
            return MHD_YES;
        x->req.resumed = true;
        x->req.park_over = is_stopping(s);
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
    (void)version;
    if (!x) {
        x = exchange_new(l, mhd, url, method);
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
    set_deadline(l->server, x->conn, l->server->config.answer_seconds);
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
    return is_stopping(l->server) ? MHD_NO : MHD_YES;
}

/* The request line is in: the request's absolute time starts. */
static void *on_request_line(void *arg, const char *uri, struct MHD_Connection *mhd)
{
    struct listener *l = arg;
    (void)uri;
    struct conn *c = conn_of(mhd);
    if (c) {
        pthread_mutex_lock(&l->server->lock);
        c->deadline_ns = deadline_in(l->server->config.request_seconds);
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
    ticket_remove(s, x);
    if (x->state == PARKED)
        s->parked--;
    x->conn->deadline_ns = deadline_in(s->config.idle_seconds);
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
    c->deadline_ns = deadline_in(s->config.request_seconds);
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
        (size_t)8192, MHD_OPTION_CONNECTION_LIMIT, lc->connections_max,
        MHD_OPTION_PER_IP_CONNECTION_LIMIT, lc->connections_per_client_max,
        MHD_OPTION_CONNECTION_TIMEOUT, s->config.idle_seconds, MHD_OPTION_STRICT_FOR_CLIENT, 1,
        MHD_OPTION_UNESCAPE_CALLBACK, unescape, NULL, MHD_OPTION_URI_LOG_CALLBACK, on_request_line,
        l, MHD_OPTION_NOTIFY_COMPLETED, on_completed, l, MHD_OPTION_NOTIFY_CONNECTION,
        on_connection, l, MHD_OPTION_HTTPS_CERT_CALLBACK, tls_identity_callback(kind),
        MHD_OPTION_ARRAY, tls, MHD_OPTION_END);
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

static int start_watcher(struct http_server *s, struct err *e)
{
    struct epoll_event ev = {.events = EPOLLIN, .data.u64 = 0};
    s->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    s->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (s->epoll_fd < 0 || s->stop_fd < 0 || epoll_ctl(s->epoll_fd, EPOLL_CTL_ADD, s->stop_fd, &ev))
        return err_errno(e, errno, "watch parked connections");
    int rc = pthread_create(&s->watcher, NULL, watcher_main, s);
    if (rc)
        return err_errno(e, rc, "start the watching thread");
    s->watcher_runs = true;
    return 0;
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
    s->epoll_fd = s->stop_fd = -1;
    pthread_mutex_init(&s->lock, NULL);
    *out = s; /* before the first request can come, whose handler may use it */
    int rc = start_watcher(s, e);
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

void http_server_counters(struct http_server *s, enum http_listener listener,
                          struct http_server_counters *out)
{
    pthread_mutex_lock(&s->lock);
    *out = s->counters[listener];
    for (size_t i = 0; s->parked && i < TICKET_HEAD; i++)
        for (const struct exchange *x = s->tickets[i]; x; x = x->chain)
            out->parked += x->state == PARKED && x->req.listener == listener;
    pthread_mutex_unlock(&s->lock);
}

/* A daemon that is stopped with a suspended connection aborts the process. Once `stopping` is set
 * no connection is accepted, no request handled and none parked; those that are parked are resumed,
 * and each has answered or gone before the daemons are stopped. They go on listening until then:
 * MHD_quiesce_daemon would take the listening socket out of the epoll sets of the library's threads
 * behind their backs, and whichever of the two comes second aborts the process (0.9.75). */
static void drain(struct http_server *s)
{
    pthread_mutex_lock(&s->lock);
    s->stopping = true;
    for (size_t i = 0; i < TICKET_HEAD; i++)
        for (struct exchange *x = s->tickets[i]; x; x = x->chain)
            wake_locked(s, x);
    pthread_mutex_unlock(&s->lock);
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
    if (s->watcher_runs) {
        uint64_t one = 1;
        (void)!write(s->stop_fd, &one, sizeof one);
        pthread_join(s->watcher, NULL);
    }
    if (s->epoll_fd >= 0)
        (void)close(s->epoll_fd);
    if (s->stop_fd >= 0)
        (void)close(s->stop_fd);
    tls_identity_done();
    pthread_mutex_destroy(&s->lock);
    free(s);
}
