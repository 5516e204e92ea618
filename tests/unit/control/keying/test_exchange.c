/* One exchange without network, dataplane or clock: every order, every loss, every refusal. */
#include "agent/control/keying/exchange.h"
#include "common/clock.h"
#include "common/err.h"
#include "common/esp_suite.h"
#include <CUnit/Basic.h>
#include <string.h>

#define T0 (1000 * NS_PER_S)

static struct hw_id id_of(uint8_t b)
{
    struct hw_id id;
    memset(id.b, b, sizeof id.b);
    return id;
}

/* Gateway `own` (1 or 2) on link 9. */
static struct exchange_terms terms_of(uint8_t own, uint64_t epoch)
{
    struct exchange_terms t = {.link = id_of(9),
                               .own = id_of(own),
                               .peer = id_of((uint8_t)(3 - own)),
                               .boot = id_of((uint8_t)(own + 0x40)),
                               .epoch = epoch,
                               .n = 8,
                               .esn = true,
                               .window = 8192,
                               .mtu = 1438,
                               .suites = {ESP_SUITE_AES_256_GCM, ESP_SUITE_AES_128_GCM},
                               .n_suites = 2};
    for (unsigned i = 0; i < t.n; i++)
        t.spi[i] = 0x1000u * own + i;
    return t;
}

struct wire {
    uint8_t raw[MESSAGE_MAX];
    size_t len;
    struct message m;
};

/* What the exchange wants sent, decoded as the other end would. */
static struct wire sent(const struct exchange *x)
{
    struct wire w = {.len = x->out_len};
    memcpy(w.raw, x->out, x->out_len);
    CU_ASSERT_EQUAL_FATAL(message_decode(w.raw, w.len, &w.m, NULL), 0);
    return w;
}

static unsigned deliver(struct exchange *x, const struct wire *w)
{
    return exchange_message(x, &w->m, w->raw, w->len, T0);
}

static struct wire refuse(uint16_t code)
{
    struct wire w = {.m = {.type = MESSAGE_REFUSE, .link = id_of(9)}};
    w.m.refuse.code = code;
    w.len = message_encode(&w.m, w.raw);
    return w;
}

/* Both ends up to the responder's ACCEPT, not delivered yet. */
static struct wire until_accept(struct exchange *i, struct exchange *r, uint64_t epoch_i,
                                uint64_t epoch_r)
{
    struct exchange_terms ti = terms_of(1, epoch_i), tr = terms_of(2, epoch_r);
    CU_ASSERT_EQUAL(exchange_begin(i, &ti, T0), EXCHANGE_SEND);
    struct wire offer = sent(i);
    CU_ASSERT_EQUAL(exchange_respond(r, &tr, &offer.m, offer.raw, offer.len, T0), EXCHANGE_INSTALL);
    CU_ASSERT_EQUAL(exchange_installed(r, 0, "", T0), 0);
    CU_ASSERT_EQUAL(exchange_installed(r, 0, "", T0), EXCHANGE_SEND);
    return sent(r);
}

static void test_whole(void)
{
    struct exchange i, r;
    struct wire accept = until_accept(&i, &r, 5, 9);
    CU_ASSERT_EQUAL(accept.m.type, MESSAGE_ACCEPT);
    CU_ASSERT_EQUAL(accept.m.offer.epoch, 9); /* max(both) */
    CU_ASSERT_EQUAL(deliver(&i, &accept), EXCHANGE_INSTALL);
    CU_ASSERT_EQUAL(exchange_installed(&i, 0, "", T0), 0);
    CU_ASSERT_EQUAL(exchange_installed(&i, 0, "", T0), EXCHANGE_SWITCH);
    CU_ASSERT_EQUAL(exchange_switched(&i, 0, ""), EXCHANGE_SEND | EXCHANGE_DONE);
    struct wire ready = sent(&i);
    CU_ASSERT_EQUAL(ready.m.type, MESSAGE_READY);
    CU_ASSERT_EQUAL(deliver(&r, &ready), EXCHANGE_SWITCH);
    CU_ASSERT_EQUAL(exchange_switched(&r, 0, ""), EXCHANGE_DONE);

    CU_ASSERT_EQUAL(i.epoch, r.epoch);
    CU_ASSERT_EQUAL(memcmp(i.hash, r.hash, sizeof i.hash), 0);
    CU_ASSERT_EQUAL(memcmp(i.peer_spi, r.terms.spi, 8 * 4), 0);
    CU_ASSERT_EQUAL(memcmp(r.peer_spi, i.terms.spi, 8 * 4), 0);
    CU_ASSERT(id_equal(&i.peer_boot, &r.terms.boot));
    CU_ASSERT(id_equal(&r.peer_boot, &i.terms.boot));
}

