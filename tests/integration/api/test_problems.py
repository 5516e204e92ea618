"""Bad requests get a clear problem+json and change nothing."""
import contextlib
import json
import unittest

import labs

TOPOLOGY = "chain"
OPTIONS = {"agent_settings": {"confirm_timeout_seconds": 5}}

SITE = {"name": "site-x", "provider": "aws", "region": "eu-central-1", "role": "spoke", "cidrs": ["10.99.0.0/16"]}


class Problems(unittest.TestCase):
    def setUp(self):
        self.api = labs.current().api
        self.before = self.snapshot()

    def snapshot(self):
        return {kind: self.api.list(f"/api/v1/{kind}") for kind in ("sites", "connections", "enrolment-tokens")}

    def refused(self, method, path, body, statuses, word=None):
        answer = self.api.raw(method, path, body, {"Content-Type": "application/json"})
        self.assertIn(answer.status, statuses, answer.body)
        self.assertEqual(answer.headers["Content-Type"].split(";")[0], "application/problem+json")
        problem = answer.json
        self.assertLessEqual({"type", "title", "status", "detail"}, set(problem))
        self.assertEqual(problem["status"], answer.status)
        if word:
            self.assertIn(word, json.dumps(problem))
        self.assertEqual(self.snapshot(), self.before)
        return problem

    def site(self, **changes):
        return json.dumps({**SITE, **changes}).encode()

    def test_malformed_json(self):
        for body in (b"{", b'{"name": "x"', b"[1,2", b'{"name": "\xff"}', b"", b'{"name": "a"} trailing'):
            with self.subTest(body):
                self.refused("POST", "/api/v1/sites", body, (400,))

    def test_not_an_object(self):
        self.refused("POST", "/api/v1/sites", b"[]", (400, 422))

    def test_unknown_field(self):
        problem = self.refused("POST", "/api/v1/sites", self.site(colour="red"), (400, 422), "colour")
        self.assertIn("colour", problem.get("field", ""))

    def test_missing_and_mistyped_fields(self):
        self.refused("POST", "/api/v1/sites", b'{"name": "x"}', (400, 422))
        self.refused("POST", "/api/v1/sites", self.site(cidrs="10.0.0.0/8"), (400, 422), "cidrs")
        self.refused("POST", "/api/v1/sites", self.site(role="hub"), (400, 422), "role")
        self.refused("POST", "/api/v1/sites", self.site(name="Not A Label"), (400, 422), "name")

    def test_cidr_with_host_bits(self):
        for cidr in ("10.99.0.1/16", "fd99::1/64", "10.99.0.0/33", "10.99.0/16", "nonsense"):
            with self.subTest(cidr):
                self.refused("POST", "/api/v1/sites", self.site(cidrs=[cidr]), (400, 422), "cidrs")

    def test_overlapping_cidrs(self):
        """Equal, contained, containing: each names the site that has it."""
        for cidr in ("10.1.0.0/16", "10.1.77.0/24", "10.0.0.0/8", "fd01::/48", "fd01:0:0:7::/64"):
            with self.subTest(cidr):
                self.refused("POST", "/api/v1/sites", self.site(cidrs=[cidr]), (400, 409, 422), "site-a")

    def test_reserved_cidrs(self):
        for cidr in ("0.0.0.0/0", "::/0"):
            with self.subTest(cidr):
                self.refused("POST", "/api/v1/sites", self.site(cidrs=[cidr]), (400, 409, 422))

    def test_wrong_method(self):
        for method, path in (("PUT", "/api/v1/sites"), ("DELETE", "/api/v1/sites"), ("POST", "/api/v1/links"),
                             ("POST", "/healthz")):
            with self.subTest(f"{method} {path}"):
                answer = self.api.raw(method, path, b"{}", {"Content-Type": "application/json"})
                self.assertEqual(answer.status, 405, answer.body)
                self.assertTrue(answer.headers["Allow"])
        link = self.api.list("/api/v1/links")[0]["id"]
        self.refused("DELETE", f"/api/v1/links/{link}", None, (405,))

    def test_unknown_object_and_path(self):
        missing = "00000000-0000-4000-8000-000000000000"
        self.refused("GET", f"/api/v1/sites/{missing}", None, (404,))
        self.refused("PATCH", f"/api/v1/sites/{missing}", b"{}", (404,))
        self.refused("GET", "/api/v1/sites/not-an-id", None, (400, 404))
        self.refused("GET", "/api/v1/nothing", None, (404,))

    def test_credentials(self):
        for header in ("Bearer wrong", "Basic YTpi", "Bearer "):
            answer = self.api.raw("GET", "/api/v1/sites", None, {"Authorization": header})
            self.assertEqual(answer.status, 401, answer.body)
            self.assertEqual(answer.headers["Content-Type"].split(";")[0], "application/problem+json")

    def test_duplicate_name(self):
        self.refused("POST", "/api/v1/sites", self.site(name="site-a"), (409, 422), "name")

    def test_site_in_use_is_not_deleted(self):
        site = next(s for s in self.before["sites"] if s["name"] == "site-t")
        self.refused("DELETE", f"/api/v1/sites/{site['id']}", None, (409,))

    def test_spoke_with_spoke(self):
        ids = {s["name"]: s["id"] for s in self.before["sites"]}
        body = {"name": "wrong", "site_a_id": ids["site-a"], "site_b_id": ids["site-b"]}
        self.refused("POST", "/api/v1/connections", json.dumps(body).encode(), (400, 409, 422))

    def test_body_over_the_limit(self):
        """Site bodies end at 64 KiB. A little more is read and answered; what is far over is cut while it comes."""
        for size in ((64 << 10) + 1, 1 << 20):
            answer = self.api.raw("POST", "/api/v1/sites", b" " * size, {"Content-Type": "application/json"})
            self.assertEqual(answer.status, 413, answer.body[:200])
        with contextlib.suppress(OSError):
            answer = self.api.raw("POST", "/api/v1/sites", b" " * (1 << 22), {"Content-Type": "application/json"})
            self.assertEqual(answer.status, 413, answer.body[:200])
        self.assertEqual(self.snapshot(), self.before)