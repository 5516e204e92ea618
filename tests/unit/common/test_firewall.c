#include "common/json.h"
#include "common/model/firewall.h"
#include "tests/unit/common/mutate.h"
#include "tests/unit/suite.h"

static struct err e;

static const char config[] =
    "{\"firewall\":{\"ruleset_id\":\"01000000-0000-0000-0000-000000000000\",\"scope\":\"site\","
    "\"base\":\"deny\",\"log_base\":true,\"groups\":[{\"id\":"
    "\"02000000-0000-0000-0000-000000000000\",\"prefixes\":[\"203.0.113.0/24\","
    "\"2001:db8::/32\"]}],\"rules\":[{\"id\":\"03000000-0000-0000-0000-000000000000\","
    "\"action\":\"allow\",\"protocol\":6,\"source\":[\"10.1.0.0/16\",\"10.3.0.0/16\"],"
    "\"source_groups\":[0],\"destination\":[],\"destination_groups\":[],"
    "\"source_ports\":[[1024,65535]],\"destination_ports\":[[80,80],[443,443]],\"log\":true},"
    "{\"id\":\"04000000-0000-0000-0000-000000000000\",\"action\":\"deny\",\"protocol\":null,"
    "\"source\":[],\"source_groups\":[],\"destination\":[\"fd01::/64\"],"
    "\"destination_groups\":[],\"source_ports\":[],\"destination_ports\":[],\"log\":false}]}}";

static const char report[] =
    "{\"firewall\":{\"ruleset_id\":\"01000000-0000-0000-0000-000000000000\",\"applied\":true,"
    "\"error\":null,\"base\":[1,2],\"established\":[3,18446744073709551615],\"invalid\":[0,0],"
    "\"rules\":[[\"03000000-0000-0000-0000-000000000000\",4,5]]}}";

static int read_config(const char *text, struct firewall *f)
{
    struct json_object *doc;
    *f = (struct firewall){0};
    int rc = json_parse(text, strlen(text), HW_CONFIG_BODY_MAX, &doc, &e);
    if (rc)
        return rc;
    struct json_at top = json_root(doc);
    rc = firewall_get(&top, f, &e);
    json_free(doc);
    return rc;
}

static int read_report(const char *text, struct firewall_report *r)
{
    struct json_object *doc;
    *r = (struct firewall_report){0};
    int rc = json_parse(text, strlen(text), HW_CONFIG_BODY_MAX, &doc, &e);
    if (rc)
        return rc;
    struct json_at top = json_root(doc);
    rc = firewall_report_get(&top, r, &e);
    json_free(doc);
    return rc;
}

static void config_round_trip(void)
{
    struct firewall f;
    struct json_writer w;
    CU_ASSERT_EQUAL_FATAL(read_config(config, &f), 0);
    CU_ASSERT(f.present && !f.base_allow && f.log_base);
    CU_ASSERT_EQUAL_FATAL(f.n_rules, 2);
    CU_ASSERT_EQUAL(f.rules[0].n_destination_ports, 2);
    CU_ASSERT_EQUAL(f.rules[0].destination_ports[1].first, 443);
    CU_ASSERT_EQUAL(f.rules[1].protocol, FIREWALL_ANY_PROTOCOL);
    json_writer_init(&w);
    firewall_put(&w, &f);
    char *text = json_finish(&w, NULL);
    CU_ASSERT_STRING_EQUAL_FATAL(text, config);
    free(text);
    firewall_done(&f);
}

static void copies_are_whole(void)
{
    struct firewall f, copy;
    struct json_writer w;
    CU_ASSERT_EQUAL_FATAL(read_config(config, &f), 0);
    CU_ASSERT_EQUAL_FATAL(firewall_copy(&f, &copy, &e), 0);
    firewall_done(&f);
    json_writer_init(&w);
    firewall_put(&w, &copy);
    char *text = json_finish(&w, NULL);
    CU_ASSERT_STRING_EQUAL(text, config);
    free(text);
    firewall_done(&copy);
}

/* A gateway without a ruleset has the config that it had before there were any. */
static void none_leaves_no_trace(void)
{
    struct firewall f = {0};
    struct firewall_report r = {0};
    struct json_writer w;
    json_writer_init(&w);
    firewall_put(&w, &f);
    firewall_report_put(&w, &r);
    char *text = json_finish(&w, NULL);
    CU_ASSERT_STRING_EQUAL_FATAL(text, "{}");
    CU_ASSERT_EQUAL(read_config(text, &f), 0);
    CU_ASSERT_EQUAL(read_report(text, &r), 0);
    CU_ASSERT_EQUAL(read_config("{\"firewall\":null}", &f), 0);
    CU_ASSERT(!f.present && !r.present);
    free(text);
}

