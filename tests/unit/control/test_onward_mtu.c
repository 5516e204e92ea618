/* Route MTUs over more than one hop. */
#include "agent/control/gateway_state.h"
#include "agent/control/onward_mtu.h"
#include "tests/unit/control/sample_config.h"
#include "tests/unit/suite.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct {
    unsigned n;
    struct hw_id link;
    char prefix[PREFIX_TEXT_MAX];
    uint32_t mtu;
    int answer;
} told;

static int tell(void *arg, const struct hw_id *link, const struct prefix *p, uint32_t mtu)
{
    (void)arg;
    told.n++;
    told.link = *link;
    (void)prefix_text(p, told.prefix);
    told.mtu = mtu;
    return told.answer;
}

static struct prefix prefix(const char *text)
{
    struct prefix p;
    if (prefix_parse(text, &p, NULL) < 0)
        abort();
    return p;
}

static const uint32_t even[] = {1438, 1438, 1438};

static void test_heard_limit(void)
{
    struct sample s = {.links = 2, .remote_prefixes = 4};
    struct gateway_config c = sample_config(&s);
    struct onward_table heard = {0};
    struct hw_id link = sample_link_id(1);
    struct prefix p = prefix("10.100.1.0/24");
    struct gateway_state plain, limited;
    struct gateway_facts mtus = {.own_mtus = even, .mtus = even, .heard = &heard};
    CU_ASSERT_EQUAL_FATAL(gateway_state_of_config(&c, 1, &mtus, &plain, NULL), 0);
    CU_ASSERT(!plain.fib_limited);
    CU_ASSERT(onward_set(&heard, &link, &p, 1300));
    CU_ASSERT_EQUAL_FATAL(gateway_state_of_config(&c, 1, &mtus, &limited, NULL), 0);
    CU_ASSERT(limited.fib_limited);
    unsigned changed = 0;
    for (size_t i = 0; i < limited.n_routes; i++)
        if (limited.routes[i].mtu != plain.routes[i].mtu) {
            changed++;
            CU_ASSERT(prefix_equal(&limited.routes[i].prefix, &p));
            CU_ASSERT_EQUAL(limited.routes[i].mtu, 1300);
        }
    CU_ASSERT_EQUAL(changed, 1);
    CU_ASSERT_EQUAL(limited.links[1].mtu, 1438); /* the tunnel itself carries what it did */
    CU_ASSERT_EQUAL(plain.fib_len, limited.fib_len);
    CU_ASSERT_NOT_EQUAL(memcmp(plain.fib, limited.fib, plain.fib_len), 0);
    CU_ASSERT_EQUAL(dp_fib_validate(limited.fib, limited.fib_len, NULL), 0);
    gateway_state_done(&plain);
    gateway_state_done(&limited);
    onward_table_done(&heard);
    gateway_config_done(&c);
}

/* A site's interface that takes less than the tunnel: told once, and its end as well. */
static void test_site_limit(void)
{
    struct sample s = {.links = 1, .remote_prefixes = 1};
    struct gateway_config c = sample_config(&s);
    struct onward_table heard = {0}, said = {0};
    told.n = 0;
    onward_tell(&c, 0, even, 1500, &heard, &said, tell, NULL);
    onward_tell(&c, 0, even, 0, &heard, &said, tell, NULL);
    CU_ASSERT_EQUAL(told.n, 0);
    told.answer = HW_EAGAIN; /* no connection: not noted as said */
    onward_tell(&c, 0, even, 1300, &heard, &said, tell, NULL);
    told.answer = 0;
    onward_tell(&c, 0, even, 1300, &heard, &said, tell, NULL);
    CU_ASSERT_EQUAL(told.n, 2);
    CU_ASSERT_STRING_EQUAL(told.prefix, "10.1.0.0/16");
    CU_ASSERT_EQUAL(told.mtu, 1300);
    onward_tell(&c, 0, even, 1300, &heard, &said, tell, NULL);
    CU_ASSERT_EQUAL(told.n, 2);
    onward_tell(&c, 0, even, 9000, &heard, &said, tell, NULL);
    CU_ASSERT_EQUAL(told.n, 3);
    CU_ASSERT_EQUAL(told.mtu, 1438);
    onward_tell(&c, 0, even, 9000, &heard, &said, tell, NULL);
    CU_ASSERT_EQUAL(told.n, 3);
    onward_table_done(&said);
    gateway_config_done(&c);
}

