"""A connection's suites and its permission on a running lab: another suite comes without loss, and a permission that
no engine can use changes nothing but what is said about it."""
import datetime
import logging
import os
import unittest

import daemons
import labs
import netns
from capture import Capture
from expect import wait_for
from traffic import Numbered

logging.getLogger("scapy").setLevel(logging.ERROR)
from scapy.all import UDP, rdpcap

TOPOLOGY = "pair"
OPTIONS = {"keylog": True, "tunnels": 4, "strict_wire": True}  # the lab of wire/test_decrypt


def stamp(seconds):
    return (datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%SZ")


class EncryptionPolicy(unittest.TestCase):
    def setUp(self):
        self.lab = labs.current()
        connection, = self.lab.api.list("/api/v1/connections")
        self.connection = f"/api/v1/connections/{connection['id']}"
        self.sites = [f"/api/v1/sites/{connection[key]}" for key in ("site_a_id", "site_b_id")]
        self.link = f"/api/v1/links/{self.links()[0]['link_id']}"

    def links(self):
        return [self.lab.status(name)["links"][0] for name in self.lab.gateways]

    def keyed_by(self, suite):
        return lambda: all(link["suite"] == suite and link["state"] == "up" for link in self.links())

    def reasons(self, text):
        return lambda: all(text in link["reason"] for link in self.links())

    def set_suites(self, *suites):
        change = {"method": "PATCH", "path": self.connection, "body": {"suites": suites}}
        plan = self.lab.api.post("/api/v1/plan", {"changes": [change]})
        before = self.links()
        self.lab.api.patch(self.connection, change["body"])
        wait_for(f"keys of {suites[0]} at both ends", self.keyed_by(suites[0]), 15)
        self.assertEqual((plan["tunnels"]["rekeyed"], len(plan["gateways_pushed"])), (4, 2))
        return [after["epoch"] - b["epoch"] for b, after in zip(before, self.links())]

    def spis(self):
        """{SPI: suite} of all that was ever keyed, from the receivers' key logs."""
        return {row["spi"]: (row["suite"], len(row["key"]) * 4) for name in self.lab.gateways
                for row in daemons.read_keylog(name) if row["direction"] == "in"}

    def on_the_wire(self):
        """Suites by whose SPIs packets leave now."""
        with Capture(netns.PREFIX + self.lab.gateways[0], "underlay0", "udp portrange 4510-4559", "out") as capture:
            wait_for("probes to leave", lambda: os.path.getsize(capture.file) > 10000, 10)
            capture.stop()
            known = self.spis()
            return {known.get(spi) for spi in self.spis_of(capture)}

    @staticmethod
    def spis_of(capture):
        return {int.from_bytes(bytes(packet[UDP].payload)[:4], "big") for packet in rdpcap(capture.file)}

    def test_another_suite_without_loss(self):
        self.addCleanup(self.set_suites_back)
        numbered = Numbered(self.lab)
        self.addCleanup(numbered.kill)
        epochs = self.set_suites("aes-128-gcm", "aes-256-gcm")
        self.assertLessEqual(max(epochs), 2)  # one more where an end has its config before the other
        self.assertEqual(self.on_the_wire(), {("aes-128-gcm", 128)})
        self.set_suites("aes-256-gcm")
        self.assertEqual(self.on_the_wire(), {("aes-256-gcm", 256)})
        self.set_suites("aes-128-gcm")
        sent, received = numbered.stop()
        self.assertEqual(received, sent)
        labs.note(f"{sent} packets over three changes of suite, none lost")
        wait_for("the controller to say so", lambda: self.status()["suite"] == "aes-128-gcm", 15)
        self.assertIs(self.status()["encrypted"], True)

    def set_suites_back(self):
        self.lab.api.patch(self.connection, {"suites": ["aes-256-gcm"]})
        wait_for("the first suite again", self.keyed_by("aes-256-gcm"), 15)

    def status(self):
        return self.lab.api.get(self.link)["status"]

    def permit(self, seconds):
        return self.lab.api.call("PUT", self.connection + "/encryption-policy",
                                 {"suite": "none", "reason": "bulk copy in the vault", "ends_at": stamp(seconds)})

    def guard(self, on):
        for site in self.sites:
            self.lab.api.patch(site, {"trusted_underlay": on})
        self.lab.api.patch(self.connection, {"path_resiliency": on})

    def test_a_permission_that_no_engine_can_use(self):
        self.addCleanup(self.guard, False)
        self.guard(True)
        before = self.links()
        self.permit(3600)
        wait_for("both agents to know", self.reasons("none is permitted until"), 10)
        wait_for("both to say why not", self.reasons("and not used: the dataplane does not have it"), 5)
        self.assertEqual([link["suite"] for link in self.links()], ["aes-256-gcm"] * 2)
        wait_for("the controller to say so", lambda: "not used" in self.status()["reason"], 15)
        self.assertEqual([self.status()[key] for key in ("state", "suite", "encrypted")], ["up", "aes-256-gcm", True])
        permission = self.lab.api.get(self.connection)["permission"]
        self.assertIs(permission["in_effect"], False)
        self.assertIn("keyed by aes-256-gcm; none is permitted until", permission["in_effect_reason"])
        self.lab.api.patch(self.sites[1], {"trusted_underlay": False})
        self.assertIsNone(self.lab.api.get(self.connection)["permission"])
        wait_for("both agents to know of the end", lambda: not any(link["reason"] for link in self.links()), 10)
        self.assertEqual([link["epoch"] for link in self.links()], [link["epoch"] for link in before])

    def test_the_end_needs_no_controller(self):
        self.addCleanup(self.guard, False)
        self.guard(True)
        self.permit(6)
        wait_for("both agents to know", self.reasons("none is permitted until"), 5)
        self.lab.kill("controller", "controller")
        self.addCleanup(self.lab.start, "controller", "controller")
        wait_for("the end at both", self.reasons("the permission for none is over"), 12)
        self.assertEqual([link["suite"] for link in self.links()], ["aes-256-gcm"] * 2)
        self.lab.start("controller", "controller")
        wait_for("the controller to have ended it", lambda: self.lab.api.get(self.connection)["permission"] is None, 10)
        wait_for("configs without it", lambda: not any(link["reason"] for link in self.links()), 40)
