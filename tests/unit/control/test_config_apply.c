/* Configs brought into force in a namespace of our own, against a fake dataplane. */
#include "agent/control/config_apply.h"
#include "agent/control/keying/keying.h"
#include "agent/control/settings.h"
#include "common/clock.h"
#include "tests/unit/control/keying/fake_dataplane.h"
#include "tests/unit/control/netns.h"
#include "tests/unit/control/sample_config.h"
#include "tests/unit/suite.h"
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define PATIENCE_NS (10 * NS_PER_S)

static char dir[] = "/tmp/hawser-apply-XXXXXX";
static struct agent_settings settings;
static struct evloop *loop;
static struct fake_dataplane dp;
static struct dp_client *client;
static struct keying *keying;
static struct config_apply *apply;
static struct {
    unsigned done;
    bool failed;
    struct err why;
    uint64_t revision;
} seen;

/* ---- an agent's modules, without app ---- */

static void on_connected(void *arg, const struct dp_hello *hello, bool new_boot)
{
    (void)arg;
    (void)hello;
    config_apply_dp_connected(apply, new_boot);
}

static void on_lost(void *arg, const char *why)
{
    (void)arg;
    (void)why;
    config_apply_dp_lost(apply);
    keying_dataplane_lost(keying);
}

static void on_event(void *arg, const struct dp_event *event)
{
    (void)arg;
    (void)event;
}

static void on_link_changed(void *arg, const struct hw_id *link)
{
    (void)arg;
    (void)link;
}

static void on_peer_mtu(void *arg, const struct hw_id *link, const struct prefix *p, uint32_t mtu)
{
    (void)arg;
    (void)link;
    (void)p;
    (void)mtu;
}

static int64_t trusted_now(void *arg)
{
    (void)arg;
    return clock_wall_s();
}

static const struct dp_client_handler dp_handler = {on_connected, on_lost, on_event};
static bool clock_trusted(void *arg)
{
    (void)arg;
    return true;
}

static const struct keying_handler keying_handler = {on_link_changed, on_peer_mtu, trusted_now,
                                                     clock_trusted};

static void agent_up(void)
{
    struct keying_settings k = {.soft_seconds = 3600, .hard_seconds = 28800};
    struct config_apply_params p = {.loop = loop, .settings = &settings, .boot = {{1}}};
    CU_ASSERT_EQUAL_FATAL(dp_client_new(loop, dp.path, getuid(), &dp_handler, NULL, &client, NULL),
                          0);
    CU_ASSERT_EQUAL_FATAL(keying_new(loop, client, &k, &keying_handler, NULL, &keying, NULL), 0);
    p.dp = client;
    p.keying = keying;
    CU_ASSERT_EQUAL_FATAL(config_apply_new(&p, &apply, NULL), 0);
}

static void agent_down(void)
{
    config_apply_stop(apply);
    keying_free(keying);
    dp_client_free(client);
    config_apply_free(apply);
}

/* ---- waiting for conditions ---- */

struct waiting {
    bool (*met)(void);
    struct ev_timer *poll;
    uint64_t until_ns;
    bool ok;
};

static void on_poll(void *arg)
{
    struct waiting *w = arg;
    w->ok = w->met();
    if (w->ok || clock_mono_ns() > w->until_ns)
        evloop_stop(loop);
    else
        evloop_timer_arm(w->poll, 5 * NS_PER_MS);
}

static bool until(bool (*met)(void))
{
    struct waiting w = {.met = met, .until_ns = clock_mono_ns() + PATIENCE_NS};
    w.poll = evloop_timer_add(loop, on_poll, &w);
    evloop_timer_arm(w.poll, 0);
    CU_ASSERT_EQUAL(evloop_run(loop, NULL), 0);
    evloop_timer_remove(w.poll);
    return w.ok;
}

/* ---- configs ---- */

static struct stored_config *config(const struct sample *s, uint64_t revision)
{
    struct stored_config *c = calloc(1, sizeof *c);
    if (!c)
        abort();
    c->refs = 1;
    c->doc.revision = revision;
    c->config = sample_config(s);
    return c;
}

static void on_done(void *arg, uint64_t revision, const struct err *why)
{
    (void)arg;
    seen.done++;
    seen.revision = revision;
    seen.failed = why != NULL;
    if (why)
        seen.why = *why;
}

