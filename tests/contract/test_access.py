"""Who may do what: roles, API keys and what becomes of them."""
import contextlib
import datetime
import json
import re
import sqlite3
import unittest
import uuid

from test_api import Base
from test_openapi import operations, routes

ROLES = ("viewer", "operator", "admin")
NOTHING = str(uuid.UUID(int=1))


def usual_role(method, operation):
    return "public" if operation.get("security") == [] else "viewer" if method == "GET" else "operator"


class Keys(Base):
    def tearDown(self):
        for item in self.api.call("GET", "/api/v1/api-keys?limit=1000").json["items"]:
            if item["name"] != "bootstrap":
                self.assertEqual(self.api.call("DELETE", f"/api/v1/api-keys/{item['id']}").status, 204)
        super().tearDown()

    def key(self, name, role, **more):
        return self.create("api-keys", name=name, role=role, **more)

    def store(self):
        return contextlib.closing(sqlite3.connect(self.controller.state / "hawser.db", timeout=10, isolation_level=None))

    def change(self, key, column, value):
        with self.store() as store:
            store.execute(f"UPDATE api_keys SET {column} = {value} WHERE id = ?", (uuid.UUID(key["id"]).bytes,))

    def sign_in(self, token):
        reply = self.api.call("POST", "/api/v1/sessions", {"token": token}, token="")
        self.assertEqual(reply.status, 201, reply)
        return reply.json, reply.headers["Set-Cookie"].split(";")[0]


