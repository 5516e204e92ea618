"""What a cloud's firewall must let through for a gateway, held against where the fleet's plan sends its packets."""
import uuid

from test_api import Base


class Openings(Base):
    def openings(self, gateway):
        reply = self.api.call("GET", f"/api/v1/gateways/{gateway['id']}/openings")
        self.assertEqual(reply.status, 200, reply)
        self.assertEqual(reply.json["gateway_id"], gateway["id"])
        return reply.json["items"]

    def rows(self, gateway, purpose):
        return [(o["direction"], o["protocol"], o["local_ports"], o["remote_ports"], o["local_addresses"], o["remote_addresses"], o["peer"])
                for o in self.openings(gateway) if o["purpose"] == purpose]

    def test_a_gateway_of_a_chain(self):
        _, (a, t, b), _ = self.chain()
        self.assertEqual(self.rows(a, "tunnels"), [(d, "udp", "4510-4559", "4510-4559", ["10.1.0.1"], ["10.2.0.1"], "gw-t") for d in ("in", "out")])
        self.assertEqual(self.rows(a, "keying"), [("in", "tcp", "4510", "any", ["10.1.0.1"], ["10.2.0.1"], "gw-t"),
                                                  ("out", "tcp", "any", "4510", ["10.1.0.1"], ["10.2.0.1"], "gw-t")])
        self.assertEqual(self.rows(a, "path-mtu"), [("in", "icmp", "any", "any", ["10.1.0.1"], [], "gw-t")])
        self.assertEqual(self.rows(a, "controller"),
                         [("out", "tcp", "any", str(self.controller.agent_port), [], ["127.0.0.1"], "controller")])
        self.assertEqual({o["peer_id"] for o in self.openings(t)}, {a["id"], b["id"], None})
        self.assertEqual(self.openings(a)[0]["why"], "8 encrypted tunnels of link gw-a - gw-t")

    def test_both_ends_agree(self):
        """What one end sends first, the other lets in."""
        _, (a, t, _), _ = self.chain()
        self.api.call("PATCH", f"/api/v1/gateways/{t['id']}", {"port_base": 6000})
        for purpose in ("tunnels", "keying"):
            for one, other, name, peer in ((a, t, "gw-a", "gw-t"), (t, a, "gw-t", "gw-a")):
                out = {o[1:6] for o in map(self.frozen, self.rows(one, purpose)) if o[0] == "out" and o[6] == peer}
                into = {(p, r, l, ra, la) for d, p, l, r, la, ra, n in map(self.frozen, self.rows(other, purpose)) if d == "in" and n == name}
                self.assertEqual(len(out), 1)
                self.assertEqual(out, into)

    @staticmethod
    def frozen(row):
        return tuple(tuple(v) if isinstance(v, list) else v for v in row)

    def test_behind_translation(self):
        """Nobody reaches it: everything goes out. The hub is sent to by its public address and filters on its own."""
        _, (a, t, _), connections = self.chain()
        self.api.call("PATCH", f"/api/v1/gateways/{a['id']}",
                      {"endpoints": [{"address": "192.168.7.2", "family": 4, "scope": "private", "reachable": False}]})
        self.api.call("PATCH", f"/api/v1/gateways/{t['id']}",
                      {"endpoints": [{"address": "10.2.0.1", "family": 4, "scope": "private", "reachable": True},
                                     {"address": "203.0.113.1", "family": 4, "scope": "public", "reachable": True}]})
        self.api.call("PATCH", f"/api/v1/connections/{connections[0]['id']}", {"path": "auto"})
        self.assertEqual({o[0] for p in ("tunnels", "keying") for o in self.rows(a, p)}, {"out"})
        self.assertEqual({o[0] for o in self.rows(t, "keying") if o[6] == "gw-a"}, {"in"})

    def test_without_addresses(self):
        site = self.site("a", "10.1.0.0/16")
        gateway = self.create("gateways", name="gw-a", site_id=site["id"])
        self.assertEqual([o["purpose"] for o in self.openings(gateway)], ["controller"])
        self.refused(404, "GET", f"/api/v1/gateways/{uuid.uuid4()}/openings")
