/* What the packet tests share: running one suite, a fixed-seed generator, hex, and small packet
 * makers. */
#ifndef HAWSER_TESTS_PACKET_TEST_H
#define HAWSER_TESTS_PACKET_TEST_H

#include <CUnit/Basic.h>
#include <stddef.h>
#include <stdint.h>

/* Runs the tests as one suite and returns the program's exit code. */
static inline int packet_test_run(const char *suite, CU_TestInfo *tests)
{
    CU_SuiteInfo suites[] = {{.pName = suite, .pTests = tests}, CU_SUITE_INFO_NULL};
    if (CU_initialize_registry() != CUE_SUCCESS || CU_register_suites(suites) != CUE_SUCCESS)
        return 2;
    CU_basic_set_mode(CU_BRM_NORMAL);
    CU_basic_run_tests();
    unsigned failed = CU_get_number_of_failures();
    CU_cleanup_registry();
    return failed ? 1 : 0;
}

/* xorshift64*: the same numbers on every run. */
static inline uint64_t test_random(uint64_t *state)
{
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return *state * 0x2545f4914f6cdd1dull;
}
static inline void test_fill(uint64_t *state, void *p, size_t len)
{
    uint8_t *b = p;
    for (size_t i = 0; i < len; i++)
        b[i] = (uint8_t)(test_random(state) >> 56);
}

#endif
