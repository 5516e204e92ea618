"""The runner shows why a test failed, however much it printed afterwards."""
import unittest

from excerpt import excerpt

NOISE = [f"log line {n}" for n in range(500)]


class Excerpt(unittest.TestCase):
    def shows(self, *said):
        told = excerpt("\n".join([*NOISE, *said, *NOISE]))
        for line in said:
            self.assertIn(line, told)
        self.assertIn(NOISE[-1], told)
        self.assertIn("[500 lines]", told)
        self.assertLess(len(told), 150)

    def test_cunit(self):
        self.shows("    1. /src/tests/unit/test_a.c:12  - CU_ASSERT_FATAL(keyed)",
                   "    2. /src/tests/unit/test_a.c:13  - CU_ASSERT_EQUAL(n,3)")

    def test_sanitizers(self):
        self.shows("==12==ERROR: AddressSanitizer: heap-use-after-free on address 0x1", "READ of size 4", "    #0 0x1 in f /src/a.c:3")
        self.shows("WARNING: ThreadSanitizer: data race (pid=1)", "  Write of size 8")
        self.shows("/src/a.c:3:4: runtime error: signed integer overflow", "    #0 0x1 in f /src/a.c:3")

    def test_traceback(self):
        self.shows("Traceback (most recent call last):", '  File "test_a.py", line 3, in test', "    self.assertEqual(1, 2)",
                   "AssertionError: 1 != 2 : packets lost")

    def test_short_output_is_whole(self):
        self.assertEqual(excerpt("a\nb\n"), ["a", "b"])


if __name__ == "__main__":
    unittest.main()
