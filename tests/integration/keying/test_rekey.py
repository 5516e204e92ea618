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
    time.sleep(float(sys.argv[4]))
print(sent)
"""
# Where a node loses packets because somebody was too slow to take them: full device queues and socket buffers.
OVERFLOWS = r"""
import json
found = {}
for line in open("/proc/net/dev").readlines()[2:]:
    device, _, numbers = line.partition(":")
    numbers = numbers.split()
    found[device.strip() + " rx"], found[device.strip() + " tx"] = int(numbers[3]), int(numbers[11])
with open("/proc/net/snmp") as f:
    names, values = [line.split() for line in f if line.startswith("Udp:")]
for name, value in list(zip(names, values)) + [line.split() for line in open("/proc/net/snmp6")]:
    if name.endswith(("RcvbufErrors", "SndbufErrors")):
        found[name] = int(value)
print(json.dumps(found))
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

    def overflows(self):
        nodes = [*self.lab.gateways, *measure.ends(self.lab)]
        return {(node, where): n for node in nodes
                for where, n in json.loads(self.lab.exec(node, sys.executable, "-c", OVERFLOWS)).items()}

    def carry(self, pause):
        """Sends for a while, with a pause between the bursts. Returns packets sent, received, and what overflowed."""
        near, far = measure.ends(self.lab)
        address = measure.addresses(self.lab)[0]
        receiver = self.lab.popen(far, sys.executable, "-c", RECEIVER, address, str(PORT), stdin=subprocess.PIPE,
                                  stdout=subprocess.PIPE, text=True)
        self.addCleanup(receiver.kill)
        receiver.stdout.readline()
        before, dropped, full = self.epochs(), self.drops(), self.overflows()
        sender = self.lab.popen(near, sys.executable, "-c", SENDER, address, str(PORT), str(SECONDS), str(pause),
                                stdout=subprocess.PIPE, text=True)
        self.addCleanup(sender.kill)
        sent = int(sender.communicate(timeout=SECONDS + 20)[0])
        received = int(receiver.communicate("\n", timeout=10)[0])
        after = self.epochs()
        self.assertGreaterEqual(min(after[n] - before[n] for n in after), 2, json.dumps([before, after]))
        self.assertEqual(self.drops(), dropped)
        return sent, received, {f"{node} {where}": n - full[node, where]
                                for (node, where), n in self.overflows().items() if n > full[node, where]}

    def test_no_packet_is_lost(self):
        """A packet that a full queue lost says nothing about keys: then a slower round has to show it."""
        for pause in (0.02, 0.08, 0.3):
            sent, received, overflowed = self.carry(pause)
            if received == sent:
                return
            self.assertTrue(overflowed, f"{sent - received} of {sent} packets lost, and no queue was full")
            labs.note(f"{sent - received} of {sent} packets lost at a pause of {pause} s by full queues: {overflowed}")
        self.fail(f"the machine does not carry the slowest rate: {overflowed}")

    def test_ends_agree(self):
        """Both ends soon name the same epoch, whichever of them began it."""
        wait_for("one epoch", lambda: len(set(self.epochs().values())) == 1, 5)
        for name in self.lab.gateways:
            link = self.lab.status(name)["links"][0]
            self.assertEqual(link["keying"]["failures"], 0)
            self.assertEqual(link["suite"], "aes-256-gcm")
