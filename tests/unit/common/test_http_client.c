#include "common/clock.h"
#include "common/http_client.h"
#include "tests/unit/common/pki.h"
#include "tests/unit/suite.h"
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define DAY 86400

/* One https_server.py; it ends when `in` is closed. */
struct server {
    pid_t pid;
    int in;
    int port;
};

static struct server serve(const char *name, const char *client_ca, const char *version)
{
    struct server s = {0};
    int in[2], out[2];
    char cert[64], key[64], text[16] = "";
    (void)snprintf(cert, sizeof cert, "%s.pem", name);
    (void)snprintf(key, sizeof key, "%s.key", name);
    if (pipe2(in, O_CLOEXEC) != 0 || pipe2(out, O_CLOEXEC) != 0)
        abort();
    const char *cert_path = pki_path(cert), *key_path = pki_path(key);
    const char *ca_path = client_ca ? pki_path(client_ca) : "-";
    s.pid = fork();
    if (s.pid == 0) {
        (void)dup2(in[0], STDIN_FILENO);
        (void)dup2(out[1], STDOUT_FILENO);
        (void)execl("/usr/bin/python3", "python3", HTTPS_SERVER, cert_path, key_path, ca_path,
                    version, (char *)NULL);
        _exit(127);
    }
    (void)close(in[0]);
    (void)close(out[1]);
    s.in = in[1];
    if (read(out[0], text, sizeof text - 1) <= 0)
        abort();
    (void)close(out[0]);
    s.port = atoi(text);
    return s;
}

static void stop(struct server *s)
{
    (void)close(s->in);
    (void)waitpid(s->pid, NULL, 0);
}

static struct server controller; /* demands no client certificate */
static struct x509_st *ca;
static int64_t judged_at;

static int64_t judge_now(void *arg)
{
    (void)arg;
    return judged_at;
}

static struct http_client *client(enum http_trust trust, const char *identity, struct evloop *loop)
{
    struct http_client *c;
    struct x509_st *cert = identity ? pki_cert(identity) : NULL;
    struct evp_pkey_st *key = identity ? pki_key(identity) : NULL;
    struct http_client_params p = {
        .trust = trust, .ca = ca, .cert = cert, .key = key, .loop = loop, .now = judge_now};
    CU_ASSERT_EQUAL_FATAL(http_client_new(&p, &c, NULL), HW_OK);
    x509_cert_free(cert);
    x509_key_free(key);
    return c;
}

static const char *url(int port, const char *path)
{
    static char text[128];
    (void)snprintf(text, sizeof text, "https://127.0.0.1:%d%s", port, path);
    return text;
}

static struct http_response get(struct http_client *c, int port, const char *path,
                                uint64_t timeout_ms)
{
    struct http_response r = {0};
    const struct http_request q = {.method = "GET",
                                   .url = url(port, path),
                                   .timeout_ns = timeout_ms * NS_PER_MS,
                                   .response_max = 50000};
    CU_ASSERT_EQUAL_FATAL(http_client_run(c, &q, &r, NULL), HW_OK);
    return r;
}

/* A GET by a client of its own. */
static enum http_outcome outcome(enum http_trust trust, const char *identity, int port,
                                 const char *path)
{
    struct http_client *c = client(trust, identity, NULL);
    struct http_response r = get(c, port, path, 5000);
    enum http_outcome o = r.outcome;
    CU_ASSERT((o == HTTP_ANSWERED) == (r.error[0] == '\0'));
    http_response_done(&r);
    http_client_free(c);
    return o;
}

