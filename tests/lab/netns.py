"""Namespaces, interfaces, addresses and kernel settings of the lab's nodes."""
import contextlib
import ctypes
import json
import os
import pathlib
import signal
import socket
import subprocess
import time

PREFIX = "hw-"
UNDERLAY = "hw-underlay"
BRIDGE = "underlay"
NETNS_DIR = pathlib.Path("/run/netns")
ALLOWED_CC = pathlib.Path("/proc/sys/net/ipv4/tcp_allowed_congestion_control")

# Addresses are usable at once (no duplicate detection) and no router but the lab's own is believed.
SYSCTLS = {
    "net.ipv6.conf.all.accept_dad": "0",
    "net.ipv6.conf.default.accept_dad": "0",
    "net.ipv6.conf.default.dad_transmits": "0",
    "net.ipv6.conf.default.accept_ra": "0",
    "net.ipv4.conf.all.rp_filter": "0",
    "net.ipv4.conf.default.rp_filter": "0",
}
GATEWAY_SYSCTLS = {
    "net.ipv4.conf.all.rp_filter": "1",
    "net.ipv4.conf.default.rp_filter": "1",
}


class LabError(Exception):
    """A failure told to the person in one message."""


def run(*argv, check=True, stdin=None, timeout=60):
    try:
        done = subprocess.run(argv, input=stdin, capture_output=True, text=True, timeout=timeout)
    except subprocess.TimeoutExpired:
        raise LabError(f"{' '.join(argv)}: no end within {timeout:g} s") from None
    if check and done.returncode != 0:
        raise LabError(f"{' '.join(argv)}: {(done.stderr or done.stdout).strip()}")
    return done.stdout


def ip(ns, *argv, check=True):
    """By nsenter: `ip -n` also makes a mount namespace, which fails where / is no mount point (in a chroot)."""
    return in_ns(ns, "ip", *argv, check=check)


def path(ns):
    return NETNS_DIR / ns


def listed():
    """Namespaces of the lab, alive or left over."""
    return sorted(p.name for p in NETNS_DIR.glob(PREFIX + "*")) if NETNS_DIR.is_dir() else []


def in_ns(ns, *argv, check=True, stdin=None, timeout=60):
    return run("nsenter", f"--net={path(ns)}", *argv, check=check, stdin=stdin, timeout=timeout)


def add(ns):
    run("ip", "netns", "add", ns)
    ip(ns, "link", "set", "lo", "up")


def delete(ns):
    run("ip", "netns", "del", ns, check=False)


def inode(pid_or_path):
    try:
        return os.stat(pid_or_path).st_ino
    except OSError:
        return None


def pids(ns):
    """Every process whose network namespace is `ns`."""
    wanted = inode(path(ns))
    found = []
    for entry in os.listdir("/proc"):
        if entry.isdigit() and wanted is not None and inode(f"/proc/{entry}/ns/net") == wanted:
            found.append(int(entry))
    return found


def kill_all(ns, keep=()):
    """Ends every process of the namespace and waits until they are gone."""
    for _ in range(50):
        left = [p for p in pids(ns) if p not in keep]
        if not left:
            return
        for pid in left:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.05)
    raise LabError(f"processes in {ns} do not end: {left}")


def sysctl(ns, settings):
    in_ns(ns, "sysctl", "-q", "-w", *[f"{k}={v}" for k, v in settings.items()])


def plain_bridging(ns):
    """Bridged packets skip the IP firewall's hooks (on by default where br_netfilter is built in)."""
    keys = [f"net.bridge.bridge-nf-call-{t}" for t in ("iptables", "ip6tables", "arptables")]
    for key in keys:
        in_ns(ns, "sysctl", "-q", "-w", f"{key}=0", check=False)


def veth(ns_a, if_a, ns_b, if_b, mtu):
    ip(ns_a, "link", "add", if_a, "mtu", str(mtu), "type", "veth",
       "peer", "name", if_b, "mtu", str(mtu), "netns", ns_b)


def offloads(ns, interface, strict_wire):
    """veth has GRO off by default; on a strict wire nothing larger than one MTU crosses."""
    switches = ["gro", "on"]
    if strict_wire:
        switches += ["tso", "off", "gso", "off", "tx-udp-segmentation", "off"]
    in_ns(ns, "ethtool", "-K", interface, *switches)


def offload_state(ns, interface):
    """The switches in force, for results."""
    wanted = {"tcp-segmentation-offload", "generic-segmentation-offload", "generic-receive-offload",
              "tx-udp-segmentation", "rx-udp-gro-forwarding"}
    state = {}
    for line in in_ns(ns, "ethtool", "-k", interface).splitlines():
        name, _, value = line.strip().partition(": ")
        if name in wanted:
            state[name] = value.split()[0] == "on"
    return state


def addresses(ns, interface):
    """Global addresses on an interface, bare."""
    out = json.loads(ip(ns, "-j", "addr", "show", "dev", interface, check=False) or "[]")
    return [a["local"] for link in out for a in link.get("addr_info", []) if a.get("scope") == "global"]


def set_cubic(namespaces, save_to):
    """cubic for the hosts. A namespace may choose only what the machine's list allows, so the list is
    widened for a moment; `save_to` lets the next run restore it if this one dies in between."""
    old = ALLOWED_CC.read_text().strip()
    save_to.write_text(old)
    try:
        if "cubic" not in old.split():
            ALLOWED_CC.write_text(old + " cubic")
        for ns in namespaces:
            sysctl(ns, {"net.ipv4.tcp_congestion_control": "cubic"})
    finally:
        restore_allowed(save_to)


def restore_allowed(saved):
    if saved.is_file():
        old = saved.read_text().strip()
        if old and ALLOWED_CC.read_text().strip() != old:
            ALLOWED_CC.write_text(old)
        saved.unlink()


@contextlib.contextmanager
def entered(ns):
    """The calling thread is in `ns` inside the block; sockets made there stay there."""
    libc = ctypes.CDLL(None, use_errno=True)
    home = os.open("/proc/thread-self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
    there = os.open(path(ns), os.O_RDONLY | os.O_CLOEXEC)
    try:
        if libc.setns(there, 0x40000000) != 0:
            raise OSError(ctypes.get_errno(), f"setns {ns}")
        yield
    finally:
        if libc.setns(home, 0x40000000) != 0:
            raise OSError(ctypes.get_errno(), "setns back")
        os.close(there)
        os.close(home)


def new_socket(ns, address, kind, source=None):
    """A socket of `ns` of the address's family. On a gateway `source` decides the path: from its underlay address
    to a peer's a packet takes the underlay, without one it would take the tunnel like any traffic to that site."""
    with entered(ns):
        sock = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, kind)
    if source:
        sock.bind((source, 0))
    return sock


def connect(ns, address, timeout, source=None):
    """A TCP connection made inside `ns`."""
    sock = new_socket(ns, address[0], socket.SOCK_STREAM, source)
    sock.settimeout(timeout)
    try:
        sock.connect(address)
    except OSError:
        sock.close()
        raise
    return sock
