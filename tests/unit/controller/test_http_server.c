#include "common/clock.h"
#include "common/fsutil.h"
#include "common/x509.h"
#include "controller/ca/ca.h"
#include "controller/http/problem.h"
#include "controller/http/server.h"
#include "tests/unit/suite.h"
#include <arpa/inet.h>
#include <fcntl.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define WAIT_MS 10000 /* longest wait for anything; conditions end it much earlier */

static char dir[] = "/tmp/hawser-http-XXXXXX";
static struct ca *ca;
static char *web_cert, *web_key, *listener_cert, *listener_key;
static struct http_server *server;
static unsigned ports[HTTP_LISTENERS];

/* What the handlers below tell the tests. */
static _Atomic uint64_t parked_ticket;
static atomic_int ended, park_overs;
static atomic_uint park_ms = WAIT_MS;

/* --- the application --- */

static void app_begin(void *arg, struct http_request *req, struct http_response *res,
                      size_t *body_max)
{
    (void)arg;
    *body_max = 100;
    if (!strcmp(req->path, "/refused")) {
        struct err e = {0};
        err_set(&e, HW_EAUTH, "no");
        problem_from_err(req, res, &e);
    }
}

static void on_end(void *arg, uint64_t ticket)
{
    (void)arg;
    (void)ticket;
    ended++;
}

static void handle_park(struct http_request *req, struct http_response *res)
{
    if (!req->resumed) {
        http_request_park(req, clock_mono_ns() + park_ms * NS_PER_MS, on_end, NULL);
        if (!strcmp(req->path, "/park-and-wake"))
            http_server_wake(req->server, req->ticket);
        parked_ticket = req->ticket;
        return;
    }
    park_overs += req->park_over;
    http_response_copy(res, 200, "text/plain", req->park_over ? "over" : "woken",
                       req->park_over ? 4 : 5);
}

static void app_handle(void *arg, struct http_request *req, struct http_response *res)
{
    (void)arg;
    const struct client_cert *c = &req->cert;
    char text[512];
    if (!strncmp(req->path, "/park", 5)) {
        handle_park(req, res);
    } else if (!strcmp(req->path, "/cert")) {
        int len = snprintf(text, sizeof text, "%d %d %d [%s] [%s]", c->present, c->verified,
                           c->expired_only, c->san_uri, c->serial);
        http_response_copy(res, 200, "text/plain", text, (size_t)len);
    } else {
        int len = snprintf(text, sizeof text, "%s %s q=%s body=%.*s", http_method_name(req->method),
                           req->path, http_request_query(req, "q"), (int)req->body_len,
                           req->body ? req->body : "");
        http_response_copy(res, 200, "text/plain", text, (size_t)len);
    }
}

/* --- a client on plain sockets --- */

static unsigned free_port(void)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof a;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CU_ASSERT_EQUAL_FATAL(bind(fd, (struct sockaddr *)&a, len), 0);
    CU_ASSERT_EQUAL_FATAL(getsockname(fd, (struct sockaddr *)&a, &len), 0);
    (void)close(fd);
    return ntohs(a.sin_port);
}

