#include "common/b64url.h"
#include "common/model/enrol.h"
#include "tests/unit/common/mutate.h"
#include "tests/unit/suite.h"

static struct err e;

static struct enrol_token token(void)
{
    struct enrol_token t = {.n_pins = 1, .id = {{1, 2, 3}}};
    t.urls.n = 2;
    (void)strcpy(t.urls.url[0], "https://192.0.2.9:8444");
    (void)strcpy(t.urls.url[1], "https://[2001:db8::9]:8444");
    memset(t.pins[0], 0xa5, ENROL_PIN_LEN);
    memset(t.secret, 0x5a, ENROL_SECRET_LEN);
    return t;
}

static void test_token(void)
{
    struct enrol_token t = token(), back;
    char *text = enrol_token_encode(&t), *padded;
    CU_ASSERT_PTR_NOT_NULL_FATAL(text);
    CU_ASSERT_EQUAL(strncmp(text, "hwt1.", 5), 0);
    uint8_t *json;
    size_t len;
    CU_ASSERT_EQUAL_FATAL(b64url_decode(text + 5, strlen(text + 5), &json, &len), HW_OK);
    CU_ASSERT_STRING_EQUAL(
        (char *)json,
        "{\"urls\":[\"https://192.0.2.9:8444\",\"https://[2001:db8::9]:8444\"],"
        "\"pins\":[\"a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5\"],"
        "\"id\":\"01020300-0000-0000-0000-000000000000\","
        "\"secret\":\"5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a\"}");
    free(json);
    if (asprintf(&padded, " \n%s\r\n\n", text) < 0)
        abort();
    CU_ASSERT_EQUAL_FATAL(enrol_token_decode(padded, strlen(padded), &back, &e), HW_OK);
    CU_ASSERT_EQUAL(memcmp(&t, &back, sizeof t), 0);
    free(padded);
    free(text);
}

static int decode_token(const char *json)
{
    struct enrol_token t;
    char *b64 = b64url_encode(json, strlen(json)), *text;
    if (!b64 || asprintf(&text, "hwt1.%s", b64) < 0)
        abort();
    int rc = enrol_token_decode(text, strlen(text), &t, &e);
    free(b64);
    free(text);
    return rc;
}

static void test_token_refused(void)
{
    static const char good[] =
        "{\"urls\":[\"https://"
        "c:1\"],\"pins\":[\"a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5\"],"
        "\"id\":\"01020300-0000-0000-0000-000000000000\","
        "\"secret\":\"5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a\"}";
    static const char *const changes[][3] = {
        {"https://c:1", "http://c:1", "urls[0]"},
        {"https://c:1", "https://c:1/path", "urls[0]"},
        {"https://c:1", "https://user@c:1", "urls[0]"},
        {"https://c:1", "https://", "urls[0]"},
        {"[\"https://c:1\"]", "[]", "urls"},
        {"\"pins\":[\"a5", "\"pins\":[\"", "pins[0]"},
        {"a5a5\"]", "a5A5\"]", "pins[0]"},
        {"\"secret\":\"5a", "\"secret\":\"", "secret"},
        {"\"id\":\"01", "\"id\":\"", "id"},
        {"{\"urls\"", "{\"x\":1,\"urls\"", "x"},
    };
    struct enrol_token t;
    CU_ASSERT_EQUAL(decode_token(good), HW_OK);
    for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++) {
        char *bad = mutate(good, changes[i][0], changes[i][1]);
        CU_ASSERT_EQUAL(decode_token(bad), HW_EINVAL);
        CU_ASSERT_STRING_EQUAL(e.field, changes[i][2]);
        free(bad);
    }
    static const char *const bad[] = {"",          "hwt1",   "hwt1.",   "hwt2.e30",
                                      "hwt1.e30=", "hwt1.!", "hwt1.e30"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        CU_ASSERT_EQUAL(enrol_token_decode(bad[i], strlen(bad[i]), &t, &e), HW_EINVAL);
}

static struct enrol_request request(void)
{
    struct enrol_request r = {.token_id = {{1}},
                              .secret = {0xff},
                              .csr_pem = "-----BEGIN CERTIFICATE REQUEST-----\n",
                              .name = "gw-a1",
                              .boot_id = {{2}},
                              .agent_version = "0.1.0",
                              .provider = "onprem"};
    r.node = (struct node){
        .interfaces = {{.name = "eth0",
                        .role = NODE_BOTH,
                        .mtu = 1500,
                        .addresses = {{.addr = {.family = 4, .b = {10, 1, 0, 1}}, .len = 24},
                                      {.addr = {.family = 6, .b = {0xfd, 1, [15] = 1}}, .len = 64}},
                        .n_addresses = 2}},
        .n_interfaces = 1,
        .endpoints = {{.address = {.family = 4, .b = {192, 0, 2, 1}},
                       .scope = NODE_PUBLIC,
                       .reachable = true}},
        .n_endpoints = 1,
    };
    return r;
}

static const char request_json[] =
    "{\"token_id\":\"01000000-0000-0000-0000-000000000000\","
    "\"secret\":\"ff00000000000000000000000000000000000000000000000000000000000000\","
    "\"csr_pem\":\"-----BEGIN CERTIFICATE REQUEST-----\\n\",\"name\":\"gw-a1\","
    "\"boot_id\":\"02000000-0000-0000-0000-000000000000\",\"agent_version\":\"0.1.0\",\"provider\":"
    "\"onprem\","
    "\"region\":null,\"size\":null,\"interfaces\":[{\"name\":\"eth0\",\"role\":\"both\",\"mtu\":"
    "1500,"
    "\"addresses\":[\"10.1.0.1/24\",\"fd01::1/"
    "64\"]}],\"endpoints\":[{\"address\":\"192.0.2.1\",\"family\":4,"
    "\"scope\":\"public\",\"reachable\":true}]}";

