"""The packet engine as a process: its rights, cores, cost at rest and end."""
import os
import pathlib
import time
import unittest

import dp_proto as p
from driver import SANDBOX, Dataplane
from engine_case import EngineTest

TOPOLOGY = None


def cores_of(dp):
    """{worker's name: the cores that it may run on}"""
    task = pathlib.Path(f"/proc/{dp.process.pid}/task")
    names = {t.name: (t / "comm").read_text().strip() for t in task.iterdir()}
    return {name: os.sched_getaffinity(int(t)) for t, name in names.items() if name.startswith("worker-")}


class Process(EngineTest):
    @unittest.skipUnless(SANDBOX, "a sanitizer's build runs without sandbox")
    def test_it_gave_up_its_rights(self):
        dp = Dataplane("x", 2)
        self.addCleanup(dp.close)
        tasks = os.listdir(f"/proc/{dp.process.pid}/task")
        self.assertEqual(len(tasks), 3)
        for task in tasks:
            with open(f"/proc/{dp.process.pid}/task/{task}/status") as f:
                status = dict(line.rstrip("\n").split(":\t", 1) for line in f if ":\t" in line)
            self.assertEqual(status["NoNewPrivs"], "1")
            self.assertEqual(status["Seccomp"], "2")
            for kind in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"):
                self.assertEqual(int(status[kind], 16), 0, kind)
        self.assertEqual(dp.hello["features"] & 24, 24)

    def test_each_worker_has_its_core_and_name(self):
        cores = sorted(os.sched_getaffinity(0))
        for _ in range(5):
            with Dataplane("x", len(cores)) as dp:
                self.assertEqual(cores_of(dp), {f"worker-{i}": {core} for i, core in enumerate(cores)})

    def test_first_core_shifts_the_workers(self):
        """Worker 0 on that one of the usable cores, the others behind it, round the end."""
        cores = sorted(os.sched_getaffinity(0))
        for first in (1, len(cores) + 1):
            with Dataplane("x", len(cores), ("--first-core", str(first))) as dp:
                self.assertEqual(cores_of(dp), {f"worker-{i}": {cores[(first + i) % len(cores)]}
                                                for i in range(len(cores))})

    @unittest.skipUnless(SANDBOX, "a sanitizer's build runs without sandbox")
    def test_it_refuses_to_run_as_root_with_its_sandbox(self):
        with self.assertRaisesRegex(RuntimeError, "runs as root"):
            Dataplane("x", 1, uid=0)

    def test_quiesce_ends_it(self):
        dp = Dataplane("x", 2)
        self.addCleanup(dp.close)
        dp.send(p.QUIESCE)
        self.assertEqual(dp.process.wait(10), 0)

    def test_root_without_sandbox_for_tests(self):
        dp = Dataplane("x", 1, uid=0, sandbox=False)
        self.addCleanup(dp.close)
        self.assertEqual(dp.hello["features"] & 24, 0)

    def test_idle_costs_little(self):
        a, _, _ = self.pair(tunnels=8, interval_ms=1000)

        def used():
            with open(f"/proc/{a.dp.process.pid}/stat") as f:
                fields = f.read().rsplit(")", 1)[1].split()
            return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
        before, turns = used(), a.dp.counters.total("heartbeat")
        time.sleep(2)
        self.assertLess(used() - before, 0.05)
        self.assertLess(a.dp.counters.total("heartbeat") - turns, 400)


if __name__ == "__main__":
    unittest.main()
