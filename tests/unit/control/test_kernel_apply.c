/* A config's kernel part in a namespace of our own; iproute2 is the judge. */
#include "agent/control/kernel_apply.h"
#include "agent/control/kernel_state.h"
#include "agent/control/netlink/link.h"
#include "agent/control/sysctl.h"
#include "agent/control/tun_create.h"
#include "agent/control/underlay.h"
#include "tests/unit/control/netns.h"
#include "tests/unit/control/sample_config.h"
#include <arpa/inet.h>
#include <CUnit/Basic.h>
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define OWNER 65534

static struct nl *nl;
static int tun_index;

static struct gateway_state wanted(const struct sample *s, uint32_t mtu)
{
    struct gateway_config c = sample_config(s);
    struct gateway_state out;
    uint32_t mtus[16];
    for (size_t i = 0; i < 16; i++)
        mtus[i] = mtu;
    CU_ASSERT_EQUAL_FATAL(
        gateway_state_of_config(&c, 1, &(struct gateway_facts){.own_mtus = mtus, .mtus = mtus},
                                &out, NULL),
        0);
    gateway_config_done(&c);
    return out;
}

/* Applies the kernel's steps only; returns their number. */
static size_t apply(const struct gateway_state *want)
{
    struct gateway_state found = {0};
    struct config_plan p;
    struct err e = {0};
    size_t n = 0;
    CU_ASSERT_EQUAL_FATAL(kernel_state_read(nl, &found, &e), 0);
    tun_index = found.tun_index;
    CU_ASSERT_EQUAL_FATAL(config_plan_make(&found, want, &p, &e), 0);
    for (size_t i = 0; i < p.n_steps; i++) {
        enum plan_step_kind k = p.steps[i].kind;
        if (k >= PLAN_FIRST_DATAPLANE && k < PLAN_FIRST_AFTER)
            continue;
        int rc = kernel_apply_step(nl, &p.steps[i], &found, want, OWNER, &tun_index, &e);
        if (rc < 0)
            (void)fprintf(stderr, "%s: %s\n", plan_step_name(k), e.text);
        CU_ASSERT_EQUAL(rc, 0);
        n++;
    }
    config_plan_done(&p);
    gateway_state_done(&found);
    return n;
}

static void test_apply(void)
{
    struct sample s = {.remote_prefixes = 3, .links = 2};
    struct gateway_state w = wanted(&s, 1438);
    CU_ASSERT(apply(&w) > 0);
    CU_ASSERT_STRING_EQUAL(netns_line("ip route show table 18551 10.100.1.0/24 metric 100"),
                           "10.100.1.0/24 dev hawser0 proto 87 scope link linkdown mtu 1438");
    CU_ASSERT_STRING_EQUAL(netns_line("ip route show table 18551 type unreachable 10.100.1.0/24"),
                           "unreachable 10.100.1.0/24 proto 87 metric 65535");
    CU_ASSERT_STRING_EQUAL(netns_line("ip -6 route show table 18551 fd00:127::1:1 metric 100"),
                           "fd00:127::1:1 dev hawser0 proto 87 linkdown mtu 1438 pref medium");
    CU_ASSERT_STRING_EQUAL(
        netns_line("ip -6 route show table 18551 type unreachable | grep -c metric.65535"), "1");
    CU_ASSERT_STRING_EQUAL(netns_line("ip rule show pref 18550 | sort | head -1"),
                           "18550:\tfrom 192.0.2.1 to 192.0.2.10 iif lo lookup main proto 87");
    CU_ASSERT_STRING_EQUAL(netns_line("ip rule show pref 18551"),
                           "18551:\tnot from all fwmark 0x4877 lookup 18551 proto 87");
    CU_ASSERT_STRING_EQUAL(netns_line("ip -6 rule show pref 18551"),
                           "18551:\tnot from all fwmark 0x4877 lookup 18551 proto 87");
    CU_ASSERT_STRING_EQUAL(netns_line("ip -o -4 addr show dev hawser0 | grep -o 100.127.0.1/32"),
                           "100.127.0.1/32");
    CU_ASSERT_STRING_EQUAL(netns_line("ip -o -6 addr show dev hawser0 scope global | grep -o "
                                      "fd00:127::1/128"),
                           "fd00:127::1/128");
    CU_ASSERT_STRING_EQUAL(netns_line("ip -o -6 addr show dev hawser0 scope link"), "");
    CU_ASSERT_STRING_EQUAL(netns_line("ip -d -o link show hawser0 | grep -o 'multi_queue.*user "
                                      "nobody'"),
                           "multi_queue numqueues 0 numdisabled 0 persist on user nobody");
    CU_ASSERT_STRING_EQUAL(netns_line("ip -o link show hawser0 | grep -o 'mtu [0-9]*'"),
                           "mtu 1438");
    /* Marked sockets go by main, everything else into hawser0. */
    CU_ASSERT_STRING_EQUAL(netns_line("ip -o route get 10.100.1.5 | grep -o 'dev hawser0'"),
                           "dev hawser0");
    CU_ASSERT_NOT_EQUAL(netns_sh("ip route get 10.100.1.5 mark 0x4877 >/dev/null 2>&1"), 0);
    CU_ASSERT_EQUAL(apply(&w), 0); /* all is read back as it was set */
    gateway_state_done(&w);
}

