#include "common/json.h"
#include "controller/http/problem.h"
#include "tests/unit/suite.h"
#include <string.h>

static struct json_object *parse(const struct http_response *res, struct json_at *top)
{
    struct json_object *doc = NULL;
    CU_ASSERT_EQUAL_FATAL(json_parse(res->body, res->body_len, 4096, &doc, NULL), 0);
    *top = json_root(doc);
    return doc;
}

static void check(int code, uint64_t status, const char *type)
{
    struct http_request req = {.id = "c5f8a3a0-0000-4000-8000-000000000001", .path = "/x"};
    struct http_response res = {0};
    struct err e = {0};
    struct json_at top;
    uint64_t shown = 0;
    const char *text = "";
    err_set_field(&e, code, "cidrs[1]", "why not");
    problem_from_err(&req, &res, &e);
    CU_ASSERT_EQUAL((uint64_t)res.status, status);
    CU_ASSERT_STRING_EQUAL(res.content_type, "application/problem+json");
    struct json_object *doc = parse(&res, &top);
    CU_ASSERT_EQUAL(json_get_uint(&top, "status", 400, 599, &shown, NULL), 0);
    CU_ASSERT_EQUAL(shown, status);
    CU_ASSERT_EQUAL(json_get_str(&top, "type", 100, &text, NULL), 0);
    CU_ASSERT_STRING_EQUAL(text, type);
    CU_ASSERT_EQUAL(json_get_str(&top, "field", 100, &text, NULL), 0);
    CU_ASSERT_STRING_EQUAL(text, "cidrs[1]");
    CU_ASSERT_EQUAL(json_get_str(&top, "request_id", 100, &text, NULL), 0);
    CU_ASSERT_STRING_EQUAL(text, req.id);
    CU_ASSERT_EQUAL(json_get_str(&top, "detail", 200, &text, NULL), 0);
    CU_ASSERT_EQUAL(strcmp(text, "why not") == 0, status != 500);
    json_free(doc);
    http_response_done(&res);
}

static void test_table(void)
{
    check(HW_EINVAL, 422, "urn:hawser:problem:invalid");
    check(HW_EPROTO, 400, "urn:hawser:problem:malformed");
    check(HW_EAUTH, 401, "urn:hawser:problem:unauthenticated");
    check(HW_EFORBIDDEN, 403, "urn:hawser:problem:forbidden");
    check(HW_ENOTFOUND, 404, "urn:hawser:problem:not-found");
    check(HW_ECONFLICT, 409, "urn:hawser:problem:conflict");
    check(HW_ESTALE, 412, "urn:hawser:problem:stale");
    check(HW_ETOOBIG, 413, "urn:hawser:problem:too-large");
    check(HW_EAGAIN, 503, "urn:hawser:problem:unavailable");
    check(HW_ENOMEM, 503, "urn:hawser:problem:unavailable");
}

/* The reason of an inner failure is for the log. */
static void test_inner_failure(void)
{
    check(HW_EFAIL, 500, "urn:hawser:problem:internal");
    check(HW_ECLOSED, 500, "urn:hawser:problem:internal");
}

static void test_own_kind(void)
{
    struct http_request req = {.id = "x"};
    struct http_response res = {0};
    struct json_at top;
    const char *text = "";
    problem_write(&req, &res, 409, "token-used", "Used", NULL, "by %s", "\"another\"\n");
    struct json_object *doc = parse(&res, &top);
    CU_ASSERT_EQUAL(json_get_str(&top, "detail", 200, &text, NULL), 0);
    CU_ASSERT_STRING_EQUAL(text, "by \"another\"\n");
    CU_ASSERT_EQUAL(json_presence(&top, "field"), JSON_NULL);
    json_free(doc);
    http_response_done(&res);
}

static void test_headers(void)
{
    struct http_response res = {0};
    http_response_header(&res, "Location", "/x/%d", 5);
    http_response_header(&res, "Bad", "a\r\nSet-Cookie: %s", "x");
    CU_ASSERT_EQUAL(res.n_headers, 1);
    CU_ASSERT_STRING_EQUAL(res.headers[0].value, "/x/5");
    http_response_json(&res, 200, NULL);
    CU_ASSERT_EQUAL(res.status, 0);
    http_response_copy(&res, 201, "text/plain", "abc", 3);
    CU_ASSERT_EQUAL(res.n_headers, 1);
    CU_ASSERT_EQUAL(res.body_len, 3);
    http_response_done(&res);
}

static CU_TestInfo tests[] = {
    {"code to status", test_table},
    {"inner failures keep their reason", test_inner_failure},
    {"a kind of its own", test_own_kind},
    {"response headers", test_headers},
    CU_TEST_INFO_NULL,
};

int main(void)
{
    return suite_run("problem", tests);
}
