"""POST /api/v1/plan: what it foretells is what the same writes then do, and it changes nothing itself."""
from test_api import Base


class Plan(Base):
    def plan(self, *changes):
        before, revision = self.api.dump(), self.api.call("GET", "/api/v1/revisions").json
        reply = self.api.call("POST", "/api/v1/plan", {"changes": [dict(zip(("method", "path", "body"), c)) for c in changes]})
        self.assertEqual(reply.status, 200, reply)
        self.assertEqual(self.api.dump(), before)
        self.assertEqual(self.api.call("GET", "/api/v1/revisions").json, revision)
        return reply.json

    def test_from_nothing_to_a_link(self):
        ends = [("a", "spoke", "10.1.0.0/16"), ("t", "transit", "10.2.0.0/16")]
        changes = [("POST", "/api/v1/sites", {"name": n, "provider": "aws", "role": r, "cidrs": [c]}) for n, r, c in ends]
        changes += [("POST", "/api/v1/gateways", {"name": f"gw-{n}", "site_id": f"@{i}", "size": "t3.small"}) for i, (n, _, _) in enumerate(ends)]
        changes += [("POST", "/api/v1/connections", {"name": "a-t", "site_a_id": "@0", "site_b_id": "@1"})]
        plan = self.plan(*changes)
        self.assertTrue(plan["feasible"], plan)
        link, = plan["links"]["added"]
        self.assertEqual([link[k] for k in ("connection", "kind", "gateway_a", "gateway_b", "tunnels_before", "tunnels_after", "tunnels_reason", "state")],
                         ["a-t", "attachment", "gw-a", "gw-t", None, 4, "2 x 2 vCPUs of t3.small", "pending"])
        self.assertEqual(plan["tunnels"], {"added": 4, "removed": 0, "rekeyed": 0})
        self.assertEqual(plan["summary"], "adds 1 link; adds 4 tunnels; re-keys none; no flows move")
        self.assertEqual((plan["warnings"], plan["refusals"], plan["gateways_pushed"]), ([], [], []))

    def test_without_gateways(self):
        """As the assistant of the console asks."""
        plan = self.plan(("POST", "/api/v1/sites", {"name": "a", "provider": "onprem", "role": "spoke", "cidrs": ["10.1.0.0/16"]}),
                         ("POST", "/api/v1/sites", {"name": "t", "provider": "onprem", "role": "transit", "cidrs": ["10.2.0.0/16"]}),
                         ("POST", "/api/v1/connections", {"name": "a-t", "site_a_id": "@0", "site_b_id": "@1"}))
        self.assertEqual((plan["feasible"], plan["links"]["added"]), (True, []))
        self.assertEqual(plan["warnings"], ["connection a-t has no link until both of its sites have a gateway"])

    def test_changes_of_what_is_there(self):
        _, gateways, connections = self.chain()
        plan = self.plan(("PATCH", f"/api/v1/connections/{connections[0]['id']}", {"tunnels": 20}),
                         ("DELETE", f"/api/v1/connections/{connections[1]['id']}", None))
        changed, = plan["links"]["changed"]
        removed, = plan["links"]["removed"]
        self.assertEqual((changed["tunnels_before"], changed["tunnels_after"], changed["tunnels_reason"]), (8, 20, "set on the connection"))
        self.assertEqual((removed["tunnels_before"], removed["tunnels_after"], removed["connection"]), (8, None, "b-t"))
        self.assertEqual(plan["tunnels"], {"added": 12, "removed": 8, "rekeyed": 0})
        self.assertEqual(plan["links"]["added"], [])
        plan = self.plan(("POST", f"/api/v1/gateways/{gateways[0]['id']}/revoke", {}))
        self.assertTrue(plan["feasible"] or plan["refusals"][0]["status"] == 409, plan)

    def test_a_firewall(self):
        """Made, filled, changed and taken away in one plan; the gateways of the site would be told."""
        sites, _, _ = self.chain()
        rule = {"name": "web", "action": "allow", "protocol": "tcp", "destination_ports": ["443"]}
        make = [("POST", "/api/v1/address-groups", {"name": "partners", "site_id": sites[0]["id"], "prefixes": ["192.0.2.0/24"]}),
                ("POST", "/api/v1/rulesets", {"name": "edge", "site_id": sites[0]["id"]}),
                ("POST", "/api/v1/rulesets/@1/rules", {"rules": [{**rule, "name": "first", "source": {"group_ids": ["@0"]}}, rule]}),
                ("PUT", "/api/v1/rulesets/@2/rules", {"rules": [rule]})]
        plan = self.plan(*make)
        self.assertEqual((plan["feasible"], plan["links"]), (True, {"added": [], "removed": [], "changed": []}), plan)
        refusal, = self.plan(*make, ("DELETE", "/api/v1/rulesets/@1/rules/@1", None))["refusals"]
        self.assertEqual((refusal["change"], refusal["status"]), (4, 404))
        refusal, = self.plan(*make[:2], ("POST", "/api/v1/rulesets/@1/rules", {"rules": [{"name": "x", "action": "maybe"}]}))["refusals"]
        self.assertEqual((refusal["change"], refusal["status"], refusal["field"]), (2, 422, "rules[0].action"))
        kept = f"/api/v1/rulesets/{self.create('rulesets', name='kept', site_id=sites[0]['id'])['id']}/rules"
        made = self.api.call("POST", kept, {"rules": [rule]}).json["items"][0]
        self.assertTrue(self.plan(("PATCH", f"{kept}/{made['id']}", {"action": "deny"}), ("DELETE", f"{kept}/@0", None),
                                  ("DELETE", kept.removesuffix("/rules"), None))["feasible"])
        self.assertEqual(self.api.call("DELETE", kept.removesuffix("/rules")).status, 204)

    def test_what_would_be_refused(self):
        sites, _, connections = self.chain()
        for change, status, field in (
                (("POST", "/api/v1/sites", {"name": "c", "provider": "onprem", "role": "spoke", "cidrs": ["10.1.0.0/24"]}), 409, "cidrs[0]"),
                (("POST", "/api/v1/sites", {"name": "c"}), 422, "provider"), (("DELETE", f"/api/v1/sites/{sites[0]['id']}", None), 409, None),
                (("PATCH", "/api/v1/links/0f6c1a52-6a3e-4b0b-9f0e-3c8a6f1d2b11", {"enabled": False}), 404, None),
                (("POST", "/api/v1/sites", None), 400, None)):
            plan = self.plan(("PATCH", f"/api/v1/connections/{connections[0]['id']}", {"tunnels": 20}), change)
            refusal, = plan["refusals"]
            self.assertEqual((plan["feasible"], refusal["change"], refusal["status"], refusal["field"]), (False, 1, status, field), plan)
            self.assertTrue(plan["summary"].startswith("write 2 would be refused: "))
            self.assertEqual((plan["links"], plan["gateways_pushed"]), ({"added": [], "removed": [], "changed": []}, []))

    def test_names_of_earlier_writes(self):
        """Only whole values are: text that looks alike stays as it is."""
        site = {"name": "a", "provider": "onprem", "role": "spoke"}
        self.assertTrue(self.plan(("POST", "/api/v1/sites", site), ("PATCH", "/api/v1/sites/@0", {"role": "transit"}),
                                  ("DELETE", "/api/v1/sites/@1", None))["feasible"])
        for region in ('x"@0', ',"@0"', "@0x", '["@0"]', "\\"):
            refusal, = self.plan(("POST", "/api/v1/sites", site), ("PATCH", "/api/v1/sites/@0", {"region": region}))["refusals"]
            self.assertEqual((refusal["change"], refusal["status"], refusal["field"]), (1, 422, "region"))

    def test_plans_that_are_none(self):
        ok = {"method": "DELETE", "path": "/api/v1/sites/x"}
        for changes, field in (([], "changes"), ([ok] * 51, "changes"), ("x", "changes"), ([{**ok, "method": "GET"}], "changes[0].method"),
                               ([{**ok, "path": "/api/v1/sessions"}], "changes[0].path"), ([{**ok, "path": "/api/v1/sitesx"}], "changes[0].path"),
                               ([{**ok, "path": "/api/v1/plan", "method": "POST", "body": {}}], "changes[0].path"),
                               ([{**ok, "path": "/api/v1/sites/@0"}], "changes[0].path"), ([{**ok, "body": {"a": ["@0"]}}], "changes[0].body"),
                               ([{**ok, "body": 7}], "changes[0].body"), ([{**ok, "x": 1}], "changes[0].x"), ([7], "changes[0]")):
            self.refused(422, "POST", "/api/v1/plan", {"changes": changes}, field)
