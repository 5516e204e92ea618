/* Rows to bytes and back, against bytes written down by hand from docs/protocols.md. */
#include "common/bytes.h"
#include "common/dp_proto.h"
#include "controller/telemetry/pack.h"
#include "tests/unit/suite.h"
#include <stdlib.h>

static struct err e;

static struct pack_row sample(void)
{
    struct pack_row r = {.flags = PACK_CONNECTED, .reports = 1, .ms = 10000};
    r.links = calloc(1, sizeof *r.links);
    r.tunnels = calloc(1, sizeof *r.tunnels);
    for (int i = 0; i < GATEWAY_GAUGES; i++)
        r.gateway.gauges[i] = GAUGE_UNKNOWN;
    r.gateway.gauges[GATEWAY_GOODPUT_TX] = (struct gauge){1.5f, 1, 2};
    r.gateway.counters[GATEWAY_TX_BYTES] = 0x0102030405060708;
    r.gateway.counters[GATEWAY_DROPS] = 7;
    r.gateway.links_up = r.gateway.links = 1;
    r.gateway.tunnels_up = 1;
    r.gateway.tunnels = 2;
    r.drops[DROP_NO_ROUTE] = 7;
    r.n_links = 1;
    r.links[0] = (struct pack_link){.id = {{0xaa, 0xbb}},
                                    .state = 1,
                                    .suite = 1,
                                    .tunnels_up = 1,
                                    .tunnels = 2,
                                    .mtu = 1438,
                                    .up_ms = 10000,
                                    .changes = 3,
                                    .rekey_age = 60};
    r.links[0].counters[LINK_PROBES_LOST] = 4;
    r.links[0].counters[LINK_RX_PACKETS] = 9;
    r.links[0].gauges[LINK_IMBALANCE] = (struct gauge){1, 1, 1};
    r.n_tunnels = 1;
    r.tunnels[0] = (struct pack_tunnel){.number = 5,
                                        .state = DP_TUNNEL_UP,
                                        .mtu = 1438,
                                        .worker = 1,
                                        .probes_lost = 1,
                                        .probes_answered = 2};
    r.tunnels[0].gauges[TUNNEL_RTT_US] = (struct gauge){0.5f, 0.25f, 4};
    r.tunnels[0].counters[TUNNEL_WIRE_RX_BYTES] = 6;
    r.n_workers = 1;
    r.workers[0] = (struct pack_worker){.tunnels = 2, .busy = {0.5f, 0.25f, 1}};
    r.workers[0].counters[WORKER_HANDOFFS] = 8;
    return r;
}

static const char main_header[] = "01"
                                  "01"
                                  "0001"
                                  "00002710"
                                  "00b4"
                                  "0001"
                                  "0001"
                                  "00bc"
                                  "00000000";
static const char drop_entry[] = "0003"
                                 "0000000000000007";
static const char link_head[] = "aabb0000000000000000000000000000"
                                "01"
                                "01"
                                "0001"
                                "0002"
                                "059e"
                                "00002710"
                                "00000003";
static const char detail_head[] = "01"
                                  "00"
                                  "0001"
                                  "64"
                                  "00"
                                  "01"
                                  "28";
static const char worker_bytes[] = "00"
                                   "02"
                                   "0000"
                                   "3f000000"
                                   "3e800000"
                                   "3f800000"
                                   "0000000000000000"
                                   "0000000000000000"
                                   "0000000000000008";
static const char tunnel_bytes[] = "0000"
                                   "05"
                                   "02"
                                   "059e"
                                   "0001"
                                   "000000000000000000000000"
                                   "000000000000000000000000"
                                   "3f000000"
                                   "3e800000"
                                   "40800000"
                                   "00000001"
                                   "00000002"
                                   "0000000000000000"
                                   "0000000000000000"
                                   "0000000000000000"
                                   "0000000000000000"
                                   "0000000000000000"
                                   "0000000000000006";

static bool is_hex(const uint8_t *p, const char *hex)
{
    for (size_t i = 0; hex[2 * i]; i++) {
        char two[3] = {hex[2 * i], hex[2 * i + 1], '\0'};
        if (p[i] != strtoul(two, NULL, 16)) {
            (void)fprintf(stderr, "byte %zu is %02x, not %s\n", i, p[i], two);
            return false;
        }
    }
    return true;
}

