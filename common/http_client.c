#include "common/http_client.h"
#include "common/clock.h"
#include "common/secret.h"
#include "common/strbuf.h"
#include "common/tls.h"
#include <curl/curl.h>
#include <errno.h>
#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>

#define CONNECT_TIMEOUT_DEFAULT_NS (10 * NS_PER_S)
#define HEADERS_MAX                64
#define HEADER_BYTES_MAX           16384
#define WAIT_MS                    1000 /* a blocking request looks at its deadline this often */

struct http_client {
    struct http_client_params p; /* strings and certificates are the client's own */
    CURLM *multi;                /* keeps the pool of connections, also for blocking requests */
    struct ev_timer *timer;      /* curl's one timer */
    struct http_transfer *transfers;
};

struct http_header {
    char *name, *value;
    struct http_header *next;
};

struct http_transfer {
    struct http_client *client;
    CURL *easy;
    struct curl_slist *headers;
    void *body; /* of the request; wiped at the end, for it may hold a token's secret */
    size_t body_len;
    http_done_fn fn; /* one waits on the event loop … */
    void *arg;
    struct http_response *into; /* … or a blocked caller */
    struct strbuf in;           /* of the response */
    size_t response_max;
    bool too_big;
    size_t header_bytes;
    unsigned n_headers;
    char error[CURL_ERROR_SIZE];
    struct http_response response;
    struct http_transfer *prev, *next;
};

static pthread_once_t curl_once = PTHREAD_ONCE_INIT;

static void curl_start(void)
{
    (void)curl_global_init(CURL_GLOBAL_DEFAULT);
    tls_ignore_sigpipe();
}

const char *http_outcome_name(enum http_outcome o)
{
    static const char *const names[] = {
        [HTTP_ANSWERED] = "answered", [HTTP_REFUSED] = "refused", [HTTP_NO_ANSWER] = "no_answer",
        [HTTP_TLS] = "tls",           [HTTP_TOO_BIG] = "too_big", [HTTP_FAILED] = "failed",
    };
    return names[o];
}

/* ---- responses ---- */

const char *http_response_header(const struct http_response *r, const char *name)
{
    for (const struct http_header *h = r->header_list; h; h = h->next)
        if (strcasecmp(h->name, name) == 0)
            return h->value;
    return NULL;
}

static void free_headers(struct http_response *r)
{
    while (r->header_list) {
        struct http_header *h = r->header_list;
        r->header_list = h->next;
        free(h->name);
        free(h);
    }
}

void http_response_done(struct http_response *r)
{
    if (!r)
        return;
    if (r->secret)
        secret_wipe(r->body, r->body_len);
    free(r->body);
    free_headers(r);
    *r = (struct http_response){0};
}

static size_t on_body(char *data, size_t size, size_t n, void *arg)
{
    struct http_transfer *t = arg;
    size_t len = size * n;
    if (t->response.secret)
        strbuf_reserve(&t->in, t->response_max); /* growing would leave copies behind */
    if (len > t->response_max - t->in.len) {
        t->too_big = true;
        return 0;
    }
    strbuf_add(&t->in, data, len);
    return t->in.failed ? 0 : len;
}

/* Keeps "Name: value" lines, the newest first; a status line begins a new response (100 Continue).
 */
static size_t on_header(char *data, size_t size, size_t n, void *arg)
{
    struct http_transfer *t = arg;
    size_t len = size * n;
    t->header_bytes += len;
    if (t->header_bytes > HEADER_BYTES_MAX || t->n_headers == HEADERS_MAX) {
        t->too_big = true;
        return 0;
    }
    if (len > 5 && memcmp(data, "HTTP/", 5) == 0)
        free_headers(&t->response);
    const char *colon = memchr(data, ':', len);
    if (!colon || colon == data)
        return len;
    struct http_header *h = calloc(1, sizeof *h);
    char *line = strndup(data, len);
    if (!h || !line) {
        free(h);
        free(line);
        return 0;
    }
    h->name = line;
    h->value = line + (colon - data);
    *h->value++ = '\0';
    h->value += strspn(h->value, " \t");
    h->value[strcspn(h->value, "\r\n")] = '\0';
    h->next = t->response.header_list;
    t->response.header_list = h;
    t->n_headers++;
    return len;
}