static bool is_done(void)
{
    return seen.done > 0;
}

/* Applies and waits; true on success. */
static bool bring(const struct sample *s, uint64_t revision)
{
    struct stored_config *c = config(s, revision);
    struct err e = {0};
    int rc;
    seen.done = 0;
    while ((rc = config_apply_start(apply, c, on_done, NULL, &e)) == HW_EAGAIN)
        (void)until(is_done);
    CU_ASSERT_EQUAL(rc, 0);
    stored_config_unref(c);
    CU_ASSERT(until(is_done));
    CU_ASSERT_EQUAL(seen.revision, revision);
    return !seen.failed;
}

static uint64_t in_force(void)
{
    const struct stored_config *c = config_apply_current(apply);
    return c ? c->doc.revision : 0;
}

static void forget_counts(void)
{
    memset(dp.count, 0, sizeof dp.count);
}

static unsigned requests(void)
{
    unsigned n = 0;
    for (unsigned t = DP_ATTACH_TUN; t <= DP_QUIESCE; t++)
        n += t == DP_DUMP ? 0 : dp.count[t];
    return n;
}

static bool has_all(void)
{
    return dp.generation != 7 && dp.generation == in_force() && dp.tun_queues == 2 && dp.has_node &&
           dp.n_links == 2 && dp.n_udps == 8;
}

static const char *routes(void)
{
    return netns_line("ip route show table 18551 | grep -c 10.100");
}

/* A ruleset that no kernel is asked to load: more combinations of addresses than there may be. */
static void add_too_large_firewall(struct gateway_config *c)
{
    enum { HOSTS = 160 };
    struct firewall_rule *rule = calloc(1, sizeof *rule);
    struct prefix *from = calloc(HOSTS, sizeof *from), *to = calloc(HOSTS, sizeof *to);
    if (!rule || !from || !to)
        abort();
    for (unsigned i = 0; i < HOSTS; i++) {
        struct ipaddr a = {.family = 4, .b = {10, 1, (uint8_t)(i / 100), (uint8_t)(2 * (i % 100))}};
        from[i] = to[i] = prefix_of_host(&a);
    }
    rule->protocol = FIREWALL_ANY_PROTOCOL;
    rule->source = (struct firewall_side){.prefixes = from, .n_prefixes = HOSTS};
    rule->destination = (struct firewall_side){.prefixes = to, .n_prefixes = HOSTS};
    c->firewall = (struct firewall){.present = true, .rules = rule, .n_rules = 1};
}

/* ---- tests, each going on from the one before ---- */

static void test_firewall_fails_at_boot(void)
{
    struct sample s = {.remote_prefixes = 3, .links = 2};
    struct err e = {0};
    (void)netns_sh("sysctl -qw net.ipv4.ip_forward=1"); /* somebody else's, from before */
    fake_dataplane_stop(&dp);
    agent_up();
    struct stored_config *c = config(&s, 9);
    add_too_large_firewall(&c->config);
    seen.done = 0;
    CU_ASSERT_EQUAL(config_apply_start(apply, c, on_done, NULL, &e), 0);
    stored_config_unref(c);
    CU_ASSERT(until(is_done));
    CU_ASSERT(seen.failed);
    CU_ASSERT_PTR_NOT_NULL(strstr(seen.why.text, "firewall"));
    CU_ASSERT_EQUAL(in_force(), 0);
    CU_ASSERT_STRING_EQUAL(netns_line("ip route show table 18551 | grep -c unreachable.10.100"),
                           "3");
    CU_ASSERT_STRING_EQUAL(netns_line("ip route show table 18551 | grep -c 10.100.*hawser0"), "0");
    CU_ASSERT_STRING_EQUAL(netns_line("ip rule | grep -c 18551"), "1");
    agent_down();
    fake_dataplane_start(&dp, loop);
}

static void test_without_dataplane(void)
{
    struct sample s = {.remote_prefixes = 3, .links = 2};
    fake_dataplane_stop(&dp);
    agent_up();
    CU_ASSERT_EQUAL(in_force(), 0);
    CU_ASSERT(bring(&s, 10));
    CU_ASSERT_EQUAL(in_force(), 10);
    CU_ASSERT_STRING_EQUAL(routes(), "6");
    CU_ASSERT_STRING_EQUAL(netns_line("sysctl -n net.ipv4.ip_forward"), "1");
    CU_ASSERT_STRING_EQUAL(netns_line("ip -o link show hawser0 | grep -o 'mtu [0-9]*'"),
                           "mtu 8938");
    CU_ASSERT_STRING_EQUAL(config_apply_problem(apply), "");
    agent_down();
}

