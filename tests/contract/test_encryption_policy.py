"""The encryption policy: three guards, each unmet condition told, and an end that comes by itself."""
import datetime
import time

from test_api import Base

DAY = 86400


def ahead(seconds):
    return (datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%SZ")


class EncryptionPolicy(Base):
    def setUp(self):
        self.sites, self.gateways, (self.connection, self.other) = self.chain()
        self.path = f"/api/v1/connections/{self.connection['id']}"
        self.policy = f"{self.path}/encryption-policy"

    def ask(self, suite="none", reason="bulk copy in the vault", ends_at=None):
        return self.api.call("PUT", self.policy, {"suite": suite, "reason": reason, "ends_at": ends_at or ahead(6 * DAY)})

    def guard(self):
        for site in self.sites[:2]:
            self.patch(f"/api/v1/sites/{site['id']}", trusted_underlay=True)
        self.patch(self.path, path_resiliency=True)

    def patch(self, path, status=200, **changes):
        reply = self.api.call("PATCH", path, changes)
        self.assertEqual(reply.status, status, reply)
        return reply.json

    def unmet(self, **asked):
        before = self.api.dump()
        reply = self.ask(**asked)
        self.assertEqual(reply.status, 409, reply)
        self.assertEqual(self.api.dump(), before)
        self.assertFalse(any(c["met"] for c in reply.json["conditions"]))
        return reply.json, {c["code"]: (c["detail"], c["field"]) for c in reply.json["conditions"]}

    def permission(self):
        permission = self.api.call("GET", self.path).json["permission"]
        self.assertEqual(self.api.call("GET", self.policy).json["permission"], permission)
        return permission

    def test_nothing_at_first(self):
        self.assertEqual((self.connection["path_resiliency"], self.connection["permission"]), (False, None))
        policy = self.api.call("GET", self.policy).json
        self.assertEqual([(c["code"], c["met"]) for c in policy["conditions"]],
                         [(code, False) for code in ("site-a-trusted", "site-b-trusted", "path-resiliency", "reason-given", "end-date")])
        self.assertEqual(policy["alternatives"], ["the faster suite aes-128-gcm encrypts for less: put it first in suites"])
        self.patch(self.path, suites=["aes-128-gcm", "aes-256-gcm"])
        self.assertEqual(self.api.call("GET", self.policy).json["alternatives"], [])

    def test_every_unmet_condition_is_told(self):
        problem, unmet = self.unmet(reason=" short ", ends_at=ahead(120 * DAY + 60))
        self.assertEqual((problem["title"], problem["detail"]), ("Encryption stays", "5 of 5 conditions are not met"))
        self.assertEqual(problem["alternatives"], ["the faster suite aes-128-gcm encrypts for less: put it first in suites"])
        self.assertEqual(unmet, {
            "site-a-trusted": ("site a does not have trusted_underlay", None),
            "site-b-trusted": ("site t does not have trusted_underlay", None),
            "path-resiliency": ("connection a-t does not have path_resiliency: at least 2 tunnels on distinct ports in each link", None),
            "reason-given": ("the reason has 5 characters; at least 10", "reason"),
            "end-date": ("120 days ahead; at most 90", "ends_at")})
        self.patch(f"/api/v1/sites/{self.sites[0]['id']}", trusted_underlay=True)
        self.patch(self.path, path_resiliency=True)
        problem, unmet = self.unmet(reason=" ")
        self.assertEqual((problem["detail"], list(unmet)), ("2 of 5 conditions are not met", ["site-b-trusted", "reason-given"]))
        self.patch(f"/api/v1/sites/{self.sites[1]['id']}", trusted_underlay=True)
        for end, detail in ((ahead(-5), "the end is not in the future"), (ahead(90 * DAY + 60), "more than 90 days ahead")):
            problem, unmet = self.unmet(ends_at=end)
            self.assertEqual((problem["detail"], unmet), ("1 of 5 conditions is not met", {"end-date": (detail, "ends_at")}))
        self.assertIsNone(self.permission())

    def test_life(self):
        self.guard()
        tag = self.api.call("GET", self.policy).headers["ETag"]
        reply = self.ask(suite="aes-256-gmac", reason="  bulk copy in the vault ", ends_at=ahead(90 * DAY - 60))
        self.assertEqual(reply.status, 200, reply)
        self.assertNotEqual(reply.headers["ETag"], tag)
        given = reply.json["permission"]
        self.assertEqual((given["suite"], given["reason"], given["in_effect"], given["in_effect_reason"]),
                         ("aes-256-gmac", "bulk copy in the vault", False, "controller: a gateway of it is not enrolled yet"))
        self.assertEqual(given["created_by"], "bootstrap")
        self.assertTrue(all(c["met"] for c in reply.json["conditions"]))
        self.assertEqual(reply.json["conditions"][4]["detail"], "ends in 89 days")
        self.assertEqual(self.permission(), given)
        self.assertIsNone(self.api.call("GET", f"/api/v1/connections/{self.other['id']}").json["permission"])
        self.refused(412, "PUT", self.policy, {"suite": "none", "reason": "bulk copy in the vault", "ends_at": ahead(DAY)}, If_Match=tag)
        self.refused(412, "DELETE", self.policy, If_Match=tag)
        self.assertEqual(self.ask().json["permission"]["suite"], "none")
        for _ in range(2):
            self.assertEqual(self.api.call("DELETE", self.policy).status, 204)
            self.assertIsNone(self.permission())
        self.ask()
        self.assertEqual(self.api.call("DELETE", self.path).status, 204)
        self.refused(404, "GET", self.policy)
        self.refused(404, "DELETE", self.policy)

    def test_values_are_refused(self):
        good = {"suite": "none", "reason": "bulk copy in the vault", "ends_at": ahead(DAY)}
        for member, values in {"suite": ["aes-256-gcm", "", None, 1], "reason": [None, 7, "x" * 201, "a\u0001bcdefghijk"],
                               "ends_at": [None, "tomorrow", 1800000000, "2026-12-07", "2026-12-07T00:00:00+01:00", ""]}.items():
            self.refused(422, "PUT", self.policy, {k: v for k, v in good.items() if k != member}, field=member)
            for value in values:
                with self.subTest(member=member, value=value):
                    self.refused(422, "PUT", self.policy, {**good, member: value}, field=member)
        self.refused(422, "PUT", self.policy, {**good, "id": 1}, field="id")
        self.refused(404, "PUT", "/api/v1/connections/0f6c1a52-6a3e-4b0b-9f0e-3c8a6f1d2b11/encryption-policy", good)

    def test_one_tunnel_is_not_resilient(self):
        self.patch(self.path, path_resiliency=True)
        self.refused(422, "PATCH", self.path, {"tunnels": 1}, field="tunnels")
        link, = (link for link in self.api.call("GET", f"/api/v1/links?connection_id={self.connection['id']}").json["items"])
        self.refused(409, "PATCH", f"/api/v1/links/{link['id']}", {"tunnels_override": 1}, field="tunnels_override")
        self.patch(f"/api/v1/links/{link['id']}", tunnels_override=2)
        self.patch(self.path, path_resiliency=False)
        self.patch(f"/api/v1/links/{link['id']}", tunnels_override=1)
        self.refused(409, "PATCH", self.path, {"path_resiliency": True}, field="path_resiliency")
        self.refused(422, "POST", "/api/v1/connections", {"name": "x", "site_a_id": self.sites[0]["id"], "site_b_id": self.sites[2]["id"],
                                                          "path_resiliency": True, "tunnels": 1}, field="tunnels")

    def test_a_condition_that_goes_ends_it(self):
        """Nobody is kept from taking trust away: encryption returns with the write, and the plan says so beforehand."""
        self.guard()
        site = f"/api/v1/sites/{self.sites[1]['id']}"
        ended = self.controller.log_text().count("permission ends connection=a-t")
        for path, change in ((site, {"trusted_underlay": False}), (self.path, {"path_resiliency": False}),
                             (self.path, {"site_a_id": self.sites[2]["id"]})):
            with self.subTest(change):
                if path == self.path and "site_a_id" in change:  # b is not trusted
                    self.assertEqual(self.api.call("DELETE", f"/api/v1/connections/{self.other['id']}").status, 204)
                self.assertEqual(self.ask().status, 200)
                plan = self.api.call("POST", "/api/v1/plan", {"changes": [{"method": "PATCH", "path": path, "body": change}]}).json
                self.assertEqual(plan["warnings"], ["the permission of connection a-t for none ends: it is encrypted again"])
                self.assertEqual(self.controller.log_text().count("permission ends connection=a-t"), ended, "a plan ends nothing")
                before = self.permission()
                self.assertTrue(before)
                changed = self.patch(path, **change)
                self.assertIsNone(changed.get("permission"))
                ended += 1
                self.assertIsNone(self.permission())
                self.patch(path, **{"trusted_underlay": True} if path == site else {"path_resiliency": True})
                self.assertIsNone(self.permission())
        self.assertIn("permission ends connection=a-t: a site has no trusted_underlay", self.controller.log_text())

    def test_it_stays_with_its_sites(self):
        """It was given for two sites: a connection that moves to another trusted one leaves it behind."""
        self.guard()
        self.patch(f"/api/v1/sites/{self.sites[2]['id']}", trusted_underlay=True)
        self.assertEqual(self.api.call("DELETE", f"/api/v1/connections/{self.other['id']}").status, 204)
        self.assertEqual(self.ask().status, 200)
        self.assertTrue(self.permission())
        self.assertIsNone(self.patch(self.path, site_a_id=self.sites[2]["id"])["permission"])
        self.assertIsNone(self.permission())
        self.patch(self.path, site_a_id=self.sites[0]["id"])
        self.assertIsNone(self.permission())
        self.assertIn("permission ends connection=a-t: its connection joins other sites now", self.controller.log_text())

    def test_in_a_plan(self):
        body = {"suite": "none", "reason": "bulk copy in the vault", "ends_at": "2020-01-01T00:00:00Z"}
        change = {"method": "PUT", "path": self.policy, "body": body}
        guards = [{"method": "PATCH", "path": f"/api/v1/sites/{s['id']}", "body": {"trusted_underlay": True}} for s in self.sites[:2]]
        plan = self.api.call("POST", "/api/v1/plan", {"changes": [*guards, change]}).json
        refusal, = plan["refusals"]
        self.assertEqual((refusal["change"], refusal["status"]), (2, 409))
        self.assertEqual(refusal["detail"], "encryption stays: connection a-t does not have path_resiliency: at least 2 tunnels on distinct ports in "
                         "each link; the end is not in the future")
        body["ends_at"] = ahead(DAY)
        guards.append({"method": "PATCH", "path": self.path, "body": {"path_resiliency": True}})
        plan = self.api.call("POST", "/api/v1/plan", {"changes": [*guards, change]}).json
        self.assertEqual((plan["feasible"], plan["warnings"]),
                         (True, [f"connection a-t may run by none until {body['ends_at']}: its traffic is not secret then"]), plan)
        self.assertIsNone(self.permission())

    def test_it_ends_by_itself(self):
        self.guard()
        revision = self.api.call("GET", "/api/v1/revisions").json["revision"]
        end = ahead(3)
        self.assertEqual(self.ask(ends_at=end).status, 200)
        self.assertEqual(self.permission()["ends_at"], end)
        deadline = time.monotonic() + 15
        while self.permission() and time.monotonic() < deadline:
            time.sleep(0.1)
        self.assertIsNone(self.permission())
        self.assertGreaterEqual(ahead(0), end)
        self.assertGreater(self.api.call("GET", "/api/v1/revisions").json["revision"], revision + 1)
        self.assertIn("permission ends connection=a-t: its end date has come", self.controller.log_text())
