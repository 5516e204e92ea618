"""unittest files, with one line an outcome."""
import importlib.util
import sys
import time
import unittest


def load(path, name):
    """A test file as a module; its folder is searched for imports first."""
    folder = str(path.parent)
    if folder not in sys.path:
        sys.path.insert(0, folder)
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


class Result(unittest.TestResult):
    """Feeds a Report. `explain()` adds what the lab's logs say to a failure."""

    def __init__(self, report, prefix, explain):
        super().__init__()
        self.report = report
        self.prefix = prefix
        self.explain = explain
        self.begun = time.monotonic()

    def name(self, test):
        return f"{self.prefix}.{getattr(test, '_testMethodName', None) or test.id()}"

    def startTest(self, test):
        super().startTest(test)
        self.begun = time.monotonic()

    def addSuccess(self, test):
        self.report.passes(self.name(test), time.monotonic() - self.begun)

    def addSkip(self, test, reason):
        self.report.skips(self.name(test), reason)

    def addFailure(self, test, err):
        text = self._exc_info_to_string(err, test)
        self.report.fails(self.name(test), text + self.explain(), time.monotonic() - self.begun)

    addError = addFailure

    def addSubTest(self, test, subtest, err):
        """unittest reports a failed subTest by this alone."""
        if err is not None:
            text = self._exc_info_to_string(err, test)
            name = f"{self.name(test)} {subtest._subDescription()}"
            self.report.fails(name, text + self.explain(), time.monotonic() - self.begun)


def wanted(name, words):
    """Whether a test's name contains one of the words; all are wanted when there are none."""
    return not words or any(word in name for word in words)


def run(report, module, prefix, words=None, explain=lambda: ""):
    suite = unittest.TestSuite()
    for test in flatten(unittest.defaultTestLoader.loadTestsFromModule(module)):
        if wanted(f"{prefix}.{test._testMethodName}", words):
            suite.addTest(test)
    if suite.countTestCases():
        suite.run(Result(report, prefix, explain))


def flatten(suite):
    for item in suite:
        if isinstance(item, unittest.TestSuite):
            yield from flatten(item)
        else:
            yield item
