/* Keying messages: layout by hand-written bytes, every truncation, every field's limits, random
 * damage. */
#include "agent/control/keying/message.h"
#include "common/bytes.h"
#include <CUnit/Basic.h>
#include <stdlib.h>
#include <string.h>

static struct hw_id id_of(uint8_t b)
{
    struct hw_id id;
    memset(id.b, b, sizeof id.b);
    return id;
}

static struct message sample_offer(enum message_type type, unsigned n)
{
    struct message m = {.type = type, .link = id_of(1)};
    m.offer = (struct message_offer){.esn = true,
                                     .n = (uint8_t)n,
                                     .n_suites = type == MESSAGE_OFFER ? 2 : 1,
                                     .own = id_of(2),
                                     .peer = id_of(3),
                                     .boot = id_of(4),
                                     .epoch = 0x0102030405060708,
                                     .window = 8192,
                                     .mtu = 1438,
                                     .suites = {1, 2}};
    for (unsigned i = 0; i < n; i++)
        m.offer.spi[i] = 0x10000 + i;
    return m;
}

static struct message sample(enum message_type type)
{
    struct message m = {.type = type, .link = id_of(9)};
    switch (type) {
    case MESSAGE_OFFER:
    case MESSAGE_ACCEPT:
        return sample_offer(type, 8);
    case MESSAGE_WANT:
        m.reason = WANT_LIMIT;
        break;
    case MESSAGE_MTU:
        m.mtu.mtu = 1400;
        m.mtu.prefix = (struct prefix){.addr = {.family = 4, .b = {10, 1}}, .len = 16};
        break;
    case MESSAGE_REFUSE:
        m.refuse.code = REFUSE_SUITE;
        strcpy(m.refuse.text, "no suite in common");
        break;
    default:
        m.epoch = 77;
        m.hello_mtu = 1438;
        break;
    }
    return m;
}

static void test_layout(void)
{
    uint8_t buf[MESSAGE_MAX];
    struct message m = sample_offer(MESSAGE_OFFER, 2);
    size_t len = message_encode(&m, buf);
    CU_ASSERT_EQUAL(len, 4 + 4 + 64 + 8 + 4 + 4 + 8 + 2 + 8);
    static const uint8_t head[] = {0, 1, 0, 102, 1, 1, 2, 2, 1, 1};
    CU_ASSERT_EQUAL(memcmp(buf, head, sizeof head), 0);
    CU_ASSERT_EQUAL(buf[4 + 4 + 16], 2); /* own */
    CU_ASSERT_EQUAL(buf[4 + 4 + 32], 3); /* peer */
    CU_ASSERT_EQUAL(buf[4 + 4 + 48], 4); /* boot */
    CU_ASSERT_EQUAL(load_be64(buf + 72), 0x0102030405060708);
    CU_ASSERT_EQUAL(load_be32(buf + 80), 8192);
    CU_ASSERT_EQUAL(load_be32(buf + 84), 1438);
    CU_ASSERT_EQUAL(load_be64(buf + 88), 0);
    CU_ASSERT_EQUAL(load_be16(buf + 96), 0x0102); /* suites in order */
    CU_ASSERT_EQUAL(load_be32(buf + 98), 0x10000);
    CU_ASSERT_EQUAL(load_be32(buf + 102), 0x10001);
}

static void test_round_trip(void)
{
    for (unsigned type = MESSAGE_OFFER; type <= MESSAGE_REFUSE; type++) {
        struct message m = sample((enum message_type)type), got;
        uint8_t buf[MESSAGE_MAX], again[MESSAGE_MAX];
        size_t len = message_encode(&m, buf), total = 0;
        CU_ASSERT_EQUAL(message_frame(buf, &total, NULL), 0);
        CU_ASSERT_EQUAL(total, len);
        CU_ASSERT_EQUAL_FATAL(message_decode(buf, len, &got, NULL), 0);
        CU_ASSERT(id_equal(&got.link, &m.link));
        CU_ASSERT_EQUAL(message_encode(&got, again), len);
        CU_ASSERT_EQUAL(memcmp(buf, again, len), 0);
    }
    struct message big = sample_offer(MESSAGE_OFFER, HW_TUNNELS_PER_LINK_MAX);
    uint8_t buf[MESSAGE_MAX];
    CU_ASSERT(message_encode(&big, buf) <= MESSAGE_MAX);
}

