"""Keys follow one another every ten seconds under traffic, and not one packet is lost by it."""
import json
import subprocess
import sys
import unittest

import labs
import measure
from expect import wait_for

TOPOLOGY = "pair"
OPTIONS = {"agent_settings": {"rekey_seconds": 10, "rekey_hard_seconds": 60}}

SECONDS = 24
PORT = 9100
# Prints how many distinct datagrams came, once told to by a line on stdin.
RECEIVER = r"""
import select, socket, sys
sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 22)
sock.bind((sys.argv[1], int(sys.argv[2])))
print("ready", flush=True)
seen = set()
while True:
    ready, _, _ = select.select([sock, sys.stdin], [], [])
    if sock in ready:
        seen.add(sock.recv(2048)[:8])
    elif sys.stdin in ready:
        print(len(seen), flush=True)
        break
"""
# Numbered datagrams of many flows, so that every tunnel carries some; prints how many left.
SENDER = r"""
import socket, sys, time
socks = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(64)]
end = time.monotonic() + float(sys.argv[3])
sent = 0
while time.monotonic() < end:
    for sock in socks:
        sock.sendto(sent.to_bytes(8, "big") + bytes(500), (sys.argv[1], int(sys.argv[2])))
        sent += 1
    time.sleep(0.02)
print(sent)
"""


class Rekey(unittest.TestCase):
    def setUp(self):
        self.lab = labs.current()

    def epochs(self):
        return {name: self.lab.status(name)["links"][0]["epoch"] for name in self.lab.gateways}

    def drops(self):
        """Of what keys could cause: no SA for a packet, or a packet that no SA takes."""
        return {name: {why: n for why, n in self.lab.status(name)["drops"].items() if why.startswith(("esp_", "no_"))}
                for name in self.lab.gateways}

    def test_no_packet_is_lost(self):
        near, far = measure.ends(self.lab)
        address = measure.addresses(self.lab)[0]
        receiver = self.lab.popen(far, sys.executable, "-c", RECEIVER, address, str(PORT), stdin=subprocess.PIPE,
                                  stdout=subprocess.PIPE, text=True)
        self.addCleanup(receiver.kill)
        receiver.stdout.readline()
        before, dropped = self.epochs(), self.drops()
        sender = self.lab.popen(near, sys.executable, "-c", SENDER, address, str(PORT), str(SECONDS),
                                stdout=subprocess.PIPE, text=True)
        self.addCleanup(sender.kill)
        sent = int(sender.communicate(timeout=SECONDS + 20)[0])
        received = int(receiver.communicate("\n", timeout=10)[0])
        after = self.epochs()
        self.assertGreaterEqual(min(after[n] - before[n] for n in after), 2, json.dumps([before, after]))
        self.assertEqual(received, sent, json.dumps([dropped, self.drops()]))
        self.assertEqual(self.drops(), dropped)

    def test_ends_agree(self):
        """Both ends soon name the same epoch, whichever of them began it."""
        wait_for("one epoch", lambda: len(set(self.epochs().values())) == 1, 5)
        for name in self.lab.gateways:
            link = self.lab.status(name)["links"][0]
            self.assertEqual(link["keying"]["failures"], 0)
            self.assertEqual(link["suite"], "aes-256-gcm")
