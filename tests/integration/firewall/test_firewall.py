"""A site's rules at its gateway: what they let through and refuse, over changes, restarts and meddling hands."""
import contextlib
import socket
import subprocess
import sys
import threading
import unittest

import daemons
import labs
import measure
import netns
from expect import wait_for
from rest import RestError
from traffic import Stream, reaches

TOPOLOGY = "chain"
OPTIONS = {"agent_settings": {"confirm_timeout_seconds": 5}}

GATEWAY = "gw-b1"
OPEN, CLOSED = 8080, 8081
# Goes on as argv with what the agent's unit forbids: families of sockets, memory that becomes executable.
CONFINED = r"""
import ctypes, os, socket, sys
libc, seccomp = ctypes.CDLL(None, use_errno=True), ctypes.CDLL("libseccomp.so.2")
families = {getattr(socket, name) for name in sys.argv[1].split()}
assert libc.prctl(65, 1, 0, 0, 0) == 0  # PR_SET_MDWE, PR_MDWE_REFUSE_EXEC_GAIN
class Compare(ctypes.Structure):
    _fields_ = [("arg", ctypes.c_uint), ("op", ctypes.c_int), ("a", ctypes.c_uint64), ("b", ctypes.c_uint64)]
seccomp.seccomp_init.restype = ctypes.c_void_p
filter = ctypes.c_void_p(seccomp.seccomp_init(0x7fff0000))  # allow
for family in set(range(64)) - families:
    only = (Compare * 1)(Compare(0, 4, family, 0))  # the first argument equals it: EAFNOSUPPORT
    assert seccomp.seccomp_rule_add_array(filter, 0x00050061, seccomp.seccomp_syscall_resolve_name(b"socket"), 1, only) == 0
assert seccomp.seccomp_load(filter) == 0
os.execv(sys.argv[2], sys.argv[2:])
"""
TABLE = ("nft", "list", "table", "inet", "hawser_firewall")


class Echo:
    """A TCP server on a node that sends back what it gets, on every address of the node."""

    def __init__(self, node, port):
        with netns.entered(netns.PREFIX + node):
            self.server = socket.create_server(("::", port), family=socket.AF_INET6, dualstack_ipv6=True)
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self.server.accept()
                threading.Thread(target=self.serve, args=[connection], daemon=True).start()

    def serve(self, connection):
        with connection, contextlib.suppress(OSError):
            while data := connection.recv(100):
                connection.sendall(data)

    def close(self):
        self.server.shutdown(socket.SHUT_RDWR)
        self.server.close()


def talks(connection):
    connection.sendall(b"ping")
    return connection.recv(100) == b"ping"


