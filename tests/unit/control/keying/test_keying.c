/* Two keyings over loopback with real TLS: keys, rekeys, collisions, restarts, losses. */
#include "common/clock.h"
#include "tests/unit/control/keying/pair.h"
#include <CUnit/Basic.h>
#include <string.h>
#include <time.h>

static struct node *const low = &pair.low, *const high = &pair.high;
static uint64_t target; /* epoch that reached_target() waits for */

static bool reached_target(void)
{
    return pair_keyed() && node_epoch(low) >= target;
}

static bool both_connected(void)
{
    return node_status(low).state == KEYING_CONNECTED &&
           node_status(high).state == KEYING_CONNECTED;
}

/* Only the SAs of the newest epoch are left, and nothing is under way. */
static bool settled(void)
{
    uint64_t epoch = node_epoch(low);
    unsigned n = node_status(low).tunnels;
    return pair_keyed() && both_connected() && low->dp.n_sas == 2 * n && high->dp.n_sas == 2 * n &&
           fake_dataplane_count_sas(&low->dp, &low->link.id, epoch, DP_DIR_IN) == n &&
           fake_dataplane_count_sas(&high->dp, &high->link.id, epoch, DP_DIR_OUT) == n;
}

static void start_both(void)
{
    pair_init();
    node_start(low);
    node_start(high);
    CU_ASSERT_FATAL(pair_until(pair_keyed, 5));
}

static void test_keys(void)
{
    start_both();
    CU_ASSERT(pair_until(settled, 5));
    CU_ASSERT_EQUAL(node_epoch(low), 1);
    CU_ASSERT_EQUAL(node_status(low).tunnels, 8);
    CU_ASSERT_EQUAL(node_status(high).peer_mtu, 1438);
    CU_ASSERT_EQUAL(node_status(high).suite, ESP_SUITE_AES_256_GCM);
    CU_ASSERT_EQUAL(node_status(low).failures, 0);
    struct keying_link_status status = node_status(low);
    CU_ASSERT(id_equal(&status.peer_boot, &high->dp.hello.boot));
    CU_ASSERT(node_status(low).rekeyed_at >= clock_wall_s() - 5);
    /* receive first: in, out, then the switch, at both ends */
    CU_ASSERT_STRING_EQUAL(low->dp.order, "ios");
    CU_ASSERT_STRING_EQUAL(high->dp.order, "ios");
    CU_ASSERT(low->changes > 0);
    /* no two SAs share a key, a salt pair or an SPI of one receiver */
    for (unsigned i = 0; i < low->dp.n_sas; i++)
        for (unsigned j = 0; j < i; j++)
            CU_ASSERT_NOT_EQUAL(memcmp(low->dp.sas[i].sa.key, low->dp.sas[j].sa.key, ESP_KEY_MAX),
                                0);
    pair_done();
}

static void test_rekey(void)
{
    start_both();
    for (target = 2; target <= 6; target++) {
        const struct node *n = target % 2 ? low : high;
        CU_ASSERT_EQUAL(keying_rekey_now(n->keying, &n->link.id, NULL), 0);
        CU_ASSERT(pair_until(reached_target, 5));
        CU_ASSERT_EQUAL(node_epoch(low), target);
    }
    CU_ASSERT(pair_until(settled, 5));
    CU_ASSERT(low->dp.max_inbound <= 3 && high->dp.max_inbound <= 3);
    CU_ASSERT_EQUAL(keying_counters(low->keying)->exchanges_failed, 0);
    pair_done();
}

static void test_limits(void)
{
    start_both();
    CU_ASSERT(pair_until(settled, 5));
    fake_dataplane_sa_event(&high->dp, DP_SA_SOFT_LIMIT, &high->link.id, 1, 3, DP_DIR_OUT);
    target = 2;
    CU_ASSERT(pair_until(reached_target, 5));
    /* an expired SA of the epoch in use wants another one at once */
    fake_dataplane_sa_event(&low->dp, DP_SA_EXPIRED, &low->link.id, 2, 0, DP_DIR_OUT);
    target = 3;
    CU_ASSERT(pair_until(reached_target, 5));
    pair_done();
}

