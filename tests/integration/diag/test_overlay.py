"""Diagnostics through the tunnels and a transit, whose packet engine answers for itself."""
import unittest

from diagnostics import address, run

TOPOLOGY = "chain"


class Overlay(unittest.TestCase):
    def test_transit_is_a_hop(self):
        for family, protocol in ((4, "udp"), (6, "icmp")):
            host = address("host-b", "site", family)
            operation = run("trace-path", target_address=host, network="overlay", protocol=protocol, timeout_ms=300)
            trace = operation["result"]["outward"]
            self.assertTrue(trace["reached"], trace)
            self.assertEqual(trace["source_address"], address("gw-a1", "site", family))
            self.assertEqual(trace["hops"][0]["name"], "gw-t1")
            self.assertEqual((trace["hops"][0]["address"], trace["hops"][-1]["address"], len(trace["hops"])),
                             (address("gw-t1", "overlay", family), host, 3))
            self.assertEqual(operation["result"]["verdict"], f"MTU is {trace['path_mtu']} all the way.")

    def test_ping_through_the_transit(self):
        result = run("ping", target_address=address("host-b", "site", 4), network="overlay", count=2, interval_ms=100)
        self.assertEqual((result["result"]["received"], result["result"]["replies"][0]["ttl"]), (2, 62))
