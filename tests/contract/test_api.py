"""The people's API against a running controller: every reply is held against the OpenAPI document."""
import json
import pathlib
import sqlite3
import unittest
import uuid

from controller import Client, Controller, request
from openapi import Document

LISTS = ("sites", "gateways", "connections", "links", "enrolment-tokens")


class Api:
    """A client whose replies must be as documented."""

    def __init__(self, controller):
        self.controller = controller
        self.context = controller.web_context()
        self.client = Client(controller.port, self.context)
        self.document = Document(self.client.request("GET", "/api/v1/openapi.json").json)

    def call(self, method, path, body=None, token=None, **headers):
        token = self.controller.token if token is None else token
        headers = {name.replace("_", "-"): value for name, value in headers.items()}
        if token:
            headers.setdefault("Authorization", f"Bearer {token}")
        reply = self.client.request(method, path, body, headers)
        self.document.check(method, path, reply)
        return reply

    def dump(self):
        """Everything that can be listed, without the time at which the controller itself looked."""
        lists = {name: self.call("GET", f"/api/v1/{name}?limit=1000").json["items"] for name in LISTS}
        for item in lists["gateways"] + lists["links"]:
            del item["status"]["observed_at"]
        return lists


class Base(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.controller = cls.enterClassContext(Controller())
        cls.api = Api(cls.controller)

    @classmethod
    def enterClassContext(cls, context):
        value = context.__enter__()
        cls.addClassCleanup(context.__exit__, None, None, None)
        return value

    def tearDown(self):
        """Each test starts from an empty fleet."""
        for name in ("connections", "gateways", "enrolment-tokens", "sites"):
            for item in self.api.call("GET", f"/api/v1/{name}?limit=1000").json["items"]:
                self.assertEqual(self.api.call("DELETE", f"/api/v1/{name}/{item['id']}").status, 204)

    def create(self, kind, **body):
        reply = self.api.call("POST", f"/api/v1/{kind}", body)
        self.assertEqual(reply.status, 201, reply)
        self.assertEqual(reply.headers["Location"], f"/api/v1/{kind}/{reply.json['id']}")
        return reply.json

    def site(self, name, *cidrs, role="spoke", **more):
        return self.create("sites", name=name, provider="onprem", role=role, cidrs=list(cidrs), **more)

    def chain(self):
        """Two spokes at a transit, one gateway each."""
        sites = [self.site("a", "10.1.0.0/16", "fd01::/64"), self.site("t", "10.2.0.0/16", role="transit"),
                 self.site("b", "10.3.0.0/16")]
        gateways = [self.create("gateways", name=f"gw-{s['name']}", site_id=s["id"],
                                endpoints=[{"address": f"10.{i + 1}.0.1", "family": 4, "scope": "private", "reachable": True}])
                    for i, s in enumerate(sites)]
        connections = [self.create("connections", name=f"{s['name']}-t", site_a_id=s["id"], site_b_id=sites[1]["id"], tunnels=8)
                       for s in (sites[0], sites[2])]
        return sites, gateways, connections

    def refused(self, status, method, path, body=None, field=None, **headers):
        """A clear problem, and nothing changed."""
        before = self.api.dump()
        reply = self.api.call(method, path, body, **headers)
        self.assertEqual(reply.status, status, f"{method} {path} {body}: {reply}")
        self.assertEqual(reply.headers["Content-Type"], "application/problem+json")
        self.assertEqual(reply.json["status"], status)
        self.assertEqual(reply.json["request_id"], reply.headers["X-Request-Id"])
        self.assertTrue(reply.json["detail"])
        if field:
            self.assertEqual(reply.json["field"], field, reply)
        self.assertEqual(self.api.dump(), before)
        return reply.json


class Sites(Base):
    def test_life(self):
        made = self.site("site-a", "10.1.0.0/16", "fd01::/64")
        self.assertEqual((made["domain"], made["takeover"], made["trusted_underlay"], made["region"]), ("default", "none", False, None))
        path = f"/api/v1/sites/{made['id']}"
        self.assertEqual(self.api.call("GET", path).json, made)
        changed = self.api.call("PATCH", path, {"region": "eu-1", "cidrs": ["10.1.0.0/17"]}).json
        self.assertEqual((changed["region"], changed["cidrs"], changed["name"]), ("eu-1", ["10.1.0.0/17"], "site-a"))
        self.assertGreater(changed["revision"], made["revision"])
        self.assertEqual(self.api.call("GET", path).json, changed)
        self.assertIsNone(self.api.call("PATCH", path, {"region": None}).json["region"])
        self.assertEqual(self.api.call("DELETE", path).status, 204)
        self.refused(404, "GET", path)
        self.refused(404, "DELETE", path)
        self.refused(404, "PATCH", path, {"region": "x"})

    def test_values_are_refused(self):
        good = {"name": "x", "provider": "aws", "role": "spoke", "cidrs": ["10.9.0.0/16"]}
        for member, values in {
            "name": ["", "A", "-a", "a-", "a" * 64, "a b", 5, None, ["x"]],
            "provider": ["ibm", "", None, 1],
            "role": ["hub", None, True],
            "domain": ["", "Bad Domain", None, 7],
            "takeover": ["vrrp", None],
            "trusted_underlay": ["yes", 1, None],
            "region": ["a b", "", "x" * 64, 3, "a\u0001"],
            "cidrs": ["10.0.0.0/8", None, {}],
        }.items():
            for value in values:
                with self.subTest(member=member, value=value):
                    self.refused(422, "POST", "/api/v1/sites", {**good, member: value}, field=member)

    def test_prefixes_are_refused(self):
        for cidr in ("10.0.0.1/8", "10.0.0.0/33", "10.0.0.0", "10.0.0.0/-1", "10.0.0.0/08", "010.0.0.0/8", "fd01::1/64", "fd01::/129",
                     "::ffff:10.0.0.0/104", "hello", "", "10.0.0.0/8 ", "0.0.0.0/0", "::/0", "127.0.0.0/8", "224.0.0.0/4",
                     "169.254.0.0/16", "fe80::/10", "ff00::/8", "128.0.0.0/1", "fc00::/6", 5, None):
            with self.subTest(cidr=cidr):
                self.refused(422, "POST", "/api/v1/sites",
                             {"name": "x", "provider": "aws", "role": "spoke", "cidrs": ["192.168.9.0/24", cidr]}, field="cidrs[1]")
        self.refused(422, "POST", "/api/v1/sites", {"name": "x", "provider": "aws", "role": "spoke",
                                                    "cidrs": [f"10.{i}.{k}.0/24" for i in range(2) for k in range(129)]}, field="cidrs")

    def test_overlaps_are_refused(self):
        self.site("first", "10.1.0.0/16", "fd01::/48")
        for cidr in ("10.1.0.0/16", "10.0.0.0/8", "10.1.2.0/24", "fd01::/48", "fd01:0:0:1::/64", "fd00::/8",
                     "100.127.0.0/16", "100.64.0.0/10", "100.127.3.0/24"):
            with self.subTest(cidr=cidr):
                self.refused(409, "POST", "/api/v1/sites",
                             {"name": "x", "provider": "aws", "role": "spoke", "cidrs": ["192.168.9.0/24", cidr]}, field="cidrs[1]")
        self.refused(422, "POST", "/api/v1/sites", {"name": "x", "provider": "aws", "role": "spoke",
                                                    "cidrs": ["10.9.0.0/16", "10.9.1.0/24"]}, field="cidrs[1]")
        other = self.site("second", "10.2.0.0/16")
        self.refused(409, "PATCH", f"/api/v1/sites/{other['id']}", {"cidrs": ["10.1.128.0/17"]}, field="cidrs[0]")
        # Its own prefixes are no obstacle, neighbours aren't either.
        self.assertEqual(self.api.call("PATCH", f"/api/v1/sites/{other['id']}", {"cidrs": ["10.2.0.0/15"]}).status, 200)
        self.site("third", "10.0.0.0/16")

    def test_names_are_unique(self):
        self.site("one", "10.1.0.0/16")
        self.refused(409, "POST", "/api/v1/sites", {"name": "one", "provider": "aws", "role": "spoke"}, field="name")

    def test_a_site_in_use_stays(self):
        sites, gateways, connections = self.chain()
        problem = self.refused(409, "DELETE", f"/api/v1/sites/{sites[0]['id']}")
        self.assertIn("gateway gw-a", problem["detail"])
        self.assertIn("connection a-t", problem["detail"])
        self.refused(409, "PATCH", f"/api/v1/sites/{sites[0]['id']}", {"role": "transit"}, field="role")

    def test_pages(self):
        names = sorted(f"s{i}" for i in range(7))
        for name in reversed(names):
            self.site(name)
        seen, cursor, pages = [], None, 0
        while pages < 10:
            query = "limit=3" + (f"&cursor={cursor}" if cursor else "")
            reply = self.api.call("GET", f"/api/v1/sites?{query}").json
            seen += [item["name"] for item in reply["items"]]
            cursor, pages = reply["next_cursor"], pages + 1
            if cursor is None:
                break
        self.assertEqual((seen, pages), (names, 3))
        for query in ("limit=0", "limit=1001", "limit=x", "limit=-1", "limit=", "cursor=%21", "cursor=", "colour=red"):
            with self.subTest(query=query):
                self.refused(422, "GET", f"/api/v1/sites?{query}", field=query.split("=")[0])


def timeless(gateway):
    """Without when the controller looked: a second may have passed."""
    return {**gateway, "status": {k: v for k, v in gateway["status"].items() if k not in ("observed_at", "age_seconds")}}


class Gateways(Base):
    def test_life(self):
        site = self.site("a", "10.1.0.0/16")
        made = self.create("gateways", name="gw-a1", site_id=site["id"])
        self.assertEqual((made["state"], made["port_base"], made["weight"], made["endpoints"], made["endpoints_source"]),
                         ("pending", 4510, 100, [], "agent"))
        self.assertTrue(made["overlay"]["ipv4"].startswith("100.127."))
        self.assertIsNone(made["telemetry"])
        self.assertEqual(made["status"]["state"], "unknown")
        path = f"/api/v1/gateways/{made['id']}"
        self.assertEqual(timeless(self.api.call("GET", path).json), timeless(made))
        endpoints = [{"address": "10.1.0.1", "family": 4, "scope": "private", "reachable": True},
                     {"address": "2001:db8::1", "family": 6, "scope": "public", "reachable": False}]
        changed = self.api.call("PATCH", path, {"endpoints": endpoints, "weight": 50, "port_base": 5000, "size": "c7i.large"}).json
        self.assertEqual((changed["endpoints"], changed["endpoints_source"], changed["weight"]), (endpoints, "operator", 50))
        self.assertEqual(changed["overlay"], made["overlay"])
        self.assertEqual(timeless(self.api.call("GET", path).json), timeless(changed))
        self.assertEqual(self.api.call("PATCH", path, {"endpoints": None}).json["endpoints_source"], "agent")
        other = self.create("gateways", name="gw-a2", site_id=site["id"])
        self.assertNotEqual(other["overlay"]["ipv4"], made["overlay"]["ipv4"])
        self.assertEqual(len(self.api.call("GET", f"/api/v1/gateways?site_id={site['id']}").json["items"]), 2)
        self.assertEqual(self.api.call("GET", f"/api/v1/gateways?site_id={uuid.uuid4()}").json["items"], [])

    def test_values_are_refused(self):
        site = self.site("a", "10.1.0.0/16")
        good = {"name": "x", "site_id": site["id"]}
        endpoint = {"address": "10.1.0.1", "family": 4, "scope": "private", "reachable": True}
        for body, field in [
            ({"name": "gw"}, "site_id"), ({"site_id": site["id"]}, "name"), ({**good, "site_id": str(uuid.uuid4())}, "site_id"),
            ({**good, "site_id": "x"}, "site_id"), ({**good, "site_id": site["id"].upper()}, "site_id"),
            ({**good, "port_base": 80}, "port_base"), ({**good, "port_base": 65487}, "port_base"), ({**good, "port_base": "4510"}, "port_base"),
            ({**good, "weight": 0}, "weight"), ({**good, "weight": 1001}, "weight"), ({**good, "weight": 1.5}, "weight"),
            ({**good, "size": "x" * 64}, "size"), ({**good, "size": 1}, "size"),
            ({**good, "state": "enrolled"}, "state"), ({**good, "overlay": {}}, "overlay"), ({**good, "colour": "red"}, "colour"),
            ({**good, "endpoints": [endpoint, endpoint]}, "endpoints[1]"),
            ({**good, "endpoints": [{**endpoint, "family": 6}]}, "endpoints[0].address"),
            ({**good, "endpoints": [{**endpoint, "address": "10.1.0.256"}]}, "endpoints[0].address"),
            ({**good, "endpoints": [{**endpoint, "address": "127.0.0.1"}]}, "endpoints[0].address"),
            ({**good, "endpoints": [{**endpoint, "scope": "secret"}]}, "endpoints[0].scope"),
            ({**good, "endpoints": [{**endpoint, "port": 1}]}, "endpoints[0].port"),
            ({**good, "endpoints": [{"address": "10.1.0.1"}]}, None),
            ({**good, "endpoints": [endpoint] * 17}, "endpoints"),
        ]:
            with self.subTest(body=body):
                self.refused(422, "POST", "/api/v1/gateways", body, field=field)

    def test_revoke_takes_no_values(self):
        _, gateways, _ = self.chain()
        for body, status in ((b'{"reason":"x"}', 422), (b"{", 400), (b"[]", 422)):
            for path in (f"gateways/{gateways[0]['id']}/revoke", "revisions/accept"):
                self.refused(status, "POST", f"/api/v1/{path}", body)

    def test_revoke_is_idempotent(self):
        _, gateways, _ = self.chain()
        path = f"/api/v1/gateways/{gateways[0]['id']}"
        first = self.api.call("POST", f"{path}/revoke")
        self.assertEqual((first.status, first.json["state"]), (200, "revoked"))
        before = self.api.dump()
        self.assertEqual(self.api.call("POST", f"{path}/revoke", {}).json["state"], "revoked")
        self.assertEqual(self.api.dump(), before)
        # Its links are gone, the others' are not.
        ends = {link[end] for link in self.api.dump()["links"] for end in ("gateway_a_id", "gateway_b_id")}
        self.assertEqual(ends, {gateways[1]["id"], gateways[2]["id"]})
        self.refused(404, "POST", f"/api/v1/gateways/{uuid.uuid4()}/revoke")


class Connections(Base):
    def test_life_and_links(self):
        sites, gateways, connections = self.chain()
        made = connections[0]
        self.assertEqual((made["kind"], made["path"], made["underlay_family"], made["tunnels"], made["suites"], made["enabled"], made["liveness"]),
                         ("attachment", "auto", None, 8, ["aes-256-gcm"], True, {"interval_ms": 1000, "missed": 3}))
        links = self.api.call("GET", f"/api/v1/links?connection_id={made['id']}").json["items"]
        self.assertEqual(len(links), 1)
        link = links[0]
        self.assertEqual((link["gateway_a_id"], link["gateway_b_id"], link["tunnels"], link["kind"]),
                         (gateways[0]["id"], gateways[1]["id"], 8, "attachment"))
        self.assertEqual(self.api.call("GET", f"/api/v1/links/{link['id']}").json, link)
        self.assertEqual(len(self.api.call("GET", f"/api/v1/links?gateway_id={gateways[1]['id']}").json["items"]), 2)

        path = f"/api/v1/connections/{made['id']}"
        changed = self.api.call("PATCH", path, {"tunnels": None, "liveness": {"missed": 5}, "suites": ["aes-128-gcm", "aes-256-gcm"]}).json
        self.assertEqual((changed["tunnels"], changed["liveness"], changed["suites"]),
                         (None, {"interval_ms": 1000, "missed": 5}, ["aes-128-gcm", "aes-256-gcm"]))
        self.assertEqual(self.api.call("GET", path).json, changed)
        self.assertEqual(self.api.call("DELETE", path).status, 204)
        self.refused(404, "GET", f"/api/v1/links/{link['id']}")

    def test_link_settings(self):
        _, _, connections = self.chain()
        link = self.api.call("GET", f"/api/v1/links?connection_id={connections[0]['id']}").json["items"][0]
        path = f"/api/v1/links/{link['id']}"
        changed = self.api.call("PATCH", path, {"tunnels_override": 3}).json
        self.assertEqual((changed["tunnels_override"], changed["tunnels"]), (3, 3))
        self.assertEqual(self.api.call("GET", path).json, changed)
        self.assertEqual(self.api.call("PATCH", path, {"enabled": False}).json["enabled"], False)
        again = self.api.call("PATCH", path, {"enabled": True, "tunnels_override": None}).json
        self.assertEqual((again["tunnels"], again["tunnels_override"], again["enabled"]), (8, None, True))
        for body, field in [({"tunnels_override": 0}, "tunnels_override"), ({"tunnels_override": 51}, "tunnels_override"),
                            ({"tunnels": 3}, "tunnels"), ({"enabled": None}, "enabled"), ({"port_offset": 1}, "port_offset")]:
            with self.subTest(body=body):
                self.refused(422, "PATCH", path, body, field=field)
        for method, where in (("POST", "/api/v1/links"), ("DELETE", path)):
            self.refused(405, method, where)

    def test_values_are_refused(self):
        a, t = self.site("a", "10.1.0.0/16"), self.site("t", "10.2.0.0/16", role="transit")
        b = self.site("b", "10.3.0.0/16")
        good = {"name": "x", "site_a_id": a["id"], "site_b_id": t["id"]}
        for member, value in [("path", "direct"), ("path", None), ("underlay_family", 5), ("underlay_family", "4"), ("tunnels", 0),
                              ("tunnels", 51), ("tunnels", "8"), ("suites", []), ("suites", "aes-256-gcm"), ("enabled", "yes"),
                              ("liveness", None), ("liveness", 3), ("kind", "peering"), ("site_a_id", str(uuid.uuid4())),
                              ("site_b_id", str(uuid.uuid4())), ("site_b_id", a["id"]), ("site_b_id", b["id"]), ("name", "")]:
            with self.subTest(member=member, value=value):
                self.refused(422, "POST", "/api/v1/connections", {**good, member: value}, field=member)
        for member, value, field in [("suites", ["none"], "suites[0]"), ("suites", ["aes-256-gcm", "aes-256-gcm"], "suites[1]"),
                                     ("liveness", {"interval_ms": 9}, "liveness.interval_ms"), ("liveness", {"missed": 21}, "liveness.missed"),
                                     ("liveness", {"every": 1}, "liveness.every")]:
            with self.subTest(member=member, value=value):
                self.refused(422, "POST", "/api/v1/connections", {**good, member: value}, field=field)

    def test_one_connection_between_two_sites(self):
        sites, _, connections = self.chain()
        self.refused(409, "POST", "/api/v1/connections", {"name": "again", "site_a_id": sites[0]["id"], "site_b_id": sites[1]["id"]})
        self.refused(409, "POST", "/api/v1/connections", {"name": "again", "site_a_id": sites[1]["id"], "site_b_id": sites[0]["id"]})
        self.refused(409, "PATCH", f"/api/v1/connections/{connections[1]['id']}", {"site_a_id": sites[0]["id"]})
        self.refused(409, "PATCH", f"/api/v1/connections/{connections[1]['id']}", {"name": "a-t"}, field="name")

    def test_transits_peer(self):
        a, b = self.site("a", role="transit"), self.site("b", role="transit")
        self.assertEqual(self.create("connections", name="a-b", site_a_id=a["id"], site_b_id=b["id"])["kind"], "peering")


class EnrolmentTokens(Base):
    def test_life(self):
        site = self.site("a", "10.1.0.0/16")
        made = self.create("enrolment-tokens", site_id=site["id"], gateway_name="gw-a1")
        text = made.pop("token")
        path = f"/api/v1/enrolment-tokens/{made['id']}"
        self.assertEqual(self.api.call("GET", path).json, made)
        self.assertEqual(self.api.dump()["enrolment-tokens"], [made])
        self.assertEqual((made["uses"], made["max_uses"], made["size"]), (0, 1, None))
        changed = self.api.call("PATCH", path, {"expires_at": "2026-01-01T00:00:00Z"}).json
        self.assertEqual(changed["expires_at"], "2026-01-01T00:00:00Z")
        # The secret is in no file.
        import base64
        secret = json.loads(base64.urlsafe_b64decode(text.removeprefix("hwt1.") + "=="))["secret"]
        for file in pathlib.Path(self.controller.state).iterdir():
            self.assertNotIn(bytes.fromhex(secret), file.read_bytes(), file)
            self.assertNotIn(secret.encode(), file.read_bytes(), file)
        self.assertEqual(self.api.call("DELETE", path).status, 204)

    def test_values_are_refused(self):
        site, other = self.site("a", "10.1.0.0/16"), self.site("b", "10.2.0.0/16")
        self.create("gateways", name="taken", site_id=other["id"])
        good = {"site_id": site["id"]}
        for body, field in [({}, "site_id"), ({"site_id": str(uuid.uuid4())}, "site_id"), ({**good, "max_uses": 0}, "max_uses"),
                            ({**good, "max_uses": 1001}, "max_uses"), ({**good, "expires_in_seconds": 0}, "expires_in_seconds"),
                            ({**good, "expires_in_seconds": 10**9}, "expires_in_seconds"), ({**good, "gateway_name": "No"}, "gateway_name"),
                            ({**good, "gateway_name": "gw", "max_uses": 2}, "max_uses"), ({**good, "token": "x"}, "token")]:
            with self.subTest(body=body):
                self.refused(422, "POST", "/api/v1/enrolment-tokens", body, field=field)
        self.refused(409, "POST", "/api/v1/enrolment-tokens", {**good, "gateway_name": "taken"}, field="gateway_name")
        made = self.create("enrolment-tokens", site_id=site["id"])
        for body in ({"expires_at": None}, {"expires_at": "tomorrow"}, {"expires_at": "2999-01-01T00:00:00Z"},
                     {"expires_at": "1970-01-01T00:00:00Z"}, {"max_uses": 5}):
            with self.subTest(body=body):
                self.refused(422, "PATCH", f"/api/v1/enrolment-tokens/{made['id']}", body)


class Requests(Base):
    def test_malformed_json(self):
        for body in (b"", b"{", b"[1,2", b"nonsense", b'{"name": "a",}', b'{"name": NaN}', b"{'name': 'a'}", b"\xff\xfe", b"{}{}",
                     b'{"name":"a","name":"b"}', b'{"name":"a\\u0000b"}', b'"\\ud800"', b"[" * 50000, b'{"a":' * 5000, b"1e999999x"):
            with self.subTest(body=body[:40]):
                reply = self.refused(400, "POST", "/api/v1/sites", body)
                self.assertEqual(reply["type"], "urn:hawser:problem:malformed")
        for body in (b"[]", b"5", b"null", b'"x"', b"true"):
            with self.subTest(body=body):
                self.refused(422, "POST", "/api/v1/sites", body)

    def test_content_type(self):
        body = json.dumps({"name": "x", "provider": "aws", "role": "spoke"}).encode()
        for kind in ("text/plain", "application/x-www-form-urlencoded", "application/jsonp", "multipart/form-data; boundary=x"):
            with self.subTest(kind=kind):
                self.refused(415, "POST", "/api/v1/sites", body, Content_Type=kind)
        site = self.site("a")
        reply = self.api.call("PATCH", f"/api/v1/sites/{site['id']}", b'{"region":"x"}', Content_Type="application/merge-patch+json")
        self.assertEqual(reply.status, 200)

    def test_too_large(self):
        self.refused(413, "POST", "/api/v1/sites", b'{"name":"' + b"a" * 65536 + b'"}')
        self.refused(413, "POST", f"/api/v1/gateways/{uuid.uuid4()}/revoke", b" " * 2000)

    def test_wrong_methods_and_paths(self):
        for path in ("sites", "gateways", "connections", "enrolment-tokens", "links"):
            for method in ("PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "BREW"):
                with self.subTest(path=path, method=method):
                    before = self.api.dump()
                    reply = request(self.controller.port, self.api.context, method, f"/api/v1/{path}", b"{}",
                                    {"Authorization": f"Bearer {self.controller.token}"})
                    self.assertEqual(reply.status, 405)
                    self.assertIn("GET", reply.headers["Allow"])
                    self.assertEqual("POST" in reply.headers["Allow"], path != "links")
                    self.assertEqual(self.api.dump(), before)
        for path in ("/", "/api/v1", "/api/v1/sites/", "/api/v1/sites//", "/api/v2/sites", "/api/v1/Sites", "//api/v1/sites",
                     "/api/v1/sites/x/y", "/api/v1/../v1/sites", "/agent/v1/ca"):
            with self.subTest(path=path):
                self.refused(404, "GET", path)

    def test_ids_that_are_none(self):
        for text in ("x", "1", "..", "%2e%2e", str(uuid.uuid4()).upper(), "0" * 64, "0" * 300, "' OR 1=1 --".replace(" ", "%20")):
            with self.subTest(text=text):
                self.refused(404, "GET", f"/api/v1/sites/{text}")

    def test_control_characters_are_refused(self):
        for path in ("/api/v1/sites/%00", "/api/v1/sites%0d%0a", "/api/v1/sites?limit=%00", "/healthz%01"):
            with self.subTest(path=path):
                reply = request(self.controller.port, self.api.context, "GET", path, None,
                                {"Authorization": f"Bearer {self.controller.token}"})
                self.assertEqual((reply.status, reply.headers["Content-Type"]), (400, "application/problem+json"))

    def test_answers_are_json_whatever_was_sent(self):
        for query in ("%ff%fe%22", "%c3%a9" * 150, "%ed%a0%80"):
            with self.subTest(query=query):
                reply = self.api.client.request("GET", f"/api/v1/sites?{query}=1", None,
                                                {"Authorization": f"Bearer {self.controller.token}"})
                self.assertEqual((reply.status, reply.json["detail"]), (422, "unknown query parameter"))

    def test_a_path_forges_no_log_entry(self):
        for token in (self.controller.token, "wrong"):
            self.api.call("DELETE", "/api/v1/sites/x%20status=204%20client=192.0.2.1", token=token)
        self.assertIn("path=/api/v1/sites/x%20status%3D204%20client%3D192.0.2.1 status=404", self.controller.log_text())
        self.assertNotIn(" client=192.0.2.1", self.controller.log_text())

    def test_tokens(self):
        good = self.controller.token
        for token in ("x", "hwa1.", good[:-1], good + "A", good.swapcase(), "hwt1." + good[5:], "\u00e9".encode().decode("latin-1")):
            with self.subTest(token=token):
                reply = self.api.call("GET", "/api/v1/sites", token=token)
                self.assertEqual(reply.status, 401)
                self.assertIn("Bearer", reply.headers["WWW-Authenticate"])
        for value in (good, f"Basic {good}", "Bearer", "Bearer ", f"Bearer{good}"):
            with self.subTest(value=value):
                self.assertEqual(self.api.call("GET", "/api/v1/sites", token="", Authorization=value).status, 401)
        body = {"name": "x", "provider": "aws", "role": "spoke"}
        before = self.api.dump()
        self.assertEqual(self.api.call("POST", "/api/v1/sites", body, token="").status, 401)
        self.assertEqual(self.api.dump(), before)
        self.assertEqual(self.api.call("GET", "/api/v1/sites", token="", authorization=f"bearer {good}").status, 200)

    def test_head(self):
        reply = request(self.controller.port, self.api.context, "HEAD", "/healthz")
        self.assertEqual((reply.status, reply.body), (200, b""))

    def test_service(self):
        for path in ("/healthz", "/readyz", "/version", "/api/v1/openapi.json"):
            self.assertEqual(self.api.call("GET", path, token="").status, 200)

    def test_metrics(self):
        self.assertEqual(self.api.call("GET", "/metrics", token="").status, 401)
        text = self.api.call("GET", "/metrics").body.decode()
        names = set()
        for line in text.splitlines():
            if line.startswith("# TYPE "):
                names.add(line.split()[2])
            elif not line.startswith("#"):
                self.assertRegex(line, r'^hawser_[a-z_]+(\{[a-z]+="[^"]*"(,[a-z]+="[^"]*")*\})? [0-9.e+-]+$')
                self.assertIn(line.split("{")[0].split(" ")[0], names)
        self.assertIn('hawser_http_requests_total{listener="people"}', text)

    def test_every_write_raises_the_revision_once(self):
        def revision():
            with sqlite3.connect(f"file:{self.controller.state}/hawser.db?mode=ro", uri=True) as db:
                return db.execute("SELECT value FROM revision").fetchone()[0]
        before = revision()
        site = self.site("a", "10.1.0.0/16")
        self.assertEqual((revision(), site["revision"]), (before + 1, before + 1))
        self.refused(422, "PATCH", f"/api/v1/sites/{site['id']}", {"cidrs": ["x"]})
        self.assertEqual(revision(), before + 1)
        self.assertEqual(self.api.call("DELETE", f"/api/v1/sites/{site['id']}").status, 204)
        self.assertEqual(revision(), before + 2)


if __name__ == "__main__":
    unittest.main()
