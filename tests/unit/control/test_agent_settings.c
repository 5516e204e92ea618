#include "agent/control/settings.h"
#include "common/fsutil.h"
#include "tests/unit/suite.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char file[] = "/tmp/hawser-settings-XXXXXX";
static struct agent_settings s;
static struct err e;

static int load(const char *text)
{
    CU_ASSERT_EQUAL(fsutil_write(file, text, strlen(text), 0600, NULL), 0);
    e = (struct err){0};
    return agent_settings_load(file, NULL, 0, &s, &e);
}

static void test_defaults(void)
{
    CU_ASSERT_EQUAL_FATAL(load("{\"name\":\"gw-a1\",\"dataplane_user\":\"18453\"}"), 0);
    CU_ASSERT_STRING_EQUAL(s.state_dir, "/var/lib/hawser");
    CU_ASSERT_STRING_EQUAL(s.token_file, "/etc/hawser/token");
    CU_ASSERT_EQUAL(s.confirm_timeout_s, 60);
    CU_ASSERT_EQUAL(s.report_interval_s, 10);
    CU_ASSERT_EQUAL(s.rekey_s, 3600);
    CU_ASSERT_EQUAL(s.rekey_hard_s, 28800);
    CU_ASSERT_EQUAL(s.dataplane_uid, 18453);
    CU_ASSERT_EQUAL(s.log_level, LOG_LEVEL_INFO);
    CU_ASSERT_PTR_NULL(s.site_interface);
    agent_settings_done(&s);
}

static void test_refused(void)
{
    static const char *const wrong[][2] = {
        {"{\"nmae\":\"x\"}", "nmae"},
        {"{\"name\":\"Gateway A\"}", "name"},
        {"{\"state_dir\":\"relative\"}", "state_dir"},
        {"{\"confirm_timeout_seconds\":0}", "confirm_timeout_seconds"},
        {"{\"confirm_timeout_seconds\":\"5\"}", "confirm_timeout_seconds"},
        {"{\"site_interface\":\"averylonginterfacename\"}", "site_interface"},
        {"{\"underlay_interface\":\"../x\"}", "underlay_interface"},
        {"{\"dataplane_user\":\"no-such-user-here\"}", "dataplane_user"},
        {"{\"log_level\":\"loud\"}", "log_level"},
        {"{\"cloud\":\"amazon\"}", "cloud"},
        {"{\"dmi_dir\":\"dmi\"}", "dmi_dir"},
        {"{\"public_addresses\":[\"203.0.113.5\",\"169.254.169.254\"]}", "public_addresses"},
        {"{\"public_addresses\":[\"gw.example.net\"]}", "public_addresses"},
        {"{\"rekey_seconds\":3600,\"rekey_hard_seconds\":3700,\"dataplane_user\":\"1\"}",
         "rekey_hard_seconds"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        CU_ASSERT(load(wrong[i][0]) < 0);
        CU_ASSERT_PTR_NOT_NULL(strstr(e.text, wrong[i][1]));
    }
    CU_ASSERT(agent_settings_load("/nonexistent/agent.json", NULL, 0, &s, &e) < 0);
}

static void test_order(void)
{
    const char *argv_text[] = {"hawser-agent", "--rekey-seconds", "20", "status", "--region=x"};
    char *argv[5];
    int argc = 5;
    struct settings_flag flags[SETTINGS_FLAGS_MAX];
    size_t n = 0;
    for (int i = 0; i < 5; i++)
        argv[i] = strdup(argv_text[i]);
    char *kept[] = {argv[0], argv[1], argv[2], argv[3], argv[4]};
    CU_ASSERT_EQUAL_FATAL(agent_settings_flags(&argc, argv, flags, &n, &e), 0);
    CU_ASSERT_EQUAL(argc, 2);
    CU_ASSERT_STRING_EQUAL(argv[1], "status");
    static const char text[] = "{\"name\":\"gw-a1\",\"dataplane_user\":\"1\",\"region\":\"y\","
                               "\"provider\":\"onprem\",\"size\":\"m\"}";
    CU_ASSERT_EQUAL(fsutil_write(file, text, sizeof text - 1, 0600, NULL), 0);
    CU_ASSERT_EQUAL(setenv("HAWSER_PROVIDER", "aws", 1), 0);
    CU_ASSERT_EQUAL_FATAL(agent_settings_load(file, flags, n, &s, &e), 0);
    CU_ASSERT_STRING_EQUAL(s.region, "x");
    CU_ASSERT_STRING_EQUAL(s.provider, "aws");
    CU_ASSERT_STRING_EQUAL(s.size, "m");
    CU_ASSERT_EQUAL(s.rekey_s, 20);
    agent_settings_done(&s);
    (void)unsetenv("HAWSER_PROVIDER");
    for (int i = 0; i < 5; i++)
        free(kept[i]);
}

static void test_boot_id(void)
{
    struct hw_id id;
    char text[ID_TEXT_MAX];
    s = (struct agent_settings){.boot_id_file = file};
    static const char good[] = "0f0e0d0c-0b0a-4908-8706-050403020100\n";
    CU_ASSERT_EQUAL(fsutil_write(file, good, sizeof good - 1, 0600, NULL), 0);
    CU_ASSERT_EQUAL(agent_settings_boot_id(&s, &id, &e), 0);
    CU_ASSERT_STRING_EQUAL(id_text(&id, text), "0f0e0d0c-0b0a-4908-8706-050403020100");
    CU_ASSERT_EQUAL(fsutil_write(file, "x\n", 2, 0600, NULL), 0);
    CU_ASSERT(agent_settings_boot_id(&s, &id, &e) < 0);
    s.boot_id_file = (char *)(uintptr_t) "/proc/sys/kernel/random/boot_id";
    CU_ASSERT_EQUAL(agent_settings_boot_id(&s, &id, &e), 0);
}

int main(void)
{
    CU_TestInfo tests[] = {
        {"defaults", test_defaults},
        {"what is refused names its key", test_refused},
        {"flag, environment, file", test_order},
        {"boot id", test_boot_id},
        CU_TEST_INFO_NULL,
    };
    int fd = mkstemp(file);
    if (fd < 0)
        return 2;
    (void)close(fd);
    int rc = suite_run("agent_settings", tests);
    (void)unlink(file);
    return rc;
}
