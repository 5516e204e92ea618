#include "agent/control/cloud/cloud.h"
#include "agent/control/cloud/dmi.h"
#include "agent/control/cloud/provider.h"
#include "agent/control/cloud/user_data.h"
#include "common/fsutil.h"
#include "tests/unit/suite.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct err e;

/* ---- a service that answers from a table, as its provider documents it ---- */

struct page {
    const char *path, *body; /* what is not there is 404 */
};

static const char *page_of(const struct page *pages, const char *path)
{
    for (; pages->path; pages++)
        if (strcmp(pages->path, path) == 0)
            return pages->body;
    return NULL;
}

/* The whole conversation. Every request must carry `header`. */
static int converse(const struct cloud_provider *p, const struct page *pages, const char *header,
                    const char *flavor, bool want_user_data, struct cloud_reading *r)
{
    struct cloud_ask ask;
    *r = (struct cloud_reading){.want_user_data = want_user_data};
    e = (struct err){0};
    for (unsigned n = 0; p->ask(r, &ask); n++) {
        CU_ASSERT_FATAL(n < 64);
        const char *body = page_of(pages, ask.path);
        if (strcmp(ask.method, "PUT") != 0)
            CU_ASSERT_STRING_EQUAL(ask.header, header);
        if (!body && !ask.may_miss)
            return err_set(&e, HW_EFAIL, "%s: 404", ask.path);
        struct cloud_answer a = {.status = body ? 200 : 404,
                                 .body = body ? body : "no such page",
                                 .len = strlen(body ? body : "no such page"),
                                 .flavor = flavor};
        int rc = p->take(r, &a, &e);
        if (rc)
            return rc;
    }
    return 0;
}

static bool translates(const struct cloud_facts *f, size_t i, const char *inside,
                       const char *outside)
{
    struct ipaddr in, out;
    return i < f->n_translations && ipaddr_parse(inside, &in) == 0 &&
           ipaddr_parse(outside, &out) == 0 && ipaddr_equal(&f->translations[i].inside, &in) &&
           ipaddr_equal(&f->translations[i].outside, &out);
}

static bool user_data_is(const struct cloud_reading *r, const char *text)
{
    return r->user_data && r->user_data_len == strlen(text) &&
           memcmp(r->user_data, text, r->user_data_len) == 0;
}

/* ---- AWS ---- */

#define AWS      "/latest/meta-data/"
#define AWS_MACS AWS "network/interfaces/macs/"
#define AWS_SESSION                                                                                \
    {                                                                                              \
        "/latest/api/token", "AQAEALzzIvaRcZ4rHkF-nCQ==\n"                                         \
    }
static const char aws_header[] = "X-aws-ec2-metadata-token: AQAEALzzIvaRcZ4rHkF-nCQ==";

static void test_aws(void)
{
    static const struct page pages[] = {
        AWS_SESSION,
        {AWS "instance-type", "c6in.xlarge"},
        {AWS "placement/region", "eu-central-1"},
        {AWS_MACS, "0e:49:61:0f:c3:11/\n0e:49:61:0f:c3:77/"},
        {AWS_MACS "0e:49:61:0f:c3:77/ipv4-associations/", "198.51.100.7\n198.51.100.8"},
        {AWS_MACS "0e:49:61:0f:c3:77/ipv4-associations/198.51.100.7", "10.0.1.5"},
        {AWS_MACS "0e:49:61:0f:c3:77/ipv4-associations/198.51.100.8", "10.0.1.6"},
        {"/latest/user-data", "#!/bin/sh\nexit 0\n"},
        {NULL, NULL}};
    struct cloud_reading r;
    CU_ASSERT_EQUAL(converse(&cloud_aws, pages, aws_header, NULL, true, &r), 0);
    CU_ASSERT_STRING_EQUAL(r.facts.where.region, "eu-central-1");
    CU_ASSERT_STRING_EQUAL(r.facts.where.size, "c6in.xlarge");
    CU_ASSERT_EQUAL(r.facts.n_translations, 2);
    CU_ASSERT(translates(&r.facts, 0, "10.0.1.5", "198.51.100.7"));
    CU_ASSERT(translates(&r.facts, 1, "10.0.1.6", "198.51.100.8"));
    CU_ASSERT(user_data_is(&r, "#!/bin/sh\nexit 0\n"));
    cloud_reading_done(&r);
    CU_ASSERT_EQUAL(converse(&cloud_aws, pages, aws_header, NULL, false, &r), 0);
    CU_ASSERT_PTR_NULL(r.user_data);
    cloud_reading_done(&r);
}

