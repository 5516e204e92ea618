/* A ruleset in the kernel, in a namespace between a site and a peer of our own; packets and
 * Debian's nft are the judges. */
#include "agent/control/firewall/table.h"
#include "tests/unit/control/netns.h"
#include "tests/unit/suite.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct err e;
static char site[32], peer[32];

static struct prefix net(const char *text)
{
    struct prefix p = {0};
    CU_ASSERT_EQUAL(prefix_parse(text, &p, NULL), 0);
    return p;
}

static struct hw_id id(unsigned n)
{
    return (struct hw_id){.b = {(uint8_t)(n >> 8), (uint8_t)n, 1}};
}

static void make_host(const char *host, const char *device, unsigned n)
{
    CU_ASSERT_EQUAL_FATAL(
        netns_sh("set -e; ip addr add 10.%u.0.1/24 dev %s; ip addr add fd0%u::1/64 dev %s nodad;"
                 "ip link set %s up; ip -n %s link set lo up; ip -n %s link set e up;"
                 "ip -n %s addr add 10.%u.0.2/24 dev e; ip -n %s addr add fd0%u::2/64 dev e nodad",
                 n, device, n, device, device, host, host, host, n, host, n),
        0);
    CU_ASSERT_EQUAL_FATAL(netns_sh("set -e; ip -n %s route add default via 10.%u.0.1;"
                                   "ip -n %s route add default via fd0%u::1",
                                   host, n, host, n),
                          0);
}

/* Two hosts and this namespace, which forwards between them: `site` behind eth0, `peer` behind an
 * interface that is called as the TUN device is. */
static void make_hosts(void)
{
    (void)snprintf(site, sizeof site, "hwx-firewall-s%d", (int)getpid());
    (void)snprintf(peer, sizeof peer, "hwx-firewall-p%d", (int)getpid());
    CU_ASSERT_EQUAL_FATAL(
        netns_sh("set -e; ip netns add %s; ip netns add %s;"
                 "ip link add eth0 type veth peer name e netns %s;"
                 "ip link add " HW_TUN_NAME " type veth peer name e netns %s;"
                 "sysctl -qw net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1",
                 site, peer, site, peer),
        0);
    make_host(site, "eth0", 1);
    make_host(peer, HW_TUN_NAME, 2);
}

static bool pings(const char *from, const char *to)
{
    return netns_sh("ip netns exec %s ping -n -c 1 -W 1 %s >/dev/null", from, to) == 0;
}

/* Once the interfaces are up. */
static bool reaches(const char *from, const char *to)
{
    return netns_sh("for i in 1 2 3 4 5 6 7 8 9; do"
                    " ip netns exec %s ping -n -c 1 -W 1 %s >/dev/null && exit 0; done; exit 1",
                    from, to) == 0;
}

/* One datagram to each port; whether it arrives is seen by the counters. */
static void send_udp(const char *from, const char *to, unsigned first, unsigned last)
{
    CU_ASSERT_EQUAL(
        netns_sh("ip netns exec %s " FIREWALL_TRAFFIC " udp %s %u %u", from, to, first, last), 0);
}

static uint64_t now;

/* Long after the last time. */
static int look(struct firewall_table *t)
{
    now += UINT64_C(3600) * 1000000000;
    return firewall_table_look(t, now, &e);
}

static struct firewall_report seen(struct firewall_table *t)
{
    struct firewall_report r = {0};
    CU_ASSERT_EQUAL(look(t), 0);
    CU_ASSERT_EQUAL(firewall_table_report(t, &r, &e), 0);
    return r;
}

static uint64_t packets_of(const struct firewall_report *r, const struct hw_id *rule)
{
    for (size_t i = 0; i < r->n_rules; i++)
        if (id_equal(&r->rules[i].rule_id, rule))
            return r->rules[i].count.packets;
    return UINT64_MAX;
}

static struct prefix branch, branch6, data;

/* UDP 53 and 60–69 of either family to the branch, logged; nothing else of UDP; ping by base. */
static struct firewall_rule rules[] = {
    {.allow = true,
     .log = true,
     .protocol = FIREWALL_UDP,
     .destination_ports = {{53, 53}, {60, 69}},
     .n_destination_ports = 2},
    {.protocol = FIREWALL_UDP, .destination = {.prefixes = &data, .n_prefixes = 1}},
    {.allow = true, .protocol = FIREWALL_ICMP, .source = {.prefixes = &branch6, .n_prefixes = 1}},
};