static void test_soft_seconds(void)
{
    pair_init();
    low->settings.soft_seconds = high->settings.soft_seconds = 1;
    node_start(low);
    node_start(high);
    target = 3;
    CU_ASSERT(pair_until(reached_target, 8));
    CU_ASSERT(low->dp.max_inbound <= 3 && high->dp.max_inbound <= 3);
    pair_done();
}

/* Both want a new epoch in the same turn of the loop. */
static void test_collision(void)
{
    start_both();
    for (target = 2; target < 12; target++) {
        CU_ASSERT_EQUAL(keying_rekey_now(low->keying, &low->link.id, NULL), 0);
        CU_ASSERT_EQUAL(keying_rekey_now(high->keying, &high->link.id, NULL), 0);
        CU_ASSERT(pair_until(reached_target, 8));
    }
    CU_ASSERT(pair_until(settled, 5));
    CU_ASSERT_EQUAL(node_status(low).failures, 0);
    CU_ASSERT_EQUAL(node_status(high).failures, 0);
    CU_ASSERT(low->dp.max_inbound <= 3 && high->dp.max_inbound <= 3);
    pair_done();
}

static void restart(struct node *n)
{
    uint64_t epoch = node_epoch(low);
    unsigned installs = n->dp.count[DP_SA_INSTALL];
    node_stop(n);
    pair_turns(20);
    node_start(n);
    CU_ASSERT(pair_until(settled, 8));
    CU_ASSERT_EQUAL(node_epoch(low), epoch);
    CU_ASSERT_EQUAL(node_epoch(high), epoch);
    CU_ASSERT_EQUAL(n->dp.count[DP_SA_INSTALL], installs); /* nothing was keyed anew */
    CU_ASSERT_EQUAL(node_status(n).peer_mtu, 1438);        /* HELLO told */
}

static void test_agent_restart(void)
{
    start_both();
    CU_ASSERT(pair_until(settled, 5));
    restart(low);
    restart(high);
    low->late_config = true;
    restart(low);
    target = node_epoch(low) + 1;
    CU_ASSERT_EQUAL(keying_rekey_now(high->keying, &high->link.id, NULL), 0);
    CU_ASSERT(pair_until(reached_target, 5));
    CU_ASSERT_EQUAL(node_epoch(low), target);
    pair_done();
}

static bool high_rebooted(void)
{
    struct keying_link_status status = node_status(low);
    return pair_keyed() && id_equal(&status.peer_boot, &high->dp.hello.boot);
}

static void test_new_dataplane(void)
{
    start_both();
    CU_ASSERT(pair_until(settled, 5));
    struct fake_sa before = *fake_dataplane_find(&low->dp, &low->link.id, 1, 0, DP_DIR_OUT);
    fake_dataplane_reboot(&high->dp);
    uint64_t start = clock_mono_ns();
    CU_ASSERT(pair_until(high_rebooted, 5));
    CU_ASSERT(clock_mono_ns() - start < 2 * NS_PER_S);
    CU_ASSERT_EQUAL(node_epoch(low), 2);
    const struct fake_sa *now = fake_dataplane_find(&low->dp, &low->link.id, 2, 0, DP_DIR_OUT);
    CU_ASSERT_NOT_EQUAL(memcmp(now->sa.key, before.sa.key, ESP_KEY_MAX), 0);
    /* the whole gateway: agent and dataplane, which know nothing of earlier epochs */
    node_stop(high);
    fake_dataplane_reboot(&high->dp);
    node_start(high);
    CU_ASSERT(pair_until(high_rebooted, 5));
    CU_ASSERT(node_epoch(low) > 2);
    pair_done();
}