static void test_changes(void)
{
    struct sample s = {.remote_prefixes = 4, .links = 2};
    struct gateway_state w = wanted(&s, 1438);
    CU_ASSERT_EQUAL(apply(&w), 2);
    gateway_state_done(&w);
    s.remote_prefixes = 2;
    w = wanted(&s, 1438);
    CU_ASSERT_EQUAL(apply(&w), 4);
    gateway_state_done(&w);
    w = wanted(&s, 1300);
    CU_ASSERT_EQUAL(apply(&w), 1 + 3);
    CU_ASSERT_STRING_EQUAL(netns_line("ip route show table 18551 10.100.1.0/24 metric 100"),
                           "10.100.1.0/24 dev hawser0 proto 87 scope link linkdown mtu 1300");
    gateway_state_done(&w);
    s.overlay6 = "fd00:127::2";
    w = wanted(&s, 1300);
    CU_ASSERT_EQUAL(apply(&w), 2);
    CU_ASSERT_EQUAL(apply(&w), 0);
    gateway_state_done(&w);
}

/* hawser0 deleted: what went with it comes back; meanwhile nothing leaves by another way. */
static void test_tun_lost(void)
{
    struct sample s = {.remote_prefixes = 2, .links = 2, .overlay6 = "fd00:127::2"};
    struct gateway_state w = wanted(&s, 1300);
    CU_ASSERT_EQUAL(netns_sh("ip link del hawser0"), 0);
    CU_ASSERT_NOT_EQUAL(netns_sh("ip route get 10.100.1.5 >/dev/null 2>&1"), 0);
    CU_ASSERT_EQUAL(apply(&w), 2 + 2 + 3);
    CU_ASSERT_EQUAL(apply(&w), 0);
    gateway_state_done(&w);
}

/* A device of that name which is not ours by kind or owner is replaced. */
static void test_foreign_tun(void)
{
    bool created;
    struct err e = {0};
    CU_ASSERT_EQUAL(netns_sh("ip link del hawser0; ip tuntap add hawser0 mode tap"), 0);
    CU_ASSERT_EQUAL(tun_ensure(nl, OWNER, &tun_index, &created, &e), 0);
    CU_ASSERT(created);
    CU_ASSERT_EQUAL(tun_ensure(nl, OWNER, &tun_index, &created, &e), 0);
    CU_ASSERT(!created);
    CU_ASSERT_EQUAL(tun_ensure(nl, OWNER + 1, &tun_index, &created, &e), 0);
    CU_ASSERT(created);
}

static void test_queues(void)
{
    struct tun_queues q = {.n = 0};
    struct nl_link l;
    struct err e = {0};
    bool created;
    CU_ASSERT_EQUAL(tun_ensure(nl, OWNER, &tun_index, &created, &e), 0);
    CU_ASSERT_EQUAL(tun_queues_open(&q, 3, tun_index, &e), 0);
    CU_ASSERT_EQUAL(nl_link_get(nl, HW_TUN_NAME, &l, &e), 0);
    CU_ASSERT_EQUAL(l.tun.queues, 3);
    CU_ASSERT_EQUAL(tun_queues_open(&q, 2, tun_index, &e), 0);
    CU_ASSERT_EQUAL(nl_link_get(nl, HW_TUN_NAME, &l, &e), 0);
    CU_ASSERT_EQUAL(l.tun.queues, 2);
    tun_queues_close(&q);
    CU_ASSERT_EQUAL(nl_link_get(nl, HW_TUN_NAME, &l, &e), 0);
    CU_ASSERT_EQUAL(l.tun.queues, 0);
    CU_ASSERT(l.tun.persistent && l.tun.owner == OWNER);
}

