"""What may be seen on the underlay, whatever happens to a gateway (DESIGN, Packet engine)."""
import unittest

import labs
import measure
import netns
from capture import Capture, forbidden_on_underlay
from expect import wait_for
from traffic import PATTERN, Load, Stream, reaches

TOPOLOGY = "chain"
OPTIONS = {"agent_settings": {"confirm_timeout_seconds": 5}}


class Underlay(unittest.TestCase):
    maxDiff = None
    def setUp(self):
        self.lab = labs.current()

    def assert_nothing(self, capture):
        """No forbidden packet was seen, and none was missed."""
        lost = capture.stop()
        self.assertEqual((capture.lines(), lost), ([], 0))

    def sending(self, stack_families=(4, 6)):
        streams = [Stream(self.lab, family, 9000 + family) for family in stack_families]
        for stream in streams:
            self.addCleanup(stream.stop)
        return streams

    def test_the_filter_sees_what_is_forbidden(self):
        """Plain routing goes over the same underlay, so the capture must show it."""
        near, _ = measure.ends(self.lab)
        for family in (4, 6):
            with forbidden_on_underlay(self.lab) as capture:
                self.lab.exec(near, "ping", "-n", "-c", "1", "-W", "2", measure.addresses(self.lab, family)[1])
                capture.stop()
                self.assertTrue(capture.lines())

    def test_only_permitted_packets_under_load(self):
        with forbidden_on_underlay(self.lab) as capture, Load(self.lab):
            streams = self.sending()
            wait_for("10 MB across", self.carried(10_000_000), 30)
            self.assertTrue(all(s.stop()["count"] for s in streams))
            self.assert_nothing(capture)

    def carried(self, wanted):
        def total():
            links = self.lab.status(self.lab.gateways[0])["links"]
            return sum(t["tx_bytes"] for link in links for t in link["tunnels"])
        start = total()
        return lambda: total() - start >= wanted

    def test_known_plaintext_is_not_on_the_wire(self):
        with Capture(netns.UNDERLAY, "any", "ip or ip6") as capture:
            streams = self.sending()
            wait_for("500 datagrams", self.carried(500 * len(PATTERN)), 20)
            counts = [s.stop()["count"] for s in streams]
            self.assertEqual(capture.stop(), 0)
            seen = capture.bytes()
        self.assertGreater(min(counts), 50)
        self.assertGreater(len(seen), 50_000)
        self.assertNotIn(PATTERN.encode(), seen)
        self.assertNotIn(PATTERN[:12].encode(), seen)

    def test_outer_packets_never_enter_tun(self):
        own = " or ".join(a for g in self.lab.topology.with_role("gateway") for a in g.underlay)
        outer = f"host ({own}) and (udp portrange 4510-4559 or tcp port 4510 or tcp port 8444)"
        captures = [Capture(netns.PREFIX + g, "hawser0", outer) for g in self.lab.gateways]
        for capture in captures:
            self.addCleanup(capture.close)
        with Load(self.lab):
            wait_for("10 MB across", self.carried(10_000_000), 30)
            self.lab.restart("gw-t1", "agent")
        self.lab.wait_links()
        for capture in captures:
            self.assert_nothing(capture)

    def test_no_plaintext_when_all_tunnels_are_lost(self):
        self.addCleanup(self.lab.heal)
        with forbidden_on_underlay(self.lab) as capture:
            self.sending()
            self.lab.cut("gw-a1", "gw-t1")
            wait_for("the link to be down", lambda: self.link_state("gw-a1") != "up", 20)
            self.assertFalse(reaches(self.lab))
            self.lab.heal()
            wait_for("traffic again", lambda: reaches(self.lab), 20)
            self.assert_nothing(capture)
        self.lab.wait_links()

    def link_state(self, name):
        return self.lab.status(name)["links"][0]["state"]

    def test_no_plaintext_when_tun_is_lost(self):
        """The device itself goes, with its routes; what stays is `unreachable`. The agent makes it anew."""
        with forbidden_on_underlay(self.lab) as capture:
            self.sending()
            self.lab.kill("gw-a1", "agent")
            self.lab.exec("gw-a1", "ip", "link", "del", "hawser0", check=False)
            self.assertFalse(reaches(self.lab, 4))
            self.assertFalse(reaches(self.lab, 6))
            self.lab.kill("gw-a1", "dataplane")
            self.assertFalse(reaches(self.lab, 4))
            self.lab.start("gw-a1", "agent")
            wait_for("traffic again", lambda: reaches(self.lab), 30)
            self.assert_nothing(capture)
        self.lab.wait_links()

    def test_no_plaintext_through_boot(self):
        for name in ("gw-a1", "gw-t1"):
            with self.subTest(name), forbidden_on_underlay(self.lab) as capture:
                self.sending()
                self.lab.reboot(name)
                wait_for("traffic again", lambda: reaches(self.lab) and reaches(self.lab, 6), 40)
                self.assert_nothing(capture)
                self.lab.wait_links()
                self.doCleanups()
