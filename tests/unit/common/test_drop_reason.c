#include "common/dp_stats.h"
#include "common/drop_reason.h"
#include "tests/unit/suite.h"
#include <string.h>

static void test_table(void)
{
    CU_ASSERT(DROP_COUNT <= DP_STATS_DROPS);
    for (unsigned i = 0; i < DROP_COUNT; i++) {
        CU_ASSERT_PTR_NOT_NULL_FATAL(drop_reason_name(i));
        CU_ASSERT(strlen(drop_reason_text(i)) > 0);
        /* Names are metric labels and JSON members. */
        CU_ASSERT_EQUAL(strspn(drop_reason_name(i), "abcdefghijklmnopqrstuvwxyz_"),
                        strlen(drop_reason_name(i)));
        for (unsigned j = 0; j < i; j++)
            CU_ASSERT_STRING_NOT_EQUAL(drop_reason_name(i), drop_reason_name(j));
    }
    CU_ASSERT_STRING_EQUAL(drop_reason_name(DROP_NO_ROUTE), "no_route");
    CU_ASSERT_STRING_EQUAL(drop_reason_name(DROP_COUNT), "unknown");
    CU_ASSERT_STRING_EQUAL(drop_reason_text(DROP_COUNT), "unknown reason");
}

int main(void)
{
    CU_TestInfo tests[] = {{"table", test_table}, CU_TEST_INFO_NULL};
    return suite_run("drop_reason", tests);
}
