#include "common/clock.h"
#include "common/x509.h"
#include "tests/unit/controller/http_fixture.h"
#include <openssl/err.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

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
        {"GET / HTTP/1.1\r\nHost: a\r\nOrigin: x\r\norigin: y\r\n\r\n", 400},
        {"GET / HTTP/1.1\r\nHost: a\r\nHawser-Csrf: x\r\nhawser-csrf: x\r\n\r\n", 400},
        {"GET /%00 HTTP/1.1\r\nHost: a\r\n\r\n", 400},
        {"GET /%0d%0aX HTTP/1.1\r\nHost: a\r\n\r\n", 400},
        {"GET /?q=%01 HTTP/1.1\r\nHost: a\r\n\r\n", 400},
        {"GET /?q=1&q=2 HTTP/1.1\r\nHost: a\r\n\r\n", 400},
        {"GET / HTTP/1.1\r\nHost: a\r\nX: a\001b\r\n\r\n", 400},
        {"GET / HTTP/1.1\r\n\r\n", 400},
        {"GET /a b HTTP/1.1\r\nHost: a\r\n\r\n", 400},
        {"GET /refused HTTP/1.1\r\nHost: a\r\n\r\n", 401},
        {"POST /refused HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello", 401},
        {"POST /refused HTTP/1.1\r\nHost: a\r\nContent-Length: 10000000\r\n\r\n", 401},
        {"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10000000\r\n\r\n", 413},
    };
    char out[2048];
    start(10, 16);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int status = once(cases[i].request, out, sizeof out);
        if (status != cases[i].status)
            printf("case %zu: %d\n", i, status);
        CU_ASSERT_EQUAL(status, cases[i].status);
        CU_ASSERT_PTR_NOT_NULL(strstr(out, "application/problem+json"));
        CU_ASSERT_PTR_NOT_NULL(strstr(out, "X-Request-Id: "));
    }
    char big[400];
    (void)snprintf(big, sizeof big,
                   "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 101\r\n\r\n%0101d", 0);
    CU_ASSERT_EQUAL(once(big, out, sizeof out), 413);
    CU_ASSERT_PTR_NOT_NULL(strstr(out, "application/problem+json"));
    stop();
}

#define BYTES(text) text, sizeof(text) - 1

/* What the library's own parser passes over: each would let two readers see two requests. */
static void test_hidden_bytes(void)
{
    static const struct {
        const char *request;
        size_t len;
        int status;
    } cases[] = {
        {BYTES("GET / HTTP/1.1\r\nHost: a\0b\r\n\r\n"), 400},
        {BYTES("GET / HTTP/1.1\r\nHost: a\0\r\n\r\n"), 400},
        {BYTES("GET / HTTP/1.1\r\nHost: \0a\r\n\r\n"), 400},
        {BYTES("GET / HTTP/1.1\r\nHost: a\r\nX: \0b\r\nY: c\r\n\r\n"), 400},
        {BYTES("GET / HTTP/1.1\r\nHost: a\r\nX\0: b\r\n\r\n"), 400},
        {BYTES("GET /a\0b HTTP/1.1\r\nHost: a\r\n\r\n"), 400},
        {BYTES("GET /a?b=\0 HTTP/1.1\r\nHost: a\r\n\r\n"), 400},
        {BYTES("GE\0T / HTTP/1.1\r\nHost: a\r\n\r\n"), 400},
        {BYTES("GET / HTTP/1.1\0\r\nHost: a\r\n\r\n"), 400},
        {BYTES("GET / HTTP/1.1\r\nHost: a\r\n\0\r\nX: b\r\n\r\n"), 400},
        {BYTES("GET /\001 HTTP/1.1\r\nHost: a\r\n\r\n"), 400},
        {BYTES("GET /\x7f HTTP/1.1\r\nHost: a\r\n\r\n"), 400},
        {BYTES("GET /?a\x7f HTTP/1.1\r\nHost: a\r\n\r\n"), 400},
        {BYTES("GET  / HTTP/1.1\r\nHost: a\r\n\r\n"), 400},
        {BYTES("GET /  HTTP/1.1\r\nHost: a\r\n\r\n"), 400},
        {BYTES("G(T / HTTP/1.1\r\nHost: a\r\n\r\n"), 400},
        {BYTES("GET / HTTP/1.1\r\nHost: a\r\n b\r\n\r\n"), 400},
        {BYTES("GET / HTTP/1.1\r\nHost: a\r\nX: a\r\n\tb\r\n\r\n"), 400},
        {BYTES("GET / HTTP/1.1\r\nHost : a\r\n\r\n"), 400},
        {BYTES("GET / HTTP/1.1\r\nHost: a\r\n: b\r\n\r\n"), 400},
        {BYTES("GET / HTTP/1.1\r\n X: a\r\nHost: a\r\n\r\n"), 400},
        {BYTES("GET / HTTP/1.1\nHost: a\n\n"), 400},
        {BYTES("GET / HTTP/1.1\r\nHost: a\nX: b\r\n\r\n"), 400},
        {BYTES("GET / HTTP/1.1\r\nHost: a\r\nX: b\rc\r\n\r\n"), 400},
        {BYTES("\r\nGET /a%41?b=%42&c HTTP/1.1\r\nHost:\t a \r\nX:\r\n\r\n"), 200},
        {BYTES("GET /?a&b=&c=%20 HTTP/1.0\r\n\r\n"), 200},
    };
    char out[2048], big[7000];
    struct client c;
    start(10, 16);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        CU_ASSERT_TRUE_FATAL(client_open(&c, HTTP_PEOPLE, NULL, NULL));
        CU_ASSERT_EQUAL(SSL_write(c.ssl, cases[i].request, (int)cases[i].len), (int)cases[i].len);
        int status = client_read(&c, out, sizeof out);
        if (status != cases[i].status)
            printf("case %zu: %d\n", i, status);
        CU_ASSERT_EQUAL(status, cases[i].status);
        client_close(&c);
    }
    /* One byte after another, and again in the same memory. */
    CU_ASSERT_TRUE_FATAL(client_open(&c, HTTP_PEOPLE, NULL, NULL));
    for (int round = 0; round < 2; round++) {
        int len = snprintf(big, sizeof big,
                           "GET /x%%41?y=%0300d HTTP/1.1\r\nHost: a\r\nX: %0*d\r\nY: b\r\n\r\n", 1,
                           round ? 600 : 6000, 1);
        for (int at = 0, part; at < len; at += part) {
            part = at < 400 ? 1 : len - at;
            CU_ASSERT_EQUAL(SSL_write(c.ssl, big + at, part), part);
        }
        CU_ASSERT_EQUAL(client_read(&c, out, sizeof out), 200);
    }
    client_close(&c);
    stop();
}

