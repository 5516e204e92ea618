/* Wrong certificates, revoked peers, garbage and floods: refused, counted, and the good link goes
 * on. */
#include "agent/control/keying/conn.h"
#include "agent/control/keying/exchange.h"
#include "common/clock.h"
#include "common/tls.h"
#include "tests/unit/control/keying/must.h"
#include "tests/unit/control/keying/pair.h"
#include <CUnit/Basic.h>
#include <errno.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

static struct node *const low = &pair.low, *const high = &pair.high;

/* ---- certificates ---- */

static const uint64_t *awaited;
static uint64_t awaited_value;
static bool counted(void)
{
    return *awaited >= awaited_value;
}
static bool wait_count(const uint64_t *counter, uint64_t value)
{
    awaited = counter;
    awaited_value = value;
    return pair_until(counted, 5);
}

/* Low comes with a certificate that high must not take: neither end gets a key. */
static void expect_no_keys(void)
{
    node_start(high);
    node_start(low);
    pair_turns(600);
    CU_ASSERT_FALSE(node_status(low).keyed);
    CU_ASSERT_FALSE(node_status(high).keyed);
    CU_ASSERT_EQUAL(low->dp.count[DP_SA_INSTALL], 0);
    CU_ASSERT_EQUAL(high->dp.count[DP_SA_INSTALL], 0);
    CU_ASSERT(node_status(high).failures > 0);
    CU_ASSERT_EQUAL(node_status(high).state, KEYING_FAILED);
}

static void test_other_ca(void)
{
    struct test_ca other;
    pair_init();
    test_ca_make(&other);
    test_cert_done(&low->cert);
    test_cert_make(&other, &low->id, -3600, 86400, &low->cert);
    expect_no_keys();
    CU_ASSERT(keying_counters(high->keying)->handshake_failed > 0);
    pair_done();
    test_ca_done(&other);
}

static void test_third_gateway(void)
{
    pair_init();
    struct hw_id third = id_new();
    test_cert_done(&low->cert);
    test_cert_make(&pair.ca, &third, -3600, 86400, &low->cert);
    expect_no_keys();
    CU_ASSERT(keying_counters(high->keying)->refused_peer > 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(node_status(high).last_error, "not the peer's"));
    pair_done();
}

static void test_expired(void)
{
    pair_init();
    test_cert_done(&low->cert);
    test_cert_make(&pair.ca, &low->id, -7200, -3600, &low->cert);
    expect_no_keys();
    CU_ASSERT(keying_counters(high->keying)->handshake_failed > 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(node_status(high).last_error, "expired"));
    pair_done();
}

/* Judged by the clock that is trusted, not by the machine's. */
static void test_trusted_time(void)
{
    pair_init();
    test_cert_done(&low->cert);
    test_cert_make(&pair.ca, &low->id, -7200, -3600, &low->cert);
    low->clock_skew = high->clock_skew = -5400;
    test_cert_done(&high->cert);
    test_cert_make(&pair.ca, &high->id, -7200, 3600, &high->cert);
    node_start(high);
    node_start(low);
    CU_ASSERT(pair_until(pair_keyed, 5));
    /* the clock jumps over the end of the certificate by which the keys came */
    high->clock_skew = 0;
    CU_ASSERT_EQUAL(keying_rekey_now(high->keying, &high->link.id, NULL), 0);
    pair_turns(300);
    CU_ASSERT_EQUAL(high->dp.n_sas, 0);
    CU_ASSERT_FALSE(node_status(high).keyed);
    pair_done();
}

static bool low_gone(void)
{
    return high->dp.n_sas == 0 && node_status(high).state != KEYING_CONNECTED;
}

