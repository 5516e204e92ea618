"""The packet engine alone: real processes, namespaces and traffic, fixed keys, no agent. Foreign judges are the
kernel's TCP, ping, tcpdump and scapy."""
import json
import mmap
import os
import pathlib
import socket
import struct
import subprocess
import threading
import time
import unittest

import dp_proto as p
import foreign
from driver import (FLOW_SEED, SANDBOX, TUNNEL_SEED, Dataplane, Gateway, Link, Refused, commit, id_of, kernel_routes, key_of,
                    route_chain, route_pair, underlay)
from scapy.layers.inet import ICMP, IP, TCP, UDP
from scapy.layers.inet6 import ICMPv6EchoRequest, IPv6
from scapy.packet import Raw

TOPOLOGY = None
ETH_ALL = 3


def inner_mtu(outer, family=4):
    """Largest inner packet whose ESP in UDP fits: RFC 4303, RFC 4106, RFC 3948."""
    room = outer - (20 if family == 4 else 40) - 8 - 8 - 8 - 16 - 2
    return room - (room + 2) % 4


class EngineTest(unittest.TestCase):
    """Builders that clean up after themselves."""

    def gateway(self, *args, **options):
        g = Gateway(*args, **options)
        self.addCleanup(g.close)
        return g

    def pair(self, mtu=1500, family=4, flags=(), workers=2, **link):
        """Two gateways joined by one link, up and routed."""
        options = {"tun_mtu": mtu, "flags": flags, "workers": workers}
        a, b = self.gateway("a", 1, **options), self.gateway("b", 2, **options)
        underlay([a, b], mtu)
        link.setdefault("mtu", inner_mtu(mtu, family))
        joined = Link(a, b, family=family, **link)
        route_pair(a, b, joined)
        joined.key()
        joined.wait_up()
        return a, b, joined

    def ping(self, a, b, family=4, count=3, *more):
        return a.space.exec("ping", "-n", "-c", str(count), "-i", "0.02", "-W", "2", "-I", a.address[family], *more,
                            b.address[family])

    def assert_pings(self, a, b):
        for family in (4, 6):
            self.assertRegex(self.ping(a, b, family), " 0% packet loss")

    def iperf(self, a, b, *more, family=4, seconds=1):
        server = subprocess.Popen(b.space.command("iperf3", "-s", "-1", "-B", b.address[family]),
                                  stdout=subprocess.DEVNULL)
        self.addCleanup(server.wait)
        self.addCleanup(server.kill)
        b.dp.wait("iperf3 listens", lambda: ":5201" in b.space.exec("ss", "-Hltn"))
        out = a.space.exec("iperf3", "-J", "-c", b.address[family], "-B", a.address[family], "-t", str(seconds),
                           *more)
        return json.loads(out)["end"]

    def capture(self, gateway, interface, want):
        """Frames on an interface for which want(frame) is true, as a growing list."""
        with gateway.space.inside():
            s = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(ETH_ALL))
            s.setsockopt(socket.SOL_SOCKET, 33, 32 << 20)
            s.bind((interface, ETH_ALL))
        found, stop = [], threading.Event()

        def loop():
            s.settimeout(0.05)
            while not stop.is_set():
                try:
                    frame = s.recv(65535)
                except TimeoutError:
                    continue
                if want(frame):
                    found.append(frame)
        thread = threading.Thread(target=loop, daemon=True)
        thread.start()
        self.addCleanup(s.close)
        self.addCleanup(thread.join, 5)
        self.addCleanup(stop.set)
        return found


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
            self.assertIn(" 0% packet loss", self.ping(a, b, family, 2, *more, "-s", str(size - overhead)))
            with self.assertRaisesRegex(RuntimeError, f"mtu[ =]{link.mtu}|{link.mtu}"):
                self.ping(a, b, family, 2, *more, "-s", str(size - overhead + 1))
        self.assertGreaterEqual(a.drops()["too_big"], 2)

    def test_small_underlay_still_carries_1280(self):
        """RFC 8200: by outer fragmentation, and only for packets that may not be refused."""
        a, b, link = self.pair(mtu=1300, tunnels=2)
        self.assertLess(link.mtu, 1280)
        self.assertIn(" 0% packet loss", self.ping(a, b, 6, 3, "-M", "do", "-s", str(1280 - 48)))
        self.assertGreaterEqual(a.dp.counters.total("outer_fragmented"), 3)
        sent = [c for c in a.dp.counters.tunnels().values() if c["tx_packets"]]
        self.assertTrue(all(c["tx_wire_bytes"] > c["tx_inner_bytes"] for c in sent), sent)
        self.assertIn(" 0% packet loss", self.ping(a, b, 4, 3, "-M", "do", "-s", str(link.mtu - 28)))
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