static void test_golden_main(void)
{
    struct pack_row r = sample();
    size_t len;
    uint8_t *p = pack_main(&r, &len);
    CU_ASSERT_EQUAL_FATAL(len, 20 + 180 + 10 + 188);
    CU_ASSERT_TRUE(is_hex(p, main_header));
    CU_ASSERT_TRUE(is_hex(p + 20, "3fc00000"
                                  "3f800000"
                                  "40000000"
                                  "7fc00000"));
    CU_ASSERT_TRUE(is_hex(p + 20 + 96, "7fc000007fc000007fc00000"
                                       "0102030405060708"));
    CU_ASSERT_TRUE(is_hex(p + 20 + 164, "0000000000000007"
                                        "0001"
                                        "0001"
                                        "0001"
                                        "0002"));
    CU_ASSERT_TRUE(is_hex(p + 200, drop_entry));
    CU_ASSERT_TRUE(is_hex(p + 210, link_head));
    CU_ASSERT_TRUE(is_hex(p + 210 + 116, "3f8000003f8000003f800000"
                                         "0000000000000004"));
    CU_ASSERT_TRUE(is_hex(p + 210 + 168, "0000000000000009"
                                         "0000003c"
                                         "0000000000000000"));
    free(p);
    pack_row_done(&r);
}

static void test_golden_detail(void)
{
    struct pack_row r = sample();
    size_t len;
    uint8_t *p = pack_detail(&r, &len);
    CU_ASSERT_EQUAL_FATAL(len, 8 + 40 + 100);
    CU_ASSERT_TRUE(is_hex(p, detail_head));
    CU_ASSERT_TRUE(is_hex(p + 8, worker_bytes));
    CU_ASSERT_TRUE(is_hex(p + 48, tunnel_bytes));
    free(p);
    pack_row_done(&r);
}

static void test_back(void)
{
    struct pack_row r = sample(), back = {0};
    size_t main_len, detail_len, again_len;
    uint8_t *m = pack_main(&r, &main_len), *d = pack_detail(&r, &detail_len);
    CU_ASSERT_EQUAL_FATAL(unpack_main(m, main_len, &back, &e), 0);
    CU_ASSERT_EQUAL_FATAL(unpack_detail(d, detail_len, &back, &e), 0);
    CU_ASSERT_EQUAL(back.drops[DROP_NO_ROUTE], 7);
    CU_ASSERT_TRUE(isnan(back.gateway.gauges[GATEWAY_CONNTRACK].max));
    CU_ASSERT_EQUAL(back.links[0].rekey_age, 60);
    CU_ASSERT_EQUAL(back.workers[0].busy.max, 1);
    uint8_t *again = pack_main(&back, &again_len);
    CU_ASSERT_TRUE(again_len == main_len && memcmp(again, m, main_len) == 0);
    free(again);
    again = pack_detail(&back, &again_len);
    CU_ASSERT_TRUE(again_len == detail_len && memcmp(again, d, detail_len) == 0);
    free(again);
    pack_row_done(&back);
    pack_row_done(&r);
    free(m);
    free(d);
}

/* What a newer writer appends to each record is stepped over. */
static void test_longer_records(void)
{
    struct pack_row r = sample(), back = {0};
    size_t len;
    uint8_t *p = pack_main(&r, &len), *longer = calloc(1, len + 8);
    memcpy(longer, p, 20 + 180);
    store_be16(longer + 8, 184);
    store_be16(longer + 14, 192);
    memcpy(longer + 204, p + 200, 10 + 188);
    CU_ASSERT_EQUAL(unpack_main(longer, len + 8, &back, &e), 0);
    CU_ASSERT_EQUAL(back.drops[DROP_NO_ROUTE], 7);
    CU_ASSERT_EQUAL(back.links[0].mtu, 1438);
    pack_row_done(&back);
    pack_row_done(&r);
    free(longer);
    free(p);
}

static void test_damaged(void)
{
    struct pack_row r = sample(), back;
    size_t len, n_ok = 0;
    uint8_t *p = pack_main(&r, &len);
    for (size_t cut = 0; cut <= len; cut++) {
        back = (struct pack_row){0};
        n_ok += unpack_main(p, cut, &back, &e) == 0;
        pack_row_done(&back);
    }
    CU_ASSERT_EQUAL(n_ok, 1); /* the whole one */
    p[0] = 2;
    back = (struct pack_row){0};
    CU_ASSERT_EQUAL(unpack_main(p, len, &back, &e), HW_EPROTO);
    pack_row_done(&back);
    free(p);
    p = pack_detail(&r, &len);
    back = (struct pack_row){0};
    CU_ASSERT_EQUAL(unpack_detail(p, len, &back, &e), HW_EPROTO); /* a tunnel of no link */
    pack_row_done(&back);
    for (size_t cut = 0; cut < len; cut++) {
        back = (struct pack_row){.n_links = 1};
        CU_ASSERT_EQUAL(unpack_detail(p, cut, &back, &e), HW_EPROTO);
        back.n_links = 0;
        pack_row_done(&back);
    }
    free(p);
    pack_row_done(&r);
}

int main(void)
{
    CU_TestInfo tests[] = {{"bytes of main", test_golden_main},
                           {"bytes of detail", test_golden_detail},
                           {"and back", test_back},
                           {"longer records", test_longer_records},
                           {"cut and damaged", test_damaged},
                           CU_TEST_INFO_NULL};
    return suite_run("pack", tests);
}