static void bad_configs_are_refused(void)
{
    static const struct {
        const char *from, *to, *field;
    } bad[] = {
        {"\"scope\":\"site\"", "\"scope\":\"transit\"", "firewall.scope"},
        {"\"base\":\"deny\"", "\"base\":\"drop\"", "firewall.base"},
        {"\"protocol\":6", "\"protocol\":256", "firewall.rules[0].protocol"},
        {"\"protocol\":6", "\"protocol\":-1", "firewall.rules[0].protocol"},
        {"\"protocol\":6", "\"protocol\":1", "firewall.rules[0].source_ports"},
        {"\"protocol\":6", "\"protocol\":null", "firewall.rules[0].source_ports"},
        {"\"source_groups\":[0]", "\"source_groups\":[1]", "firewall.rules[0].source_groups[0]"},
        {"\"source_groups\":[0]", "\"source_groups\":[0,0]", "firewall.rules[0].source_groups[1]"},
        {"[80,80]", "[80,79]", "firewall.rules[0].destination_ports[0][1]"},
        {"[80,80]", "[80,443]", "firewall.rules[0].destination_ports[1]"},
        {"[80,80]", "[80]", "firewall.rules[0].destination_ports[0]"},
        {"[80,80]", "[80,65536]", "firewall.rules[0].destination_ports[0][1]"},
        {"10.3.0.0/16", "10.0.0.0/16", "firewall.rules[0].source[1]"},
        {"10.3.0.0/16", "10.1.2.0/24", "firewall.rules[0].source[1]"},
        {"10.3.0.0/16", "10.3.0.1/16", "firewall.rules[0].source[1]"},
        {"2001:db8::/32", "203.0.113.0/24", "firewall.groups[0].prefixes[1]"},
        {"\"04000000", "\"03000000", "firewall.rules"},
        {"\"log\":true", "\"log\":true,\"x\":1", "firewall.rules[0].x"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct firewall f;
        char *text = mutate(config, bad[i].from, bad[i].to);
        CU_ASSERT_EQUAL(read_config(text, &f), HW_EINVAL);
        CU_ASSERT_STRING_EQUAL(e.field, bad[i].field);
        firewall_done(&f);
        free(text);
    }
}

static void report_round_trip(void)
{
    struct firewall_report r;
    struct json_writer w;
    CU_ASSERT_EQUAL_FATAL(read_report(report, &r), 0);
    CU_ASSERT_EQUAL(r.established.bytes, UINT64_MAX);
    CU_ASSERT_EQUAL_FATAL(r.n_rules, 1);
    CU_ASSERT_EQUAL(r.rules[0].count.packets, 4);
    json_writer_init(&w);
    firewall_report_put(&w, &r);
    char *text = json_finish(&w, NULL);
    CU_ASSERT_STRING_EQUAL(text, report);
    free(text);
    firewall_report_done(&r);
}

static void bad_reports_are_refused(void)
{
    static const struct {
        const char *from, *to, *field;
    } bad[] = {
        {"[1,2]", "[1]", "firewall.base"},
        {"[1,2]", "[1,2,3]", "firewall.base"},
        {"[1,2]", "[-1,2]", "firewall.base[0]"},
        {",4,5]", ",4]", "firewall.rules[0]"},
        {"[\"03000000-0000-0000-0000-000000000000\"", "[3", "firewall.rules[0][0]"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct firewall_report r;
        char *text = mutate(report, bad[i].from, bad[i].to);
        CU_ASSERT_EQUAL(read_report(text, &r), HW_EINVAL);
        CU_ASSERT_STRING_EQUAL(e.field, bad[i].field);
        firewall_report_done(&r);
        free(text);
    }
}

int main(void)
{
    CU_TestInfo tests[] = {
        {"config round trip", config_round_trip},
        {"copies are whole", copies_are_whole},
        {"none leaves no trace", none_leaves_no_trace},
        {"bad configs are refused", bad_configs_are_refused},
        {"report round trip", report_round_trip},
        {"bad reports are refused", bad_reports_are_refused},
        CU_TEST_INFO_NULL,
    };
    return suite_run("firewall", tests);
}
