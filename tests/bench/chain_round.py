"""One round of the benchmark `chain`: a lab with every number of streams once, encrypted, then plain.

    chain_round.py LAB BUILD MTU [--strict-wire]

LAB is the folder of lab modules to use, that of the same commit as BUILD. Prints {"cells": {streams: cell}, "offloads"}.
"""
import json
import re
import signal
import subprocess
import sys
import threading

sys.path.insert(0, sys.argv[1])

import lab
import measure
from expect import say
from netns import LabError

STREAMS = (1, 8, 32, 128)
SECONDS = 5


class Pinger:
    """Round trips of pings during a `with` block, in ms."""

    def __init__(self, running, address):
        client, _ = measure.ends(running)
        self.process = running.popen(client, "ping", "-n", "-i", "0.1", "-w", "60", address, stdout=subprocess.PIPE,
                                     stderr=subprocess.DEVNULL, text=True)
        self.times = []
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        for line in self.process.stdout:
            found = re.search(r"time=([\d.]+)", line)
            if found:
                self.times.append(float(found.group(1)))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGINT)
        self.process.wait(10)
        self.reader.join(10)


def ping_idle(running, address):
    client, _ = measure.ends(running)
    out = running.exec(client, "ping", "-n", "-i", "0.05", "-c", "20", address, timeout=30)
    return measure.median([float(t) for t in re.findall(r"time=([\d.]+)", out)])


def cell(running, streams):
    client, _ = measure.ends(running)
    encrypted_to, plain_to = measure.addresses(running)
    idle = ping_idle(running, encrypted_to)
    cpu = measure.dataplane_cpu(running)
    with Pinger(running, encrypted_to) as pinger:
        encrypted = measure.iperf(running, client, encrypted_to, streams, SECONDS)
    cpu = measure.dataplane_cpu(running) - cpu
    plain = measure.iperf(running, client, plain_to, streams, SECONDS)
    say(f"  {streams:>3} streams: {encrypted['gbps']:6.2f} of {plain['gbps']:6.2f} Gbit/s")
    return {
        "encrypted_gbps": encrypted["gbps"],
        "native_gbps": plain["gbps"],
        "ratio": encrypted["gbps"] / plain["gbps"],
        "ping_idle_ms": idle,
        "ping_load_ms": measure.median(pinger.times) if pinger.times else None,
        "gateway_cpu_s_per_gb": cpu / (encrypted["bytes"] / 1e9),
        "retransmits": encrypted["retransmits"],
        "congestion_control": encrypted["cc"],
    }


def main():
    build, mtu = sys.argv[2], int(sys.argv[3])
    running = lab.up(lab.Options("chain", mtu=mtu, strict_wire="--strict-wire" in sys.argv[4:], build=build))
    try:
        with measure.IperfServer(running, measure.ends(running)[1]):
            result = {"cells": {streams: cell(running, streams) for streams in STREAMS},
                      "offloads": measure.offloads(running)}
    finally:
        running.close()
    print(json.dumps(result))
    return 0


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        sys.exit(main())
    except LabError as error:
        print(f"bench: {error}", file=sys.stderr)
        sys.exit(1)
    except KeyboardInterrupt:
        sys.exit(130)
