"""Benchmarks: `aead` (ns per packet), `chain` (throughput), `footprint` (memory, idle cost), `rules` (cost of a firewall).

Every result says where it was made: machine, kernel, commit, offload switches. Figures are medians; `spread` is
(max - min) / median over the rounds.
"""
import argparse
import contextlib
import json
import math
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(ROOT / "tests" / "lab"))

import measure
from expect import say
from netns import LabError
from rules import bench_rules

MTUS = (1500, 9000)
ROUNDS = 3


class Revision:
    """A build to be measured: the working tree, or another commit built in a tree of its own."""

    def __init__(self, name, tree, commit):
        self.name = name
        self.tree = tree
        self.build = tree / "build" / "release"
        self.commit = commit


def resolve(rev):
    """A commit by any name git knows, or by a file of tests/bench that holds one (engine-0)."""
    marked = ROOT / "tests" / "bench" / rev
    if marked.is_file():
        rev = marked.read_text().split()[0]
    done = subprocess.run(["git", "-C", str(ROOT), "rev-parse", "--verify", rev + "^{commit}"],
                          capture_output=True, text=True)
    if done.returncode != 0:
        raise LabError(f"--against {rev}: git knows no such commit")
    return done.stdout.strip()


@contextlib.contextmanager
def built(rev):
    """A worktree of the commit with its release build, removed afterwards."""
    commit = resolve(rev)
    place = pathlib.Path(tempfile.mkdtemp(prefix="hawser-bench-")) / "tree"
    subprocess.run(["git", "-C", str(ROOT), "worktree", "add", "--quiet", "--detach", str(place), commit], check=True)
    try:
        say(f"building {rev} ({commit[:12]})")
        targets = ["all"]
        if (place / "tests/bench/aead.c").is_file():
            targets.append("hawser-bench-aead")
        log = subprocess.run(["sh", "-ec", "cmake --preset release && cmake --build --preset release --target "
                              + " ".join(targets)], cwd=place, capture_output=True, text=True)
        if log.returncode != 0:
            raise LabError(f"{rev} does not build:\n{(log.stdout + log.stderr)[-3000:]}")
        yield Revision(rev, place, commit)
    finally:
        subprocess.run(["git", "-C", str(ROOT), "worktree", "remove", "--force", str(place)], check=False)
        shutil.rmtree(place.parent, ignore_errors=True)


def aead_once(revision):
    out = subprocess.run([str(revision.build / "tests/bench/hawser-bench-aead")], capture_output=True, text=True)
    if out.returncode != 0:
        raise LabError(out.stderr.strip())
    return [json.loads(line) for line in out.stdout.splitlines()]


def bench_aead(revisions):
    """ns per packet, seal and open, 64/350/1400/8900 bytes, both providers"""
    samples = {}
    for number in range(ROUNDS):
        for revision in revisions:
            say(f"aead, round {number + 1} of {ROUNDS}: {revision.name}")
            for row in aead_once(revision):
                key = (revision.name, row["provider"], row["suite"], row["op"], row["bytes"])
                samples.setdefault(key, []).extend(row["ns"])
    rows = []
    for (name, provider, suite, op, size), ns in samples.items():
        middle = measure.median(ns)
        rows.append({"revision": name, "provider": provider, "suite": suite, "op": op, "bytes": size,
                     "ns": round(middle, 1), "spread": round(measure.spread(ns), 3),
                     "gbps": round(size * 8 / middle, 2)})
    print(f"{'revision':<12} {'provider':<10} {'op':<5} {'bytes':>6} {'ns':>9} {'spread':>7} {'Gbit/s':>8}")
    for r in rows:
        print(f"{r['revision']:<12} {r['provider']:<10} {r['op']:<5} {r['bytes']:>6} {r['ns']:>9.1f} "
              f"{r['spread']:>7.0%} {r['gbps']:>8.1f}")
    return {"cells": rows}


def lab_round(revision, program, *words):
    """What one round of a benchmark prints, by the revision's own lab: its settings are those of its programs."""
    command = [sys.executable, "-B", str(HERE / program), str(revision.tree / "tests" / "lab"), str(revision.build),
               *words]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        out, _ = process.communicate()
    except KeyboardInterrupt:
        # Sent twice by a terminal, which does no harm: it is taking its lab down already.
        process.send_signal(signal.SIGINT)
        process.wait(30)
        raise
    if process.returncode != 0:
        raise LabError(f"{program}, {revision.name}: no result")
    return json.loads(out)


def chain_rounds(revisions, strict_wire, mtus, collected):
    """One lab per MTU, round and revision, so that two revisions are measured in turn."""
    switches = None
    for mtu in mtus:
        for number in range(ROUNDS):
            for revision in revisions:
                say(f"chain, MTU {mtu}, round {number + 1} of {ROUNDS}: {revision.name}")
                result = lab_round(revision, "chain_round.py", str(mtu), *(["--strict-wire"] if strict_wire else []))
                switches = result["offloads"]
                for streams, cell in result["cells"].items():
                    collected.setdefault((revision.name, mtu, int(streams), strict_wire), []).append(cell)
    return switches


def chain_medians(key, rounds):
    name, mtu, streams, strict_wire = key
    cell = {"revision": name, "mtu": mtu, "streams": streams, "strict_wire": strict_wire}
    for field in ("encrypted_gbps", "native_gbps", "ratio", "ping_idle_ms", "ping_load_ms", "gateway_cpu_s_per_gb",
                  "retransmits"):
        values = [r[field] for r in rounds if r[field] is not None]
        cell[field] = round(measure.median(values), 4) if values else None
    cell["spread"] = round(measure.spread([r["ratio"] for r in rounds]), 3)
    cell["congestion_control"] = rounds[0]["congestion_control"]
    return cell