static struct firewall ruleset(void)
{
    branch = net("10.1.0.0/24");
    branch6 = net("fd01::/64");
    data = net("10.2.0.0/16");
    for (unsigned i = 0; i < 3; i++)
        rules[i].id = id(i + 1);
    return (struct firewall){
        .present = true, .ruleset_id = id(9), .rules = rules, .n_rules = 3, .base_allow = false};
}

static void rules_decide_and_count(void)
{
    struct firewall f = ruleset();
    struct firewall_table *t;
    CU_ASSERT_EQUAL_FATAL(firewall_table_new(&t, &e), 0);
    CU_ASSERT(reaches(site, "10.2.0.2") && reaches(site, "fd02::2"));
    CU_ASSERT_EQUAL_FATAL(firewall_table_apply(t, &f, &e), 0);
    send_udp(site, "10.2.0.2", 50, 71);
    send_udp(site, "fd02::2", 60, 64);
    CU_ASSERT_FALSE(pings(site, "10.2.0.2"));
    CU_ASSERT(pings(site, "fd02::2"));
    struct firewall_report r = seen(t);
    CU_ASSERT(r.applied);
    CU_ASSERT_EQUAL(packets_of(&r, &rules[0].id), 11 + 5);
    CU_ASSERT_EQUAL(packets_of(&r, &rules[1].id), 22 - 11);
    CU_ASSERT_EQUAL(packets_of(&r, &rules[2].id), 1);
    CU_ASSERT_EQUAL(r.base.packets, 1);
    /* The echo reply, and the site's port-unreachable errors. */
    CU_ASSERT(r.established.packets >= 1);
    firewall_report_done(&r);
    firewall_table_free(t);
}

/* The agent that comes after finds the table, and a change of rules keeps what they counted. */
static void counters_go_on(void)
{
    struct firewall f = ruleset();
    struct firewall_table *t;
    CU_ASSERT_EQUAL_FATAL(firewall_table_new(&t, &e), 0);
    CU_ASSERT_EQUAL_FATAL(firewall_table_apply(t, &f, &e), 0);
    struct firewall_report r = seen(t);
    CU_ASSERT_EQUAL(r.n_rules, 3);
    CU_ASSERT_EQUAL(packets_of(&r, &rules[0].id), 16);
    firewall_table_told(t);
    firewall_report_done(&r);
    r = seen(t);
    CU_ASSERT_EQUAL(r.n_rules, 0); /* nothing new */
    firewall_report_done(&r);
    f.n_rules = 2;
    rules[0].destination_ports[0].last = 54;
    CU_ASSERT_EQUAL_FATAL(firewall_table_apply(t, &f, &e), 0);
    send_udp(site, "10.2.0.2", 54, 54);
    r = seen(t);
    CU_ASSERT_EQUAL(r.n_rules, 1);
    CU_ASSERT_EQUAL(packets_of(&r, &rules[0].id), 17);
    CU_ASSERT_EQUAL(r.base.packets, 1);
    firewall_report_done(&r);
    firewall_table_free(t);
}

static void connections_of_allowed_rules_stand(void)
{
    struct firewall f = ruleset();
    struct firewall_rule one = {
        .id = id(5),
        .allow = true,
        .protocol = FIREWALL_TCP,
        .source = {.prefixes = &branch, .n_prefixes = 1},
        .source_ports = {{40000, 40000}},
        .destination_ports = {{7000, 7000}},
        .n_source_ports = 1,
        .n_destination_ports = 1,
    };
    struct firewall_table *t;
    f.rules = &one;
    f.n_rules = 1;
    CU_ASSERT_EQUAL_FATAL(firewall_table_new(&t, &e), 0);
    CU_ASSERT_EQUAL_FATAL(firewall_table_apply(t, &f, &e), 0);
    CU_ASSERT_EQUAL(
        netns_sh("ip netns exec %s " FIREWALL_TRAFFIC " serve %s 10.2.0.2 7000 40000", peer, site),
        0);
    struct firewall_report r = seen(t);
    CU_ASSERT_EQUAL(packets_of(&r, &one.id), 1);
    CU_ASSERT(r.established.packets >= 4);
    firewall_report_done(&r);
    firewall_table_free(t);
}