static void test_answers(void)
{
    struct http_client *c = client(HTTP_TRUST_CONTROLLER, NULL, NULL);
    struct http_response r = get(c, controller.port, "/ok", 5000);
    CU_ASSERT_EQUAL(r.outcome, HTTP_ANSWERED);
    CU_ASSERT_TRUE(r.answered);
    CU_ASSERT_EQUAL(r.status, 200);
    CU_ASSERT_STRING_EQUAL(r.body, "hello");
    CU_ASSERT_EQUAL(r.body_len, 5);
    CU_ASSERT_STRING_EQUAL(http_response_header(&r, "hawser-revision"), "41");
    CU_ASSERT_STRING_EQUAL(http_response_header(&r, "Hawser-Time"), "17 ");
    CU_ASSERT_PTR_NULL(http_response_header(&r, "Hawser-Signature"));
    http_response_done(&r);
    r = get(c, controller.port, "/empty", 5000);
    CU_ASSERT_EQUAL(r.status, 204);
    CU_ASSERT_STRING_EQUAL(r.body, "");
    http_response_done(&r);
    r = get(c, controller.port, "/redirect", 5000);
    CU_ASSERT_EQUAL(r.status, 302); /* never followed */
    http_response_done(&r);
    r = get(c, controller.port, "/missing", 5000);
    CU_ASSERT_EQUAL(r.outcome, HTTP_ANSWERED);
    CU_ASSERT_EQUAL(r.status, 404);
    http_response_done(&r);
    http_client_free(c);
}

static void test_body_and_headers(void)
{
    static const char *const headers[] = {"X-Test: 7", NULL};
    struct http_client *c = client(HTTP_TRUST_CONTROLLER, NULL, NULL);
    struct http_response r;
    struct http_request q = {.method = "POST",
                             .url = url(controller.port, "/"),
                             .body = "{\"a\":1}",
                             .body_len = 7,
                             .headers = headers,
                             .timeout_ns = 5 * NS_PER_S,
                             .response_max = 100};
    CU_ASSERT_EQUAL(http_client_run(c, &q, &r, NULL), HW_OK);
    CU_ASSERT_EQUAL(r.status, 201);
    CU_ASSERT_STRING_EQUAL(r.body, "application/json 7|{\"a\":1}");
    http_response_done(&r);
    q.method = "PATCH";
    q.content_type = "text/plain";
    q.headers = NULL;
    CU_ASSERT_EQUAL(http_client_run(c, &q, &r, NULL), HW_OK);
    CU_ASSERT_STRING_EQUAL(r.body, "text/plain -|{\"a\":1}");
    http_response_done(&r);
    http_client_free(c);
}

static void test_limits(void)
{
    struct http_client *c = client(HTTP_TRUST_CONTROLLER, NULL, NULL);
    struct http_response r = get(c, controller.port, "/big", 5000);
    CU_ASSERT_EQUAL(r.outcome, HTTP_TOO_BIG);
    http_response_done(&r);
    r = get(c, controller.port, "/headers", 5000);
    CU_ASSERT_EQUAL(r.outcome, HTTP_TOO_BIG);
    http_response_done(&r);
    uint64_t start = clock_mono_ns();
    r = get(c, controller.port, "/drip", 500); /* bytes flow on, the deadline holds all the same */
    CU_ASSERT_EQUAL(r.outcome, HTTP_NO_ANSWER);
    CU_ASSERT(clock_mono_ns() - start < 2 * NS_PER_S);
    CU_ASSERT_TRUE(r.answered);
    http_response_done(&r);
    r = get(c, controller.port, "/drop", 5000);
    CU_ASSERT_EQUAL(r.outcome, HTTP_NO_ANSWER);
    CU_ASSERT_TRUE(r.answered);
    http_response_done(&r);
    http_client_free(c);
}

/* A listener that never accepts beyond its queue: a SYN without any answer. */
static int silent_port(int fds[3])
{
    struct sockaddr_in sin = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof sin;
    fds[0] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (bind(fds[0], (struct sockaddr *)&sin, sizeof sin) != 0 || listen(fds[0], 0) != 0 ||
        getsockname(fds[0], (struct sockaddr *)&sin, &len) != 0)
        abort();
    for (int i = 1; i < 3; i++) {
        fds[i] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        (void)connect(fds[i], (struct sockaddr *)&sin, sizeof sin);
    }
    return ntohs(sin.sin_port);
}