static void test_negotiation(void)
{
    struct exchange i, r;
    struct exchange_terms ti = terms_of(1, 1), tr = terms_of(2, 1);
    tr.n = 3;
    tr.window = 1024;
    tr.esn = false;
    tr.suites[0] = ESP_SUITE_AES_128_GCM;
    tr.n_suites = 1;
    (void)exchange_begin(&i, &ti, T0);
    struct wire offer = sent(&i);
    CU_ASSERT_EQUAL(exchange_respond(&r, &tr, &offer.m, offer.raw, offer.len, T0),
                    EXCHANGE_INSTALL);
    (void)exchange_installed(&r, 0, "", T0);
    (void)exchange_installed(&r, 0, "", T0);
    struct wire accept = sent(&r);
    CU_ASSERT_EQUAL(deliver(&i, &accept), EXCHANGE_INSTALL);
    CU_ASSERT_EQUAL(i.n, 3);
    CU_ASSERT_EQUAL(i.window, 1024);
    CU_ASSERT_FALSE(i.esn);
    CU_ASSERT_EQUAL(i.suite, ESP_SUITE_AES_128_GCM);
    tr.suites[0] = 77;
    CU_ASSERT_EQUAL(exchange_respond(&r, &tr, &offer.m, offer.raw, offer.len, T0), EXCHANGE_FAIL);
    CU_ASSERT_EQUAL(r.refuse_code, REFUSE_SUITE);
    CU_ASSERT_FALSE(r.installed);
}

/* What is chosen where each end would ask for another of two that both allow. */
static uint8_t agreed(uint8_t first, uint8_t second, uint8_t other_first, uint8_t other_second)
{
    struct exchange i, r;
    struct exchange_terms ti = terms_of(1, 1), tr = terms_of(2, 1);
    ti.suites[0] = first;
    ti.suites[1] = second;
    tr.suites[0] = other_first;
    tr.suites[1] = other_second;
    (void)exchange_begin(&i, &ti, T0);
    struct wire offer = sent(&i);
    CU_ASSERT_EQUAL(exchange_respond(&r, &tr, &offer.m, offer.raw, offer.len, T0),
                    EXCHANGE_INSTALL);
    return r.suite;
}

static void test_stricter_end(void)
{
    enum { A256 = ESP_SUITE_AES_256_GCM, A128 = ESP_SUITE_AES_128_GCM, NONE = ESP_SUITE_NONE };
    CU_ASSERT_EQUAL(agreed(A128, A256, A128, A256), A128);
    CU_ASSERT_EQUAL(agreed(A128, A256, A256, A128), A256);
    CU_ASSERT_EQUAL(agreed(A256, A128, A128, A256), A256);
    CU_ASSERT_EQUAL(agreed(NONE, A128, A128, A256), A128);
    CU_ASSERT_EQUAL(agreed(A128, A256, NONE, A128), A128);
    CU_ASSERT_EQUAL(agreed(NONE, A256, A256, A128), A256);
    CU_ASSERT_EQUAL(agreed(NONE, A256, NONE, A256), NONE);
}

/* One byte of OFFER or ACCEPT other than the peer saw, and no key is the same. */
static void test_hash(void)
{
    struct exchange i, r;
    struct wire accept = until_accept(&i, &r, 1, 1);
    accept.m.offer.features = 1;
    accept.len = message_encode(&accept.m, accept.raw);
    CU_ASSERT_EQUAL(deliver(&i, &accept), EXCHANGE_INSTALL);
    CU_ASSERT_NOT_EQUAL(memcmp(i.hash, r.hash, sizeof i.hash), 0);
}

