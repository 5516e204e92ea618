/* esp_out, esp_in and sa together, in both suites, both providers, with and without ESN. That the
 * bytes are what RFC 4303 and 4106 ask for is judged by scapy (packet_judge.py); here it is what is
 * accepted and refused. */
#include "agent/dataplane/esp_in.h"
#include "agent/dataplane/esp_out.h"
#include "agent/dataplane/inner.h"
#include "tests/unit/dataplane/packet_test.h"

static uint8_t buf[70000], wire[70000];

/* An installation of one SA, as the agent would send it. */
static struct dp_sa_install install(uint8_t direction, uint8_t esn)
{
    struct dp_sa_install m = {.epoch = 1,
                              .window = 64,
                              .direction = direction,
                              .esn = esn,
                              .suite = ESP_SUITE_AES_256_GCM,
                              .count = 1};
    m.sa[0].spi = 0x12345678;
    for (unsigned i = 0; i < 32; i++)
        m.sa[0].key[i] = (uint8_t)(i * 7);
    memcpy(m.sa[0].salt, "salt", 4);
    return m;
}

static struct sa *make(const struct dp_sa_install *m, size_t provider)
{
    struct sa *sa = NULL;
    CU_ASSERT_EQUAL_FATAL(sa_new(aead_provider_at(provider), m, 0, 0, &sa, NULL), 0);
    return sa;
}

struct ends {
    struct sa *out, *in;
    struct sa_table table;
};
static void ends_new(struct ends *e, size_t provider, uint8_t esn)
{
    struct dp_sa_install out = install(DP_DIR_OUT, esn), in = install(DP_DIR_IN, esn);
    e->out = make(&out, provider);
    e->in = make(&in, provider);
    CU_ASSERT_EQUAL_FATAL(sa_table_init(&e->table, 4, NULL), 0);
    CU_ASSERT_EQUAL(sa_table_add(&e->table, e->in), 0);
}
static void ends_free(struct ends *e)
{
    sa_table_done(&e->table);
    sa_free(e->out);
    sa_free(e->in);
}

static enum drop_reason receive(struct ends *e, uint8_t *dgram, size_t len, struct esp_opened *o)
{
    struct sa *sa = NULL;
    enum drop_reason why = esp_in_find(&e->table, dgram, len, &sa);
    return why != DROP_NONE ? why : esp_in_open(sa, dgram, len, dgram + ESP_HEAD, o);
}

/* Seals `len` bytes of a pattern into wire and returns the datagram's length. */
static size_t send_pattern(struct ends *e, size_t len, uint8_t next_header)
{
    for (size_t i = 0; i < len + 16; i++)
        buf[i] = (uint8_t)(i * 13);
    CU_ASSERT_EQUAL_FATAL(esp_out_seal(e->out, buf, len, next_header, wire), DROP_NONE);
    return esp_out_len(len);
}

static void test_every_length(void)
{
    for (size_t provider = 0; provider < 2; provider++)
        for (uint8_t esn = 0; esn < 2; esn++) {
            struct ends e;
            ends_new(&e, provider, esn);
            for (size_t len = 20; len < 3000; len += len < 200 ? 1 : 117) {
                struct esp_opened o;
                size_t n = send_pattern(&e, len, IP_PROTO_IPV4_IN);
                CU_ASSERT_EQUAL(n % 4, 0);
                CU_ASSERT_EQUAL(n, esp_packet_len(esp_suite_by_id(ESP_SUITE_AES_256_GCM), len));
                for (size_t i = 0; i < len + 16; i++) /* borrowed bytes were put back */
                    if (buf[i] != (uint8_t)(i * 13))
                        CU_FAIL_FATAL("source changed");
                CU_ASSERT_EQUAL_FATAL(receive(&e, wire, n, &o), DROP_NONE);
                CU_ASSERT_EQUAL(o.len, len);
                CU_ASSERT_EQUAL(o.next_header, IP_PROTO_IPV4_IN);
                CU_ASSERT_EQUAL(memcmp(o.data, buf, len), 0);
            }
            ends_free(&e);
        }
}

