"""tests/run after the set-up: groups of tests, and a check that nothing stays behind."""
import argparse
import contextlib
import os
import pathlib
import re
import signal
import sys
import tempfile
import traceback

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests" / "runner"), str(ROOT / "tests" / "lab"), str(ROOT / "tests" / "integration")]

import ctest
import leftovers
import python_tests
from report import Report


def unit(report, options):
    """CUnit programs, with AddressSanitizer and UndefinedBehaviorSanitizer."""
    error = ctest.build(ROOT, "asan")
    if error:
        report.fails("unit/build", error)
        return
    ctest.run(report, ROOT, "asan", "unit", options.only)


def contract(report, options):
    """Documents against code: OpenAPI, schemas, limits, packaging."""
    error = ctest.build(ROOT, "asan")
    if error:
        report.fails("contract/build", error)
        return
    ctest.run(report, ROOT, "asan", "contract", options.only)
    os.environ["HAWSER_BUILD"] = str(ROOT / "build" / "asan")
    for path in files("contract"):
        with told(report, f"contract/{path.stem}"):
            module = python_tests.load(path, f"contract_{path.stem}")
            python_tests.run(report, module, f"contract/{path.stem}", options.only)
    del os.environ["HAWSER_BUILD"]


def fuzz(report, options):
    """Hostile requests against a controller with sanitizers; the seed is printed."""
    error = ctest.build(ROOT, "asan")
    if error:
        report.fails("fuzz/build", error)
        return
    os.environ["HAWSER_BUILD"] = str(ROOT / "build" / "asan")
    for path in files("fuzz"):
        with told(report, f"fuzz/{path.stem}"):
            module = python_tests.load(path, f"fuzz_{path.stem}")
            python_tests.run(report, module, f"fuzz/{path.stem}", options.only)
    del os.environ["HAWSER_BUILD"]


def files(group):
    return sorted((ROOT / "tests" / group).glob("**/test_*.py"))


@contextlib.contextmanager
def told(report, name):
    """A file that cannot even be loaded is a failure of that file alone."""
    try:
        yield
    except Exception:
        report.fails(name, traceback.format_exc())


def integration(report, options):
    """Whole networks in namespaces with the release build; files share one lab per topology and settings."""
    error = ctest.build(ROOT, "release")
    if error:
        report.fails("integration/build", error)
        return
    import labs
    labs.LONG = options.long
    modules = {}
    for path in files("integration"):
        name = "integration/" + str(path.relative_to(ROOT / "tests" / "integration").with_suffix(""))
        with told(report, name):
            modules[name] = python_tests.load(path, re.sub(r"\W", "_", name))
    labs.run(report, modules, options.only)


def web(report, options):
    """The console in Chromium against the controller of a running lab."""
    error = ctest.build(ROOT, "release")
    if error:
        report.fails("web/build", error)
        return
    import web_tests
    web_tests.run(report, ROOT, ROOT / "build" / "release", options.only)


GROUPS = {"unit": unit, "contract": contract, "fuzz": fuzz, "integration": integration, "web": web}


def show():
    for group, function in GROUPS.items():
        print(f"{group}: {function.__doc__.strip()}")
        folder = ROOT / "tests" / group
        for path in sorted([*folder.glob("**/test_*.c"), *folder.glob("**/test_*.py"), *folder.glob("*.test.mjs")]):
            print(f"    {str(path.relative_to(folder)).split('.')[0]}")


def main():
    parser = argparse.ArgumentParser(prog="tests/run", description=__doc__)
    parser.add_argument("groups", nargs="*", metavar="GROUP", help="of: " + " ".join(GROUPS))
    parser.add_argument("--long", action="store_true", help="more rounds where a test repeats itself (HAWSER_LONG=1)")
    parser.add_argument("--list", action="store_true", help="name groups and test files, run nothing")
    parser.add_argument("--only", metavar="WORD", action="append", help="tests whose name contains WORD (may repeat)")
    options = parser.parse_args()
    unknown = set(options.groups) - set(GROUPS)
    if unknown:
        parser.error(f"no group {', '.join(sorted(unknown))}; there are: {', '.join(GROUPS)}")
    if options.list:
        show()
        return 0
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    if options.long:
        os.environ["HAWSER_LONG"] = "1"
    report = Report()
    with tempfile.TemporaryDirectory(prefix="hawser-test-") as temporary:
        os.environ["TMPDIR"] = tempfile.tempdir = temporary
        os.chmod(temporary, 0o711)  # controllers run as another user and go through it
        watch = leftovers.Watch(ROOT, temporary)
        for group in GROUPS:
            if not options.groups or group in options.groups:
                report.group(group)
                with told(report, group):
                    GROUPS[group](report, options)
        left = watch.left()
        if left:
            report.fails("leftovers", "\n".join(left))
        else:
            report.passes("leftovers", 0.0)
    return report.close()


if __name__ == "__main__":
    sys.exit(main())
