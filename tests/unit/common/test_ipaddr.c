#include "common/err.h"
#include "common/ipaddr.h"
#include "tests/unit/suite.h"
#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

static struct ipaddr ip(const char *text)
{
    struct ipaddr a = {0};
    CU_ASSERT_EQUAL(ipaddr_parse(text, &a), HW_OK);
    return a;
}

static struct prefix net(const char *text)
{
    struct prefix p = {0};
    CU_ASSERT_EQUAL(prefix_parse(text, &p, NULL), HW_OK);
    return p;
}

static void test_parse(void)
{
    struct ipaddr a = ip("10.1.2.3");
    CU_ASSERT_EQUAL(a.family, 4);
    CU_ASSERT_EQUAL(memcmp(a.b, (uint8_t[16]){10, 1, 2, 3}, 16), 0);
    a = ip("FD01::1");
    CU_ASSERT_EQUAL(a.family, 6);
    CU_ASSERT_EQUAL(a.b[0], 0xfd);
    CU_ASSERT_EQUAL(a.b[15], 1);
    static const char *const bad[] = {
        "",
        "10.1.2",
        "10.1.2.3.4",
        "10.01.2.3",
        "10.1.2.256",
        "0x0a.1.2.3",
        " 10.1.2.3",
        "10.1.2.3 ",
        "10.1.2.3:80",
        "[::1]",
        "fe80::1%eth0",
        "::ffff:10.1.2.3",
        "::ffff:a01:203",
        "1::2::3",
        "12345::",
        "1:2:3:4:5:6:7",
        "1:2:3:4:5:6:7:8:9",
        ":1",
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        CU_ASSERT_EQUAL(ipaddr_parse(bad[i], &a), HW_EINVAL);
    CU_ASSERT_EQUAL(ipaddr_parse(NULL, &a), HW_EINVAL);
}

/* RFC 5952 section 4 and 5. */
static void test_text(void)
{
    static const char *const rows[][2] = {
        {"10.1.2.3", "10.1.2.3"},
        {"2001:db8:0:0:1:0:0:1", "2001:db8::1:0:0:1"},
        {"2001:0db8::0001", "2001:db8::1"},
        {"2001:db8:0:1:1:1:1:1", "2001:db8:0:1:1:1:1:1"},
        {"2001:0:0:1:0:0:0:1", "2001:0:0:1::1"},
        {"2001:DB8::A", "2001:db8::a"},
        {"0:0:0:0:0:0:0:0", "::"},
        {"0:0:0:0:0:0:0:1", "::1"},
        {"1:0:0:0:0:0:0:0", "1::"},
        {"0:1:0:1:0:1:0:1", "0:1:0:1:0:1:0:1"},
        {"0:0:1:2:3:4:5:6", "::1:2:3:4:5:6"},
        {"1:2:3:4:5:6:0:0", "1:2:3:4:5:6::"},
    };
    char out[IPADDR_TEXT_MAX];
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct ipaddr a = ip(rows[i][0]);
        CU_ASSERT_STRING_EQUAL(ipaddr_text(&a, out), rows[i][1]);
    }
    struct ipaddr none = {0};
    CU_ASSERT_STRING_EQUAL(ipaddr_text(&none, out), "none");
}

