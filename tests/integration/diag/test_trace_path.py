"""trace-path on a row of five routers whose lines and silences are known, beside Debian's tracepath."""
import unittest

import labs
from diagnostics import Judge, address, gateway, lab, run

TOPOLOGY = "routed"
LAST = 6

# name: family, protocol, hops told, MTU at each hop (None: says nothing), how the last was found. A hop's MTU holds
# for the line to its right; `judged`: tracepath can see it too (it knows MTUs by ICMP alone).
CASES = {
    "nothing in the way, IPv4 UDP": (4, "udp", {}, [1500] * 6, "device", True),
    "nothing in the way, IPv6 ICMP": (6, "icmp", {}, [1500] * 6, "device", True),
    "one step, IPv4 UDP": (4, "udp", {"r3": {"mtu": 1400}}, [1500] * 3 + [1400] * 3, "icmp", True),
    "one step, IPv6 UDP": (6, "udp", {"r3": {"mtu": 1400}}, [1500] * 3 + [1400] * 3, "icmp", True),
    "two steps, IPv4 ICMP": (4, "icmp", {"r2": {"mtu": 1450}, "r4": {"mtu": 1300}},
                             [1500, 1500, 1450, 1450, 1300, 1300], "icmp", True),
    "two steps, IPv6 ICMP": (6, "icmp", {"r1": {"mtu": 1480}, "r4": {"mtu": 1280}},
                             [1500, 1480, 1480, 1480, 1280, 1280], "icmp", True),
    "narrow, then wide again": (4, "udp", {"r2": {"mtu": 1350}}, [1500] * 2 + [1350] * 4, "icmp", True),
    "step at the last line": (4, "udp", {"r5": {"mtu": 1380}}, [1500] * 5 + [1380], "icmp", True),
    "silent step, IPv4 UDP": (4, "udp", {"r3": {"mtu": 1400, "icmp": "too-big"}}, [1500] * 3 + [1400] * 3, "search",
                              False),
    "silent step, IPv6 ICMP": (6, "icmp", {"r3": {"mtu": 1399, "icmp": "too-big"}}, [1500] * 3 + [1399] * 3, "search",
                               False),
    "a hop without time exceeded": (4, "udp", {"r2": {"icmp": "time-exceeded"}}, [1500, None] + [1500] * 4, "device",
                                    True),
    "a step at a router that says nothing": (4, "icmp", {"r3": {"mtu": 1420, "icmp": "all"}},
                                             [1500, 1500, None] + [1420] * 3, "search", False),
    "told and silent steps": (4, "udp", {"r1": {"mtu": 1460}, "r4": {"mtu": 1333, "icmp": "too-big"}},
                              [1500] + [1460] * 3 + [1333] * 2, "search", False),
    "nobody says time exceeded": (4, "udp", {f"r{k}": {"icmp": "time-exceeded"} for k in range(1, 6)},
                                  [None] * 5 + [1500], "device", True),
}


def expected_address(hop, family):
    if hop == LAST:
        return address("gw-b1", "underlay", family)
    return lab().state["hops"][f"r{hop}"]["left"][family == 6]


def expected_falls(mtus):
    """[(from, to, hop before, hop after)]"""
    known = [(hop, mtu) for hop, mtu in enumerate(mtus, 1) if mtu]
    return [(a[1], b[1], a[0], b[0]) for a, b in zip(known, known[1:]) if b[1] < a[1]]


