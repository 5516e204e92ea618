#include "agent/dataplane/vnet_hdr.h"
#include "tests/unit/dataplane/packet_test.h"

static bool parses(struct vnet_hdr h, size_t packet_len)
{
    uint8_t raw[VNET_HDR_LEN];
    struct vnet_hdr out;
    vnet_hdr_build(raw, &h);
    return vnet_hdr_parse(raw, sizeof raw, packet_len, &out);
}

/* Bytes as TUN gave them for a 29,000-byte TCP packet over IPv4, timestamps on. */
static void test_layout(void)
{
    static const uint8_t raw[] = {1, 0x81, 52, 0, 0xa8, 5, 20, 0, 16, 0};
    struct vnet_hdr h;
    CU_ASSERT_TRUE_FATAL(vnet_hdr_parse(raw, sizeof raw, 29000, &h));
    CU_ASSERT_EQUAL(h.flags, VNET_F_NEEDS_CSUM);
    CU_ASSERT_EQUAL(h.gso_type, VNET_GSO_TCPV4);
    CU_ASSERT_TRUE(h.ecn);
    CU_ASSERT_EQUAL(h.hdr_len, 52);
    CU_ASSERT_EQUAL(h.gso_size, 1448);
    CU_ASSERT_EQUAL(h.csum_start, 20);
    CU_ASSERT_EQUAL(h.csum_offset, 16);
    uint8_t again[VNET_HDR_LEN];
    vnet_hdr_build(again, &h);
    CU_ASSERT_EQUAL(memcmp(raw, again, sizeof raw), 0);
}

static void test_what_is_refused(void)
{
    struct vnet_hdr ok = {.flags = 1,
                          .gso_type = VNET_GSO_UDP_L4,
                          .gso_size = 100,
                          .csum_start = 20,
                          .csum_offset = 6};
    struct vnet_hdr h = ok;
    CU_ASSERT_TRUE(parses(h, 28));
    CU_ASSERT_FALSE(parses(h, 27));
    h.gso_size = 0;
    CU_ASSERT_FALSE(parses(h, 1000));
    h = ok;
    h.flags = 0;
    CU_ASSERT_FALSE(parses(h, 1000));
    h = ok;
    h.gso_type = 3; /* UDP fragmentation offload: not offered */
    CU_ASSERT_FALSE(parses(h, 1000));
    h = (struct vnet_hdr){.flags = 1, .csum_start = 65535, .csum_offset = 65535};
    CU_ASSERT_FALSE(parses(h, 65535));
    uint8_t raw[VNET_HDR_LEN] = {0};
    CU_ASSERT_TRUE(vnet_hdr_parse(raw, VNET_HDR_LEN, 0, &h));
    CU_ASSERT_FALSE(vnet_hdr_parse(raw, VNET_HDR_LEN - 1, 0, &h));
}

int main(void)
{
    CU_TestInfo tests[] = {
        {"layout", test_layout}, {"what is refused", test_what_is_refused}, CU_TEST_INFO_NULL};
    return packet_test_run("vnet_hdr", tests);
}