class Firewall(unittest.TestCase):
    def setUp(self):
        self.lab = labs.current()
        self.near, self.far = measure.ends(self.lab)
        self.site = self.lab.state["nodes"][GATEWAY]["site_id"]
        self.gateway = "/api/v1/gateways/" + self.lab.state["nodes"][GATEWAY]["gateway_id"]
        for port in (OPEN, CLOSED):
            self.addCleanup(Echo(self.far, port).close)

    # ---- the API ----

    def make(self, kind, **members):
        made = self.lab.api.post(f"/api/v1/{kind}", {"site_id": self.site, **members})
        path = f"/api/v1/{kind}/{made['id']}"
        self.addCleanup(self.remove, path)
        return path, made

    def remove(self, path):
        if self.lab.api.raw("GET", path).status == 200:
            self.lab.api.delete(path)
        self.settle()

    def ruleset(self, *rules, base="deny"):
        path, _ = self.make("rulesets", name="edge", base_policy=base)
        if rules:
            self.insert(path, *rules)
        self.settle()
        return path

    def insert(self, path, *rules, position=None):
        return self.lab.api.post(path + "/rules", {"position": position, "rules": list(rules)})["items"]

    def settle(self):
        """Until the gateway has its newest config in force."""
        wanted = self.lab.api.get(self.gateway)["revisions"]["config"]
        wait_for("the config to be in force", lambda: self.lab.status(GATEWAY)["revisions"]["in_force"] >= wanted, 15, 0.05)

    def packets(self, path):
        return self.lab.api.get(path)["counters"]["packets"]

    # ---- traffic ----

    def address(self, family):
        return measure.addresses(self.lab, family)[0]

    def connect(self, family, port, timeout=5.0):
        connection = netns.connect(netns.PREFIX + self.near, (self.address(family), port), timeout)
        self.addCleanup(connection.close)
        return connection

    def refused(self, family, port):
        """A dropped SYN: silence, not an answer."""
        with self.assertRaises(TimeoutError):
            self.connect(family, port, 0.4)

    def table(self):
        """The kernel's table as text, "" when there is none."""
        return self.lab.exec(GATEWAY, *TABLE, check=False)

    # ---- tests ----

    def test_allow_and_deny(self):
        path = self.ruleset({"name": "web", "action": "allow", "protocol": "tcp", "destination_ports": [str(OPEN)]},
                            {"name": "ping", "action": "allow", "protocol": "icmp"})
        web, ping = self.lab.api.list(path + "/rules")
        for family in (4, 6):
            with self.subTest(family=family):
                self.assertTrue(talks(self.connect(family, OPEN)))
                self.refused(family, CLOSED)
                self.assertTrue(reaches(self.lab, family))
        rules = [f"{path}/rules/{rule['id']}" for rule in (web, ping)]
        wait_for("the counters", lambda: [self.packets(r) for r in rules] == [2, 2], 15)
        seen = self.lab.api.get(path)
        self.assertGreaterEqual(seen["counters"]["base"]["packets"], 2)
        self.assertGreater(seen["counters"]["established"]["packets"], 10)
        self.assertEqual([g["state"] for g in seen["gateways"]], ["applied"])
        self.assertGreater(seen["gateways"][0]["conntrack_entries"], 0)
        self.lab.api.delete(path)
        self.settle()
        self.assertEqual(self.table(), "")
        self.assertTrue(talks(self.connect(4, CLOSED)))

    def test_established_connections_outlive_a_change(self):
        path = self.ruleset({"name": "web", "action": "allow", "protocol": "tcp", "destination_ports": [str(OPEN)]})
        old = [self.connect(family, OPEN) for family in (4, 6)]
        self.assertTrue(all(talks(c) for c in old))
        self.insert(path, {"name": "none", "action": "deny", "protocol": "tcp", "destination_ports": [str(OPEN - 1)]}, position=1)
        rule = self.lab.api.list(path + "/rules")[1]
        self.lab.api.patch(f"{path}/rules/{rule['id']}", {"action": "deny"})
        self.settle()
        self.assertTrue(all(talks(c) for c in old))
        self.refused(4, OPEN)
        self.refused(6, OPEN)

    def test_address_groups(self):
        near = self.lab.state["nodes"][self.near]["addresses"]["site"]
        path, group = self.make("address-groups", name="friends", prefixes=["203.0.113.0/24", f"{near[1]}/128"])
        self.ruleset({"name": "friends", "action": "allow", "source": {"group_ids": [group["id"]]}})
        self.assertTrue(talks(self.connect(6, OPEN)))
        self.refused(4, OPEN)
        self.lab.api.patch(path, {"prefixes": [f"{near[0]}/32"]})
        self.settle()
        self.assertTrue(talks(self.connect(4, OPEN)))
        self.refused(6, OPEN)

    def test_an_agent_restarts(self):
        """The table stands while nobody is there, with its counters; the agent that comes doesn't touch it."""
        self.ruleset({"name": "stream", "action": "allow", "protocol": "udp"})
        with Stream(self.lab) as stream:
            self.lab.kill(GATEWAY, "agent")
            before = self.table()
            self.refused(4, CLOSED)
            self.lab.start(GATEWAY, "agent")
            wait_for("the agent", lambda: self.lab.status(GATEWAY)["controller"]["state"] == "connected", 30)
            self.settle()
            self.refused(4, CLOSED)
            self.assertLess(stream.stop()["worst"], 1)
        handle = [line for line in before.splitlines() if "comment" in line][:1]
        self.assertTrue(handle)
        self.assertIn(handle[0], self.table())
        self.lab.wait_links()

    def test_the_table_is_taken_away(self):
        self.ruleset()
        self.refused(4, OPEN)
        self.lab.exec(GATEWAY, "nft", "delete", "table", "inet", "hawser_firewall")
        wait_for("the table again", self.table, 15)
        self.assertIn("somebody took the table or its rules away", daemons.log_tail(GATEWAY, "agent", 20))
        self.refused(4, OPEN)

    def test_purge_takes_the_table(self):
        self.ruleset()
        self.lab.kill(GATEWAY, "agent")
        self.assertNotEqual(self.table(), "")
        self.lab.exec(GATEWAY, *daemons.as_user("agent", daemons.AGENT_CAPS), f"{daemons.BIN_DIR}/hawser-agent", "--purge",
                      "--config", "/etc/hawser/agent.json")
        self.assertEqual(self.table(), "")
        self.lab.start(GATEWAY, "agent")
        wait_for("the table again", self.table, 15)
        self.lab.wait_links()
        self.refused(4, OPEN)

    def test_what_the_unit_forbids_is_not_needed(self):
        """The lab has its capabilities already; here are the rest of its limits that libnftables could meet."""
        unit = dict(line.split("=", 1) for line in (daemons.ROOT / "build/release/packaging/hawser-agent.service").read_text().splitlines()
                    if "=" in line)
        self.assertEqual(unit["MemoryDenyWriteExecute"], "yes")
        self.assertEqual(unit["AmbientCapabilities"].lower().split(), ["cap_" + c for c in daemons.AGENT_CAPS])
        self.lab.kill(GATEWAY, "agent")
        agent = self.lab.popen(GATEWAY, *daemons.as_user("agent", daemons.AGENT_CAPS), sys.executable, "-c", CONFINED,
                               unit["RestrictAddressFamilies"], f"{daemons.BIN_DIR}/hawser-agent", "--config", "/etc/hawser/agent.json",
                               stderr=subprocess.PIPE, text=True)
        try:
            path = self.ruleset({"name": "ping", "action": "allow", "protocol": "icmp"})
            self.assertIn("ip saddr", self.table())
            self.refused(4, OPEN)
            self.lab.api.delete(path)
            self.settle()
            self.assertEqual(self.table(), "")
        finally:
            agent.terminate()
            agent.communicate(timeout=10)
            self.lab.start(GATEWAY, "agent")
        self.lab.wait_links()

    def test_the_config_goes_with_the_machine(self):
        """After a boot the rules stand before anything crosses."""
        self.ruleset({"name": "ping", "action": "allow", "protocol": "icmp"})
        self.lab.reboot(GATEWAY)
        wait_for("traffic again", lambda: reaches(self.lab), 40)
        self.refused(4, OPEN)
        self.lab.wait_links()

    def test_rules_that_cannot_be(self):
        path = self.ruleset({"name": "tcp", "action": "allow", "protocol": "tcp"})
        for rule, word in (({"protocol": "tcp", "destination_ports": ["22"]}, "tcp"),
                           ({"source": {"prefixes": ["10.1.0.0/16"]}, "destination": {"prefixes": ["fd02::/48"]}}, "families"),
                           ({"source": {"prefixes": ["192.168.7.0/24"]}, "destination": {"prefixes": ["192.168.8.0/24"]}}, "site")):
            with self.subTest(rule), self.assertRaises(RestError) as refused:
                self.insert(path, {"name": "more", "action": "deny", **rule})
            self.assertEqual(refused.exception.status, 422)
            self.assertIn(word, refused.exception.problem["detail"])
            self.assertTrue(refused.exception.problem["field"])
