"""The packet engine against a peer that is scapy."""
import os
import socket
import struct
import unittest

import dp_proto as p
import foreign
from driver import commit, kernel_routes, underlay
from engine_case import EngineTest
from scapy.layers.inet import ICMP, IP, UDP
from scapy.layers.inet6 import ICMPv6EchoRequest, IPv6
from scapy.packet import Raw

TOPOLOGY = None


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

    def test_what_the_kernel_announces_is_no_wrong_source(self):
        """Groups that the gateway's own kernel joins are told to the TUN device too (MLD)."""
        self.connect()
        self.wait_up()
        with self.g.space.inside():
            s = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
            group = socket.inet_pton(socket.AF_INET6, "ff02::4711")
            s.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_JOIN_GROUP,
                         group + struct.pack("@I", socket.if_nametoindex("hawser0")))
        self.addCleanup(s.close)
        self.g.dp.wait("an announcement", lambda: self.g.drops().get("link_scope", 0) > 0)
        self.assertEqual({k: v for k, v in self.g.drops().items() if k in ("inner_source", "no_route")}, {})

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


if __name__ == "__main__":
    unittest.main()
