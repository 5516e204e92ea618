/* Running one CUnit suite as a program: prints CUnit's summary, exits non-zero when an assertion
 * failed. */
#ifndef HAWSER_TESTS_SUITE_H
#define HAWSER_TESTS_SUITE_H

#include <CUnit/Basic.h>

static inline int suite_run(const char *name, CU_TestInfo *tests)
{
    CU_SuiteInfo suites[] = {{.pName = name, .pTests = tests}, CU_SUITE_INFO_NULL};
    if (CU_initialize_registry() != CUE_SUCCESS || CU_register_suites(suites) != CUE_SUCCESS)
        return 2;
    CU_basic_set_mode(CU_BRM_NORMAL);
    CU_basic_run_tests();
    unsigned failed = CU_get_number_of_failures();
    CU_cleanup_registry();
    return failed ? 1 : 0;
}

#endif