/* At every byte, from a heap block of exactly that size, so that a sanitizer sees a read too far.
 */
static void test_truncation(void)
{
    for (unsigned type = MESSAGE_OFFER; type <= MESSAGE_REFUSE; type++) {
        struct message m = sample((enum message_type)type), got;
        uint8_t buf[MESSAGE_MAX];
        size_t len = message_encode(&m, buf);
        for (size_t cut = 0; cut < len; cut++) {
            uint8_t *part = malloc(cut ? cut : 1);
            CU_ASSERT_PTR_NOT_NULL_FATAL(part);
            memcpy(part, buf, cut);
            CU_ASSERT_EQUAL(message_decode(part, cut, &got, NULL), HW_EPROTO);
            /* and with a header that claims the shorter length */
            if (cut >= MESSAGE_HEADER_LEN) {
                store_be16(part + 2, (uint16_t)(cut - MESSAGE_HEADER_LEN));
                int rc = message_decode(part, cut, &got, NULL);
                bool shorter_text = type == MESSAGE_REFUSE && cut >= MESSAGE_HEADER_LEN + 18;
                CU_ASSERT_EQUAL(rc, shorter_text ? 0 : HW_EPROTO);
            }
            free(part);
        }
        memset(buf + len, 0, 8);
        CU_ASSERT_EQUAL(message_decode(buf, len + 1, &got, NULL), HW_EPROTO);
        store_be16(buf + 2, (uint16_t)(len - MESSAGE_HEADER_LEN + 4));
        if (type != MESSAGE_REFUSE)
            CU_ASSERT_EQUAL(message_decode(buf, len + 4, &got, NULL), HW_EPROTO);
    }
}

/* Writes `value` of `width` bytes at `at` into a good OFFER (or ACCEPT) and expects a refusal. */
static void expect_bad(enum message_type type, size_t at, unsigned width, uint64_t value)
{
    struct message m = sample_offer(type, 8), got;
    uint8_t buf[MESSAGE_MAX];
    size_t len = message_encode(&m, buf);
    for (unsigned i = 0; i < width; i++)
        buf[at + i] = (uint8_t)(value >> 8 * (width - 1 - i));
    struct err e;
    CU_ASSERT_EQUAL(message_decode(buf, len, &got, &e), HW_EPROTO);
    CU_ASSERT(strncmp(e.text, message_name(type), strlen(message_name(type))) == 0);
}

static void test_ranges(void)
{
    expect_bad(MESSAGE_OFFER, 4, 1, 2); /* version */
    expect_bad(MESSAGE_OFFER, 5, 1, 2); /* flags */
    expect_bad(MESSAGE_OFFER, 6, 1, 0); /* n */
    expect_bad(MESSAGE_OFFER, 6, 1, 51);
    expect_bad(MESSAGE_OFFER, 7, 1, 0); /* suites */
    expect_bad(MESSAGE_OFFER, 7, 1, 17);
    expect_bad(MESSAGE_ACCEPT, 7, 1, 2);
    expect_bad(MESSAGE_OFFER, 72, 8, 0); /* epoch */
    expect_bad(MESSAGE_OFFER, 72, 8, MESSAGE_EPOCH_MAX + 1);
    expect_bad(MESSAGE_OFFER, 80, 4, 0); /* window */
    expect_bad(MESSAGE_OFFER, 80, 4, 100);
    expect_bad(MESSAGE_OFFER, 80, 4, 16384);
    expect_bad(MESSAGE_OFFER, 84, 4, 575); /* MTU */
    expect_bad(MESSAGE_OFFER, 84, 4, 65522);
    expect_bad(MESSAGE_OFFER, 96, 1, 0); /* suite 0, a suite twice */
    expect_bad(MESSAGE_OFFER, 96, 2, 0x0101);
    expect_bad(MESSAGE_OFFER, 98, 4, 255); /* reserved SPI, an SPI twice */
    expect_bad(MESSAGE_OFFER, 98, 4, 0x10001);
}