static int tcp(unsigned port)
{
    struct sockaddr_in a = {.sin_family = AF_INET,
                            .sin_port = htons((uint16_t)port),
                            .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct timeval limit = {.tv_sec = WAIT_MS / 1000};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CU_ASSERT_EQUAL_FATAL(connect(fd, (struct sockaddr *)&a, sizeof a), 0);
    (void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    return fd;
}

struct client {
    SSL_CTX *ctx;
    SSL *ssl;
    int fd;
};

static void client_close(struct client *c)
{
    SSL_free(c->ssl);
    SSL_CTX_free(c->ctx);
    (void)close(c->fd);
    ERR_clear_error();
}

/* cert NULL: none shown. False when the handshake fails. */
static bool client_open(struct client *c, enum http_listener l, X509 *cert, EVP_PKEY *key)
{
    c->fd = tcp(ports[l]);
    c->ctx = SSL_CTX_new(TLS_client_method());
    if (cert) {
        CU_ASSERT_EQUAL(SSL_CTX_use_certificate(c->ctx, cert), 1);
        CU_ASSERT_EQUAL(SSL_CTX_use_PrivateKey(c->ctx, key), 1);
    }
    c->ssl = SSL_new(c->ctx);
    (void)SSL_set_fd(c->ssl, c->fd);
    return SSL_connect(c->ssl) == 1;
}

static void client_send(struct client *c, const char *text)
{
    CU_ASSERT_EQUAL(SSL_write(c->ssl, text, (int)strlen(text)), (int)strlen(text));
}

/* One whole answer (or what came until the end) into out. Returns its status, 0 when nothing came.
 */
static int client_read(struct client *c, char *out, size_t cap)
{
    size_t len = 0, want = cap - 1;
    int status = 0;
    out[0] = '\0';
    while (len < want) {
        int n = SSL_read(c->ssl, out + len, (int)(want - len));
        if (n <= 0)
            break;
        len += (size_t)n;
        out[len] = '\0';
        const char *end = strstr(out, "\r\n\r\n"), *length = strstr(out, "Content-Length: ");
        if (end && length)
            want = (size_t)(end + 4 - out) + strtoul(length + 16, NULL, 10);
    }
    (void)sscanf(out, "HTTP/1.1 %d", &status);
    return status;
}

static int ask(struct client *c, const char *request, char *out, size_t cap)
{
    client_send(c, request);
    return client_read(c, out, cap);
}

/* One request on a connection of its own; the answer's text in out. */
static int once(const char *request, char *out, size_t cap)
{
    struct client c;
    CU_ASSERT_TRUE_FATAL(client_open(&c, HTTP_PEOPLE, NULL, NULL));
    int status = ask(&c, request, out, cap);
    client_close(&c);
    return status;
}

static void start(unsigned request_seconds, unsigned per_client)
{
    char text[HTTP_LISTENERS][32];
    struct http_server_config config = {.threads = 2,
                                        .request_seconds = request_seconds,
                                        .answer_seconds = 10,
                                        .idle_seconds = 10,
                                        .begin = app_begin,
                                        .handle = app_handle};
    for (int l = 0; l < HTTP_LISTENERS; l++) {
        struct http_listener_config *lc = &config.listeners[l];
        ports[l] = free_port();
        (void)snprintf(text[l], sizeof text[l], "127.0.0.1:%u", ports[l]);
        lc->addresses[0] = text[l];
        lc->n_addresses = 1;
        lc->cert_pem = l == HTTP_PEOPLE ? web_cert : listener_cert;
        lc->key_pem = l == HTTP_PEOPLE ? web_key : listener_key;
        lc->client_ca_pem = l == HTTP_AGENTS ? ca_pem(ca) : NULL;
        lc->connections_max = 64;
        lc->connections_per_client_max = per_client;
    }
    struct err e = {0};
    CU_ASSERT_EQUAL_FATAL(http_server_start(&config, &server, &e), 0);
}

static void stop(void)
{
    http_server_stop(server);
    server = NULL;
}

static void wait_for(bool (*condition)(void))
{
    uint64_t until = clock_mono_ns() + WAIT_MS * NS_PER_MS;
    while (!condition() && clock_mono_ns() < until)
        (void)poll(NULL, 0, 2);
    CU_ASSERT_TRUE(condition());
}

static struct http_server_counters counters(void)
{
    struct http_server_counters people, agents;
    http_server_counters(server, HTTP_PEOPLE, &people);
    http_server_counters(server, HTTP_AGENTS, &agents);
    people.connections += agents.connections;
    people.without_request += agents.without_request;
    people.requests += agents.requests;
    people.cut_deadline += agents.cut_deadline;
    people.parked += agents.parked;
    return people;
}

static bool one_parked(void)
{
    return counters().parked == 1;
}

static bool one_ended(void)
{
    return ended == 1;
}

/* --- tests --- */

static void test_requests(void)
{
    char out[2048];
    struct client c;
    start(10, 16);
    CU_ASSERT_TRUE_FATAL(client_open(&c, HTTP_PEOPLE, NULL, NULL));
    CU_ASSERT_EQUAL(SSL_version(c.ssl), TLS1_3_VERSION);
    CU_ASSERT_EQUAL(ask(&c, "GET /a%20b?q=1 HTTP/1.1\r\nHost: x\r\n\r\n", out, sizeof out), 200);
    CU_ASSERT_PTR_NOT_NULL(strstr(out, "GET /a b q=1 body="));
    CU_ASSERT_PTR_NOT_NULL(strstr(out, "X-Request-Id: "));
    CU_ASSERT_EQUAL(
        ask(&c, "POST /p?q=2 HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc", out, sizeof out),
        200);
    CU_ASSERT_PTR_NOT_NULL(strstr(out, "POST /p q=2 body=abc"));
    CU_ASSERT_EQUAL(ask(&c,
                        "PATCH /c?q=3 HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
                        "2\r\nab\r\n3\r\ncde\r\n0\r\n\r\n",
                        out, sizeof out),
                    200);
    CU_ASSERT_PTR_NOT_NULL(strstr(out, "PATCH /c q=3 body=abcde"));
    client_close(&c);
    CU_ASSERT_EQUAL(counters().requests, 3);
    stop();
}

static void test_refusals(void)
{
    static const struct {
        const char *request;
        int status;
    } cases[] = {
        {"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400},
        {"GET / HTTP/1.1\r\nHost: a\r\nAuthorization: x\r\nauthorization: y\r\n\r\n", 400},
        {"GET /%00 HTTP/1.1\r\nHost: a\r\n\r\n", 400},
        {"GET /%0d%0aX HTTP/1.1\r\nHost: a\r\n\r\n", 400},
        {"GET /?q=%01 HTTP/1.1\r\nHost: a\r\n\r\n", 400},
        {"GET /?q=1&q=2 HTTP/1.1\r\nHost: a\r\n\r\n", 400},
        {"GET / HTTP/1.1\r\nHost: a\r\nX: a\001b\r\n\r\n", 400},
        {"GET /refused HTTP/1.1\r\nHost: a\r\n\r\n", 401},
        {"POST /refused HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello", 401},
        {"POST /refused HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\n", 401},
        {"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\n", 413},
        {"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999999999999999\r\n\r\n", 413},
    };
    char out[2048];
    start(10, 16);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int status = once(cases[i].request, out, sizeof out);
        if (status != cases[i].status)
            printf("case %zu: %d\n", i, status);
        CU_ASSERT_EQUAL(status, cases[i].status);
        CU_ASSERT_TRUE(status == 413 || strstr(out, "application/problem+json") != NULL);
    }
    char big[400];
    (void)snprintf(big, sizeof big,
                   "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 101\r\n\r\n%0101d", 0);
    CU_ASSERT_EQUAL(once(big, out, sizeof out), 413);
    CU_ASSERT_PTR_NOT_NULL(strstr(out, "application/problem+json"));
    stop();
}

static void ask_cert(X509 *cert, EVP_PKEY *key, char *out, size_t cap)
{
    struct client c;
    CU_ASSERT_TRUE_FATAL(client_open(&c, HTTP_AGENTS, cert, key));
    CU_ASSERT_EQUAL(ask(&c, "GET /cert HTTP/1.1\r\nHost: x\r\n\r\n", out, cap), 200);
    client_close(&c);
}

/* A gateway's certificate issued at `now_s`. */
static void issue(EVP_PKEY *key, const struct hw_id *id, int64_t now_s, X509 **cert, char *serial)
{
    char *csr = NULL;
    struct ca_issued issued = {0};
    CU_ASSERT_EQUAL_FATAL(x509_csr_make(key, &csr, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(ca_issue_gateway(ca, csr, id, now_s, &issued, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(x509_cert_parse(issued.pem, strlen(issued.pem), cert, NULL), 0);
    (void)snprintf(serial, 64, "%s", issued.serial);
    ca_issued_done(&issued);
    free(csr);
}

static void test_client_certificates(void)
{
    char out[2048], text[ID_TEXT_MAX], expected[256], serial[64];
    EVP_PKEY *key = NULL;
    X509 *cert = NULL;
    struct hw_id id = id_new();
    start(10, 16);
    CU_ASSERT_EQUAL_FATAL(x509_key_new(&key, NULL), 0);

    ask_cert(NULL, NULL, out, sizeof out);
    CU_ASSERT_PTR_NOT_NULL(strstr(out, "\r\n\r\n0 0 0 [] []"));

    issue(key, &id, clock_wall_s(), &cert, serial);
    ask_cert(cert, key, out, sizeof out);
    (void)snprintf(expected, sizeof expected, "\r\n\r\n1 1 0 [hawser://gateway/%s] [%s]",
                   id_text(&id, text), serial);
    CU_ASSERT_PTR_NOT_NULL(strstr(out, expected));
    X509_free(cert);

    issue(key, &id, clock_wall_s() - CA_GATEWAY_CERT_S - 3600, &cert, serial);
    ask_cert(cert, key, out, sizeof out);
    CU_ASSERT_PTR_NOT_NULL(strstr(out, "\r\n\r\n1 0 1 [hawser://gateway/"));
    X509_free(cert);

    issue(key, &id, clock_wall_s() + 86400, &cert, serial);
    ask_cert(cert, key, out, sizeof out);
    CU_ASSERT_PTR_NOT_NULL(strstr(out, "\r\n\r\n1 0 0 [hawser://gateway/"));
    X509_free(cert);
    EVP_PKEY_free(key);
    stop();
}

/* Certificates of others: the same names under another CA, an expired one of another CA, one for
 * servers alone. */
static void test_foreign_certificates(void)
{
    char out[2048], serial[64], other_dir[] = "/tmp/hawser-other-XXXXXX", command[128];
    EVP_PKEY *key = NULL, *web = NULL;
    X509 *cert = NULL;
    struct ca *own = ca;
    struct hw_id id = id_new();
    start(10, 16);
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(other_dir));
    CU_ASSERT_EQUAL_FATAL(ca_create(other_dir, clock_wall_s(), NULL), 0);
    CU_ASSERT_EQUAL_FATAL(ca_open(other_dir, clock_wall_s(), &ca, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(x509_key_new(&key, NULL), 0);
    issue(key, &id, clock_wall_s(), &cert, serial);
    ask_cert(cert, key, out, sizeof out);
    CU_ASSERT_PTR_NOT_NULL(strstr(out, "\r\n\r\n1 0 0 [hawser://gateway/"));
    X509_free(cert);
    issue(key, &id, clock_wall_s() - CA_GATEWAY_CERT_S - 3600, &cert, serial);
    ask_cert(cert, key, out, sizeof out);
    CU_ASSERT_PTR_NOT_NULL(strstr(out, "\r\n\r\n1 0 0 [hawser://gateway/"));
    X509_free(cert);
    ca_free(ca);
    ca = own;

    CU_ASSERT_EQUAL_FATAL(x509_key_parse(web_key, strlen(web_key), &web, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(x509_cert_parse(web_cert, strlen(web_cert), &cert, NULL), 0);
    ask_cert(cert, web, out, sizeof out);
    CU_ASSERT_PTR_NOT_NULL(strstr(out, "\r\n\r\n1 0 0 []"));
    X509_free(cert);
    EVP_PKEY_free(web);
    EVP_PKEY_free(key);
    stop();
    (void)snprintf(command, sizeof command, "rm -r %s", other_dir);
    CU_ASSERT_EQUAL(system(command), 0);
}

static void reset(void)
{
    ended = 0;
    park_overs = 0;
    parked_ticket = 0;
    park_ms = WAIT_MS;
}

static void test_park_and_wake(void)
{
    char out[2048];
    struct client c;
    reset();
    start(10, 16);
    CU_ASSERT_TRUE_FATAL(client_open(&c, HTTP_PEOPLE, NULL, NULL));
    for (int round = 0; round < 3; round++) {
        ended = 0;
        client_send(&c, "GET /park HTTP/1.1\r\nHost: x\r\n\r\n");
        wait_for(one_parked);
        http_server_wake(server, parked_ticket);
        CU_ASSERT_EQUAL(client_read(&c, out, sizeof out), 200);
        CU_ASSERT_PTR_NOT_NULL(strstr(out, "\r\n\r\nwoken"));
        wait_for(one_ended);
    }
    http_server_wake(server, parked_ticket); /* an old one does nothing */
    http_server_wake(server, 0);
    http_server_wake(server, UINT64_MAX);
    CU_ASSERT_EQUAL(counters().parked, 0);
    client_close(&c);
    stop();
}

/* A wake that comes before the connection is suspended is not lost. */
static void test_early_wake(void)
{
    char out[2048];
    reset();
    start(10, 16);
    CU_ASSERT_EQUAL(once("GET /park-and-wake HTTP/1.1\r\nHost: x\r\n\r\n", out, sizeof out), 200);
    CU_ASSERT_PTR_NOT_NULL(strstr(out, "\r\n\r\nwoken"));
    stop();
}

static void test_park_ends_by_itself(void)
{
    char out[2048];
    reset();
    park_ms = 50;
    start(10, 16);
    CU_ASSERT_EQUAL(once("GET /park HTTP/1.1\r\nHost: x\r\n\r\n", out, sizeof out), 200);
    CU_ASSERT_PTR_NOT_NULL(strstr(out, "\r\n\r\nover"));
    stop();
}

static bool none_parked(void)
{
    return counters().parked == 0;
}

/* FIN and RST of a client whose connection is suspended. */
static void test_client_leaves(void)
{
    start(10, 16);
    for (int hard = 0; hard < 2; hard++) {
        struct client c;
        struct linger l = {.l_onoff = hard};
        reset();
        CU_ASSERT_TRUE_FATAL(client_open(&c, HTTP_PEOPLE, NULL, NULL));
        client_send(&c, "GET /park HTTP/1.1\r\nHost: x\r\n\r\n");
        wait_for(one_parked);
        (void)setsockopt(c.fd, SOL_SOCKET, SO_LINGER, &l, sizeof l);
        client_close(&c);
        wait_for(one_ended);
        wait_for(none_parked);
    }
    CU_ASSERT_EQUAL(park_overs, 0);
    stop();
}

/* Stopping answers what is parked; the library would abort the process otherwise. */
static void test_stop_with_parked(void)
{
    char out[2048];
    struct client c[5];
    reset();
    start(10, 16);
    for (int i = 0; i < 5; i++) {
        CU_ASSERT_TRUE_FATAL(client_open(&c[i], HTTP_PEOPLE, NULL, NULL));
        client_send(&c[i], "GET /park HTTP/1.1\r\nHost: x\r\n\r\n");
    }
    uint64_t until = clock_mono_ns() + WAIT_MS * NS_PER_MS;
    while (counters().parked < 5 && clock_mono_ns() < until)
        (void)poll(NULL, 0, 2);
    stop();
    CU_ASSERT_EQUAL(park_overs, 5);
    CU_ASSERT_EQUAL(ended, 5);
    for (int i = 0; i < 5; i++) {
        CU_ASSERT_EQUAL(client_read(&c[i], out, sizeof out), 200);
        client_close(&c[i]);
    }
    http_server_stop(NULL);
}

/* True when the server ends the connection although the client sends `drip` again and again. */
static bool cut_while_dripping(struct client *c, const char *drip)
{
    uint64_t until = clock_mono_ns() + WAIT_MS * NS_PER_MS;
    while (clock_mono_ns() < until) {
        struct pollfd p = {.fd = c->fd, .events = POLLIN | POLLRDHUP};
        if (poll(&p, 1, 100) > 0 && (p.revents & (POLLRDHUP | POLLHUP | POLLERR)))
            return true;
        if (c->ssl)
            (void)SSL_write(c->ssl, drip, (int)strlen(drip));
        else
            (void)send(c->fd, drip, strlen(drip), MSG_NOSIGNAL);
    }
    return false;
}

/* Inactivity never comes: only the absolute deadline ends these. */
static void test_slow_senders(void)
{
    struct client c;
    start(1, 16);
    CU_ASSERT_TRUE_FATAL(client_open(&c, HTTP_PEOPLE, NULL, NULL));
    client_send(&c, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 90\r\n\r\n");
    CU_ASSERT_TRUE(cut_while_dripping(&c, "x"));
    client_close(&c);

    CU_ASSERT_TRUE_FATAL(client_open(&c, HTTP_PEOPLE, NULL, NULL));
    client_send(&c, "GET / HTTP/1.1\r\nHost: x\r\n");
    CU_ASSERT_TRUE(cut_while_dripping(&c, "A: b\r\n"));
    client_close(&c);

    /* In the handshake: a record of 16 KiB announced, one byte at a time. */
    c = (struct client){.fd = tcp(ports[HTTP_AGENTS])};
    CU_ASSERT_EQUAL(send(c.fd, "\x16\x03\x01\x3f\xff", 5, MSG_NOSIGNAL), 5);
    CU_ASSERT_TRUE(cut_while_dripping(&c, "\x01"));
    client_close(&c);
    CU_ASSERT_TRUE(counters().cut_deadline >= 3);
    stop();
}

static bool garbage_counted(void)
{
    return counters().without_request >= 6;
}

static void test_garbage(void)
{
    static const char *const garbage[] = {"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
                                          "\x16\x03\x01\xff\xff\xff", "x"};
    char out[2048];
    start(2, 16);
    for (int l = 0; l < HTTP_LISTENERS; l++) {
        for (size_t i = 0; i < sizeof garbage / sizeof *garbage; i++) {
            int fd = tcp(ports[l]);
            (void)send(fd, garbage[i], strlen(garbage[i]), MSG_NOSIGNAL);
            (void)shutdown(fd, SHUT_WR);
            while (recv(fd, out, sizeof out, 0) > 0)
                ;
            (void)close(fd);
        }
    }
    wait_for(garbage_counted);
    CU_ASSERT_EQUAL(once("GET / HTTP/1.1\r\nHost: x\r\n\r\n", out, sizeof out), 200);
    stop();
}

static void test_old_tls(void)
{
    start(10, 16);
    int fd = tcp(ports[HTTP_PEOPLE]);
    SSL_CTX *ctx = SSL_CTX_new(TLS_client_method());
    CU_ASSERT_EQUAL(SSL_CTX_set_max_proto_version(ctx, TLS1_2_VERSION), 1);
    SSL *ssl = SSL_new(ctx);
    (void)SSL_set_fd(ssl, fd);
    CU_ASSERT_NOT_EQUAL(SSL_connect(ssl), 1);
    SSL_free(ssl);
    SSL_CTX_free(ctx);
    (void)close(fd);
    ERR_clear_error();
    stop();
}

static void test_connections_per_client(void)
{
    struct client c[4];
    bool open[4];
    start(10, 3);
    for (int i = 0; i < 4; i++)
        open[i] = client_open(&c[i], HTTP_PEOPLE, NULL, NULL);
    CU_ASSERT_TRUE(open[0] && open[1] && open[2]);
    CU_ASSERT_FALSE(open[3]);
    for (int i = 0; i < 4; i++)
        client_close(&c[i]);
    stop();
}

/* A new certificate is shown from then on; the running connection keeps the old one. */
static void test_new_certificate(void)
{
    char out[2048];
    struct client before, after;
    struct err e = {0};
    start(10, 16);
    CU_ASSERT_TRUE_FATAL(client_open(&before, HTTP_PEOPLE, NULL, NULL));
    CU_ASSERT_EQUAL(
        http_server_set_certificate(server, HTTP_PEOPLE, listener_cert, listener_key, &e), 0);
    CU_ASSERT_TRUE_FATAL(client_open(&after, HTTP_PEOPLE, NULL, NULL));
    X509 *old = SSL_get1_peer_certificate(before.ssl), *new = SSL_get1_peer_certificate(after.ssl);
    CU_ASSERT_NOT_EQUAL(X509_cmp(old, new), 0);
    CU_ASSERT_EQUAL(ask(&before, "GET / HTTP/1.1\r\nHost: x\r\n\r\n", out, sizeof out), 200);
    X509_free(old);
    X509_free(new);
    CU_ASSERT_EQUAL(http_server_set_certificate(server, HTTP_PEOPLE, "nonsense", web_key, &e),
                    HW_EFAIL);
    client_close(&before);
    client_close(&after);
    stop();
}

static void test_bad_addresses(void)
{
    static const char *const bad[] = {"",
                                      "8443",
                                      "127.0.0.1",
                                      "127.0.0.1:",
                                      "127.0.0.1:0",
                                      "127.0.0.1:65536",
                                      "[127.0.0.1]:80",
                                      "::1:80",
                                      "[::1]",
                                      "x:80",
                                      "127.0.0.1:+80",
                                      "127.0.0.1: 80",
                                      "127.0.0.1:80x",
                                      "[]:80"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct http_server_config config = {.threads = 2,
                                            .request_seconds = 1,
                                            .answer_seconds = 1,
                                            .idle_seconds = 1,
                                            .begin = app_begin,
                                            .handle = app_handle};
        struct http_listener_config *lc = &config.listeners[HTTP_PEOPLE];
        lc->addresses[0] = bad[i];
        lc->n_addresses = 1;
        lc->cert_pem = web_cert;
        lc->key_pem = web_key;
        CU_ASSERT_EQUAL(http_server_start(&config, &server, NULL), HW_EINVAL);
    }
}

static CU_TestInfo tests[] = {
    {"requests", test_requests},
    {"refusals", test_refusals},
    {"client certificates", test_client_certificates},
    {"foreign certificates", test_foreign_certificates},
    {"park and wake", test_park_and_wake},
    {"wake before the suspension", test_early_wake},
    {"a park ends by itself", test_park_ends_by_itself},
    {"a parked client leaves", test_client_leaves},
    {"stop with parked requests", test_stop_with_parked},
    {"slow senders", test_slow_senders},
    {"garbage", test_garbage},
    {"TLS 1.2 is refused", test_old_tls},
    {"connections per client", test_connections_per_client},
    {"new certificate", test_new_certificate},
    {"bad addresses", test_bad_addresses},
    CU_TEST_INFO_NULL,
};

static char *read_file(const char *name)
{
    char path[128], *out = NULL;
    size_t len;
    (void)snprintf(path, sizeof path, "%s/%s", dir, name);
    return fsutil_read(path, 65536, &out, &len, NULL) ? NULL : out;
}

int main(void)
{
    const char *names[] = {"127.0.0.1", "localhost"};
    char command[64];
    (void)signal(SIGPIPE, SIG_IGN);
    if (!mkdtemp(dir) || ca_create(dir, clock_wall_s(), NULL) ||
        ca_create_web(dir, names, 2, clock_wall_s(), NULL) ||
        ca_open(dir, clock_wall_s(), &ca, NULL))
        return 2;
    web_cert = read_file("web.pem");
    web_key = read_file("web.key");
    listener_cert = read_file("agent-listener.pem");
    listener_key = read_file("agent-listener.key");
    int rc = suite_run("http server", tests);
    free(web_cert);
    free(web_key);
    free(listener_cert);
    free(listener_key);
    ca_free(ca);
    (void)snprintf(command, sizeof command, "rm -r %s", dir);
    return system(command) ? 2 : rc;
}
