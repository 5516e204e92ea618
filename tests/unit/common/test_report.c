#include "common/esp_suite.h"
#include "common/json.h"
#include "common/model/report.h"
#include "tests/unit/common/mutate.h"
#include "tests/unit/suite.h"

static struct err e;

/* The document of docs/protocols.md with numbers filled in; in canonical form. */
static const char good[] =
    "{\"agent_version\":\"0.1.0\",\"boot_id\":\"01000000-0000-0000-0000-000000000000\","
    "\"time\":1796072000,\"wall_skew_seconds\":-3,\"revisions\":{\"received\":9,"
    "\"applied\":8,\"in_force\":7,\"refused\":[{\"revision\":6,"
    "\"reason\":\"cut the path to the controller\"}]},\"denials_revision\":2,"
    "\"interfaces\":[{\"name\":\"eth0\",\"role\":\"site\",\"mtu\":9000,"
    "\"addresses\":[\"10.1.0.1/24\"]}],\"endpoints\":[{\"address\":\"fd01::1\",\"family\":6,"
    "\"scope\":\"private\",\"reachable\":false}],\"cloud\":{\"provider\":\"aws\",\"region\":null,"
    "\"size\":\"c6in.large\"},\"dataplane\":{\"connected\":true,"
    "\"boot_id\":\"02000000-0000-0000-0000-000000000000\",\"version\":\"0.1.0\","
    "\"workers\":2,\"provider\":\"ipsec-mb\",\"features\":[\"udp_gso\",\"landlock\"],"
    "\"suites\":[\"aes-256-gcm\",\"aes-128-gcm\"]},\"interval_seconds\":10.5,\"samples\":10,"
    "\"totals\":{\"goodput_tx_bps\":1,\"goodput_rx_bps\":2,\"wire_tx_bps\":3,"
    "\"wire_rx_bps\":4,\"tx_packets\":5,\"rx_packets\":6,\"tx_bytes\":7,\"rx_bytes\":8,"
    "\"wire_tx_bytes\":9,\"wire_rx_bytes\":10,\"tx_pps\":11,\"rx_pps\":12,"
    "\"spread\":{\"goodput_tx_bps\":{\"avg\":1.5,\"min\":1,\"max\":2},"
    "\"goodput_rx_bps\":{\"avg\":2,\"min\":2,\"max\":2},\"wire_tx_bps\":{\"avg\":3,\"min\":0,"
    "\"max\":9000000000},\"wire_rx_bps\":null}},"
    "\"links\":[{\"link_id\":\"03000000-0000-0000-0000-000000000000\",\"state\":\"degraded\","
    "\"reason\":\"7 of 8 up\",\"since\":1796071000,\"epoch\":4,\"rekeyed_at\":1796070000,"
    "\"suite\":\"aes-256-gcm\",\"keying\":{\"state\":\"connected\",\"last_error\":\"\","
    "\"failures\":1},\"mtu\":1438,\"tx_bps\":10,\"rx_bps\":11,\"wire_tx_bps\":12,"
    "\"wire_rx_bps\":13,\"tx_pps\":14,\"rx_pps\":15,\"underlay_mtu\":1500,"
    "\"spread\":{\"tx_bps\":{\"avg\":10,\"min\":9,\"max\":12},\"rx_bps\":null},"
    "\"rtt_us\":{\"avg\":120.5,\"min\":119,\"max\":122},\"loss_ratio\":0,"
    "\"imbalance_ratio\":1.2,\"tunnels\":[{\"tunnel\":0,\"state\":\"up\","
    "\"reason\":\"answered\",\"port\":4510,\"rtt_us\":120,\"tx_packets\":1,\"tx_bytes\":2,"
    "\"rx_packets\":3,\"rx_bytes\":4,\"probes_sent\":5,\"probes_answered\":6,"
    "\"probes_lost\":7,\"worker\":1,\"mtu\":1438,\"wire_tx_bytes\":8,\"wire_rx_bytes\":9,"
    "\"rtt_us_min\":10,\"rtt_us_max\":11,\"probes_reflected\":12,\"auth_failures\":13,"
    "\"replays\":14},{\"tunnel\":1,\"state\":\"down\",\"reason\":\"no_answer\",\"port\":4511,"
    "\"rtt_us\":0,\"tx_packets\":0,\"tx_bytes\":0,\"rx_packets\":0,\"rx_bytes\":0,"
    "\"probes_sent\":0,\"probes_answered\":0,\"probes_lost\":0,\"worker\":0,\"mtu\":0,"
    "\"wire_tx_bytes\":0,\"wire_rx_bytes\":0,\"rtt_us_min\":0,\"rtt_us_max\":0,"
    "\"probes_reflected\":0,\"auth_failures\":0,\"replays\":0}]},"
    "{\"link_id\":\"04000000-0000-0000-0000-000000000000\",\"state\":\"no_keys\","
    "\"reason\":\"\",\"since\":0,\"epoch\":0,\"rekeyed_at\":null,\"suite\":null,"
    "\"keying\":{\"state\":\"failed\",\"last_error\":\"refused\",\"failures\":3},\"mtu\":0,"
    "\"tx_bps\":0,\"rx_bps\":0,\"wire_tx_bps\":0,\"wire_rx_bps\":0,\"tx_pps\":0,\"rx_pps\":0,"
    "\"underlay_mtu\":null,\"spread\":{\"tx_bps\":null,\"rx_bps\":null},\"rtt_us\":null,"
    "\"loss_ratio\":null,\"imbalance_ratio\":null,\"tunnels\":[]}],"
    "\"workers\":[{\"busy_ratio\":0.4,\"busy_ratio_max\":0.75,\"segments_in\":1,"
    "\"segments_out\":2,\"handoff_in\":3,\"handoff_out\":4,\"tunnels\":5},{\"busy_ratio\":1,"
    "\"busy_ratio_max\":1,\"segments_in\":0,\"segments_out\":0,\"handoff_in\":0,"
    "\"handoff_out\":0,\"tunnels\":0}],\"drops\":{\"no_route\":3,\"ecn\":1},"
    "\"system\":{\"ip_forward\":true,\"problems\":[\"rp_filter was changed\"]},"
    "\"conntrack\":{\"entries\":120,\"max\":262144},\"commands\":[]}";

