"""The demonstration: chain, 1 and 128 TCP streams, MTU 1500 and 9000, encrypted and by plain routing in turn."""
import argparse
import contextlib
import json
import os
import signal
import sys

import daemons
import expect
import forward
import lab
import lifetime
import measure
from expect import say
from netns import LabError

TUNNELS = 8
MTUS = (1500, 9000)
STREAMS = (1, 128)
ROUNDS = 3
SECONDS = 5

DIAGRAM = """
  host-a ---- gw-a1 ======== gw-t1 ======== gw-b1 ---- host-b       ---- plain, inside a site
   site-a     spoke    |     transit   |    spoke     site-b        ==== {tunnels} encrypted tunnels a link
                       |               |
                       +-- controller -+                            configures, never in the path
"""


def measure_mtu(running, mtu):
    """[run] for each number of streams: per round encrypted first, then plain."""
    client, _ = measure.ends(running)
    encrypted_to, plain_to = measure.addresses(running)
    rounds = {streams: [] for streams in STREAMS}
    for number in range(1, ROUNDS + 1):
        for streams in STREAMS:
            before = measure.data_packets(running)
            encrypted = measure.iperf(running, client, encrypted_to, streams, SECONDS)
            used = measure.tunnels_used(before, measure.data_packets(running))
            plain = measure.iperf(running, client, plain_to, streams, SECONDS)
            rounds[streams].append((encrypted, plain, used))
            say(f"  MTU {mtu}, round {number} of {ROUNDS}, {streams:>3} streams: encrypted {encrypted['gbps']:6.2f}, "
                f"plain {plain['gbps']:6.2f} Gbit/s, {used} tunnels of every link used")
    return [summary(mtu, streams, results) for streams, results in rounds.items()]


def summary(mtu, streams, results):
    """Medians over the rounds; the ratio is the median of the rounds' own ratios."""
    encrypted = [e["gbps"] for e, _, _ in results]
    plain = [p["gbps"] for _, p, _ in results]
    return {
        "mtu": mtu,
        "streams": streams,
        "encrypted_gbps": round(measure.median(encrypted), 3),
        "native_gbps": round(measure.median(plain), 3),
        "ratio": round(measure.median([e / p for e, p in zip(encrypted, plain)]), 4),
        "tunnels_used": measure.median([used for _, _, used in results]),
        "retransmits": measure.median([e["retransmits"] for e, _, _ in results]),
        "native_retransmits": measure.median([p["retransmits"] for _, p, _ in results]),
        "congestion_control": results[0][0]["cc"],
    }


def print_table(runs):
    print()
    print("   MTU  streams   encrypted       plain   ratio to   tunnels used     retransmits")
    print("                    Gbit/s      Gbit/s      plain    of each link  encrypted / plain")
    for r in runs:
        print(f"{r['mtu']:>6} {r['streams']:>8} {r['encrypted_gbps']:>11.2f} {r['native_gbps']:>11.2f} "
              f"{r['ratio']:>10.2f} {r['tunnels_used']:>11} of {TUNNELS} {r['retransmits']:>10} / "
              f"{r['native_retransmits']}")


RATES = ("goodput_tx_bps", "goodput_rx_bps", "wire_tx_bps", "wire_rx_bps")


def controller_view(running):
    """The busiest report of each gateway, as the controller keeps it."""
    view = []
    for name in running.gateways:
        gateway = running.state["nodes"][name]["gateway_id"]
        answer = running.api.get(f"/api/v1/telemetry?object=gateway/{gateway}&metric={','.join(RATES)}&range=1h&step=raw")
        columns = zip(*(series["avg"] for series in answer["series"]))
        seen = [dict(zip(RATES, column)) for column in columns if None not in column]
        if seen:
            view.append({"gateway": name, **max(seen, key=lambda row: sum(row.values()))})
    return view


def print_view(view):
    print()
    print("what the controller saw (highest report of each gateway, Gbit/s)")
    print("gateway    goodput tx  goodput rx     wire tx     wire rx")
    for row in view:
        rates = " ".join(f"{row[k] / 1e9:>11.2f}" for k in RATES)
        print(f"{row['gateway']:<9} {rates}")


def print_addresses(running, port):
    controller = running.state["controller"]
    print(f"""
everything is running; Ctrl-C ends it. From this machine:
  web console   https://127.0.0.1:{port}/   (the lab's own certificate: the browser warns)
  REST API      https://127.0.0.1:{port}/api/v1/gateways   (forwarded to {controller['url']})
  admin token   {controller['token_file']}
  CA file       {controller['ca_file']}
  e.g.          curl --cacert {controller['ca_file']} \\
                  -H "Authorization: Bearer $(cat {controller['token_file']})" https://127.0.0.1:{port}/api/v1/links
  a gateway     tests/lab/lab exec gw-t1 -- {daemons.BIN_DIR}/hawser-agent status
  the hosts     tests/lab/lab exec host-a -- ping {measure.addresses(running)[0]}
  overview      tests/lab/lab status""", flush=True)


def result(runs, view, running):
    return {"runs": runs, "controller": view, "tunnels": TUNNELS, "rounds": ROUNDS, "seconds": SECONDS,
            "machine": measure.machine(), "commit": measure.commit(daemons.ROOT), "offloads": measure.offloads(running)}


def check_writable(path):
    """Minutes of measuring must not end at a mistyped path."""
    folder = os.path.dirname(os.path.abspath(path))
    if os.path.isdir(path) or not os.path.isdir(folder) or not os.access(folder, os.W_OK):
        raise LabError(f"--json {path}: not a file that can be written")


def run(args):
    """One lab per MTU; the last one stays."""
    print(DIAGRAM.format(tunnels=TUNNELS), flush=True)
    runs, running = [], None
    try:
        for mtu in MTUS:
            if running:
                running.close()
                running = None
            running = lab.up(lab.Options("chain", mtu=mtu, tunnels=TUNNELS))
            with measure.IperfServer(running, measure.ends(running)[1]):
                runs += measure_mtu(running, mtu)
        view = expect.wait_for("the controller's telemetry", lambda: controller_view(running), 15)
        print_table(runs)
        print_view(view)
        if args.json:
            with open(args.json, "w", encoding="utf-8") as out:
                json.dump(result(runs, view, running), out, indent=2)
                out.write("\n")
        if not args.once:
            port = forward.start(8443, "hw-controller", running.api.address)
            print_addresses(running, port)
            with contextlib.suppress(KeyboardInterrupt):
                signal.pause()
    finally:
        if running:
            say("lab: down")
            running.close()


def main():
    parser = argparse.ArgumentParser(prog="demo", description=__doc__)
    parser.add_argument("--once", action="store_true", help="stop after the table")
    parser.add_argument("--json", metavar="FILE", help="write the figures")
    args = parser.parse_args()
    lifetime.end_in_order()
    sys.stdout.reconfigure(line_buffering=True)  # in order with the progress when both go to one file
    try:
        if args.json:
            check_writable(args.json)
        run(args)
    except LabError as error:
        print(f"demo: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
