#include "common/esp_suite.h"
#include "common/model/gateway_config.h"
#include "tests/unit/common/mutate.h"
#include "tests/unit/suite.h"

/* As in docs/protocols.md: gateway A of a spoke with one attachment and one bypass link. */
static const char good[] =
    "{\"version\":1,"
    "\"gateway\":{\"id\":\"11111111-1111-4111-8111-111111111111\",\"name\":\"gw-a1\","
    "\"site_id\":\"aaaaaaaa-1111-4111-8111-111111111111\",\"site_name\":\"site-a\",\"role\":"
    "\"spoke\","
    "\"port_base\":4510,\"overlay\":{\"ipv4\":\"100.127.0.1\",\"ipv6\":\"fd12::1\"},"
    "\"flow_seed\":\"00112233445566ff\",\"tunnel_seed\":\"ffeeddccbbaa9988\"},"
    "\"site_prefixes\":[\"10.1.0.0/16\",\"fd01::/64\"],"
    "\"peers\":[{\"gateway_id\":\"22222222-2222-4222-8222-222222222222\","
    "\"site_id\":\"bbbbbbbb-1111-4111-8111-111111111111\",\"name\":\"gw-t1\","
    "\"overlay\":{\"ipv4\":\"100.127.0.2\",\"ipv6\":\"fd12::2\"},\"endpoints\":[\"10.2.0.1\","
    "\"fd02::1\"]},"
    "{\"gateway_id\":\"33333333-3333-4333-8333-333333333333\","
    "\"site_id\":\"aaaaaaaa-1111-4111-8111-111111111111\",\"name\":\"gw-a2\","
    "\"overlay\":{\"ipv4\":null,\"ipv6\":\"fd12::3\"},\"endpoints\":[]}],"
    "\"links\":[{\"id\":\"c1c1c1c1-1111-4111-8111-111111111111\","
    "\"connection_id\":\"dddddddd-1111-4111-8111-111111111111\",\"kind\":\"attachment\","
    "\"peer_id\":\"22222222-2222-4222-8222-222222222222\",\"enabled\":true,\"tunnels\":8,\"port_"
    "offset\":49,"
    "\"local\":\"10.1.0.1\",\"remote\":\"10.2.0.1\",\"remote_port_base\":4510,\"dial\":true,\"peer_"
    "dials\":false,"
    "\"suites\":[\"aes-128-gcm\",\"aes-256-gcm\"],\"liveness\":{\"interval_ms\":1000,\"missed\":3},"
    "\"permission\":{\"id\":\"eeeeeeee-1111-4111-8111-111111111111\",\"suite\":\"none\","
    "\"until\":1796515200}},"
    "{\"id\":\"c2c2c2c2-1111-4111-8111-111111111111\",\"connection_id\":null,\"kind\":\"bypass\","
    "\"peer_id\":\"33333333-3333-4333-8333-333333333333\",\"enabled\":false,\"tunnels\":1,\"port_"
    "offset\":0,"
    "\"local\":\"fd01::1\",\"remote\":\"fd01::2\",\"remote_port_base\":5000,\"dial\":true,\"peer_"
    "dials\":true,"
    "\"suites\":[\"aes-256-gcm\"],\"liveness\":{\"interval_ms\":100,\"missed\":3}}],"
    "\"fib\":{\"sources\":[{\"prefix\":\"10.1.0.0/16\",\"domain\":1,\"local\":true,\"links\":[]},"
    "{\"prefix\":\"10.2.0.0/16\",\"domain\":1,\"local\":false,\"links\":[0,1]}],"
    "\"routes\":[{\"domain\":1,\"ingress\":\"attachment\",\"prefix\":\"10.1.0.0/"
    "16\",\"target\":\"local\"},"
    "{\"domain\":1,\"ingress\":\"site\",\"prefix\":\"10.2.0.0/16\",\"target\":\"set\",\"set\":0},"
    "{\"domain\":1,\"ingress\":\"bypass\",\"prefix\":\"10.2.0.0/16\",\"target\":\"unreachable\"}],"
    "\"sets\":[{\"members\":[{\"link\":0,\"weight\":100},{\"link\":1,\"weight\":1}],"
    "\"buckets\":[[0,4000],[1,96]]}]}}";