class ForeignPeer(EngineTest):
    """A gateway whose peer is scapy."""

    def setUp(self):
        self.g = self.gateway("a", 1, workers=1, ports=2, tun_mtu=1500)
        self.peer = foreign.ForeignPeer("b", 2)
        self.addCleanup(self.peer.close)
        underlay([self.g, self.peer], 1500)

    def connect(self, **options):
        link = foreign.connect(self.g, self.peer, **options)
        prefixes = [*self.g.site.values(), self.g.overlay[4] + "/32", self.g.overlay[6] + "/128"]
        remote = [*self.peer.site.values(), self.peer.overlay[4] + "/32", self.peer.overlay[6] + "/128"]
        commit(self.g, [link], [(x, 1, 1, []) for x in prefixes] + [(x, 1, 0, [0]) for x in remote],
               [(x, 1, p.ATTACHMENT, p.LOCAL, 0, 0) for x in prefixes] +
               [(x, 1, p.SITE, p.SET, 0, 0) for x in remote], [([0], None)])
        kernel_routes(self.g, remote)
        self.link = link
        return link

    def state(self):
        return self.g.dp.counters.tunnels()[self.link, 0]["state"]

    def wait_up(self):
        self.g.dp.wait("tunnel up", lambda: self.state() == p.UP)

    def echo(self, seq=1, **ip):
        fields = {"src": "10.2.1.1", "dst": self.g.address[4], **ip}
        return IP(**fields) / ICMP(id=77, seq=seq) / Raw(b"x" * 64)

    def replies(self):
        return [x for x in self.peer.received if ICMP in x and x[ICMP].type == 0]

    def drop_rises(self, reason, datagram, **how):
        before = self.g.drops().get(reason, 0)
        self.peer.send(datagram, **how)
        self.g.dp.wait(f"drop {reason}", lambda: self.g.drops().get(reason, 0) == before + 1)

    def test_scapy_is_heard_and_answered(self):
        self.connect()
        self.wait_up()
        for i in range(20):
            self.peer.send(self.peer.seal(self.echo(i)))
        self.peer.send(self.peer.seal(IPv6(src="fd02:0:0:1::1", dst=self.g.address[6]) /
                                      ICMPv6EchoRequest(id=5, seq=9) / Raw(b"y" * 30)))
        self.g.dp.wait("answers", lambda: len(self.replies()) == 20)
        self.assertEqual(sorted(x[ICMP].seq for x in self.replies()), list(range(20)))
        self.g.dp.wait("IPv6 answer", lambda: any(IPv6 in x and x[IPv6].nh == 58 and bytes(x.payload)[0] == 129
                                                  for x in self.peer.received))

    def test_scapy_without_extended_sequence_numbers(self):
        self.peer.esn = False
        self.connect(esn=False)
        self.wait_up()
        self.peer.send(self.peer.seal(self.echo()))
        self.g.dp.wait("answer", lambda: len(self.replies()) == 1)

    def test_our_reflector_answers_a_foreign_sender(self):
        self.connect()
        self.wait_up()
        test = struct.pack(">I", 4711) + os.urandom(8) + b"\x00\x01\x00\x07" + bytes(28) + b"\x80\x01\x00\x08" + bytes(8)
        self.peer.send(self.peer.seal(IP(src=self.peer.overlay[4], dst=self.g.overlay[4], ttl=255) /
                                      UDP(sport=40000, dport=862) / Raw(test)))
        self.g.dp.wait("answer", lambda: any(UDP in x and x[UDP].sport == 862 for x in self.peer.received))
        answer = next(x for x in self.peer.received if UDP in x and x[UDP].sport == 862)
        body = bytes(answer[UDP].payload)
        self.assertEqual((answer[IP].src, answer[IP].dst, answer[UDP].dport), (self.g.overlay[4], self.peer.overlay[4], 40000))
        self.assertEqual(len(body), len(test))
        self.assertEqual(body[24:28], test[:4], "sender's sequence number")
        self.assertEqual(body[28:36], test[4:12], "sender's time stamp")
        self.assertEqual(body[40], 255, "sender's TTL")
        self.assertEqual(body[44:48], b"\x00\x01\x00\x08", "padding is recognised")
        whole = IP(bytes(answer))
        del whole[UDP].chksum
        self.assertEqual(IP(bytes(whole))[UDP].chksum, answer[UDP].chksum)

    def test_what_is_wrong_is_dropped_and_counted(self):
        self.connect()
        self.wait_up()
        good = self.peer.seal(self.echo())
        self.peer.send(good)
        self.g.dp.wait("answer", lambda: len(self.replies()) == 1)
        self.drop_rises("esp_replay", good)
        broken = bytearray(self.peer.seal(self.echo()))
        broken[-1] ^= 1
        self.drop_rises("esp_auth", bytes(broken))
        self.drop_rises("esp_unknown_spi", os.urandom(1) + b"\xff" + os.urandom(98))
        self.drop_rises("esp_short", good[:20])
        self.drop_rises("esp_short", b"")
        self.drop_rises("nat_keepalive", b"\xff")
        self.drop_rises("ike", bytes(4) + os.urandom(60))
        self.drop_rises("esp_dummy", self.peer.seal_text(b"whatever" + b"\x01\x02\x02\x3b"))
        self.drop_rises("esp_padding", self.peer.seal_text(b"whatever" + b"\x01\x07\x02\x04"))
        self.drop_rises("esp_padding", self.peer.seal_text(b"whatever" + b"\x01\x02\x02\x06"))
        self.drop_rises("inner_malformed", self.peer.seal_text(b"\x65hatever" + b"\x01\x02\x02\x04"))
        self.drop_rises("inner_source", self.peer.seal(self.echo(src="10.9.1.1")))
        self.drop_rises("no_route", self.peer.seal(self.echo(dst="10.9.1.1")))
        self.drop_rises("ecn", self.peer.seal(self.echo()), tos=3)
        self.drop_rises("stamp", self.peer.seal(IP(src=self.peer.overlay[4], dst=self.g.overlay[4]) /
                                                UDP(sport=862, dport=49862) / Raw(bytes(44))))
        self.assertEqual(len(self.replies()), 1)
        tunnel = self.g.dp.counters.tunnels()[self.link, 0]
        self.assertEqual((tunnel["replays"], tunnel["auth_failures"]), (1, 1))

    def test_old_sequence_number_left_of_the_window(self):
        """Window of 64 without extended numbers: 937 to 1000 may come, each once, 936 not."""
        self.peer.esn = False
        self.connect(window=64, esn=False, interval_ms=60000)
        self.wait_up()
        text = bytes(self.echo()) + b"\x01\x02\x02\x04"
        for i, seq in enumerate((1000, 937, 999), 1):
            self.peer.send(self.peer.seal_text(text, seq=seq))
            self.g.dp.wait("answer", lambda: len(self.replies()) == i)
        for seq in (936, 1000, 937, 0):
            self.drop_rises("esp_replay", self.peer.seal_text(text, seq=seq))

    def test_number_left_of_the_window_with_extended_numbers(self):
        """RFC 4303 appendix A2.2: it can only be meant as one of the next 2^32, and then its ICV is wrong."""
        self.connect(window=64, interval_ms=60000)
        self.wait_up()
        text = bytes(self.echo()) + b"\x01\x02\x02\x04"
        self.peer.send(self.peer.seal_text(text, seq=1000))
        self.g.dp.wait("answer", lambda: len(self.replies()) == 1)
        self.drop_rises("esp_auth", self.peer.seal_text(text, seq=936))

    def test_congestion_mark_comes_through(self):
        self.connect()
        self.wait_up()
        frames = self.capture(self.g, "hawser0", lambda f: f[9] == 1)
        self.peer.send(self.peer.seal(self.echo(tos=2)), tos=3)
        self.g.dp.wait("marked echo", lambda: any(f[1] & 3 == 3 for f in frames))

    def test_endpoint_follows_only_authentic_packets(self):
        self.connect()
        self.wait_up()
        moved = self.peer.space.udp_socket(4, 4999)
        self.addCleanup(moved.close)
        broken = bytearray(self.peer.seal(self.echo()))
        broken[40] ^= 1
        self.drop_rises("esp_auth", bytes(broken), source=moved)
        self.peer.send(self.peer.seal(self.echo()))
        self.g.dp.wait("answer at the old port", lambda: len(self.replies()) == 1)
        self.peer.send(self.peer.seal(self.echo(7)), source=moved)
        moved.settimeout(5)
        while True:
            packet = self.peer.open(moved.recv(65535))
            if ICMP in packet:
                break
        self.assertEqual(packet[ICMP].seq, 7)
        self.g.dp.wait("event", lambda: any(kind == p.PEER_MOVED for kind, _ in self.g.dp.poll_events()))
        link, remote, tunnel, port = p.MOVED.unpack(next(b for k, b in self.g.dp.events if k == p.PEER_MOVED))
        self.assertEqual((link, p.address_text(remote), tunnel, port), (self.link, self.peer.underlay[4], 0, 4999))

    def test_endpoint_keeps_its_family(self):
        """A link's socket speaks one family: a packet that somebody carried over to the other moves nothing."""
        self.connect()
        self.wait_up()
        other = self.peer.space.udp_socket(6, 4510)
        self.addCleanup(other.close)
        other.sendto(self.peer.seal(self.echo(7)), (self.g.underlay[6], 4510))
        self.g.dp.wait("answer at the old address", lambda: [x[ICMP].seq for x in self.replies()] == [7])
        self.assertEqual(self.g.drops().get("udp_send", 0), 0)

    def test_fixed_endpoint_stays(self):
        self.connect(remote_fixed=1)
        self.wait_up()
        moved = self.peer.space.udp_socket(4, 4999)
        self.addCleanup(moved.close)
        self.peer.send(self.peer.seal(self.echo()), source=moved)
        self.g.dp.wait("answer at the old port", lambda: len(self.replies()) == 1)

    def test_no_data_before_an_answered_probe(self):
        self.peer.answer = False
        self.connect()
        self.g.dp.wait("probes", lambda: self.g.dp.counters.tunnels()[self.link, 0]["probes_sent"] >= 3)
        self.assertEqual(self.state(), p.PROBING)
        self.peer.send(self.peer.seal(self.echo()))
        self.g.dp.wait("drop", lambda: self.g.drops().get("no_tunnel", 0) >= 1)
        self.assertEqual(self.replies(), [])
        self.peer.answer = True
        self.wait_up()
        self.peer.send(self.peer.seal(self.echo()))
        self.g.dp.wait("answer", lambda: len(self.replies()) == 1)

    def test_limits_of_packets(self):
        self.connect(soft_packets=30, hard_packets=60)
        self.wait_up()
        for i in range(70):
            self.peer.send(self.peer.seal(self.echo(i)))
        self.g.dp.wait("expiry", lambda: sum(k == p.SA_EXPIRED for k, _ in self.g.dp.poll_events()) == 2)
        soft = [p.SA_EVENT.unpack(b) for k, b in self.g.dp.events if k == p.SA_SOFT_LIMIT]
        self.assertEqual(sorted(e[4] for e in soft), [p.IN, p.OUT], "once for each SA")
        self.assertEqual(self.g.dp.sas(), [])
        self.assertEqual(self.state(), p.NO_SA)
        self.assertGreater(self.g.drops()["esp_unknown_spi"], 0)

    def test_limit_of_time(self):
        self.connect(hard_seconds=1)
        self.wait_up()
        self.g.dp.wait("expiry", lambda: sum(k == p.SA_EXPIRED for k, _ in self.g.dp.poll_events()) == 2)
        self.assertEqual(self.g.dp.sas(), [])


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
            self.assertIn(" 0% packet loss", self.ping(a, b, family, 2, "-M", "do", "-s", str(lb.mtu - overhead)))
        self.assertIn(" 0% packet loss", self.ping(a, b, 4, 2, "-M", "dont", "-s", "4000"))
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