/* Ids of zeros, and a link of a gateway with itself. */
static void test_ids(void)
{
    uint8_t buf[MESSAGE_MAX];
    struct message got;
    for (unsigned which = 0; which < 4; which++) {
        struct message m = sample_offer(MESSAGE_OFFER, 1);
        size_t len = message_encode(&m, buf);
        memset(buf + 8 + 16 * which, 0, 16);
        CU_ASSERT_EQUAL(message_decode(buf, len, &got, NULL), HW_EPROTO);
    }
    struct message m = sample_offer(MESSAGE_OFFER, 1);
    m.offer.peer = m.offer.own;
    size_t len = message_encode(&m, buf);
    CU_ASSERT_EQUAL(message_decode(buf, len, &got, NULL), HW_EPROTO);
}

static void test_mtu_prefix(void)
{
    static const struct {
        struct prefix p;
        uint32_t mtu;
        int rc;
    } rows[] = {
        {{.addr = {.family = 4, .b = {10, 1, 2}}, .len = 24}, 1400, 0},
        {{.addr = {.family = 4, .b = {10, 1, 2}}, .len = 16}, 1400, HW_EPROTO},
        {{.addr = {.family = 4, .b = {10}}, .len = 33}, 1400, HW_EPROTO},
        {{.addr = {.family = 5, .b = {10}}, .len = 8}, 1400, HW_EPROTO},
        {{.addr = {.family = 6, .b = {0xfd}}, .len = 8}, 1280, 0},
        {{.addr = {.family = 6, .b = {0xfd}}, .len = 129}, 1280, HW_EPROTO},
        {{.addr = {.family = 4, .b = {0}}, .len = 0}, 575, HW_EPROTO},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct message m = {.type = MESSAGE_MTU, .link = id_of(1)}, got;
        m.mtu.mtu = rows[i].mtu;
        m.mtu.prefix = rows[i].p;
        uint8_t buf[MESSAGE_MAX];
        size_t len = message_encode(&m, buf);
        CU_ASSERT_EQUAL(message_decode(buf, len, &got, NULL), rows[i].rc);
    }
}

/* What a peer writes into a log or a status must not carry control characters. */
static void test_refuse_text(void)
{
    struct message m = {.type = MESSAGE_REFUSE, .link = id_of(1)}, got;
    m.refuse.code = 300;
    strcpy(m.refuse.text, "a\n\x1b[1mb\xff");
    uint8_t buf[MESSAGE_MAX];
    size_t len = message_encode(&m, buf);
    CU_ASSERT_EQUAL_FATAL(message_decode(buf, len, &got, NULL), 0);
    CU_ASSERT_STRING_EQUAL(got.refuse.text, "a??[1mb?");
    CU_ASSERT_EQUAL(got.refuse.code, 300);
}

/* Random damage to good messages, and plain noise: never a crash, and what passes encodes back to
 * the same bytes. */
static void test_noise(void)
{
    srandom(4510);
    unsigned passed = 0;
    for (unsigned round = 0; round < 200000; round++) {
        uint8_t buf[MESSAGE_MAX], again[MESSAGE_MAX];
        struct message m = sample((enum message_type)(1 + random() % 8)), got;
        size_t len = message_encode(&m, buf);
        for (long hits = random() % 4; hits >= 0; hits--)
            buf[(size_t)random() % len] = (uint8_t)random();
        if (random() % 8 == 0)
            len = (size_t)random() % (len + 1);
        uint8_t *exact = malloc(len ? len : 1);
        CU_ASSERT_PTR_NOT_NULL_FATAL(exact);
        memcpy(exact, buf, len);
        if (message_decode(exact, len, &got, NULL) == 0) {
            passed++;
            if (got.type != MESSAGE_REFUSE) {
                CU_ASSERT_EQUAL(message_encode(&got, again), len);
                CU_ASSERT_EQUAL(memcmp(exact, again, len), 0);
            }
        }
        free(exact);
    }
    CU_ASSERT(passed > 1000);
}

int main(void)
{
    CU_initialize_registry();
    CU_pSuite s = CU_add_suite("message", NULL, NULL);
    CU_add_test(s, "layout", test_layout);
    CU_add_test(s, "round trip", test_round_trip);
    CU_add_test(s, "truncation at every byte", test_truncation);
    CU_add_test(s, "ranges", test_ranges);
    CU_add_test(s, "ids", test_ids);
    CU_add_test(s, "prefixes of MTU", test_mtu_prefix);
    CU_add_test(s, "text of REFUSE", test_refuse_text);
    CU_add_test(s, "noise", test_noise);
    CU_basic_run_tests();
    unsigned failed = CU_get_number_of_failures();
    CU_cleanup_registry();
    return failed != 0;
}
