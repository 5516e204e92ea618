"""What all resources of the people's API have in common when they are written: ETag and If-Match, Idempotency-Key."""
import concurrent.futures
import sqlite3
import unittest
import uuid

from controller import request
from test_api import Base


class Conditional(Base):
    def objects(self):
        """One object of each resource that can be changed: (path, a change of it)."""
        self.chain()
        site = self.api.call("GET", "/api/v1/sites").json["items"][0]
        self.create("enrolment-tokens", site_id=site["id"])
        changes = {"sites": {"region": "x"}, "gateways": {"weight": 7}, "connections": {"tunnels": 4},
                   "enrolment-tokens": {"expires_at": "2027-01-31T12:00:00Z"}, "links": {"tunnels_override": 2}}
        for kind, change in changes.items():
            item = self.api.call("GET", f"/api/v1/{kind}").json["items"][0]
            yield f"/api/v1/{kind}/{item['id']}", change

    def test_a_write_of_what_was_read(self):
        for path, change in self.objects():
            with self.subTest(path):
                read = self.api.call("GET", path)
                tag = read.headers["ETag"]
                self.assertEqual(tag, f'"{read.json["revision"]}"')
                changed = self.api.call("PATCH", path, change, If_Match=tag)
                self.assertEqual(changed.status, 200, changed)
                self.assertEqual(changed.headers["ETag"], f'"{changed.json["revision"]}"')
                self.assertNotEqual(changed.headers["ETag"], tag)
                self.assertEqual(self.api.call("GET", path).headers["ETag"], changed.headers["ETag"])
                self.refused(412, "PATCH", path, change, "If-Match", If_Match=tag)
                if "links" not in path:
                    self.refused(412, "DELETE", path, field="If-Match", If_Match=tag)

    def test_lists_of_tags(self):
        path = f"/api/v1/sites/{self.site('a', '10.1.0.0/16')['id']}"
        for form in ("{}", "*", '"0", {}', '{} , "0"', '"0",{}'):
            tag = self.api.call("GET", path).headers["ETag"]
            self.assertEqual(self.api.call("PATCH", path, {"region": "x"}, If_Match=form.format(tag)).status, 200, form)
        tag = self.api.call("GET", path).headers["ETag"]
        for wrong in (f"W/{tag}", tag.strip('"'), '"0"', "", ",", f"{tag[:-1]}", f"{tag}x", "**"):
            self.refused(412, "PATCH", path, {"region": "y"}, "If-Match", If_Match=wrong)

    def test_delete_and_revoke(self):
        _, gateways, _ = self.chain()
        path = f"/api/v1/gateways/{gateways[0]['id']}"
        self.refused(412, "POST", f"{path}/revoke", field="If-Match", If_Match='"0"')
        tag = self.api.call("GET", path).headers["ETag"]
        revoked = self.api.call("POST", f"{path}/revoke", If_Match=tag)
        self.assertEqual((revoked.status, revoked.json["state"]), (200, "revoked"))
        self.assertEqual(self.api.call("DELETE", path, If_Match=revoked.headers["ETag"]).status, 204)
        self.refused(404, "DELETE", path, If_Match=tag)

    def test_one_of_many_at_once(self):
        """Of writers that all read the same, one wins."""
        path = f"/api/v1/sites/{self.site('a', '10.1.0.0/16')['id']}"
        tag = self.api.call("GET", path).headers["ETag"]

        def write(i):
            return request(self.controller.port, self.api.context, "PATCH", path, {"region": f"r{i}"},
                           {"Authorization": f"Bearer {self.controller.token}", "If-Match": tag}).status
        with concurrent.futures.ThreadPoolExecutor(6) as pool:
            self.assertEqual(sorted(pool.map(write, range(6))), [200] + [412] * 5)


