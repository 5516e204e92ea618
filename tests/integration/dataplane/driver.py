"""Drives hawser-dataplane without an agent: starts it, speaks dp_proto to it, and builds gateways out of it.

    with Dataplane("a") as dp:        the process and the conversation
        ...
    Gateway(name, ...)                 a namespace with TUN, sockets and a Dataplane
    join(a, b, tunnels=4)              a link between two gateways, keyed with fixed keys
"""
import array
import hashlib
import ipaddress
import mmap
import os
import pathlib
import select
import shutil
import socket
import struct
import subprocess
import tempfile
import time

import dp_proto as p
from netspace import Namespace

ROOT = pathlib.Path(__file__).resolve().parents[3]
# Sanitizers need system calls that the sandbox forbids.
SANDBOX = pathlib.Path(os.environ.get("HAWSER_BUILD", "release")).name not in ("asan", "tsan")
NOBODY = 65534
FLOW_SEED, TUNNEL_SEED = 0x1122334455667788, 0x99AABBCCDDEEFF00


def build_dir():
    return pathlib.Path(os.environ.get("HAWSER_BUILD", ROOT / "build" / "release"))


def id_of(*words):
    """A stable 16-byte id."""
    return hashlib.sha256(" ".join(map(str, words)).encode()).digest()[:16]


class Refused(Exception):
    """The dataplane answered a request with an error."""

    def __init__(self, kind, status, text):
        super().__init__(f"request {kind}: {status} {text}")
        self.status = status
        self.text = text


