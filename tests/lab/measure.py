"""Throughput between the hosts, encrypted and by plain routing over the same veths; and what it used."""
import json
import os
import pathlib
import platform
import statistics
import subprocess

import netns
from expect import wait_for
from netns import LabError

PORT = 5201


class IperfServer:
    """One iperf3 server on a node, for the time of a `with` block."""

    def __init__(self, lab, name):
        self.lab = lab
        self.name = name

    def __enter__(self):
        self.process = self.lab.popen(self.name, "iperf3", "-s", "-p", str(PORT), stdout=subprocess.DEVNULL,
                                      stderr=subprocess.DEVNULL)
        wait_for("iperf3 server", self.listening, 10, 0.05)
        return self

    def listening(self):
        return f":{PORT}" in netns.in_ns(netns.PREFIX + self.name, "ss", "-Hltn")

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait(10)


def iperf(lab, client, address, streams, seconds, omit=0):
    """One run; {gbps, retransmits, bytes, cc}."""
    out = lab.exec(client, "iperf3", "-J", "-c", address, "-p", str(PORT), "-P", str(streams), "-t", str(seconds),
                   "-O", str(omit), check=False, timeout=seconds + omit + 60)
    try:
        result = json.loads(out)
    except ValueError:
        raise LabError(f"iperf3 to {address} printed no result: {out[-300:]}") from None
    if "error" in result:
        raise LabError(f"iperf3 to {address} with {streams} streams: {result['error']}")
    end = result["end"]
    return {
        "gbps": end["sum_received"]["bits_per_second"] / 1e9,
        "bytes": end["sum_received"]["bytes"],
        "retransmits": end["sum_sent"]["retransmits"],
        "cc": end.get("sender_tcp_congestion"),
    }


def ends(lab):
    return lab.topology.plain_path[0], lab.topology.plain_path[-1]


def addresses(lab, family=4):
    """(encrypted, plain) address of the far host."""
    far = lab.state["nodes"][ends(lab)[1]]["addresses"]
    index = 0 if family == 4 else 1
    return far["site"][index], far["plain"][index]


def data_packets(lab):
    """{(link id, tunnel): data packets so far}, both directions, as the ends count them. Probes are not among them."""
    counted = {}
    for name in lab.gateways:
        for link in lab.status(name)["links"]:
            for tunnel in link["tunnels"]:
                key = (link["link_id"], tunnel["tunnel"])
                counted[key] = counted.get(key, 0) + tunnel["tx_packets"] + tunnel["rx_packets"]
    return counted


def tunnels_used(before, after):
    """The smallest number, over all links, of tunnels that carried data in between."""
    used = {link: 0 for link, _ in after}
    for key, packets in after.items():
        if packets > before.get(key, 0):
            used[key[0]] += 1
    return min(used.values()) if used else 0


def cpu_seconds(pid):
    """User and system time of a process so far."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def dataplane_cpu(lab):
    return sum(cpu_seconds(lab.pid(name, "dataplane")) for name in lab.gateways)


def median(values):
    return statistics.median(values)


def spread(values):
    """(max - min) / median: how far the rounds lie apart."""
    middle = statistics.median(values)
    return (max(values) - min(values)) / middle if middle else 0.0


def machine():
    """What a result must say of where it was made."""
    model = "unknown"
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            model = line.partition(":")[2].strip()
            break
    return {"cpu": model, "cores": os.cpu_count(), "kernel": platform.release()}


def commit(root):
    done = subprocess.run(["git", "-C", str(root), "describe", "--always", "--dirty", "--abbrev=40"],
                          capture_output=True, text=True)
    return done.stdout.strip() or None


def offloads(lab):
    """Switches in force at both interfaces of the first gateway and at the sending host."""
    gateway = lab.gateways[0]
    return {
        "host_site": netns.offload_state(netns.PREFIX + ends(lab)[0], "site0"),
        "gateway_underlay": netns.offload_state(netns.PREFIX + gateway, "underlay0"),
    }