class Roles(Keys):
    def test_document_and_route_table_agree(self):
        table = routes()
        self.assertEqual({key: operation["x-hawser-role"] for key, operation in operations().items()}, table)

    def test_what_is_not_usual_is_meant(self):
        """Reading is for viewers and writing for operators, with these exceptions."""
        unusual = {key: operation["x-hawser-role"] for key, operation in operations().items()
                   if operation["x-hawser-role"] != usual_role(key[0], operation)}
        known = {
            ("DELETE", "/api/v1/sessions/current"): "viewer",
            ("POST", "/api/v1/gateways/{id}/revoke"): "admin",
            ("POST", "/api/v1/revisions/accept"): "admin",
            ("POST", "/api/v1/instance-sizes"): "admin",
            ("DELETE", "/api/v1/instance-sizes/{id}"): "admin",
            ("PUT", "/api/v1/connections/{id}/encryption-policy"): "admin",
            ("DELETE", "/api/v1/separations/{id}"): "admin",
            ("GET", "/api/v1/api-keys"): "admin",
            ("POST", "/api/v1/api-keys"): "admin",
            ("GET", "/api/v1/api-keys/{id}"): "admin",
            ("DELETE", "/api/v1/api-keys/{id}"): "admin",
            ("GET", "/api/v1/audit"): "admin",
        }
        self.assertEqual(unusual, {key: role for key, role in known.items() if key in operations()})

    def test_every_route_by_every_role(self):
        """Whoever lacks the role gets 403 that names it; whoever has it gets past it. Nothing is changed by this: ids name nothing,
        bodies are no objects."""
        before = self.api.dump()
        keys = {role: self.key(role, role)["key"] for role in ROLES}
        for (method, path), operation in operations().items():
            needed = operation["x-hawser-role"]
            if needed == "public" or path.endswith("/revisions/accept") and needed == "admin":
                continue
            for role in ROLES:
                with self.subTest(method=method, path=path, role=role):
                    body = b"[]" if "requestBody" in operation else None
                    reply = self.api.call(method, re.sub(r"\{[a-z_]+\}", NOTHING, path), body, token=keys[role])
                    if ROLES.index(role) >= ROLES.index(needed):
                        self.assertNotIn(reply.status, (401, 403), reply)
                        continue
                    self.assertEqual((reply.status, reply.json["type"]), (403, "urn:hawser:problem:role-needed"))
                    self.assertEqual(reply.json["detail"], f"the role {needed} is needed, this API key has the role {role}")
        self.assertEqual(self.api.dump(), before)

    def test_accepting_a_restored_store_is_for_admins(self):
        for role in ROLES[:2]:
            self.assertEqual(self.api.call("POST", "/api/v1/revisions/accept", token=self.key(role, role)["key"]).status, 403)

    def test_an_operator_runs_the_network(self):
        operator = self.key("op", "operator")["key"]
        made = self.api.call("POST", "/api/v1/sites", {"name": "a", "provider": "onprem", "role": "spoke", "cidrs": ["10.1.0.0/16"]}, token=operator)
        self.assertEqual(made.status, 201)
        gateway = self.api.call("POST", "/api/v1/gateways", {"name": "gw", "site_id": made.json["id"]}, token=operator).json
        self.assertEqual(self.api.call("POST", "/api/v1/enrolment-tokens", {"site_id": made.json["id"]}, token=operator).status, 201)
        self.assertEqual(self.api.call("POST", f"/api/v1/gateways/{gateway['id']}/revoke", token=operator).status, 403)
        self.assertEqual(self.api.call("GET", f"/api/v1/gateways/{gateway['id']}").json["state"], "pending")

    def test_a_plan_is_judged_as_its_writes(self):
        operator = self.key("op", "operator")["key"]
        gateway = self.create("gateways", name="gw", site_id=self.site("a", "10.1.0.0/16")["id"])
        plan = {"changes": [{"method": "POST", "path": f"/api/v1/gateways/{gateway['id']}/revoke"}]}
        refused = self.api.call("POST", "/api/v1/plan", plan, token=operator)
        self.assertEqual(refused.status, 200, refused)
        self.assertFalse(refused.json["feasible"])
        self.assertIn("the role admin is needed", json.dumps(refused.json))
        self.assertTrue(self.api.call("POST", "/api/v1/plan", plan).json["feasible"])

    def test_sessions_have_the_role_of_their_key(self):
        session, cookie = self.sign_in(self.key("watcher", "viewer")["key"])
        self.assertEqual((session["role"], session["key_name"]), ("viewer", "watcher"))

        def call(method, path, body=None, csrf=session["csrf_token"]):
            more = {"Hawser_Csrf": csrf} if csrf else {}
            return self.api.call(method, path, body, token="", Cookie=cookie, **more)
        self.assertEqual(call("GET", "/api/v1/sites").status, 200)
        self.assertEqual(call("GET", "/api/v1/api-keys").json["type"], "urn:hawser:problem:role-needed")
        self.assertEqual(call("POST", "/api/v1/sites", {}).json["type"], "urn:hawser:problem:role-needed")
        self.assertEqual(call("POST", "/api/v1/sites", {}, csrf=None).json["type"], "urn:hawser:problem:forbidden")
        self.assertEqual(call("DELETE", "/api/v1/sessions/current", csrf=None).status, 403)
        self.assertEqual(call("DELETE", "/api/v1/sessions/current").status, 204)
        self.assertEqual(call("GET", "/api/v1/whoami").status, 401)

    def test_refusals_for_the_role_are_no_guesses(self):
        viewer = self.key("v", "viewer")["key"]
        self.assertEqual({self.api.call("POST", "/api/v1/sites", b"[]", token=viewer).status for _ in range(80)}, {403})
        self.assertEqual(self.api.call("GET", "/api/v1/sites", token=viewer).status, 200)