static void expect_bad_accept(void (*damage)(struct message_offer *))
{
    struct exchange i, r;
    struct wire accept = until_accept(&i, &r, 4, 4);
    damage(&accept.m.offer);
    accept.len = message_encode(&accept.m, accept.raw);
    CU_ASSERT_EQUAL(deliver(&i, &accept), EXCHANGE_FAIL);
    CU_ASSERT_FALSE(i.installed);
}

static void other_peer(struct message_offer *o)
{
    o->own = id_of(5);
}
static void other_own(struct message_offer *o)
{
    o->peer = id_of(5);
}
static void other_suite(struct message_offer *o)
{
    o->suites[0] = 9;
}
static void more_tunnels(struct message_offer *o)
{
    for (unsigned i = 8; i < 20; i++)
        o->spi[i] = 0x9000 + i;
    o->n = 20;
}
static void older_epoch(struct message_offer *o)
{
    o->epoch = 3;
}

static void test_bad_accept(void)
{
    expect_bad_accept(other_peer);
    expect_bad_accept(other_own);
    expect_bad_accept(other_suite);
    expect_bad_accept(more_tunnels);
    expect_bad_accept(older_epoch);
}

/* The initiator needs its connection until ACCEPT has come, the responder until it is sent. */
static void test_loss_initiator(void)
{
    struct exchange i, r;
    struct wire accept = until_accept(&i, &r, 1, 1);
    CU_ASSERT_EQUAL(exchange_closed(&i, "lost"), EXCHANGE_FAIL);
    CU_ASSERT_FALSE(i.installed);

    accept = until_accept(&i, &r, 1, 1);
    CU_ASSERT_EQUAL(deliver(&i, &accept), EXCHANGE_INSTALL);
    CU_ASSERT_EQUAL(exchange_closed(&i, "lost"), 0);
    (void)exchange_installed(&i, 0, "", T0);
    CU_ASSERT_EQUAL(exchange_installed(&i, 0, "", T0), EXCHANGE_SWITCH);
    CU_ASSERT_EQUAL(exchange_closed(&i, "lost"), 0);
    CU_ASSERT_EQUAL(exchange_switched(&i, 0, ""), EXCHANGE_SEND | EXCHANGE_DONE);
    CU_ASSERT_FALSE(i.connected);
}

static void test_loss_responder(void)
{
    struct exchange i, r;
    struct exchange_terms ti = terms_of(1, 1), tr = terms_of(2, 1);
    (void)exchange_begin(&i, &ti, T0);
    struct wire offer = sent(&i);
    (void)exchange_respond(&r, &tr, &offer.m, offer.raw, offer.len, T0);
    CU_ASSERT_EQUAL(exchange_closed(&r, "lost"), EXCHANGE_FAIL);
    CU_ASSERT_TRUE(r.installed); /* so the epoch is retired */

    (void)until_accept(&i, &r, 1, 1);
    CU_ASSERT_EQUAL(exchange_closed(&r, "lost"), EXCHANGE_PENDING);

    (void)until_accept(&i, &r, 1, 1);
    CU_ASSERT_EQUAL(exchange_first_rx(&r, T0), EXCHANGE_SWITCH);
    CU_ASSERT_EQUAL(exchange_closed(&r, "lost"), 0);
    CU_ASSERT_EQUAL(exchange_switched(&r, 0, ""), EXCHANGE_DONE);
}

static void test_first_packet_before_ready(void)
{
    struct exchange i, r;
    struct wire accept = until_accept(&i, &r, 1, 1);
    (void)deliver(&i, &accept);
    (void)exchange_installed(&i, 0, "", T0);
    (void)exchange_installed(&i, 0, "", T0);
    (void)exchange_switched(&i, 0, "");
    struct wire ready = sent(&i);
    CU_ASSERT_EQUAL(exchange_first_rx(&r, T0), EXCHANGE_SWITCH);
    CU_ASSERT_EQUAL(exchange_first_rx(&r, T0), 0);
    CU_ASSERT_EQUAL(deliver(&r, &ready), 0); /* no second switch */
    CU_ASSERT_EQUAL(exchange_switched(&r, 0, ""), EXCHANGE_DONE);
}