static void test_revoked(void)
{
    pair_init();
    node_start(high);
    node_start(low);
    CU_ASSERT(pair_until(pair_keyed, 5));
    CU_ASSERT_EQUAL(keying_set_denials(high->keying, &low->id, 1, NULL, 0, NULL), 0);
    uint64_t start = clock_mono_ns();
    CU_ASSERT(pair_until(low_gone, 5));
    CU_ASSERT(clock_mono_ns() - start < NS_PER_S);
    CU_ASSERT_TRUE(node_status(high).denied);
    CU_ASSERT(wait_count(&keying_counters(high->keying)->refused_peer, 1));
    pair_turns(300);
    CU_ASSERT_EQUAL(high->dp.n_sas, 0);
    /* lifted again, keys come back */
    CU_ASSERT_EQUAL(keying_set_denials(high->keying, NULL, 0, NULL, 0, NULL), 0);
    CU_ASSERT(pair_until(pair_keyed, 8));
    pair_done();
}

static bool keyed_by_new(void)
{
    return pair_keyed() && node_epoch(high) >= 2;
}

/* The certificate is revoked, the gateway isn't: keys come again with another one. */
static void test_revoked_serial(void)
{
    pair_init();
    node_start(high);
    node_start(low);
    CU_ASSERT(pair_until(pair_keyed, 5));
    const char *serial = low->cert.serial;
    CU_ASSERT_EQUAL(keying_set_denials(high->keying, NULL, 0, &serial, 1, NULL), 0);
    CU_ASSERT(pair_until(low_gone, 5));
    CU_ASSERT(wait_count(&keying_counters(high->keying)->refused_peer, 1));
    struct test_cert fresh;
    test_cert_make(&pair.ca, &low->id, -60, 86400, &fresh);
    CU_ASSERT_EQUAL(
        keying_set_identity(low->keying, fresh.cert_pem, fresh.key_pem, pair.ca.pem, NULL), 0);
    CU_ASSERT(pair_until(keyed_by_new, 12));
    test_cert_done(&fresh);
    pair_done();
}

static bool high_has_none(void)
{
    return high->dp.n_sas == 0;
}

/* The agent was away when its peer's certificate was revoked, and the peer is silent: the SAs tell
 * whose they are. Whether the denials or the dump come first. */
static void test_revoked_serial_after_restart(void)
{
    for (int late = 0; late < 2; late++) {
        pair_init();
        node_start(high);
        node_start(low);
        CU_ASSERT(pair_until(pair_keyed, 5));
        node_stop(low);
        node_stop(high);
        CU_ASSERT(high->dp.n_sas > 0);
        node_start(high);
        const char *serial = low->cert.serial, *other = high->cert.serial;
        CU_ASSERT_EQUAL(keying_set_denials(high->keying, NULL, 0, &other, 1, NULL), 0);
        if (late)
            pair_turns(100);
        CU_ASSERT(high->dp.n_sas > 0);
        CU_ASSERT_EQUAL(keying_set_denials(high->keying, NULL, 0, &serial, 1, NULL), 0);
        CU_ASSERT(pair_until(high_has_none, 1));
        pair_turns(20);
        CU_ASSERT_EQUAL(node_epoch(high), 0);
        pair_done();
    }
}

/* A certificate's end is known after a restart too. */
static void test_expiry_after_restart(void)
{
    pair_init();
    node_start(high);
    node_start(low);
    CU_ASSERT(pair_until(pair_keyed, 5));
    node_stop(low);
    node_stop(high);
    high->clock_skew = 86400 + 60;
    node_start(high);
    CU_ASSERT(pair_until(high_has_none, 2));
    pair_done();
}

/* A renewed certificate disturbs nothing, and the next epoch uses it. */
static void test_renewal(void)
{
    pair_init();
    node_start(high);
    node_start(low);
    CU_ASSERT(pair_until(pair_keyed, 5));
    struct test_cert fresh;
    test_cert_make(&pair.ca, &low->id, -60, 86400, &fresh);
    CU_ASSERT_EQUAL(
        keying_set_identity(low->keying, fresh.cert_pem, fresh.key_pem, pair.ca.pem, NULL), 0);
    pair_turns(50);
    CU_ASSERT_EQUAL(node_epoch(low), 1);
    CU_ASSERT_EQUAL(keying_rekey_now(low->keying, &low->link.id, NULL), 0);
    CU_ASSERT(pair_until(keyed_by_new, 5));
    CU_ASSERT_NOT_EQUAL(keying_set_identity(low->keying, "x", fresh.key_pem, pair.ca.pem, NULL), 0);
    test_cert_done(&fresh);
    pair_done();
}