static void test_udp_socket(void)
{
    struct err e = {0};
    int four = udp_socket_open(4, 4510, 7, &e), six = udp_socket_open(6, 4510, 7, &e);
    CU_ASSERT(four >= 0 && six >= 0);
    uint32_t mark = 0;
    int probe = 0;
    socklen_t len = sizeof mark;
    CU_ASSERT_EQUAL(getsockopt(six, SOL_SOCKET, SO_MARK, &mark, &len), 0);
    CU_ASSERT_EQUAL(mark, HW_MARK);
    len = sizeof probe;
    CU_ASSERT_EQUAL(getsockopt(four, IPPROTO_IP, IP_MTU_DISCOVER, &probe, &len), 0);
    CU_ASSERT_EQUAL(probe, IP_PMTUDISC_PROBE);
    struct sockaddr_in6 to;
    len = sizeof to;
    CU_ASSERT_EQUAL(getsockname(six, (struct sockaddr *)&to, &len), 0);
    CU_ASSERT_EQUAL(ntohs(to.sin6_port), 4517);
    CU_ASSERT(udp_socket_open(4, 4510, 7, &e) < 0); /* taken */
    CU_ASSERT_PTR_NOT_NULL(strstr(e.text, "4517"));
    CU_ASSERT(udp_socket_open(4, 65530, 7, &e) < 0);
    (void)close(four);
    (void)close(six);
}

static void test_underlay_mtu(void)
{
    struct ipaddr a;
    unsigned mtu;
    struct err e = {0};
    CU_ASSERT_EQUAL(netns_sh("ip link add u0 type veth peer name u1 && ip addr add 192.0.2.1/24 "
                             "dev u0 && ip link set u0 mtu 9000 up"),
                    0);
    CU_ASSERT_EQUAL(ipaddr_parse("192.0.2.1", &a), 0);
    CU_ASSERT_EQUAL(underlay_mtu(nl, &a, &mtu, &e), 0);
    CU_ASSERT_EQUAL(mtu, 9000);
    CU_ASSERT_EQUAL(ipaddr_parse("192.0.2.2", &a), 0);
    CU_ASSERT_EQUAL(underlay_mtu(nl, &a, &mtu, &e), HW_ENOTFOUND);
    /* 1500 − 20 − 8 − 8 (SPI, sequence) − 8 (IV) − 16 (ICV) − 2 (pad length, next header), to 4
     * bytes */
    CU_ASSERT_EQUAL(underlay_inner_mtu(1500, 4, 1u << ESP_SUITE_AES_256_GCM), 1438);
    CU_ASSERT_EQUAL(underlay_inner_mtu(1500, 6, 1u << ESP_SUITE_AES_256_GCM), 1418);
    CU_ASSERT_EQUAL(underlay_inner_mtu(100000, 6, 1u << ESP_SUITE_AES_256_GCM), 65521);
}

static void test_default_interface(void)
{
    int index;
    struct err e = {0};
    CU_ASSERT_EQUAL(nl_route_default_interface(nl, &index, &e), HW_ENOTFOUND);
    CU_ASSERT_EQUAL(netns_sh("ip link set u1 up; ip route add default via 192.0.2.254 metric 50; "
                             "ip addr add 198.51.100.1/24 dev u1; "
                             "ip route add default via 198.51.100.254 metric 20"),
                    0);
    CU_ASSERT_EQUAL(nl_route_default_interface(nl, &index, &e), 0);
    char name[IFNAMSIZ] = "";
    CU_ASSERT_STRING_EQUAL(if_indextoname((unsigned)index, name), "u1");
}