static void test_decode(void)
{
    struct gateway_config c;
    struct err e = {0};
    CU_ASSERT_EQUAL_FATAL(gateway_config_decode(good, strlen(good), &c, &e), HW_OK);
    CU_ASSERT_EQUAL(c.gateway_id.b[0], 0x11);
    CU_ASSERT_STRING_EQUAL(c.name, "gw-a1");
    CU_ASSERT_EQUAL(c.role, SITE_SPOKE);
    CU_ASSERT_EQUAL(c.port_base, 4510);
    CU_ASSERT_EQUAL(c.flow_seed, 0x00112233445566ffull);
    CU_ASSERT_EQUAL(c.overlay6.family, 6);
    CU_ASSERT_EQUAL_FATAL(c.n_peers, 2);
    CU_ASSERT_EQUAL(c.peers[0].n_endpoints, 2);
    CU_ASSERT_EQUAL(c.peers[1].overlay4.family, 0);
    CU_ASSERT_EQUAL_FATAL(c.n_links, 2);
    CU_ASSERT_EQUAL(c.links[0].kind, LINK_ATTACHMENT);
    CU_ASSERT_EQUAL(c.links[0].suites, 1u << ESP_SUITE_AES_128_GCM | 1u << ESP_SUITE_AES_256_GCM);
    CU_ASSERT_EQUAL(c.links[0].suite_order[0], ESP_SUITE_AES_128_GCM);
    CU_ASSERT_EQUAL(c.links[0].port_offset, 49);
    CU_ASSERT_TRUE(c.links[0].dial);
    CU_ASSERT_FALSE(c.links[0].peer_dials);
    CU_ASSERT_EQUAL(c.links[0].permission.suite, ESP_SUITE_NONE);
    CU_ASSERT_EQUAL(c.links[0].permission.until, 1796515200);
    CU_ASSERT_EQUAL(c.links[0].permission.id.b[0], 0xee);
    CU_ASSERT_EQUAL(c.links[1].permission.suite, 0);
    CU_ASSERT_EQUAL(c.links[1].kind, LINK_BYPASS);
    CU_ASSERT_TRUE(id_is_zero(&c.links[1].connection_id));
    CU_ASSERT_EQUAL_FATAL(c.n_sources, 2);
    CU_ASSERT_EQUAL(c.sources[1].links[1], 1);
    CU_ASSERT_EQUAL_FATAL(c.n_routes, 3);
    CU_ASSERT_EQUAL(c.routes[1].target, ROUTE_SET);
    CU_ASSERT_EQUAL(c.routes[2].ingress, 3);
    CU_ASSERT_EQUAL(c.sets[0].bucket[3999], 0);
    CU_ASSERT_EQUAL(c.sets[0].bucket[4000], 1);
    CU_ASSERT_EQUAL(c.sets[0].members[0].weight, 100);
    gateway_config_done(&c);
    gateway_config_done(NULL);
}

/* The text above is in canonical form, so encoding gives its very bytes. */
static void test_canonical(void)
{
    struct gateway_config c;
    size_t len;
    CU_ASSERT_EQUAL_FATAL(gateway_config_decode(good, strlen(good), &c, NULL), HW_OK);
    char *text = gateway_config_encode(&c, &len);
    CU_ASSERT_STRING_EQUAL(text, good);
    CU_ASSERT_EQUAL(len, strlen(good));
    free(text);
    gateway_config_done(&c);
}

static void refused(const char *from, const char *to, const char *field)
{
    struct gateway_config c;
    struct err e = {0};
    char *text = mutate(good, from, to);
    int rc = gateway_config_decode(text, strlen(text), &c, &e);
    CU_ASSERT_EQUAL(rc, HW_EINVAL);
    if (rc == HW_OK)
        gateway_config_done(&c);
    if (rc == HW_OK || strcmp(e.field, field) != 0)
        (void)fprintf(stderr, "%s -> %s: field \"%s\", text \"%s\"\n", from, to, e.field, e.text);
    CU_ASSERT_STRING_EQUAL(e.field, field);
    free(text);
}