static void test_dataplane_comes(void)
{
    struct sample s = {.remote_prefixes = 3, .links = 2};
    fake_dataplane_start(&dp, loop);
    agent_up();
    CU_ASSERT(bring(&s, 10));
    CU_ASSERT(until(has_all));
    CU_ASSERT_EQUAL(dp.count[DP_LINK_SET], 2);
    CU_ASSERT_EQUAL(dp.links[0].mtu, 8938);
    CU_ASSERT_EQUAL(dp.links[0].class_, DP_CLASS_ATTACHMENT);
}

static void test_one_prefix_more(void)
{
    struct sample s = {.remote_prefixes = 4, .links = 2};
    forget_counts();
    CU_ASSERT(bring(&s, 11));
    CU_ASSERT_EQUAL(dp.count[DP_FIB_COMMIT], 1);
    CU_ASSERT_EQUAL(requests(), 1);
    CU_ASSERT_STRING_EQUAL(routes(), "8");
    /* The same again, as another revision: nothing. */
    CU_ASSERT(bring(&s, 12));
    CU_ASSERT_EQUAL(requests(), 1);
}

static bool links_as_before(void)
{
    return dp.n_links == 2 && dp.links[0].interval_ms == 1000 && dp.links[1].interval_ms == 1000;
}

/* The dataplane refuses the second of three things: all comes back as it was, kernel and dataplane.
 */
static void test_refused_by_dataplane(void)
{
    struct sample s = {.remote_prefixes = 9, .links = 3, .interval_ms = 300};
    dp.fail_type = DP_FIB_COMMIT;
    dp.fail_status = HW_EINVAL;
    CU_ASSERT(!bring(&s, 13));
    CU_ASSERT_PTR_NOT_NULL(strstr(seen.why.text, "told to refuse"));
    dp.fail_type = 0;
    CU_ASSERT_EQUAL(in_force(), 12);
    CU_ASSERT_STRING_EQUAL(routes(), "8");
    CU_ASSERT(until(links_as_before));
    s = (struct sample){.remote_prefixes = 5, .links = 2};
    CU_ASSERT(bring(&s, 14));
    CU_ASSERT_EQUAL(dp.generation, 14);
    CU_ASSERT_STRING_EQUAL(routes(), "10");
}

/* A UDP port that the config needs is somebody else's. */
static void test_refused_by_kernel(void)
{
    struct sample s = {.remote_prefixes = 7, .links = 2, .port_base = 6000};
    int fd = socket(AF_INET, SOCK_DGRAM, 0);
    struct ipaddr any = {.family = 4};
    struct sockaddr_storage to;
    socklen_t len = ipaddr_to_sockaddr(&any, 6001, &to);
    CU_ASSERT_EQUAL(bind(fd, (struct sockaddr *)&to, len), 0);
    CU_ASSERT(!bring(&s, 15));
    CU_ASSERT_PTR_NOT_NULL(strstr(seen.why.text, "6001"));
    CU_ASSERT_EQUAL(in_force(), 14);
    CU_ASSERT_STRING_EQUAL(routes(), "10");
    (void)close(fd);
    s = (struct sample){.remote_prefixes = 3, .links = 2};
    CU_ASSERT(bring(&s, 16));
}

static bool dumped_twice(void)
{
    return dp.count[DP_DUMP] >= 2;
}

/* Link-local ones come by themselves, whenever the kernel is done looking for duplicates. */
#define ALL_ROUTES "ip route show table all | grep -v 'fe80::' | md5sum"

