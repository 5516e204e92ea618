"""What an agent does by itself: renews its certificate, puts right what others change, learns route MTUs, leaves no trace."""
import json
import pathlib
import unittest

import daemons
import labs
import netns
import pki
from expect import wait_for
from traffic import Stream, reaches

TOPOLOGY = "chain"
OPTIONS = {"agent_settings": {"confirm_timeout_seconds": 5}}
AGENT = "/run/hawser-lab/bin/hawser-agent"


class Agent(unittest.TestCase):
    def setUp(self):
        """Each test begins with the MTUs that an underlay of 1500 gives."""
        self.lab = labs.current()
        wait_for("equal MTUs at both ends", lambda: (self.mtu("gw-a1", "10.2.0.0/16"), self.mtu("gw-b1", "10.1.0.0/16"))
                 == (1438, 1438), 20)

    def ip(self, gateway, *words):
        return json.loads(self.lab.exec(gateway, "ip", "-j", *words) or "[]")

    def route(self, gateway, prefix):
        routes = self.ip(gateway, "route", "show", "table", "18551", prefix, "metric", "100")
        return routes[0] if routes else {}

    def mtu(self, gateway, prefix):
        metrics = self.route(gateway, prefix).get("metrics") or [{}]
        return metrics[0].get("mtu")

    def test_certificate_is_renewed_from_day_10_on(self):
        """With one of the lab's CA that began eleven days ago; nothing is keyed anew by it."""
        directory = pathlib.Path(self.lab.state["nodes"]["gw-a1"]["state_dir"])
        gateway = self.lab.state["nodes"]["gw-a1"]["gateway_id"]
        key = pki.serialization.load_pem_private_key((directory / "identity.key").read_bytes(), None)
        old = pki.Authority(self.lab.state["controller"]["state_dir"]).issue(pki.gateway_uri(gateway), key, -11, 19)
        epochs = {k["link_id"]: k["epoch"] for k in self.lab.status("gw-a1")["links"]}
        self.lab.kill("gw-a1", "agent")
        (directory / "identity.pem").write_bytes(pki.cert_pem(old))
        self.lab.start("gw-a1", "agent")

        def renewed():
            return self.lab.status("gw-a1")["certificate"]["serial"] not in (f"{old.serial_number:x}",
                                                                             f"0{old.serial_number:x}")
        wait_for("a new certificate", renewed, 20)
        new = pki.x509.load_pem_x509_certificate((directory / "identity.pem").read_bytes())
        self.assertEqual((new.not_valid_after - new.not_valid_before).days, 30)
        self.assertEqual(new.public_key().public_numbers(), key.public_key().public_numbers())
        wait_for("contact with it", lambda: self.lab.status("gw-a1")["controller"]["state"] == "connected", 20)
        self.assertEqual({k["link_id"]: k["epoch"] for k in self.lab.status("gw-a1")["links"]}, epochs)

    def with_record(self, name, record, content):
        """Other tests watch for whom the gateway speaks to."""
        self.lab.kill(name, "agent")
        record.write_text(json.dumps(content))
        self.lab.start(name, "agent")
        self.lab.wait_links()

    def test_the_address_that_answers_is_kept(self):
        """Of three addresses of the controller one refuses, one is silent, the last answers and stands first from then on."""
        record = pathlib.Path(self.lab.state["nodes"]["gw-t1"]["state_dir"]) / "identity.json"
        known = json.loads(record.read_text())
        good = known["urls"][0]
        bad = [good.replace(":8444", ":8445"), "https://192.0.2.250:8444"]
        self.lab.kill("gw-t1", "agent")
        owner = record.stat()
        self.addCleanup(self.with_record, "gw-t1", record, known)
        record.write_text(json.dumps({**known, "urls": [*bad, good]}))
        self.lab.start("gw-t1", "agent")
        wait_for("contact", lambda: self.lab.status("gw-t1")["controller"]["state"] == "connected", 40)
        self.assertEqual(self.lab.status("gw-t1")["controller"]["url"], good)
        self.assertEqual(json.loads(record.read_text())["urls"], [good, *bad])
        self.assertEqual((record.stat().st_uid, record.stat().st_mode), (owner.st_uid, owner.st_mode))

    def test_what_others_change_is_put_right(self):
        changes = [
            ("ip", "rule", "del", "pref", "18551"),
            ("ip", "-6", "rule", "del", "pref", "18550"),
            ("ip", "-6", "rule", "del", "pref", "18551"),
            ("ip", "route", "flush", "table", "18551"),
            ("ip", "link", "set", "hawser0", "down"),
            ("ip", "addr", "flush", "dev", "hawser0"),
            ("ip", "link", "set", "hawser0", "mtu", "1290"),
        ]
        before = self.picture("gw-a1")
        for change in changes:
            with self.subTest(" ".join(change)):
                self.lab.exec("gw-a1", *change)
                wait_for("the former state", lambda: self.picture("gw-a1") == before, 10)
        self.assertTrue(reaches(self.lab))

    def picture(self, gateway):
        """All that an agent owns in the kernel, but for the number of hawser0."""
        lists = [self.ip(gateway, *words) for words in (
            ("rule",), ("-6", "rule"), ("route", "show", "table", "18551"), ("-6", "route", "show", "table", "18551"))]
        addresses = sorted(a["local"] for x in self.ip(gateway, "addr", "show", "dev", "hawser0") if x
                           for a in x["addr_info"])
        return [sorted(json.dumps(x, sort_keys=True) for x in found) for found in lists] + [addresses]

    def test_route_mtu_follows_the_whole_chain(self):
        """A narrow network behind gw-b1 is known at gw-a1, two links away, and through a restart of every agent."""
        wide = self.mtu("gw-a1", "10.2.0.0/16")
        self.assertEqual(wide, self.lab.status("gw-a1")["links"][0]["mtu"])
        self.lab.exec("gw-b1", "ip", "link", "set", "site0", "mtu", "1300")
        try:
            wait_for("1300 at the transit", lambda: self.mtu("gw-t1", "10.2.0.0/16") == 1300, 10)
            wait_for("1300 at the other end", lambda: self.mtu("gw-a1", "10.2.0.0/16") == 1300, 10)
            self.assertEqual(self.mtu("gw-a1", "10.3.0.0/16"), wide)
            for gateway in self.lab.gateways:
                self.lab.restart(gateway, "agent")
            wait_for("1300 after the restarts", lambda: self.mtu("gw-a1", "10.2.0.0/16") == 1300, 20)
        finally:
            self.lab.exec("gw-b1", "ip", "link", "set", "site0", "mtu", "1500")
        wait_for("the former MTU", lambda: self.mtu("gw-a1", "10.2.0.0/16") == wide, 20)

    def test_narrower_underlay_is_noticed(self):
        wide = self.mtu("gw-a1", "10.3.0.0/16")
        with Stream(self.lab) as stream:
            self.lab.exec("gw-a1", "ip", "link", "set", "underlay0", "mtu", "1400")
            wait_for("a smaller route MTU", lambda: self.mtu("gw-a1", "10.3.0.0/16") == wide - 100, 10)
            self.lab.exec("gw-a1", "ip", "link", "set", "underlay0", "mtu", "1500")
            wait_for("the former route MTU", lambda: self.mtu("gw-a1", "10.3.0.0/16") == wide, 10)
            self.assertLess(stream.stop()["worst"], 2)

    def test_a_config_that_cannot_be_kept_is_told(self):
        """Green would say that the gateway does what the API shows."""
        path = next(f"/api/v1/connections/{c['id']}" for c in self.lab.api.list("/api/v1/connections")
                    if c["name"] == "site-a-site-t")
        self.lab.exec("gw-a1", "mount", "-o", "remount,bind,ro", "/var/lib/hawser")
        try:
            self.lab.api.patch(path, {"tunnels": 7})
            wait_for("the problem at the gateway", lambda: any(
                "config not taken" in p and "Read-only" in p for p in self.lab.status("gw-a1")["system"]["problems"]), 20)
            wait_for("the API to tell it", lambda: "config not taken" in self.seen("gw-a1")["reason"], 20)
            self.assertEqual(self.seen("gw-a1")["state"], "degraded")
            self.assertTrue(reaches(self.lab))
        finally:
            self.lab.exec("gw-a1", "mount", "-o", "remount,bind,rw", "/var/lib/hawser")
            self.lab.api.patch(path, {"tunnels": 8})
        wait_for("the gateway to follow again", lambda: self.seen("gw-a1")["state"] == "up", 90)
        self.lab.wait_links()

    def seen(self, name):
        return next(g["status"] for g in self.lab.api.list("/api/v1/gateways") if g["name"] == name)

    def test_purge_leaves_no_trace_and_a_start_brings_all_back(self):
        before = self.picture("gw-b1")
        purge = [*daemons.as_user("agent", daemons.AGENT_CAPS), AGENT, "--purge", "--config", "/etc/hawser/agent.json"]
        with self.assertRaisesRegex(netns.LabError, "another hawser-agent runs"):
            self.lab.exec("gw-b1", *purge)
        self.assertEqual(self.picture("gw-b1"), before)
        self.lab.kill("gw-b1", "agent")
        self.lab.exec("gw-b1", *purge)
        self.assertEqual(self.lab.exec("gw-b1", "sysctl", "-n", "net.ipv4.ip_forward",
                                       "net.ipv4.conf.underlay0.rp_filter").split(), ["0", "1"])
        self.assertEqual(self.lab.exec("gw-b1", "sh", "-c", "ip rule; ip -6 rule").count("proto 87"), 0)
        self.assertEqual(self.lab.exec("gw-b1", "sh", "-c", "ip route show table 18551 2>/dev/null; "
                                       "ip -6 route show table 18551 2>/dev/null").strip(), "")
        with self.assertRaises(Exception):
            self.lab.exec("gw-b1", "ip", "link", "show", "hawser0")
        self.lab.start("gw-b1", "agent")
        self.lab.wait_links()
        self.assertEqual(self.picture("gw-b1"), before)
        wait_for("traffic", lambda: reaches(self.lab), 10)

    def test_status_for_people_and_scripts(self):
        text = self.lab.exec("gw-t1", AGENT, "status", "--config", "/etc/hawser/agent.json")
        self.assertIn("gateway: gw-t1, site site-t\n", text)
        self.assertEqual(text.count("\nlink: "), 2)
        self.assertIn("  tunnels:      8 of 8 up", text)
        rows = [line.split("\t") for line in self.lab.exec(
            "gw-t1", AGENT, "status", "--dump", "--config", "/etc/hawser/agent.json").splitlines()]
        self.assertEqual((len(rows), {len(r) for r in rows}), (16, {14}))
        self.assertEqual({r[4] for r in rows}, {"up"})

    def test_unknown_words_are_explained(self):
        for words in (["frobnicate"], ["--frobnicate"], ["status", "--config", "/nonexistent.json"]):
            with self.subTest(words), self.assertRaises(Exception) as raised:
                self.lab.exec("gw-a1", AGENT, *words)
            self.assertIn(words[-1], str(raised.exception))
        self.assertIn("--token-file", self.lab.exec("gw-a1", AGENT, "--help"))


if __name__ == "__main__":
    unittest.main()