static void test_interfaces(void)
{
    struct agent_settings s = {.underlay_interface = (char *)(uintptr_t) "u0"};
    struct node n;
    struct err e = {0};
    CU_ASSERT_EQUAL(interfaces_read(nl, &s, NULL, &n, &e), 0);
    CU_ASSERT_EQUAL(n.n_interfaces, 2);
    CU_ASSERT_STRING_EQUAL(n.interfaces[0].name, "u1");
    CU_ASSERT_EQUAL(n.interfaces[0].role, NODE_SITE);
    CU_ASSERT_EQUAL(n.interfaces[1].role, NODE_UNDERLAY);
    CU_ASSERT_EQUAL(n.interfaces[1].mtu, 9000);
    CU_ASSERT_EQUAL(n.n_endpoints, 1);
    CU_ASSERT_EQUAL(n.endpoints[0].scope, NODE_PUBLIC);
    s.underlay_interface = NULL;
    CU_ASSERT_EQUAL(interfaces_read(nl, &s, NULL, &n, &e), 0);
    CU_ASSERT_EQUAL(n.n_interfaces, 1);
    CU_ASSERT_EQUAL(n.interfaces[0].role, NODE_BOTH);
}

static bool endpoints_are(const struct node *n, const char *text)
{
    char have[512] = "", one[IPADDR_TEXT_MAX];
    for (size_t i = 0; i < n->n_endpoints; i++)
        (void)snprintf(have + strlen(have), sizeof have - strlen(have), "%s%s%s", i ? " " : "",
                       n->endpoints[i].scope == NODE_PUBLIC ? "+" : "",
                       ipaddr_text(&n->endpoints[i].address, one));
    return strcmp(have, text) == 0;
}

/* What stands for an address of another interface, or of none, is no endpoint of the underlay. */
static void test_translated(void)
{
    char *set_text[] = {(char *)(uintptr_t) "203.0.113.99"};
    struct agent_settings s = {.underlay_interface = (char *)(uintptr_t) "u0",
                               .site_interface = (char *)(uintptr_t) "u1"};
    struct cloud_facts f = {.n_mtus = 0};
    struct node n;
    struct err e = {0};
    CU_ASSERT_EQUAL(netns_sh("ip addr add 10.77.0.5/24 dev u0; ip addr add 10.77.0.6/24 dev u0"),
                    0);
    CU_ASSERT_EQUAL(interfaces_read(nl, &s, &f, &n, &e), 0);
    CU_ASSERT(endpoints_are(&n, "+192.0.2.1 10.77.0.5 10.77.0.6"));
    CU_ASSERT_EQUAL(cloud_facts_translate(&f, "10.77.0.6", "203.0.113.6", &e), 0);
    CU_ASSERT_EQUAL(cloud_facts_translate(&f, "10.77.0.5", "203.0.113.5", &e), 0);
    CU_ASSERT_EQUAL(cloud_facts_translate(&f, "10.78.0.5", "203.0.113.8", &e), 0);
    CU_ASSERT_EQUAL(interfaces_read(nl, &s, &f, &n, &e), 0);
    CU_ASSERT(endpoints_are(&n, "10.77.0.6 10.77.0.5 +192.0.2.1 +203.0.113.6 +203.0.113.5"));
    s.public_addresses = (struct settings_list){set_text, 1};
    CU_ASSERT_EQUAL(interfaces_read(nl, &s, &f, &n, &e), 0);
    CU_ASSERT(endpoints_are(&n, "+192.0.2.1 10.77.0.5 10.77.0.6 +203.0.113.99"));
    CU_ASSERT_EQUAL(netns_sh("ip addr del 10.77.0.6/24 dev u0; ip addr del 10.77.0.5/24 dev u0"),
                    0);
}