/* A machine without public address and user data; and a session token that would end a header. */
static void test_aws_bare_and_hostile(void)
{
    static const struct page bare[] = {AWS_SESSION,
                                       {AWS "instance-type", "t3.small"},
                                       {AWS "placement/region", "us-gov-west-1"},
                                       {AWS_MACS, "0e:49:61:0f:c3:11/"},
                                       {NULL, NULL}};
    static const struct page injected[] = {{"/latest/api/token", "a\r\nX-Forwarded-For: b"},
                                           {NULL, NULL}};
    static const struct page climbing[] = {AWS_SESSION,
                                           {AWS "instance-type", "t3.small"},
                                           {AWS "placement/region", "us-east-1"},
                                           {AWS_MACS, "../../user-data"},
                                           {NULL, NULL}};
    static const struct page page_for_people[] = {
        AWS_SESSION, {AWS "instance-type", "<html>Log in to go on</html>"}, {NULL, NULL}};
    struct cloud_reading r;
    CU_ASSERT_EQUAL(converse(&cloud_aws, bare, aws_header, NULL, true, &r), 0);
    CU_ASSERT_EQUAL(r.facts.n_translations, 0);
    CU_ASSERT_PTR_NULL(r.user_data);
    cloud_reading_done(&r);
    static const struct page *const bad[] = {injected, climbing, page_for_people};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        CU_ASSERT(converse(&cloud_aws, bad[i], aws_header, NULL, true, &r) < 0);
        cloud_reading_done(&r);
    }
}

/* ---- Azure ---- */

#define AZURE_INSTANCE  "/metadata/instance?api-version=2021-02-01&format=json"
#define AZURE_BALANCER  "/metadata/loadbalancer?api-version=2020-10-01&format=json"
#define AZURE_USER_DATA "/metadata/instance/compute/userData?api-version=2021-02-01&format=text"
static const char azure_instance[] =
    "{\"compute\":{\"azEnvironment\":\"AZUREPUBLICCLOUD\",\"location\":\"westeurope\",\"name\":"
    "\"gw\",\"userData\":\"Zm9vYmFy\",\"tagsList\":[],\"vmSize\":\"Standard_D4s_v5\",\"zone\":"
    "\"1\"},\"network\":{\"interface\":[{\"ipv4\":{\"ipAddress\":[{\"privateIpAddress\":"
    "\"10.144.133.132\",\"publicIpAddress\":\"\"},{\"privateIpAddress\":\"10.144.133.133\","
    "\"publicIpAddress\":\"198.51.100.9\"}],\"subnet\":[{\"address\":\"10.144.133.128\","
    "\"prefix\":\"26\"}]},\"ipv6\":{\"ipAddress\":[]},\"macAddress\":\"0011AAFFBB22\"}]}}";

static void test_azure(void)
{
    static const struct page pages[] = {
        {AZURE_INSTANCE, azure_instance},
        {AZURE_BALANCER, "{\"loadbalancer\":{\"publicIpAddresses\":[{\"frontendIpAddress\":"
                         "\"203.0.113.7\",\"privateIpAddress\":\"10.144.133.132\"}],"
                         "\"inboundRules\":[],\"outboundRules\":[]}}"},
        {AZURE_USER_DATA, "Zm9vYmFyPz8+\n"},
        {NULL, NULL}};
    struct cloud_reading r;
    CU_ASSERT_EQUAL(converse(&cloud_azure, pages, "Metadata: true", NULL, true, &r), 0);
    CU_ASSERT_STRING_EQUAL(r.facts.where.region, "westeurope");
    CU_ASSERT_STRING_EQUAL(r.facts.where.size, "Standard_D4s_v5");
    CU_ASSERT_EQUAL(r.facts.n_translations, 2);
    CU_ASSERT(translates(&r.facts, 0, "10.144.133.133", "198.51.100.9"));
    CU_ASSERT(translates(&r.facts, 1, "10.144.133.132", "203.0.113.7"));
    CU_ASSERT(user_data_is(&r, "foobar?\?>"));
    cloud_reading_done(&r);
}

