"""What Node's test runner says of a file of the console's tests is told as it is: passed, failed, skipped."""
import pathlib
import subprocess
import tempfile
import unittest

import web_tests


class Told:
    def __init__(self):
        self.said = []

    def passes(self, name, _):
        self.said.append(("passed", name))

    def fails(self, name, *_):
        self.said.append(("failed", name))

    def skips(self, name, reason):
        self.said.append(("skipped", name, reason))


class Outcomes(unittest.TestCase):
    def told(self, body, *options):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "a.test.mjs"
            path.write_text("import { test } from 'node:test'\n" + body)
            done = subprocess.run(["node", "--test", "--test-reporter=tap", *options, str(path)], capture_output=True, text=True, timeout=60)
        report = Told()
        web_tests.tell(report, "web/a", done)
        return report.said

    def test_only_a_skip(self):
        self.assertEqual(self.told("test('one', { skip: 'no lab' }, () => {})"), [("skipped", "web/a: one", "no lab")])
        self.assertEqual(self.told("test('one', { skip: true }, () => {})"), [("skipped", "web/a: one", "no reason given")])

    def test_each_kind(self):
        self.assertEqual(self.told("test('good', () => {})\ntest('bad', () => { throw new Error('no') })\ntest('later', { skip: 'not here' }, () => {})"),
                         [("passed", "web/a: good"), ("failed", "web/a: bad"), ("skipped", "web/a: later", "not here")])

    def test_what_nobody_asked_for(self):
        self.assertEqual(self.told("test('one', () => {})\ntest('two', () => {})", "--test-name-pattern=two"), [("passed", "web/a: two")])

    def test_a_file_that_cannot_run(self):
        self.assertEqual([kind for kind, *_ in self.told("throw new Error('no')")], ["failed"])


if __name__ == "__main__":
    unittest.main()
