"""Traffic between the end hosts: a load, and a meter of how long it was interrupted."""
import json
import select
import subprocess
import sys

import measure
from expect import wait_for
from netns import LabError

# Runs on the receiving host: counts datagrams and prints, once told to by a line on stdin, the longest gap
# between two arrivals and how many came.
RECEIVER = r"""
import json, select, socket, sys, time
sock = socket.socket(socket.AF_INET6 if ":" in sys.argv[1] else socket.AF_INET, socket.SOCK_DGRAM)
sock.bind((sys.argv[1], int(sys.argv[2])))
print("ready", flush=True)
last, worst, count = None, 0.0, 0
while True:
    ready, _, _ = select.select([sock, sys.stdin], [], [], 0.5)
    now = time.monotonic()
    if sock in ready:
        sock.recv(65536)
        count += 1
        if count == 1:
            print("flowing", flush=True)
        if last is not None:
            worst = max(worst, now - last)
        last = now
    if sys.stdin in ready:
        if last is not None:
            worst = max(worst, now - last)
        print(json.dumps({"worst": worst, "count": count}), flush=True)
        break
"""
# Runs on the sending host: one datagram every 5 ms with a fixed text, until it is ended. A host that has no
# route or hears "unreachable" goes on.
SENDER = r"""
import socket, sys, time
sock = socket.socket(socket.AF_INET6 if ":" in sys.argv[1] else socket.AF_INET, socket.SOCK_DGRAM)
text = sys.argv[3].encode()
while True:
    try:
        sock.sendto(text, (sys.argv[1], int(sys.argv[2])))
    except OSError:
        pass
    time.sleep(0.005)
"""
PATTERN = "HAWSER-KNOWN-PLAINTEXT-0123456789"


class Stream:
    """A datagram every 5 ms from the first host to the last, flowing once made; stop() tells the longest gap in
    seconds and how many came."""

    def __init__(self, lab, family=4, port=9000):
        near, far = measure.ends(lab)
        address = measure.addresses(lab, family)[0]
        self.receiver = lab.popen(far, sys.executable, "-c", RECEIVER, address, str(port), stdin=subprocess.PIPE,
                                  stdout=subprocess.PIPE, text=True)
        self.said("ready")
        self.sender = lab.popen(near, sys.executable, "-c", SENDER, address, str(port), PATTERN,
                                stdin=subprocess.DEVNULL)
        self.result = None
        self.said("flowing")

    def said(self, word, timeout=15):
        ready, _, _ = select.select([self.receiver.stdout], [], [], timeout)
        line = self.receiver.stdout.readline().strip() if ready else ""
        if line != word:
            self.receiver.kill()
            raise LabError(f"receiving host: {word} expected within {timeout} s, not {line!r}")

    def stop(self):
        if self.result is None:
            out, _ = self.receiver.communicate("\n", timeout=10)
            self.sender.kill()
            self.sender.wait()
            self.result = json.loads(out)
        return self.result

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()


# Runs on the receiving host: prints how many distinct numbers came, once told to by a line on stdin.
COUNTER = r"""
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
# Runs on the sending host: numbered datagrams of 32 flows until a line comes on stdin; prints how many left.
NUMBERER = r"""
import select, socket, sys
socks = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(32)]
sent = 0
while not select.select([sys.stdin], [], [], 0.02)[0]:
    for sock in socks:
        sock.sendto(sent.to_bytes(8, "big") + bytes(300), (sys.argv[1], int(sys.argv[2])))
        sent += 1
print(sent)
"""


class Numbered:
    """Numbered datagrams from the first host to the last; stop() tells how many were sent and how many came."""

    def __init__(self, lab, port=9200):
        near, far = measure.ends(lab)
        address = measure.addresses(lab)[0]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        self.receiver = lab.popen(far, sys.executable, "-c", COUNTER, address, str(port), **pipes)
        self.receiver.stdout.readline()
        self.sender = lab.popen(near, sys.executable, "-c", NUMBERER, address, str(port), **pipes)

    def stop(self):
        sent = int(self.sender.communicate("\n", timeout=10)[0])
        return sent, int(self.receiver.communicate("\n", timeout=10)[0])

    def kill(self):
        self.sender.kill()
        self.receiver.kill()


class Load:
    """TCP streams from the first host to the last for the time of a `with` block."""

    def __init__(self, lab, streams=8, seconds=60):
        self.lab = lab
        near, far = measure.ends(lab)
        self.server = measure.IperfServer(lab, far)
        self.server.__enter__()
        self.client = lab.popen(near, "iperf3", "-c", measure.addresses(lab)[0], "-p", str(measure.PORT), "-P",
                                str(streams), "-t", str(seconds), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                text=True)
        before = sum(measure.data_packets(lab).values())
        wait_for("load to flow", lambda: sum(measure.data_packets(lab).values()) > before + 1000, 10)

    def alive(self):
        return self.client.poll() is None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.client.terminate()
        self.client.communicate(timeout=10)
        self.server.__exit__()


def reaches(lab, family=4, timeout=1):
    """Whether one echo crosses from end to end now."""
    near, _ = measure.ends(lab)
    done = lab.popen(near, "ping", "-n", "-c", "1", "-W", str(timeout), measure.addresses(lab, family)[0],
                     stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return done.wait(timeout + 5) == 0
