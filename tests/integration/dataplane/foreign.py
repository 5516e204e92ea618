"""An ESP peer that nobody here wrote: scapy's IPsec layer, with a STAMP end of its own on ordinary sockets."""
import logging
import os
import select
import struct
import threading

logging.getLogger("scapy").setLevel(logging.ERROR)
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from scapy.layers.inet import IP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.ipsec import ESP, SecurityAssociation
from scapy.packet import Raw

import dp_proto as p
from driver import id_of
from netspace import Namespace

STAMP_PORT = 862


class ForeignPeer:
    """Number N has the addresses of a Gateway of that number. One tunnel, on the first port."""

    def __init__(self, name, number, esn=True):
        self.name, self.number = name, number
        self.id, self.boot = id_of("gateway", name), id_of("boot", name)
        self.underlay = {4: f"192.0.2.{number}", 6: f"2001:db8::{number}"}
        self.overlay = {4: f"100.127.0.{number}", 6: f"fd00:6877::{number}"}
        self.site = {4: f"10.{number}.0.0/16", 6: f"fd0{number}::/48"}
        self.space = Namespace(name)
        self.esn = esn
        self.received = []       # inner packets that were not STAMP
        self.reflected = 0
        self.answer = True       # reflect STAMP
        self.running = True
        self.lock = threading.Lock()

    def start(self, gateway, link, in_key, out_key, in_spi, out_spi, family=4):
        """Keys as the gateway has them: (32 bytes, salt). in: from the gateway."""
        self.peer = (gateway.underlay[family], 4510)
        self.family = family
        self.out_spi, self.out_key = out_spi, out_key
        self.seq = 1
        self.inbound = self.association(in_spi, in_key)
        self.outbound = self.association(out_spi, out_key)
        self.socket = self.space.udp_socket(family, 4510)
        self.thread = threading.Thread(target=self.loop, daemon=True)
        self.thread.start()

    def association(self, spi, key):
        head = IP(src="192.0.2.1", dst="192.0.2.2") if self.family == 4 else IPv6(src="::1", dst="::2")
        more = {"esn_en": True, "esn": 0} if self.esn else {}
        return SecurityAssociation(ESP, spi=spi, crypt_algo="AES-GCM", crypt_key=key[0] + key[1],
                                   tunnel_header=head, nat_t_header=UDP(sport=4500, dport=4500), **more)

    def close(self):
        self.running = False
        if hasattr(self, "thread"):
            self.thread.join(5)
            self.socket.close()
        self.space.close()

    def seal(self, packet):
        """An inner packet as the payload of a datagram, by scapy."""
        with self.lock:
            seq, self.seq = self.seq, self.seq + 1
        return bytes(self.outbound.encrypt(packet, seq_num=seq)[UDP].payload)

    def seal_text(self, text, seq=None):
        """Any text with its trailer, by the cryptography library: for packets that scapy would not make."""
        if seq is None:
            with self.lock:
                seq, self.seq = self.seq, self.seq + 1
        iv = struct.pack(">Q", seq)
        aad = struct.pack(">II", self.out_spi, 0) + iv[4:] if self.esn else struct.pack(">I", self.out_spi) + iv[4:]
        return struct.pack(">I", self.out_spi) + iv[4:] + iv + AESGCM(self.out_key[0]).encrypt(
            self.out_key[1] + iv, text, aad)

    def send(self, datagram, tos=0, source=None):
        s = source or self.socket
        if self.family == 4:
            s.setsockopt(0, 1, tos)
        s.sendto(datagram, self.peer)

    def open(self, datagram):
        return open_esp(self.inbound, datagram)

    def loop(self):
        while self.running:
            if not select.select([self.socket], [], [], 0.05)[0]:
                continue
            datagram, source = self.socket.recvfrom(65535)
            packet = self.open(datagram)
            if UDP in packet and packet[UDP].dport == STAMP_PORT:
                if self.answer:
                    self.send(self.seal(reflect(packet)))
                    self.reflected += 1
            else:
                self.received.append(packet)


def open_esp(association, datagram):
    """The inner packet out of a datagram's payload; raises when anything about it is wrong."""
    head = IP(src="192.0.2.1", dst="192.0.2.2")
    return association.decrypt(IP(bytes(head / UDP(sport=4500, dport=4500) / ESP(datagram))))


def reflect(packet):
    """A session reflector by RFC 8762 section 4.3, unauthenticated and stateless."""
    layer = IP if IP in packet else IPv6
    head, test = packet[layer], bytes(packet[UDP].payload)
    ttl = head.ttl if layer is IP else head.hlim
    now = os.urandom(8)  # no clock is compared, so any will do
    answer = test[:4] + now + test[12:14] + test[14:16] + now + test[:4] + test[4:12] + test[12:14] + bytes(2)
    answer += bytes([ttl, 0, 0, 0]) + test[44:]
    back = UDP(sport=STAMP_PORT, dport=packet[UDP].sport) / Raw(answer)
    return (IP(src=head.dst, dst=head.src, ttl=255) if layer is IP else
            IPv6(src=head.dst, dst=head.src, hlim=255)) / back


def connect(gateway, peer, tunnel_mtu=1438, family=4, esn=True, remote_fixed=0, interval_ms=100, **limits):
    """A link between a Gateway and a ForeignPeer, keyed; returns the link's id. FIB: the peer's site behind it."""
    link = id_of("link", gateway.name, peer.name)
    keys = [(bytes([40 + i]) * 32, bytes([50 + i]) * 4) for i in range(2)]
    spis = [0x2000 + i for i in range(2)]
    gateway.dp.request(p.LINK_SET, p.link_set(
        link, peer.id, gateway.underlay[family], peer.underlay[family], peer.overlay[4], peer.overlay[6],
        mtu=tunnel_mtu, remote_fixed=remote_fixed, interval_ms=interval_ms))
    peer.start(gateway, link, keys[0], keys[1], spis[0], spis[1], family)
    for way, i in ((p.IN, 1), (p.OUT, 0)):
        gateway.dp.request(p.SA_INSTALL, p.sa_install(link, peer.boot, 1, way, [(0, spis[i], *keys[i])], esn=int(esn),
                                                      **limits))
    gateway.dp.request(p.SA_SWITCH, struct.pack("<16sQ", link, 1))
    return link
