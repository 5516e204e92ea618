"""Processes die under load; the bars are DESIGN's, doubled where two cores carry the whole lab."""
import time
import unittest

import labs
from expect import wait_for
from traffic import Load, Stream, reaches

TOPOLOGY = "chain"
OPTIONS = {"agent_settings": {"confirm_timeout_seconds": 5}}

STALL = 1.0 * 2
DATAPLANE_BACK = 2.0 * 2


class Kills(unittest.TestCase):
    def setUp(self):
        self.lab = labs.current()

    def keys(self):
        """What would change if anything were keyed anew or torn down: an epoch is one key exchange."""
        seen = {}
        for name in self.lab.gateways:
            status = self.lab.status(name)
            seen[name] = (status["dataplane"]["boot_id"],
                          sorted((k["link_id"], k["epoch"]) for k in status["links"]))
        return seen

    def connected(self, name):
        return self.lab.status(name)["controller"]["state"] == "connected"

    def test_controller_killed_under_load(self):
        before = self.keys()
        with Load(self.lab) as load, Stream(self.lab) as stream:
            self.lab.kill("controller", "controller")
            wait_for("agents to notice", lambda: not any(self.connected(g) for g in self.lab.gateways), 30)
            self.lab.start("controller", "controller")
            wait_for("agents to return", lambda: all(self.connected(g) for g in self.lab.gateways), 60)
            self.assertTrue(load.alive())
            self.judge("controller killed", stream, STALL)
        self.assertEqual(self.keys(), before)

    def judge(self, what, stream, bar):
        worst = stream.stop()["worst"]
        labs.note(f"{what}: longest gap {worst * 1000:.0f} ms")
        self.assertLess(worst, bar)

    def test_agents_killed_under_load(self):
        before = self.keys()
        with Load(self.lab) as load, Stream(self.lab) as stream:
            for name in self.lab.gateways:
                self.lab.kill(name, "agent")
                time.sleep(0.5)  # a dead agent for a while is the point of the test
                self.lab.start(name, "agent")
                wait_for(f"agent on {name}", lambda n=name: self.connected(n), 30)
            self.assertTrue(load.alive())
            self.judge("agents killed in turn", stream, STALL)
        self.lab.wait_links()
        self.assertEqual(self.keys(), before)

    def test_dataplane_killed_under_load(self):
        for name in ("gw-a1", "gw-t1", "gw-b1") if labs.LONG else ("gw-a1", "gw-t1"):
            with self.subTest(name):
                before = self.keys()
                with Load(self.lab) as load, Stream(self.lab) as stream:
                    self.lab.kill(name, "dataplane")
                    wait_for("traffic again", lambda: reaches(self.lab), 15)
                    self.lab.wait_links()
                    self.assertTrue(load.alive())
                    self.judge(f"dataplane of {name} killed", stream, DATAPLANE_BACK)
                after = self.keys()
                self.assertNotEqual(after[name][0], before[name][0])
                old = {link: epoch for link, epoch in before[name][1]}
                for link, epoch in after[name][1]:
                    self.assertGreater(epoch, old[link])

    def confirmed(self):
        """A boot uses the confirmed config, which is the newest as soon as the controller has answered after it."""
        revisions = [self.lab.status(g)["revisions"] for g in self.lab.gateways]
        return all(r["confirmed"] == r["in_force"] == r["received"] for r in revisions)

    def test_reboot_while_the_controller_is_down(self):
        wait_for("configs to be confirmed", self.confirmed, 15)
        self.lab.kill("controller", "controller")
        self.addCleanup(self.lab.start, "controller", "controller")
        for name in ("gw-a1", "gw-t1"):
            with self.subTest(name):
                in_force = self.lab.status(name)["revisions"]["in_force"]
                self.lab.reboot(name)
                wait_for("traffic again", lambda: reaches(self.lab) and reaches(self.lab, 6), 40)
                self.assertEqual(self.lab.status(name)["revisions"]["in_force"], in_force)