/* As agents sent it before they took samples. */
static const char older[] =
    "{\"agent_version\":\"0.1.0\",\"boot_id\":\"01000000-0000-0000-0000-000000000000\","
    "\"time\":1796072000,\"wall_skew_seconds\":-3,\"revisions\":{\"received\":9,"
    "\"applied\":8,\"in_force\":7,\"refused\":[{\"revision\":6,"
    "\"reason\":\"cut the path to the controller\"}]},\"denials_revision\":2,"
    "\"interfaces\":[{\"name\":\"eth0\",\"role\":\"site\",\"mtu\":9000,"
    "\"addresses\":[\"10.1.0.1/24\"]}],\"endpoints\":[{\"address\":\"fd01::1\",\"family\":6,"
    "\"scope\":\"private\",\"reachable\":false}],\"dataplane\":{\"connected\":true,"
    "\"boot_id\":\"02000000-0000-0000-0000-000000000000\",\"version\":\"0.1.0\","
    "\"workers\":2,\"provider\":\"ipsec-mb\",\"features\":[\"udp_gso\",\"landlock\"]},"
    "\"interval_seconds\":10.5,\"totals\":{\"goodput_tx_bps\":1,\"goodput_rx_bps\":2,"
    "\"wire_tx_bps\":3,\"wire_rx_bps\":4,\"tx_packets\":5,\"rx_packets\":6,\"tx_bytes\":7,"
    "\"rx_bytes\":8},\"links\":[{\"link_id\":\"03000000-0000-0000-0000-000000000000\","
    "\"state\":\"degraded\",\"reason\":\"7 of 8 up\",\"since\":1796071000,\"epoch\":4,"
    "\"rekeyed_at\":1796070000,\"suite\":\"aes-256-gcm\",\"keying\":{\"state\":\"connected\","
    "\"last_error\":\"\",\"failures\":1},\"mtu\":1438,\"tx_bps\":10,\"rx_bps\":11,"
    "\"tunnels\":[{\"tunnel\":0,\"state\":\"up\",\"reason\":\"answered\",\"port\":4510,"
    "\"rtt_us\":120,\"tx_packets\":1,\"tx_bytes\":2,\"rx_packets\":3,\"rx_bytes\":4,"
    "\"probes_sent\":5,\"probes_answered\":6,\"probes_lost\":7},{\"tunnel\":1,"
    "\"state\":\"down\",\"reason\":\"no_answer\",\"port\":4511,\"rtt_us\":0,\"tx_packets\":0,"
    "\"tx_bytes\":0,\"rx_packets\":0,\"rx_bytes\":0,\"probes_sent\":0,\"probes_answered\":0,"
    "\"probes_lost\":0}]},{\"link_id\":\"04000000-0000-0000-0000-000000000000\","
    "\"state\":\"no_keys\",\"reason\":\"\",\"since\":0,\"epoch\":0,\"rekeyed_at\":null,"
    "\"suite\":null,\"keying\":{\"state\":\"failed\",\"last_error\":\"refused\","
    "\"failures\":3},\"mtu\":0,\"tx_bps\":0,\"rx_bps\":0,\"tunnels\":[]}],"
    "\"workers\":[{\"busy_ratio\":0.4},{\"busy_ratio\":1}],\"drops\":{\"no_route\":3,"
    "\"ecn\":1},\"system\":{\"ip_forward\":true,\"problems\":[\"rp_filter was changed\"]},"
    "\"commands\":[]}";