static void test_gateway_refused(void)
{
    refused("\"version\":1", "\"version\":2", "version");
    refused("\"version\":1,", "", "version");
    refused("\"version\":1", "\"version\":1,\"more\":1", "more");
    refused("\"id\":\"1111", "\"id\":\"111", "gateway.id");
    refused("\"id\":\"11111111-1111-4111-8111-111111111111\"",
            "\"id\":\"00000000-0000-0000-0000-000000000000\"", "gateway.id");
    refused("\"name\":\"gw-a1\"", "\"name\":\"gw_a1\"", "gateway.name");
    refused("\"spoke\"", "\"hub\"", "gateway.role");
    refused("\"port_base\":4510", "\"port_base\":65500", "gateway.port_base");
    refused("\"ipv4\":\"100.127.0.1\"", "\"ipv4\":\"fd00::1\"", "gateway.overlay");
    refused("\"ipv4\":\"100.127.0.1\",\"ipv6\":\"fd12::1\"", "\"ipv4\":null", "gateway.overlay");
    refused("00112233445566ff", "00112233445566f", "gateway.flow_seed");
    refused("00112233445566ff", "00112233445566FF", "gateway.flow_seed");
    refused("\"10.1.0.0/16\"", "\"10.1.0.1/16\"", "site_prefixes[0]");
    refused("\"fd01::/64\"", "\"10.1.2.0/24\"", "site_prefixes[1]");
}

static void test_peers_refused(void)
{
    refused("33333333-3333-4333-8333-333333333333", "22222222-2222-4222-8222-222222222222",
            "peers[1]");
    refused("33333333-3333-4333-8333-333333333333", "11111111-1111-4111-8111-111111111111",
            "peers[1]");
    refused("\"fd02::1\"]", "\"10.2.0.1\"]", "peers[0].endpoints[1]");
    refused("\"endpoints\":[]", "\"endpoints\":[7]", "peers[1].endpoints[0]");
    refused("\"name\":\"gw-t1\",", "", "peers[0].name");
}

static void test_links_refused(void)
{
    refused("c2c2c2c2-1111", "c1c1c1c1-1111", "links[1]");
    refused("\"connection_id\":null", "\"connection_id\":\"dddddddd-1111-4111-8111-111111111111\"",
            "links[1]");
    refused("\"connection_id\":\"dddddddd-1111-4111-8111-111111111111\"", "\"connection_id\":null",
            "links[0]");
    refused("\"kind\":\"attachment\"", "\"kind\":\"site\"", "links[0].kind");
    refused("\"peer_id\":\"2222", "\"peer_id\":\"4222", "links[0]");
    refused("\"tunnels\":8", "\"tunnels\":0", "links[0].tunnels");
    refused("\"tunnels\":8", "\"tunnels\":51", "links[0].tunnels");
    refused("\"port_offset\":49", "\"port_offset\":50", "links[0].port_offset");
    refused("\"remote\":\"10.2.0.1\"", "\"remote\":\"fd02::1\"", "links[0]");
    refused("\"remote_port_base\":4510", "\"remote_port_base\":0", "links[0].remote_port_base");
    refused("[\"aes-128-gcm\",\"aes-256-gcm\"]", "[]", "links[0].suites");
    refused("[\"aes-128-gcm\",\"aes-256-gcm\"]", "[\"none\"]", "links[0].suites[0]");
    refused("\"aes-128-gcm\",", "\"aes-256-gcm\",", "links[0].suites[1]");
    refused("\"interval_ms\":1000", "\"interval_ms\":9", "links[0].liveness.interval_ms");
    refused("\"missed\":3", "\"missed\":21", "links[0].liveness.missed");
    refused("\"enabled\":true", "\"enabled\":1", "links[0].enabled");
}

static void test_permission_refused(void)
{
    refused("\"missed\":3}}],", "\"missed\":3},\"permission\":null}],", "links[1].permission");
    refused(
        "\"missed\":3}}],",
        "\"missed\":3},\"permission\":{\"id\":\"eeeeeeee-1111-4111-8111-111111111111\",\"suite\":"
        "\"none\",\"until\":1796515200}}],",
        "links[1]");
    refused("\"suite\":\"none\"", "\"suite\":\"aes-256-gcm\"", "links[0].permission.suite");
    refused("\"suite\":\"none\",", "", "links[0].permission.suite");
    refused("\"until\":1796515200", "\"until\":0", "links[0].permission.until");
    refused("\"until\":1796515200", "\"until\":1796515200,\"x\":1", "links[0].permission.x");
    refused("\"id\":\"eeeeeeee-1111-4111-8111-111111111111\",\"suite\"",
            "\"id\":\"00000000-0000-0000-0000-000000000000\",\"suite\"", "links[0].permission.id");
}

