"""What rules cost: the lab's `pair` with 0, 5, 500 and 5,000 rules at the receiving site, an empty ruleset, and none.

No table at all against an empty one is what connection tracking costs. Bulk TCP passes by what is established; datagrams
that are refused meet all rules, each of them.
"""
import os
import pathlib
import socket
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "lab"))

import lab
import measure
import netns
from expect import say, wait_for

GATEWAY = "gw-b1"
NONE = "none"
KINDS = (NONE, 0, 5, 500, 5000)
BASELINE = 5
REFUSING = KINDS[2:]  # without rules nothing is refused
ROUNDS = 5
SECONDS = 4
STREAMS = 8
PACKETS = 150_000
REFUSED_PORT = 9

# On the sending host: small datagrams to a port that the last rule refuses.
SENDER = r"""
import socket, sys
sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
sock.connect((sys.argv[1], int(sys.argv[2])))
text = bytes(64)
for _ in range(int(sys.argv[3])):
    sock.send(text)
"""


def rules(count):
    """Hosts, networks, ports and ranges in turn; what the benchmark sends meets the last two alone."""
    made = []
    for i in range(count - 2):
        rule = {"name": f"r{i}", "action": ("allow", "deny")[i % 3 == 0], "protocol": ("tcp", "udp")[i % 2]}
        if i % 10 == 9:
            rule["destination"] = {"prefixes": [f"10.2.{i // 10 % 250 + 2}.0/24"]}
            rule["destination_ports"] = [f"{20000 + i}-{20009 + i}"]
        else:
            rule["source"] = {"prefixes": [f"10.{20 + i // 60000}.{i // 250 % 240}.{i % 250}/32"]}
            rule["destination_ports"] = [str(1000 + i % 10)]
        made.append(rule)
    if count:
        made.append({"name": "refused", "action": "deny", "protocol": "udp", "destination_ports": [str(REFUSED_PORT)]})
        made.append({"name": "rest", "action": "allow"})
    return made


class Ruleset:
    """The receiving site's ruleset, changed through the API."""

    def __init__(self, running):
        node = running.state["nodes"][GATEWAY]
        self.lab = running
        self.gateway = "/api/v1/gateways/" + node["gateway_id"]
        made = running.api.post("/api/v1/rulesets", {"name": "bench", "site_id": node["site_id"], "enabled": False})
        self.path = "/api/v1/rulesets/" + made["id"]

    def become(self, kind):
        self.lab.api.patch(self.path, {"enabled": kind != NONE})
        self.lab.api.call("PUT", self.path + "/rules", {"rules": [] if kind == NONE else rules(kind)})
        wanted = self.lab.api.get(self.gateway)["revisions"]["config"]
        wait_for("the config to be in force", lambda: self.lab.status(GATEWAY)["revisions"]["in_force"] >= wanted, 30)


def machine_cpu():
    """Seconds of all cores that were not idle so far, the kernel's network work on nobody's account included."""
    fields = [int(f) for f in pathlib.Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:]]
    user, nice, system, _, _, irq, softirq, steal = fields[:8]
    return (user + nice + system + irq + softirq + steal) / os.sysconf("SC_CLK_TCK")


def agent_memory(running):
    """MiB resident of the receiving gateway's agent."""
    status = pathlib.Path(f"/proc/{running.pid(GATEWAY, 'agent')}/status").read_text()
    return int(status.split("VmRSS:")[1].split()[0]) / 1024


def bulk(running, address):
    near, _ = measure.ends(running)
    machine, gateways = machine_cpu(), measure.dataplane_cpu(running)
    done = measure.iperf(running, near, address, STREAMS, SECONDS)
    gigabytes = done["bytes"] / 1e9
    return {"gbps": done["gbps"], "cpu_s_per_gb": (machine_cpu() - machine) / gigabytes,
            "gateway_cpu_s_per_gb": (measure.dataplane_cpu(running) - gateways) / gigabytes}


def refused(running, address):
    """Microseconds of all cores for each datagram from the host to where it is refused."""
    near, _ = measure.ends(running)
    before = machine_cpu()
    running.exec(near, sys.executable, "-c", SENDER, address, str(REFUSED_PORT), str(PACKETS))
    return (machine_cpu() - before) / PACKETS * 1e6


def measured(running, ruleset, kind, address):
    ruleset.become(kind)
    cell = {**bulk(running, address), "refused_us": refused(running, address) if kind in REFUSING else None,
            "agent_mib": agent_memory(running)}
    say(f"  {kind!s:>5}: {cell['gbps']:6.2f} Gbit/s, {cell['cpu_s_per_gb']:.3f} CPU s/GB, "
        f"{cell['refused_us'] or 0:.2f} us a refused datagram")
    return cell


def medians(kind, rounds, baseline):
    row = {"rules": kind}
    for field in rounds[0]:
        values = [r[field] for r in rounds if r[field] is not None]
        row[field] = round(measure.median(values), 4) if values else None
    # Each round against its own: the machine's speed drifts between them.
    for field, name in (("cpu_s_per_gb", "cpu_against_5"), ("refused_us", "refused_against_5")):
        ratios = [mine[field] / theirs[field] for mine, theirs in zip(rounds, baseline) if mine[field] is not None]
        row[name] = round(measure.median(ratios), 3) if ratios else None
        row[name + "_spread"] = round(measure.spread(ratios), 3) if ratios else None
    return row


def show(rows):
    columns = (("rules", "rules", "{}"), ("gbps", "Gbit/s", "{:.2f}"), ("cpu_s_per_gb", "CPU s/GB", "{:.3f}"),
               ("gateway_cpu_s_per_gb", "gateways", "{:.3f}"), ("cpu_against_5", "against 5", "{:.3f}"),
               ("cpu_against_5_spread", "spread", "{:.0%}"), ("refused_us", "us refused", "{:.2f}"),
               ("refused_against_5", "against 5", "{:.3f}"), ("refused_against_5_spread", "spread", "{:.0%}"),
               ("agent_mib", "agent MiB", "{:.1f}"))
    print(" ".join(f"{head:>10}" for _, head, _ in columns))
    for row in rows:
        print(" ".join(f"{'-' if row[field] is None else form.format(row[field]):>10}" for field, _, form in columns))


def bench_rules(revisions):
    """cost of 0, 5, 500 and 5,000 firewall rules, and of connection tracking"""
    running = lab.up(lab.Options("pair", build=revisions[0].build))
    collected = {kind: [] for kind in KINDS}
    try:
        address = measure.addresses(running)[0]
        ruleset = Ruleset(running)
        far = measure.ends(running)[1]
        # Somebody has the port, so that what arrives all the same isn't answered.
        sink = netns.new_socket(netns.PREFIX + far, address, socket.SOCK_DGRAM)
        sink.bind((address, REFUSED_PORT))
        with sink, measure.IperfServer(running, far):
            for number in range(ROUNDS):
                say(f"rules, round {number + 1} of {ROUNDS}")
                # Every other round backwards, so that nobody always comes after the same one.
                for kind in KINDS if number % 2 == 0 else KINDS[::-1]:
                    collected[kind].append(measured(running, ruleset, kind, address))
    finally:
        running.close()
    rows = [medians(kind, rounds, collected[BASELINE]) for kind, rounds in collected.items()]
    show(rows)
    return {"cells": rows, "rounds_of_rules": ROUNDS}