static void test_decode(void)
{
    struct report r;
    CU_ASSERT_EQUAL_FATAL(report_decode(good, strlen(good), &r, &e), HW_OK);
    CU_ASSERT_EQUAL(r.wall_skew_seconds, -3);
    CU_ASSERT_EQUAL(r.revisions.refused[0].revision, 6);
    CU_ASSERT_EQUAL(r.dataplane.features, DP_FEATURE_UDP_GSO | DP_FEATURE_LANDLOCK);
    CU_ASSERT_EQUAL(r.dataplane.provider, DP_PROVIDER_IPSEC_MB);
    CU_ASSERT_EQUAL(r.totals.wire_rx_bps, 4);
    CU_ASSERT_EQUAL_FATAL(r.n_links, 2);
    CU_ASSERT_EQUAL(r.links[0].state, REPORT_LINK_DEGRADED);
    CU_ASSERT_EQUAL(r.links[0].keying, REPORT_KEYING_CONNECTED);
    CU_ASSERT_EQUAL(r.links[0].suite, ESP_SUITE_AES_256_GCM);
    CU_ASSERT_EQUAL_FATAL(r.links[0].n_tunnels, 2);
    CU_ASSERT_EQUAL(r.links[0].tunnels[0].state, DP_TUNNEL_UP);
    CU_ASSERT_EQUAL(r.links[0].tunnels[0].probes_lost, 7);
    CU_ASSERT_EQUAL(r.links[0].tunnels[1].reason, DP_REASON_NO_ANSWER);
    CU_ASSERT_EQUAL(r.links[1].suite, 0);
    CU_ASSERT_EQUAL(r.links[1].rekeyed_at, 0);
    CU_ASSERT_EQUAL(r.drops[DROP_NO_ROUTE], 3);
    CU_ASSERT_EQUAL(r.drops[DROP_ECN], 1);
    CU_ASSERT_STRING_EQUAL(r.problems[0], "rp_filter was changed");
    size_t len;
    char *text = report_encode(&r, &len);
    CU_ASSERT_STRING_EQUAL(text, good);
    CU_ASSERT_EQUAL(len, strlen(good));
    free(text);
    report_done(&r);
    report_done(NULL);
}

