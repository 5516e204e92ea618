"""Tunnels of the packet engine that die, are silenced, and come back."""
import socket
import struct
import time
import unittest

import dp_proto as p
from driver import FLOW_SEED, TUNNEL_SEED, Dataplane, id_of, route_pair
from engine_case import EngineTest

TOPOLOGY = None


class Liveness(EngineTest):
    def block(self, gateway, *ports):
        gateway.space.exec("nft", "add table inet cut; add chain inet cut in { type filter hook input priority 0; }; "
                           f"add rule inet cut in udp dport {{ {','.join(map(str, ports))} }} drop")

    def heal(self, gateway):
        gateway.space.exec("nft", "delete table inet cut")

    def test_a_dead_tunnel_is_left_and_comes_back(self):
        a, b, link = self.pair(tunnels=4)
        self.block(b, 4510, 4511)
        begun = time.monotonic()
        a.dp.wait("two tunnels down", lambda: link.states(a).count(p.DOWN) == 2)
        self.assertLess(time.monotonic() - begun, 1.0)
        self.assertEqual(link.states(a), [p.DOWN, p.DOWN, p.UP, p.UP])
        for i in range(20):
            self.ping(a, b, 4, 1)
        self.heal(b)
        a.dp.wait("all up", lambda: link.states(a) == [p.UP] * 4)
        events = [p.TUNNEL_EVENT.unpack(x)[1:4] for k, x in a.dp.poll_events() if k == p.TUNNEL_STATE]
        for tunnel in (0, 1):
            mine = [(s, p.REASONS[r]) for t, s, r in events if t == tunnel]
            self.assertEqual(mine[-2:], [(p.DOWN, "no_answer"), (p.UP, "answered")])

    def test_all_down_drops_and_says_so(self):
        a, b, link = self.pair(tunnels=2)
        self.block(b, 4510, 4511)
        a.dp.wait("down", lambda: link.states(a) == [p.DOWN] * 2)
        with self.assertRaises(RuntimeError):
            self.ping(a, b, 4, 1)
        self.assertGreaterEqual(a.drops()["no_tunnel"], 1)

    def test_disabled_link_is_silent(self):
        a, b, link = self.pair(tunnels=2)
        a.dp.request(p.LINK_SET, link.body(a, enabled=0))
        a.dp.wait("disabled", lambda: link.states(a) == [p.NO_SA] * 2)
        b.dp.wait("down", lambda: link.states(b) == [p.DOWN] * 2)
        b.dp.wait("refused", lambda: a.drops().get("esp_no_link", 0) > 0)
        a.dp.request(p.LINK_SET, link.body(a))
        link.wait_up()
        self.assert_pings(a, b)

    def test_new_peer_boot_resets_tunnels(self):
        a, b, link = self.pair(tunnels=2)
        sas = link.sas(1, 9)
        a.dp.request(p.SA_INSTALL, p.sa_install(link.id, id_of("another boot"), 9, p.IN, sas))
        self.assertEqual(link.states(a), [p.NO_SA] * 2)
        events = [p.TUNNEL_EVENT.unpack(x) for k, x in a.dp.poll_events(0.1) if k == p.TUNNEL_STATE]
        self.assertEqual([p.REASONS[e[3]] for e in events[-2:]], ["peer_boot"] * 2)
        self.assertEqual({(s["epoch"], s["direction"]) for s in a.dp.sas()}, {(9, p.IN)})

    def test_dataplane_restart_at_the_peer(self):
        """New process, new keys: traffic is back."""
        a, b, link = self.pair(tunnels=4)
        old = b.dp
        old.process.kill()
        old.close()
        b.dp = Dataplane("b", 2)
        for i, fd in enumerate(b.tun):
            b.dp.request(p.ATTACH_TUN, struct.pack("<HHI", i, 2, 1500), fd)
        for s in b.sockets:
            family = 4 if s.family == socket.AF_INET else 6
            port = s.getsockname()[1]
            b.dp.request(p.ATTACH_UDP, struct.pack("<BBHI", family, port - 4510, port, 0), s.fileno())
        b.dp.request(p.NODE_SET, p.node_set(b.id, b.overlay[4], b.overlay[6], FLOW_SEED, TUNNEL_SEED))
        b.dp.request(p.LINK_SET, link.body(b))
        route_pair(a, b, link)
        link.key()
        link.wait_up()
        self.assert_pings(a, b)


if __name__ == "__main__":
    unittest.main()