static void test_azure_bare_and_hostile(void)
{
    static const struct page bare[] = {
        {AZURE_INSTANCE, azure_instance}, {AZURE_USER_DATA, ""}, {NULL, NULL}};
    struct cloud_reading r;
    CU_ASSERT_EQUAL(converse(&cloud_azure, bare, "Metadata: true", NULL, true, &r), 0);
    CU_ASSERT_EQUAL(r.facts.n_translations, 1);
    CU_ASSERT_PTR_NULL(r.user_data);
    cloud_reading_done(&r);
    static const char *const bad[] = {
        "",
        "[]",
        "{}",
        "{\"compute\":{\"location\":\"westeurope\"}}",
        "{\"compute\":{\"location\":5,\"vmSize\":\"a\"},\"network\":{\"interface\":[]}}",
        "{\"compute\":{\"location\":\"a\",\"vmSize\":\"a b\"},\"network\":{\"interface\":[]}}",
        "{\"compute\":{\"location\":\"a\",\"vmSize\":\"a\"},\"network\":{\"interface\":[{\"ipv4\":"
        "{\"ipAddress\":[{\"privateIpAddress\":\"10.0.0.1\",\"publicIpAddress\":\"x\"}]}}]}}",
        "{\"compute\":{\"location\":\"a\",\"vmSize\":\"a\"},\"network\":{\"interface\":[{\"ipv4\":"
        "{\"ipAddress\":[{\"privateIpAddress\":\"10.0.0.1\",\"publicIpAddress\":"
        "\"127.0.0.1\"}]}}]}}",
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        const struct page pages[] = {{AZURE_INSTANCE, bad[i]}, {NULL, NULL}};
        CU_ASSERT(converse(&cloud_azure, pages, "Metadata: true", NULL, true, &r) < 0);
        cloud_reading_done(&r);
    }
    const struct page not_base64[] = {
        {AZURE_INSTANCE, azure_instance}, {AZURE_USER_DATA, "{}"}, {NULL, NULL}};
    CU_ASSERT_EQUAL(converse(&cloud_azure, not_base64, "Metadata: true", NULL, true, &r), 0);
    CU_ASSERT_PTR_NULL(r.user_data);
    cloud_reading_done(&r);
}

/* ---- GCP ---- */

#define GCP "/computeMetadata/v1/instance/"
static const struct page gcp_pages[] = {
    {GCP "machine-type", "projects/123456/machineTypes/n2-standard-4"},
    {GCP "zone", "projects/123456/zones/europe-west1-b"},
    {GCP "network-interfaces/?recursive=true&alt=json",
     "[{\"accessConfigs\":[{\"externalIp\":\"203.0.113.20\",\"type\":\"ONE_TO_ONE_NAT\"}],"
     "\"dnsServers\":[\"169.254.169.254\"],\"forwardedIps\":[],\"gateway\":\"10.132.0.1\",\"ip\":"
     "\"10.132.0.5\",\"ipAliases\":[],\"mac\":\"42:01:0a:84:00:05\",\"mtu\":1460,\"network\":"
     "\"projects/123456/networks/default\",\"subnetmask\":\"255.255.240.0\"},{\"accessConfigs\":"
     "[{\"externalIp\":\"\",\"type\":\"ONE_TO_ONE_NAT\"}],\"ip\":\"10.200.0.5\",\"mtu\":8896}]"},
    {GCP "attributes/user-data", "#cloud-config\n"},
    {NULL, NULL}};

static void test_gcp(void)
{
    static const char header[] = "Metadata-Flavor: Google";
    struct cloud_reading r;
    CU_ASSERT_EQUAL(converse(&cloud_gcp, gcp_pages, header, "Google", true, &r), 0);
    CU_ASSERT_STRING_EQUAL(r.facts.where.region, "europe-west1");
    CU_ASSERT_STRING_EQUAL(r.facts.where.size, "n2-standard-4");
    CU_ASSERT_EQUAL(r.facts.n_translations, 1);
    CU_ASSERT(translates(&r.facts, 0, "10.132.0.5", "203.0.113.20"));
    CU_ASSERT_EQUAL_FATAL(r.facts.n_mtus, 2);
    CU_ASSERT_EQUAL(r.facts.mtus[0].mtu, 1460);
    CU_ASSERT_EQUAL(r.facts.mtus[1].mtu, 8896);
    CU_ASSERT(user_data_is(&r, "#cloud-config\n"));
    cloud_reading_done(&r);
    CU_ASSERT(converse(&cloud_gcp, gcp_pages, header, NULL, true, &r) < 0);
    cloud_reading_done(&r);
    CU_ASSERT(converse(&cloud_gcp, gcp_pages, header, "google", true, &r) < 0);
    cloud_reading_done(&r);
}

