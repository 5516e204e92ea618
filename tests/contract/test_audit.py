"""The audit: one record for each write, and a chain that shows what was done to it."""
import concurrent.futures
import contextlib
import hashlib
import json
import pathlib
import shutil
import sqlite3
import subprocess
import tempfile
import unittest
import uuid

from controller import BINARY, Client, Controller, request
from test_access import Keys

ZERO = "0" * 64


def judge(lines, previous=ZERO):
    """A verifier of our own, for an export: (first broken sequence or None, last hash)."""
    expected = None
    for line in lines:
        record = json.loads(line)
        text = line[:line.rindex(',"hash":"')] + "}"
        if record["previous_hash"] != previous or hashlib.sha256(text.encode()).hexdigest() != record["hash"] \
                or (expected and record["sequence"] != expected):
            return record["sequence"], previous
        previous, expected = record["hash"], record["sequence"] + 1
    return None, previous


class Base(Keys):
    def export(self, **query):
        lines, cursor = [], None
        while True:
            path = "/api/v1/audit?" + "&".join(f"{k}={v}" for k, v in {"format": "jsonl", "order": "oldest", "limit": 1000, **query}.items())
            reply = self.api.call("GET", path + (f"&cursor={cursor}" if cursor else ""))
            self.assertEqual(reply.status, 200, reply)
            lines += reply.body.decode().splitlines()
            cursor = reply.headers["Hawser-Next-Cursor"]
            if not cursor:
                return lines

    def head(self):
        return self.api.call("GET", "/api/v1/audit?limit=1").json["head"]

    def since(self, sequence):
        """Records behind this one, oldest first."""
        items = self.api.call("GET", "/api/v1/audit?limit=1000").json["items"]
        return [item for item in reversed(items) if item["sequence"] > sequence]

    def one(self, write, status):
        """The one record that a write leaves."""
        before = self.head()["sequence"]
        reply = write()
        self.assertEqual(reply.status, status, reply)
        record, = self.since(before)
        self.assertEqual((record["outcome"], record["status"], record["omitted"]), ("done", None, 0))
        return reply, record