class Dataplane:
    """One hawser-dataplane process as an unprivileged user, and the agent's end of its socket."""

    def __init__(self, name, workers=2, flags=(), uid=NOBODY, sandbox=SANDBOX):
        # Worlds may enter: the process is another user.
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix=f"hwx-engine-{name}-"))
        os.chown(self.folder, uid, uid)
        self.socket_path = self.folder / "dataplane.sock"
        self.log = self.folder / "log"
        program = shutil.copy(build_dir() / "agent" / "dataplane" / "hawser-dataplane", self.folder)
        os.chmod(program, 0o755)
        command = [program, "--socket", str(self.socket_path), "--workers", str(workers), "--agent-uid",
                   str(os.getuid()), *flags]
        if not sandbox:
            command.append("--no-sandbox")
        become = ["setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups", "--inh-caps=-all",
                  "--bounding-set=-all", "--no-new-privs"] if uid else []
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(become + command, stdout=log, stderr=log)
        self.names = p.drop_names(ROOT)
        self.connection = None
        self.events = []
        self.seq = 0
        try:
            self.connect()
        except Exception:
            self.close()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        if self.connection:
            self.connection.close()
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(10)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait(10)
        text = self.log.read_text(errors="replace")
        shutil.rmtree(self.folder)
        if "Sanitizer" in text or "runtime error" in text:
            raise AssertionError(text)

    def connect(self):
        """A new connection; the old one, if any, is left open to see it replaced."""
        deadline = time.monotonic() + 20
        while True:
            connection = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            try:
                connection.connect(str(self.socket_path))
                break
            except OSError:
                connection.close()
                if self.process.poll() is not None or time.monotonic() > deadline:
                    raise RuntimeError(f"hawser-dataplane: {self.log.read_text()}") from None
                time.sleep(0.01)
        self.connection = connection
        try:
            kind, _, body, fds = self.receive(10)
        except ConnectionError:
            # It listens before it enters its sandbox, and may end there.
            raise RuntimeError(f"hawser-dataplane: {self.log.read_text()}") from None
        if kind != p.HELLO:
            raise RuntimeError(f"HELLO expected, got {kind}")
        self.hello = dict(zip(("boot", "workers", "provider", "suites", "features", "build"), (
            body[:16], *struct.unpack_from("<HB", body, 16), *struct.unpack_from("<II", body, 20),
            body[32:].split(b"\0")[0].decode())))
        self.boot = self.hello["boot"]
        self.counters_fd = fds[0]
        memory = mmap.mmap(fds[0], os.fstat(fds[0]).st_size, mmap.MAP_SHARED, mmap.PROT_READ)
        self.counters = p.Counters(memory, self.names)

    def receive(self, timeout):
        if not select.select([self.connection], [], [], timeout)[0]:
            raise TimeoutError(f"no message in {timeout} s; {self.log.read_text()}")
        data, ancillary, _, _ = self.connection.recvmsg(p.HEADER.size + 16384, socket.CMSG_SPACE(16))
        if not data:
            raise ConnectionError(f"hawser-dataplane closed the connection; {self.log.read_text()}")
        fds = array.array("i")
        for level, kind, content in ancillary:
            if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
                fds.frombytes(content)
        _, kind, length, seq, _ = p.HEADER.unpack_from(data)
        assert length == len(data), (length, len(data))
        return kind, seq, data[p.HEADER.size:], list(fds)

    def send(self, kind, body=b"", fd=None, seq=None):
        self.seq += 1
        ancillary = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [fd]))] if fd is not None else []
        self.connection.sendmsg([p.message(kind, self.seq if seq is None else seq, body)], ancillary)
        return self.seq

    def request(self, kind, body=b"", fd=None):
        """Sends and waits for the ACK; events that come before it are kept."""
        seq = self.send(kind, body, fd)
        while True:
            got, of, answer, _ = self.receive(10)
            if got == p.ACK and of == seq:
                status, _, text = struct.unpack("<iI120s", answer)
                if status:
                    raise Refused(kind, status, text.split(b"\0")[0].decode())
                return
            self.events.append((got, answer))

    def dump(self):
        """Kind -> list of bodies."""
        seq = self.send(p.DUMP)
        found = {}
        while True:
            kind, of, body, _ = self.receive(10)
            if kind == p.DUMP_END:
                return found
            if of == seq:
                found.setdefault(kind, []).append(body)
            else:
                self.events.append((kind, body))

    def poll_events(self, timeout=0.0):
        """Takes in what has arrived."""
        while select.select([self.connection], [], [], timeout)[0]:
            kind, _, body, _ = self.receive(1)
            self.events.append((kind, body))
            timeout = 0.0
        return self.events

    def wait(self, what, condition, timeout=10):
        """Until condition() is true, looking after each event and at least every 20 ms."""
        deadline = time.monotonic() + timeout
        while not condition():
            if time.monotonic() > deadline:
                raise TimeoutError(f"{what}: not within {timeout} s; drops {self.counters.drops()}; "
                                   f"{self.log.read_text()}")
            self.poll_events(0.02)

    def sas(self):
        names = ("link", "peer_boot", "epoch", "age_ns", "spi", "tunnel", "direction", "suite", "active", "esn",
                 "peer_cert")
        return [dict(zip(names, p.DUMPED_SA.unpack(body))) for body in self.dump().get(p.DUMP_SA, [])]

    def commit_fib(self, generation, links, sources, routes, sets):
        image = p.fib(generation, links, sources, routes, sets)
        with tempfile.TemporaryFile() as f:
            f.write(image)
            f.flush()
            self.request(p.FIB_COMMIT, struct.pack("<QQ", generation, len(image)), f.fileno())


class Gateway:
    """A gateway without an agent: namespace, hawser0, UDP sockets, dataplane. Its number N gives all addresses:
    underlay 192.0.2.N and 2001:db8::N, overlay 100.127.0.N and fd00:6877::N, site 10.N.0.0/16 and fd0N::/48."""

    def __init__(self, name, number, workers=2, ports=8, tun_mtu=1438, flags=(), sandbox=SANDBOX, families=(4, 6)):
        self.name, self.number = name, number
        self.id = id_of("gateway", name)
        self.underlay = {4: f"192.0.2.{number}", 6: f"2001:db8::{number}"}
        self.overlay = {4: f"100.127.0.{number}", 6: f"fd00:6877::{number}"}
        self.site = {4: f"10.{number}.0.0/16", 6: f"fd0{number}::/48"}
        self.address = {4: f"10.{number}.1.1", 6: f"fd0{number}:0:0:1::1"}
        self.links = []
        self.routes = []
        self.generation = 0
        self.space = Namespace(name)
        try:
            self.dp = Dataplane(name, workers, flags, sandbox=sandbox)
        except Exception:
            self.space.close()
            raise
        self.ports, self.families = ports, families
        self.attach(workers, tun_mtu)
        for family in (4, 6):
            self.space.ip("addr", "add", self.address[family], "dev", "lo")
            self.space.ip("addr", "add", self.overlay[family], "dev", "hawser0",
                          *(["nodad"] if family == 6 else []))
        self.dp.request(p.NODE_SET, p.node_set(self.id, self.overlay[4], self.overlay[6], FLOW_SEED, TUNNEL_SEED))

    def attach(self, workers, tun_mtu):
        self.tun = self.space.open_tun("hawser0", workers, tun_mtu)
        for i, fd in enumerate(self.tun):
            self.dp.request(p.ATTACH_TUN, struct.pack("<HHI", i, workers, tun_mtu), fd)
        self.sockets = []
        for family in self.families:
            for i in range(self.ports):
                s = self.space.udp_socket(family, 4510 + i)
                self.sockets.append(s)
                self.dp.request(p.ATTACH_UDP, struct.pack("<BBHI", family, i, 4510 + i, 0), s.fileno())

    def close(self):
        self.dp.close()
        for fd in self.tun:
            os.close(fd)
        for s in self.sockets:
            s.close()
        self.space.close()

    def drops(self):
        return self.dp.counters.drops()