class Idempotency(Base):
    body = {"name": "once", "provider": "onprem", "role": "spoke", "cidrs": ["10.1.0.0/16"]}

    def post(self, key, kind="sites", body=None):
        return self.api.call("POST", f"/api/v1/{kind}", self.body if body is None else body, Idempotency_Key=key)

    def test_the_same_again(self):
        key = str(uuid.uuid4())
        first = self.post(key)
        self.assertEqual(first.status, 201, first)
        revision = self.api.call("GET", "/api/v1/revisions").json["revision"]
        # Whatever became of the object: the answer is the first one.
        self.api.call("PATCH", f"/api/v1/sites/{first.json['id']}", {"region": "x"})
        again = self.post(key)
        self.assertEqual((again.status, again.body), (201, first.body))
        for name in ("Location", "ETag", "Content-Type"):
            self.assertEqual(again.headers[name], first.headers[name])
        self.assertEqual(self.api.call("GET", "/api/v1/revisions").json["revision"], revision + 1)
        self.assertEqual(len(self.api.call("GET", "/api/v1/sites").json["items"]), 1)

    def test_another_request(self):
        key = str(uuid.uuid4())
        site = self.post(key).json
        self.refused(422, "POST", "/api/v1/sites", {**self.body, "name": "other"}, "Idempotency-Key", Idempotency_Key=key)
        self.refused(422, "POST", "/api/v1/gateways", {"name": "gw", "site_id": site["id"]}, "Idempotency-Key", Idempotency_Key=key)
        gateway = self.create("gateways", name="gw", site_id=site["id"])
        self.refused(422, "POST", f"/api/v1/gateways/{gateway['id']}/revoke", {}, "Idempotency-Key", Idempotency_Key=key)

    def test_what_failed_is_not_kept(self):
        key = str(uuid.uuid4())
        self.site("in-the-way", "10.1.0.0/16")
        self.assertEqual(self.post(key).status, 409)
        other = self.api.call("GET", "/api/v1/sites").json["items"][0]
        self.api.call("DELETE", f"/api/v1/sites/{other['id']}")
        self.assertEqual(self.post(key).status, 201)

    def test_keys_that_are_none(self):
        for key in ("", "x" * 256):
            self.refused(422, "POST", "/api/v1/sites", self.body, "Idempotency-Key", Idempotency_Key=key)
        self.assertEqual(self.post("x" * 255).status, 201)

    def test_many_at_once(self):
        key = str(uuid.uuid4())

        def post(_):
            return request(self.controller.port, self.api.context, "POST", "/api/v1/sites", self.body,
                           {"Authorization": f"Bearer {self.controller.token}", "Idempotency-Key": key})
        with concurrent.futures.ThreadPoolExecutor(6) as pool:
            answers = list(pool.map(post, range(6)))
        self.assertEqual([a.status for a in answers], [201] * 6)
        self.assertEqual(len({a.body for a in answers}), 1)

    def test_a_secret_is_shown_once_and_stored_nowhere(self):
        key = str(uuid.uuid4())
        site = self.site("a", "10.9.0.0/16")
        first = self.post(key, "enrolment-tokens", {"site_id": site["id"]}).json
        again = self.post(key, "enrolment-tokens", {"site_id": site["id"]}).json
        self.assertTrue(first["token"].startswith("hwt1."))
        self.assertEqual(again, {**first, "token": None})
        self.assertEqual(len(self.api.call("GET", "/api/v1/enrolment-tokens").json["items"]), 1)
        for path in self.controller.state.glob("hawser.db*"):
            self.assertNotIn(first["token"].encode(), path.read_bytes(), path)

    def test_revoke(self):
        key = str(uuid.uuid4())
        site = self.site("a", "10.9.0.0/16")
        path = f"gateways/{self.create('gateways', name='gw', site_id=site['id'])['id']}/revoke"
        self.assertEqual(self.post(key, path, {}).body, self.post(key, path, {}).body)

    def test_a_day_later(self):
        key = str(uuid.uuid4())
        site = self.post(key).json
        with sqlite3.connect(self.controller.state / "hawser.db", timeout=10) as db:
            db.execute("UPDATE idempotency_keys SET created_at = created_at - 86401 WHERE key = ?", (key,))
        self.refused(409, "POST", "/api/v1/sites", self.body, "cidrs[0]", Idempotency_Key=key)
        self.api.call("DELETE", f"/api/v1/sites/{site['id']}")
        self.assertNotEqual(self.post(key).json["id"], site["id"])


if __name__ == "__main__":
    unittest.main()