/* Connections are cut after every number of turns: whatever was under way, keys come, and no end
 * stays alone. */
static void test_loss_everywhere(void)
{
    for (unsigned turns = 1; turns < 40; turns += 3) {
        pair_init();
        node_start(low);
        node_start(high);
        pair_turns(turns);
        pair_cut_tcp();
        CU_ASSERT_FATAL(pair_until(pair_keyed, 12));
        target = node_epoch(low) + 1;
        CU_ASSERT_EQUAL(keying_rekey_now(low->keying, &low->link.id, NULL), 0);
        pair_turns(turns);
        pair_cut_tcp();
        CU_ASSERT_FATAL(pair_until(reached_target, 12));
        CU_ASSERT(low->dp.max_inbound <= 3 && high->dp.max_inbound <= 3);
        pair_done();
    }
}

static bool keyed_and_connected(void)
{
    return pair_keyed() && both_connected();
}

/* The same with an agent that dies and comes back. The rekey that it was told of may die with it.
 */
static void test_crash_everywhere(void)
{
    for (unsigned turns = 1; turns < 40; turns += 3) {
        struct node *victim = turns % 2 ? low : high;
        start_both();
        CU_ASSERT_EQUAL(keying_rekey_now(low->keying, &low->link.id, NULL), 0);
        pair_turns(turns);
        node_stop(victim);
        pair_turns(10);
        node_start(victim);
        CU_ASSERT_FATAL(pair_until(keyed_and_connected, 12));
        CU_ASSERT(low->dp.max_inbound <= 3 && high->dp.max_inbound <= 3);
        pair_done();
    }
}

static void test_nat(void)
{
    pair_init();
    /* low sits behind NAT: high can't dial it */
    high->link.dial = false;
    low->link.peer_dials = false;
    node_start(high);
    node_start(low);
    CU_ASSERT(pair_until(pair_keyed, 5));
    CU_ASSERT(pair_until(both_connected, 5));
    target = 2;
    CU_ASSERT_EQUAL(keying_rekey_now(high->keying, &high->link.id, NULL), 0); /* asks by WANT */
    CU_ASSERT(pair_until(reached_target, 5));
    CU_ASSERT(pair_until(settled, 5));
    restart(high);
    pair_done();
}

static void test_terms(void)
{
    pair_init();
    low->link.tunnels = 8;
    high->link.tunnels = 4;
    low->link.suites |= 1u << ESP_SUITE_AES_128_GCM;
    low->link.suite_order[1] = ESP_SUITE_AES_128_GCM;
    low->link.n_suites = 2;
    high->link.suites = 1u << ESP_SUITE_AES_128_GCM;
    high->link.suite_order[0] = ESP_SUITE_AES_128_GCM;
    high->settings.no_esn = true;
    high->mtu = 1400;
    node_start(low);
    node_start(high);
    CU_ASSERT(pair_until(pair_keyed, 5));
    CU_ASSERT_EQUAL(node_status(low).tunnels, 4);
    CU_ASSERT_EQUAL(node_status(low).suite, ESP_SUITE_AES_128_GCM);
    CU_ASSERT_EQUAL(node_status(low).peer_mtu, 1400);
    CU_ASSERT_EQUAL(low->dp.sas[0].esn, 0);
    /* more tunnels at the other end too: a new epoch by itself, and only one */
    high->link.tunnels = 8;
    node_set_config(high);
    target = node_epoch(low) + 1;
    CU_ASSERT(pair_until(reached_target, 5));
    CU_ASSERT_EQUAL(node_status(low).tunnels, 8);
    CU_ASSERT(pair_until(settled, 5));
    uint64_t epoch = node_epoch(low);
    node_set_config(high); /* the same again touches nothing */
    pair_turns(50);
    CU_ASSERT_EQUAL(node_epoch(low), epoch);
    pair_done();
}