/* ---- sockets and TLS ---- */

static int on_socket_made(void *arg, curl_socket_t fd, curlsocktype purpose)
{
    const struct http_client *c = arg;
    (void)purpose;
    if (c->p.mark && setsockopt(fd, SOL_SOCKET, SO_MARK, &c->p.mark, sizeof c->p.mark) != 0)
        return CURL_SOCKOPT_ERROR; /* an unmarked packet would be routed into the tunnels */
    return CURL_SOCKOPT_OK;
}

static int64_t judging_time(const struct http_client *c)
{
    return c->p.now ? c->p.now(c->p.now_arg) : clock_wall_s();
}

/* At each new connection: curl's context becomes one of Hawser's PKI. */
static CURLcode on_ssl_context(CURL *easy, void *ssl_ctx, void *arg)
{
    const struct http_client *c = arg;
    (void)easy;
    int rc = tls_context_adopt(ssl_ctx, c->p.ca, c->p.cert, c->p.key, judging_time(c),
                               X509_URI_CONTROLLER, NULL);
    return rc == HW_OK ? CURLE_OK : CURLE_SSL_CERTPROBLEM;
}

static CURLcode set_trust(struct http_client *c, CURL *easy)
{
    CURLcode rc = curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR,
                                   c->p.trust == HTTP_TRUST_LINK_LOCAL ? "http" : "https");
    rc = rc ? rc : curl_easy_setopt(easy, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_3);
    /* A resumed session would skip the judgement of the certificate. */
    rc = rc ? rc : curl_easy_setopt(easy, CURLOPT_SSL_SESSIONID_CACHE, 0L);
    switch (c->p.trust) {
    case HTTP_TRUST_CONTROLLER:
        rc = rc ? rc : curl_easy_setopt(easy, CURLOPT_CAINFO, NULL);
        rc = rc ? rc : curl_easy_setopt(easy, CURLOPT_CAPATH, NULL);
        rc = rc ? rc : curl_easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, 0L);
        rc = rc ? rc : curl_easy_setopt(easy, CURLOPT_SSL_CTX_FUNCTION, on_ssl_context);
        rc = rc ? rc : curl_easy_setopt(easy, CURLOPT_SSL_CTX_DATA, c);
        break;
    case HTTP_TRUST_WEB:
        if (c->p.ca_file) {
            rc = rc ? rc : curl_easy_setopt(easy, CURLOPT_CAINFO, c->p.ca_file);
            rc = rc ? rc : curl_easy_setopt(easy, CURLOPT_CAPATH, NULL);
        }
        break;
    case HTTP_TRUST_NOBODY:
        rc = rc ? rc : curl_easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, 0L);
        rc = rc ? rc : curl_easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, 0L);
        break;
    case HTTP_TRUST_LINK_LOCAL:
        break;
    }
    /* Gateways reach their controller directly; people may be behind a proxy. */
    if (c->p.trust != HTTP_TRUST_WEB)
        rc = rc ? rc : curl_easy_setopt(easy, CURLOPT_PROXY, "");
    return rc;
}

/* ---- transfers ---- */

static void free_transfer(struct http_transfer *t)
{
    if (t->easy)
        curl_easy_cleanup(t->easy);
    curl_slist_free_all(t->headers);
    secret_wipe(t->body, t->body_len);
    free(t->body);
    if (t->response.secret && t->in.data)
        secret_wipe(t->in.data, t->in.cap);
    strbuf_done(&t->in);
    http_response_done(&t->response);
    free(t);
}

static bool add_header(struct http_transfer *t, const char *line)
{
    struct curl_slist *l = curl_slist_append(t->headers, line);
    if (l)
        t->headers = l;
    return l != NULL;
}

