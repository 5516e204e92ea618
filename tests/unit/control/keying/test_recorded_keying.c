/* Keying messages of earlier versions. */
#include "agent/control/keying/message.h"
#include "tests/unit/common/recorded.h"

static void check_message(const char *path, const char *data, size_t len)
{
    struct message m;
    struct err e = {0};
    size_t total = 0;
    recorded_accept(path, message_frame((const uint8_t *)data, &total, &e), &e);
    CU_ASSERT_EQUAL(total, len);
    recorded_accept(path, message_decode((const uint8_t *)data, len, &m, &e), &e);
}

static void test_messages(void)
{
    recorded_each("keying/*.bin", check_message);
}

int main(void)
{
    CU_TestInfo tests[] = {{"each is read", test_messages}, CU_TEST_INFO_NULL};
    return suite_run("recorded keying messages", tests);
}
