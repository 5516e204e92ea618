#include "common/model/diag_result.h"
#include "tests/unit/suite.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct err e;
static char text[DIAG_VERDICT_MAX];
static struct path_trace t;

static struct ipaddr ip(const char *s)
{
    struct ipaddr a = {0};
    CU_ASSERT_EQUAL(ipaddr_parse(s, &a), HW_OK);
    return a;
}

static void start(void)
{
    t = (struct path_trace){.source = ip("10.1.0.1"), .destination = ip("10.2.0.1")};
}

static struct path_hop *add(const char *address, unsigned mtu, enum mtu_source source)
{
    struct path_hop *h = &t.hops[t.n_hops++];
    *h = (struct path_hop){.sent = 3, .mtu = mtu, .mtu_source = source};
    if (address) {
        h->addresses[h->n_addresses++] = ip(address);
        h->answered = 3;
        diag_spread_add(&h->rtt, 0.2);
    }
    return h;
}

static void reach(unsigned mtu, enum mtu_source source)
{
    t.reached = true;
    t.path_mtu = mtu;
    t.mtu_source = source;
}

static void test_verdicts_of_a_path(void)
{
    start();
    add("198.51.100.2", 1500, MTU_DEVICE);
    add("10.2.0.1", 1500, MTU_DEVICE);
    reach(1500, MTU_DEVICE);
    CU_ASSERT_STRING_EQUAL(path_trace_verdict(&t, text), "MTU is 1500 all the way.");
    t.hops[1].mtu = t.path_mtu = 1400;
    t.hops[1].mtu_source = MTU_ICMP;
    CU_ASSERT_STRING_EQUAL(path_trace_verdict(&t, text),
                           "MTU falls from 1500 to 1400 between 198.51.100.2 (hop 1) and 10.2.0.1 "
                           "(hop 2).");
    t.hops[1].mtu_source = MTU_SEARCH;
    (void)snprintf(t.hops[1].name, sizeof t.hops[1].name, "gw-b1");
    CU_ASSERT_STRING_EQUAL(path_trace_verdict(&t, text),
                           "MTU falls from 1500 to 1400 between 198.51.100.2 (hop 1) and gw-b1 "
                           "(hop 2). Nobody says so by ICMP.");
    start();
    add("198.51.100.2", 1500, MTU_DEVICE);
    add(NULL, 0, MTU_UNKNOWN);
    add("198.51.100.10", 1400, MTU_ICMP);
    add("198.51.100.14", 1300, MTU_ICMP);
    add(NULL, 0, MTU_UNKNOWN);
    CU_ASSERT_STRING_EQUAL(
        path_trace_verdict(&t, text),
        "MTU falls from 1500 to 1400 between 198.51.100.2 (hop 1) and 198.51.100.10 (hop 3); from "
        "1400 to 1300 between 198.51.100.10 (hop 3) and 198.51.100.14 (hop 4). Nobody beyond hop 4 "
        "(198.51.100.14) answers.");
}

static void test_verdict_of_a_fall_at_once(void)
{
    start();
    add("10.2.0.1", 1338, MTU_SEARCH);
    reach(1338, MTU_SEARCH);
    CU_ASSERT_STRING_EQUAL(path_trace_verdict(&t, text),
                           "MTU falls to 1338 between 10.1.0.1 (source) and 10.2.0.1 (hop 1). "
                           "Nobody says so by ICMP.");
}

static void test_verdicts_of_an_end(void)
{
    start();
    add(NULL, 0, MTU_UNKNOWN);
    CU_ASSERT_STRING_EQUAL(path_trace_verdict(&t, text), "Nobody answers on the way to 10.2.0.1.");
    start();
    struct path_hop *h = add("198.51.100.2", 1500, MTU_DEVICE);
    (void)snprintf(h->note, sizeof h->note, "host unreachable");
    CU_ASSERT_STRING_EQUAL(path_trace_verdict(&t, text),
                           "198.51.100.2 (hop 1) says: host unreachable.");
}

static void test_both_ways(void)
{
    static struct path_trace back;
    start();
    add("10.2.0.1", 1500, MTU_DEVICE);
    reach(1500, MTU_DEVICE);
    back = t;
    CU_ASSERT_STRING_EQUAL(path_both_verdict(&t, NULL, text), "MTU is 1500 all the way.");
    CU_ASSERT_STRING_EQUAL(path_both_verdict(&t, &back, text),
                           "MTU is 1500 all the way, outward and back.");
    back.path_mtu = 1400;
    CU_ASSERT_STRING_EQUAL(path_both_verdict(&t, &back, text),
                           "Outward: MTU is 1500 all the way. Back: MTU is 1400 all the way.");
}

static char *as_text(void (*put)(struct json_writer *, const void *), const void *what, size_t *len)
{
    struct json_writer w;
    json_writer_init(&w);
    put(&w, what);
    return json_finish(&w, len);
}

static void put_trace(struct json_writer *w, const void *v)
{
    path_trace_put(w, v);
}
static void put_ping(struct json_writer *w, const void *v)
{
    ping_result_put(w, v);
}
static void put_tcp(struct json_writer *w, const void *v)
{
    tcp_result_put(w, v);
}

