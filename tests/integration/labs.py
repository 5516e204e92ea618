"""Shares one running lab among the test files that want the same one.

A test file names what it needs:
    TOPOLOGY = "chain"                              or None: no lab
    OPTIONS = {"agent_settings": {…}, "mtu": 9000}  for lab.Options; files with equal ones share
    DESTROYS = True                                 the lab cannot be used after this file
and finds the lab by labs.current(). After each other file every link must be up again.
"""
import json
import os
import time

import daemons
import expect
import lab
import python_tests

# `tests/run --long`: more rounds where a test repeats itself.
LONG = False
_current = None


def current():
    return _current


def note(text):
    """A measured figure, shown beside the outcome of the test that took it."""
    print(f"      {text}", flush=True)


def wants(module):
    """What decides which lab a file runs on."""
    return json.dumps([getattr(module, "TOPOLOGY", None), getattr(module, "OPTIONS", {})], sort_keys=True)


def run(report, modules, words):
    expect.quiet = True
    by_lab = {}
    for name, module in modules.items():
        if has_match(module, name, words):
            by_lab.setdefault(wants(module), []).append((name, module))
    for wanted in sorted(by_lab):
        topology, options = json.loads(wanted)
        if topology is None:
            for name, module in by_lab[wanted]:
                python_tests.run(report, module, name, words)
        elif os.geteuid() != 0:
            for name, _ in by_lab[wanted]:
                report.skips(name, "namespaces need root")
        else:
            on_lab(report, topology, options, by_lab[wanted], words)


def has_match(module, name, words):
    import unittest
    tests = python_tests.flatten(unittest.defaultTestLoader.loadTestsFromModule(module))
    return any(python_tests.wanted(f"{name}.{t._testMethodName}", words) for t in tests)


def on_lab(report, topology, options, files, words):
    """A file that leaves the lab broken fails, and the next one gets a new lab."""
    global _current
    title = f"lab/{topology}" + "".join(f" {k}={v}" for k, v in options.items())
    try:
        for name, module in files:
            if _current is None:
                begun = time.monotonic()
                try:
                    _current = lab.up(lab.Options(topology, **options))
                except Exception as error:
                    report.fails(title, str(error), time.monotonic() - begun)
                    return
                report.passes(title, time.monotonic() - begun)
            python_tests.run(report, module, name, words, explain)
            if getattr(module, "DESTROYS", False):
                close()
                continue
            try:
                _current.wait_links(30)
            except Exception as error:
                report.fails(f"{name}: the lab afterwards", str(error))
                close()
    finally:
        close()


def close():
    global _current
    if _current is not None:
        _current.close()
        _current = None


def explain():
    """Logs of every daemon, for the report of a failure."""
    lines = [""]
    for name, node in _current.topology.nodes.items() if _current else ():
        logs = sorted((daemons.node_dir(name) / "log").glob("*.log")) if node.role != "host" else ()
        lines += [daemons.log_tail(name, log.stem, 6) for log in logs]
    return "\n".join(lines)