static void test_dead_or_cut_off(void)
{
    struct http_client *c = client(HTTP_TRUST_CONTROLLER, NULL, NULL);
    int fds[3], port = silent_port(fds);
    struct http_response r = get(c, port, "/ok", 500);
    CU_ASSERT_EQUAL(r.outcome, HTTP_NO_ANSWER);
    CU_ASSERT_FALSE(r.answered);
    http_response_done(&r);
    for (int i = 0; i < 3; i++)
        (void)close(fds[i]);
    r = get(c, port, "/ok", 5000); /* closed now: the kernel resets */
    CU_ASSERT_EQUAL(r.outcome, HTTP_REFUSED);
    CU_ASSERT_TRUE(r.answered);
    http_response_done(&r);
    struct http_request q = {.method = "GET", .url = "http://127.0.0.1:1/", .timeout_ns = NS_PER_S};
    CU_ASSERT_EQUAL(http_client_run(c, &q, &r, NULL), HW_OK);
    CU_ASSERT_EQUAL(r.outcome, HTTP_FAILED); /* https only */
    http_response_done(&r);
    q.timeout_ns = 0;
    CU_ASSERT_EQUAL(http_client_run(c, &q, &r, NULL), HW_EINVAL);
    http_client_free(c);
}

static void test_who_is_trusted(void)
{
    static const struct {
        const char *server;
        enum http_outcome to_agent;
    } rows[] = {
        {"gateway-a", HTTP_TLS},          /* of the CA, but a gateway */
        {"foreign-controller", HTTP_TLS}, /* right name, another CA */
        {"two-uris", HTTP_TLS},           {"no-uri", HTTP_TLS}, {"config", HTTP_TLS},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct server s = serve(rows[i].server, NULL, "TLSv1_3");
        CU_ASSERT_EQUAL(outcome(HTTP_TRUST_CONTROLLER, NULL, s.port, "/ok"), rows[i].to_agent);
        CU_ASSERT_EQUAL(outcome(HTTP_TRUST_NOBODY, NULL, s.port, "/ok"), HTTP_ANSWERED);
        stop(&s);
    }
    CU_ASSERT_EQUAL(outcome(HTTP_TRUST_CONTROLLER, NULL, controller.port, "/ok"), HTTP_ANSWERED);
    CU_ASSERT_EQUAL(outcome(HTTP_TRUST_WEB, NULL, controller.port, "/ok"),
                    HTTP_TLS); /* not a public CA */
    struct server old = serve("controller", NULL, "TLSv1_2");
    CU_ASSERT_EQUAL(outcome(HTTP_TRUST_CONTROLLER, NULL, old.port, "/ok"), HTTP_TLS);
    CU_ASSERT_EQUAL(outcome(HTTP_TRUST_NOBODY, NULL, old.port, "/ok"), HTTP_TLS);
    stop(&old);
}

static void test_time_of_judgement(void)
{
    const int64_t now = judged_at;
    judged_at = now + 31 * DAY;
    CU_ASSERT_EQUAL(outcome(HTTP_TRUST_CONTROLLER, NULL, controller.port, "/ok"), HTTP_TLS);
    judged_at = now - 2 * DAY;
    CU_ASSERT_EQUAL(outcome(HTTP_TRUST_CONTROLLER, NULL, controller.port, "/ok"), HTTP_TLS);
    judged_at = now;
    CU_ASSERT_EQUAL(outcome(HTTP_TRUST_CONTROLLER, NULL, controller.port, "/ok"), HTTP_ANSWERED);
}

