"""Spoke, transit, spoke: what the packet engine forwards between two links."""
import socket
import time
import unittest

import dp_proto as p
from driver import Link, route_chain, underlay
from engine_case import EngineTest, inner_mtu
from scapy.layers.inet import ICMP, IP, TCP

TOPOLOGY = None


class Transit(EngineTest):
    def chain(self, mtus=(1500, 1500), tunnels=(4, 4), **options):
        a, t, b = (self.gateway(n, i, ports=sum(tunnels), tun_mtu=9000, **options)
                   for n, i in (("a", 1), ("t", 3), ("b", 2)))
        underlay([a, t, b], max(mtus))
        la = Link(a, t, tunnels=tunnels[0], mtu=inner_mtu(mtus[0]))
        lb = Link(b, t, tunnels=tunnels[1], offset=tunnels[0], mtu=inner_mtu(mtus[1]))
        route_chain(a, t, b, la, lb)
        for link in (la, lb):
            link.key()
            link.wait_up()
        return a, t, b, la, lb

    def test_forwards_without_tun(self):
        a, t, b, _, _ = self.chain()
        self.assert_pings(a, b)
        read, writes = t.dp.counters.total("tun_read_bytes"), t.dp.counters.total("tun_writes")
        for family in (4, 6):
            self.assertGreater(self.iperf(a, b, "-P", "8", family=family)["sum_received"]["bytes"], 10 << 20)
        # The kernel itself multicasts a little on every device.
        self.assertLess(t.dp.counters.total("tun_read_bytes") - read, 2000)
        self.assertEqual(t.dp.counters.total("tun_writes"), writes)
        self.assert_pings(a, t)

    def test_hand_off_between_links(self):
        """The far link has its one tunnel on another worker than half of what arrives. One-way traffic, so that
        the kernel does not learn by which queue answers come."""
        a, t, b, _, _ = self.chain(tunnels=(4, 1))
        received = lambda: sum(c["rx_packets"] for c in b.dp.counters.tunnels().values())
        begun, sent = received(), 0
        for family, kind in ((4, socket.AF_INET), (6, socket.AF_INET6)):
            with a.space.inside():
                sockets = [socket.socket(kind, socket.SOCK_DGRAM) for _ in range(40)]
            for s in sockets:
                self.addCleanup(s.close)
                s.bind((a.address[family], 0))
            for _ in range(50):
                for s in sockets:
                    s.sendto(bytes(1200), (b.address[family], 9))
                    sent += 1
                b.dp.wait("packets to arrive", lambda: received() >= begun + sent - 200)
        b.dp.wait("all packets", lambda: received() >= begun + sent)
        self.assertGreater(t.dp.counters.total("handoff_in"), sent // 5)
        self.assertEqual(t.dp.counters.total("handoff_out"), t.dp.counters.total("handoff_in"))

    def test_transit_is_one_hop(self):
        a, t, b, _, _ = self.chain()
        echo = [f for f in [IP(src=a.address[4], dst=b.address[4], ttl=2) / ICMP(id=1, seq=1)]]
        frames = self.capture(b, "hawser0", lambda f: f[9] == 1)
        with a.space.inside():
            s = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW)
        self.addCleanup(s.close)
        s.sendto(bytes(echo[0]), (b.address[4], 0))
        b.dp.wait("echo", lambda: len(frames) >= 1)
        self.assertEqual(IP(frames[0]).ttl, 1)
        answers = self.capture(a, "hawser0", lambda f: f[9] == 1 and f[20] == 11)
        s.sendto(bytes(IP(src=a.address[4], dst=b.address[4], ttl=1) / ICMP(id=1, seq=2)), (b.address[4], 0))
        a.dp.wait("time exceeded", lambda: len(answers) >= 1)
        self.assertEqual(IP(answers[0]).src, t.overlay[4])
        self.assertEqual(t.drops()["ttl"], 1)

    def test_narrow_second_link(self):
        """Too big for the far link: answered by the transit in both families; TCP never notices."""
        a, t, b, la, lb = self.chain(mtus=(9000, 1500))
        for family, overhead in ((4, 28), (6, 48)):
            with self.assertRaisesRegex(RuntimeError, str(lb.mtu)):
                self.ping(a, b, family, 2, "-M", "do", "-s", str(lb.mtu - overhead + 1))
            self.ping(a, b, family, 2, "-M", "do", "-s", str(lb.mtu - overhead))
        self.ping(a, b, 4, 2, "-M", "dont", "-s", "4000")
        syn = lambda flags: lambda f: f[0] >> 4 == 4 and f[9] == 6 and f[33] & 0x12 == flags
        syns, answers = self.capture(b, "hawser0", syn(0x02)), self.capture(a, "hawser0", syn(0x12))
        big = t.drops().get("too_big", 0)
        self.assertGreater(self.iperf(a, b)["sum_received"]["bytes"], 1 << 20)
        for frames in (syns, answers):
            mss = [dict(o for o in IP(f)[TCP].options if len(o) == 2)["MSS"] for f in frames]
            self.assertEqual(set(mss), {lb.mtu - 40}, mss)
        self.assertEqual(t.drops()["too_big"], big)

    def test_too_big_is_answered_across_workers(self):
        """The far link's one tunnel is another worker's for half of the flows: each hears of its packet all the same."""
        a, t, b, _, lb = self.chain(mtus=(9000, 1500), tunnels=(4, 1))
        frames = self.capture(a, "hawser0", lambda f: f[9] == 1 and f[20] == 3 and f[21] == 4)
        ports = set()
        for _ in range(40):
            with a.space.inside():
                s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            self.addCleanup(s.close)
            s.bind((a.address[4], 0))
            s.setsockopt(socket.IPPROTO_IP, 10, 3)  # IP_MTU_DISCOVER, IP_PMTUDISC_PROBE
            s.sendto(bytes(lb.mtu), (b.address[4], 9))
            ports.add(s.getsockname()[1])
        quoted = lambda: {int.from_bytes(f[48:50], "big") for f in frames}
        a.dp.wait("answers for all flows", lambda: quoted() == ports, 5)
        self.assertEqual(t.drops()["too_big"], len(ports))

    def test_garbage_storm_does_not_end_tunnels(self):
        a, t, b, la, _ = self.chain()
        with a.space.inside():
            s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.addCleanup(s.close)
        s.bind((a.underlay[4], 0))
        stop = time.monotonic() + 1.5
        while time.monotonic() < stop:
            for port in range(4510, 4514):
                s.sendto(b"\x00\x00\x99\x99" + bytes(1000), (t.underlay[4], port))
        self.assertGreater(t.drops()["esp_unknown_spi"], 1000)
        self.assertEqual(la.states(t), [p.UP] * 4)
        self.assertEqual([k for k, _ in t.dp.poll_events() if k == p.TUNNEL_STATE and _[18] == p.DOWN], [])


if __name__ == "__main__":
    unittest.main()