static void test_fib_refused(void)
{
    refused("\"links\":[0,1]", "\"links\":[0,2]", "fib.sources[1].links[1]");
    refused("\"links\":[0,1]", "\"links\":[1,1]", "fib.sources[1].links[1]");
    refused("\"links\":[0,1]", "\"links\":[-1]", "fib.sources[1].links[0]");
    refused("{\"prefix\":\"10.2.0.0/16\",\"domain\":1,\"local\":false",
            "{\"prefix\":\"10.1.0.0/16\",\"domain\":1,\"local\":false", "fib.sources");
    refused("\"domain\":1,\"local\":true", "\"domain\":1024,\"local\":true",
            "fib.sources[0].domain");
    refused("\"ingress\":\"bypass\"", "\"ingress\":\"tunnel\"", "fib.routes[2].ingress");
    refused("\"ingress\":\"bypass\"", "\"ingress\":\"site\"", "fib.routes");
    refused("\"target\":\"set\",\"set\":0", "\"target\":\"set\",\"set\":1", "fib.routes[1].set");
    refused("\"target\":\"set\",\"set\":0", "\"target\":\"set\"", "fib.routes[1].set");
    refused("\"target\":\"local\"", "\"target\":\"local\",\"set\":0", "fib.routes[0]");
    refused("\"link\":1,\"weight\":1", "\"link\":0,\"weight\":1", "fib.sets[0].members[1]");
    refused("\"link\":1,\"weight\":1", "\"link\":2,\"weight\":1", "fib.sets[0].members[1].link");
    refused("\"weight\":100", "\"weight\":0", "fib.sets[0].members[0].weight");
    refused("[1,96]", "[1,95]", "fib.sets[0].buckets");
    refused("[1,96]", "[1,97]", "fib.sets[0].buckets[1]");
    refused("[1,96]", "[2,96]", "fib.sets[0].buckets[1][0]");
    refused("[1,96]", "[1,96,0]", "fib.sets[0].buckets[1]");
    refused("[1,96]", "7", "fib.sets[0].buckets[1]");
    refused("[1,96]", "[1,0],[1,96]", "fib.sets[0].buckets[1][1]");
}

static void test_too_big(void)
{
    size_t len = HW_CONFIG_BODY_MAX + 1u;
    char *text = malloc(len);
    struct gateway_config c;
    memset(text, ' ', len);
    CU_ASSERT_EQUAL(gateway_config_decode(text, len, &c, NULL), HW_ETOOBIG);
    free(text);
}

/* As many routes as are allowed, both ways. */
static void test_large(void)
{
    struct gateway_config c, back;
    struct err e = {0};
    size_t len;
    const size_t n = 50000;
    CU_ASSERT_EQUAL_FATAL(gateway_config_decode(good, strlen(good), &c, NULL), HW_OK);
    free(c.routes);
    c.routes = calloc(n, sizeof *c.routes);
    c.n_routes = n;
    for (size_t i = 0; i < n; i++)
        c.routes[i] = (struct config_route){
            .prefix = {.addr = {.family = 4, .b = {10, (uint8_t)(i >> 8), (uint8_t)i}}, .len = 24},
            .domain = 1,
            .ingress = (unsigned)(i % 2),
            .target = ROUTE_SET,
        };
    c.routes[n - 1].prefix.len = 32;
    char *text = gateway_config_encode(&c, &len);
    CU_ASSERT_PTR_NOT_NULL_FATAL(text);
    CU_ASSERT_EQUAL(gateway_config_decode(text, len, &back, &e), HW_OK);
    CU_ASSERT_EQUAL(back.n_routes, n);
    gateway_config_done(&back);
    free(text);
    c.routes[n - 1] = c.routes[17];
    text = gateway_config_encode(&c, &len);
    CU_ASSERT_EQUAL(gateway_config_decode(text, len, &back, &e), HW_EINVAL);
    CU_ASSERT_STRING_EQUAL(e.field, "fib.routes");
    free(text);
    gateway_config_done(&c);
}

int main(void)
{
    CU_TestInfo tests[] = {{"decode", test_decode},
                           {"canonical", test_canonical},
                           {"gateway refused", test_gateway_refused},
                           {"peers refused", test_peers_refused},
                           {"links refused", test_links_refused},
                           {"permission refused", test_permission_refused},
                           {"fib refused", test_fib_refused},
                           {"too big", test_too_big},
                           {"large", test_large},
                           CU_TEST_INFO_NULL};
    return suite_run("gateway_config", tests);
}
