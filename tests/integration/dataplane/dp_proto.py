"""Messages of common/dp_proto.h and counters of common/dp_stats.h, written down a second time."""
import ipaddress
import re
import struct

VERSION = 1
(ATTACH_TUN, ATTACH_UDP, NODE_SET, LINK_SET, LINK_REMOVE, SA_INSTALL, SA_SWITCH, SA_RETIRE, FIB_COMMIT, DUMP,
 QUIESCE) = range(1, 12)
HELLO, ACK, TUNNEL_STATE, SA_FIRST_RX, SA_SOFT_LIMIT, PEER_MOVED, SA_EXPIRED = range(64, 71)
DUMP_TUN, DUMP_UDP, DUMP_NODE, DUMP_LINK, DUMP_SA, DUMP_FIB, DUMP_END = range(80, 87)

SITE, ATTACHMENT, PEERING, BYPASS = range(4)
NO_SA, PROBING, UP, DOWN = range(4)
REASONS = ["none", "answered", "no_answer", "no_sa", "peer_boot", "disabled"]
IN, OUT = 0, 1
AES_256_GCM, AES_128_GCM = 1, 2
KEY_LEN = {AES_256_GCM: 32, AES_128_GCM: 16}
LOCAL, SET, UNREACHABLE = 1, 2, 3
BUCKETS = 4096
TUNNELS_MAX = 50

HEADER = struct.Struct("<HHIII")
TUNNEL_EVENT = struct.Struct("<16sHBBIQ")
SA_EVENT = struct.Struct("<16sQIHBB")
MOVED = struct.Struct("<16s20sHH")
LINK = struct.Struct("<16s16s20s20s20s20sHBBBBBBIII")
DUMPED_SA = struct.Struct("<16s16sQQIHBBBB6x32s")


def message(kind, seq, body=b""):
    return HEADER.pack(VERSION, kind, HEADER.size + len(body), seq, 0) + body


def address(text):
    if text is None:
        return bytes(20)
    a = ipaddress.ip_address(text)
    return bytes([a.version, 0, 0, 0]) + a.packed.ljust(16, b"\0")


def address_text(raw):
    if raw[0] == 0:
        return None
    return str(ipaddress.ip_address(raw[4:8] if raw[0] == 4 else raw[4:20]))


def node_set(gateway, overlay4, overlay6, flow_seed, tunnel_seed):
    return struct.pack("<16s20s20sQQ", gateway, address(overlay4), address(overlay6), flow_seed, tunnel_seed)


def link_set(link, peer, local, remote, peer_overlay4, peer_overlay6, port_base=4510, offset=0, tunnels=1,
             kind=ATTACHMENT, enabled=1, remote_fixed=0, missed=3, mtu=1438, interval_ms=100):
    return LINK.pack(link, peer, address(local), address(remote), address(peer_overlay4), address(peer_overlay6),
                     port_base, offset, tunnels, kind, enabled, remote_fixed, missed, mtu, interval_ms, 0)


def sa_install(link, peer_boot, epoch, direction, sas, suite=AES_256_GCM, esn=1, window=8192, soft_bytes=0,
               hard_bytes=0, soft_packets=0, hard_packets=0, hard_seconds=0, peer_cert=bytes(32)):
    """sas: (tunnel, spi, key, salt) each."""
    head = struct.pack("<16s16s32sQQQQQIIBBBBI", link, peer_boot, peer_cert, epoch, soft_bytes, hard_bytes, soft_packets,
                       hard_packets, hard_seconds, window, direction, suite, esn, len(sas), 0)
    return head + b"".join(struct.pack("<HHI32s4s", tunnel, 0, spi, key, salt) for tunnel, spi, key, salt in sas)


def prefix(text):
    net = ipaddress.ip_network(text)
    return struct.pack("<16sBB", net.network_address.packed, net.version, net.prefixlen)


