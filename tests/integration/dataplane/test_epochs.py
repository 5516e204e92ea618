"""From one epoch of keys to the next in the packet engine."""
import socket
import struct
import threading
import time
import unittest

import dp_proto as p
from driver import Refused, id_of
from engine_case import EngineTest

TOPOLOGY = None


class Epochs(EngineTest):
    def test_new_epochs_under_traffic_lose_nothing(self):
        a, b, link = self.pair(tunnels=4)
        # Long enough for a worker that waits for the processor of a busy machine.
        a.space.ip("link", "set", "hawser0", "txqueuelen", "20000")
        with b.space.inside():
            sink = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        sink.setsockopt(socket.SOL_SOCKET, 33, 64 << 20)
        sink.bind((b.address[4], 7000))
        with a.space.inside():
            sources = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(8)]
        for i, s in enumerate(sources):
            s.bind((a.address[4], 7100 + i))
            self.addCleanup(s.close)
        self.addCleanup(sink.close)
        sent, stop = [0] * len(sources), threading.Event()

        def send():
            while not stop.is_set():
                for i, s in enumerate(sources):
                    s.sendto(struct.pack(">II", i, sent[i]) + bytes(600), (b.address[4], 7000))
                    sent[i] += 1
                time.sleep(0.0005)
        thread = threading.Thread(target=send)
        thread.start()
        try:
            for _ in range(6):
                old = link.key()
                until = time.monotonic() + 0.15
                while time.monotonic() < until:
                    a.dp.poll_events(0.01)
                link.retire(old - 1)
        finally:
            stop.set()
            thread.join()
        sink.settimeout(1)
        seen = [[] for _ in sources]
        try:
            while sum(map(len, seen)) < sum(sent):
                flow, n = struct.unpack(">II", sink.recv(2000)[:8])
                seen[flow].append(n)
        except TimeoutError:
            pass
        self.assertGreater(min(sent), 300)
        for flow, count in enumerate(sent):
            self.assertEqual(seen[flow], list(range(count)), f"flow {flow}: all, in order")
        self.assertEqual({s["epoch"] for s in a.dp.sas()}, {link.epoch})
        first = [p.SA_EVENT.unpack(body)[1] for kind, body in b.dp.poll_events() if kind == p.SA_FIRST_RX]
        self.assertLessEqual({1, 2, 3, 4, 5, 6, 7}, set(first))
        self.assertEqual([k for k, x in b.dp.events if k == p.TUNNEL_STATE and x[18] == p.DOWN], [])

    def test_responder_switches_by_the_first_packet(self):
        a, b, link = self.pair(tunnels=1)
        epoch = link.epoch + 1
        for gateway, way in ((b, p.IN), (b, p.OUT), (a, p.IN), (a, p.OUT)):
            link.install(gateway, way, epoch)
        outbound = lambda g: {s["epoch"]: s["active"] for s in g.dp.sas() if s["direction"] == p.OUT}
        self.assertEqual(outbound(b), {epoch - 1: 1, epoch: 0})
        a.dp.request(p.SA_SWITCH, struct.pack("<16sQ", link.id, epoch))
        self.assertEqual(outbound(a), {epoch: 1})
        self.ping(a, b)
        b.dp.wait("switch", lambda: outbound(b) == {epoch: 1})

    def test_at_most_three_inbound_epochs(self):
        a, b, link = self.pair(tunnels=1)
        for epoch in range(2, 6):
            link.install(a, p.IN, epoch)
        self.assertEqual(sorted(s["epoch"] for s in a.dp.sas() if s["direction"] == p.IN), [3, 4, 5])

    def test_what_does_not_fit_is_refused(self):
        a, b, link = self.pair(tunnels=1)
        with self.assertRaises(Refused):
            link.install(a, p.IN, link.epoch)
        with self.assertRaises(Refused):
            a.dp.request(p.SA_SWITCH, struct.pack("<16sQ", link.id, 99))
        taken = link.sas(1, link.epoch)[0][1]
        with self.assertRaisesRegex(Refused, "in use"):
            a.dp.request(p.SA_INSTALL, p.sa_install(link.id, b.dp.boot, 9, p.IN, [(0, taken, bytes(32), bytes(4))]))
        with self.assertRaises(Refused):
            a.dp.request(p.SA_INSTALL, p.sa_install(id_of("no"), b.dp.boot, 9, p.IN, [(0, 999, bytes(32), bytes(4))]))
        self.ping(a, b)


if __name__ == "__main__":
    unittest.main()