class Records(Base):
    def test_create_change_delete(self):
        body = {"name": "a", "provider": "onprem", "role": "spoke", "cidrs": ["10.1.0.0/16"]}
        made, record = self.one(lambda: self.api.call("POST", "/api/v1/sites", body), 201)
        key, = [k for k in self.api.call("GET", "/api/v1/api-keys").json["items"] if k["name"] == "bootstrap"]
        self.assertEqual(record["actor"], {"kind": "key", "id": key["id"], "name": "bootstrap", "role": "admin", "session": False})
        self.assertEqual(record["request"], {"id": made.headers["X-Request-Id"], "method": "POST", "path": "/api/v1/sites", "client": "127.0.0.1"})
        self.assertEqual((record["action"], record["object"]), ("sites.create", {"type": "sites", "id": made.json["id"]}))
        self.assertIsNone(record["before"])
        self.assertEqual(record["after"], {k: v for k, v in made.json.items() if k not in ("updated_at", "revision")})
        path = f"/api/v1/sites/{made.json['id']}"
        _, record = self.one(lambda: self.api.call("PATCH", path, {"region": "x", "name": "a"}), 200)
        self.assertEqual((record["action"], record["before"], record["after"]), ("sites.patch", {"region": None}, {"region": "x"}))
        _, record = self.one(lambda: self.api.call("DELETE", path), 204)
        self.assertEqual((record["action"], record["object"]["id"], record["after"]), ("sites.delete", made.json["id"], None))
        self.assertEqual(record["before"]["region"], "x")

    def test_other_writes(self):
        site = self.site("a", "10.1.0.0/16")
        gateway = self.create("gateways", name="gw", site_id=site["id"])
        size = self.create("instance-sizes", provider="onprem", size="box", vcpus=2)
        ruleset = self.create("rulesets", name="r", site_id=site["id"], scope="site")
        figure = {"mtu": 1500, "published": False, "bps": 1e9, "method": "iperf3 between two of them"}
        rule = {"name": "web", "action": "allow", "protocol": "tcp"}
        for method, path, body, status, action, object_type in (
                ("POST", f"/api/v1/gateways/{gateway['id']}/revoke", {}, 200, "gateways.revoke", "gateways"),
                ("POST", "/api/v1/enrolment-tokens", {"site_id": site["id"]}, 201, "enrolment-tokens.create", "enrolment-tokens"),
                ("POST", "/api/v1/api-keys", {"name": "x", "role": "viewer"}, 201, "api-keys.create", "api-keys"),
                ("POST", f"/api/v1/rulesets/{ruleset['id']}/rules", {"rules": [rule]}, 201, "rulesets.rules.create", "rules"),
                ("PUT", f"/api/v1/rulesets/{ruleset['id']}/rules", {"rules": []}, 200, "rulesets.rules.replace", "rulesets"),
                ("DELETE", f"/api/v1/rulesets/{ruleset['id']}", None, 204, "rulesets.delete", "rulesets"),
                ("DELETE", f"/api/v1/instance-sizes/{size['id']}", None, 204, "instance-sizes.delete", "instance-sizes")):
            with self.subTest(action):
                _, record = self.one(lambda: self.api.call(method, path, body), status)
                self.assertEqual((record["action"], record["object"]["type"]), (action, object_type))
                if action == "gateways.revoke":
                    self.assertEqual((record["before"], record["after"]), ({"state": "pending"}, {"state": "revoked"}))
                if action == "rulesets.rules.create":
                    self.assertEqual((record["before"], {**record["after"], **rule}), (None, record["after"]))

    def test_sessions(self):
        key = self.key("desk", "operator")
        signed_in, record = self.one(lambda: self.api.call("POST", "/api/v1/sessions", {"token": key["key"]}, token=""), 201)
        self.assertEqual((record["action"], record["actor"]["name"], record["after"]), ("sessions.create", "desk", None))
        cookie, csrf = signed_in.headers["Set-Cookie"].split(";")[0], signed_in.json["csrf_token"]

        def call(method, path, body=None):
            return self.api.call(method, path, body, token="", Cookie=cookie, Hawser_Csrf=csrf)
        body = {"name": "a", "provider": "onprem", "role": "spoke", "cidrs": ["10.1.0.0/16"]}
        _, record = self.one(lambda: call("POST", "/api/v1/sites", body), 201)
        self.assertEqual(record["actor"], {"kind": "key", "id": key["id"], "name": "desk", "role": "operator", "session": True})
        _, record = self.one(lambda: call("DELETE", "/api/v1/sessions/current"), 204)
        self.assertEqual(record["action"], "sessions.current.delete")

    def test_what_changes_nothing_is_no_record(self):
        site = self.site("a", "10.1.0.0/16")
        once = str(uuid.uuid4())
        self.api.call("POST", "/api/v1/enrolment-tokens", {"site_id": site["id"]}, Idempotency_Key=once)
        before = self.head()
        self.api.call("POST", "/api/v1/enrolment-tokens", {"site_id": site["id"]}, Idempotency_Key=once)
        self.assertEqual(self.api.call("POST", "/api/v1/sites", {"name": "a"}).status, 422)
        self.assertEqual(self.api.call("PATCH", f"/api/v1/sites/{site['id']}", {"region": "x"}, If_Match='"0"').status, 412)
        plan = {"changes": [{"method": "DELETE", "path": f"/api/v1/sites/{site['id']}"}]}
        self.assertEqual(self.api.call("POST", "/api/v1/plan", plan).status, 200)
        self.api.call("GET", "/api/v1/sites")
        self.assertEqual(self.head(), before)

    def test_refusals(self):
        viewer = self.key("v", "viewer")
        before = self.head()["sequence"]
        self.assertEqual(self.api.call("POST", "/api/v1/sites", b"[]", token=viewer["key"]).status, 403)
        self.assertEqual(self.api.call("DELETE", f"/api/v1/sites/{uuid.UUID(int=1)}", token="hwa1.guess").status, 401)
        self.assertEqual(self.api.call("POST", "/api/v1/sessions", {"token": "hwa1.guess"}, token="").status, 401)
        self.assertEqual(self.api.call("GET", "/api/v1/audit", token=viewer["key"]).status, 403)  # reads are not recorded
        records = self.since(before)
        self.assertEqual([(r["outcome"], r["status"], r["actor"]["kind"], r["actor"]["name"], r["action"]) for r in records], [
            ("refused", 403, "key", "v", "sites.create"), ("refused", 401, "nobody", None, "sites.delete"),
            ("refused", 401, "nobody", None, "sessions.create")])
        self.assertEqual([(r["before"], r["after"]) for r in records], [(None, None)] * 3)

    def test_a_flood_of_refusals_is_counted(self):
        with Controller() as controller:
            viewer = request(controller.port, controller.web_context(), "POST", "/api/v1/api-keys", {"name": "v", "role": "viewer"},
                             {"Authorization": f"Bearer {controller.token}"}).json["key"]
            for _ in range(90):
                request(controller.port, controller.web_context(), "POST", "/api/v1/sites", b"[]", {"Authorization": f"Bearer {viewer}"})
            with contextlib.closing(sqlite3.connect(controller.state / "hawser.db")) as store:
                records = [json.loads(text) for text, in store.execute("SELECT record FROM audit WHERE refused = 1")]
        self.assertGreaterEqual(len(records), 60)
        self.assertLess(len(records), 85)

    def test_bootstrap_is_the_first(self):
        first = json.loads(self.export()[0])
        self.assertEqual((first["sequence"], first["actor"]["kind"], first["action"], first["request"], first["previous_hash"]),
                         (1, "command", "bootstrap", None, ZERO))

    def test_secrets_are_in_no_record(self):
        key = self.key("x", "viewer")["key"]
        token = self.create("enrolment-tokens", site_id=self.site("a", "10.1.0.0/16")["id"])["token"]
        self.sign_in(key)
        text = "\n".join(self.export())
        for secret in (key, token, self.controller.token):
            self.assertNotIn(secret, text)
        self.assertIn("enrolment-tokens.create", text)

    def test_filters_and_pages(self):
        key = self.key("op", "operator")
        sites = [self.api.call("POST", "/api/v1/sites", {"name": f"s{i}", "provider": "onprem", "role": "spoke", "cidrs": [f"10.{i}.0.0/16"]},
                               token=key["key"]).json for i in range(3)]
        self.api.call("PATCH", f"/api/v1/sites/{sites[1]['id']}", {"region": "x"})
        self.api.call("PATCH", f"/api/v1/sites/{sites[1]['id']}", b"[]", token="hwa1.no")

        def ask(query):
            return self.api.call("GET", f"/api/v1/audit?{query}").json["items"]
        self.assertEqual([r["object"]["id"] for r in ask(f"actor_id={key['id']}&order=oldest")], [s["id"] for s in sites])
        about = ask(f"object_id={sites[1]['id']}")
        self.assertEqual([(r["action"], r["outcome"]) for r in about], [("sites.patch", "refused"), ("sites.patch", "done"), ("sites.create", "done")])
        self.assertEqual(len(ask(f"object_id={sites[1]['id']}&outcome=done")), 2)
        self.assertEqual(len(ask(f"object_id={sites[1]['id']}&outcome=done&actor_id={key['id']}")), 1)
        self.assertEqual({r["object"]["type"] for r in ask("object_type=api-keys")}, {"api-keys"})
        self.assertEqual(ask("from=2100-01-01T00:00:00Z"), [])
        self.assertEqual(ask("to=2000-01-01T00:00:00Z"), [])
        self.assertEqual(len(ask(f"object_id={sites[1]['id']}&from=2000-01-01T00:00:00Z&to=2100-01-01T00:00:00Z")), 3)
        whole = [r["sequence"] for r in ask("limit=1000&order=oldest")]
        for order, expected in (("oldest", whole), ("newest", whole[::-1])):
            seen, cursor = [], ""
            while cursor is not None:
                page = self.api.call("GET", f"/api/v1/audit?limit=7&order={order}" + (f"&cursor={cursor}" if cursor else "")).json
                seen += [r["sequence"] for r in page["items"]]
                cursor = page["next_cursor"]
            self.assertEqual(seen, expected)
        for query, field in (("order=x", "order"), ("format=csv", "format"), ("outcome=x", "outcome"), ("from=now", "from"), ("actor_id=x", "actor_id"),
                             ("object_type=A", "object_type"), ("cursor=eA", "cursor"), ("actor=x", "actor"), ("limit=0", "limit")):
            self.refused(422, "GET", f"/api/v1/audit?{query}", field=field)

    def test_the_whole_of_a_large_write_is_hashed(self):
        site = self.site("a", "10.1.0.0/16")
        ruleset = self.create("rulesets", name="r", site_id=site["id"], scope="site")
        rules = [{"name": f"rule-{i}", "action": "deny", "protocol": "udp", "destination_ports": [str(i + 1)], "description": "x" * 60} for i in range(300)]
        _, record = self.one(lambda: self.api.call("PUT", f"/api/v1/rulesets/{ruleset['id']}/rules", {"rules": rules}), 200)
        rules = self.api.call("GET", f"/api/v1/rulesets/{ruleset['id']}/rules?limit=1000").json["items"]
        rules = [{k: v for k, v in rule.items() if k not in ("counters", "updated_at", "revision")} for rule in rules]
        text = json.dumps({"rules": rules}, separators=(",", ":"))
        self.assertEqual(record["after"], {"sha256": hashlib.sha256(text.encode()).hexdigest(), "bytes": len(text)})
        self.api.call("DELETE", f"/api/v1/rulesets/{ruleset['id']}")