static void test_sysctl(void)
{
    char dir[] = "/tmp/hawser-sysctl-XXXXXX";
    struct interface_roles roles = {"u1", "u0"};
    struct hw_id boot = id_new();
    struct err e = {0};
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(dir));
    CU_ASSERT_EQUAL(netns_sh("sysctl -qw net.ipv4.ip_forward=0 net.ipv4.conf.u0.rp_filter=1 "
                             "net.ipv4.conf.all.send_redirects=1 net.ipv6.conf.u0.accept_ra=1"),
                    0);
    CU_ASSERT(!sysctl_forwarding());
    int rc = sysctl_apply(dir, &boot, &roles, &e);
    CU_ASSERT_EQUAL(rc, 0);
    CU_ASSERT(sysctl_forwarding());
    CU_ASSERT_STRING_EQUAL(netns_line("sysctl -n net.ipv4.conf.u0.rp_filter"), "2");
    CU_ASSERT_STRING_EQUAL(netns_line("sysctl -n net.ipv4.conf.hawser0.rp_filter"), "2");
    CU_ASSERT_STRING_EQUAL(netns_line("sysctl -n net.ipv6.conf.u0.accept_ra"), "2");
    /* Forwarding was the last thing to be changed. */
    CU_ASSERT_STRING_EQUAL(netns_line("tail -1 %s/sysctl.saved", dir), "net/ipv4/ip_forward = 0");
    /* Somebody turned it off: set again, and the first old value stays the saved one. */
    CU_ASSERT_EQUAL(netns_sh("sysctl -qw net.ipv4.ip_forward=0 net.ipv4.conf.u0.rp_filter=0"), 0);
    CU_ASSERT_EQUAL(sysctl_apply(dir, &boot, &roles, &e), 0);
    CU_ASSERT_STRING_EQUAL(netns_line("grep -c u0/rp_filter %s/sysctl.saved", dir), "1");
    CU_ASSERT_EQUAL(sysctl_restore(dir, &e), 0);
    CU_ASSERT_STRING_EQUAL(netns_line("sysctl -n net.ipv4.ip_forward"), "0");
    CU_ASSERT_STRING_EQUAL(netns_line("sysctl -n net.ipv4.conf.u0.rp_filter"), "1");
    CU_ASSERT_STRING_EQUAL(netns_line("sysctl -n net.ipv4.conf.all.send_redirects"), "1");
    CU_ASSERT_STRING_EQUAL(netns_line("sysctl -n net.ipv6.conf.u0.accept_ra"), "1");
    CU_ASSERT_EQUAL(access(dir, F_OK), 0);
    CU_ASSERT_EQUAL(sysctl_restore(dir, &e), 0); /* nothing saved: nothing to do */
    (void)rmdir(dir);
}

/* What is saved need not be saved again, and after a boot the values of the last one are there. */
static void test_sysctl_on_a_full_disk(void)
{
    char dir[] = "/tmp/hawser-sysctl-XXXXXX";
    struct interface_roles roles = {"u1", "u0"};
    struct hw_id boot = id_new();
    struct err e = {0};
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(dir));
    CU_ASSERT_EQUAL(netns_sh("mkdir %s/sysctl.saved.tmp; sysctl -qw net.ipv4.ip_forward=0", dir),
                    0);
    CU_ASSERT(sysctl_apply(dir, &boot, &roles, &e) < 0);
    CU_ASSERT(!sysctl_forwarding()); /* nothing is changed that could not be put back */
    CU_ASSERT_EQUAL(netns_sh("rmdir %s/sysctl.saved.tmp", dir), 0);
    CU_ASSERT_EQUAL(sysctl_apply(dir, &boot, &roles, &e), 0);
    CU_ASSERT_EQUAL(netns_sh("mkdir %s/sysctl.saved.tmp; sysctl -qw net.ipv4.ip_forward=0", dir),
                    0);
    CU_ASSERT_EQUAL(sysctl_apply(dir, &boot, &roles, &e), 0);
    CU_ASSERT(sysctl_forwarding());
    CU_ASSERT_EQUAL(netns_sh("sysctl -qw net.ipv4.ip_forward=0"), 0);
    boot = id_new();
    CU_ASSERT_EQUAL(sysctl_apply(dir, &boot, &roles, &e), 0);
    CU_ASSERT(sysctl_forwarding());
    CU_ASSERT_EQUAL(netns_sh("rmdir %s/sysctl.saved.tmp", dir), 0);
    CU_ASSERT_EQUAL(sysctl_restore(dir, &e), 0);
    (void)rmdir(dir);
}

