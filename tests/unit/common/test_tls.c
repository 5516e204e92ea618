#include "common/clock.h"
#include "common/evloop.h"
#include "common/tls.h"
#include "tests/unit/common/pki.h"
#include "tests/unit/suite.h"
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define DAY       86400
#define TURNS_MAX 100

/* Two ends of one connection and what each call last said. */
static struct {
    int fd[2];
    struct tls_context *ctx[2]; /* TLS_CLIENT, TLS_SERVER */
    struct tls_conn *conn[2];
    int rc[2];
    struct err e[2];
} ends;

static void up(const char *client, const char *server, int64_t client_now, int64_t server_now)
{
    const char *const names[2] = {client, server};
    const int64_t now[2] = {client_now, server_now};
    struct x509_st *ca = pki_cert("ca");
    memset(&ends, 0, sizeof ends);
    CU_ASSERT_EQUAL_FATAL(
        socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends.fd), 0);
    for (int i = 0; i < 2; i++) {
        struct x509_st *cert = names[i] ? pki_cert(names[i]) : NULL;
        struct evp_pkey_st *key = names[i] ? pki_key(names[i]) : NULL;
        CU_ASSERT_EQUAL_FATAL(tls_context_new((enum tls_role)i, ca, cert, key, &ends.ctx[i], NULL),
                              HW_OK);
        CU_ASSERT_EQUAL_FATAL(tls_conn_new(ends.ctx[i], ends.fd[i], now[i], &ends.conn[i], NULL),
                              HW_OK);
        x509_cert_free(cert);
        x509_key_free(key);
    }
    x509_cert_free(ca);
}

static void handshake(void)
{
    ends.rc[0] = ends.rc[1] = HW_EAGAIN;
    for (int turn = 0; turn < TURNS_MAX && (ends.rc[0] == HW_EAGAIN || ends.rc[1] == HW_EAGAIN);
         turn++)
        for (int i = 0; i < 2; i++)
            if (ends.rc[i] == HW_EAGAIN) {
                ends.rc[i] = tls_conn_handshake(ends.conn[i], &ends.e[i]);
                /* A failed end closes: the other sees it. */
                if (ends.rc[i] != HW_EAGAIN && ends.rc[i] != HW_OK)
                    (void)shutdown(ends.fd[i], SHUT_WR);
            }
}

static void down(void)
{
    for (int i = 0; i < 2; i++) {
        tls_conn_free(ends.conn[i]);
        tls_context_free(ends.ctx[i]);
        (void)close(ends.fd[i]);
    }
}

static void test_exchange(void)
{
    const int64_t now = clock_wall_s() + 60;
    struct x509_info peer;
    uint8_t key[2][36], other[36];
    char buf[32];
    up("gateway-a", "gateway-b", now, now);
    CU_ASSERT_EQUAL(tls_conn_export(ends.conn[1], "EXPORTER-x", "c", 1, key[0], 36, NULL),
                    HW_EAGAIN);
    CU_ASSERT_EQUAL(tls_conn_peer(ends.conn[1], &peer, NULL), HW_EAGAIN);
    CU_ASSERT_EQUAL(tls_conn_handshake(ends.conn[0], NULL), HW_EAGAIN);
    CU_ASSERT_EQUAL(tls_conn_wants(ends.conn[0]), EV_READ);
    handshake();
    CU_ASSERT_EQUAL_FATAL(ends.rc[0], HW_OK);
    CU_ASSERT_EQUAL_FATAL(ends.rc[1], HW_OK);
    CU_ASSERT_EQUAL(tls_conn_peer(ends.conn[1], &peer, NULL), HW_OK);
    CU_ASSERT_STRING_EQUAL(peer.uri, "hawser://gateway/" PKI_GATEWAY_A);
    CU_ASSERT_EQUAL(tls_conn_peer(ends.conn[0], &peer, NULL), HW_OK);
    CU_ASSERT_STRING_EQUAL(peer.uri, "hawser://gateway/" PKI_GATEWAY_B);
    for (int i = 0; i < 2; i++)
        CU_ASSERT_EQUAL(tls_conn_export(ends.conn[i], "EXPORTER-x", "context", 7, key[i], 36, NULL),
                        HW_OK);
    CU_ASSERT_EQUAL(memcmp(key[0], key[1], 36), 0);
    CU_ASSERT_EQUAL(tls_conn_export(ends.conn[0], "EXPORTER-x", "contexT", 7, other, 36, NULL),
                    HW_OK);
    CU_ASSERT_NOT_EQUAL(memcmp(key[0], other, 36), 0);
    CU_ASSERT_EQUAL(tls_conn_read(ends.conn[1], buf, sizeof buf, NULL), HW_EAGAIN);
    CU_ASSERT_EQUAL(tls_conn_write(ends.conn[0], "offer", 5, NULL), 5);
    CU_ASSERT_EQUAL(tls_conn_read(ends.conn[1], buf, sizeof buf, NULL), 5);
    CU_ASSERT_EQUAL(memcmp(buf, "offer", 5), 0);
    tls_conn_shutdown(ends.conn[1]);
    CU_ASSERT_EQUAL(tls_conn_read(ends.conn[0], buf, sizeof buf, NULL), 0);
    down();
}