def geomean(cells, revision):
    """{mtu: geometric mean of the ratio over the streams}"""
    means = {}
    for mtu in MTUS:
        ratios = [c["ratio"] for c in cells if c["mtu"] == mtu and c["revision"] == revision]
        if ratios:
            means[str(mtu)] = round(math.exp(sum(math.log(r) for r in ratios) / len(ratios)), 4)
    return means


def bench_chain(revisions, strict_wire=False, mtus=MTUS):
    """throughput of the chain by MTU and streams, encrypted and plain in turn"""
    collected = {}
    switches = chain_rounds(revisions, strict_wire, mtus, collected)
    cells = [chain_medians(key, rounds) for key, rounds in collected.items()]
    print(f"{'revision':<12} {'MTU':>5} {'streams':>7} {'encrypted':>10} {'plain':>8} {'ratio':>7} {'spread':>7} "
          f"{'ping idle':>10} {'load ms':>8} {'CPU s/GB':>9}")
    for c in cells:
        print(f"{c['revision']:<12} {c['mtu']:>5} {c['streams']:>7} {c['encrypted_gbps']:>10.2f} "
              f"{c['native_gbps']:>8.2f} {c['ratio']:>7.3f} {c['spread']:>7.0%} {c['ping_idle_ms']:>10.2f} "
              f"{c['ping_load_ms'] or 0:>8.2f} {c['gateway_cpu_s_per_gb']:>9.2f}")
    means = {r.name: geomean(cells, r.name) for r in revisions}
    for name, mean in means.items():
        print(f"geomean of the ratio, {name}: " + ", ".join(f"MTU {m} {v}" for m, v in mean.items()))
    result = {"cells": cells, "geomean": means[revisions[0].name], "offloads": switches}
    if len(revisions) > 1:
        result["geomean_against"] = means[revisions[1].name]
    return result


def footprint_rows(result):
    """{what: sample} of one round; agent and dataplane of a gateway with one link are what the bar is about."""
    rows = {}
    for gateway in result["gateways"].values():
        parts = [gateway[process] for process in ("agent", "dataplane")]
        whole = {field: sum(part[field] for part in parts) for field in parts[0]}
        links = f"{gateway['links']} link" + ("s" if gateway["links"] > 1 else "")
        for name, sample in (("agent", parts[0]), ("dataplane", parts[1]), ("gateway", whole)):
            rows.setdefault(f"{name}, {links}", []).append(sample)
    return {**rows, **{f"controller, {state}": [sample] for state, sample in result["controller"].items()}}


def bench_footprint(revisions):
    """resident memory and idle cost of gateways with 8 tunnels a link, and of the controller"""
    samples = {}
    for number in range(ROUNDS):
        for revision in revisions:
            say(f"footprint, round {number + 1} of {ROUNDS}: {revision.name}")
            for what, found in footprint_rows(lab_round(revision, "footprint_round.py")).items():
                samples.setdefault((revision.name, what), []).extend(found)
    cells = []
    print(f"{'revision':<12} {'':<26} {'RSS MiB':>8} {'PSS MiB':>8} {'spread':>7} {'core':>7} {'largest':>8}")
    for (name, what), found in sorted(samples.items()):
        rss, pss, core = ([sample[field] for sample in found] for field in ("rss_mib", "pss_mib", "core"))
        cells.append({"revision": name, "what": what, "rss_mib": round(measure.median(rss), 1),
                      "pss_mib": round(measure.median(pss), 1), "spread": round(measure.spread(rss), 3),
                      "core": round(measure.median(core), 5), "core_max": round(max(core), 5)})
        c = cells[-1]
        print(f"{name:<12} {what:<26} {c['rss_mib']:>8.1f} {c['pss_mib']:>8.1f} {c['spread']:>7.0%} "
              f"{c['core']:>7.2%} {c['core_max']:>8.2%}")
    return {"cells": cells}


BENCHES = {"aead": bench_aead, "chain": bench_chain, "footprint": bench_footprint,
           "rules": bench_rules}


def parse():
    parser = argparse.ArgumentParser(prog="tests/bench/run", description=__doc__)
    parser.add_argument("name", help="list, or one of: " + " ".join(BENCHES))
    parser.add_argument("--json", metavar="FILE", help="write the figures")
    parser.add_argument("--against", metavar="REV", help="build that commit too and measure it in turn")
    parser.add_argument("--strict-wire", action="store_true", help="chain: only MTU-sized packets on the underlay")
    parser.add_argument("--mtu", type=int, choices=MTUS, help="chain: this underlay MTU alone")
    args = parser.parse_args()
    if args.name != "list" and args.name not in BENCHES:
        parser.error(f"no benchmark {args.name}; there are: {' '.join(BENCHES)}")
    if args.name == "rules" and args.against:
        parser.error("rules are compared with each other, not with another commit")
    return args


def run(args):
    own = Revision("here", ROOT, measure.commit(ROOT))
    options = {}
    if args.name == "chain":
        options = {"strict_wire": args.strict_wire, "mtus": (args.mtu,) if args.mtu else MTUS}
    with contextlib.ExitStack() as stack:
        revisions = [own]
        if args.against:
            revisions.append(stack.enter_context(built(args.against)))
        result = BENCHES[args.name](revisions, **options)
    result = {"name": args.name, "machine": measure.machine(), "commit": own.commit,
              "against": revisions[1].commit if args.against else None, "rounds": ROUNDS, **result}
    if args.json:
        pathlib.Path(args.json).write_text(json.dumps(result, indent=2) + "\n")


def main():
    args = parse()
    if args.name == "list":
        for name, function in BENCHES.items():
            print(f"{name:<9} {function.__doc__}")
        return 0
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        run(args)
    except LabError as error:
        print(f"bench: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
