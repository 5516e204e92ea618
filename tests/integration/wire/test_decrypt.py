"""Captured packets opened by scapy's IPsec layer with the keys of the SAs: the wire format is ESP in UDP, and what
is inside is what the hosts sent."""
import collections
import contextlib
import logging
import unittest

import daemons
import labs
import measure
import netns
from capture import Capture
from expect import wait_for

logging.getLogger("scapy").setLevel(logging.ERROR)
from scapy.all import ICMP, IP, UDP, IPv6, Raw, rdpcap
from scapy.layers.inet6 import ICMPv6EchoRequest
from scapy.layers.ipsec import ESP, SecurityAssociation

TOPOLOGY = "pair"
# On a strict wire a burst leaves as the single datagrams that it is, so a capture of what leaves sees each.
OPTIONS = {"keylog": True, "tunnels": 4, "strict_wire": True}

STAMP = 862
PATTERN = "5afec0de"


class Decrypt(unittest.TestCase):
    def setUp(self):
        self.lab = labs.current()
        self.outer = [self.lab.state["nodes"][g]["addresses"]["underlay"][0] for g in ("gw-a1", "gw-b1")]

    def associations(self):
        """{SPI: scapy's SA} of both directions, from the receivers' key logs."""
        made = {}
        for gateway in self.lab.gateways:
            for row in daemons.read_keylog(gateway):
                if row["direction"] == "in":
                    made[row["spi"]] = SecurityAssociation(
                        ESP, spi=row["spi"], crypt_algo="AES-GCM", crypt_key=bytes.fromhex(row["key"] + row["salt"]),
                        esn_en=True, esn=0, tunnel_header=IP(src="192.0.2.1", dst="192.0.2.2"))
        return made

    def captured(self):
        """What leaves both gateways while host-a pings host-b with a known payload, in both families."""
        near, _ = measure.ends(self.lab)
        with contextlib.ExitStack() as stack:
            captures = [stack.enter_context(Capture(netns.PREFIX + g, "underlay0", "udp portrange 4510-4559", "out"))
                        for g in self.lab.gateways]
            for family in (4, 6):
                self.lab.exec(near, "ping", "-n", "-c", "20", "-i", "0.02", "-s", "300", "-p", PATTERN,
                              measure.addresses(self.lab, family)[0])
            for capture in captures:
                capture.stop()
            return [packet for capture in captures for packet in rdpcap(capture.file)]

    def open_all(self):
        """[(outer, inner)] of all that was captured; every packet must open."""
        associations = self.associations()
        opened = []
        for packet in self.captured():
            outer = packet[IP]
            payload = ESP(bytes(outer[UDP].payload))
            self.assertIn(payload.spi, associations, "an SPI that nobody keyed")
            # scapy knows ESP in UDP on port 4500 alone; without the UDP header it is plain ESP.
            inner = associations[payload.spi].decrypt(IP(bytes(IP(src=outer.src, dst=outer.dst) / payload)))
            opened.append((outer, inner))
        return opened

    def judge(self):
        kinds = collections.Counter()
        host_a4, host_a6 = self.lab.state["nodes"]["host-a"]["addresses"]["site"]
        for outer, inner in self.open_all():
            self.assertEqual({outer.src, outer.dst}, set(self.outer))
            self.assertEqual(outer[UDP].sport, outer[UDP].dport)
            self.assertEqual(outer.flags, "DF")
            if inner.haslayer(ICMP) and inner[ICMP].type == 8:
                self.assertEqual(inner[IP].src, host_a4)
                self.assertIn(bytes.fromhex(PATTERN) * 20, bytes(inner[Raw]))
                kinds["echo4"] += 1
            elif inner.haslayer(ICMPv6EchoRequest):
                self.assertEqual(inner[IPv6].src, host_a6)
                self.assertIn(bytes.fromhex(PATTERN) * 20, inner[ICMPv6EchoRequest].data)
                kinds["echo6"] += 1
            elif inner.haslayer(UDP) and STAMP in (inner[UDP].sport, inner[UDP].dport):
                kinds["stamp"] += 1
            else:
                kinds["other"] += 1
        self.assertEqual((kinds["echo4"], kinds["echo6"]), (20, 20))
        self.assertGreater(kinds["stamp"], 0)

    def test_1_aes_256_gcm(self):
        self.judge()

    def test_2_another_suite_by_a_change_of_the_connection(self):
        """The suite is negotiated with the next epoch; nothing but the new keys opens the packets."""
        connection = self.lab.api.list("/api/v1/connections")[0]
        self.lab.api.patch(f"/api/v1/connections/{connection['id']}", {"suites": ["aes-128-gcm"]})
        wait_for("links under aes-128-gcm", lambda: all(
            link["suite"] == "aes-128-gcm" for g in self.lab.gateways for link in self.lab.status(g)["links"]), 30)
        self.lab.wait_links()
        newest = max(daemons.read_keylog("gw-a1"), key=lambda row: row["epoch"])
        self.assertEqual((newest["suite"], len(newest["key"])), ("aes-128-gcm", 32))
        self.judge()