/* A transit passes on what it heard, to the others alone; and its own smaller link counts too. */
static void test_transit(void)
{
    static const uint32_t uneven[] = {8938, 1438, 8938};
    struct sample s = {.links = 3, .remote_prefixes = 3, .transit = true};
    struct gateway_config c = sample_config(&s);
    struct onward_table heard = {0}, said = {0};
    struct hw_id one = sample_link_id(1);
    struct prefix p = prefix("10.100.1.0/24");
    told.n = 0;
    onward_tell(&c, 0, uneven, 9000, &heard, &said, tell, NULL);
    CU_ASSERT_EQUAL(told.n, 1);
    CU_ASSERT_STRING_EQUAL(told.prefix, "10.100.1.0/24");
    CU_ASSERT_EQUAL(told.mtu, 1438);
    (void)onward_set(&heard, &one, &p, 1200);
    onward_tell(&c, 0, uneven, 9000, &heard, &said, tell, NULL);
    CU_ASSERT_EQUAL(told.n, 2);
    CU_ASSERT_EQUAL(told.mtu, 1200);
    onward_tell(&c, 1, uneven, 9000, &heard, &said, tell, NULL);
    CU_ASSERT_EQUAL(told.n, 2);
    onward_table_done(&heard);
    onward_table_done(&said);
    gateway_config_done(&c);
}

static void test_concerns(void)
{
    struct sample s = {.links = 2, .remote_prefixes = 4};
    struct gateway_config c = sample_config(&s);
    struct hw_id zero = sample_link_id(0), one = sample_link_id(1), unknown = id_new();
    struct prefix p = prefix("10.100.1.0/24"), q = prefix("10.100.0.0/16");
    CU_ASSERT(onward_concerns(&c, &one, &p));
    CU_ASSERT(!onward_concerns(&c, &zero, &p));
    CU_ASSERT(!onward_concerns(&c, &one, &q));
    CU_ASSERT(!onward_concerns(&c, &unknown, &p));
    gateway_config_done(&c);
}

/* On a new connection a peer says all again; what it leaves out is over. */
static void test_stale(void)
{
    struct sample s = {.links = 2, .remote_prefixes = 4};
    struct gateway_config c = sample_config(&s);
    struct onward_table t = {0};
    struct hw_id zero = sample_link_id(0), one = sample_link_id(1), gone = id_new();
    struct prefix p = prefix("10.100.1.0/24"), q = prefix("10.100.3.0/24");
    (void)onward_set(&t, &one, &p, 1300);
    (void)onward_set(&t, &one, &q, 1300);
    (void)onward_set(&t, &zero, &p, 1300);
    CU_ASSERT(!onward_drop_stale(&t, &c));
    onward_mark_stale(&t, &one);
    CU_ASSERT(!onward_set(&t, &one, &p, 1300));
    CU_ASSERT_EQUAL(onward_get(&t, &one, &q), 1300); /* counts until it is dropped */
    CU_ASSERT(onward_drop_stale(&t, &c));
    CU_ASSERT_EQUAL(onward_get(&t, &one, &p), 1300);
    CU_ASSERT_EQUAL(onward_get(&t, &one, &q), 0);
    CU_ASSERT_EQUAL(onward_get(&t, &zero, &p), 1300);
    (void)onward_set(&t, &gone, &p, 1300);
    CU_ASSERT(onward_drop_stale(&t, &c));
    CU_ASSERT_EQUAL(t.n, 2);
    onward_forget(&t, &one);
    CU_ASSERT_EQUAL(t.n, 1);
    onward_table_done(&t);
    gateway_config_done(&c);
}

/* Against a plain array. */
static void test_table(void)
{
    enum { LINKS = 5, PREFIXES = 40 };
    static uint32_t model[LINKS][PREFIXES];
    struct onward_table t = {0};
    for (unsigned round = 0; round < 2000; round++) {
        unsigned l = rand_below(LINKS), n = rand_below(PREFIXES);
        uint32_t mtu = 1000 + rand_below(3);
        char text[PREFIX_TEXT_MAX];
        (void)snprintf(text, sizeof text, n % 2 ? "10.%u.0.0/16" : "fd00:%u::/32", n);
        struct hw_id link = sample_link_id(l);
        struct prefix p = prefix(text);
        CU_ASSERT_EQUAL(onward_get(&t, &link, &p), model[l][n]);
        CU_ASSERT_EQUAL(onward_set(&t, &link, &p, mtu), model[l][n] != mtu);
        model[l][n] = mtu;
    }
    CU_ASSERT(t.n <= (size_t)LINKS * PREFIXES);
    onward_table_done(&t);
}

int main(void)
{
    CU_TestInfo tests[] = {
        {"a limit that was heard", test_heard_limit},
        {"the site's own limit", test_site_limit},
        {"a transit passes limits on", test_transit},
        {"only routes of ours", test_concerns},
        {"said again or over", test_stale},
        {"the table", test_table},
        CU_TEST_INFO_NULL,
    };
    return suite_run("onward_mtu", tests);
}