/* ---- OCI ---- */

static void test_oci(void)
{
    static const struct page pages[] = {
        {"/opc/v2/instance/",
         "{\"availabilityDomain\":\"qIZq:PHX-AD-1\",\"canonicalRegionName\":\"us-phoenix-1\","
         "\"metadata\":{\"user_data\":\"IyEvYmluL3No\"},\"region\":\"phx\",\"shape\":"
         "\"VM.Standard3.Flex\",\"state\":\"Running\",\"timeCreated\":1584727285318}"},
        {"/opc/v2/instance/metadata/user_data", "IyEvYmluL3No"},
        {NULL, NULL}};
    static const struct page other[] = {{"/opc/v2/instance/", "{\"shape\":\"VM\"}"}, {NULL, NULL}};
    static const char header[] = "Authorization: Bearer Oracle";
    struct cloud_reading r;
    CU_ASSERT_EQUAL(converse(&cloud_oci, pages, header, NULL, true, &r), 0);
    CU_ASSERT_STRING_EQUAL(r.facts.where.region, "us-phoenix-1");
    CU_ASSERT_STRING_EQUAL(r.facts.where.size, "VM.Standard3.Flex");
    CU_ASSERT(user_data_is(&r, "#!/bin/sh"));
    cloud_reading_done(&r);
    CU_ASSERT(converse(&cloud_oci, other, header, NULL, true, &r) < 0);
    cloud_reading_done(&r);
}

/* Any byte of any answer may be wrong: judged by the sanitizers. */
static void read_gcp_interfaces(const char *data, size_t len)
{
    struct cloud_reading r = {.step = 2};
    struct cloud_answer a = {.status = 200, .body = data, .len = len, .flavor = "Google"};
    (void)cloud_gcp.take(&r, &a, NULL);
    cloud_reading_done(&r);
}

static void read_azure_instance(const char *data, size_t len)
{
    struct cloud_reading r = {.step = 0};
    struct cloud_answer a = {.status = 200, .body = data, .len = len};
    (void)cloud_azure.take(&r, &a, NULL);
    cloud_reading_done(&r);
}

static void read_lists(const char *data, size_t len)
{
    struct cloud_items items;
    struct cloud_answer a = {.status = 200, .body = data, .len = len};
    (void)cloud_take_items(&items, &a, NULL);
    char *token = user_data_token(data, len);
    free(token);
}

/* Every place spoilt in several ways, and every length; in memory of just that size. */
static void spoil(const char *text, size_t len, void (*read)(const char *data, size_t len))
{
    static const char with[] = {0, -1, '"', '/', '\n', '9', '{'};
    for (size_t at = 0; at < len; at++) {
        char *copy = malloc(len + 1);
        for (size_t k = 0; copy && k < sizeof with; k++) {
            memcpy(copy, text, len);
            copy[len] = '\0';
            copy[at] = with[k];
            read(copy, len);
        }
        free(copy);
        copy = malloc(at + 1);
        if (copy) {
            memcpy(copy, text, at);
            copy[at] = '\0';
            read(copy, at);
        }
        free(copy);
    }
}

static void test_any_bytes(void)
{
    spoil(azure_instance, sizeof azure_instance - 1, read_azure_instance);
    spoil(gcp_pages[2].body, strlen(gcp_pages[2].body), read_gcp_interfaces);
    static const char list[] = "0e:49:61:0f:c3:11/\n# hawser-token: hwt1.abc\n";
    spoil(list, sizeof list - 1, read_lists);
}

/* ---- user data ---- */

static bool token_is(const char *text, const char *wanted)
{
    char *token = user_data_token(text, strlen(text));
    bool same = wanted ? token && strcmp(token, wanted) == 0 : !token;
    free(token);
    return same;
}