static bool add_headers(struct http_transfer *t, const struct http_request *r)
{
    bool ok = add_header(t, "Expect:"); /* no pause for "100 Continue" */
    if (r->body) {
        char line[200];
        (void)snprintf(line, sizeof line, "Content-Type: %s",
                       r->content_type ? r->content_type : "application/json");
        ok = ok && add_header(t, line);
    }
    for (const char *const *h = r->headers; h && *h; h++)
        ok = ok && add_header(t, *h);
    return ok;
}

static CURLcode set_method(struct http_transfer *t, const struct http_request *r)
{
    CURLcode rc = CURLE_OK;
    if (r->body) {
        rc = curl_easy_setopt(t->easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)r->body_len);
        rc = rc ? rc : curl_easy_setopt(t->easy, CURLOPT_POSTFIELDS, t->body);
    } else if (strcmp(r->method, "HEAD") == 0) {
        rc = curl_easy_setopt(t->easy, CURLOPT_NOBODY, 1L);
    }
    return rc ? rc : curl_easy_setopt(t->easy, CURLOPT_CUSTOMREQUEST, r->method);
}

static CURLcode set_limits(CURL *easy, const struct http_request *r)
{
    uint64_t connect_ns =
        r->connect_timeout_ns ? r->connect_timeout_ns : CONNECT_TIMEOUT_DEFAULT_NS;
    if (connect_ns > r->timeout_ns)
        connect_ns = r->timeout_ns;
    CURLcode rc = curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS,
                                   (long)((r->timeout_ns + NS_PER_MS - 1) / NS_PER_MS));
    rc = rc ? rc
            : curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS,
                               (long)((connect_ns + NS_PER_MS - 1) / NS_PER_MS));
    rc = rc ? rc : curl_easy_setopt(easy, CURLOPT_FRESH_CONNECT, r->fresh ? 1L : 0L);
    rc = rc ? rc : curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L);
    rc = rc ? rc : curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    rc = rc ? rc : curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    return rc;
}

static CURLcode set_options(struct http_client *c, struct http_transfer *t,
                            const struct http_request *r)
{
    CURL *easy = t->easy;
    CURLcode rc = curl_easy_setopt(easy, CURLOPT_URL, r->url);
    rc = rc ? rc : curl_easy_setopt(easy, CURLOPT_PRIVATE, t);
    rc = rc ? rc : curl_easy_setopt(easy, CURLOPT_HTTPHEADER, t->headers);
    rc = rc ? rc : curl_easy_setopt(easy, CURLOPT_USERAGENT, c->p.user_agent);
    rc = rc ? rc : curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_body);
    rc = rc ? rc : curl_easy_setopt(easy, CURLOPT_WRITEDATA, t);
    rc = rc ? rc : curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, on_header);
    rc = rc ? rc : curl_easy_setopt(easy, CURLOPT_HEADERDATA, t);
    rc = rc ? rc : curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, t->error);
    rc = rc ? rc : curl_easy_setopt(easy, CURLOPT_SOCKOPTFUNCTION, on_socket_made);
    rc = rc ? rc : curl_easy_setopt(easy, CURLOPT_SOCKOPTDATA, c);
    rc = rc ? rc : set_limits(easy, r);
    rc = rc ? rc : set_trust(c, easy);
    rc = rc ? rc : set_method(t, r);
    return rc;
}