static void prefer(struct node *n, uint8_t first, uint8_t second)
{
    n->link.suites = 1u << ESP_SUITE_AES_256_GCM | 1u << ESP_SUITE_AES_128_GCM;
    n->link.suite_order[0] = first;
    n->link.suite_order[1] = second;
    n->link.n_suites = 2;
    if (n->keying)
        node_set_config(n);
}

static bool both_by_128(void)
{
    return node_status(low).suite == ESP_SUITE_AES_128_GCM &&
           node_status(high).suite == ESP_SUITE_AES_128_GCM && settled();
}

/* Another order of the same suites keys anew; until both ends want the weaker one first, the
 * stricter end wins. */
static void test_suite_order(void)
{
    pair_init();
    prefer(low, ESP_SUITE_AES_256_GCM, ESP_SUITE_AES_128_GCM);
    prefer(high, ESP_SUITE_AES_256_GCM, ESP_SUITE_AES_128_GCM);
    node_start(low);
    node_start(high);
    CU_ASSERT(pair_until(settled, 5));
    CU_ASSERT_EQUAL(node_status(low).suite, ESP_SUITE_AES_256_GCM);
    prefer(low, ESP_SUITE_AES_128_GCM, ESP_SUITE_AES_256_GCM);
    target = 2;
    CU_ASSERT(pair_until(reached_target, 5));
    CU_ASSERT(pair_until(settled, 5));
    CU_ASSERT_EQUAL(node_status(high).suite, ESP_SUITE_AES_256_GCM);
    prefer(high, ESP_SUITE_AES_128_GCM, ESP_SUITE_AES_256_GCM);
    CU_ASSERT(pair_until(both_by_128, 5));
    uint64_t epoch = node_epoch(low);
    restart(low); /* what is adopted is what would be asked for */
    CU_ASSERT_EQUAL(node_epoch(low), epoch);
    pair_done();
}

static const char *wanted_text;
static bool low_says_so(void)
{
    return strstr(node_status(low).permission, wanted_text) != NULL;
}

static void expect_permission(const char *text)
{
    wanted_text = text;
    CU_ASSERT(pair_until(low_says_so, 5));
    CU_ASSERT_EQUAL(node_status(low).suite, ESP_SUITE_AES_256_GCM);
}

/* A permission that this engine can't use changes no key, and each of its ends is told. */
static void test_permission(void)
{
    int64_t now = (int64_t)time(NULL);
    start_both();
    CU_ASSERT(pair_until(settled, 5));
    CU_ASSERT_STRING_EQUAL(node_status(low).permission, "");
    uint64_t epoch = node_epoch(low);
    low->link.permission = high->link.permission =
        (struct config_permission){.id = {{1}}, .suite = ESP_SUITE_NONE, .until = now + 600};
    node_set_config(low);
    node_set_config(high);
    expect_permission("the dataplane does not have it");
    low->clock_skew = 600;
    node_set_config(low);
    expect_permission("is over");
    low->clock_skew = 0; /* a clock that goes back revives nothing */
    node_set_config(low);
    expect_permission("is over");
    low->link.permission.id.b[0] = 2;
    low->link.permission.until = now + 2;
    low->clock_alone = true;
    node_set_config(low);
    expect_permission("the controller has not set the clock");
    low->clock_alone = false;
    node_set_config(low);
    expect_permission("is over"); /* by the link's own timer */
    low->link.permission =
        (struct config_permission){.id = {{3}}, .suite = ESP_SUITE_NONE, .until = now + 600};
    CU_ASSERT_EQUAL(keying_set_ended(low->keying, &low->link.permission.id, 1, NULL), 0);
    CU_ASSERT_EQUAL(keying_set_denials(low->keying, NULL, 0, NULL, 0, NULL), 0);
    node_set_config(low);
    expect_permission("has been withdrawn");
    CU_ASSERT_EQUAL(node_epoch(low), epoch);
    pair_done();
}