class Chain(Base):
    def test_an_export_is_judged_by_anybody(self):
        for i in range(3):
            self.site(f"s{i}", f"10.{i}.0.0/16", region="eu-1")
        lines = self.export()
        broken, last = judge(lines)
        self.assertIsNone(broken)
        self.assertEqual(self.head(), {"sequence": len(lines), "hash": last})
        self.assertEqual(judge(lines[:2] + lines[3:])[0], 4)
        self.assertEqual(judge([lines[0].replace("bootstrap", "bootstrop")] + lines[1:])[0], 1)
        items = self.api.call("GET", "/api/v1/audit?limit=1000&order=oldest").json["items"]
        self.assertTrue(items == [json.loads(line) for line in lines])


class Many(Base):
    def tearDown(self):
        """Its objects go with the controller."""

    def test_500_writes_at_once(self):
        site = self.site("a", "10.1.0.0/16")
        before = self.head()["sequence"]
        headers = {"Authorization": f"Bearer {self.controller.token}"}

        def write(_):
            with contextlib.closing(Client(self.controller.port, self.api.context, timeout=30)) as client:
                return [client.request("POST", "/api/v1/enrolment-tokens", {"site_id": site["id"]}, headers).json["id"] for _ in range(25)]
        with concurrent.futures.ThreadPoolExecutor(20) as pool:
            made = {one for ids in pool.map(write, range(20)) for one in ids}
        lines = self.export()
        self.assertIsNone(judge(lines)[0])
        self.assertEqual(len(lines) - before, 500)
        self.assertEqual({json.loads(line)["object"]["id"] for line in lines[before:]}, made)
        done = self.controller.run("audit", "verify")
        self.assertEqual(done.returncode, 0, done)
        self.assertIn(f"audit: {len(lines)} records in order, 1 to {len(lines)}", done.stdout)


