#include "controller/api/routes.h"
#include "controller/http/router.h"
#include "tests/unit/suite.h"
#include <string.h>

static const struct http_route table[] = {
    {HTTP_PEOPLE, HTTP_GET, "/a", ROLE_PUBLIC, NULL, 0, NULL},
    {HTTP_PEOPLE, HTTP_GET, "/a/{id}", ROLE_ADMIN, NULL, 0, NULL},
    {HTTP_PEOPLE, HTTP_PATCH, "/a/{id}", ROLE_ADMIN, NULL, 9, NULL},
    {HTTP_PEOPLE, HTTP_DELETE, "/a/{id}", ROLE_ADMIN, NULL, 0, NULL},
    {HTTP_PEOPLE, HTTP_POST, "/a/{id}/b/{n}", ROLE_ADMIN, NULL, 0, NULL},
    {HTTP_AGENTS, HTTP_GET, "/x", ROLE_AGENT, NULL, 0, NULL},
};
#define TABLE (sizeof table / sizeof *table)

static int match(enum http_listener l, enum http_method m, const char *path,
                 struct http_request *req, const struct http_route **out, char *allow)
{
    *req = (struct http_request){.listener = l, .method = m, .path = path};
    *out = NULL;
    return router_match(table, TABLE, req, out, allow);
}

static void test_found(void)
{
    struct http_request req;
    const struct http_route *route;
    char allow[ROUTER_ALLOW_MAX];
    CU_ASSERT_EQUAL(match(HTTP_PEOPLE, HTTP_GET, "/a", &req, &route, allow), 0);
    CU_ASSERT_PTR_EQUAL(route, &table[0]);
    CU_ASSERT_EQUAL(req.n_params, 0);
    CU_ASSERT_EQUAL(match(HTTP_PEOPLE, HTTP_PATCH, "/a/x-1", &req, &route, allow), 0);
    CU_ASSERT_PTR_EQUAL(route, &table[2]);
    CU_ASSERT_EQUAL(req.n_params, 1);
    CU_ASSERT_STRING_EQUAL(req.params[0], "x-1");
    CU_ASSERT_EQUAL(match(HTTP_PEOPLE, HTTP_POST, "/a/1/b/2", &req, &route, allow), 0);
    CU_ASSERT_EQUAL(req.n_params, 2);
    CU_ASSERT_STRING_EQUAL(req.params[1], "2");
}

static void test_wrong_method(void)
{
    struct http_request req;
    const struct http_route *route;
    char allow[ROUTER_ALLOW_MAX];
    CU_ASSERT_EQUAL(match(HTTP_PEOPLE, HTTP_PUT, "/a/1", &req, &route, allow), HW_EFORBIDDEN);
    CU_ASSERT_STRING_EQUAL(allow, "GET, HEAD, PATCH, DELETE");
    CU_ASSERT_EQUAL(req.n_params, 0);
    CU_ASSERT_EQUAL(match(HTTP_PEOPLE, HTTP_OTHER, "/a", &req, &route, allow), HW_EFORBIDDEN);
    CU_ASSERT_STRING_EQUAL(allow, "GET, HEAD");
}

static void test_not_found(void)
{
    static const char *const paths[] = {"",        "/",          "a",     "/a/",    "/a//",
                                        "/A",      "/ab",        "/a/1/", "/a/1/b", "/a//b/2",
                                        "/a/1/b/", "/a/1/b/2/3", "//a",   "/x"};
    struct http_request req;
    const struct http_route *route;
    char allow[ROUTER_ALLOW_MAX];
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
        CU_ASSERT_EQUAL(match(HTTP_PEOPLE, HTTP_GET, paths[i], &req, &route, allow), HW_ENOTFOUND);
    CU_ASSERT_EQUAL(match(HTTP_AGENTS, HTTP_GET, "/a", &req, &route, allow), HW_ENOTFOUND);
    CU_ASSERT_EQUAL(match(HTTP_AGENTS, HTTP_GET, "/x", &req, &route, allow), 0);
}

static void test_long_parameter(void)
{
    char path[3 + HTTP_PARAM_LEN + 1] = "/a/", allow[ROUTER_ALLOW_MAX];
    struct http_request req;
    const struct http_route *route;
    memset(path + 3, 'x', HTTP_PARAM_LEN);
    path[3 + HTTP_PARAM_LEN] = '\0';
    CU_ASSERT_EQUAL(match(HTTP_PEOPLE, HTTP_GET, path, &req, &route, allow), HW_ENOTFOUND);
    path[3 + HTTP_PARAM_LEN - 1] = '\0';
    CU_ASSERT_EQUAL(match(HTTP_PEOPLE, HTTP_GET, path, &req, &route, allow), 0);
    CU_ASSERT_EQUAL(strlen(req.params[0]), HTTP_PARAM_LEN - 1);
}

/* The real table: what is not public needs a role of its listener, and no two rows are equal. */
static void test_real_table(void)
{
    for (size_t i = 0; i < routes_count; i++) {
        const struct http_route *r = &routes[i];
        CU_ASSERT_PTR_NOT_NULL(r->handler);
        bool agent_role = r->role == ROLE_AGENT || r->role == ROLE_AGENT_RENEW;
        CU_ASSERT_TRUE(r->role == ROLE_PUBLIC || agent_role == (r->listener == HTTP_AGENTS));
        CU_ASSERT_TRUE(r->method != HTTP_GET || r->body_max == 0);
        for (size_t k = 0; k < i; k++)
            CU_ASSERT_FALSE(routes[k].listener == r->listener && routes[k].method == r->method &&
                            !strcmp(routes[k].path, r->path));
    }
}

static CU_TestInfo tests[] = {
    {"found, with parameters", test_found},
    {"wrong method names the right ones", test_wrong_method},
    {"not found", test_not_found},
    {"over-long parameter", test_long_parameter},
    {"the real table", test_real_table},
    CU_TEST_INFO_NULL,
};

int main(void)
{
    return suite_run("router", tests);
}
