/* What this end may key by, at times that the test says. */
#include "agent/control/keying/sa_policy.h"
#include "common/esp_suite.h"
#include "tests/unit/suite.h"
#include <string.h>

#define UNTIL 1800000000ll
#define GCM   (1u << ESP_SUITE_AES_256_GCM | 1u << ESP_SUITE_AES_128_GCM)
#define ALL   (GCM | 1u << ESP_SUITE_NONE | 1u << ESP_SUITE_AES_256_GMAC)

static const struct config_permission none = {.suite = 0};
static const struct config_permission permission = {
    .id = {{7}}, .suite = ESP_SUITE_NONE, .until = UNTIL};

static enum sa_permit permit(int64_t now, uint32_t engine)
{
    return sa_policy_permit(
        &permission,
        &(struct sa_permit_facts){.clock_trusted = true, .now_s = now, .engine = engine});
}

static void test_permit(void)
{
    struct sa_permit_facts facts = {.clock_trusted = true, .now_s = UNTIL - 1, .engine = ALL};
    CU_ASSERT_EQUAL(sa_policy_permit(&none, &facts), SA_PERMIT_NONE);
    CU_ASSERT_EQUAL(permit(0, ALL), SA_PERMIT_IN_FORCE);
    CU_ASSERT_EQUAL(permit(UNTIL - 1, ALL), SA_PERMIT_IN_FORCE);
    CU_ASSERT_EQUAL(permit(UNTIL, ALL), SA_PERMIT_OVER); /* at the second */
    CU_ASSERT_EQUAL(permit(UNTIL + 1, ALL), SA_PERMIT_OVER);
    CU_ASSERT_EQUAL(permit(UNTIL - 1, GCM), SA_PERMIT_ENGINE);
    CU_ASSERT_EQUAL(permit(UNTIL - 1, GCM | 1u << ESP_SUITE_AES_256_GMAC), SA_PERMIT_ENGINE);
    CU_ASSERT_EQUAL(permit(UNTIL, GCM), SA_PERMIT_OVER);
    facts.clock_trusted = false;
    CU_ASSERT_EQUAL(sa_policy_permit(&permission, &facts), SA_PERMIT_CLOCK);
    facts.clock_trusted = true;
    facts.was_over = true; /* the clock went back */
    CU_ASSERT_EQUAL(sa_policy_permit(&permission, &facts), SA_PERMIT_OVER);
    facts.was_over = false;
    facts.withdrawn = true;
    CU_ASSERT_EQUAL(sa_policy_permit(&permission, &facts), SA_PERMIT_WITHDRAWN);
}

static void expect_suites(enum sa_permit permit, uint32_t engine, const char *expected)
{
    static const struct config_link link = {
        .suites = GCM,
        .suite_order = {ESP_SUITE_AES_128_GCM, ESP_SUITE_AES_256_GCM},
        .n_suites = 2,
        .permission = {.id = {{7}}, .suite = ESP_SUITE_NONE, .until = UNTIL}};
    uint8_t out[SA_SUITES_MAX];
    char text[SA_SUITES_MAX + 1] = "";
    memset(out, 99, sizeof out);
    unsigned n = sa_policy_suites(&link, permit, engine, out);
    for (unsigned i = 0; i < n; i++)
        text[i] = (char)('0' + out[i]);
    CU_ASSERT_STRING_EQUAL(text, expected);
    for (unsigned i = n; i < SA_SUITES_MAX; i++)
        CU_ASSERT_EQUAL(out[i], 0);
}

/* Without a permission in force nothing but what encrypts, whatever the engine has. */
static void test_suites(void)
{
    expect_suites(SA_PERMIT_IN_FORCE, ALL, "421");
    for (enum sa_permit p = SA_PERMIT_NONE; p <= SA_PERMIT_ENGINE; p++)
        if (p != SA_PERMIT_IN_FORCE)
            expect_suites(p, ALL, "21");
    expect_suites(SA_PERMIT_ENGINE, 1u << ESP_SUITE_AES_256_GCM, "1");
    expect_suites(SA_PERMIT_OVER, 1u << ESP_SUITE_NONE, "");
}

static void expect_text(enum sa_permit permit, uint8_t suite, const char *expected)
{
    char text[SA_PERMIT_TEXT_MAX];
    CU_ASSERT_STRING_EQUAL(sa_policy_permit_text(&permission, permit, suite, text), expected);
}

static void test_text(void)
{
    char text[SA_PERMIT_TEXT_MAX];
    CU_ASSERT_STRING_EQUAL(sa_policy_permit_text(&none, SA_PERMIT_NONE, 0, text), "");
    expect_text(SA_PERMIT_IN_FORCE, ESP_SUITE_NONE, "none is permitted until 2027-01-15T08:00:00Z");
    expect_text(SA_PERMIT_IN_FORCE, ESP_SUITE_AES_256_GCM,
                "none is permitted until 2027-01-15T08:00:00Z and not used: the peer does not "
                "agree");
    expect_text(SA_PERMIT_ENGINE, ESP_SUITE_AES_256_GCM,
                "none is permitted until 2027-01-15T08:00:00Z and not used: the dataplane does "
                "not have it");
    expect_text(SA_PERMIT_CLOCK, ESP_SUITE_AES_256_GCM,
                "none is permitted until 2027-01-15T08:00:00Z and not used: the controller has "
                "not set the clock since the agent began");
    expect_text(SA_PERMIT_OVER, ESP_SUITE_AES_256_GCM, "the permission for none is over");
    expect_text(SA_PERMIT_WITHDRAWN, ESP_SUITE_AES_256_GCM,
                "the permission for none has been withdrawn");
}

int main(void)
{
    CU_TestInfo tests[] = {
        {"permit", test_permit}, {"suites", test_suites}, {"text", test_text}, CU_TEST_INFO_NULL};
    return suite_run("sa_policy", tests);
}