/* A packet opened in one place is sealed again in the same place: what a transit does. */
static void test_in_place(void)
{
    struct ends e;
    ends_new(&e, 0, 1);
    uint8_t *dgram = wire;
    for (size_t len = 40; len < 100; len++) {
        struct esp_opened o;
        for (size_t i = 0; i < len; i++)
            dgram[ESP_HEAD + i] = (uint8_t)i;
        CU_ASSERT_EQUAL(esp_out_seal(e.out, dgram + ESP_HEAD, len, IP_PROTO_IPV6_IN, dgram),
                        DROP_NONE);
        CU_ASSERT_EQUAL_FATAL(receive(&e, dgram, esp_out_len(len), &o), DROP_NONE);
        CU_ASSERT_EQUAL(o.next_header, IP_PROTO_IPV6_IN);
        CU_ASSERT_EQUAL(esp_out_seal(e.out, o.data, o.len, o.next_header, dgram), DROP_NONE);
        CU_ASSERT_EQUAL_FATAL(receive(&e, dgram, esp_out_len(len), &o), DROP_NONE);
        for (size_t i = 0; i < len; i++)
            CU_ASSERT_EQUAL(o.data[i], i);
    }
    ends_free(&e);
}

static void test_layout_and_counter(void)
{
    struct ends e;
    ends_new(&e, 0, 1);
    e.out->seq = 0xffffffff;
    (void)send_pattern(&e, 100, IP_PROTO_IPV4_IN);
    CU_ASSERT_EQUAL(test_get32(wire), 0x12345678);
    CU_ASSERT_EQUAL(test_get32(wire + 4), 0);
    CU_ASSERT_EQUAL(test_get32(wire + 8), 1);
    CU_ASSERT_EQUAL(test_get32(wire + 12), 0);
    ends_free(&e);
}

static void test_what_is_no_esp(void)
{
    struct ends e;
    struct esp_opened o;
    ends_new(&e, 0, 1);
    uint8_t keepalive[60] = {0xff}, ike[60] = {0}, stranger[60] = {9, 9, 9, 9};
    CU_ASSERT_EQUAL(receive(&e, keepalive, 1, &o), DROP_NAT_KEEPALIVE);
    CU_ASSERT_EQUAL(receive(&e, ike, sizeof ike, &o), DROP_IKE);
    CU_ASSERT_EQUAL(receive(&e, stranger, sizeof stranger, &o), DROP_ESP_UNKNOWN_SPI);
    size_t n = send_pattern(&e, 20, IP_PROTO_IPV4_IN);
    for (size_t len = 0; len < ESP_HEAD + 4 + ESP_ICV_LEN; len++)
        CU_ASSERT_EQUAL(receive(&e, wire, len, &o), DROP_ESP_SHORT);
    CU_ASSERT_EQUAL(receive(&e, wire, n - 1, &o), DROP_ESP_SHORT);
    ends_free(&e);
}

static void test_changed_bytes_and_replays(void)
{
    for (size_t provider = 0; provider < 2; provider++) {
        struct ends e;
        struct esp_opened o;
        ends_new(&e, provider, 1);
        static uint8_t copy[2000];
        size_t n = send_pattern(&e, 60, IP_PROTO_IPV4_IN);
        memcpy(copy, wire, n);
        for (size_t i = 4; i < n; i++) { /* from the sequence number on */
            memcpy(wire, copy, n);
            wire[i] ^= 0x80;
            CU_ASSERT_EQUAL(receive(&e, wire, n, &o), DROP_ESP_AUTH);
        }
        CU_ASSERT_EQUAL(e.in->auth_failures, n - 4);
        CU_ASSERT_EQUAL(e.in->packets, 0);
        CU_ASSERT_EQUAL(sa_take_events(e.in), 0);
        memcpy(wire, copy, n);
        CU_ASSERT_EQUAL(receive(&e, wire, n, &o), DROP_NONE);
        CU_ASSERT_EQUAL(sa_take_events(e.in), SA_EVENT_FIRST);
        memcpy(wire, copy, n);
        CU_ASSERT_EQUAL(receive(&e, wire, n, &o), DROP_ESP_REPLAY);
        CU_ASSERT_EQUAL(e.in->replays, 1);
        CU_ASSERT_EQUAL(sa_take_events(e.in), 0);
        ends_free(&e);
    }
}

