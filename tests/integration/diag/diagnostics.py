"""Asking for diagnostics as a user does, and Debian's tracepath as the judge of what a trace says."""
import re
import subprocess
import time

import labs

OPEN = ("queued", "running")


def lab():
    return labs.current()


def gateway(name):
    return lab().state["nodes"][name]["gateway_id"]


def address(name, what, family):
    return lab().state["nodes"][name]["addresses"][what][family == 6]


def ask(kind, start="gw-a1", **body):
    """Answer of the POST."""
    return lab().api.post(f"/api/v1/diagnostics/{kind}", {"gateway_id": gateway(start), **body})


def read(operation):
    return lab().api.get(f"/api/v1/operations/{operation['id']}")


def wait(operation, states=OPEN, timeout=60):
    """The operation once its state is none of `states`."""
    deadline = time.monotonic() + timeout
    while operation["state"] in states:
        if time.monotonic() > deadline:
            raise AssertionError(f"still {operation['state']} after {timeout} s: {operation}")
        time.sleep(0.05)
        operation = read(operation)
    return operation


def run(kind, **body):
    return wait(ask(kind, **body))


class Judge:
    """tracepath from gw-a1 to gw-b1 on the underlay, started beside the trace that it judges. It can't mark its packets,
    so while it runs root's packets follow the main table; the agent is another user."""

    def __init__(self, family, target):
        self.family = family
        self.rule("add")
        # It begins with what the kernel remembers of the path, from the case before.
        lab().exec("gw-a1", "ip", f"-{family}", "route", "flush", "cache")
        self.process = lab().popen("gw-a1", "stdbuf", "-oL", "tracepath", f"-{family}", "-n", "-m", "8", target,
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def rule(self, verb):
        lab().exec("gw-a1", "ip", f"-{self.family}", "rule", verb, "pref", "100", "uidrange", "0-0", "lookup", "main")

    def end(self, patience):
        """{hop: address}, path MTU or None, reached; of what it has said within `patience` seconds."""
        try:
            out, _ = self.process.communicate(timeout=patience)
        except subprocess.TimeoutExpired:
            self.process.terminate()
            out, _ = self.process.communicate(timeout=5)
        self.rule("del")
        hops = {}
        for number, who in re.findall(r"^\s*(\d+):\s+(\S+)", out, re.M):
            if who != "no":
                hops[int(number)] = who
        mtus = re.findall(r"pmtu (\d+)", out)
        return hops, int(mtus[-1]) if mtus else None, "reached" in out