/* Two epochs, two handshakes: nothing of the first may help the second. */
static void test_no_resumption(void)
{
    const int64_t now = clock_wall_s() + 60;
    uint8_t first[32], second[32];
    struct tls_conn *again[2];
    up("gateway-a", "gateway-b", now, now);
    handshake();
    CU_ASSERT_EQUAL_FATAL(ends.rc[1], HW_OK);
    CU_ASSERT_EQUAL(tls_conn_export(ends.conn[0], "EXPORTER-x", "", 0, first, 32, NULL), HW_OK);
    char c;
    CU_ASSERT_EQUAL(tls_conn_read(ends.conn[0], &c, 1, NULL),
                    HW_EAGAIN); /* no ticket came: it would be read here */
    CU_ASSERT_EQUAL(recv(ends.fd[0], &c, 1, MSG_PEEK | MSG_DONTWAIT), -1);
    for (int i = 0; i < 2; i++) {
        again[i] = ends.conn[i];
        (void)close(ends.fd[i]);
    }
    CU_ASSERT_EQUAL_FATAL(
        socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends.fd), 0);
    for (int i = 0; i < 2; i++) {
        tls_conn_free(again[i]);
        CU_ASSERT_EQUAL_FATAL(tls_conn_new(ends.ctx[i], ends.fd[i], now, &ends.conn[i], NULL),
                              HW_OK);
    }
    handshake();
    CU_ASSERT_EQUAL_FATAL(ends.rc[1], HW_OK);
    CU_ASSERT_EQUAL(tls_conn_export(ends.conn[0], "EXPORTER-x", "", 0, second, 32, NULL), HW_OK);
    CU_ASSERT_NOT_EQUAL(memcmp(first, second, 32), 0);
    down();
}

/* The server refuses the client, which learns of it at its first read only. */
static void client_is_refused(const char *client, int64_t server_now)
{
    const int64_t now = clock_wall_s() + 60;
    uint8_t key[32];
    char c;
    up(client, "gateway-b", now, server_now);
    handshake();
    CU_ASSERT_EQUAL(ends.rc[1], HW_EAUTH);
    CU_ASSERT_EQUAL(tls_conn_export(ends.conn[1], "EXPORTER-x", "", 0, key, 32, NULL), HW_EAGAIN);
    CU_ASSERT_EQUAL(ends.rc[0], HW_OK);
    CU_ASSERT_EQUAL(tls_conn_read(ends.conn[0], &c, 1, &ends.e[0]), HW_EAUTH);
    down();
}

static void test_client_refused(void)
{
    const int64_t now = clock_wall_s() + 60;
    client_is_refused("foreign-a", now);
    client_is_refused("server-only", now);
    client_is_refused(NULL, now);
    client_is_refused("gateway-a", now + 31 * DAY);
    client_is_refused("gateway-a", now - DAY);
}

static void test_server_refused(void)
{
    const int64_t now = clock_wall_s() + 60;
    up("gateway-a", "foreign-a", now, now);
    handshake();
    CU_ASSERT_EQUAL(ends.rc[0], HW_EAUTH);
    CU_ASSERT_EQUAL(ends.rc[1], HW_EAUTH); /* told by an alert */
    down();
    up("gateway-a", "gateway-b", now + 31 * DAY, now);
    handshake();
    CU_ASSERT_EQUAL(ends.rc[0], HW_EAUTH);
    CU_ASSERT_PTR_NOT_NULL(strstr(ends.e[0].text, "expired"));
    down();
}

static void test_broken_off(void)
{
    const int64_t now = clock_wall_s() + 60;
    char c;
    up("gateway-a", "gateway-b", now, now);
    CU_ASSERT_EQUAL(tls_conn_handshake(ends.conn[1], NULL), HW_EAGAIN);
    (void)shutdown(ends.fd[0], SHUT_RDWR);
    CU_ASSERT_EQUAL(tls_conn_handshake(ends.conn[1], NULL), HW_ECLOSED);
    down();
    up("gateway-a", "gateway-b", now, now);
    CU_ASSERT_EQUAL(write(ends.fd[0], "GET / HTTP/1.1\r\n\r\n", 18), 18);
    CU_ASSERT_EQUAL(tls_conn_handshake(ends.conn[1], &ends.e[1]), HW_EPROTO);
    down();
    up("gateway-a", "gateway-b", now, now);
    handshake();
    (void)shutdown(ends.fd[0], SHUT_RDWR);
    CU_ASSERT_EQUAL(tls_conn_read(ends.conn[1], &c, 1, NULL), HW_ECLOSED);
    down();
}

static void test_partial_write(void)
{
    const int64_t now = clock_wall_s() + 60;
    static uint8_t data[1 << 20], back[1 << 20];
    size_t sent = 0, got = 0;
    for (size_t i = 0; i < sizeof data; i++)
        data[i] = (uint8_t)(i * 7 >> 4);
    up("gateway-a", "gateway-b", now, now);
    handshake();
    for (int turn = 0; turn < 100000 && got < sizeof data; turn++) {
        ssize_t n = sent < sizeof data
                        ? tls_conn_write(ends.conn[0], data + sent, sizeof data - sent, NULL)
                        : 0;
        CU_ASSERT_FATAL(n >= 0 || n == HW_EAGAIN);
        CU_ASSERT_FATAL(n != HW_EAGAIN || tls_conn_wants(ends.conn[0]) == EV_WRITE);
        sent += n > 0 ? (size_t)n : 0;
        n = tls_conn_read(ends.conn[1], back + got, sizeof back - got, NULL);
        CU_ASSERT_FATAL(n > 0 || n == HW_EAGAIN);
        got += n > 0 ? (size_t)n : 0;
    }
    CU_ASSERT_EQUAL(got, sizeof data);
    CU_ASSERT_EQUAL(memcmp(data, back, sizeof data), 0);
    down();
}

int main(void)
{
    CU_TestInfo tests[] = {{"exchange", test_exchange},
                           {"no resumption", test_no_resumption},
                           {"client refused", test_client_refused},
                           {"server refused", test_server_refused},
                           {"broken off", test_broken_off},
                           {"partial write", test_partial_write},
                           CU_TEST_INFO_NULL};
    pki_up();
    int rc = suite_run("tls", tests);
    pki_down();
    return rc;
}