/* Name and comment stay when the table is flushed, and everything would pass. */
static void what_is_flushed_is_seen_and_comes_back(void)
{
    static const char *const ways[] = {"flush chain inet hawser_firewall edge",
                                       "flush table inet hawser_firewall",
                                       "flush map inet hawser_firewall v4_ports_0"};
    struct firewall f = ruleset();
    struct firewall_table *t, *next;
    CU_ASSERT_EQUAL_FATAL(firewall_table_new(&t, &e), 0);
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        CU_ASSERT_EQUAL_FATAL(firewall_table_apply(t, &f, &e), 0);
        CU_ASSERT_EQUAL(look(t), 0);
        CU_ASSERT_FALSE(pings(site, "10.2.0.2"));
        CU_ASSERT_EQUAL_FATAL(netns_sh("nft %s", ways[i]), 0);
        CU_ASSERT_EQUAL(look(t), HW_ENOTFOUND);
        CU_ASSERT_EQUAL_FATAL(firewall_table_apply(t, &f, &e), 0);
        CU_ASSERT_EQUAL(look(t), 0);
        CU_ASSERT_FALSE(pings(site, "10.2.0.2"));
    }
    /* Nor does a new agent take a hollow one for whole. */
    CU_ASSERT_EQUAL_FATAL(netns_sh("nft %s", ways[0]), 0);
    CU_ASSERT_EQUAL_FATAL(firewall_table_new(&next, &e), 0);
    CU_ASSERT_EQUAL_FATAL(firewall_table_apply(next, &f, &e), 0);
    CU_ASSERT_EQUAL(look(next), 0);
    CU_ASSERT_FALSE(pings(site, "10.2.0.2"));
    firewall_table_free(next);
    firewall_table_free(t);
}

static void what_fails_leaves_the_table(void)
{
    struct firewall f = ruleset();
    struct firewall_table *t;
    static struct prefix many[2][64];
    CU_ASSERT_EQUAL_FATAL(firewall_table_new(&t, &e), 0);
    CU_ASSERT_EQUAL_FATAL(firewall_table_apply(t, &f, &e), 0);
    for (unsigned i = 0; i < 64; i++) {
        struct ipaddr a = {.family = 4, .b = {10, 0, 0, (uint8_t)(2 * i)}};
        many[0][i] = many[1][i] = prefix_of_host(&a);
    }
    struct firewall_rule large = {
        .protocol = FIREWALL_UDP,
        .source = {.prefixes = many[0], .n_prefixes = 64},
        .destination = {.prefixes = many[1], .n_prefixes = 64},
        .n_source_ports = 1,
        .n_destination_ports = 5,
    };
    for (unsigned i = 0; i < 5; i++)
        large.destination_ports[i] = (struct firewall_ports){(uint16_t)(2 * i), (uint16_t)(2 * i)};
    f.rules = &large;
    f.n_rules = 1;
    CU_ASSERT_EQUAL(firewall_table_apply(t, &f, &e), HW_ETOOBIG);
    struct firewall_report r = seen(t);
    CU_ASSERT_FALSE(r.applied);
    CU_ASSERT_PTR_NOT_NULL(strstr(r.error, "rule 1"));
    firewall_report_done(&r);
    CU_ASSERT_EQUAL(netns_sh("nft list map inet hawser_firewall v4_ports_0 >/dev/null"), 0);
    firewall_table_free(t);
    /* A first load that fails is told as well. */
    CU_ASSERT_EQUAL_FATAL(firewall_table_new(&t, &e), 0);
    CU_ASSERT_EQUAL(firewall_table_apply(t, &f, &e), HW_ETOOBIG);
    r = seen(t);
    CU_ASSERT(r.present && !r.applied && id_equal(&r.ruleset_id, &f.ruleset_id));
    CU_ASSERT_PTR_NOT_NULL(strstr(r.error, "rule 1"));
    firewall_report_done(&r);
    firewall_table_free(t);
}