/* ---- a rogue client at high's port ---- */

struct rogue {
    struct tls_context *tls;
    struct conn *conn;
    unsigned secured, closed, refused, messages;
    int code;
    struct message last;
};
static struct rogue rogue;

static void rogue_secured(void *arg, struct conn *c)
{
    (void)arg;
    (void)c;
    rogue.secured++;
}
static void rogue_message(void *arg, struct conn *c, const struct message *m, const uint8_t *raw,
                          size_t len)
{
    (void)arg;
    (void)c;
    (void)raw;
    (void)len;
    rogue.messages++;
    rogue.refused += m->type == MESSAGE_REFUSE;
    rogue.last = *m;
}
static void rogue_closed(void *arg, struct conn *c, int code, const char *why)
{
    (void)arg;
    (void)c;
    (void)why;
    rogue.closed++;
    rogue.code = code;
    rogue.conn = NULL;
}
static const struct conn_handler rogue_calls = {rogue_secured, rogue_message, rogue_closed};

static bool rogue_is_secured(void)
{
    return rogue.secured > 0 || rogue.closed > 0;
}
static bool rogue_is_closed(void)
{
    return rogue.closed > 0;
}

/* With this certificate (NULL: none) from this address. */
static void rogue_dial(const struct test_cert *cert, const char *from)
{
    struct x509_st *ca, *x = NULL;
    struct evp_pkey_st *key = NULL;
    struct ipaddr local;
    tls_context_free(rogue.tls);
    rogue = (struct rogue){0};
    must(x509_cert_parse(pair.ca.pem, strlen(pair.ca.pem), &ca, NULL) == 0);
    if (cert) {
        must(x509_cert_parse(cert->cert_pem, strlen(cert->cert_pem), &x, NULL) == 0);
        must(x509_key_parse(cert->key_pem, strlen(cert->key_pem), &key, NULL) == 0);
    }
    must(tls_context_new(TLS_CLIENT, ca, x, key, &rogue.tls, NULL) == 0);
    must(ipaddr_parse(from, &local) == 0);
    must(conn_dial(pair.loop, rogue.tls, clock_wall_s(), &local, &high->link.local, PAIR_HIGH_PORT,
                   &rogue_calls, NULL, &rogue.conn, NULL) == 0);
    x509_cert_free(ca);
    x509_cert_free(x);
    x509_key_free(key);
}

static void rogue_end(void)
{
    conn_close(rogue.conn);
    tls_context_free(rogue.tls);
    rogue = (struct rogue){0};
}

/* High alone, so that every connection is the rogue's. */
static void start_high(void)
{
    pair_init();
    node_start(high);
    pair_turns(5);
}

static void test_no_certificate(void)
{
    start_high();
    rogue_dial(NULL, PAIR_LOW_ADDRESS);
    CU_ASSERT(pair_until(rogue_is_closed, 5));
    CU_ASSERT_EQUAL(rogue.code, HW_EAUTH);
    CU_ASSERT(wait_count(&keying_counters(high->keying)->handshake_failed, 1));
    rogue_end();
    pair_done();
}

static void test_foreign_address(void)
{
    start_high();
    rogue_dial(&low->cert, "127.0.0.9");
    CU_ASSERT(pair_until(rogue_is_closed, 5));
    CU_ASSERT_EQUAL(rogue.secured, 0);
    CU_ASSERT(wait_count(&keying_counters(high->keying)->refused_address, 1));
    /* unless a peer is behind NAT, which may come from anywhere */
    high->link.dial = false;
    node_set_config(high);
    rogue_dial(&low->cert, "127.0.0.9");
    CU_ASSERT(pair_until(rogue_is_secured, 5));
    CU_ASSERT_EQUAL(rogue.closed, 0);
    rogue_end();
    pair_done();
}