static void test_request(void)
{
    struct enrol_request r = request(), back;
    size_t len;
    char *text = enrol_request_encode(&r, &len);
    CU_ASSERT_STRING_EQUAL(text, request_json);
    CU_ASSERT_EQUAL_FATAL(enrol_request_decode(text, len, &back, &e), HW_OK);
    CU_ASSERT_EQUAL(memcmp(&r, &back, sizeof r), 0);
    free(text);
}

static void test_request_refused(void)
{
    static const char *const changes[][3] = {
        {"\"name\":\"gw-a1\"", "\"name\":\"GW\"", "name"},
        {"\"provider\":\"onprem\",", "", "provider"},
        {"\"secret\":\"ff", "\"secret\":\"f", "secret"},
        {"\"boot_id\":\"02", "\"boot_id\":\"2", "boot_id"},
        {"\"role\":\"both\"", "\"role\":\"wan\"", "interfaces[0].role"},
        {"\"mtu\":1500", "\"mtu\":67", "interfaces[0].mtu"},
        {"\"eth0\"", "\"a-name-of-16-chr\"", "interfaces[0].name"},
        {"10.1.0.1/24", "10.1.0.1", "interfaces[0].addresses[0]"},
        {"10.1.0.1/24", "10.1.0.1/33", "interfaces[0].addresses[0]"},
        {"10.1.0.1/24", "10.1.0.1/", "interfaces[0].addresses[0]"},
        {"10.1.0.1/24", "10.1.0.1/+4", "interfaces[0].addresses[0]"},
        {"10.1.0.1/24", "10.1.0.1/24/1", "interfaces[0].addresses[0]"},
        {"10.1.0.1/24", "10.1.0.1/0024", "interfaces[0].addresses[0]"},
        {"\"family\":4", "\"family\":6", "endpoints[0].address"},
        {"\"192.0.2.1\"", "\"127.0.0.1\"", "endpoints[0].address"},
        {"\"scope\":\"public\"", "\"scope\":\"any\"", "endpoints[0].scope"},
        {"\"reachable\":true}",
         "\"reachable\":true},{\"address\":\"192.0.2.1\",\"family\":4,\"scope\":\"private\","
         "\"reachable\":false}",
         "endpoints[1]"},
    };
    struct enrol_request r;
    for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++) {
        char *bad = mutate(request_json, changes[i][0], changes[i][1]);
        CU_ASSERT_EQUAL(enrol_request_decode(bad, strlen(bad), &r, &e), HW_EINVAL);
        if (strcmp(e.field, changes[i][2]) != 0)
            (void)fprintf(stderr, "%s: \"%s\"\n", changes[i][1], e.field);
        CU_ASSERT_STRING_EQUAL(e.field, changes[i][2]);
        free(bad);
    }
}

static void test_reply(void)
{
    struct enrol_reply r = {.gateway_id = {{9}},
                            .certificate_pem = (char[]){"cert"},
                            .ca_pem = (char[]){"ca"}},
                       back;
    size_t len;
    r.urls = token().urls;
    char *text = enrol_reply_encode(&r, &len);
    CU_ASSERT_EQUAL_FATAL(enrol_reply_decode(text, len, &back, &e), HW_OK);
    CU_ASSERT_TRUE(id_equal(&r.gateway_id, &back.gateway_id));
    CU_ASSERT_STRING_EQUAL(back.certificate_pem, "cert");
    CU_ASSERT_STRING_EQUAL(back.ca_pem, "ca");
    CU_ASSERT_STRING_EQUAL(back.urls.url[1], r.urls.url[1]);
    enrol_reply_done(&back);
    char *bad = mutate(text, "\"https://192.0.2.9:8444\"", "1");
    CU_ASSERT_EQUAL(enrol_reply_decode(bad, strlen(bad), &back, &e), HW_EINVAL);
    free(bad);
    free(text);
}

static void test_renew(void)
{
    size_t len;
    char *csr, *cert, *ca_pem, *text = enrol_renew_request_encode("csr\n", &len);
    CU_ASSERT_STRING_EQUAL(text, "{\"csr_pem\":\"csr\\n\"}");
    CU_ASSERT_EQUAL_FATAL(enrol_renew_request_decode(text, len, &csr, &e), HW_OK);
    CU_ASSERT_STRING_EQUAL(csr, "csr\n");
    free(csr);
    free(text);
    text = enrol_renew_reply_encode("cert", "ca", &len);
    CU_ASSERT_EQUAL_FATAL(enrol_renew_reply_decode(text, len, &cert, &ca_pem, &e), HW_OK);
    CU_ASSERT_STRING_EQUAL(cert, "cert");
    CU_ASSERT_STRING_EQUAL(ca_pem, "ca");
    free(cert);
    free(ca_pem);
    free(text);
    CU_ASSERT_EQUAL(enrol_renew_request_decode("{}", 2, &csr, &e), HW_EINVAL);
    CU_ASSERT_EQUAL(enrol_renew_reply_decode("{\"certificate_pem\":\"c\"}", 23, &cert, &ca_pem, &e),
                    HW_EINVAL);
}

int main(void)
{
    CU_TestInfo tests[] = {{"token", test_token},     {"token refused", test_token_refused},
                           {"request", test_request}, {"request refused", test_request_refused},
                           {"reply", test_reply},     {"renew", test_renew},
                           CU_TEST_INFO_NULL};
    return suite_run("enrol", tests);
}
