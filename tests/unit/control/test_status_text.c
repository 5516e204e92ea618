/* What people and scripts read of a status. */
#include "agent/control/status_text.h"
#include "tests/unit/suite.h"
#include <stdlib.h>
#include <string.h>

static const char status[] =
    "{\"gateway_id\":\"11111111-1111-4111-8111-111111111111\",\"name\":\"gw-a1\",\"site_name\":"
    "\"site-a\",\"version\":\"0.1.0\",\"boot_id\":null,\"enrolled\":true,\"certificate\":{"
    "\"serial\":"
    "\"0a\",\"not_after\":\"2026-12-30T00:00:00Z\"},\"controller\":{\"url\":\"https://"
    "192.0.2.9:8444\","
    "\"state\":\"connected\",\"last_contact\":1000,\"last_error\":\"\"},\"revisions\":{"
    "\"received\":8,"
    "\"applied\":8,\"in_force\":7,\"refused\":[{\"revision\":8,\"reason\":\"no "
    "answer\"}],\"confirmed\":"
    "7},\"denials_revision\":0,\"clock\":{\"trusted_time\":1003,\"skew_seconds\":-2,\"source\":"
    "\"controller\"},\"cloud\":{\"service\":\"aws\",\"read_at\":null,\"error\":\"status 403\","
    "\"provider\":{\"value\":\"aws\",\"source\":\"metadata\"},\"region\":null,\"size\":{\"value\":"
    "\"c5n.large\",\"source\":\"settings\"},\"public_addresses\":[{\"address\":\"203.0.113.7\","
    "\"inside\":\"10.1.0.1\",\"source\":\"metadata\"}]},\"dataplane\":{\"connected\":true,\"boot_"
    "id\":null,\"version\":\"0.1.0\","
    "\"workers\":2,\"provider\":\"ipsec-mb\",\"features\":[]},\"links\":[{\"link_id\":"
    "\"22222222-2222-4222-8222-222222222222\",\"state\":\"degraded\",\"reason\":\"1 of 2 tunnels "
    "are "
    "up\",\"since\":700,\"epoch\":3,\"rekeyed_at\":null,\"suite\":\"aes-256-gcm\",\"keying\":{"
    "\"state\":"
    "\"failed\",\"last_error\":\"refused\",\"failures\":4},\"mtu\":1438,\"tx_bps\":2500000000,\"rx_"
    "bps\":"
    "0,\"tunnels\":[{\"tunnel\":0,\"state\":\"up\",\"reason\":\"answered\",\"port\":4510,\"rtt_"
    "us\":120,"
    "\"tx_packets\":10,\"tx_bytes\":1536,\"rx_packets\":1,\"rx_bytes\":100,\"probes_sent\":9,"
    "\"probes_answered\":8,\"probes_lost\":1},{\"tunnel\":1,\"state\":\"down\",\"reason\":\"no_"
    "answer\","
    "\"port\":4511,\"rtt_us\":0,\"tx_packets\":0,\"tx_bytes\":0,\"rx_packets\":0,\"rx_bytes\":0,"
    "\"probes_sent\":0,\"probes_answered\":0,\"probes_lost\":0}],\"peer\":\"gw-t1\",\"local\":"
    "\"10.1.0.1\",\"remote\":\"10.3.0.1\"}],\"drops\":{},\"system\":{\"ip_forward\":true,"
    "\"problems\":"
    "[\"something\"]}}";

static char *print(const char *json, int dump, int *rc)
{
    char *text = NULL;
    size_t len = 0;
    FILE *f = open_memstream(&text, &len);
    struct err e = {0};
    *rc = dump ? status_text_dump(f, json, strlen(json), &e)
               : status_text_print(f, json, strlen(json), 1003, &e);
    (void)fclose(f);
    return text;
}

static void test_print(void)
{
    int rc;
    char *text = print(status, 0, &rc);
    CU_ASSERT_EQUAL(rc, 0);
    CU_ASSERT_STRING_EQUAL(
        text, "gateway: gw-a1, site site-a\n"
              "  id:           11111111-1111-4111-8111-111111111111\n"
              "  agent:        0.1.0, enrolled\n"
              "  certificate:  serial 0a, ends 2026-12-30T00:00:00Z\n"
              "  controller:   https://192.0.2.9:8444 connected, last contact 3 s ago\n"
              "  config:       revision 7 in force, 7 confirmed, 8 received\n"
              "  refused:      revision 8: no answer\n"
              "  cloud:        aws (metadata), size c5n.large (settings)\n"
              "  public:       203.0.113.7 for 10.1.0.1 (metadata)\n"
              "  metadata:     aws: status 403\n"
              "  clock:        by controller, wall clock -2 s\n"
              "  dataplane:    0.1.0, 2 workers, ipsec-mb\n"
              "  forwarding:   on\n"
              "  problem:      something\n"
              "\n"
              "link: gw-t1\n"
              "  id:           22222222-2222-4222-8222-222222222222\n"
              "  state:        degraded: 1 of 2 tunnels are up, since 5 min ago\n"
              "  path:         10.1.0.1 to 10.3.0.1\n"
              "  keys:         aes-256-gcm, epoch 3, made never\n"
              "  keying:       failed, 4 failures in a row: refused\n"
              "  mtu:          1438\n"
              "  tunnels:      1 of 2 up, rtt 0.120 ms\n"
              "  transfer:     1.50 KiB sent, 100 B received\n"
              "  rate:         2.50 Gbit/s sent, 0 bit/s received\n");
    free(text);
}

static void test_dump(void)
{
    int rc;
    char *text = print(status, 1, &rc);
    CU_ASSERT_EQUAL(rc, 0);
    CU_ASSERT_STRING_EQUAL(text,
                           "22222222-2222-4222-8222-222222222222\tgw-t1\t0\t4510\tup\tanswered"
                           "\t120\t10\t1536\t1\t100\t9\t8\t1\n"
                           "22222222-2222-4222-8222-222222222222\tgw-t1\t1\t4511\tdown\t"
                           "no_answer\t0\t0\t0\t0\t0\t0\t0\t0\n");
    free(text);
}

/* An agent that is not enrolled, and another version that says less. */
static void test_little(void)
{
    int rc;
    char *text =
        print("{\"name\":\"gw-a1\",\"gateway_id\":null,\"controller\":null,\"links\":[]}", 0, &rc);
    CU_ASSERT_EQUAL(rc, 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(text, "not enrolled"));
    free(text);
    text = print("{}", 0, &rc);
    CU_ASSERT_EQUAL(rc, 0);
    free(text);
    text = print("[]x", 0, &rc);
    CU_ASSERT(rc < 0);
    free(text);
}

int main(void)
{
    CU_TestInfo tests[] = {
        {"for people", test_print},
        {"for scripts", test_dump},
        {"little to say", test_little},
        CU_TEST_INFO_NULL,
    };
    return suite_run("status_text", tests);
}