static void test_user_data(void)
{
    CU_ASSERT(token_is("{\"hawser\":{\"token\":\"hwt1.abc_-9\"}}", "hwt1.abc_-9"));
    CU_ASSERT(token_is(" \n{\"hawser\": {\"token\": \"hwt1.a\"}, \"other\": [1]}\n", "hwt1.a"));
    CU_ASSERT(token_is("#cloud-config\n# hawser-token: hwt1.abc\nruncmd: []\n", "hwt1.abc"));
    CU_ASSERT(token_is("#!/bin/sh\r\n  ##hawser-token:\thwt1.abc \r\nexit 0", "hwt1.abc"));
    CU_ASSERT(token_is("# hawser-token: hwt1.abc", "hwt1.abc"));
    CU_ASSERT(token_is("", NULL));
    CU_ASSERT(token_is("#cloud-config\nhawser-token: hwt1.abc\n", NULL));
    CU_ASSERT(token_is("# hawser-token:\n", NULL));
    CU_ASSERT(token_is("# hawser-tokens: hwt1.abc\n", NULL));
    CU_ASSERT(token_is("{\"hawser\":{\"token\":5}}", NULL));
    CU_ASSERT(token_is("{\"hawser\":\"hwt1.abc\"}", NULL));
    CU_ASSERT(token_is("{\"token\":\"hwt1.abc\"}", NULL));
    CU_ASSERT(token_is("{\"hawser\":{\"token\":\"hwt1.abc\"}", NULL));
    static const char zipped[] = "\x1f\x8b\x08\0\0\0\0\0# hawser-token: \0x";
    CU_ASSERT_PTR_NULL(user_data_token(zipped, sizeof zipped - 1));
}

/* ---- facts on disk ---- */

static void test_facts(void)
{
    struct cloud_facts f = {.n_mtus = 0}, back;
    size_t len;
    strcpy(f.where.provider, "gcp");
    strcpy(f.where.region, "europe-west1");
    CU_ASSERT_EQUAL(cloud_facts_translate(&f, "10.0.0.5", "203.0.113.9", &e), 0);
    CU_ASSERT_EQUAL(cloud_facts_translate(&f, "10.0.0.6", "203.0.113.9", &e), 0); /* known */
    CU_ASSERT_EQUAL(cloud_facts_translate(&f, "10.0.0.7", "10.0.0.7", &e), 0);    /* none */
    CU_ASSERT_EQUAL(cloud_facts_translate(&f, "10.0.0.7", "", &e), 0);
    CU_ASSERT_EQUAL(cloud_facts_translate(&f, "10.0.0.7", "2001:db8::1", &e), HW_EINVAL);
    CU_ASSERT_EQUAL(cloud_facts_translate(&f, "10.0.0.7", "169.254.1.1", &e), HW_EINVAL);
    CU_ASSERT_EQUAL(f.n_translations, 1);
    f.mtus[f.n_mtus++] = (struct cloud_mtu){f.translations[0].inside, 1460};
    char *json = cloud_facts_encode(&f, &len);
    CU_ASSERT_EQUAL_FATAL(cloud_facts_decode(json, len, &back, &e), 0);
    CU_ASSERT(cloud_facts_equal(&f, &back));
    CU_ASSERT(cloud_facts_decode(json, len - 1, &back, &e) < 0);
    back.mtus[0].mtu = 1500;
    CU_ASSERT(!cloud_facts_equal(&f, &back));
    free(json);
}

/* ---- a machine ---- */

static void nobody_waits(void *arg, bool changed)
{
    (void)arg;
    (void)changed;
}

/* With `kept` in its state directory; whether what it knows at a start is enough to go on. */
static bool settled(const char *cloud, const char *kept, struct cloud_facts *facts)
{
    char dir[] = "/tmp/hawser-cloud-XXXXXX", path[64];
    struct evloop *loop;
    struct cloud *c;
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(dir));
    (void)snprintf(path, sizeof path, "%s/cloud.json", dir);
    if (kept)
        CU_ASSERT_EQUAL(fsutil_write(path, kept, strlen(kept), 0600, &e), 0);
    struct agent_settings s = {.cloud = (char *)(uintptr_t)cloud,
                               .dmi_dir = (char *)(uintptr_t) "/nonexistent",
                               .state_dir = dir};
    CU_ASSERT_EQUAL_FATAL(evloop_new(&loop, &e), 0);
    CU_ASSERT_EQUAL_FATAL(cloud_new(loop, &s, nobody_waits, NULL, &c, &e), 0);
    bool is = cloud_settled(c);
    *facts = *cloud_facts(c);
    cloud_free(c);
    evloop_free(loop);
    (void)unlink(path);
    (void)rmdir(dir);
    return is;
}