/* As many as a ruleset may have: one lookup, and in the kernel within a moment. */
static void many_rules_load(void)
{
    static struct firewall_rule list[FIREWALL_RULES_MAX];
    static struct prefix hosts[FIREWALL_RULES_MAX];
    struct firewall f = {.present = true, .ruleset_id = id(9), .rules = list};
    struct firewall_table *t;
    f.n_rules = FIREWALL_RULES_MAX;
    for (unsigned i = 0; i < FIREWALL_RULES_MAX; i++) {
        struct ipaddr a = {.family = 4, .b = {10, 3, (uint8_t)(i >> 8), (uint8_t)i}};
        hosts[i] = prefix_of_host(&a);
        list[i] = (struct firewall_rule){.id = id(i + 1),
                                         .allow = i % 2,
                                         .protocol = FIREWALL_TCP,
                                         .destination = {.prefixes = &hosts[i], .n_prefixes = 1}};
    }
    CU_ASSERT_EQUAL_FATAL(firewall_table_new(&t, &e), 0);
    CU_ASSERT_EQUAL_FATAL(firewall_table_apply(t, &f, &e), 0);
    struct firewall_report r = seen(t);
    CU_ASSERT_EQUAL(r.n_rules, FIREWALL_REPORT_RULES_MAX);
    firewall_table_told(t);
    firewall_report_done(&r);
    r = seen(t);
    CU_ASSERT_EQUAL(r.n_rules, FIREWALL_REPORT_RULES_MAX); /* the next thousand */
    firewall_report_done(&r);
    firewall_table_free(t);
}

/* The next look waits a hundred times as long as this one took; that the table is gone is seen. */
static void looks_take_little(void)
{
    struct firewall f = ruleset();
    struct firewall_table *t;
    struct firewall_report r = {0};
    CU_ASSERT_EQUAL_FATAL(firewall_table_new(&t, &e), 0);
    CU_ASSERT_EQUAL_FATAL(firewall_table_apply(t, &f, &e), 0);
    CU_ASSERT_EQUAL(look(t), 0);
    send_udp(site, "10.2.0.2", 60, 60);
    CU_ASSERT_EQUAL(firewall_table_look(t, now + 1, &e), 0);
    CU_ASSERT_EQUAL(firewall_table_report(t, &r, &e), 0);
    uint64_t before = packets_of(&r, &rules[0].id);
    firewall_report_done(&r);
    r = seen(t);
    CU_ASSERT_EQUAL(packets_of(&r, &rules[0].id), before + 1);
    firewall_report_done(&r);
    CU_ASSERT_EQUAL(netns_sh("nft delete table inet hawser_firewall"), 0);
    CU_ASSERT_EQUAL(firewall_table_look(t, now + 1, &e), HW_ENOTFOUND);
    CU_ASSERT_EQUAL(look(t), HW_ENOTFOUND);
    firewall_table_free(t);
}

static void none_takes_it_away(void)
{
    struct firewall none = {0};
    struct firewall_table *t;
    struct firewall_report r;
    CU_ASSERT_EQUAL_FATAL(firewall_table_new(&t, &e), 0);
    CU_ASSERT_EQUAL(netns_sh("nft add table inet other"), 0);
    CU_ASSERT_EQUAL_FATAL(firewall_table_apply(t, &none, &e), 0);
    CU_ASSERT_EQUAL(firewall_table_report(t, &r, &e), 0);
    CU_ASSERT_FALSE(r.present);
    CU_ASSERT_STRING_EQUAL(netns_line("nft list tables"), "table inet other");
    firewall_table_free(t);
}

int main(void)
{
    netns_enter_or_skip("test_firewall_table");
    CU_TestInfo tests[] = {
        {"hosts", make_hosts},
        {"rules decide and count", rules_decide_and_count},
        {"counters go on", counters_go_on},
        {"connections of allowed rules stand", connections_of_allowed_rules_stand},
        {"what is flushed is seen and comes back", what_is_flushed_is_seen_and_comes_back},
        {"what fails leaves the table", what_fails_leaves_the_table},
        {"many rules load", many_rules_load},
        {"looks take little", looks_take_little},
        {"none takes it away", none_takes_it_away},
        CU_TEST_INFO_NULL,
    };
    int rc = suite_run("firewall_table", tests);
    (void)netns_sh("ip netns del %s; ip netns del %s", site, peer);
    return rc;
}