static struct message good_offer(uint64_t epoch)
{
    struct message m = {.type = MESSAGE_OFFER, .link = high->link.id};
    m.offer = (struct message_offer){.esn = true,
                                     .n = 8,
                                     .n_suites = 1,
                                     .own = low->id,
                                     .peer = high->id,
                                     .boot = {{7}},
                                     .epoch = epoch,
                                     .window = 1024,
                                     .mtu = 1400,
                                     .suites = {ESP_SUITE_AES_256_GCM}};
    for (unsigned i = 0; i < 8; i++)
        m.offer.spi[i] = 5000 + i;
    return m;
}

/* Sends one message as the first and expects to be cut off without an answer. */
static void expect_cut(const void *bytes, size_t len)
{
    uint64_t before = keying_counters(high->keying)->bad_message;
    rogue_dial(&low->cert, PAIR_LOW_ADDRESS);
    CU_ASSERT(pair_until(rogue_is_secured, 5));
    conn_send_bytes(rogue.conn, bytes, len);
    CU_ASSERT(pair_until(rogue_is_closed, 5));
    CU_ASSERT_EQUAL(rogue.messages, 0);
    CU_ASSERT(wait_count(&keying_counters(high->keying)->bad_message, before + 1));
    CU_ASSERT_EQUAL(high->dp.count[DP_SA_INSTALL], 0);
}

static void test_bad_first_messages(void)
{
    uint8_t buf[MESSAGE_MAX] = {0};
    start_high();
    expect_cut(buf, 4); /* unknown type */
    expect_cut("GET / HTTP/1.1\r\n\r\n", 18);
    struct message m = {.type = MESSAGE_READY, .link = high->link.id, .epoch = 1};
    expect_cut(buf, message_encode(&m, buf)); /* out of turn */
    m = good_offer(1);
    m.offer.own = id_new();
    expect_cut(buf, message_encode(&m, buf)); /* in another gateway's name */
    m = good_offer(1);
    m.offer.peer = id_new();
    expect_cut(buf, message_encode(&m, buf)); /* to another gateway */
    m = good_offer(1);
    size_t len = message_encode(&m, buf);
    buf[4] = 9;
    expect_cut(buf, len); /* of another version */
    rogue_end();
    pair_done();
}

static bool rogue_refused(void)
{
    return rogue.refused > 0;
}

static void test_unknown_link(void)
{
    start_high();
    rogue_dial(&low->cert, PAIR_LOW_ADDRESS);
    CU_ASSERT(pair_until(rogue_is_secured, 5));
    struct message m = good_offer(1);
    m.link = id_new();
    conn_send(rogue.conn, &m);
    CU_ASSERT(pair_until(rogue_refused, 5));
    CU_ASSERT_EQUAL(rogue.last.refuse.code, REFUSE_LINK);
    CU_ASSERT(pair_until(rogue_is_closed, 5));
    rogue_end();
    pair_done();
}

static bool rogue_answered(void)
{
    return rogue.messages > 0 || rogue.closed > 0;
}

/* Offers without end, each given up after ACCEPT: nothing piles up. */
static void test_offer_flood(void)
{
    start_high();
    for (uint64_t i = 1; i <= 40; i++) {
        rogue_dial(&low->cert, PAIR_LOW_ADDRESS);
        CU_ASSERT(pair_until(rogue_is_secured, 5));
        struct message m = good_offer(i);
        conn_send(rogue.conn, &m);
        CU_ASSERT(pair_until(rogue_answered, 5));
        CU_ASSERT_EQUAL(rogue.last.type, MESSAGE_ACCEPT);
        CU_ASSERT(high->dp.max_inbound <= 3);
        CU_ASSERT(high->dp.n_sas <= 3 * 16);
        if (i % 2)
            conn_close(rogue.conn);
        else {
            struct message again = good_offer(i + 1);
            conn_send(rogue.conn, &again); /* a second OFFER on one connection */
            CU_ASSERT(pair_until(rogue_is_closed, 5));
        }
        rogue.conn = NULL;
    }
    rogue_end();
    node_start(low);
    CU_ASSERT(pair_until(pair_keyed, 12));
    CU_ASSERT(node_epoch(low) > 40);
    pair_done();
}