/* The agent ends and comes back: it asks what there is, finds it right, touches nothing. */
static void test_agent_restart(void)
{
    struct sample s = {.remote_prefixes = 3, .links = 2};
    agent_down();
    char before[1024], link[256];
    (void)snprintf(before, sizeof before, "%s", netns_line(ALL_ROUTES));
    (void)snprintf(link, sizeof link, "%s", netns_line("ip -o -d link show hawser0 | cut -c1-200"));
    forget_counts();
    agent_up();
    CU_ASSERT(bring(&s, 16));
    dp.count[DP_DUMP]++;
    CU_ASSERT(until(dumped_twice));
    CU_ASSERT(bring(&s, 17)); /* one more round with the dataplane known */
    CU_ASSERT_EQUAL(dp.count[DP_ATTACH_TUN] + dp.count[DP_ATTACH_UDP] + dp.count[DP_LINK_SET] +
                        dp.count[DP_NODE_SET] + dp.count[DP_LINK_REMOVE],
                    0);
    CU_ASSERT_STRING_EQUAL(netns_line(ALL_ROUTES), before);
    CU_ASSERT_STRING_EQUAL(netns_line("ip -o -d link show hawser0 | cut -c1-200"), link);
}

static void test_new_dataplane(void)
{
    fake_dataplane_reboot(&dp);
    CU_ASSERT(until(has_all));
    CU_ASSERT_STRING_EQUAL(netns_line("ip -d link show hawser0 | grep -o 'numqueues [0-9]*'"),
                           "numqueues 2");
    /* Now the agent holds duplicates: the same queues are handed over again. */
    fake_dataplane_reboot(&dp);
    CU_ASSERT_STRING_EQUAL(netns_line("ip -d link show hawser0 | grep -o 'numqueues [0-9]*'"),
                           "numqueues 2");
    CU_ASSERT(until(has_all));
}

static bool has_problem(void)
{
    return config_apply_problem(apply)[0] != '\0';
}

/* A port that somebody else holds for a while, say: once it is free the dataplane gets it. */
static void test_refused_for_a_while(void)
{
    dp.fail_type = DP_ATTACH_UDP;
    dp.fail_status = HW_EFAIL;
    fake_dataplane_reboot(&dp);
    CU_ASSERT(until(has_problem));
    dp.fail_type = 0;
    CU_ASSERT(until(has_all));
    CU_ASSERT_STRING_EQUAL(config_apply_problem(apply), "");
}

static bool has_three_queues(void)
{
    return dp.tun_queues == 3 && dp.n_links == 2;
}

/* A dataplane with another number of workers needs other queues. */
static void test_more_workers(void)
{
    fake_dataplane_reboot(&dp);
    dp.hello.workers = 3;
    CU_ASSERT(until(has_three_queues));
    CU_ASSERT_STRING_EQUAL(netns_line("ip -d link show hawser0 | grep -o 'numqueues [0-9]*'"),
                           "numqueues 3");
    fake_dataplane_reboot(&dp);
    dp.hello.workers = 2;
    CU_ASSERT(until(has_all));
    CU_ASSERT_STRING_EQUAL(netns_line("ip -d link show hawser0 | grep -o 'numqueues [0-9]*'"),
                           "numqueues 2");
}

static bool attached_anew(void)
{
    return dp.count[DP_ATTACH_TUN] >= 2 && dp.tun_queues == 2 &&
           strcmp(netns_line("ip -d link show hawser0 2>/dev/null | grep -o 'numqueues [0-9]*'"),
                  "numqueues 2") == 0 &&
           strcmp(routes(), "6") == 0;
}

static bool rule_is_back(void)
{
    return netns_line("ip rule show pref 18551")[0] != '\0';
}

static void test_drift(void)
{
    forget_counts();
    CU_ASSERT_EQUAL(netns_sh("ip link del hawser0"), 0);
    CU_ASSERT(until(attached_anew));
    CU_ASSERT_EQUAL(dp.count[DP_LINK_SET], 0);
    CU_ASSERT_EQUAL(netns_sh("ip rule del pref 18551"), 0);
    CU_ASSERT(until(rule_is_back));
}

static bool mtu_is_1300(void)
{
    return dp.links[0].mtu == 1300 &&
           strstr(netns_line("ip route show table 18551 10.100.0.0/24 metric 100"), "mtu 1300");
}

static bool mtu_of_underlay_is_1438(void)
{
    return dp.links[1].mtu == 1438 && dp.links[0].mtu == 1300;
}

static void test_mtu(void)
{
    struct hw_id link = sample_link_id(0), unknown = id_new();
    config_apply_peer_mtu(apply, &link, 1300);
    CU_ASSERT(until(mtu_is_1300));
    CU_ASSERT_EQUAL(config_apply_link_mtu(apply, &link), 1300);
    CU_ASSERT_EQUAL(config_apply_link_mtu(apply, &unknown), 0);
    CU_ASSERT_EQUAL(netns_sh("ip link set u0 mtu 1500"), 0);
    CU_ASSERT(until(mtu_of_underlay_is_1438));
}