static void test_deadlines(void)
{
    struct exchange i, r;
    struct wire accept = until_accept(&i, &r, 1, 1);
    CU_ASSERT_EQUAL(i.deadline_ns, T0 + 10 * NS_PER_S);
    CU_ASSERT_EQUAL(exchange_expired(&i), EXCHANGE_FAIL);
    CU_ASSERT_EQUAL(exchange_expired(&r), EXCHANGE_PENDING);

    accept = until_accept(&i, &r, 1, 1);
    (void)deliver(&i, &accept);
    CU_ASSERT_EQUAL(exchange_expired(&i), EXCHANGE_FAIL); /* the dataplane is stuck */
    CU_ASSERT_TRUE(i.installed);
    CU_ASSERT_EQUAL(exchange_expired(&i), 0);
}

static void test_dataplane_refuses(void)
{
    struct exchange i, r;
    struct exchange_terms ti = terms_of(1, 1), tr = terms_of(2, 1);
    (void)exchange_begin(&i, &ti, T0);
    struct wire offer = sent(&i);
    (void)exchange_respond(&r, &tr, &offer.m, offer.raw, offer.len, T0);
    CU_ASSERT_EQUAL(exchange_installed(&r, HW_EFAIL, "full", T0), EXCHANGE_FAIL);
    CU_ASSERT_EQUAL(r.refuse_code, REFUSE_DATAPLANE);
    CU_ASSERT_EQUAL(exchange_installed(&r, 0, "", T0), 0); /* the other ack comes late */

    struct wire accept = until_accept(&i, &r, 1, 1);
    (void)deliver(&i, &accept);
    (void)exchange_installed(&i, 0, "", T0);
    CU_ASSERT_EQUAL(exchange_installed(&i, HW_EFAIL, "full", T0), EXCHANGE_FAIL);

    accept = until_accept(&i, &r, 1, 1);
    (void)deliver(&i, &accept);
    (void)exchange_installed(&i, 0, "", T0);
    (void)exchange_installed(&i, 0, "", T0);
    CU_ASSERT_EQUAL(exchange_switched(&i, HW_EFAIL, "no"), EXCHANGE_FAIL);
}

static void test_out_of_turn(void)
{
    struct exchange i, r;
    struct wire accept = until_accept(&i, &r, 1, 1);
    CU_ASSERT_EQUAL(deliver(&r, &accept), EXCHANGE_FAIL); /* ACCEPT to the responder */

    accept = until_accept(&i, &r, 1, 1);
    (void)deliver(&i, &accept);
    CU_ASSERT_EQUAL(deliver(&i, &accept), EXCHANGE_FAIL); /* ACCEPT twice */

    (void)until_accept(&i, &r, 1, 1);
    struct wire ready = {.m = {.type = MESSAGE_READY, .link = id_of(9), .epoch = 2}};
    CU_ASSERT_EQUAL(deliver(&r, &ready), EXCHANGE_FAIL); /* of another epoch */

    (void)until_accept(&i, &r, 1, 1);
    ready.m.link = id_of(8);
    ready.m.epoch = 1;
    CU_ASSERT_EQUAL(deliver(&r, &ready), EXCHANGE_FAIL); /* of another link */

    (void)until_accept(&i, &r, 1, 1);
    struct wire offer = {.m = {.type = MESSAGE_OFFER, .link = id_of(9)}};
    CU_ASSERT_EQUAL(deliver(&r, &offer), EXCHANGE_FAIL); /* a second OFFER on the same connection */
    struct wire no = refuse(REFUSE_LINK);
    (void)until_accept(&i, &r, 1, 1);
    CU_ASSERT_EQUAL(deliver(&r, &no), EXCHANGE_FAIL);
    CU_ASSERT_EQUAL(deliver(&i, &no), EXCHANGE_FAIL);
    CU_ASSERT_FALSE(i.collided);
}