static int make_transfer(struct http_client *c, const struct http_request *r,
                         struct http_transfer **out, struct err *e)
{
    if (!r->method || !r->url || r->timeout_ns == 0 || r->timeout_ns > 86400 * NS_PER_S)
        return err_set(e, HW_EINVAL, "request without method, URL or deadline");
    struct http_transfer *t = calloc(1, sizeof *t);
    if (!t)
        return err_set(e, HW_ENOMEM, "out of memory");
    t->client = c;
    t->response_max = r->response_max;
    t->response.secret = r->secret;
    t->easy = curl_easy_init();
    if (r->body) {
        t->body = malloc(r->body_len + 1);
        t->body_len = t->body ? r->body_len : 0;
        if (t->body)
            memcpy(t->body, r->body, r->body_len);
    }
    CURLcode rc = CURLE_OUT_OF_MEMORY;
    if (t->easy && (!r->body || t->body) && add_headers(t, r))
        rc = set_options(c, t, r);
    if (rc != CURLE_OK) {
        free_transfer(t);
        return err_set(e, rc == CURLE_OUT_OF_MEMORY ? HW_ENOMEM : HW_EFAIL, "prepare request: %s",
                       curl_easy_strerror(rc));
    }
    *out = t;
    return HW_OK;
}

static enum http_outcome outcome_of(const struct http_transfer *t, CURLcode rc, long os_errno)
{
    if (t->too_big)
        return HTTP_TOO_BIG;
    /* A server that refuses our certificate says so by an alert behind the handshake, when curl
     * already reads. */
    if ((rc == CURLE_RECV_ERROR || rc == CURLE_SEND_ERROR) && strstr(t->error, " alert "))
        return HTTP_TLS;
    switch (rc) {
    case CURLE_OK:
        return HTTP_ANSWERED;
    case CURLE_COULDNT_CONNECT:
        return os_errno == ECONNREFUSED || os_errno == ECONNRESET ? HTTP_REFUSED : HTTP_NO_ANSWER;
    case CURLE_OPERATION_TIMEDOUT:
    case CURLE_SEND_ERROR:
    case CURLE_RECV_ERROR:
    case CURLE_GOT_NOTHING:
    case CURLE_PARTIAL_FILE:
        return HTTP_NO_ANSWER;
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CERTPROBLEM:
    case CURLE_SSL_CIPHER:
    case CURLE_SSL_ENGINE_NOTFOUND:
    case CURLE_SSL_CACERT_BADFILE:
        return HTTP_TLS;
    default:
        return HTTP_FAILED;
    }
}

/* Did the address show any life? A new TCP connection, a reset, or bytes of a response. */
static bool has_answered(CURL *easy, CURLcode rc, enum http_outcome outcome, long os_errno)
{
    long connects = 0;
    curl_off_t connect_us = 0;
    long header_size = 0;
    (void)curl_easy_getinfo(easy, CURLINFO_NUM_CONNECTS, &connects);
    (void)curl_easy_getinfo(easy, CURLINFO_CONNECT_TIME_T, &connect_us);
    (void)curl_easy_getinfo(easy, CURLINFO_HEADER_SIZE, &header_size);
    bool reset = (rc == CURLE_RECV_ERROR || rc == CURLE_SEND_ERROR) && os_errno == ECONNRESET;
    return outcome == HTTP_ANSWERED || outcome == HTTP_REFUSED || outcome == HTTP_TLS ||
           rc == CURLE_GOT_NOTHING || reset || (connects > 0 && connect_us > 0) || header_size > 0;
}

/* Fills t->response from curl's verdict. */
static void conclude(struct http_transfer *t, CURLcode rc)
{
    struct http_response *r = &t->response;
    long status = 0, os_errno = 0;
    (void)curl_easy_getinfo(t->easy, CURLINFO_RESPONSE_CODE, &status);
    (void)curl_easy_getinfo(t->easy, CURLINFO_OS_ERRNO, &os_errno);
    r->outcome = outcome_of(t, rc, os_errno);
    r->answered = has_answered(t->easy, rc, r->outcome, os_errno);
    if (r->outcome == HTTP_ANSWERED) {
        r->status = (int)status;
        r->body_len = t->in.len;
        r->body = strbuf_take(&t->in);
        if (r->body)
            return;
        r->outcome = HTTP_FAILED;
        r->body_len = 0;
    }
    const char *why = t->too_big    ? "response is too large"
                      : t->error[0] ? t->error
                                    : curl_easy_strerror(rc);
    (void)snprintf(r->error, sizeof r->error, "%.*s", (int)sizeof r->error - 1, why);
}