/* Other ports: the dataplane's tunnels are new ones and have no keys, whatever this end remembers
 * of the old ones, or a dump told that was taken before. */
static void test_other_ports(void)
{
    start_both();
    CU_ASSERT(pair_until(settled, 5));
    uint64_t epoch = node_epoch(low);
    low->link.port_offset = high->link.port_offset = 20;
    node_set_config(low);
    node_set_config(high);
    target = epoch + 1;
    CU_ASSERT(pair_until(reached_target, 8));
    CU_ASSERT(pair_until(settled, 5));
    node_stop(low);
    pair_turns(20);
    low->link.port_offset = high->link.port_offset = 30;
    node_set_config(high);
    low->late_config = true;
    node_start(low);
    CU_ASSERT(pair_until(pair_keyed, 8));
    CU_ASSERT(fake_dataplane_count_sas(&low->dp, &low->link.id, node_epoch(low), DP_DIR_IN) > 0);
    pair_done();
}

static bool tunnels_down(void)
{
    return low->dp.state[0][0] == DP_TUNNEL_DOWN;
}
static bool tunnels_up(void)
{
    return low->dp.state[0][0] == DP_TUNNEL_UP && high->dp.state[0][7] == DP_TUNNEL_UP;
}

/* One end's keys are gone, and nobody tells: TCP stands, the books agree, nothing answers. */
static void test_silence(void)
{
    start_both();
    CU_ASSERT(pair_until(settled, 5));
    CU_ASSERT(pair_until(tunnels_up, 5));
    high->dp.n_sas = 0;
    uint64_t start = clock_mono_ns();
    CU_ASSERT(pair_until(tunnels_down, 1));
    CU_ASSERT(both_connected());
    CU_ASSERT_EQUAL(node_epoch(high), 1);
    target = 2;
    CU_ASSERT(pair_until(reached_target, 9));
    CU_ASSERT(clock_mono_ns() - start >= 5 * NS_PER_S);
    CU_ASSERT(pair_until(tunnels_up, 2));
    CU_ASSERT_EQUAL(node_status(low).failures, 0);
    CU_ASSERT_EQUAL(node_epoch(low), 2);
    pair_done();
}

static bool low_says_suite(void)
{
    return strstr(node_status(low).last_error, "suite") != NULL;
}
static bool high_counts_failure(void)
{
    return keying_counters(high->keying)->exchanges_failed > 0;
}

static void test_no_common_suite(void)
{
    pair_init();
    high->link.suites = 1u << ESP_SUITE_AES_128_GCM;
    high->link.suite_order[0] = ESP_SUITE_AES_128_GCM;
    node_start(low);
    node_start(high);
    CU_ASSERT(pair_until(low_says_suite, 8));
    CU_ASSERT_FALSE(node_status(low).keyed);
    CU_ASSERT_EQUAL(low->dp.n_sas, 0);
    CU_ASSERT_EQUAL(high->dp.n_sas, 0);
    high->link = low->link;
    CU_ASSERT_EQUAL(ipaddr_parse(PAIR_HIGH_ADDRESS, &high->link.local), 0);
    CU_ASSERT_EQUAL(ipaddr_parse(PAIR_LOW_ADDRESS, &high->link.remote), 0);
    high->link.peer_id = low->id;
    high->link.remote_port_base = PAIR_LOW_PORT;
    node_set_config(high);
    CU_ASSERT(pair_until(pair_keyed, 8));
    pair_done();
}

static void test_dataplane_refuses(void)
{
    pair_init();
    high->dp.fail_type = DP_SA_INSTALL;
    high->dp.fail_status = HW_EFAIL;
    node_start(low);
    node_start(high);
    CU_ASSERT(pair_until(high_counts_failure, 8));
    CU_ASSERT_FALSE(node_status(low).keyed);
    high->dp.fail_type = 0;
    CU_ASSERT(pair_until(pair_keyed, 12));
    pair_done();
}