/* One WANT a turn; true: the victim has tried more often than its pace lets it. */
static bool wanting_hurries(void)
{
    struct message m = {.type = MESSAGE_WANT, .link = high->link.id, .reason = WANT_NO_KEYS};
    if (rogue.conn)
        conn_send(rogue.conn, &m);
    return node_status(high).failures > awaited_value + 3;
}

/* A peer that asks for keys without end and takes none: high dials it once a second at most. */
static void test_want_flood(void)
{
    start_high();
    rogue_dial(&low->cert, PAIR_LOW_ADDRESS);
    CU_ASSERT(pair_until(rogue_is_secured, 5));
    struct message m = {.type = MESSAGE_HELLO, .link = high->link.id};
    m.hello_mtu = 1400;
    conn_send(rogue.conn, &m);
    CU_ASSERT(pair_until(rogue_answered, 5));
    CU_ASSERT_EQUAL(rogue.last.type, MESSAGE_HELLO);
    awaited_value = node_status(high).failures;
    CU_ASSERT_FALSE(pair_until(wanting_hurries, 2));
    CU_ASSERT_EQUAL(rogue.closed, 0);
    CU_ASSERT(node_status(high).failures > awaited_value);
    rogue_end();
    node_start(low);
    CU_ASSERT(pair_until(pair_keyed, 12));
    pair_done();
}

static bool rogue_accepted(void)
{
    return rogue.last.type == MESSAGE_ACCEPT || rogue.closed > 0;
}

static bool keyed_after_rogue(void)
{
    return pair_keyed() && node_epoch(low) > 500;
}

/* Somebody with the peer's own certificate claims a new dataplane, and gives up after ACCEPT: the
 * old keys are gone by that, and the true peers key anew without waiting for a limit. */
static void test_false_boot(void)
{
    pair_init();
    node_start(high);
    node_start(low);
    CU_ASSERT(pair_until(pair_keyed, 5));
    rogue_dial(&low->cert, PAIR_LOW_ADDRESS);
    CU_ASSERT(pair_until(rogue_is_secured, 5));
    struct message m = good_offer(500);
    conn_send(rogue.conn, &m);
    CU_ASSERT(pair_until(rogue_accepted, 5));
    CU_ASSERT_FALSE(node_status(high).keyed);
    rogue_end();
    CU_ASSERT(pair_until(keyed_after_rogue, 8));
    pair_done();
}

/* The designed derivation, written out by hand: label, and SHA-256(OFFER ‖ ACCEPT) ‖ direction ‖
 * tunnel ‖ SPI. */
static void expect_key(const uint8_t hash[32], uint8_t direction, const struct fake_sa *sa)
{
    uint8_t context[39], key[36];
    must(sa != NULL);
    memcpy(context, hash, 32);
    context[32] = direction;
    context[33] = 0;
    context[34] = (uint8_t)sa->sa.tunnel;
    for (unsigned i = 0; i < 4; i++)
        context[35 + i] = (uint8_t)(sa->sa.spi >> 8 * (3 - i));
    must(conn_export(rogue.conn, "EXPORTER-hawser-esp-v1", context, sizeof context, key, sizeof key,
                     NULL) == 0);
    CU_ASSERT_EQUAL(memcmp(sa->sa.key, key, 32), 0);
    CU_ASSERT_EQUAL(memcmp(sa->sa.salt, key + 32, 4), 0);
}