static void test_what_is_known_at_a_start(void)
{
    static const char kept[] =
        "{\"cloud\":{\"provider\":\"aws\",\"region\":\"eu-central-1\",\"size\":\"t3.small\"},"
        "\"translations\":[{\"inside\":\"10.0.0.5\",\"outside\":\"203.0.113.5\"}],\"mtus\":[]}";
    struct cloud_facts f;
    CU_ASSERT(settled("aws", kept, &f));
    CU_ASSERT(translates(&f, 0, "10.0.0.5", "203.0.113.5"));
    static const struct {
        const char *cloud, *kept;
        bool settled;
    } others[] = {
        {"aws", NULL, false}, {"gcp", kept, false}, {"aws", "{\"cloud\":", false},
        {"aws", "", false},   {"none", kept, true}, {"auto", kept, true},
    };
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        CU_ASSERT_EQUAL(settled(others[i].cloud, others[i].kept, &f), others[i].settled);
        CU_ASSERT_EQUAL(f.n_translations, 0);
        CU_ASSERT_STRING_EQUAL(f.where.provider, "");
    }
}

static void test_settings_win(void)
{
    struct agent_settings s = {.region = (char *)(uintptr_t) "berlin"};
    struct cloud_facts f = {
        .where = {.provider = "aws", .region = "eu-central-1", .size = "t3.small"}};
    struct node_cloud where;
    cloud_where(&s, &f, &where);
    CU_ASSERT_STRING_EQUAL(where.provider, "aws");
    CU_ASSERT_STRING_EQUAL(where.region, "berlin");
    CU_ASSERT_STRING_EQUAL(where.size, "t3.small");
}

/* ---- firmware ---- */

static const char *made_by(const char *field, const char *text)
{
    char dir[] = "/tmp/hawser-dmi-XXXXXX", path[64];
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(dir));
    (void)snprintf(path, sizeof path, "%s/%s", dir, field);
    FILE *f = fopen(path, "w");
    (void)fprintf(f, "%s\n", text);
    (void)fclose(f);
    const char *provider = cloud_dmi_provider(dir);
    (void)unlink(path);
    (void)rmdir(dir);
    return provider ? provider : "";
}

static void test_firmware(void)
{
    CU_ASSERT_STRING_EQUAL(made_by("sys_vendor", "Amazon EC2"), "aws");
    CU_ASSERT_STRING_EQUAL(made_by("bios_version", "4.11.amazon"), "aws");
    CU_ASSERT_STRING_EQUAL(made_by("chassis_asset_tag", "7783-7084-3265-9085-8269-3286-77"),
                           "azure");
    CU_ASSERT_STRING_EQUAL(made_by("product_name", "Google Compute Engine"), "gcp");
    CU_ASSERT_STRING_EQUAL(made_by("chassis_asset_tag", "OracleCloud.com"), "oci");
    CU_ASSERT_STRING_EQUAL(made_by("sys_vendor", "Microsoft Corporation"), "");
    CU_ASSERT_STRING_EQUAL(made_by("sys_vendor", "QEMU"), "");
    CU_ASSERT_PTR_NULL(cloud_dmi_provider("/nonexistent"));
}

int main(void)
{
    CU_TestInfo tests[] = {{"aws", test_aws},
                           {"aws, bare and hostile", test_aws_bare_and_hostile},
                           {"azure", test_azure},
                           {"azure, bare and hostile", test_azure_bare_and_hostile},
                           {"gcp", test_gcp},
                           {"oci", test_oci},
                           {"any bytes", test_any_bytes},
                           {"user data", test_user_data},
                           {"facts on disk", test_facts},
                           {"what is known at a start", test_what_is_known_at_a_start},
                           {"settings win", test_settings_win},
                           {"firmware", test_firmware},
                           CU_TEST_INFO_NULL};
    return suite_run("cloud", tests);
}