static void test_measured(void)
{
    struct report r;
    CU_ASSERT_EQUAL_FATAL(report_decode(good, strlen(good), &r, &e), HW_OK);
    CU_ASSERT_EQUAL(r.samples, 10);
    CU_ASSERT_EQUAL(r.dataplane.suites, 1u << ESP_SUITE_AES_256_GCM | 1u << ESP_SUITE_AES_128_GCM);
    CU_ASSERT_TRUE(r.totals.goodput_tx.known);
    CU_ASSERT_EQUAL(r.totals.wire_tx.max, 9e9);
    CU_ASSERT_FALSE(r.totals.wire_rx.known);
    CU_ASSERT_EQUAL(r.links[0].rtt_us.avg, 120.5);
    CU_ASSERT_TRUE(r.links[0].loss.known);
    CU_ASSERT_FALSE(r.links[1].loss.known);
    CU_ASSERT_EQUAL(r.links[0].tunnels[0].replays, 14);
    CU_ASSERT_EQUAL(r.workers[0].busy_ratio_max, 0.75);
    CU_ASSERT_EQUAL(r.conntrack.max, 262144);
    report_done(&r);
}

static void test_older_agent(void)
{
    struct report r;
    CU_ASSERT_EQUAL_FATAL(report_decode(older, strlen(older), &r, &e), HW_OK);
    CU_ASSERT_EQUAL(r.samples, 0);
    CU_ASSERT_EQUAL(r.dataplane.suites, 0);
    CU_ASSERT_FALSE(r.totals.goodput_tx.known);
    CU_ASSERT_FALSE(r.links[0].rtt_us.known);
    CU_ASSERT_FALSE(r.links[0].imbalance.known);
    CU_ASSERT_EQUAL(r.links[0].tunnels[0].mtu, 0);
    CU_ASSERT_EQUAL(r.workers[0].busy_ratio_max, 0.4);
    CU_ASSERT_FALSE(r.conntrack.known);
    report_done(&r);
}

/* An agent whose dataplane is gone, and nothing configured. */
static void test_empty(void)
{
    struct report r = {0}, back;
    size_t len;
    char *text = report_encode(&r, &len);
    CU_ASSERT_EQUAL_FATAL(report_decode(text, len, &back, &e), HW_OK);
    CU_ASSERT_TRUE(id_is_zero(&back.dataplane.boot_id));
    CU_ASSERT_PTR_NULL(back.links);
    report_done(&back);
    free(text);
}

static void refused(const char *from, const char *to, const char *field)
{
    struct report r;
    char *text = mutate(good, from, to);
    e = (struct err){0};
    int rc = report_decode(text, strlen(text), &r, &e);
    if (rc == HW_OK)
        report_done(&r);
    if (rc == HW_OK || strcmp(e.field, field) != 0)
        (void)fprintf(stderr, "%s -> %s: field \"%s\", text \"%s\"\n", from, to, e.field, e.text);
    CU_ASSERT_EQUAL(rc, HW_EINVAL);
    CU_ASSERT_STRING_EQUAL(e.field, field);
    free(text);
}

static void test_refused(void)
{
    refused("\"time\":1796072000", "\"time\":-1", "time");
    refused("\"time\":1796072000", "\"time\":\"now\"", "time");
    refused("\"time\"", "\"clock\"", "clock");
    refused("\"received\":9,", "", "revisions.received");
    refused("\"revision\":6", "\"revision\":-6", "revisions.refused[0].revision");
    refused("\"workers\":2", "\"workers\":65", "dataplane.workers");
    refused("\"ipsec-mb\"", "\"aesni\"", "dataplane.provider");
    refused("\"interval_seconds\":10.5", "\"interval_seconds\":-1", "interval_seconds");
    refused("\"tx_packets\":5", "\"tx_packets\":5.5", "totals.tx_packets");
    refused("\"degraded\"", "\"fine\"", "links[0].state");
    refused("\"suite\":\"aes-256-gcm\"", "\"suite\":\"rot13\"", "links[0].suite");
    refused("\"mtu\":1438", "\"mtu\":70000", "links[0].mtu");
    refused("\"tunnel\":1", "\"tunnel\":0", "links[0].tunnels[1]");
    refused("\"tunnel\":1", "\"tunnel\":50", "links[0].tunnels[1].tunnel");
    refused("\"probes_lost\":7", "\"probes_gone\":7", "links[0].tunnels[0].probes_gone");
    refused("04000000-0000", "03000000-0000", "links[1]");
    refused("\"busy_ratio\":1,", "\"busy_ratio\":1.01,", "workers[1].busy_ratio");
    refused("\"avg\":1.5", "\"avg\":2.5", "totals.spread.goodput_tx_bps.avg");
    refused("\"min\":119", "\"min\":123", "links[0].rtt_us.max");
    refused("\"loss_ratio\":0,", "\"loss_ratio\":1.5,", "links[0].loss_ratio");
    refused("\"worker\":1", "\"worker\":64", "links[0].tunnels[0].worker");
    refused("\"samples\":10", "\"samples\":-1", "samples");
    refused("\"entries\":120", "\"entries\":null", "conntrack.entries");
    refused("\"no_route\":3", "\"no_route\":-3", "drops.no_route");
    refused("\"ip_forward\":true", "\"ip_forward\":null", "system.ip_forward");
    refused("\"commands\":[]", "\"commands\":[{}]", "commands");
}

