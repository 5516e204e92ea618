"""Tests of the packet engine alone: real processes, namespaces and traffic, fixed keys, no agent. Foreign judges are
the kernel's TCP, ping, tcpdump and scapy."""
import json
import socket
import subprocess
import threading
import time
import unittest

from driver import Gateway, Link, route_pair, underlay

ETH_ALL = 3


def inner_mtu(outer, family=4):
    """Largest inner packet whose ESP in UDP fits: RFC 4303, RFC 4106, RFC 3948."""
    room = outer - (20 if family == 4 else 40) - 8 - 8 - 8 - 16 - 2
    return room - (room + 2) % 4


class EngineTest(unittest.TestCase):
    """Builders that clean up after themselves."""

    def gateway(self, *args, **options):
        g = Gateway(*args, **options)
        self.addCleanup(g.close)
        return g

    def pair(self, mtu=1500, family=4, flags=(), workers=2, **link):
        """Two gateways joined by one link, up and routed."""
        options = {"tun_mtu": mtu, "flags": flags, "workers": workers}
        a, b = self.gateway("a", 1, **options), self.gateway("b", 2, **options)
        underlay([a, b], mtu)
        link.setdefault("mtu", inner_mtu(mtu, family))
        joined = Link(a, b, family=family, **link)
        route_pair(a, b, joined)
        joined.key()
        joined.wait_up()
        return a, b, joined

    def ping(self, a, b, family=4, count=3, *more):
        """Echoes one by one; raises when one is not answered. Of several at once ping would wait for the last only as
        long as two round trips of the others, and on a busy machine call it lost."""
        return "".join(a.space.exec("ping", "-n", "-c", "1", "-W", "3", "-I", a.address[family], *more, b.address[family])
                       for _ in range(count))

    def assert_pings(self, a, b):
        for family in (4, 6):
            try:
                self.ping(a, b, family)
            except RuntimeError as lost:
                self.fail("\n".join([str(lost), *(self.counted(g) for g in (a, b))]))

    def counted(self, gateway):
        """Where packets of a gateway may have gone."""
        of = json.loads(gateway.space.ip("-j", "-s", "link", "show", "hawser0"))[0]["stats64"]
        lines = [f"{gateway.name}: drops {gateway.drops()}, TUN dropped {of['rx']['dropped']} in, {of['tx']['dropped']} out"]
        for (_, tunnel), c in sorted(gateway.dp.counters.tunnels().items()):
            age = time.monotonic() - c["state_mono_ns"] / 1e9
            lines.append(f"  tunnel {tunnel}: state {c['state']} for {age:.3f} s, " + ", ".join(
                f"{k} {c[k]}" for k in ("tx_packets", "rx_packets", "probes_sent", "probes_answered", "probes_lost")))
        return "\n".join(lines)

    def iperf(self, a, b, *more, family=4, seconds=1):
        server = subprocess.Popen(b.space.command("iperf3", "-s", "-1", "-B", b.address[family]),
                                  stdout=subprocess.DEVNULL)
        self.addCleanup(server.wait)
        self.addCleanup(server.kill)
        b.dp.wait("iperf3 listens", lambda: ":5201" in b.space.exec("ss", "-Hltn"))
        out = a.space.exec("iperf3", "-J", "-c", b.address[family], "-B", a.address[family], "-t", str(seconds),
                           *more)
        return json.loads(out)["end"]

    def capture(self, gateway, interface, want):
        """Frames on an interface for which want(frame) is true, as a growing list."""
        with gateway.space.inside():
            s = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(ETH_ALL))
            s.setsockopt(socket.SOL_SOCKET, 33, 32 << 20)
            s.bind((interface, ETH_ALL))
        found, stop = [], threading.Event()

        def loop():
            s.settimeout(0.05)
            while not stop.is_set():
                try:
                    frame = s.recv(65535)
                except TimeoutError:
                    continue
                if want(frame):
                    found.append(frame)
        thread = threading.Thread(target=loop, daemon=True)
        thread.start()
        self.addCleanup(s.close)
        self.addCleanup(thread.join, 5)
        self.addCleanup(stop.set)
        return found