class Life(Keys):
    def test_made_shown_once_and_gone(self):
        made = self.key("monitoring", "viewer")
        secret = made.pop("key")
        path = f"/api/v1/api-keys/{made['id']}"
        self.assertEqual((made["role"], made["state"], made["created_by"], made["last_used_at"]), ("viewer", "valid", "bootstrap", None))
        self.assertTrue(secret.startswith(made["prefix"]))
        days = datetime.datetime.fromisoformat(made["expires_at"][:-1]) - datetime.datetime.fromisoformat(made["created_at"][:-1])
        self.assertEqual(days.days, 90)
        self.assertEqual(self.api.call("GET", path).json, made)
        self.assertIn(made, self.api.call("GET", "/api/v1/api-keys").json["items"])
        who = self.api.call("GET", "/api/v1/whoami", token=secret).json
        self.assertEqual((who["by"], who["role"], who["key_name"], who["key_id"], who["key_state"], who["key_expires_at"]),
                         ("token", "viewer", "monitoring", made["id"], "valid", made["expires_at"]))
        for file in self.controller.state.glob("hawser.db*"):
            self.assertNotIn(secret.encode(), file.read_bytes(), file)
        self.assertNotIn(secret, self.controller.log_text())
        self.assertEqual(self.api.call("DELETE", path).status, 204)
        self.assertEqual(self.api.call("GET", "/api/v1/whoami", token=secret).status, 401)
        self.refused(404, "GET", path)

    def test_bootstrap_is_one_of_them(self):
        key, = self.api.call("GET", "/api/v1/api-keys").json["items"]
        self.assertEqual((key["name"], key["role"], key["created_by"], key["expires_at"], key["state"]), ("bootstrap", "admin", None, None, "valid"))
        self.assertTrue(self.controller.token.startswith(key["prefix"]))

    def test_values_are_refused(self):
        good = {"name": "x", "role": "viewer"}
        self.refused(422, "POST", "/api/v1/api-keys", {**good, "name": "bootstrap"}, "name")
        for member, values in {"name": ["", "A b", 5, None], "role": ["agent", "public", "", None, 2],
                               "expires_in_days": [0, -1, 401, "90", None, 1.5], "key": ["x"]}.items():
            for value in values:
                self.refused(422, "POST", "/api/v1/api-keys", {**good, member: value}, member)
        for member in good:
            self.refused(422, "POST", "/api/v1/api-keys", {k: v for k, v in good.items() if k != member}, member)
        self.key("x", "viewer")
        self.refused(409, "POST", "/api/v1/api-keys", good, "name")

    def test_the_last_admin_stays(self):
        first, = self.api.call("GET", "/api/v1/api-keys").json["items"]
        path = f"/api/v1/api-keys/{first['id']}"
        self.key("op", "operator")
        self.assertIn("last API key of role admin", self.refused(409, "DELETE", path)["detail"])
        ended = self.key("ended", "admin")
        self.change(ended, "expires_at", "unixepoch() - 1")
        self.refused(409, "DELETE", path)
        second = self.key("second", "admin")
        self.assertEqual(self.api.call("DELETE", f"/api/v1/api-keys/{ended['id']}").status, 204)
        self.assertEqual(self.api.call("DELETE", f"/api/v1/api-keys/{second['id']}", token=second["key"]).status, 204)

    def test_if_match_and_idempotency(self):
        once = str(uuid.uuid4())
        made = self.api.call("POST", "/api/v1/api-keys", {"name": "x", "role": "viewer"}, Idempotency_Key=once)
        again = self.api.call("POST", "/api/v1/api-keys", {"name": "x", "role": "viewer"}, Idempotency_Key=once)
        self.assertEqual(again.json, {**made.json, "key": None})
        path = f"/api/v1/api-keys/{made.json['id']}"
        self.refused(412, "DELETE", path, field="If-Match", If_Match='"0"')
        self.assertEqual(self.api.call("DELETE", path, If_Match=made.headers["ETag"]).status, 204)

    def test_sessions_end_with_their_key(self):
        key = self.key("desk", "operator")
        _, cookie = self.sign_in(key["key"])
        self.assertEqual(self.api.call("GET", "/api/v1/whoami", token="", Cookie=cookie).status, 200)
        self.api.call("DELETE", f"/api/v1/api-keys/{key['id']}")
        self.assertEqual(self.api.call("GET", "/api/v1/whoami", token="", Cookie=cookie).status, 401)
        with self.store() as store:
            self.assertEqual(store.execute("SELECT count(*) FROM web_sessions WHERE api_key_id = ?",
                                           (uuid.UUID(key["id"]).bytes,)).fetchone()[0], 0)

    def test_the_end(self):
        key = self.key("short", "viewer", expires_in_days=1)
        session, cookie = self.sign_in(key["key"])
        self.assertEqual(key["state"], "expiring")
        self.assertEqual(self.api.call("GET", "/api/v1/whoami", token=key["key"]).json["key_state"], "expiring")
        self.change(key, "expires_at", "unixepoch() - 1")
        reply = self.api.call("GET", "/api/v1/sites", token=key["key"])
        self.assertEqual(reply.status, 401)
        self.assertIn("this API key (short) has ended", reply.json["detail"])
        self.assertEqual(self.api.call("GET", "/api/v1/sites", token="", Cookie=cookie).status, 401)
        self.assertEqual(self.api.call("POST", "/api/v1/sessions", {"token": key["key"]}, token="").status, 401)
        self.assertEqual(self.api.call("GET", f"/api/v1/api-keys/{key['id']}").json["state"], "expired")
        # A clock that was ahead ended nothing for good.
        self.change(key, "expires_at", "unixepoch() + 100")
        self.assertEqual(self.api.call("GET", "/api/v1/sites", token=key["key"]).status, 200)
        self.assertEqual(self.api.call("GET", "/api/v1/sites", token="", Cookie=cookie).status, 200)

    def test_a_session_does_not_outlive_its_key(self):
        key = self.key("short", "viewer")
        self.change(key, "expires_at", "unixepoch() + 600")
        session, _ = self.sign_in(key["key"])
        self.assertEqual(session["expires_at"], self.api.call("GET", f"/api/v1/api-keys/{key['id']}").json["expires_at"])

    def test_a_session_of_the_future_has_ended(self):
        """The clock was put back: nobody knows for how long it would hold."""
        session, cookie = self.sign_in(self.controller.token)
        with self.store() as store:
            store.execute("UPDATE web_sessions SET created_at = created_at + 86400, last_used_at = last_used_at + 86400,"
                          " expires_at = expires_at + 86400 WHERE id = ?", (uuid.UUID(session["id"]).bytes,))
        self.assertEqual(self.api.call("GET", "/api/v1/sites", token="", Cookie=cookie).status, 401)

    def test_the_last_use_is_noted_once_a_minute(self):
        key = self.key("x", "viewer")
        used = lambda: self.api.call("GET", f"/api/v1/api-keys/{key['id']}").json["last_used_at"]
        self.api.call("GET", "/api/v1/sites", token=key["key"])
        self.assertIsNotNone(used())
        for age, noted in ((30, False), (60, True), (-3600, True)):  # … and at once where the clock was ahead
            self.change(key, "last_used_at", f"unixepoch() - {age}")
            before = used()
            self.api.call("GET", "/api/v1/sites", token=key["key"])
            self.assertEqual(used() != before, noted, age)

    def test_a_new_bootstrap_key_leaves_the_others(self):
        key = self.key("ci", "operator")["key"]
        old = self.controller.token
        self.assertEqual(self.controller.bootstrap("--new-admin-token").returncode, 0)
        self.assertEqual(self.api.call("GET", "/api/v1/sites", token=old).status, 401)
        self.assertEqual(self.api.call("GET", "/api/v1/sites").status, 200)
        self.assertEqual(self.api.call("GET", "/api/v1/sites", token=key).status, 200)
        self.assertEqual([k["name"] for k in self.api.call("GET", "/api/v1/api-keys").json["items"]], ["bootstrap", "ci"])


if __name__ == "__main__":
    unittest.main()