/* Python's ipaddress makes networks of both families and is the judge of parsing and printing. */
static void test_against_python(void)
{
    static const char script[] =
        "/usr/bin/python3 -c 'import ipaddress as i, random as r\n"
        "r.seed(7)\n"
        "for n in range(3000):\n"
        "  bits = r.choice((32, 128)); length = r.randrange(bits + 1)\n"
        "  v = r.getrandbits(bits) & r.getrandbits(bits) & (r.getrandbits(bits) | "
        "r.getrandbits(bits))\n"
        "  if bits == 128:\n"
        "    v = sum((v >> s & 0xffff) << s for s in range(0, 128, 16) if r.random() < .5)\n"
        "  a = i.ip_address(v.to_bytes(bits // 8, \"big\"))\n"
        "  if bits == 128 and a.ipv4_mapped: continue\n"
        "  p = i.ip_network((a, length), strict=False)\n"
        "  print(a.exploded, a, p.network_address.exploded, p, int(p.network_address == a))'";
    FILE *f = popen(script, "r");
    char exploded[64], text[64], net_exploded[64], net_text[80], out[PREFIX_TEXT_MAX], given[160];
    int exact, lines = 0;
    CU_ASSERT_PTR_NOT_NULL_FATAL(f);
    while (fscanf(f, "%63s %63s %63s %79s %d", exploded, text, net_exploded, net_text, &exact) ==
           5) {
        struct ipaddr a = ip(exploded);
        CU_ASSERT_STRING_EQUAL(ipaddr_text(&a, out), text);
        struct prefix p = net(net_text);
        CU_ASSERT_STRING_EQUAL(prefix_text(&p, out), net_text);
        CU_ASSERT_TRUE(prefix_contains(&p, &a));
        (void)snprintf(given, sizeof given, "%s%s", text, strchr(net_text, '/'));
        const char *why = NULL;
        struct prefix q;
        CU_ASSERT_EQUAL(prefix_parse(given, &q, &why), exact ? HW_OK : HW_EINVAL);
        CU_ASSERT(exact || strcmp(why, "host bits are set") == 0);
        lines++;
    }
    CU_ASSERT_EQUAL(pclose(f), 0);
    CU_ASSERT(lines > 2500);
}

static void test_prefix_refused(void)
{
    static const char *const bad[] = {
        "",
        "/",
        "/8",
        "10.0.0.0/",
        "10.0.0.0/33",
        "10.0.0.0/08",
        "10.0.0.0/+8",
        "10.0.0.0/-1",
        "10.0.0.0/8 ",
        "10.0.0.0/8/8",
        "10/8",
        "fd00::/129",
        "::/4294967296",
        "10.0.0.1/8",
        "fd00::1/64",
    };
    struct prefix p = {.len = 77};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        CU_ASSERT_EQUAL(prefix_parse(bad[i], &p, NULL), HW_EINVAL);
    CU_ASSERT_EQUAL(p.len, 77);
    p = net("10.1.2.3");
    CU_ASSERT_EQUAL(p.len, 32);
    p = net("fd00::1");
    CU_ASSERT_EQUAL(p.len, 128);
}

static void test_relations(void)
{
    struct prefix wide = net("10.0.0.0/8"), narrow = net("10.1.0.0/16"), other = net("10.2.0.0/16"),
                  all = net("0.0.0.0/0"), six = net("::/0");
    struct ipaddr inside = ip("10.1.255.255"), outside = ip("10.2.0.0"), v6 = ip("fd00::1");
    CU_ASSERT_TRUE(prefix_contains(&narrow, &inside));
    CU_ASSERT_FALSE(prefix_contains(&narrow, &outside));
    CU_ASSERT_FALSE(prefix_contains(&all, &v6));
    CU_ASSERT_TRUE(prefix_covers(&wide, &narrow));
    CU_ASSERT_FALSE(prefix_covers(&narrow, &wide));
    CU_ASSERT_TRUE(prefix_covers(&narrow, &narrow));
    CU_ASSERT_TRUE(prefix_overlaps(&narrow, &wide));
    CU_ASSERT_TRUE(prefix_overlaps(&wide, &narrow));
    CU_ASSERT_FALSE(prefix_overlaps(&narrow, &other));
    CU_ASSERT_FALSE(prefix_overlaps(&all, &six));
    CU_ASSERT_TRUE(prefix_cmp(&narrow, &other) < 0);
    CU_ASSERT_TRUE(prefix_cmp(&wide, &narrow) < 0);
    CU_ASSERT_TRUE(prefix_cmp(&all, &six) < 0);
    CU_ASSERT_TRUE(prefix_equal(&narrow, &narrow));
}

