"""A gateway behind 1:1 NAT: gw-b1 has 10.2.0.1 and fd02::1, the others reach it at 203.0.113.2 and 2001:db8:113::2."""
import json
import socket
import unittest

import daemons
import labs
import nat
import netns
from expect import wait_for
from metadata import Facts, Service
from traffic import Load, reaches

TOPOLOGY = "chain"
OPTIONS = {"nat": "gw-b1", "tunnels": 2}

OWN, PUBLIC = ["10.2.0.1", "fd02::1"], ["203.0.113.2", "2001:db8:113::2"]
KEYING = 4510


class Nat(unittest.TestCase):
    def setUp(self):
        self.lab = labs.current()
        self.ids = {n: self.lab.state["nodes"][n]["gateway_id"] for n in self.lab.gateways}
        self.connection = next(c for c in self.lab.api.list("/api/v1/connections") if c["path"] == "public")

    def link(self, name, peer):
        return next(k for k in self.lab.status(name)["links"] if k["peer"] == peer)

    def both(self):
        return self.link("gw-t1", "gw-b1"), self.link("gw-b1", "gw-t1")

    def wait_up(self, what, test=lambda t, b: True):
        """Both ends up with all tunnels, and what else is asked of them."""
        def up():
            ends = self.both()
            return all(k["state"] == "up" and all(t["state"] == "up" for t in k["tunnels"]) for k in ends) and test(*ends)
        wait_for(what, up, 20, 0.1, on_timeout=lambda: json.dumps(self.both(), indent=1))
        for family in (4, 6):
            wait_for(f"IPv{family} across", lambda f=family: reaches(self.lab, f), 10)

    def endpoints(self):
        return self.lab.api.get(f"/api/v1/gateways/{self.ids['gw-b1']}")["endpoints"]

    def say_endpoints(self, endpoints):
        self.lab.api.patch(f"/api/v1/gateways/{self.ids['gw-b1']}", {"endpoints": endpoints})

    def test_traffic_crosses_by_the_public_address(self):
        at_t, at_b = self.both()
        self.assertEqual((at_t["local"], at_t["remote"]), ("10.3.0.1", PUBLIC[0]))
        self.assertEqual((at_b["local"], at_b["remote"]), (OWN[0], "10.3.0.1"))
        self.assertIn({"address": PUBLIC[0], "family": 4, "scope": "public", "reachable": True}, self.endpoints())
        self.assertIn(f"public:       {PUBLIC[0]} (settings)",
                      self.lab.exec("gw-b1", f"{daemons.BIN_DIR}/hawser-agent", "status"))
        before = [sum(t[d] for t in k["tunnels"]) for k in self.both() for d in ("tx_bytes", "rx_bytes")]
        with Load(self.lab, streams=4):
            pass
        for family in (4, 6):
            self.assertTrue(reaches(self.lab, family))
            self.assertIn(" 0% packet loss", self.lab.exec("host-b", "ping", "-n", "-c", "2", "-i", "0.1", self.lab.state[
                "nodes"]["host-a"]["addresses"]["site"][family == 6]))
        after = [sum(t[d] for t in k["tunnels"]) for k in self.both() for d in ("tx_bytes", "rx_bytes")]
        self.assertTrue(all(b > a for a, b in zip(before, after)), (before, after))

    def test_only_peers_addresses_reach_the_keying_port(self):
        """What a peer is translated to counts as the peer's; the rest of the underlay stays outside."""
        before = self.lab.status("gw-t1")["counters"]["keying_refused_address"]
        with netns.connect("hw-controller", ("10.3.0.1", KEYING), 5) as stranger:
            self.assertEqual(stranger.recv(1), b"")
        self.assertEqual(self.lab.status("gw-t1")["counters"]["keying_refused_address"], before + 1)

    def test_either_end_keys_anew(self):
        for name in ("gw-t1", "gw-b1"):
            with self.subTest(name):
                epoch = max(k["epoch"] for k in self.both())
                self.lab.kill(name, "dataplane")
                self.wait_up(f"new keys after {name}'s dataplane died",
                             lambda t, b, e=epoch: t["epoch"] == b["epoch"] > e)

    def test_both_families(self):
        self.addCleanup(self.lab.wait_links, 20)
        self.addCleanup(self.lab.api.patch, f"/api/v1/connections/{self.connection['id']}", {"underlay_family": None})
        self.lab.api.patch(f"/api/v1/connections/{self.connection['id']}", {"underlay_family": 6})
        self.wait_up("the link on IPv6", lambda t, b: (t["remote"], b["local"]) == (PUBLIC[1], OWN[1]))

    def test_a_gateway_that_can_only_dial(self):
        """Nothing new comes in through the NAT, and an operator says so: gw-b1 dials, gw-t1 asks it to."""
        self.addCleanup(self.wait_up, "the link as before")
        self.addCleanup(self.say_endpoints, None)
        self.addCleanup(nat.close, False)
        nat.close()
        self.say_endpoints([{"address": a, "family": 6 if ":" in a else 4, "scope": "public", "reachable": False}
                            for a in PUBLIC])
        self.lab.restart("gw-t1", "agent")
        self.wait_up("the link after gw-t1's agent came anew", lambda t, b: b["keying"]["state"] == "connected")
        self.assertEqual(self.both()[1]["local"], OWN[0])
        for name in ("gw-t1", "gw-b1"):
            epoch = max(k["epoch"] for k in self.both())
            self.lab.kill(name, "dataplane")
            self.wait_up(f"new keys after {name}'s dataplane died", lambda t, b, e=epoch: t["epoch"] == b["epoch"] > e)
        # Its address could be any now: strangers are heard, and sent away for want of a certificate.
        before = self.lab.status("gw-t1")["counters"]["keying_refused_address"]
        with netns.connect("hw-controller", ("10.3.0.1", KEYING), 5) as stranger:
            stranger.settimeout(0.2)
            with self.assertRaises(socket.timeout):
                stranger.recv(1)
        self.assertEqual(self.lab.status("gw-t1")["counters"]["keying_refused_address"], before)

    def test_the_public_address_by_metadata(self):
        """The same machine as a cloud has it: nothing in its settings, the service knows what it is translated to."""
        path = daemons.node_dir("gw-b1") / "etc" / "agent.json"
        settings = json.loads(path.read_text())
        self.addCleanup(self.lab.restart, "gw-b1", "agent")
        self.addCleanup(path.write_text, json.dumps(settings))
        without = {k: v for k, v in settings.items() if k != "public_addresses"}
        path.write_text(json.dumps({**without, "cloud": "aws"}))
        epochs = [k["epoch"] for k in self.both()]
        with Service("hw-gw-b1", "aws", Facts("eu-central-1", "c6in.large", OWN[:1], {OWN[0]: PUBLIC[0]})):
            self.lab.restart("gw-b1", "agent")
            wait_for("the controller to know", lambda: (self.lab.api.get(f"/api/v1/gateways/{self.ids['gw-b1']}")["cloud"] or {})
                     .get("region") == "eu-central-1", 10, 0.1)
            self.assertEqual([e["address"] for e in self.endpoints() if e["scope"] == "public"], PUBLIC[:1])
            self.assertEqual(self.lab.status("gw-b1")["cloud"]["public_addresses"],
                             [{"address": PUBLIC[0], "inside": OWN[0], "source": "metadata"}])
            self.wait_up("the link as it was")
        self.assertEqual([k["epoch"] for k in self.both()], epochs)
