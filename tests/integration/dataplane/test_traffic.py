"""Between two gateways of the packet engine: both families, every plain path, sizes, and what is on the wire."""
import socket
import unittest

import dp_proto as p
import foreign
from driver import key_of
from engine_case import EngineTest
from scapy.layers.inet import IP, UDP

TOPOLOGY = None


class Traffic(EngineTest):
    def test_both_families_over_ipv4(self):
        a, b, _ = self.pair()
        self.assert_pings(a, b)

    def test_both_families_over_ipv6(self):
        a, b, _ = self.pair(family=6)
        self.assert_pings(a, b)
        self.assertGreater(self.iperf(a, b)["sum_received"]["bytes"], 1 << 20)

    def test_tcp_and_udp_at_both_mtus(self):
        for mtu in (1500, 9000):
            with self.subTest(mtu=mtu):
                a, b, link = self.pair(mtu=mtu)
                for family in (4, 6):
                    end = self.iperf(a, b, "-P", "4", family=family)
                    self.assertGreater(end["sum_received"]["bytes"], 10 << 20)
                udp = self.iperf(a, b, "-u", "-b", "50M", "-l", "1200")["sum"]
                self.assertLess(udp["lost_percent"], 5.0)
                self.assertGreater(udp["packets"], 1000)
                carried = [t["tx_packets"] for t in a.dp.counters.tunnels().values()]
                self.assertGreater(sum(carried), 1000)
                segments = a.dp.counters.total("segments_out")
                self.assertGreater(segments / a.dp.counters.total("udp_writes"), 2, "datagrams a send")
                self.doCleanups()

    def test_plain_paths(self):
        """Without any offload the same packets cross."""
        a, b, _ = self.pair(flags=("--without", "udp_gso,udp_gro,tun_offload"))
        self.assertEqual(a.dp.hello["features"] & 7, 0)
        self.assert_pings(a, b)
        for family in (4, 6):
            self.assertGreater(self.iperf(a, b, "-P", "2", family=family)["sum_received"]["bytes"], 1 << 20)

    def test_other_provider_suite_and_sequence_numbers(self):
        a, b, _ = self.pair(flags=("--provider", "libcrypto"), suite=p.AES_128_GCM, esn=0)
        self.assertEqual(a.dp.hello["provider"], 2)
        self.assert_pings(a, b)
        self.assertGreater(self.iperf(a, b)["sum_received"]["bytes"], 1 << 20)

    def test_every_tunnel_carries_data(self):
        a, b, link = self.pair(tunnels=8)
        self.iperf(a, b, "-P", "64")
        for gateway in (a, b):
            carried = {t: c["tx_packets"] for (_, t), c in gateway.dp.counters.tunnels().items()}
            self.assertEqual([t for t in range(8) if carried[t] == 0], [], carried)

    def test_hand_off_when_the_reader_owns_no_tunnel(self):
        """One tunnel, two workers: what the other worker reads from TUN travels by the ring."""
        a, b, _ = self.pair(tunnels=1)
        self.iperf(a, b, "-P", "16")
        self.assertGreater(a.dp.counters.total("handoff_out"), 0)
        self.assertEqual(a.dp.counters.total("handoff_out"), a.dp.counters.total("handoff_in"))
        self.assert_pings(a, b)

    def test_marks_are_copied_out(self):
        a, b, _ = self.pair()
        frames = self.capture(b, "u-a", lambda f: f[9] == 17 and f[1] == 0xb8)
        self.ping(a, b, 4, 3, "-Q", "0xb8")
        b.dp.wait("marked datagrams", lambda: len(frames) >= 3)

    def test_more_than_fits_is_answered(self):
        a, b, link = self.pair(mtu=1500, tunnels=2)
        for family, size, overhead in ((4, link.mtu, 28), (6, link.mtu, 48)):
            more = ["-M", "do"]
            self.ping(a, b, family, 2, *more, "-s", str(size - overhead))
            with self.assertRaisesRegex(RuntimeError, f"mtu[ =]{link.mtu}|{link.mtu}"):
                self.ping(a, b, family, 2, *more, "-s", str(size - overhead + 1))
        self.assertGreaterEqual(a.drops()["too_big"], 2)

    def test_small_underlay_still_carries_1280(self):
        """RFC 8200: by outer fragmentation, and only for packets that may not be refused."""
        a, b, link = self.pair(mtu=1300, tunnels=2)
        self.assertLess(link.mtu, 1280)
        self.ping(a, b, 6, 3, "-M", "do", "-s", str(1280 - 48))
        self.assertGreaterEqual(a.dp.counters.total("outer_fragmented"), 3)
        sent = [c for c in a.dp.counters.tunnels().values() if c["tx_packets"]]
        self.assertTrue(all(c["tx_wire_bytes"] > c["tx_inner_bytes"] for c in sent), sent)
        self.ping(a, b, 4, 3, "-M", "do", "-s", str(link.mtu - 28))
        # By a socket: with a checksum that is still to be completed, alone and five at once.
        with a.space.inside():
            source = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
        with b.space.inside():
            sink = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
        self.addCleanup(source.close)
        self.addCleanup(sink.close)
        source.bind((a.address[6], 7000))
        sink.bind((b.address[6], 7000))
        sink.settimeout(5)
        payload = bytes(range(256)) * 4 + bytes(208)
        source.sendto(payload, (b.address[6], 7000))
        source.setsockopt(17, 103, len(payload))  # UDP_SEGMENT
        source.sendto(payload * 5, (b.address[6], 7000))
        for _ in range(6):
            self.assertEqual(sink.recv(2000), payload)
        self.assertGreater(self.iperf(a, b, family=6)["sum_received"]["bytes"], 1 << 20)


class Wire(EngineTest):
    def test_captured_packets_open_with_scapy(self):
        a, b, link = self.pair()
        a.space.exec("ethtool", "-K", "u-b", "tx-udp-segmentation", "off")
        pattern = b"known plaintext of this very test " * 8
        frames = self.capture(b, "u-a", lambda f: f[9] == 17 and f[20:22] >= b"\x11\x9e")
        with a.space.inside():
            s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        s.bind((a.address[4], 7000))
        for _ in range(5):
            s.sendto(pattern, (b.address[4], 7000))
        s.close()
        b.dp.wait("packets", lambda: sum(t["rx_packets"] for t in b.dp.counters.tunnels().values()) >= 5)
        b.dp.wait("their capture", lambda: sum(len(f) > len(pattern) for f in frames) >= 5)
        opened, plain = 0, b"".join(frames)
        self.assertNotIn(b"known plaintext", plain)
        for frame in frames:
            datagram = bytes(IP(frame)[UDP].payload)
            spi = int.from_bytes(datagram[:4], "big")
            for tunnel in range(link.tunnels):
                if spi == link.spi(0, tunnel, link.epoch):
                    peer = foreign.ForeignPeer.__new__(foreign.ForeignPeer)
                    peer.family, peer.esn = 4, True
                    association = peer.association(spi, key_of(link, 0, tunnel, link.epoch, link.suite))
                    packet = foreign.open_esp(association, datagram)
                    if UDP in packet and packet[UDP].dport == 7000:
                        self.assertEqual(bytes(packet[UDP].payload), pattern)
                        self.assertEqual((packet.src, packet.dst), (a.address[4], b.address[4]))
                        opened += 1
        self.assertEqual(opened, 5)


if __name__ == "__main__":
    unittest.main()