/* A newer dataplane may know more reasons and features. */
static void test_unknown_names_are_ignored(void)
{
    struct report r;
    char *a = mutate(good, "\"no_route\":3", "\"of_tomorrow\":3"),
         *b = mutate(a, "\"udp_gso\"", "\"io_uring\"");
    CU_ASSERT_EQUAL_FATAL(report_decode(b, strlen(b), &r, &e), HW_OK);
    CU_ASSERT_EQUAL(r.drops[DROP_NO_ROUTE], 0);
    CU_ASSERT_EQUAL(r.dataplane.features, DP_FEATURE_LANDLOCK);
    report_done(&r);
    free(a);
    free(b);
}

static void test_too_many(void)
{
    struct report r = {0}, back;
    size_t len;
    r.n_links = HW_LINKS_MAX + 1;
    r.links = calloc(r.n_links, sizeof *r.links);
    for (size_t i = 0; i < r.n_links; i++)
        r.links[i].link_id.b[i % 2] = (uint8_t)(1 + i / 2 % 255);
    char *text = report_encode(&r, &len);
    CU_ASSERT_EQUAL(report_decode(text, len, &back, &e), HW_EINVAL);
    CU_ASSERT_STRING_EQUAL(e.field, "links");
    free(text);
    report_done(&r);
}

/* The lists of names here are those of dp_proto.h. */
static void test_names_agree(void)
{
    for (unsigned state = 0; state <= DP_TUNNEL_DOWN; state++) {
        for (unsigned reason = 0; reason <= DP_REASON_DISABLED; reason++) {
            struct report_tunnel t = {.state = state, .reason = reason};
            struct report_link l = {.link_id = {{1}}, .tunnels = &t, .n_tunnels = 1};
            struct report r = {.links = &l, .n_links = 1}, back;
            size_t len;
            char *text = report_encode(&r, &len);
            CU_ASSERT_EQUAL_FATAL(report_decode(text, len, &back, &e), HW_OK);
            CU_ASSERT_EQUAL(back.links[0].tunnels[0].state, state);
            CU_ASSERT_EQUAL(back.links[0].tunnels[0].reason, reason);
            report_done(&back);
            free(text);
        }
    }
    CU_ASSERT_STRING_EQUAL(report_feature_name(0), "udp_gso");
    CU_ASSERT_PTR_NULL(report_feature_name(5));
    CU_ASSERT_PTR_NULL(report_feature_name(31));
}

int main(void)
{
    CU_TestInfo tests[] = {{"decode", test_decode},
                           {"measured", test_measured},
                           {"a report of an older agent", test_older_agent},
                           {"empty", test_empty},
                           {"refused", test_refused},
                           {"unknown names are ignored", test_unknown_names_are_ignored},
                           {"too many", test_too_many},
                           {"names agree", test_names_agree},
                           CU_TEST_INFO_NULL};
    return suite_run("report", tests);
}