class Rekey(EngineTest):
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
        self.assertRegex(self.ping(a, b), " 0% packet loss")
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
        self.assertRegex(self.ping(a, b), " 0% packet loss")


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
            self.assertRegex(self.ping(a, b, 4, 1), " 0% packet loss")
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


class Seam(EngineTest):
    def test_dump_shows_everything(self):
        a, b, link = self.pair(tunnels=4)
        dump = a.dp.dump()
        self.assertEqual([struct.unpack("<HHI", x) for x in dump[p.DUMP_TUN]], [(0, 2, 1500), (1, 2, 1500)])
        sockets = {struct.unpack("<BBH4x", x) for x in dump[p.DUMP_UDP]}
        self.assertEqual(sockets, {(f, i, 4510 + i) for f in (4, 6) for i in range(a.ports)})
        self.assertEqual(len(dump[p.DUMP_NODE]), 1)
        self.assertEqual(dump[p.DUMP_NODE][0][:16], a.id)
        self.assertEqual([x[:132] for x in dump[p.DUMP_LINK]], [link.body(a)])
        self.assertEqual(list(dump[p.DUMP_LINK][0][132:136]), [p.UP] * 4)
        self.assertEqual(struct.unpack("<Q", dump[p.DUMP_FIB][0]), (a.generation,))
        sas = a.dp.sas()
        self.assertEqual({(s["tunnel"], s["direction"], s["spi"], s["epoch"], s["peer_boot"], s["active"])
                          for s in sas},
                         {(t, way, link.spi(d, t, 1), 1, b.dp.boot, 1) for t in range(4)
                          for way, d in ((p.OUT, 0), (p.IN, 1))})

    def test_a_new_agent_replaces_the_old_and_traffic_goes_on(self):
        a, b, link = self.pair(tunnels=2)
        before, old = a.dp.dump(), a.dp.connection
        probes = a.dp.counters.tunnels()[link.id, 0]["probes_answered"]
        old.close()
        self.assert_pings(a, b)
        a.dp.connect()
        second = a.dp.connection
        a.dp.connect()
        second.settimeout(5)
        while second.recv(65535):
            pass
        second.close()
        after = a.dp.dump()
        for kind in (p.DUMP_TUN, p.DUMP_UDP, p.DUMP_NODE, p.DUMP_LINK, p.DUMP_FIB):
            self.assertEqual(after[kind], before[kind])
        a.dp.wait("probes go on", lambda: a.dp.counters.tunnels()[link.id, 0]["probes_answered"] > probes + 2)
        self.assertEqual(link.states(a), [p.UP] * 2)

    def test_only_the_agents_user_may_connect(self):
        dp = Dataplane("x", 1)
        self.addCleanup(dp.close)
        os.chmod(dp.socket_path, 0o777)
        os.chmod(dp.folder, 0o755)
        code = ("import socket,sys; s=socket.socket(socket.AF_UNIX,socket.SOCK_SEQPACKET); s.settimeout(5)\n"
                f"s.connect({str(dp.socket_path)!r}); sys.exit(0 if s.recv(100)==b'' else 1)")
        subprocess.run(["setpriv", "--reuid=12345", "--clear-groups", "/usr/bin/python3", "-c", code], check=True,
                       timeout=20)
        self.assertEqual(dp.dump().keys(), {p.DUMP_FIB})

    def test_malformed_messages_are_answered_and_change_nothing(self):
        dp = Dataplane("x", 1)
        self.addCleanup(dp.close)
        before = dp.dump()
        for kind, body in ((p.LINK_SET, bytes(132)), (p.LINK_SET, bytes(5)), (p.SA_INSTALL, bytes(88)), (77, b""),
                           (p.HELLO, bytes(80)), (p.NODE_SET, bytes(72))):
            with self.assertRaises(Refused):
                dp.request(kind, body)
        with open("/dev/null", "rb") as f:
            for body in (bytes(8), struct.pack("<HHI", 0, 1, 1500)):
                with self.assertRaises(Refused):
                    dp.request(p.ATTACH_TUN, body, f.fileno())
            with self.assertRaises(Refused):
                dp.request(p.ATTACH_UDP, struct.pack("<BBHI", 4, 0, 4510, 0), f.fileno())
            with self.assertRaises(Refused):
                dp.request(p.FIB_COMMIT, struct.pack("<QQ", 1, 40), f.fileno())
        self.assertEqual(dp.dump(), before)

    def test_the_counters_cannot_be_written_by_the_agent(self):
        dp = Dataplane("x", 1)
        self.addCleanup(dp.close)
        with self.assertRaises(PermissionError):
            mmap.mmap(dp.counters_fd, 4096, mmap.MAP_SHARED, mmap.PROT_READ | mmap.PROT_WRITE)
        with self.assertRaises(OSError):
            os.write(dp.counters_fd, b"x")
        with self.assertRaises(PermissionError):
            with open(f"/proc/self/fd/{dp.counters_fd}", "r+b") as f:
                f.write(b"x")
                f.flush()
                mmap.mmap(f.fileno(), 4096)

    @unittest.skipUnless(SANDBOX, "a sanitizer's build runs without sandbox")
    def test_it_gave_up_its_rights(self):
        dp = Dataplane("x", 2)
        self.addCleanup(dp.close)
        tasks = os.listdir(f"/proc/{dp.process.pid}/task")
        self.assertEqual(len(tasks), 3)
        for task in tasks:
            with open(f"/proc/{dp.process.pid}/task/{task}/status") as f:
                status = dict(line.rstrip("\n").split(":\t", 1) for line in f if ":\t" in line)
            self.assertEqual(status["NoNewPrivs"], "1")
            self.assertEqual(status["Seccomp"], "2")
            for kind in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"):
                self.assertEqual(int(status[kind], 16), 0, kind)
        self.assertEqual(dp.hello["features"] & 24, 24)

    def test_each_worker_has_its_core_and_name(self):
        cores = sorted(os.sched_getaffinity(0))
        for _ in range(5):
            dp = Dataplane("x", len(cores))
            tasks = {t: pathlib.Path(f"/proc/{dp.process.pid}/task/{t}/comm").read_text().strip()
                     for t in os.listdir(f"/proc/{dp.process.pid}/task")}
            of = {name: os.sched_getaffinity(int(t)) for t, name in tasks.items()}
            dp.close()
            for i, core in enumerate(cores):
                self.assertEqual(of[f"worker-{i}"], {core})

    @unittest.skipUnless(SANDBOX, "a sanitizer's build runs without sandbox")
    def test_it_refuses_to_run_as_root_with_its_sandbox(self):
        with self.assertRaisesRegex(RuntimeError, "runs as root"):
            Dataplane("x", 1, uid=0)

    def test_quiesce_ends_it(self):
        dp = Dataplane("x", 2)
        self.addCleanup(dp.close)
        dp.send(p.QUIESCE)
        self.assertEqual(dp.process.wait(10), 0)

    def test_a_lost_tun_is_missing_in_the_dump_and_can_be_replaced(self):
        a, b, _ = self.pair(tunnels=2)
        for fd in a.tun:
            os.close(fd)
        a.space.ip("link", "del", "hawser0")
        a.dp.wait("queues gone", lambda: p.DUMP_TUN not in a.dp.dump())
        busy = a.dp.counters.total("heartbeat")
        time.sleep(0.3)
        self.assertLess(a.dp.counters.total("heartbeat") - busy, 100, "turns without cause")
        a.tun = a.space.open_tun("hawser0", 2, 1500)
        for i, fd in enumerate(a.tun):
            a.dp.request(p.ATTACH_TUN, struct.pack("<HHI", i, 2, 1500), fd)
        kernel_routes(a, [*b.site.values()])
        self.assert_pings(a, b)

    def test_root_without_sandbox_for_tests(self):
        dp = Dataplane("x", 1, uid=0, sandbox=False)
        self.addCleanup(dp.close)
        self.assertEqual(dp.hello["features"] & 24, 0)

    def test_idle_costs_little(self):
        a, _, _ = self.pair(tunnels=8, interval_ms=1000)

        def used():
            with open(f"/proc/{a.dp.process.pid}/stat") as f:
                fields = f.read().rsplit(")", 1)[1].split()
            return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
        before, turns = used(), a.dp.counters.total("heartbeat")
        time.sleep(2)
        self.assertLess(used() - before, 0.05)
        self.assertLess(a.dp.counters.total("heartbeat") - turns, 400)

    def test_link_changes_leave_other_tunnels_alone(self):
        a, b, link = self.pair(tunnels=2)
        since = [t["state_mono_ns"] for t in a.dp.counters.tunnels().values()]
        a.dp.request(p.LINK_SET, link.body(a, tunnels=3, mtu=1400, interval_ms=200))
        a.dp.request(p.LINK_SET, link.body(a, tunnels=2, mtu=1400))
        self.assertEqual([t["state_mono_ns"] for t in a.dp.counters.tunnels().values()], since)
        self.assert_pings(a, b)
        a.dp.request(p.LINK_REMOVE, link.id)
        self.assertEqual(a.dp.counters.tunnels(), {})
        self.assertNotIn(p.DUMP_SA, a.dp.dump())


if __name__ == "__main__":
    unittest.main()