static void test_monitor(void)
{
    int fd;
    struct err e = {0};
    CU_ASSERT_EQUAL(nl_monitor_open(&fd, &e), 0);
    CU_ASSERT(!nl_monitor_drain(fd));
    CU_ASSERT_EQUAL(netns_sh("ip rule add pref 99 lookup main"), 0);
    CU_ASSERT(nl_monitor_drain(fd));
    CU_ASSERT(!nl_monitor_drain(fd));
    CU_ASSERT_EQUAL(netns_sh("ip rule del pref 99; ip route add 203.0.113.0/24 dev lo"), 0);
    CU_ASSERT(nl_monitor_drain(fd));
    /* `sysctl --system`, as packages run it, undoes what is ours. */
    static const char *const keys[] = {"net.ipv4.ip_forward", "net.ipv4.conf.u0.rp_filter",
                                       "net.ipv6.conf.all.forwarding"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        CU_ASSERT_EQUAL(netns_sh("v=$(sysctl -n %s); sysctl -qw %s=$((! v))", keys[i], keys[i]), 0);
        CU_ASSERT(nl_monitor_drain(fd));
        CU_ASSERT(!nl_monitor_drain(fd));
    }
    (void)close(fd);
}

static void test_errors(void)
{
    struct err e = {0};
    struct nl_link l;
    CU_ASSERT_EQUAL(nl_link_get(nl, "nosuch0", &l, &e), HW_ENOTFOUND);
    CU_ASSERT_PTR_NOT_NULL(strstr(e.text, "nosuch0"));
    struct nl_route r = {.table = HW_TABLE, .metric = 100, .ifindex = 9999};
    CU_ASSERT_EQUAL(prefix_parse("10.9.0.0/16", &r.prefix, NULL), 0);
    CU_ASSERT(nl_route_set(nl, &r, &e) < 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(e.text, "10.9.0.0/16"));
    CU_ASSERT_EQUAL(nl_route_delete(nl, &r, &e), 0);
}

static void test_purge(void)
{
    struct sample s = {.remote_prefixes = 3, .links = 2};
    struct gateway_state w = wanted(&s, 1438);
    struct err e = {0};
    (void)apply(&w);
    CU_ASSERT_EQUAL(netns_sh("ip rule add pref 18550 from 203.0.113.77 lookup main"), 0);
    CU_ASSERT_EQUAL(kernel_apply_purge(nl, &e), 0);
    CU_ASSERT_STRING_EQUAL(netns_line("ip route show table 18551 2>/dev/null"), "");
    CU_ASSERT_STRING_EQUAL(netns_line("ip -6 route show table 18551 2>/dev/null"), "");
    CU_ASSERT_STRING_EQUAL(netns_line("ip rule show pref 18551"), "");
    CU_ASSERT_STRING_EQUAL(netns_line("ip rule show pref 18550"),
                           "18550:\tfrom 203.0.113.77 lookup main");
    CU_ASSERT_NOT_EQUAL(netns_sh("ip link show hawser0 >/dev/null 2>&1"), 0);
    CU_ASSERT_EQUAL(kernel_apply_purge(nl, &e), 0);
    gateway_state_done(&w);
}

int main(void)
{
    netns_enter_or_skip("test_kernel_apply");
    CU_initialize_registry();
    CU_pSuite s = CU_add_suite("kernel_apply", NULL, NULL);
    if (nl_open(&nl, NULL) < 0)
        return 1;
    CU_add_test(s, "a config from nothing", test_apply);
    CU_add_test(s, "changes touch what differs", test_changes);
    CU_add_test(s, "hawser0 lost", test_tun_lost);
    CU_add_test(s, "foreign device", test_foreign_tun);
    CU_add_test(s, "queues", test_queues);
    CU_add_test(s, "UDP sockets", test_udp_socket);
    CU_add_test(s, "underlay MTU", test_underlay_mtu);
    CU_add_test(s, "default interface", test_default_interface);
    CU_add_test(s, "interfaces and roles", test_interfaces);
    CU_add_test(s, "translated addresses", test_translated);
    CU_add_test(s, "sysctls set, kept, put back", test_sysctl);
    CU_add_test(s, "sysctls on a full disk", test_sysctl_on_a_full_disk);
    CU_add_test(s, "monitor", test_monitor);
    CU_add_test(s, "errors", test_errors);
    CU_add_test(s, "purge", test_purge);
    CU_basic_run_tests();
    unsigned failed = CU_get_number_of_failures();
    CU_cleanup_registry();
    nl_close(nl);
    return failed != 0;
}