static void test_derivation(void)
{
    uint8_t both[2 * MESSAGE_MAX], hash[32];
    size_t hash_len;
    start_high();
    rogue_dial(&low->cert, PAIR_LOW_ADDRESS);
    CU_ASSERT(pair_until(rogue_is_secured, 5));
    struct message m = good_offer(3);
    size_t len = message_encode(&m, both);
    conn_send_bytes(rogue.conn, both, len);
    CU_ASSERT_FATAL(pair_until(rogue_accepted, 5));
    len += message_encode(&rogue.last, both + len);
    must(EVP_Q_digest(NULL, "SHA256", NULL, both, len, hash, &hash_len) == 1);
    for (unsigned t = 0; t < 8; t++) {
        expect_key(hash, 0, fake_dataplane_find(&high->dp, &high->link.id, 3, t, DP_DIR_IN));
        expect_key(hash, 1, fake_dataplane_find(&high->dp, &high->link.id, 3, t, DP_DIR_OUT));
    }
    rogue_end();
    pair_done();
}

/* Random frames after a good handshake. */
static void test_noise_inside(void)
{
    start_high();
    srandom(11);
    for (unsigned i = 0; i < 60; i++) {
        rogue_dial(&low->cert, PAIR_LOW_ADDRESS);
        CU_ASSERT(pair_until(rogue_is_secured, 5));
        struct message m = good_offer(100 + i);
        uint8_t buf[MESSAGE_MAX];
        size_t len = message_encode(&m, buf);
        for (unsigned hits = 0; hits < 3; hits++)
            buf[(size_t)random() % len] = (uint8_t)random();
        conn_send_bytes(rogue.conn, buf, len);
        for (unsigned j = 0; j < 64; j++)
            buf[j] = (uint8_t)random();
        conn_send_bytes(rogue.conn, buf, 64);
        (void)pair_until(rogue_answered, 1);
        conn_close(rogue.conn);
        rogue.conn = NULL;
    }
    rogue_end();
    node_start(low);
    CU_ASSERT(pair_until(pair_keyed, 15));
    pair_done();
}

/* ---- plain TCP ---- */

static int tcp_connect(const char *source)
{
    struct sockaddr_storage sa;
    struct ipaddr from;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    must(fd >= 0);
    must(ipaddr_parse(source, &from) == 0);
    socklen_t len = ipaddr_to_sockaddr(&from, 0, &sa);
    must(bind(fd, (struct sockaddr *)&sa, len) == 0);
    len = ipaddr_to_sockaddr(&high->link.local, PAIR_HIGH_PORT, &sa);
    must(connect(fd, (struct sockaddr *)&sa, len) == 0 || errno == EINPROGRESS);
    return fd;
}

static void test_junk(void)
{
    start_high();
    srandom(3);
    for (uint64_t i = 1; i <= 20; i++) {
        uint8_t junk[700];
        for (unsigned j = 0; j < sizeof junk; j++)
            junk[j] = (uint8_t)random();
        int fd = tcp_connect(PAIR_LOW_ADDRESS);
        pair_turns(2);
        CU_ASSERT(send(fd, junk, sizeof junk, MSG_NOSIGNAL) > 0);
        CU_ASSERT(wait_count(&keying_counters(high->keying)->handshake_failed, i));
        (void)close(fd);
    }
    pair_done();
}

/* Silent connections of one address take 8 of the 32 places, and the real peer gets in beside them.
 */
static void test_crowd(void)
{
    int fds[64];
    pair_init();
    must(ipaddr_parse("127.0.0.9", &high->peer.endpoints[high->peer.n_endpoints++]) == 0);
    node_start(high);
    pair_turns(5);
    for (unsigned i = 0; i < 64; i++)
        fds[i] = tcp_connect("127.0.0.9");
    CU_ASSERT(wait_count(&keying_counters(high->keying)->refused_crowd, 56));
    CU_ASSERT_EQUAL(keying_counters(high->keying)->accepted, 8);
    CU_ASSERT_EQUAL(keying_counters(high->keying)->refused_full, 0);
    node_start(low);
    CU_ASSERT(pair_until(pair_keyed, 1));
    for (unsigned i = 0; i < 64; i++)
        (void)close(fds[i]);
    pair_done();
}

/* Silent connections of many addresses take 32 places for 10 s at most; then the real peer gets in.
 */