def fib(generation, links, sources, routes, sets):
    """sources: (prefix, domain, local, [link index]); routes: (prefix, domain, class, kind, set, mtu);
    sets: ([link index], None or the buckets' member indexes)."""
    source_links, members = [], []
    out_sources = out_sets = b""
    for text, domain, local, by in sources:
        out_sources += prefix(text) + struct.pack("<HB3xII", domain, local, len(source_links), len(by))
        source_links += by
    out_routes = b"".join(prefix(text) + struct.pack("<HBBHII", domain, class_, kind, 0, set_, mtu)
                          for text, domain, class_, kind, set_, mtu in routes)
    for of, buckets in sets:
        if buckets is None:
            buckets = [i % len(of) for i in range(BUCKETS)]
        out_sets += struct.pack("<II", len(members), len(of)) + bytes(buckets)
        members += of
    head = struct.pack("<IIQIIIIII", 0x48574642, VERSION, generation, len(links), len(sources), len(source_links),
                       len(routes), len(sets), len(members))
    return (head + b"".join(links) + out_sources + struct.pack(f"<{len(source_links)}I", *source_links) +
            out_routes + out_sets + b"".join(struct.pack("<II", m, 100) for m in members))


def drop_names(root):
    """Order of the reasons, from the table itself."""
    text = (root / "common" / "drop_reason.h").read_text()
    return re.findall(r'X\(DROP_\w+, "(\w+)"', text)


WORKER_FIELDS = ["heartbeat", "heartbeat_mono_ns", "busy_ns", "tun_reads", "tun_read_bytes", "tun_writes",
                 "tun_write_bytes", "udp_reads", "udp_read_bytes", "udp_writes", "udp_write_bytes", "segments_in",
                 "segments_out", "handoff_in", "handoff_out", "gso_splits", "outer_fragmented", "tid"]
TUNNEL_FIELDS = ["state_mono_ns", "tx_packets", "tx_inner_bytes", "tx_wire_bytes", "rx_packets", "rx_inner_bytes",
                 "rx_wire_bytes", "probes_sent", "probes_answered", "probes_lost", "probes_reflected", "rtt_us_last",
                 "rtt_us_min", "rtt_us_sum", "last_rx_mono_ns", "tx_epoch", "rx_epoch", "mtu", "auth_failures",
                 "replays"]


class Counters:
    """The shared memory as dictionaries."""

    def __init__(self, memory, drops):
        self.memory = memory
        self.names = drops
        (self.magic, self.version, self.boot, self.n_workers, self.worker_at, self.worker_stride, self.n_tunnels,
         self.tunnel_at, self.tunnel_stride) = struct.unpack_from("<II16sIIIIII", memory, 0)

    def worker(self, i):
        at = self.worker_at + i * self.worker_stride
        values = struct.unpack_from(f"<{len(WORKER_FIELDS)}Q", self.memory, at)
        return dict(zip(WORKER_FIELDS, values))

    def total(self, field):
        return sum(self.worker(i)[field] for i in range(self.n_workers))

    def drops(self):
        """Reason -> count over all workers, those at zero left out."""
        found = {}
        for i in range(self.n_workers):
            at = self.worker_at + i * self.worker_stride + 8 * len(WORKER_FIELDS)
            for name, n in zip(self.names, struct.unpack_from(f"<{len(self.names)}Q", self.memory, at)):
                if n:
                    found[name] = found.get(name, 0) + n
        return found

    def tunnels(self):
        """(link id, tunnel) -> fields, of slots in use."""
        found = {}
        for i in range(self.n_tunnels):
            at = self.tunnel_at + i * self.tunnel_stride
            used, tunnel, worker, link, state, reason = struct.unpack_from("<IHH16sII", self.memory, at)
            if used:
                values = struct.unpack_from(f"<{len(TUNNEL_FIELDS)}Q", self.memory, at + 32)
                found[link, tunnel] = dict(zip(TUNNEL_FIELDS, values), worker=worker, state=state, reason=reason)
        return found
