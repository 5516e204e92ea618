"""What the packet engine and its agent say to each other."""
import mmap
import os
import struct
import subprocess
import time
import unittest

import dp_proto as p
from driver import Dataplane, Refused, kernel_routes
from engine_case import EngineTest

TOPOLOGY = None


class Seam(EngineTest):
    def test_dump_shows_everything(self):
        a, b, link = self.pair(tunnels=4)
        dump = a.dp.dump()
        self.assertEqual([struct.unpack("<HHI", x) for x in dump[p.DUMP_TUN]], [(0, 2, 1500), (1, 2, 1500)])
        sockets = {struct.unpack("<BBH4x", x) for x in dump[p.DUMP_UDP]}
        self.assertEqual(sockets, {(f, i, 4510 + i) for f in (4, 6) for i in range(a.ports)})
        self.assertEqual(len(dump[p.DUMP_NODE]), 1)
        self.assertEqual(dump[p.DUMP_NODE][0][:16], a.id)
        self.assertEqual([x[:132] for x in dump[p.DUMP_LINK]], [link.body(a)])
        self.assertEqual(list(dump[p.DUMP_LINK][0][132:136]), [p.UP] * 4)
        self.assertEqual(struct.unpack("<Q", dump[p.DUMP_FIB][0]), (a.generation,))
        sas = a.dp.sas()
        self.assertEqual({(s["tunnel"], s["direction"], s["spi"], s["epoch"], s["peer_boot"], s["active"])
                          for s in sas},
                         {(t, way, link.spi(d, t, 1), 1, b.dp.boot, 1) for t in range(4)
                          for way, d in ((p.OUT, 0), (p.IN, 1))})

    def test_a_new_agent_replaces_the_old_and_traffic_goes_on(self):
        a, b, link = self.pair(tunnels=2)
        before, old = a.dp.dump(), a.dp.connection
        probes = a.dp.counters.tunnels()[link.id, 0]["probes_answered"]
        old.close()
        self.assert_pings(a, b)
        a.dp.connect()
        second = a.dp.connection
        a.dp.connect()
        second.settimeout(5)
        while second.recv(65535):
            pass
        second.close()
        after = a.dp.dump()
        for kind in (p.DUMP_TUN, p.DUMP_UDP, p.DUMP_NODE, p.DUMP_LINK, p.DUMP_FIB):
            self.assertEqual(after[kind], before[kind])
        a.dp.wait("probes go on", lambda: a.dp.counters.tunnels()[link.id, 0]["probes_answered"] > probes + 2)
        self.assertEqual(link.states(a), [p.UP] * 2)

    def test_only_the_agents_user_may_connect(self):
        dp = Dataplane("x", 1)
        self.addCleanup(dp.close)
        os.chmod(dp.socket_path, 0o777)
        os.chmod(dp.folder, 0o755)
        code = ("import socket,sys; s=socket.socket(socket.AF_UNIX,socket.SOCK_SEQPACKET); s.settimeout(5)\n"
                f"s.connect({str(dp.socket_path)!r}); sys.exit(0 if s.recv(100)==b'' else 1)")
        subprocess.run(["setpriv", "--reuid=12345", "--clear-groups", "/usr/bin/python3", "-c", code], check=True,
                       timeout=20)
        self.assertEqual(dp.dump().keys(), {p.DUMP_FIB})

    def test_malformed_messages_are_answered_and_change_nothing(self):
        dp = Dataplane("x", 1)
        self.addCleanup(dp.close)
        before = dp.dump()
        for kind, body in ((p.LINK_SET, bytes(132)), (p.LINK_SET, bytes(5)), (p.SA_INSTALL, bytes(88)), (77, b""),
                           (p.HELLO, bytes(80)), (p.NODE_SET, bytes(72))):
            with self.assertRaises(Refused):
                dp.request(kind, body)
        with open("/dev/null", "rb") as f:
            for body in (bytes(8), struct.pack("<HHI", 0, 1, 1500)):
                with self.assertRaises(Refused):
                    dp.request(p.ATTACH_TUN, body, f.fileno())
            with self.assertRaises(Refused):
                dp.request(p.ATTACH_UDP, struct.pack("<BBHI", 4, 0, 4510, 0), f.fileno())
            with self.assertRaises(Refused):
                dp.request(p.FIB_COMMIT, struct.pack("<QQ", 1, 40), f.fileno())
        self.assertEqual(dp.dump(), before)

    def test_the_counters_cannot_be_written_by_the_agent(self):
        dp = Dataplane("x", 1)
        self.addCleanup(dp.close)
        with self.assertRaises(PermissionError):
            mmap.mmap(dp.counters_fd, 4096, mmap.MAP_SHARED, mmap.PROT_READ | mmap.PROT_WRITE)
        with self.assertRaises(OSError):
            os.write(dp.counters_fd, b"x")
        with self.assertRaises(PermissionError):
            with open(f"/proc/self/fd/{dp.counters_fd}", "r+b") as f:
                f.write(b"x")
                f.flush()
                mmap.mmap(f.fileno(), 4096)

    def test_a_lost_tun_is_missing_in_the_dump_and_can_be_replaced(self):
        a, b, _ = self.pair(tunnels=2)
        for fd in a.tun:
            os.close(fd)
        a.space.ip("link", "del", "hawser0")
        a.dp.wait("queues gone", lambda: p.DUMP_TUN not in a.dp.dump())
        busy = a.dp.counters.total("heartbeat")
        time.sleep(0.3)
        self.assertLess(a.dp.counters.total("heartbeat") - busy, 100, "turns without cause")
        a.tun = a.space.open_tun("hawser0", 2, 1500)
        for i, fd in enumerate(a.tun):
            a.dp.request(p.ATTACH_TUN, struct.pack("<HHI", i, 2, 1500), fd)
        kernel_routes(a, [*b.site.values()])
        self.assert_pings(a, b)

    def test_link_changes_leave_other_tunnels_alone(self):
        a, b, link = self.pair(tunnels=2)
        since = [t["state_mono_ns"] for t in a.dp.counters.tunnels().values()]
        a.dp.request(p.LINK_SET, link.body(a, tunnels=3, mtu=1400, interval_ms=200))
        a.dp.request(p.LINK_SET, link.body(a, tunnels=2, mtu=1400))
        self.assertEqual([t["state_mono_ns"] for t in a.dp.counters.tunnels().values()], since)
        self.assert_pings(a, b)
        a.dp.request(p.LINK_REMOVE, link.id)
        self.assertEqual(a.dp.counters.tunnels(), {})
        self.assertNotIn(p.DUMP_SA, a.dp.dump())


if __name__ == "__main__":
    unittest.main()