static struct json_object *parsed(const char *json, size_t len)
{
    struct json_object *doc = NULL;
    CU_ASSERT_EQUAL_FATAL(json_parse(json, len, COMMAND_RESULT_MAX, &doc, &e), HW_OK);
    return doc;
}

static void test_trace_comes_back(void)
{
    static struct path_trace back;
    size_t len;
    start();
    add("198.51.100.2", 1500, MTU_DEVICE);
    add(NULL, 0, MTU_UNKNOWN);
    (void)snprintf(add("10.2.0.1", 1400, MTU_SEARCH)->note, DIAG_NOTE_MAX, "a note");
    reach(1400, MTU_SEARCH);
    char *json = as_text(put_trace, &t, &len);
    struct json_object *doc = parsed(json, len);
    struct json_at top = json_root(doc);
    CU_ASSERT_EQUAL_FATAL(path_trace_get(&top, &back, &e), HW_OK);
    CU_ASSERT_EQUAL(back.n_hops, 3);
    CU_ASSERT_EQUAL(back.hops[1].n_addresses, 0);
    CU_ASSERT_EQUAL(back.hops[2].mtu_source, MTU_SEARCH);
    CU_ASSERT_STRING_EQUAL(back.hops[2].note, "a note");
    CU_ASSERT(back.reached && back.path_mtu == 1400);
    size_t again_len;
    char *again = as_text(put_trace, &back, &again_len);
    CU_ASSERT_STRING_EQUAL(again, json);
    json_free(doc);
    free(json);
    free(again);
}

static void test_ping_and_tcp_come_back(void)
{
    static struct ping_result p, p_back;
    struct tcp_result c = {.source = ip("fd01::1"), .destination = ip("fd02::1"), .port = 443};
    struct tcp_result c_back;
    size_t len;
    p = (struct ping_result){
        .source = ip("10.1.0.1"), .destination = ip("10.2.0.1"), .sent = 2, .received = 1};
    p.replies[0] = (struct ping_reply){.rtt_ms = 0.25, .ttl = 62, .from = ip("10.2.0.1")};
    p.replies[1] = (struct ping_reply){.rtt_ms = -1};
    p.n_replies = 2;
    CU_ASSERT_STRING_EQUAL(ping_verdict(&p, text), "1 of 2 answered, 0.25 ms on average.");
    char *json = as_text(put_ping, &p, &len);
    struct json_object *doc = parsed(json, len);
    struct json_at top = json_root(doc);
    CU_ASSERT_EQUAL(ping_result_get(&top, &p_back, &e), HW_OK);
    CU_ASSERT(p_back.n_replies == 2 && p_back.replies[0].ttl == 62 && p_back.replies[1].rtt_ms < 0);
    json_free(doc);
    free(json);
    c.attempts[0] = (struct tcp_attempt){.outcome = TCP_TIMEOUT, .duration_ms = 100};
    c.attempts[1] = (struct tcp_attempt){.outcome = TCP_REFUSED, .duration_ms = 1};
    c.n_attempts = 2;
    CU_ASSERT_STRING_EQUAL(tcp_verdict(&c, text),
                           "fd02::1 answers, but nothing listens on TCP port 443.");
    json = as_text(put_tcp, &c, &len);
    doc = parsed(json, len);
    top = json_root(doc);
    CU_ASSERT_EQUAL(tcp_result_get(&top, &c_back, &e), HW_OK);
    CU_ASSERT(c_back.n_attempts == 2 && tcp_result_outcome(&c_back) == TCP_REFUSED);
    json_free(doc);
    free(json);
}

static void test_refused(void)
{
    static struct path_trace back;
    static struct ping_result p;
    static const char bad[] = "{\"source_address\":\"10.1.0.1\",\"destination_address\":\"x\"}";
    static const char more[] =
        "{\"source_address\":\"10.1.0.1\",\"destination_address\":\"10.2.0.1\",\"sent\":1,"
        "\"received\":2,\"duplicates\":0,\"replies\":[]}";
    struct json_object *doc = parsed(bad, strlen(bad));
    struct json_at top = json_root(doc);
    CU_ASSERT_EQUAL(path_trace_get(&top, &back, &e), HW_EINVAL);
    json_free(doc);
    doc = parsed(more, strlen(more));
    top = json_root(doc);
    CU_ASSERT_EQUAL(ping_result_get(&top, &p, &e), HW_EINVAL);
    json_free(doc);
}

int main(void)
{
    CU_TestInfo tests[] = {{"path", test_verdicts_of_a_path},
                           {"fall at once", test_verdict_of_a_fall_at_once},
                           {"end", test_verdicts_of_an_end},
                           {"both ways", test_both_ways},
                           {"trace comes back", test_trace_comes_back},
                           {"ping and tcp come back", test_ping_and_tcp_come_back},
                           {"refused", test_refused},
                           CU_TEST_INFO_NULL};
    return suite_run("diag_result", tests);
}
