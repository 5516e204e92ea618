#include "tests/unit/controller/http_fixture.h"
#include "common/clock.h"
#include "common/fsutil.h"
#include "controller/http/problem.h"
#include <arpa/inet.h>
#include <openssl/err.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static char dir[] = "/tmp/hawser-http-XXXXXX";
struct ca *ca;
char *web_cert, *web_key, *listener_cert, *listener_key;
struct http_server *server;
unsigned ports[HTTP_LISTENERS];
_Atomic uint64_t parked_ticket;
atomic_int ended, park_overs;
atomic_uint park_ms = WAIT_MS;

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

/* Until the watcher has cut a connection for its deadline: this one's, as the only one. */
static void outlast_deadline(const struct http_request *req)
{
    uint64_t until = clock_mono_ns() + WAIT_MS * NS_PER_MS;
    struct http_server_counters c;
    do {
        (void)usleep(1000);
        http_server_counters(req->server, req->listener, &c);
    } while (!c.cut_deadline && clock_mono_ns() < until);
}

static void handle_park(struct http_request *req, struct http_response *res)
{
    bool late = !strcmp(req->path, "/park-late");
    if (late && !req->resumed)
        outlast_deadline(req);
    if (!req->resumed || (late && !req->park_over)) {
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

int tcp_try(unsigned port)
{
    struct sockaddr_in a = {.sin_family = AF_INET,
                            .sin_port = htons((uint16_t)port),
                            .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct timeval limit = {.tv_sec = WAIT_MS / 1000};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    (void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    if (connect(fd, (struct sockaddr *)&a, sizeof a) == 0)
        return fd;
    (void)close(fd);
    return -1;
}

int tcp(unsigned port)
{
    int fd = tcp_try(port);
    CU_ASSERT_FATAL(fd >= 0);
    return fd;
}

void client_close(struct client *c)
{
    SSL_free(c->ssl);
    SSL_CTX_free(c->ctx);
    if (c->fd >= 0)
        (void)close(c->fd);
    ERR_clear_error();
}

bool client_open(struct client *c, enum http_listener l, X509 *cert, EVP_PKEY *key)
{
    *c = (struct client){.fd = tcp_try(ports[l])};
    if (c->fd < 0)
        return false;
    c->ctx = SSL_CTX_new(TLS_client_method());
    if (cert) {
        CU_ASSERT_EQUAL(SSL_CTX_use_certificate(c->ctx, cert), 1);
        CU_ASSERT_EQUAL(SSL_CTX_use_PrivateKey(c->ctx, key), 1);
    }
    c->ssl = SSL_new(c->ctx);
    (void)SSL_set_fd(c->ssl, c->fd);
    return SSL_connect(c->ssl) == 1;
}

void client_send(struct client *c, const char *text)
{
    CU_ASSERT_EQUAL(SSL_write(c->ssl, text, (int)strlen(text)), (int)strlen(text));
}

int client_read(struct client *c, char *out, size_t cap)
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

int ask(struct client *c, const char *request, char *out, size_t cap)
{
    client_send(c, request);
    return client_read(c, out, cap);
}

int once(const char *request, char *out, size_t cap)
{
    struct client c;
    CU_ASSERT_TRUE_FATAL(client_open(&c, HTTP_PEOPLE, NULL, NULL));
    int status = ask(&c, request, out, cap);
    client_close(&c);
    return status;
}

void start(unsigned request_seconds, unsigned per_client)
{
    char text[HTTP_LISTENERS][32];
    struct http_server_config config = {.threads = 2,
                                        .request_seconds = request_seconds,
                                        .answer_seconds = request_seconds,
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

void stop(void)
{
    http_server_stop(server);
    server = NULL;
}

void wait_for(bool (*condition)(void))
{
    uint64_t until = clock_mono_ns() + WAIT_MS * NS_PER_MS;
    while (!condition() && clock_mono_ns() < until)
        (void)poll(NULL, 0, 2);
    CU_ASSERT_TRUE(condition());
}

struct http_server_counters counters(void)
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

bool one_parked(void)
{
    return counters().parked == 1;
}

bool one_ended(void)
{
    return ended == 1;
}

/* --- set-up --- */

static char *read_file(const char *name)
{
    char path[128], *out = NULL;
    size_t len;
    (void)snprintf(path, sizeof path, "%s/%s", dir, name);
    return fsutil_read(path, 65536, &out, &len, NULL) ? NULL : out;
}

int http_suite_run(const char *name, CU_TestInfo *tests)
{
    const char *const names[] = {"127.0.0.1", "localhost"};
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
    int rc = suite_run(name, tests);
    free(web_cert);
    free(web_key);
    free(listener_cert);
    free(listener_key);
    ca_free(ca);
    (void)snprintf(command, sizeof command, "rm -r %s", dir);
    return system(command) ? 2 : rc;
}