/* The high half is never on the wire, but authenticated: a packet from one subspace further fails.
 */
static void test_esn_is_authenticated(void)
{
    struct ends e;
    struct esp_opened o;
    ends_new(&e, 0, 1);
    e.out->seq = UINT64_C(5) << 32;
    size_t n = send_pattern(&e, 60, IP_PROTO_IPV4_IN);
    CU_ASSERT_EQUAL(receive(&e, wire, n, &o), DROP_ESP_AUTH);
    replay_commit(&e.in->replay, UINT64_C(5) << 32);
    n = send_pattern(&e, 60, IP_PROTO_IPV4_IN);
    CU_ASSERT_EQUAL(receive(&e, wire, n, &o), DROP_NONE);
    CU_ASSERT_EQUAL(o.seq, (UINT64_C(5) << 32) + 2);
    ends_free(&e);
}

/* Seals text with a trailer of its own making. */
static enum drop_reason receive_text(struct ends *e, const uint8_t *text, size_t len)
{
    uint64_t seq = ++e->out->seq;
    uint8_t nonce[12], aad[12];
    struct esp_opened o;
    memcpy(nonce, e->out->salt, 4);
    test_put32(nonce + 4, 0);
    test_put32(nonce + 8, (uint32_t)seq);
    test_put32(wire, e->out->spi);
    test_put32(wire + 4, (uint32_t)seq);
    memcpy(wire + 8, nonce + 4, 8);
    test_put32(aad, e->out->spi);
    test_put32(aad + 4, 0);
    test_put32(aad + 8, (uint32_t)seq);
    struct aead_op op = {
        .src = text, .dst = wire + 16, .len = len, .nonce = nonce, .aad = aad, .aad_len = 12};
    e->out->aead->seal(e->out->key, &op, wire + 16 + len);
    return receive(e, wire, 16 + len + 16, &o);
}