/* ---- client ---- */

static int start(struct http_transfer *t, struct err *e)
{
    struct http_client *c = t->client;
    CURLMcode rc = curl_multi_add_handle(c->multi, t->easy);
    if (rc != CURLM_OK)
        return err_set(e, HW_EFAIL, "start request: %s", curl_multi_strerror(rc));
    t->next = c->transfers;
    if (t->next)
        t->next->prev = t;
    c->transfers = t;
    return HW_OK;
}

/* Takes it away from curl and out of the client's list. */
static void detach(struct http_transfer *t)
{
    struct http_client *c = t->client;
    (void)curl_multi_remove_handle(c->multi, t->easy);
    if (t->prev)
        t->prev->next = t->next;
    else
        c->transfers = t->next;
    if (t->next)
        t->next->prev = t->prev;
}

/* Tells the owners of finished transfers. A callback may start and cancel others: each turn asks
 * curl anew. */
static void deliver(struct http_client *c)
{
    CURLMsg *m;
    int left;
    while ((m = curl_multi_info_read(c->multi, &left))) {
        struct http_transfer *t = NULL;
        CURLcode rc = m->data.result;
        (void)curl_easy_getinfo(m->easy_handle, CURLINFO_PRIVATE, &t);
        conclude(t, rc);
        detach(t);
        if (t->into) {
            *t->into = t->response;
            t->response = (struct http_response){0};
        } else {
            t->fn(t->arg, &t->response);
        }
        free_transfer(t);
    }
}

static void on_socket_ready(void *arg, int fd, unsigned events)
{
    struct http_client *c = arg;
    int running;
    int mask = (events & EV_READ ? CURL_CSELECT_IN : 0) |
               (events & EV_WRITE ? CURL_CSELECT_OUT : 0) |
               (events & EV_HUP ? CURL_CSELECT_ERR : 0);
    (void)curl_multi_socket_action(c->multi, fd, mask, &running);
    deliver(c);
}

static void on_timer(void *arg)
{
    struct http_client *c = arg;
    int running;
    (void)curl_multi_socket_action(c->multi, CURL_SOCKET_TIMEOUT, 0, &running);
    deliver(c);
}

/* curl says what to watch a socket for; the watch is remembered as the socket's own pointer in
 * curl. */
static int want_socket(CURL *easy, curl_socket_t fd, int what, void *arg, void *assigned)
{
    struct http_client *c = arg;
    struct ev_io *io = assigned;
    (void)easy;
    if (what == CURL_POLL_REMOVE) {
        evloop_io_remove(io);
        (void)curl_multi_assign(c->multi, fd, NULL);
        return 0;
    }
    unsigned events = (what & CURL_POLL_IN ? EV_READ : 0u) | (what & CURL_POLL_OUT ? EV_WRITE : 0u);
    if (io) {
        evloop_io_events(io, events);
        return 0;
    }
    io = evloop_io_add(c->p.loop, fd, events, on_socket_ready, c);
    if (!io)
        return -1;
    (void)curl_multi_assign(c->multi, fd, io);
    return 0;
}

static int want_timer(CURLM *multi, long timeout_ms, void *arg)
{
    struct http_client *c = arg;
    (void)multi;
    if (timeout_ms < 0)
        evloop_timer_disarm(c->timer);
    else
        evloop_timer_arm(c->timer, (uint64_t)timeout_ms * NS_PER_MS);
    return 0;
}

static CURLMcode join_loop(struct http_client *c)
{
    CURLMcode rc = curl_multi_setopt(c->multi, CURLMOPT_SOCKETFUNCTION, want_socket);
    rc = rc ? rc : curl_multi_setopt(c->multi, CURLMOPT_SOCKETDATA, c);
    rc = rc ? rc : curl_multi_setopt(c->multi, CURLMOPT_TIMERFUNCTION, want_timer);
    rc = rc ? rc : curl_multi_setopt(c->multi, CURLMOPT_TIMERDATA, c);
    return rc;
}

