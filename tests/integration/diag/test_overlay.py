"""Diagnostics through the tunnels and a transit, whose packet engine answers for itself."""
import unittest

from diagnostics import address, gateway, run

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

    def test_every_gateway_on_the_way_is_a_hop(self):
        """The one before the target host answers with its overlay address, which it shares with no peer of the sender."""
        for family, protocol in ((4, "icmp"), (6, "udp")):
            operation = run("trace-path", target_address=address("host-b", "site", family), network="overlay",
                            protocol=protocol, timeout_ms=300)
            self.assertEqual([(hop["name"], hop["address"]) for hop in operation["result"]["outward"]["hops"]],
                             [("gw-t1", address("gw-t1", "overlay", family)),
                              ("gw-b1", address("gw-b1", "overlay", family)),
                              (None, address("host-b", "site", family))])

    def test_a_gateway_behind_a_transit(self):
        for family in (4, 6):
            operation = run("trace-path", target_gateway_id=gateway("gw-b1"), family=family, network="overlay",
                            timeout_ms=300)
            trace = operation["result"]["outward"]
            self.assertTrue(trace["reached"], trace)
            self.assertEqual([hop["name"] for hop in trace["hops"]], ["gw-t1", "gw-b1"])
            result = run("ping", target_gateway_id=gateway("gw-b1"), family=family, network="overlay", count=2,
                         interval_ms=100)
            self.assertEqual(result["result"]["received"], 2, result)

    def test_ping_through_the_transit(self):
        result = run("ping", target_address=address("host-b", "site", 4), network="overlay", count=2, interval_ms=100)
        self.assertEqual((result["result"]["received"], result["result"]["replies"][0]["ttl"]), (2, 62))