def key_of(link, direction, tunnel, epoch, suite):
    """Fixed keys, different for every SA: (key padded to 32, salt)."""
    material = hashlib.sha512(f"{link.name} {direction} {tunnel} {epoch}".encode()).digest()
    return material[:p.KEY_LEN[suite]].ljust(32, b"\0"), material[60:64]


class Link:
    """A link between two gateways, both ends configured and keyed from here."""

    def __init__(self, a, b, tunnels=4, offset=0, family=4, mtu=1438, suite=p.AES_256_GCM, esn=1, interval_ms=100,
                 missed=3, kinds=(p.ATTACHMENT, p.ATTACHMENT), remote_fixed=0):
        self.a, self.b = a, b
        self.name = f"{a.name}-{b.name}"
        self.id = id_of("link", self.name)
        self.tunnels, self.offset, self.family, self.mtu = tunnels, offset, family, mtu
        self.suite, self.esn, self.interval_ms, self.missed = suite, esn, interval_ms, missed
        self.kinds, self.remote_fixed = kinds, remote_fixed
        self.epoch = 0
        a.links.append(self)
        b.links.append(self)
        self.configure()

    def other(self, gateway):
        return self.b if gateway is self.a else self.a

    def body(self, gateway, **changes):
        peer = self.other(gateway)
        fields = dict(link=self.id, peer=peer.id, local=gateway.underlay[self.family],
                      remote=peer.underlay[self.family], peer_overlay4=peer.overlay[4],
                      peer_overlay6=peer.overlay[6], offset=self.offset, tunnels=self.tunnels,
                      kind=self.kinds[0 if gateway is self.a else 1], missed=self.missed, mtu=self.mtu,
                      interval_ms=self.interval_ms, remote_fixed=self.remote_fixed)
        return p.link_set(**{**fields, **changes})

    def configure(self, **changes):
        for gateway in (self.a, self.b):
            gateway.dp.request(p.LINK_SET, self.body(gateway, **changes))

    def spi(self, direction, tunnel, epoch):
        """direction 0: a to b."""
        return 0x10000000 + (int.from_bytes(self.id[:1], "big") << 16) + (epoch << 8) + tunnel * 2 + direction

    def sas(self, direction, epoch):
        return [(t, self.spi(direction, t, epoch), *key_of(self, direction, t, epoch, self.suite))
                for t in range(self.tunnels)]

    def install(self, gateway, way, epoch, **limits):
        """way IN or OUT, as the gateway sees it."""
        direction = 0 if (gateway is self.a) == (way == p.OUT) else 1
        gateway.dp.request(p.SA_INSTALL, p.sa_install(
            self.id, self.other(gateway).dp.boot, epoch, way, self.sas(direction, epoch), suite=self.suite,
            esn=self.esn, **limits))

    def key(self, **limits):
        """One key exchange as designed: b receives, a receives and sends, a switches, b switches."""
        self.epoch += 1
        self.install(self.b, p.IN, self.epoch, **limits)
        self.install(self.b, p.OUT, self.epoch, **limits)
        self.install(self.a, p.IN, self.epoch, **limits)
        self.install(self.a, p.OUT, self.epoch, **limits)
        for gateway in (self.a, self.b):
            gateway.dp.request(p.SA_SWITCH, struct.pack("<16sQ", self.id, self.epoch))
        return self.epoch

    def retire(self, epoch, gateways=None, in_=1, out=1):
        for gateway in gateways or (self.a, self.b):
            gateway.dp.request(p.SA_RETIRE, struct.pack("<16sQBB6x", self.id, epoch, in_, out))

    def states(self, gateway):
        return [t["state"] for (link, _), t in sorted(gateway.dp.counters.tunnels().items()) if link == self.id]

    def wait_up(self, timeout=10):
        for gateway in (self.a, self.b):
            gateway.dp.wait(f"{self.name} up at {gateway.name}",
                            lambda g=gateway: self.states(g) == [p.UP] * self.tunnels, timeout)


