"""One round of the benchmark `footprint`: the lab's chain at rest, then with the console's dashboard open.

    footprint_round.py LAB BUILD

LAB is the folder of lab modules to use, that of the same commit as BUILD. Prints
{"gateways": {name: {links, process: sample}}, "controller": {state: sample}}, a sample being {rss_mib, pss_mib, core}:
resident and proportional set size at the end of the window and the share of one core used in it, user and system time.
"""
import json
import os
import pathlib
import signal
import subprocess
import sys
import time

sys.path.insert(0, sys.argv[1])

import lab
import measure
from expect import say
from netns import LabError

IDLE_SECONDS = 60
CONSOLE_SECONDS = 30
PROCESSES = ("agent", "dataplane")
PAGE = pathlib.Path(__file__).resolve().parent / "footprint_page.mjs"


def memory(pid):
    """{rss_mib, pss_mib}: pages shared with other processes count whole in the one, in shares in the other."""
    kib = {}
    for line in pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()[1:]:
        name, _, value = line.partition(":")
        kib[name] = int(value.split()[0])
    return {"rss_mib": kib["Rss"] / 1024, "pss_mib": kib["Pss"] / 1024}


def window(pids, seconds):
    """{key: sample} of the processes over the next `seconds`."""
    started = time.monotonic()
    before = {key: measure.cpu_seconds(pid) for key, pid in pids.items()}
    time.sleep(seconds)
    lasted = time.monotonic() - started
    return {key: {**memory(pid), "core": (measure.cpu_seconds(pid) - before[key]) / lasted}
            for key, pid in pids.items()}


class Page:
    """The dashboard in a browser, open for the time of a `with` block."""

    def __init__(self, running, build):
        controller = running.state["controller"]
        environment = {**os.environ, "HAWSER_NODE_MODULES": str(build / "webui" / "node_modules"),
                       "HAWSER_URL": controller["url"], "HAWSER_TOKEN_FILE": controller["token_file"]}
        self.process = subprocess.Popen(["ip", "netns", "exec", "hw-controller", "node", str(PAGE)], text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment)

    def __enter__(self):
        if self.process.stdout.readline().strip() != "open":
            self.process.kill()
            raise LabError("footprint: the console's dashboard did not open")
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        if self.process.wait(30) != 0:
            raise LabError("footprint: the console's dashboard failed")


def links_of(running, name):
    return len(running.status(name)["links"])


def measure_round(running, build):
    gateways = {(name, process): running.pid(name, process) for name in running.gateways for process in PROCESSES}
    controller = running.pid("controller", "controller")
    # What starting took is over, and the first report of every gateway has been made.
    time.sleep(10)
    say(f"  at rest, {IDLE_SECONDS} s")
    idle = window({**gateways, "controller": controller}, IDLE_SECONDS)
    say(f"  console open, {CONSOLE_SECONDS} s")
    with Page(running, build):
        watched = window({"controller": controller}, CONSOLE_SECONDS)
    return {
        "gateways": {name: {"links": links_of(running, name), **{p: idle[name, p] for p in PROCESSES}}
                     for name in running.gateways},
        "controller": {"at rest": idle["controller"], "console open": watched["controller"]},
    }


def main():
    build = pathlib.Path(sys.argv[2])
    # A gateway as it is installed: the lab's own settings report more often.
    running = lab.up(lab.Options("chain", build=build, agent_settings={"report_interval_seconds": 10}))
    try:
        result = measure_round(running, build)
    finally:
        running.close()
    print(json.dumps(result))
    return 0


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        sys.exit(main())
    except LabError as error:
        print(f"bench: {error}", file=sys.stderr)
        sys.exit(1)
    except KeyboardInterrupt:
        sys.exit(130)