/* Gateways 1 and 2 offer at once; whichever OFFER is looked at first, exchange 1 goes on and 2
 * gives way. */
static void collide(bool lower_first)
{
    struct exchange low, high, responder;
    struct exchange_terms tl = terms_of(1, 5), th = terms_of(2, 8);
    (void)exchange_begin(&low, &tl, T0);
    (void)exchange_begin(&high, &th, T0);
    struct wire ol = sent(&low), oh = sent(&high);
    struct wire no = refuse(REFUSE_COLLISION);
    if (lower_first) {
        CU_ASSERT_TRUE(exchange_yields(&high, &ol.m.offer));
        CU_ASSERT_FALSE(exchange_yields(&low, &oh.m.offer));
    } else {
        CU_ASSERT_FALSE(exchange_yields(&low, &oh.m.offer));
        CU_ASSERT_EQUAL(deliver(&high, &no), EXCHANGE_FAIL);
        CU_ASSERT_TRUE(high.collided); /* no failure of its own */
    }
    CU_ASSERT_EQUAL(exchange_respond(&responder, &th, &ol.m, ol.raw, ol.len, T0), EXCHANGE_INSTALL);
    CU_ASSERT_EQUAL(responder.epoch, 8); /* max(both) */
    (void)exchange_installed(&responder, 0, "", T0);
    (void)exchange_installed(&responder, 0, "", T0);
    struct wire accept = sent(&responder);
    CU_ASSERT_EQUAL(deliver(&low, &accept), EXCHANGE_INSTALL);
    CU_ASSERT_EQUAL(low.epoch, 8);
}

static void test_collision(void)
{
    collide(true);
    collide(false);
}

static void test_yields(void)
{
    struct exchange i, r;
    struct wire accept = until_accept(&i, &r, 1, 1);
    struct message_offer theirs = accept.m.offer;
    CU_ASSERT_TRUE(exchange_yields(&r, &theirs)); /* the initiator began anew */
    (void)deliver(&i, &accept);
    CU_ASSERT_FALSE(exchange_yields(&i, &theirs)); /* it had accepted */
    theirs.boot = id_of(0x77);
    CU_ASSERT_TRUE(exchange_yields(&i, &theirs)); /* and has rebooted since */
}

static void test_last_epoch(void)
{
    struct exchange i, r;
    struct exchange_terms ti = terms_of(1, 1), tr = terms_of(2, MESSAGE_EPOCH_MAX + 1);
    (void)exchange_begin(&i, &ti, T0);
    struct wire offer = sent(&i);
    CU_ASSERT_EQUAL(exchange_respond(&r, &tr, &offer.m, offer.raw, offer.len, T0), EXCHANGE_FAIL);
    CU_ASSERT_EQUAL(r.refuse_code, REFUSE_EPOCH);
}

int main(void)
{
    CU_initialize_registry();
    CU_pSuite s = CU_add_suite("exchange", NULL, NULL);
    CU_add_test(s, "whole exchange", test_whole);
    CU_add_test(s, "negotiation", test_negotiation);
    CU_add_test(s, "the stricter end wins", test_stricter_end);
    CU_add_test(s, "hash over both messages", test_hash);
    CU_add_test(s, "ACCEPT of what wasn't offered", test_bad_accept);
    CU_add_test(s, "connection lost, initiator", test_loss_initiator);
    CU_add_test(s, "connection lost, responder", test_loss_responder);
    CU_add_test(s, "first packet before READY", test_first_packet_before_ready);
    CU_add_test(s, "deadlines", test_deadlines);
    CU_add_test(s, "dataplane refuses", test_dataplane_refuses);
    CU_add_test(s, "messages out of turn", test_out_of_turn);
    CU_add_test(s, "collision, both orders", test_collision);
    CU_add_test(s, "who gives way", test_yields);
    CU_add_test(s, "no higher epoch", test_last_epoch);
    CU_basic_run_tests();
    unsigned failed = CU_get_number_of_failures();
    CU_cleanup_registry();
    return failed != 0;
}