def route_pair(a, b, link):
    """FIBs of two gateways with one link between them, and kernel routes to TUN."""
    for own, peer in ((a, b), (b, a)):
        prefixes = [*own.site.values(), own.overlay[4] + "/32", own.overlay[6] + "/128"]
        remote = [*peer.site.values(), peer.overlay[4] + "/32", peer.overlay[6] + "/128"]
        class_ = link.kinds[0 if own is link.a else 1]
        commit(own, [link.id], [(x, 1, 1, []) for x in prefixes] + [(x, 1, 0, [0]) for x in remote],
               [(x, 1, class_, p.LOCAL, 0, 0) for x in prefixes] + [(x, 1, p.SITE, p.SET, 0, 0) for x in remote],
               [([0], None)])
        kernel_routes(own, remote)


def route_chain(a, t, b, link_a, link_b):
    """FIBs of spoke – transit – spoke: t forwards between its two attachments without TUN."""
    spokes = ((a, b, link_a), (b, a, link_b))
    for own, far, link in spokes:
        mine = [*own.site.values(), own.overlay[4] + "/32", own.overlay[6] + "/128"]
        remote = [x for g in (t, far) for x in (*g.site.values(), g.overlay[4] + "/32", g.overlay[6] + "/128")]
        class_ = link.kinds[0 if own is link.a else 1]
        commit(own, [link.id], [(x, 1, 1, []) for x in mine] + [(x, 1, 0, [0]) for x in remote],
               [(x, 1, class_, p.LOCAL, 0, 0) for x in mine] + [(x, 1, p.SITE, p.SET, 0, 0) for x in remote],
               [([0], None)])
        kernel_routes(own, remote)
    mine = [*t.site.values(), t.overlay[4] + "/32", t.overlay[6] + "/128"]
    sources, routes = [(x, 1, 1, []) for x in mine], []
    for i, (spoke, _, link) in enumerate(spokes):
        prefixes = [*spoke.site.values(), spoke.overlay[4] + "/32", spoke.overlay[6] + "/128"]
        sources += [(x, 1, 0, [i]) for x in prefixes]
        for x in prefixes:
            routes += [(x, 1, p.SITE, p.SET, i, 0), (x, 1, p.ATTACHMENT, p.SET, i, 0)]
        kernel_routes(t, prefixes)
    routes += [(x, 1, p.ATTACHMENT, p.LOCAL, 0, 0) for x in mine]
    commit(t, [link_a.id, link_b.id], sources, routes, [([0], None), ([1], None)])


def commit(gateway, links, sources, routes, sets):
    gateway.generation += 1
    gateway.dp.commit_fib(gateway.generation, links, sources, routes, sets)


def kernel_routes(gateway, prefixes):
    for x in prefixes:
        family = ipaddress.ip_network(x).version
        gateway.space.ip("route", "replace", x, "dev", "hawser0", "src", gateway.address[family])


def underlay(gateways, mtu):
    """Joins gateways by a chain of veth pairs, addresses on-link, each reachable from its neighbours."""
    for left, right in zip(gateways, gateways[1:]):
        here, there = f"u-{right.name}", f"u-{left.name}"
        left.space.veth(here, right.space, there, mtu)
        for gateway, interface, peer in ((left, here, right), (right, there, left)):
            gateway.space.ip("addr", "add", gateway.underlay[4] + "/32", "dev", interface)
            gateway.space.ip("addr", "add", gateway.underlay[6] + "/128", "dev", interface, "nodad")
            gateway.space.ip("route", "add", peer.underlay[4], "dev", interface, "src", gateway.underlay[4])
            gateway.space.ip("route", "add", peer.underlay[6], "dev", interface, "src", gateway.underlay[6])
