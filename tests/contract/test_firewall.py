"""Rulesets, rules and address groups: what they say stands in the site's gateways' configs, what gateways report comes back,
and rules that no packet could meet are refused. The answers are judged by the OpenAPI document."""
import subprocess
import uuid

from controller import request
from openapi import Document
from test_agent_api import Base


class Firewall(Base):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.document = None

    def setUp(self):
        super().setUp()
        self.edge = self.site("branch", "10.1.0.0/16", "fd01::/64")
        self.gateway = self.enrolled(self.edge, "gw-b1", "10.1.0.1")
        self.set = self.make("rulesets", name="branch-edge", site_id=self.edge["id"], base_policy="deny")
        self.path = f"rulesets/{self.set['id']}"

    def tearDown(self):
        for kind in ("rulesets", "address-groups"):
            for item in self.api("GET", kind).json["items"]:
                self.assertEqual(self.api("DELETE", f"{kind}/{item['id']}").status, 204)
        super().tearDown()

    def api(self, method, path, body=None, **headers):
        reply = super().api(method, path, body, **headers)
        if path.split("/")[0].split("?")[0] in ("rulesets", "address-groups"):
            if not self.document:
                type(self).document = Document(super().api("GET", "openapi.json").json)
            self.document.check(method, f"/api/v1/{path}", reply)
        return reply

    def insert(self, *rules, position=None):
        reply = self.api("POST", f"{self.path}/rules", {"position": position, "rules": list(rules)})
        self.assertEqual(reply.status, 201, reply)
        return reply.json["items"]

    def names(self):
        return [r["name"] for r in self.api("GET", f"{self.path}/rules").json["items"]]

    def rules(self):
        """As they stand; ages change by themselves."""
        items = self.api("GET", f"{self.path}/rules").json["items"]
        for rule in items:
            rule["counters"].pop("age_seconds")
        return items

    def section(self):
        return self.gateway.config()[1].get("firewall")

    def refuse(self, status, method, path, body, field=None):
        before = self.names()
        reply = self.api(method, path, body)
        self.assertEqual(reply.status, status, reply)
        if field:
            self.assertEqual(reply.json.get("field"), field, reply.json)
        self.assertEqual(self.names(), before)
        return reply.json

    def test_rules_stand_in_the_config(self):
        group = self.make("address-groups", name="partners", site_id=self.edge["id"],
                          prefixes=["203.0.113.128/25", "2001:db8::/32", "203.0.113.0/25", "203.0.113.7/32"])
        self.assertEqual(group["prefixes"], ["203.0.113.0/24", "2001:db8::/32"])
        web, ping = self.insert(
            {"name": "web-in", "action": "allow", "protocol": "tcp", "source": {"group_ids": [group["id"]]},
             "destination": {"prefixes": ["10.1.1.0/24"]}, "destination_ports": ["443", "80-81", "82"], "log": True},
            {"name": "ping", "action": "allow", "protocol": "icmp"})
        self.assertEqual(web["destination_ports"], ["80-82", "443"])
        self.assertEqual([web["position"], ping["position"]], [1, 2])
        self.assertEqual(self.section(), {
            "ruleset_id": self.set["id"], "scope": "site", "base": "deny", "log_base": False,
            "groups": [{"id": group["id"], "prefixes": group["prefixes"]}],
            "rules": [{"id": web["id"], "action": "allow", "protocol": 6, "source": [], "source_groups": [0],
                       "destination": ["10.1.1.0/24"], "destination_groups": [], "source_ports": [],
                       "destination_ports": [[80, 82], [443, 443]], "log": True},
                      {"id": ping["id"], "action": "allow", "protocol": 1, "source": [], "source_groups": [],
                       "destination": [], "destination_groups": [], "source_ports": [], "destination_ports": [], "log": False}]})
        self.assertEqual(self.api("DELETE", f"address-groups/{group['id']}").status, 409)
        self.change(f"rulesets/{self.set['id']}", enabled=False)
        self.assertIsNone(self.section())

    def test_order(self):
        self.insert(*({"name": f"r{i}", "action": "allow", "protocol": "tcp", "destination_ports": [str(i)]} for i in range(5)))
        self.insert({"name": "first", "action": "deny", "protocol": "udp"}, position=1)
        self.insert({"name": "third", "action": "deny", "protocol": "47"}, position=3)
        self.assertEqual(self.names(), ["first", "r0", "third", "r1", "r2", "r3", "r4"])
        for _ in range(13):  # until no rank is free between two neighbours
            last = self.api("GET", f"{self.path}/rules").json["items"][-1]
            self.change(f"{self.path}/rules/{last['id']}", position=2)
        self.assertEqual(self.names(), ["first", "r4", "r0", "third", "r1", "r2", "r3"])
        page = self.api("GET", f"{self.path}/rules?limit=4").json
        rest = self.api("GET", f"{self.path}/rules?limit=4&cursor={page['next_cursor']}").json
        self.assertEqual([r["position"] for r in page["items"] + rest["items"]], list(range(1, 8)))
        self.assertIsNone(rest["next_cursor"])
        self.assertEqual(self.api("DELETE", f"{self.path}/rules/{page['items'][0]['id']}").status, 204)
        self.assertEqual(self.names(), ["r4", "r0", "third", "r1", "r2", "r3"])
        self.assertEqual([r["protocol"] for r in self.section()["rules"]], [6, 6, 47, 6, 6, 6])

    def test_rules_that_nothing_meets_are_refused(self):
        self.insert({"name": "wide", "action": "allow", "protocol": "tcp", "destination": {"prefixes": ["10.1.0.0/16"]}})

        def rule(**more):
            return {"rules": [{"name": "x", "action": "deny", **more}]}
        rules = f"{self.path}/rules"
        said = self.refuse(422, "POST", rules, rule(protocol="tcp", destination={"prefixes": ["10.1.2.0/24"]}), "position")
        self.assertIn("wide", said["detail"])
        self.refuse(422, "POST", rules, rule(source={"prefixes": ["10.1.0.0/24"]}, destination={"prefixes": ["fd02::/64"]}),
                    "destination")
        self.refuse(422, "POST", rules, rule(source={"prefixes": ["10.5.0.0/24"]}, destination={"prefixes": ["10.6.0.0/24"]}), "source")
        for wrong in ({"protocol": "256"}, {"protocol": "06"}, {"destination_ports": ["1"]}, {"protocol": "tcp", "destination_ports": ["2-1"]},
                      {"protocol": "tcp", "source_ports": ["70000"]}, {"source": {"prefixes": ["10.1.0.1/16"]}},
                      {"source": {"group_ids": [str(uuid.uuid4())]}}, {"source": {"x": 1}}, {"name": "Wide"}, {"x": 1}):
            self.refuse(422, "POST", rules, rule(**wrong))
        self.refuse(409, "POST", rules, rule(name="wide", protocol="udp"))
        self.refuse(422, "POST", rules, {"rules": []}, "rules")
        self.refuse(422, "POST", rules, {"position": 3, **rule()}, "position")
        # A wider rule before others takes all of theirs.
        self.refuse(422, "POST", rules, {"position": 1, **rule(protocol="tcp")}, "position")

    def test_rules_that_combine_too_much_are_refused(self):
        hosts = {"prefixes": [f"10.1.{i}.1/32" for i in range(64)]}
        ports = [str(2 * i + 1) for i in range(32)]
        self.insert({"name": "all", "action": "allow", "protocol": "tcp"})
        said = self.refuse(422, "POST", f"{self.path}/rules", {"rules": [{
            "name": "heavy", "action": "deny", "protocol": "tcp", "source": hosts, "destination": hosts,
            "source_ports": ports, "destination_ports": ports}]}, "rules")
        self.assertIn("rule 2:", said["detail"])

    def put(self, *rules, tag=None, status=200, field=None):
        headers = {"If_Match": tag} if tag else {}
        reply = self.api("PUT", f"{self.path}/rules", {"rules": list(rules)}, **headers)
        self.assertEqual((reply.status, reply.json.get("field") if field else None), (status, field), reply)
        return reply

    def test_the_whole_list_at_once(self):
        a, b, c = self.insert(*({"name": n, "action": "allow", "protocol": "tcp", "destination_ports": [p], "description": n}
                                for n, p in (("a", "1"), ("b", "2"), ("c", "3"))))
        self.gateway.report(firewall={"ruleset_id": self.set["id"], "applied": True, "error": None, "base": [0, 0], "established": [0, 0],
                                      "invalid": [0, 0], "rules": [[r["id"], 5, 500] for r in (a, b)]})
        tag = self.api("GET", self.path).headers["ETag"]
        plain = {"action": "allow", "protocol": "tcp"}
        said = self.put({"id": b["id"], "name": "a", **plain, "destination_ports": ["2"]},  # two swap their names
                        {"name": "c", "action": "deny", "protocol": "udp"},                  # the name of one that goes
                        {"id": a["id"], "name": "b", **plain, "destination_ports": ["1"], "description": "a"}, tag=tag)
        self.assertEqual(said.json, self.api("GET", self.path).json)
        self.assertEqual(said.headers["ETag"], self.api("GET", self.path).headers["ETag"])
        self.assertEqual(said.json["rules_total"], 3)
        now = self.rules()
        self.assertEqual([(r["id"] if r["id"] in (a["id"], b["id"]) else None, r["name"], r["description"], r["counters"]["packets"]) for r in now],
                         [(b["id"], "a", None, 5), (None, "c", None, None), (a["id"], "b", "a", 5)])
        self.assertNotIn(c["id"], [r["id"] for r in now])
        self.assertEqual([r["protocol"] for r in self.section()["rules"]], [6, 17, 6])

        self.put(tag=tag, status=412, field="If-Match")
        self.put({"id": c["id"], "name": "x", **plain}, status=422, field="rules[0].id")
        self.put(*({"id": a["id"], "name": n, **plain, "destination_ports": [p]} for n, p in (("x", "1"), ("y", "2"))), status=422,
                 field="rules[1].id")
        self.put({"name": "x", **plain}, {"name": "x", "action": "deny", "protocol": "udp"}, status=409)
        self.put({"name": "x", **plain}, {"name": "y", **plain, "destination_ports": ["9"]}, status=422, field="position")
        self.assertEqual(self.rules(), now)

        moved = [{k: r[k] for k in r if k in ("id", "name", "action", "protocol", "destination_ports", "description")} for r in now[::-1]]
        self.put(*moved)
        after = self.rules()
        self.assertEqual([(r["id"], r["updated_at"]) for r in after], [(r["id"], r["updated_at"]) for r in now[::-1]])
        self.put()
        self.assertEqual((self.names(), self.section()["rules"]), ([], []))

    def test_what_rules_are_about_may_not_leave_them(self):
        group = self.make("address-groups", name="lab", site_id=self.edge["id"], prefixes=["10.1.7.0/24"])
        path = f"address-groups/{group['id']}"
        self.insert({"name": "first", "action": "deny", "destination": {"prefixes": ["10.1.8.0/24"]}},
                    {"name": "lab", "action": "allow", "source": {"prefixes": ["10.7.0.0/16"]}, "destination": {"group_ids": [group["id"]]}})
        for prefixes, why in ((["10.9.0.0/24"], "of the site"), (["10.1.8.0/25"], "earlier rules"), ([], "of the site")):
            said = self.refuse(422, "PATCH", path, {"prefixes": prefixes}, "prefixes")
            self.assertIn(why, said["detail"])
            self.assertIn("branch-edge", said["detail"])
        self.assertEqual(self.api("GET", path).json["prefixes"], ["10.1.7.0/24"])
        self.assertIn("lab", self.refuse(422, "PATCH", f"sites/{self.edge['id']}", {"cidrs": ["10.1.8.0/24"]}, "cidrs")["detail"])
        self.change(path, prefixes=["10.1.8.0/23"])
        self.change(f"sites/{self.edge['id']}", cidrs=["10.1.0.0/20", "fd01::/64"])

    def test_one_set_a_site(self):
        self.assertEqual(self.api("POST", "rulesets", {"name": "other", "site_id": self.edge["id"]}).status, 409)
        self.assertEqual(self.api("POST", "rulesets", {"name": "other", "site_id": str(uuid.uuid4())}).status, 422)
        self.assertEqual(self.api("POST", "rulesets", {"name": "o", "site_id": self.edge["id"], "scope": "transit"}).status, 422)

    def test_counters_come_back(self):
        rule, = self.insert({"name": "dns", "action": "allow", "protocol": "udp", "destination_ports": ["53"]})
        self.assertEqual(rule["counters"], {"packets": None, "bytes": None, "observed_at": None, "age_seconds": None})
        revision, _ = self.gateway.config()
        revisions = {"received": revision, "applied": revision, "in_force": revision, "refused": []}
        for count in (10, 15, 4):  # the last one began anew
            reply = self.gateway.report(revisions=revisions, conntrack={"entries": 7, "max": 1000}, firewall={
                "ruleset_id": self.set["id"], "applied": True, "error": None, "base": [count, 2], "established": [3, 4],
                "invalid": [0, 0], "rules": [[rule["id"], count, 100 * count], [str(uuid.uuid4()), 1, 1]]})
            self.assertEqual(reply.status, 204, reply)
        seen = self.api("GET", f"{self.path}/rules/{rule['id']}").json["counters"]
        self.assertEqual((seen["packets"], seen["bytes"]), (19, 1900))
        self.assertLess(seen["age_seconds"], 10)
        text = request(self.controller.port, self.controller.web_context(), "GET", "/metrics", None,
                       {"Authorization": f"Bearer {self.controller.token}"}).body.decode()
        judged = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True, text=True, timeout=30)
        self.assertEqual((judged.returncode, judged.stderr), (0, ""), text)
        for line in ('hits_total{gateway="gw-b1",rule="dns",action="allow"} 19', 'bytes_total{gateway="gw-b1",rule="dns",action="allow"} 1900',
                     'hits_total{gateway="gw-b1",rule="(base)",action="deny"} 19', "series_left_out 0"):
            self.assertIn(f"\nhawser_firewall_rule_{line}\n", text)
        self.assertIn('\nhawser_conntrack_entries{gateway="gw-b1"} 7\n', text)
        ruleset = self.api("GET", self.path).json
        self.assertEqual((ruleset["counters"]["base"]["packets"], ruleset["counters"]["established"]["bytes"]), (19, 4))
        state, = ruleset["gateways"]
        self.assertEqual((state["state"], state["conntrack_entries"], state["conntrack_max"]), ("applied", 7, 1000))
        self.insert({"name": "ping", "action": "allow", "protocol": "icmp"})
        self.assertEqual([g["state"] for g in self.api("GET", self.path).json["gateways"]], ["pending"])

    def test_a_gateway_counts_for_its_own_site_alone(self):
        rule, = self.insert({"name": "dns", "action": "allow", "protocol": "udp", "destination_ports": ["53"]})
        elsewhere = self.enrolled(self.site("elsewhere", "10.7.0.0/16"), "gw-e1", "10.7.0.1")

        def report(gateway, n):
            reply = gateway.report(firewall={"ruleset_id": self.set["id"], "applied": True, "error": None, "base": [n, n], "established": [n, n],
                                             "invalid": [n, n], "rules": [[rule["id"], n, n]]})
            self.assertEqual(reply.status, 204, reply)
        report(self.gateway, 7)
        report(elsewhere, 2**63 - 1)
        seen = self.api("GET", self.path).json["counters"]
        self.assertEqual([c["packets"] for c in seen.values()], [7] * 3)
        self.assertEqual(self.rules()[0]["counters"]["packets"], 7)
        second = self.enrolled(self.edge, "gw-b2", "10.1.0.2")
        for n in (2**63 - 1, 1, 2**64 - 1):  # each the whole of a counter that began anew, or beyond it
            report(second, n)
        self.assertEqual(self.api("GET", self.path).json["counters"]["base"]["bytes"], 2**63 - 1)
        self.change(self.path, description="still at hand")
        self.assertEqual(self.api("DELETE", self.path).status, 204)

    def record(self):
        """The audit's newest."""
        record, = self.api("GET", "audit?limit=1").json["items"]
        return record["action"], record["object"], record["before"], record["after"]

    def told(self):
        """The rules as the audit tells them."""
        return {r["name"]: {k: v for k, v in r.items() if k not in ("counters", "updated_at", "revision")}
                for r in self.api("GET", f"{self.path}/rules").json["items"]}

    def test_the_audit_tells_what_became_of_rules(self):
        whole = {"type": "rulesets", "id": self.set["id"]}
        rule, = self.insert({"name": "a", "action": "allow", "protocol": "tcp", "destination_ports": ["22"]})
        one = {"type": "rules", "id": rule["id"]}
        self.assertEqual(self.record(), ("rulesets.rules.create", one, None, self.told()["a"]))
        self.insert({"name": "b", "action": "deny", "protocol": "icmp"}, {"name": "c", "action": "deny", "protocol": "udp"}, position=1)
        told = self.told()
        self.assertEqual(self.record(), ("rulesets.rules.create", whole, {"rules": []}, {"rules": [told["b"], told["c"]]}))
        path = f"{self.path}/rules/{rule['id']}"
        self.change(path, log=True, position=2)
        self.assertEqual(self.record(), ("rulesets.rules.patch", one, {"position": 3, "log": False}, {"position": 2, "log": True}))
        self.change(path, position=1)  # past one rule: neither is told in the other's place
        self.assertEqual(self.record(), ("rulesets.rules.patch", one, {"position": 2}, {"position": 1}))
        former = self.told()
        self.put(*({"id": former[n]["id"], "name": n, "action": "allow", "protocol": former[n]["protocol"]} for n in ("c", "b")))
        action, about, before, after = self.record()
        self.assertEqual((action, about), ("rulesets.rules.replace", whole))
        self.assertEqual(sorted(r["name"] for r in before["rules"]), ["a", "b", "c"])
        self.assertEqual(after, {"rules": list(self.told().values())})
        former = self.told()
        self.assertEqual(self.api("DELETE", f"{self.path}/rules/{former['c']['id']}").status, 204)
        self.assertEqual(self.record(), ("rulesets.rules.delete", {"type": "rules", "id": former["c"]["id"]}, former["c"], None))
        group = self.make("address-groups", name="lab", site_id=self.edge["id"], prefixes=["10.1.7.0/24"])
        self.change(f"address-groups/{group['id']}", prefixes=["10.1.8.0/24"])
        self.assertEqual(self.record(), ("address-groups.patch", {"type": "address-groups", "id": group["id"]},
                                         {"prefixes": ["10.1.7.0/24"]}, {"prefixes": ["10.1.8.0/24"]}))
        self.change(self.path, base_policy="allow")
        self.assertEqual(self.record(), ("rulesets.patch", whole, {"base_policy": "deny"}, {"base_policy": "allow"}))
        told = self.told()
        self.assertEqual(self.api("DELETE", self.path).status, 204)
        action, about, before, after = self.record()
        self.assertEqual((action, about, after), ("rulesets.delete", whole, None))
        self.assertEqual((before["name"], before["rules"]), ("branch-edge", list(told.values())))