static bool mtu_announced(void)
{
    return high->announced == 1300;
}
static bool high_knows_mtu(void)
{
    return node_status(high).peer_mtu == 1300;
}

static void test_mtu(void)
{
    start_both();
    CU_ASSERT(pair_until(both_connected, 5));
    struct prefix p = {.addr = {.family = 4, .b = {10}}, .len = 8};
    CU_ASSERT_EQUAL(keying_announce_mtu(low->keying, &low->link.id, &p, 1300), 0);
    CU_ASSERT(pair_until(mtu_announced, 5));
    low->mtu = 1300;
    node_set_config(low);
    CU_ASSERT(pair_until(high_knows_mtu, 5));
    CU_ASSERT_EQUAL(node_epoch(low), 1);
    pair_done();
}

static bool low_has_failed(void)
{
    return node_status(low).failures > 0;
}

/* Over an underlay that no tunnel fits into nothing is keyed; keys come when it has grown. */
static void test_narrow(void)
{
    pair_init();
    high->mtu = HW_LINK_MTU_MIN - 1;
    node_start(low);
    node_start(high);
    CU_ASSERT(pair_until(low_has_failed, 8));
    CU_ASSERT_FALSE(node_status(high).keyed);
    CU_ASSERT_EQUAL(node_status(high).own_mtu, HW_LINK_MTU_MIN - 1);
    high->mtu = HW_LINK_MTU_MIN;
    node_set_config(high);
    CU_ASSERT(pair_until(pair_keyed, 8));
    pair_done();
}

static bool high_has_none(void)
{
    return high->dp.n_sas == 0;
}

static void test_disabled(void)
{
    start_both();
    high->link.enabled = false;
    node_set_config(high);
    CU_ASSERT(pair_until(high_has_none, 2));
    pair_turns(300);
    CU_ASSERT_FALSE(node_status(high).keyed);
    CU_ASSERT_NOT_EQUAL(node_status(low).state, KEYING_CONNECTED);
    high->link.enabled = true;
    node_set_config(high);
    CU_ASSERT(pair_until(pair_keyed, 12));
    pair_done();
}

/* Without a packet on the way, keys still follow one another: TCP confirms them. */
static void test_no_udp(void)
{
    pair_init();
    pair.traffic = false;
    node_start(low);
    node_start(high);
    CU_ASSERT(pair_until(pair_keyed, 5));
    /* the first epoch has no older one to delete, so it waits out its time */
    pair.traffic = true;
    pair_turns(20);
    pair.traffic = false;
    for (target = 2; target <= 4; target++) {
        CU_ASSERT_EQUAL(keying_rekey_now(low->keying, &low->link.id, NULL), 0);
        CU_ASSERT(pair_until(reached_target, 5));
    }
    pair_done();
}

int main(void)
{
    CU_TestInfo tests[] = {
        {"keys", test_keys},
        {"rekey", test_rekey},
        {"limits told by the dataplane", test_limits},
        {"soft limit of time", test_soft_seconds},
        {"collision", test_collision},
        {"agent restart adopts", test_agent_restart},
        {"new dataplane", test_new_dataplane},
        {"peer behind NAT", test_nat},
        {"terms", test_terms},
        {"order of suites", test_suite_order},
        {"permission", test_permission},
        {"other ports", test_other_ports},
        {"keys that nothing answers by", test_silence},
        {"no suite in common", test_no_common_suite},
        {"dataplane refuses", test_dataplane_refuses},
        {"MTU", test_mtu},
        {"narrow underlay", test_narrow},
        {"disabled link", test_disabled},
        {"no UDP", test_no_udp},
        {"connection lost anywhere", test_loss_everywhere},
        {"agent dies anywhere", test_crash_everywhere},
        CU_TEST_INFO_NULL,
    };
    return pair_run("keying", tests);
}
