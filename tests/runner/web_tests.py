"""The console in a browser, against the controller of a running lab: Node's own test runner, a TAP line a test."""
import os
import re
import subprocess
import time

CHROMIUM = "/usr/bin/chromium"
POINT = re.compile(r"^(\s*)(not ok|ok) \d+ - (.*?)(?:\s+# (?:SKIP|TODO)\b *(.*))?$")
UNASKED = "test name does not match pattern"


def environment(lab, root, build):
    controller = lab.state["controller"]
    return {
        **os.environ,
        "HAWSER_URL": controller["url"],
        "HAWSER_TOKEN_FILE": controller["token_file"],
        "HAWSER_LAB_STATE": "/run/hawser-lab/state.json",
        "HAWSER_LAB": str(root / "tests" / "lab" / "lab"),
        "HAWSER_SCREENSHOTS": os.environ.get("HAWSER_SCREENSHOTS", ""),
        "HAWSER_NODE_MODULES": str(build / "webui" / "node_modules"),
    }


def missing(build):
    """None, or why there is nothing to try."""
    if os.geteuid() != 0:
        return "namespaces need root"
    if not (build / "webui" / "dist" / "index.html").is_file():
        return "the console is not built (node and npm are missing, or the packages could not be fetched)"
    if not os.path.exists(CHROMIUM):
        return f"{CHROMIUM} is missing"
    return None


def outcomes(text):
    """(passed, name, seconds, what follows) of every test of a TAP text; of one that was skipped (None, name, 0, the reason)."""
    found, current = [], None
    for line in text.splitlines():
        point = POINT.match(line)
        if point and not point[1]:
            skipped = point[4] is not None
            current = [None if skipped else point[2] == "ok", point[3], 0.0, point[4] if skipped else []]
            found.append(current)
        elif current and current[0] is not None:
            current[3].append(line)
            if duration := re.match(r"\s+duration_ms: ([0-9.]+)", line):
                current[2] = float(duration[1]) / 1000
    return found


def run_file(report, lab, root, build, path, words):
    name = f"web/{path.name.removesuffix('.test.mjs')}"
    command = ["ip", "netns", "exec", "hw-controller", "node", "--test", "--test-reporter=tap", str(path)]
    pattern = "|".join(map(re.escape, words or []))
    if pattern and not re.search(pattern, name):
        command[5:5] = [f"--test-name-pattern={pattern}"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=240, env=environment(lab, root, build))
    except subprocess.TimeoutExpired as late:
        report.fails(name, f"not over after {late.timeout} s\n{late.stdout or ''}")
        return
    tell(report, name, done)


def tell(report, name, done):
    """The outcomes of a file that ran; it failed itself when it had no test, or ended badly though none failed."""
    found = outcomes(done.stdout)
    for passed, title, seconds, rest in found:
        if passed:
            report.passes(f"{name}: {title}", seconds)
        elif passed is None:
            if rest != UNASKED:
                report.skips(f"{name}: {title}", rest or "no reason given")
        else:
            report.fails(f"{name}: {title}", "\n".join(rest), seconds)
    if not found or (done.returncode and all(passed is not False for passed, *_ in found)):
        report.fails(name, done.stdout + done.stderr)


def check_types(report, folder):
    """What the console takes the API for, against the OpenAPI document."""
    begun = time.monotonic()
    done = subprocess.run(["node", "node_modules/typescript/bin/tsc", "--noEmit"], cwd=folder, capture_output=True, text=True, timeout=120)
    if done.returncode:
        report.fails("web/types", done.stdout + done.stderr, time.monotonic() - begun)
    else:
        report.passes("web/types", time.monotonic() - begun)


def run(report, root, build, words):
    import lab
    why = missing(build)
    if why:
        report.fails("web", why) if os.geteuid() == 0 else report.skips("web", why)
        return
    check_types(report, build / "webui")
    begun = time.monotonic()
    running = lab.up(lab.Options("chain"))
    report.passes("lab/chain", time.monotonic() - begun)
    try:
        for path in sorted((root / "tests" / "web").glob("*.test.mjs")):
            run_file(report, running, root, build, path, words)
        if os.environ.get("HAWSER_SCREENSHOTS"):
            subprocess.run(["ip", "netns", "exec", "hw-controller", "node", str(root / "tests" / "web" / "screenshots.mjs")],
                           timeout=240, check=True, env=environment(running, root, build))
    finally:
        running.close()