static void test_trailers(void)
{
    struct ends e;
    ends_new(&e, 0, 1);
    static const struct {
        uint8_t text[8];
        enum drop_reason why;
    } rows[] = {
        {{9, 9, 9, 9, 9, 9, 0, 4}, DROP_NONE},
        {{9, 9, 1, 2, 3, 4, 4, 41}, DROP_NONE}, /* more padding than needed is allowed */
        {{1, 2, 3, 4, 5, 6, 6, 4}, DROP_NONE},
        {{9, 9, 1, 2, 3, 5, 4, 4}, DROP_ESP_PADDING},
        {{9, 9, 0, 1, 2, 3, 4, 4}, DROP_ESP_PADDING},
        {{1, 2, 3, 4, 5, 6, 7, 4}, DROP_ESP_PADDING}, /* longer than the text */
        {{9, 9, 9, 9, 9, 9, 255, 4}, DROP_ESP_PADDING},
        {{9, 9, 9, 9, 9, 9, 0, 17}, DROP_ESP_PADDING}, /* transport mode is not spoken */
        {{9, 9, 9, 9, 9, 9, 0, 59}, DROP_ESP_DUMMY},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        CU_ASSERT_EQUAL(receive_text(&e, rows[i].text, 8), rows[i].why);
    ends_free(&e);
}

static void test_limits(void)
{
    struct dp_sa_install m = install(DP_DIR_OUT, 1);
    m.soft_packets = 3;
    m.hard_packets = 5;
    struct sa *sa = make(&m, 0);
    static const uint8_t events[] = {0, 0, SA_EVENT_SOFT, 0, SA_EVENT_HARD};
    for (size_t i = 0; i < 5; i++) {
        CU_ASSERT_EQUAL(esp_out_seal(sa, buf, 40, 4, wire), DROP_NONE);
        CU_ASSERT_EQUAL(sa_take_events(sa), events[i]);
    }
    CU_ASSERT_EQUAL(esp_out_seal(sa, buf, 40, 4, wire), DROP_ESP_SEQ_EXHAUSTED);
    CU_ASSERT_EQUAL(sa->seq, 5);
    sa_free(sa);
    m = install(DP_DIR_OUT, 1);
    m.soft_bytes = 100;
    m.hard_bytes = 80; /* a soft limit over the hard one is the hard one */
    sa = make(&m, 0);
    CU_ASSERT_EQUAL(esp_out_seal(sa, buf, 79, 4, wire), DROP_NONE);
    CU_ASSERT_EQUAL(sa_take_events(sa), 0);
    CU_ASSERT_EQUAL(esp_out_seal(sa, buf, 40, 4, wire), DROP_NONE);
    CU_ASSERT_EQUAL(sa_take_events(sa), SA_EVENT_SOFT | SA_EVENT_HARD);
    CU_ASSERT_TRUE(sa_exhausted(sa));
    sa_free(sa);
}

/* Without ESN the number 2^32 − 1 is the last, whatever the limits say. */
static void test_sequence_numbers_end(void)
{
    struct dp_sa_install m = install(DP_DIR_OUT, 0);
    struct sa *sa = make(&m, 0);
    sa->seq = sa->packets = UINT32_MAX - 2;
    CU_ASSERT_EQUAL(esp_out_seal(sa, buf, 40, 4, wire), DROP_NONE);
    CU_ASSERT_EQUAL(esp_out_seal(sa, buf, 40, 4, wire), DROP_NONE);
    CU_ASSERT_EQUAL(test_get32(wire + 4), UINT32_MAX);
    CU_ASSERT_EQUAL(esp_out_seal(sa, buf, 40, 4, wire), DROP_ESP_SEQ_EXHAUSTED);
    sa_free(sa);
}

static void test_installation_is_checked(void)
{
    struct sa *sa = NULL;
    struct dp_sa_install m = install(DP_DIR_IN, 1);
    m.suite = 99;
    CU_ASSERT_EQUAL(sa_new(aead_provider_at(0), &m, 0, 0, &sa, NULL), HW_EINVAL);
    m = install(DP_DIR_IN, 1);
    m.window = 100;
    CU_ASSERT_EQUAL(sa_new(aead_provider_at(0), &m, 0, 0, &sa, NULL), HW_EINVAL);
    CU_ASSERT_PTR_NULL(sa);
    m = install(DP_DIR_IN, 1);
    m.hard_seconds = 10;
    CU_ASSERT_EQUAL(sa_new(aead_provider_at(0), &m, 0, 5, &sa, NULL), 0);
    CU_ASSERT_EQUAL(sa->expires_ns, 10000000005u);
    sa_free(sa);
    sa_free(NULL);
}

int main(void)
{
    if (aead_init(NULL) != 0)
        return 2;
    CU_TestInfo tests[] = {{"every length", test_every_length},
                           {"in place", test_in_place},
                           {"layout and counter", test_layout_and_counter},
                           {"what is no ESP", test_what_is_no_esp},
                           {"changed bytes and replays", test_changed_bytes_and_replays},
                           {"ESN is authenticated", test_esn_is_authenticated},
                           {"trailers", test_trailers},
                           {"limits", test_limits},
                           {"sequence numbers end", test_sequence_numbers_end},
                           {"installation is checked", test_installation_is_checked},
                           CU_TEST_INFO_NULL};
    return packet_test_run("esp", tests);
}
