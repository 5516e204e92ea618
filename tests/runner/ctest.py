"""Test programs that CMake knows, by label."""
import os
import pathlib
import re
import subprocess
import tempfile
import xml.etree.ElementTree as ET

# A leak, an overflow or undefined behaviour ends the program; the report names the line.
SANITIZERS = {
    "ASAN_OPTIONS": "detect_leaks=1:abort_on_error=0:strict_string_checks=1",
    "UBSAN_OPTIONS": "print_stacktrace=1",
    "TSAN_OPTIONS": "halt_on_error=1:second_deadlock_stack=1",
}


def build(root, preset, *targets):
    """None, or why the build failed. Its progress is shown as it comes."""
    told = []
    with subprocess.Popen([str(root / "tests" / "build"), preset, *targets], stderr=subprocess.PIPE, text=True) as make:
        for line in make.stderr:
            told.append(line)
            if line.startswith(("building ", "  ", "built ")):
                print(line, end="", flush=True)
    return "".join(told) if make.returncode else None


def run(report, root, preset, label, words=None):
    """Every test with the label, two at a time."""
    folder = root / "build" / preset
    with tempfile.TemporaryDirectory() as temporary:
        junit = pathlib.Path(temporary) / "junit.xml"
        command = ["ctest", "--test-dir", str(folder), "-L", f"^{label}$", "-j", str(os.cpu_count()),
                   "--output-on-failure", "--output-junit", str(junit), "--no-tests=ignore",
                   "--test-output-size-failed", "4000000", "--test-output-truncation", "middle"]
        if words:
            command += ["-R", "|".join(re.escape(word.removeprefix(label + "/")) for word in words)]
        done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **SANITIZERS})
        if not junit.is_file():
            report.fails(label, done.stdout + done.stderr)
            return
        for case in ET.parse(junit).getroot().iter("testcase"):
            count(report, f"{label}/{case.get('name')}", case)


def count(report, name, case):
    seconds = float(case.get("time") or 0)
    if case.get("status") == "run":
        report.passes(name, seconds)
    elif case.get("status") in ("notrun", "disabled") and case.find("skipped") is not None:
        report.skips(name, case.find("skipped").get("message") or "not run")
    else:
        report.fails(name, case.findtext("system-out") or "no output", seconds)