static bool keep_params(struct http_client *c, const struct http_client_params *p)
{
    c->p = *p;
    c->p.user_agent = p->user_agent ? strdup(p->user_agent) : NULL;
    c->p.ca_file = p->ca_file ? strdup(p->ca_file) : NULL;
    if (p->ca)
        (void)X509_up_ref((X509 *)(uintptr_t)p->ca);
    if (p->cert)
        (void)X509_up_ref((X509 *)(uintptr_t)p->cert);
    if (p->key)
        (void)EVP_PKEY_up_ref((EVP_PKEY *)(uintptr_t)p->key);
    return (!p->user_agent || c->p.user_agent) && (!p->ca_file || c->p.ca_file);
}

int http_client_new(const struct http_client_params *p, struct http_client **out, struct err *e)
{
    if (p->trust == HTTP_TRUST_CONTROLLER && !p->ca)
        return err_set(e, HW_EINVAL, "no CA to judge the controller by");
    (void)pthread_once(&curl_once, curl_start);
    struct http_client *c = calloc(1, sizeof *c);
    if (!c)
        return err_set(e, HW_ENOMEM, "out of memory");
    bool ok = keep_params(c, p);
    c->multi = curl_multi_init();
    if (ok && c->multi && p->loop) {
        c->timer = evloop_timer_add(p->loop, on_timer, c);
        ok = c->timer && join_loop(c) == CURLM_OK;
    }
    if (!ok || !c->multi) {
        http_client_free(c);
        return err_set(e, HW_ENOMEM, "out of memory");
    }
    *out = c;
    return HW_OK;
}

void http_client_free(struct http_client *c)
{
    if (!c)
        return;
    while (c->transfers)
        http_transfer_cancel(c->transfers);
    (void)curl_multi_cleanup(c->multi); /* closes sockets and calls back about them */
    evloop_timer_remove(c->timer);
    free((char *)(uintptr_t)c->p.user_agent);
    free((char *)(uintptr_t)c->p.ca_file);
    X509_free((X509 *)(uintptr_t)c->p.ca);
    X509_free((X509 *)(uintptr_t)c->p.cert);
    EVP_PKEY_free((EVP_PKEY *)(uintptr_t)c->p.key);
    free(c);
}

struct http_transfer *http_client_start(struct http_client *c, const struct http_request *r,
                                        http_done_fn fn, void *arg, struct err *e)
{
    if (!c->p.loop) {
        (void)err_set(e, HW_EINVAL, "this client has no event loop");
        return NULL;
    }
    struct http_transfer *t;
    if (make_transfer(c, r, &t, e) != HW_OK)
        return NULL;
    t->fn = fn;
    t->arg = arg;
    if (start(t, e) != HW_OK) {
        free_transfer(t);
        return NULL;
    }
    return t;
}

void http_transfer_cancel(struct http_transfer *t)
{
    if (!t)
        return;
    detach(t);
    free_transfer(t);
}

int http_client_run(struct http_client *c, const struct http_request *r, struct http_response *out,
                    struct err *e)
{
    int running = 1;
    if (c->p.loop)
        return err_set(e, HW_EINVAL, "this client works on an event loop");
    struct http_transfer *t;
    int rc = make_transfer(c, r, &t, e);
    if (rc)
        return rc;
    t->into = out;
    rc = start(t, e);
    if (rc) {
        free_transfer(t);
        return rc;
    }
    while (running > 0) {
        CURLMcode mc = curl_multi_perform(c->multi, &running);
        if (mc == CURLM_OK && running > 0)
            mc = curl_multi_poll(c->multi, NULL, 0, WAIT_MS, NULL);
        if (mc != CURLM_OK) {
            http_transfer_cancel(t);
            return err_set(e, HW_EFAIL, "request: %s", curl_multi_strerror(mc));
        }
    }
    deliver(c);
    return HW_OK;
}
