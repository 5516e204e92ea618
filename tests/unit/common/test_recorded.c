/* Messages between agents and controllers, and between agents and dataplanes, of earlier versions.
 */
#include "common/dp_proto.h"
#include "common/json.h"
#include "common/model/command.h"
#include "common/model/enrol.h"
#include "common/model/gateway_config.h"
#include "common/model/report.h"
#include "common/model/signed_doc.h"
#include "tests/unit/common/recorded.h"

/* A day on which every certificate of a record was good: that of the record. */
static int64_t recorded_at(const char *path)
{
    size_t len;
    char *text = recorded_beside(path, "../recorded.json", &len);
    struct json_object *doc = NULL;
    uint64_t at = 0;
    CU_ASSERT_EQUAL_FATAL(json_parse(text, len, SIZE_MAX, &doc, NULL), 0);
    struct json_at root = json_root(doc);
    CU_ASSERT_EQUAL(json_get_uint(&root, "recorded_at", 1, UINT32_MAX, &at, NULL), 0);
    json_free(doc);
    free(text);
    return (int64_t)at;
}

static void check_enrol_request(const char *path, const char *data, size_t len)
{
    struct enrol_request r;
    struct err e = {0};
    recorded_accept(path, enrol_request_decode(data, len, &r, &e), &e);
}

static void check_enrol_reply(const char *path, const char *data, size_t len)
{
    struct enrol_reply r;
    struct err e = {0};
    int rc = enrol_reply_decode(data, len, &r, &e);
    recorded_accept(path, rc, &e);
    if (!rc)
        enrol_reply_done(&r);
}

static void check_poll(const char *path, const char *data, size_t len)
{
    struct command_poll p;
    struct err e = {0};
    recorded_accept(path, command_poll_decode(data, len, &p, &e), &e);
    if (strstr(path, "commands"))
        CU_ASSERT_TRUE(p.n_commands > 0);
}

static void check_report(const char *path, const char *data, size_t len)
{
    struct report r;
    struct err e = {0};
    int rc = report_decode(data, len, &r, &e);
    recorded_accept(path, rc, &e);
    if (!rc) {
        CU_ASSERT_TRUE(r.n_links > 0);
        report_done(&r);
    }
}

static void check_operation(const char *path, const char *data, size_t len)
{
    struct command_report r;
    struct err e = {0};
    int rc = command_report_decode(data, len, &r, &e);
    recorded_accept(path, rc, &e);
    if (!rc)
        command_report_done(&r);
}

static char *header(const struct json_at *root, const char *name)
{
    const char *value = NULL;
    CU_ASSERT_EQUAL_FATAL(json_get_str(root, name, 8192, &value, NULL), 0);
    return strdup(value);
}

/* As the agent receives it, with its three headers. */
static struct signed_doc receive(const char *path, const char *body, size_t body_len)
{
    size_t len;
    char name[100];
    const char *file = strrchr(path, '/') + 1;
    (void)snprintf(name, sizeof name, "%.*s.headers.json", (int)(strrchr(file, '.') - file), file);
    char *text = recorded_beside(path, name, &len);
    struct json_object *doc = NULL;
    struct signed_doc d = {0};
    struct err e = {0};
    CU_ASSERT_EQUAL_FATAL(json_parse(text, len, SIZE_MAX, &doc, NULL), 0);
    struct json_at root = json_root(doc);
    char *revision = header(&root, "hawser-revision"), *sig = header(&root, "hawser-signature"),
         *signer = header(&root, "hawser-signer");
    recorded_accept(path, signed_doc_receive(revision, sig, signer, body, body_len, &d, &e), &e);
    free(revision);
    free(sig);
    free(signer);
    json_free(doc);
    free(text);
    return d;
}

static struct x509_st *authority(const char *path)
{
    size_t len;
    char *pem = recorded_beside(path, "ca.reply", &len);
    struct x509_st *ca = NULL;
    CU_ASSERT_EQUAL_FATAL(x509_cert_parse(pem, len, &ca, NULL), 0);
    free(pem);
    return ca;
}

static void check_config(const char *path, const char *data, size_t len)
{
    struct gateway_config c;
    struct err e = {0};
    int rc = gateway_config_decode(data, len, &c, &e);
    recorded_accept(path, rc, &e);
    if (rc)
        return;
    CU_ASSERT_TRUE(c.n_links > 0 && c.n_routes > 0);
    struct signed_doc d = receive(path, data, len);
    struct x509_st *ca = authority(path);
    recorded_accept(path, signed_config_verify(&d, &c.gateway_id, ca, recorded_at(path), &e), &e);
    x509_cert_free(ca);
    signed_doc_done(&d);
    gateway_config_done(&c);
}

static void check_denials(const char *path, const char *data, size_t len)
{
    struct denials denied;
    struct err e = {0};
    int rc = denials_decode(data, len, &denied, &e);
    recorded_accept(path, rc, &e);
    if (rc)
        return;
    CU_ASSERT_TRUE(denied.n_gateways > 0);
    struct signed_doc d = receive(path, data, len);
    struct x509_st *ca = authority(path);
    recorded_accept(path, signed_denials_verify(&d, ca, recorded_at(path), &e), &e);
    x509_cert_free(ca);
    signed_doc_done(&d);
    denials_done(&denied);
}

static void check_kept(const char *path, const char *data, size_t len)
{
    struct signed_doc d;
    struct err e = {0};
    int rc = signed_doc_decode(data, len, &d, &e);
    recorded_accept(path, rc, &e);
    if (!rc)
        signed_doc_done(&d);
}

static void check_dataplane(const char *path, const char *data, size_t len)
{
    struct err e = {0};
    struct dp_header h;
    CU_ASSERT_FATAL(len >= sizeof h);
    memcpy(&h, data, sizeof h);
    bool with_fd = h.type == DP_ATTACH_TUN || h.type == DP_ATTACH_UDP || h.type == DP_FIB_COMMIT ||
                   h.type == DP_HELLO;
    bool down = strstr(path, ".down.") != NULL;
    recorded_accept(path, dp_validate(data, len, with_fd, down, &e), &e);
}

static void check_fib(const char *path, const char *data, size_t len)
{
    struct err e = {0};
    recorded_accept(path, dp_fib_validate(data, len, &e), &e);
}

static void test_enrol(void)
{
    recorded_each("agent/enrol.request", check_enrol_request);
    recorded_each("agent/enrol.reply", check_enrol_reply);
}
static void test_poll(void)
{
    recorded_each("agent/poll*.reply", check_poll);
}
static void test_config(void)
{
    recorded_each("agent/config-*.reply", check_config);
}
static void test_denials(void)
{
    recorded_each("agent/denials.reply", check_denials);
}
static void test_kept(void)
{
    recorded_each("agent/*.doc", check_kept);
}
static void test_reports(void)
{
    recorded_each("agent/report.request", check_report);
    recorded_each("agent/operations.request", check_operation);
}
static void test_dataplane(void)
{
    recorded_each("dataplane/*.up.bin", check_dataplane);
    recorded_each("dataplane/*.down.bin", check_dataplane);
    recorded_each("dataplane/fib.bin", check_fib);
}

int main(void)
{
    CU_TestInfo tests[] = {{"enrolments", test_enrol},
                           {"polls and their commands", test_poll},
                           {"signed configs", test_config},
                           {"signed denials", test_denials},
                           {"what agents keep on disk", test_kept},
                           {"reports, and those of operations", test_reports},
                           {"messages of the dataplane's socket", test_dataplane},
                           CU_TEST_INFO_NULL};
    return suite_run("recorded messages", tests);
}
