"""A peer whose dataplane seems to be a new one agrees on keys and is never heard of again: its certificate is right, so
the keys in use are replaced, and nothing answers by the new ones. The link comes back by itself."""
import time
import unittest
import uuid

import keying_client
import labs
import pki
from expect import wait_for
from traffic import reaches

TOPOLOGY = "pair"

BAR = 20.0  # the longest of: 3 times the detection time of 3 s, and what keying and probing take after it


class VanishingPeer(unittest.TestCase):
    def setUp(self):
        self.lab = labs.current()
        self.assertTrue(reaches(self.lab))

    def link(self):
        return self.lab.status("gw-a1")["links"][0]

    def agree(self, then=None):
        nodes, controller = self.lab.state["nodes"], self.lab.state["controller"]
        peer, target = nodes["gw-b1"], nodes["gw-a1"]
        message = keying_client.offer(uuid.UUID(self.link()["link_id"]), uuid.UUID(peer["gateway_id"]),
                                      uuid.UUID(target["gateway_id"]), uuid.uuid4(), self.link()["epoch"] + 1)
        kind, body = keying_client.dial(peer["netns"], peer["addresses"]["underlay"][0],
                                        target["addresses"]["underlay"][0], pki.identity_files(self.lab, "gw-b1"),
                                        controller["state_dir"] + "/gateway-ca.pem", message, then=then)
        self.assertEqual(kind, "accept", body)
        return keying_client.accepted_epoch(body)

    def comes_back(self, epoch):
        begun = time.monotonic()
        wait_for("the link to be keyed anew", lambda: self.link()["epoch"] > epoch and reaches(self.lab), 2 * BAR)
        took = time.monotonic() - begun
        labs.note(f"back after {took:.1f} s")
        self.assertLess(took, BAR)
        wait_for("no failure to be left", lambda: self.link()["keying"]["failures"] == 0, 10)

    def test_after_accept(self):
        self.comes_back(self.agree())

    def test_after_ready(self):
        link = uuid.UUID(self.link()["link_id"])
        epoch = self.agree(lambda body: keying_client.ready(link, keying_client.accepted_epoch(body)))
        self.comes_back(epoch)