static void test_special(void)
{
    static const char *const special[] = {
        "0.0.0.0", "127.0.0.1", "169.254.1.1", "224.0.0.1", "239.1.1.1", "255.255.255.255",
        "::",      "::1",       "fe80::1",     "febf::1",   "ff02::1"};
    static const char *const usual[] = {"10.0.0.1", "100.127.0.1", "192.0.2.1", "223.255.255.255",
                                        "fd00::1",  "2001:db8::1", "fec0::1",   "::2"};
    struct ipaddr none = {0};
    for (size_t i = 0; i < sizeof special / sizeof special[0]; i++) {
        struct ipaddr a = ip(special[i]);
        CU_ASSERT_TRUE(ipaddr_is_special(&a));
    }
    for (size_t i = 0; i < sizeof usual / sizeof usual[0]; i++) {
        struct ipaddr a = ip(usual[i]);
        CU_ASSERT_FALSE(ipaddr_is_special(&a));
    }
    CU_ASSERT_TRUE(ipaddr_is_special(&none));
    static const char *const mixed[] = {"128.0.0.0/1",  "192.0.0.0/2", "8000::/1",    "fc00::/6",
                                        "224.0.1.0/24", "::/64",       "127.0.0.1/32"};
    static const char *const plain[] = {"192.0.0.0/3", "10.0.0.0/8", "fc00::/7", "2000::/3"};
    struct prefix p;
    for (size_t i = 0; i < sizeof mixed / sizeof mixed[0]; i++) {
        CU_ASSERT_EQUAL_FATAL(prefix_parse(mixed[i], &p, NULL), HW_OK);
        CU_ASSERT_TRUE(prefix_has_special(&p));
    }
    for (size_t i = 0; i < sizeof plain / sizeof plain[0]; i++) {
        CU_ASSERT_EQUAL_FATAL(prefix_parse(plain[i], &p, NULL), HW_OK);
        CU_ASSERT_FALSE(prefix_has_special(&p));
    }
}

static void test_sockaddr(void)
{
    struct sockaddr_storage ss;
    struct ipaddr a = ip("192.0.2.9"), b;
    uint16_t port = 0;
    CU_ASSERT_EQUAL(ipaddr_to_sockaddr(&a, 4510, &ss), sizeof(struct sockaddr_in));
    CU_ASSERT_EQUAL(((struct sockaddr_in *)&ss)->sin_port, htons(4510));
    CU_ASSERT_EQUAL(ipaddr_from_sockaddr((struct sockaddr *)&ss, &b, &port), HW_OK);
    CU_ASSERT_TRUE(ipaddr_equal(&a, &b));
    CU_ASSERT_EQUAL(port, 4510);
    a = ip("2001:db8::9");
    CU_ASSERT_EQUAL(ipaddr_to_sockaddr(&a, 1, &ss), sizeof(struct sockaddr_in6));
    CU_ASSERT_EQUAL(ipaddr_from_sockaddr((struct sockaddr *)&ss, &b, NULL), HW_OK);
    CU_ASSERT_TRUE(ipaddr_equal(&a, &b));
    struct sockaddr_in6 mapped = {.sin6_family = AF_INET6};
    CU_ASSERT_EQUAL(inet_pton(AF_INET6, "::ffff:192.0.2.9", &mapped.sin6_addr), 1);
    CU_ASSERT_EQUAL(ipaddr_from_sockaddr((struct sockaddr *)&mapped, &b, &port), HW_OK);
    a = ip("192.0.2.9");
    CU_ASSERT_TRUE(ipaddr_equal(&a, &b));
    ss.ss_family = AF_UNIX;
    CU_ASSERT_EQUAL(ipaddr_from_sockaddr((struct sockaddr *)&ss, &b, &port), HW_EINVAL);
}

int main(void)
{
    CU_TestInfo tests[] = {{"parse", test_parse},
                           {"text", test_text},
                           {"against python", test_against_python},
                           {"prefix refused", test_prefix_refused},
                           {"relations", test_relations},
                           {"special", test_special},
                           {"sockaddr", test_sockaddr},
                           CU_TEST_INFO_NULL};
    return suite_run("ipaddr", tests);
}
