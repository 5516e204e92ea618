"""Garbage to every port: nobody crashes, and what was thrown away is counted."""
import contextlib
import random
import socket
import ssl
import unittest

import labs
import netns
from expect import wait_for
from traffic import reaches

TOPOLOGY = "chain"
OPTIONS = {"agent_settings": {"confirm_timeout_seconds": 5}}


class Garbage(unittest.TestCase):
    def setUp(self):
        self.lab = labs.current()
        self.random = random.Random(4510)
        self.pids = self.all_pids()

    def all_pids(self):
        return [self.lab.pid("controller", "controller")] + [
            self.lab.pid(g, p) for g in self.lab.gateways for p in ("agent", "dataplane")]

    def tearDown(self):
        """The same processes go on, and traffic does."""
        self.assertEqual(self.all_pids(), self.pids)
        for name in self.lab.gateways:
            self.assertIsNotNone(self.lab.status(name))
        self.assertTrue(reaches(self.lab))

    def bytes(self, longest):
        return self.random.randbytes(self.random.randint(0, longest))

    def drops(self, name):
        return self.lab.status(name)["drops"]

    def open_ports(self, name):
        """Only what the links use is open; the kernel refuses the rest."""
        return {t["port"] for k in self.lab.status(name)["links"] for t in k["tunnels"]}

    def test_udp(self):
        """Every port and length, from a peer's address and from a stranger's; zero SPIs and short ones too."""
        before = {n: self.drops(n) for n in self.lab.gateways}
        for source in ("gw-a1", "controller"):
            for target in self.lab.gateways:
                if source == target:
                    continue
                self.spray(source, self.lab.node(target).underlay)
        for name in ("gw-t1", "gw-b1"):
            wait_for(f"drops to be counted on {name}", lambda n=name: sum(self.drops(n).values())
                     >= sum(before[n].values()) + 10 * len(self.open_ports(n)), 10)
            counted = {k for k, v in self.drops(name).items() if v > before[name].get(k, 0)}
            self.assertIn("esp_unknown_spi", counted)
            self.assertIn("esp_short", counted)

    def spray(self, source, addresses):
        own = self.lab.node(source).underlay
        for address in addresses:
            with netns.new_socket("hw-" + source, address, socket.SOCK_DGRAM, own[":" in address]) as sock:
                for port in range(4510, 4560):
                    for data in (self.bytes(1400), b"\xff", b"", bytes(4) + self.bytes(60), b"\x12\x34\x56\x78" * 9,
                                 bytes(3)):
                        with contextlib.suppress(OSError):
                            sock.sendto(data, (address, port))

    def targets(self):
        controller = self.lab.node("controller").underlay
        yield from ((a, p) for a in controller for p in (8443, 8444))
        yield from ((a, 4510) for n in ("gw-t1", "gw-b1") for a in self.lab.node(n).underlay)

    def connect(self, address):
        """From gw-a1's underlay address, which is a peer's to gw-t1 and a stranger's to gw-b1."""
        return netns.connect("hw-gw-a1", address, 2, self.lab.node("gw-a1").underlay[":" in address[0]])

    def test_tcp(self):
        """Plain garbage, half a TLS record, an HTTP request without TLS, and a hang-up."""
        for address in self.targets():
            for data in (self.bytes(5000), b"\x16\x03\x01\x02\x00" + self.bytes(80), b"GET / HTTP/1.1\r\n\r\n", b""):
                with contextlib.suppress(OSError), self.connect(address) as sock:
                    sock.sendall(data)
                    sock.shutdown(socket.SHUT_WR)
                    while sock.recv(4096):
                        pass

    def test_garbage_inside_tls(self):
        context = ssl._create_unverified_context()
        for port in (8443, 8444):
            for _ in range(10):
                with contextlib.suppress(OSError):
                    sock = self.connect((self.lab.node("controller").underlay[0], port))
                    with sock, context.wrap_socket(sock) as tls:
                        tls.sendall(self.bytes(3000) + b"\r\n\r\n")
                        tls.recv(4096)

    def test_many_idle_connections_do_not_lock_out_a_peer(self):
        """A stranger may not reach the keying port at all; a peer's address only so often without a certificate."""
        held = []
        try:
            for _ in range(64):
                with contextlib.suppress(OSError):
                    held.append(self.connect((self.lab.node("gw-t1").underlay[0], 4510)))
            self.lab.kill("gw-b1", "dataplane")
            self.pids = None
            self.lab.wait_links(40)
        finally:
            for sock in held:
                sock.close()
        self.pids = self.all_pids()

    def test_dataplane_socket_serves_one_user(self):
        """Another uid is refused, and the agent's connection lives on."""
        script = ("import socket;s=socket.socket(socket.AF_UNIX,socket.SOCK_SEQPACKET);"
                  "s.connect('/run/hawser/dataplane.sock');s.settimeout(3);print(len(s.recv(4096)))")
        out = self.lab.exec("gw-t1", "setpriv", "--reuid=18451", "--regid=18450", "--clear-groups",
                            "/usr/bin/python3", "-c", script, check=False)
        self.assertIn(out.strip(), ("", "0"))
        self.assertTrue(self.lab.status("gw-t1")["dataplane"]["connected"])