class Verify(Base):
    """The program's own verifier, over stores that somebody has changed."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        for i in range(10):
            cls.api.call("POST", "/api/v1/sites", {"name": f"s{i}", "provider": "onprem", "role": "spoke", "cidrs": [f"10.{i}.0.0/16"]})
        cls.heads = {r["sequence"]: r["hash"] for r in cls.api.call("GET", "/api/v1/audit").json["items"]}

    def tearDown(self):
        """What is judged stays as it is."""

    def verify(self, *words, sql=(), arguments=()):
        """(exit code, output) over a copy that was changed by these statements."""
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            with contextlib.closing(sqlite3.connect(self.controller.state / "hawser.db")) as store, \
                    contextlib.closing(sqlite3.connect(folder / "hawser.db", isolation_level=None)) as copy:
                store.backup(copy)
                for statement in sql:
                    copy.execute(statement, arguments if "?" in statement else ())
            for path in (folder, *folder.iterdir()):
                shutil.chown(path, 65534, 65534)
            was = (folder / "hawser.db").read_bytes()
            done = subprocess.run([str(BINARY), "audit", "verify", *words, "--config", str(self.controller.config), "--state-dir", str(folder)],
                                  capture_output=True, text=True, timeout=30)
            self.assertTrue((folder / "hawser.db").read_bytes() == was, "evidence was changed")
            return done.returncode, done.stdout + done.stderr

    def broken(self, sequence, why, *words, **changes):
        code, text = self.verify(*words, **changes)
        self.assertEqual(code, 1, text)
        self.assertIn(f"audit: BROKEN at record {sequence}: {why}", text)

    def test_whole(self):
        code, text = self.verify()
        last = max(self.heads)
        self.assertEqual(code, 0, text)
        self.assertIn(f"records in order, 1 to {last}\nhead:  {last}:{self.heads[last]}\n", text)
        self.assertEqual(self.verify("--from", "5")[0], 0)
        self.assertEqual(self.verify("--head", f"5:{self.heads[5]}")[0], 0)

    def test_an_older_store_is_judged_as_it_is(self):
        code, text = self.verify(sql=["PRAGMA user_version = 11"])
        self.assertEqual(code, 0, text)
        code, text = self.verify(sql=["PRAGMA user_version = 9999"])
        self.assertEqual(code, 1, text)
        self.assertIn("it was used by a newer one", text)

    def test_a_changed_byte(self):
        change = "UPDATE audit SET record = replace(record, '\"s3\"', '\"s4\"') WHERE record LIKE '%\"name\":\"s3\"%'"
        sequence = next(r["sequence"] for r in self.since(0) if (r["after"] or {}).get("name") == "s3")
        self.broken(sequence, "its text is not what was hashed", sql=[change])

    def test_a_changed_record_with_a_hash_that_fits(self):
        """Whoever also writes the hash anew breaks the link to the next one."""
        record, = [line for line in self.export() if '"name":"s3"' in line]
        sequence = json.loads(record)["sequence"]
        text = record[:record.rindex(',"hash":"')].replace('"s3"', '"s4"') + "}"
        self.broken(sequence + 1, "it does not follow the record before",
                    sql=["UPDATE audit SET record = ?1, hash = ?2 WHERE sequence = ?3"],
                    arguments=(text, hashlib.sha256(text.encode()).digest(), sequence))

    def test_a_removed_row(self):
        self.broken(6, "record 5 is missing", sql=["DELETE FROM audit WHERE sequence = 5"])

    def test_two_rows_swapped(self):
        swap = ["UPDATE audit SET sequence = -1 WHERE sequence = 5", "UPDATE audit SET sequence = 5 WHERE sequence = 6",
                "UPDATE audit SET sequence = 6 WHERE sequence = -1"]
        self.broken(5, "its text is that of record 6", sql=swap)

    def test_columns_that_lie(self):
        for column, value in (("at", "at + 1"), ("actor_id", "NULL"), ("object_type", "'gateways'"), ("object_id", "zeroblob(16)"), ("refused", "1")):
            self.broken(5, "the columns beside its text say something else", sql=[f"UPDATE audit SET {column} = {value} WHERE sequence = 5"])

    def test_the_end_cut_off(self):
        last = max(self.heads)
        cut = f"DELETE FROM audit WHERE sequence > {last - 2}"
        self.broken(last - 1, "it is missing at the end", sql=[cut])
        # Whoever moves the head too is found by a head that was kept elsewhere alone.
        both = [cut, f"UPDATE audit_head SET sequence = {last - 2}, hash = (SELECT hash FROM audit WHERE sequence = {last - 2})"]
        self.assertEqual(self.verify(sql=both)[0], 0)
        self.broken(last - 1, "it is missing: a later head was kept elsewhere", "--head", f"{last}:{self.heads[last]}", sql=both)
        self.broken(5, "its hash is not the one that was kept elsewhere", "--head", f"5:{self.heads[6]}")

    def test_the_beginning_cut_off(self):
        self.broken(4, "the records before it are missing, and no checkpoint tells of it", sql=["DELETE FROM audit WHERE sequence < 4"])
        self.assertEqual(self.verify("--from", "6", sql=["DELETE FROM audit WHERE sequence < 4"])[0], 0)

    def test_all_of_it_gone(self):
        self.broken(1, "it is missing at the end", sql=["DELETE FROM audit"])

    def test_usage(self):
        for words in (("audit",), ("audit", "check"), ("audit", "verify", "--from"), ("audit", "verify", "--from", "0"), ("audit", "verify", "--head", "5"),
                      ("audit", "verify", "--head", "5:zz"), ("audit", "verify", "verify")):
            self.assertEqual(self.controller.run(*words).returncode, 2, words)

    def test_each_start_logs_the_head(self):
        self.assertRegex(self.controller.log_text(), r" audit head=\d+:[0-9a-f]{64}")


if __name__ == "__main__":
    unittest.main()