static void test_client_certificate(void)
{
    struct server s = serve("controller", "ca.pem", "TLSv1_3");
    struct http_client *c = client(HTTP_TRUST_CONTROLLER, "gateway-a", NULL);
    struct http_response r = get(c, s.port, "/who", 5000);
    CU_ASSERT_EQUAL(r.outcome, HTTP_ANSWERED);
    CU_ASSERT_PTR_NOT_NULL(r.body ? strstr(r.body, "hawser://gateway/" PKI_GATEWAY_A) : NULL);
    http_response_done(&r);
    http_client_free(c);
    CU_ASSERT_EQUAL(outcome(HTTP_TRUST_CONTROLLER, NULL, s.port, "/who"), HTTP_TLS);
    CU_ASSERT_EQUAL(outcome(HTTP_TRUST_CONTROLLER, "foreign-a", s.port, "/who"), HTTP_TLS);
    stop(&s);
}

static void test_web_trust(void)
{
    struct http_client *c;
    struct http_response r;
    char text[64];
    struct http_client_params p = {.trust = HTTP_TRUST_WEB, .ca_file = pki_path("ca.pem")};
    CU_ASSERT_EQUAL_FATAL(http_client_new(&p, &c, NULL), HW_OK);
    (void)snprintf(text, sizeof text, "https://localhost:%d/ok", controller.port);
    struct http_request q = {
        .method = "GET", .url = text, .timeout_ns = 5 * NS_PER_S, .response_max = 100};
    CU_ASSERT_EQUAL(http_client_run(c, &q, &r, NULL), HW_OK);
    CU_ASSERT_EQUAL(r.outcome, HTTP_ANSWERED);
    http_response_done(&r);
    r = get(c, controller.port, "/ok", 5000); /* the certificate does not name 127.0.0.1 */
    CU_ASSERT_EQUAL(r.outcome, HTTP_TLS);
    http_response_done(&r);
    http_client_free(c);
}

static void test_connections(void)
{
    struct http_client *c = client(HTTP_TRUST_CONTROLLER, NULL, NULL);
    struct http_response a = get(c, controller.port, "/port", 5000),
                         b = get(c, controller.port, "/port", 5000), d;
    CU_ASSERT_STRING_EQUAL(a.body, b.body); /* one connection serves both */
    struct http_request q = {.method = "GET",
                             .url = url(controller.port, "/port"),
                             .timeout_ns = 5 * NS_PER_S,
                             .response_max = 100,
                             .fresh = true};
    CU_ASSERT_EQUAL(http_client_run(c, &q, &d, NULL), HW_OK);
    CU_ASSERT_STRING_NOT_EQUAL(a.body, d.body);
    http_response_done(&a);
    http_response_done(&b);
    http_response_done(&d);
    http_client_free(c);
}

/* The mark on the kept connection's socket, found among our own fds; 0: none. */
static uint32_t mark_of_connection(int port)
{
    for (int fd = 3; fd < 256; fd++) {
        struct sockaddr_in peer = {0};
        uint32_t mark = 0;
        socklen_t len = sizeof peer, mark_len = sizeof mark;
        if (getpeername(fd, (struct sockaddr *)&peer, &len) == 0 && peer.sin_family == AF_INET &&
            ntohs(peer.sin_port) == port &&
            getsockopt(fd, SOL_SOCKET, SO_MARK, &mark, &mark_len) == 0)
            return mark;
    }
    return 0;
}

/* Only root may mark; whoever may not must not send unmarked. */
static void test_mark(void)
{
    struct http_client *c;
    const struct http_client_params p = {
        .trust = HTTP_TRUST_CONTROLLER, .ca = ca, .now = judge_now, .mark = 0x4877};
    CU_ASSERT_EQUAL_FATAL(http_client_new(&p, &c, NULL), HW_OK);
    struct http_response r = get(c, controller.port, "/ok", 5000);
    if (geteuid() == 0) {
        CU_ASSERT_EQUAL(r.outcome, HTTP_ANSWERED);
        CU_ASSERT_EQUAL(mark_of_connection(controller.port), 0x4877);
    } else {
        CU_ASSERT_EQUAL(r.outcome, HTTP_FAILED);
    }
    http_response_done(&r);
    http_client_free(c);
}