class TracePath(unittest.TestCase):
    def tearDown(self):
        for name in lab().state["hops"]:
            lab().reset_hop(name)

    def rig(self, hops):
        for name, what in hops.items():
            lab().hop(name, **what)

    def check_trace(self, trace, family, mtus, source):
        self.assertTrue(trace["reached"], trace)
        self.assertEqual([h["mtu"] for h in trace["hops"]], mtus)
        for hop in trace["hops"]:
            silent = mtus[hop["hop"] - 1] is None
            self.assertEqual(hop["address"], None if silent else expected_address(hop["hop"], family))
            # A gateway is a Linux machine that limits its ICMP errors; the routers of the lab don't.
            if hop["hop"] == LAST:
                self.assertGreater(hop["answered"], 0)
            else:
                self.assertEqual(hop["answered"], 0 if silent else 3, hop)
            self.assertEqual(hop["rtt_ms"]["avg"] is None, silent)
        self.assertEqual((trace["path_mtu"], trace["mtu_source"]), (mtus[-1], source))
        self.assertEqual(trace["hops"][-1]["name"], "gw-b1")
        falls = expected_falls(mtus)
        for before, after, one, other in falls:
            self.assertIn(f"rom {before} to {after} between {expected_address(one, family)} (hop {one}) and ",
                          trace["verdict"])
            self.assertIn(f"(hop {other})", trace["verdict"])
        if not falls:
            self.assertEqual(trace["verdict"], f"MTU is {mtus[-1]} all the way.")
        self.assertEqual(source == "search", trace["verdict"].endswith("Nobody says so by ICMP."), trace["verdict"])

    def check_judge(self, seen, family, mtus, judged):
        """What tracepath sees stands in the expectation, and what it can see it sees."""
        hops, mtu, reached = seen
        for hop, who in hops.items():
            self.assertEqual(who, expected_address(hop, family))
        if judged and all(mtus):
            self.assertEqual((mtu, reached, len(hops)), (mtus[-1], True, LAST))

    def one(self, name):
        family, protocol, hops, mtus, source, judged = CASES[name]
        self.rig(hops)
        judge = Judge(family, address("gw-b1", "underlay", family))
        try:
            operation = run("trace-path", target_gateway_id=gateway("gw-b1"), family=family, protocol=protocol,
                            timeout_ms=300, both_ways=False)
        finally:
            seen = judge.end(6 if judged and all(mtus) else 1)
        self.check_judge(seen, family, mtus, judged)
        self.assertEqual((operation["state"], operation["error"]), ("succeeded", None))
        self.assertIsNone(operation["result"]["back"])
        self.check_trace(operation["result"]["outward"], family, mtus, source)
        self.assertEqual(operation["result"]["verdict"], operation["result"]["outward"]["verdict"])

    def test_rigged_cases(self):
        right = 0
        for name in CASES:
            with self.subTest(name):
                self.one(name)
                right += 1
            for hop in CASES[name][2]:
                lab().reset_hop(hop)
        labs.note(f"{right} of {len(CASES)} rigged cases right")

    def test_both_ways_are_different_ways(self):
        """The way back meets the step at the router behind it, which says so; the way out at one that doesn't."""
        self.rig({"r3": {"mtu": 1400, "icmp": "too-big"}})
        operation = run("trace-path", target_gateway_id=gateway("gw-b1"), timeout_ms=300)
        self.assertEqual([s["name"] for s in operation["progress"]["steps"]], ["outward", "back"])
        outward, back = operation["result"]["outward"], operation["result"]["back"]
        self.assertEqual((outward["path_mtu"], outward["mtu_source"]), (1400, "search"))
        self.assertEqual((back["path_mtu"], back["mtu_source"]), (1400, "icmp"))
        self.assertEqual((back["gateway_id"], back["hops"][-1]["name"]), (gateway("gw-b1"), "gw-a1"))
        self.assertEqual(outward["hops"][2]["note"], 'does not send "too big"')
        self.assertTrue(operation["result"]["verdict"].startswith("Outward: MTU falls from 1500 to 1400 between"))

    def test_overlay_is_one_hop(self):
        operation = run("trace-path", target_gateway_id=gateway("gw-b1"), network="overlay", timeout_ms=300)
        trace = operation["result"]["outward"]
        self.assertEqual([(h["address"], h["name"]) for h in trace["hops"]],
                         [(address("gw-b1", "overlay", 4), "gw-b1")])
        self.assertEqual(trace["source_address"], address("gw-a1", "overlay", 4))
        self.assertEqual(operation["result"]["verdict"], f"MTU is {trace['path_mtu']} all the way, outward and back.")

    def test_tunnel_over_a_line_that_got_narrow(self):
        """Nobody tells the tunnel: large inner packets vanish, and the search says what still passes."""
        before = run("trace-path", target_gateway_id=gateway("gw-b1"), network="overlay", both_ways=False)["result"]
        self.rig({"r3": {"mtu": 1400, "icmp": "too-big"}})
        operation = run("trace-path", target_gateway_id=gateway("gw-b1"), network="overlay", protocol="icmp",
                        timeout_ms=300, both_ways=False)
        trace = operation["result"]["outward"]
        mtu = before["outward"]["path_mtu"] - 100
        self.assertEqual((trace["path_mtu"], trace["mtu_source"]), (mtu, "search"))
        self.assertEqual(trace["verdict"], f"MTU falls to {mtu} between {address('gw-a1', 'overlay', 4)} (source) and "
                                           "gw-b1 (hop 1). Nobody says so by ICMP.")

    def test_no_way_is_said(self):
        operation = run("trace-path", target_address="203.0.113.7", timeout_ms=300)
        trace = operation["result"]["outward"]
        self.assertFalse(trace["reached"])
        self.assertEqual(trace["verdict"], f"{expected_address(1, 4)} (hop 1) says: network unreachable.")

    def test_probes_on_the_underlay_never_enter_the_tunnel(self):
        """To an address of the other site that the overlay would take."""
        before = lab().exec("gw-a1", "cat", "/sys/class/net/hawser0/statistics/tx_packets")
        operation = run("trace-path", target_address=address("gw-b1", "underlay", 4), timeout_ms=300)
        self.assertEqual(len(operation["result"]["outward"]["hops"]), LAST)
        after = lab().exec("gw-a1", "cat", "/sys/class/net/hawser0/statistics/tx_packets")
        self.assertEqual(int(after), int(before))