/* The library takes its memory for each parameter from what the body that came along has left. */
static void test_many_parameters_and_a_body(void)
{
    char out[2048], query[512], request[8000];
    struct client c;
    size_t used = 0;
    start(10, 16);
    for (int i = 0; i < 80; i++)
        used += (size_t)snprintf(query + used, sizeof query - used, "a%d&", i);
    (void)snprintf(request, sizeof request,
                   "DELETE /?%s HTTP/1.1\r\nHost: a\r\nContent-Length: 5000\r\n\r\n%05000d", query,
                   0);
    CU_ASSERT_TRUE_FATAL(client_open(&c, HTTP_PEOPLE, NULL, NULL));
    CU_ASSERT_EQUAL(ask(&c, request, out, sizeof out), 400);
    CU_ASSERT_EQUAL(ask(&c, "GET / HTTP/1.1\r\nHost: a\r\n\r\n", out, sizeof out), 200);
    client_close(&c);
    stop();
}

/* What the library answers by itself: the right status and the end of the connection. */
static void test_library_refusals(void)
{
    static const struct {
        const char *request;
        int status;
    } cases[] = {
        {"GET / nonsense\r\n\r\n", 400},
        {"GET / HTTP/2.0\r\nHost: a\r\n\r\n", 505},
        {"GET / HTTP/1.1\r\nHost: a\r\nno field\r\n\r\n", 400},
        {"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1x\r\n\r\n", 400},
        {"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999999999999999\r\n\r\n", 413},
        {"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n", 400},
    };
    char out[2048], big[34000];
    start(10, 16);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        CU_ASSERT_EQUAL(once(cases[i].request, out, sizeof out), cases[i].status);
    (void)snprintf(big, sizeof big, "GET /%033000d HTTP/1.1\r\nHost: a\r\n\r\n", 0);
    CU_ASSERT_EQUAL(once(big, out, sizeof out), 414);
    (void)snprintf(big, sizeof big, "GET / HTTP/1.1\r\nHost: a\r\nX: %033000d\r\n\r\n", 0);
    CU_ASSERT_EQUAL(once(big, out, sizeof out), 431);
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

/* A handler that parks on a connection which was cut meanwhile is told to end. */
static void test_park_when_cut(void)
{
    struct client c;
    reset();
    start(1, 16);
    CU_ASSERT_TRUE_FATAL(client_open(&c, HTTP_PEOPLE, NULL, NULL));
    client_send(&c, "GET /park-late HTTP/1.1\r\nHost: x\r\n\r\n");
    wait_for(one_ended);
    CU_ASSERT_EQUAL(park_overs, 1);
    CU_ASSERT_EQUAL(counters().parked, 0);
    client_close(&c);
    stop();
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
        struct http_server_config config = {
            .threads = 2, .request_seconds = 1, .answer_seconds = 1, .idle_seconds = 1};
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
    {"hidden bytes", test_hidden_bytes},
    {"many parameters and a body", test_many_parameters_and_a_body},
    {"refusals by the library", test_library_refusals},
    {"client certificates", test_client_certificates},
    {"foreign certificates", test_foreign_certificates},
    {"park and wake", test_park_and_wake},
    {"wake before the suspension", test_early_wake},
    {"a park ends by itself", test_park_ends_by_itself},
    {"a parked client leaves", test_client_leaves},
    {"a park on a connection that is cut", test_park_when_cut},
    {"slow senders", test_slow_senders},
    {"garbage", test_garbage},
    {"TLS 1.2 is refused", test_old_tls},
    {"connections per client", test_connections_per_client},
    {"new certificate", test_new_certificate},
    {"bad addresses", test_bad_addresses},
    CU_TEST_INFO_NULL,
};

int main(void)
{
    return http_suite_run("http server", tests);
}