/* ---- on the event loop ---- */

static struct evloop *loop;
static struct http_client *async;
static struct http_transfer *slow;
static unsigned done;

static void limit_reached(void *arg)
{
    (void)arg;
    CU_FAIL("nothing happened");
    evloop_stop(loop);
}

static void never(void *arg, const struct http_response *r)
{
    (void)arg;
    (void)r;
    CU_FAIL("a cancelled transfer was reported");
}

static void second_done(void *arg, const struct http_response *r)
{
    CU_ASSERT_PTR_EQUAL(arg, &done);
    CU_ASSERT_EQUAL(r->status, 404);
    done++;
    evloop_stop(loop);
}

static struct http_transfer *begin(const char *path, uint64_t timeout_ms, http_done_fn fn,
                                   void *arg)
{
    const struct http_request q = {.method = "GET",
                                   .url = url(controller.port, path),
                                   .timeout_ns = timeout_ms * NS_PER_MS,
                                   .response_max = 50000};
    struct http_transfer *t = http_client_start(async, &q, fn, arg, NULL);
    CU_ASSERT_PTR_NOT_NULL(t);
    return t;
}

/* Starts another one and cancels a parked one from inside a callback. */
static void first_done(void *arg, const struct http_response *r)
{
    CU_ASSERT_PTR_EQUAL(arg, &loop);
    CU_ASSERT_EQUAL(r->outcome, HTTP_ANSWERED);
    CU_ASSERT_STRING_EQUAL(r->body, "hello");
    done++;
    http_transfer_cancel(slow);
    (void)begin("/missing", 5000, second_done, &done);
}

static void timed_out(void *arg, const struct http_response *r)
{
    (void)arg;
    CU_ASSERT_EQUAL(r->outcome, HTTP_NO_ANSWER);
    done++;
    evloop_stop(loop);
}

static void test_on_event_loop(void)
{
    CU_ASSERT_EQUAL_FATAL(evloop_new(&loop, NULL), HW_OK);
    struct ev_timer *limit = evloop_timer_add(loop, limit_reached, NULL);
    evloop_timer_arm(limit, 10 * NS_PER_S);
    async = client(HTTP_TRUST_CONTROLLER, "gateway-a", loop);
    done = 0;
    slow = begin("/slow", 60000, never, NULL);
    (void)begin("/ok", 5000, first_done, &loop);
    CU_ASSERT_EQUAL(done, 0);
    CU_ASSERT_EQUAL(evloop_run(loop, NULL), HW_OK);
    CU_ASSERT_EQUAL(done, 2);
    (void)begin("/slow", 300, timed_out, NULL);
    CU_ASSERT_EQUAL(evloop_run(loop, NULL), HW_OK);
    CU_ASSERT_EQUAL(done, 3);
    (void)begin("/slow", 60000, never, NULL); /* ends with the client */
    http_client_free(async);
    evloop_free(loop);
}

int main(void)
{
    CU_TestInfo tests[] = {{"answers", test_answers},
                           {"body and headers", test_body_and_headers},
                           {"limits", test_limits},
                           {"dead or cut off", test_dead_or_cut_off},
                           {"who is trusted", test_who_is_trusted},
                           {"time of judgement", test_time_of_judgement},
                           {"client certificate", test_client_certificate},
                           {"web trust", test_web_trust},
                           {"connections", test_connections},
                           {"mark", test_mark},
                           {"on event loop", test_on_event_loop},
                           CU_TEST_INFO_NULL};
    pki_up();
    ca = pki_cert("ca");
    judged_at = clock_wall_s() + 60;
    controller = serve("controller", NULL, "TLSv1_3");
    int rc = suite_run("http_client", tests);
    stop(&controller);
    x509_cert_free(ca);
    pki_down();
    return rc;
}