static void test_flood(void)
{
    static const char *const sources[] = {"127.0.0.9", "127.0.0.10", "127.0.0.11", "127.0.0.12",
                                          "127.0.0.13"};
    int fds[40];
    pair_init();
    for (unsigned i = 0; i < 5; i++)
        must(ipaddr_parse(sources[i], &high->peer.endpoints[high->peer.n_endpoints++]) == 0);
    node_start(high);
    pair_turns(5);
    uint64_t start = clock_mono_ns();
    for (unsigned i = 0; i < 40; i++)
        fds[i] = tcp_connect(sources[i / 8]);
    CU_ASSERT(wait_count(&keying_counters(high->keying)->refused_full, 8));
    CU_ASSERT_EQUAL(keying_counters(high->keying)->accepted, 32);
    awaited = &keying_counters(high->keying)->timed_out;
    awaited_value = 32;
    CU_ASSERT(pair_until(counted, 12));
    uint64_t took = clock_mono_ns() - start;
    CU_ASSERT(took >= 10 * NS_PER_S && took < 11 * NS_PER_S);
    for (unsigned i = 0; i < 40; i++)
        (void)close(fds[i]);
    node_start(low);
    CU_ASSERT(pair_until(pair_keyed, 5));
    pair_done();
}

static bool paused_twice(void)
{
    return keying_counters(high->keying)->paused >= 2;
}

/* No descriptor is left for a connection: the listener rests between its attempts, and keys come
 * when there are some again. */
static void test_out_of_descriptors(void)
{
    int taken[300], n = 0;
    struct rlimit limit, few;
    start_high();
    int fd[4]; /* a descriptor that others give up in the meantime takes one of them */
    for (unsigned i = 0; i < 4; i++)
        fd[i] = tcp_connect(PAIR_LOW_ADDRESS);
    must(getrlimit(RLIMIT_NOFILE, &limit) == 0);
    few = limit;
    few.rlim_cur = 300;
    must(setrlimit(RLIMIT_NOFILE, &few) == 0);
    while (n < 300 && (taken[n] = dup(fd[0])) >= 0)
        n++;
    uint64_t start = clock_mono_ns();
    CU_ASSERT(pair_until(paused_twice, 2));
    CU_ASSERT(clock_mono_ns() - start >= 90 * NS_PER_MS);
    CU_ASSERT(keying_counters(high->keying)->paused <= 3);
    while (n > 0)
        (void)close(taken[--n]);
    must(setrlimit(RLIMIT_NOFILE, &limit) == 0);
    CU_ASSERT(wait_count(&keying_counters(high->keying)->accepted, 4));
    for (unsigned i = 0; i < 4; i++)
        (void)close(fd[i]);
    node_start(low);
    CU_ASSERT(pair_until(pair_keyed, 5));
    pair_done();
}

int main(void)
{
    CU_TestInfo tests[] = {
        {"out of descriptors", test_out_of_descriptors},
        {"certificate of another CA", test_other_ca},
        {"certificate of a third gateway", test_third_gateway},
        {"expired certificate", test_expired},
        {"trusted time", test_trusted_time},
        {"revoked gateway", test_revoked},
        {"revoked certificate", test_revoked_serial},
        {"revoked while the agent was away", test_revoked_serial_after_restart},
        {"ended while the agent was away", test_expiry_after_restart},
        {"renewed certificate", test_renewal},
        {"no certificate", test_no_certificate},
        {"foreign address", test_foreign_address},
        {"bad first messages", test_bad_first_messages},
        {"unknown link", test_unknown_link},
        {"flood of offers", test_offer_flood},
        {"flood of WANT", test_want_flood},
        {"false boot id", test_false_boot},
        {"derivation by hand", test_derivation},
        {"noise inside TLS", test_noise_inside},
        {"junk", test_junk},
        {"silent connections of one address", test_crowd},
        {"silent connections of many", test_flood},
        CU_TEST_INFO_NULL,
    };
    return pair_run("hostile", tests);
}