static bool links_are_off(void)
{
    return dp.n_links == 2 && !dp.links[0].enabled && !dp.links[1].enabled;
}
static bool links_are_on(void)
{
    return dp.n_links == 2 && dp.links[0].enabled && dp.links[1].enabled && dp.links[1].mtu == 1438;
}

/* Too narrow an underlay ends its own links alone: configs are applied, and it says why. */
static void test_narrow_underlay(void)
{
    struct sample s = {.remote_prefixes = 7, .links = 2};
    struct hw_id link = sample_link_id(1);
    struct keying_link_status k;
    CU_ASSERT_EQUAL(netns_sh("ip link set u0 mtu 600"), 0);
    CU_ASSERT(until(links_are_off));
    CU_ASSERT_EQUAL(dp.links[1].mtu, HW_LINK_MTU_MIN);
    CU_ASSERT(bring(&s, 18));
    CU_ASSERT_EQUAL(in_force(), 18);
    CU_ASSERT_STRING_EQUAL(config_apply_problem(apply), "");
    CU_ASSERT_STRING_EQUAL(routes(), "14");
    CU_ASSERT_EQUAL(keying_status(keying, &link, &k), 0);
    CU_ASSERT_EQUAL(k.own_mtu, 538);
    CU_ASSERT_EQUAL(netns_sh("ip link set u0 mtu 1500"), 0);
    CU_ASSERT(until(links_are_on));
}

static struct stored_config *next_config;

/* What the last change of the underlay caused may still be under way. */
static bool next_started(void)
{
    return config_apply_start(apply, next_config, on_done, NULL, NULL) == 0;
}

/* The dataplane goes away in the middle of an apply: no fault of the config's. */
static void test_lost_in_the_middle(void)
{
    struct sample s = {.remote_prefixes = 6, .links = 2};
    seen.done = 0;
    next_config = config(&s, 20);
    CU_ASSERT(until(next_started));
    dp.hold = true;
    stored_config_unref(next_config);
    CU_ASSERT_EQUAL(seen.done, 0);
    dp.hold = false;
    fake_dataplane_reboot(&dp);
    CU_ASSERT(until(is_done));
    CU_ASSERT(!seen.failed);
    CU_ASSERT_EQUAL(in_force(), 20);
    CU_ASSERT(until(has_all));
    CU_ASSERT_STRING_EQUAL(routes(), "12");
}

int main(void)
{
    CU_TestInfo tests[] = {
        {"a firewall fails at boot", test_firewall_fails_at_boot},
        {"without a dataplane the kernel's part", test_without_dataplane},
        {"a dataplane comes", test_dataplane_comes},
        {"one prefix more", test_one_prefix_more},
        {"refused by the dataplane", test_refused_by_dataplane},
        {"refused by the kernel", test_refused_by_kernel},
        {"the agent restarts", test_agent_restart},
        {"a new dataplane", test_new_dataplane},
        {"refused for a while", test_refused_for_a_while},
        {"another number of workers", test_more_workers},
        {"drift", test_drift},
        {"MTU of peer and underlay", test_mtu},
        {"narrow underlay", test_narrow_underlay},
        {"lost in the middle", test_lost_in_the_middle},
        CU_TEST_INFO_NULL,
    };
    netns_enter_or_skip("test_config_apply");
    (void)signal(SIGPIPE, SIG_IGN);
    if (!mkdtemp(dir) || evloop_new(&loop, NULL) < 0 ||
        netns_sh("ip link add u0 type veth peer name u1 && ip addr add 192.0.2.1/24 dev u0 && "
                 "ip link set u0 mtu 9000 up && ip link set u1 mtu 9000 up") != 0)
        return 2;
    settings = (struct agent_settings){.state_dir = dir,
                                       .underlay_interface = (char *)(uintptr_t) "u0",
                                       .dataplane_uid = getuid()};
    fake_dataplane_start(&dp, loop);
    int rc = suite_run("config_apply", tests);
    agent_down();
    fake_dataplane_stop(&dp);
    evloop_free(loop);
    (void)netns_sh("rm -r %s", dir);
    return rc;
}
