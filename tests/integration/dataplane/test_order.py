"""The packet engine keeps the order of every flow: through merging, splitting, a transit and the hand-off ring."""
import socket
import struct
import threading
import time
import unittest

from driver import Link, route_chain, underlay
from engine_case import EngineTest, inner_mtu

TOPOLOGY = None
FLOWS = 16
SECONDS = 2.0
UDP_SEGMENT = 103
SEGMENT = 1000


class Sender(threading.Thread):
    """Numbered datagrams of many flows, by turns as one super-packet, as one of full size, and as a small one."""

    def __init__(self, test, gateway, address):
        super().__init__(daemon=True)
        self.to = (address, 7000)
        self.sent = [0] * FLOWS
        with gateway.space.inside():
            self.sockets = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(FLOWS)]
        for s in self.sockets:
            s.bind((gateway.address[4], 0))
            test.addCleanup(s.close)

    def datagram(self, flow, size):
        self.sent[flow] += 1
        return struct.pack(">II", flow, self.sent[flow]).ljust(size, b"\0")

    def run(self):
        until = time.monotonic() + SECONDS
        while time.monotonic() < until:
            for flow, s in enumerate(self.sockets):
                burst = b"".join(self.datagram(flow, SEGMENT) for _ in range(20))
                s.sendmsg([burst], [(socket.IPPROTO_UDP, UDP_SEGMENT, struct.pack("=H", SEGMENT))], 0, self.to)
                s.sendto(self.datagram(flow, SEGMENT), self.to)
                s.sendto(self.datagram(flow, 40), self.to)


class Order(EngineTest):
    def chain(self, tunnels, workers=(2, 2, 2)):
        a, t, b = (self.gateway(n, i, workers=w, ports=sum(tunnels), tun_mtu=1500)
                   for (n, i), w in zip((("a", 1), ("t", 3), ("b", 2)), workers))
        underlay([a, t, b], 1500)
        links = [Link(a, t, tunnels=tunnels[0], mtu=inner_mtu(1500)),
                 Link(b, t, tunnels=tunnels[1], offset=tunnels[0], mtu=inner_mtu(1500))]
        route_chain(a, t, b, *links)
        for link in links:
            link.key()
            link.wait_up()
        return a, t, b

    def sink(self, gateway):
        with gateway.space.inside():
            s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.addCleanup(s.close)
        s.setsockopt(socket.SOL_SOCKET, 33, 64 << 20)  # SO_RCVBUFFORCE
        s.settimeout(1)
        s.bind((gateway.address[4], 7000))
        return s

    def numbers(self, a, b):
        """[[number of each datagram as it came] of each flow], and how many were sent."""
        sink, sender = self.sink(b), Sender(self, a, b.address[4])
        sender.start()
        came = [[] for _ in range(FLOWS)]
        try:
            while True:
                flow, number = struct.unpack_from(">II", sink.recv(2000))
                came[flow].append(number)
        except TimeoutError:
            sender.join()
        return came, sender.sent

    def assert_order(self, a, b):
        came, sent = self.numbers(a, b)
        for flow in range(FLOWS):
            late = [(x, y) for x, y in zip(came[flow], came[flow][1:]) if y <= x]
            self.assertEqual(late, [], f"flow {flow}")
            self.assertGreater(len(came[flow]), 100)
            self.assertLessEqual(came[flow][-1], sent[flow])

    def reordered(self, gateway):
        """How often TCP saw a packet come late."""
        lines = [line.split() for line in gateway.space.exec("cat", "/proc/net/netstat").splitlines()]
        of = dict(zip(lines[0], lines[1]))
        return sum(int(of[k]) for k in ("TCPSACKReorder", "TCPTSReorder", "TCPRenoReorder"))

    def test_datagrams_through_a_transit(self):
        a, _, b = self.chain((4, 4))
        self.assert_order(a, b)

    def test_datagrams_through_the_hand_off_ring(self):
        """The far link has one tunnel: half of the flows change the worker at the transit, packed one by one."""
        a, t, b = self.chain((4, 1))
        self.assert_order(a, b)
        self.assertGreater(t.dp.counters.total("handoff_in"), 1000)

    def test_tcp_sees_order(self):
        for tunnels in ((8, 8), (4, 1)):
            with self.subTest(tunnels=tunnels):
                a, _, b = self.chain(tunnels)
                self.assertGreater(self.iperf(a, b, "-P", "32", seconds=2)["sum_received"]["bytes"], 50 << 20)
                # The kernel's own veth pairs cause one now and then.
                self.assertLess(self.reordered(a) + self.reordered(b), 5)
                self.doCleanups()


if __name__ == "__main__":
    unittest.main()
