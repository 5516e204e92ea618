"""The agents' API against a running controller, as docs/protocols.md describes it. Certificates and signatures are judged by the
openssl command, not by Hawser's own code."""
import json
import pathlib
import re
import shutil
import sqlite3
import tempfile
import time
import unittest
import uuid

from agent import Agent, Authority, Parked, csr, kept, new_key, open_token, openssl, spki_pin
from controller import Controller, request

POLL_SECONDS = 3


class Base(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="agents-")
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        cls.controller = Controller(poll_seconds=POLL_SECONDS)
        cls.addClassCleanup(cls.controller.__exit__, None, None, None)
        cls.controller.__enter__()

    def setUp(self):
        self.files = tempfile.TemporaryDirectory(dir=self.folder)
        self.addCleanup(self.files.cleanup)

    def tearDown(self):
        for kind in ("connections", "gateways", "enrolment-tokens", "sites"):
            for item in self.api("GET", f"{kind}?limit=1000").json["items"]:
                self.assertEqual(self.api("DELETE", f"{kind}/{item['id']}").status, 204)

    def api(self, method, path, body=None, **headers):
        return request(self.controller.port, self.controller.web_context(), method, f"/api/v1/{path}", body,
                       {"Authorization": f"Bearer {self.controller.token}", **{k.replace("_", "-"): v for k, v in headers.items()}})

    def make(self, kind, **body):
        reply = self.api("POST", kind, body)
        self.assertEqual(reply.status, 201, reply)
        return reply.json

    def change(self, path, **body):
        reply = self.api("PATCH", path, body)
        self.assertEqual(reply.status, 200, reply)
        return reply.json

    def site(self, name, *cidrs, role="spoke"):
        return self.make("sites", name=name, provider="onprem", role=role, cidrs=list(cidrs))

    def token(self, site, **more):
        return self.make("enrolment-tokens", site_id=site["id"], **more)

    def agent(self, name, address="10.1.0.1"):
        return Agent(self.controller, self.files.name, name, address)

    def enrolled(self, site, name, address):
        agent = self.agent(name, address)
        reply = agent.enrol(self.token(site)["token"])
        self.assertEqual(reply.status, 200, reply)
        return agent

    def chain(self):
        """Two spokes and a transit, one enrolled gateway each, connected."""
        sites = [self.site("a", "10.1.0.0/16"), self.site("t", "10.9.0.0/16", role="transit"), self.site("b", "10.2.0.0/16")]
        agents = [self.enrolled(site, f"gw-{site['name']}1", address)
                  for site, address in zip(sites, ("10.1.0.1", "10.9.0.1", "10.2.0.1"))]
        for spoke in (sites[0], sites[2]):
            self.make("connections", name=f"{spoke['name']}-t", site_a_id=spoke["id"], site_b_id=sites[1]["id"])
        return sites, agents

    def until(self, condition, seconds=10):
        end = time.monotonic() + seconds
        while not condition():
            self.assertLess(time.monotonic(), end, "did not come about")
            time.sleep(0.02)

    def requests_begun(self):
        """On the agents' listener, whether their bodies have come or not."""
        text = request(self.controller.port, self.controller.web_context(), "GET", "/metrics", None,
                       {"Authorization": f"Bearer {self.controller.token}"}).body.decode()
        return int(re.search(r'^hawser_http_requests_total\{listener="agents"\} (\d+)$', text, re.M)[1])

    def is_problem(self, reply, status, kind=None):
        self.assertEqual(reply.status, status, reply)
        self.assertEqual(reply.headers["Content-Type"], "application/problem+json")
        if kind:
            self.assertTrue(reply.json["type"].endswith(kind), reply)
        return reply


class Enrolment(Base):
    def test_ca_and_pin(self):
        token = self.token(self.site("a", "10.1.0.0/16"))
        parts = open_token(token["token"])
        self.assertEqual(parts["urls"], [f"https://127.0.0.1:{self.controller.agent_port}"])
        reply = self.agent("x").anonymous("GET", "/agent/v1/ca")
        self.assertEqual((reply.status, reply.headers["Content-Type"]), (200, "application/x-pem-file"))
        pem = pathlib.Path(self.files.name, "ca.pem")
        pem.write_bytes(reply.body)
        self.assertEqual(parts["pins"], [spki_pin(pem)])

    def test_certificate(self):
        site = self.site("a", "10.1.0.0/16")
        agent = self.agent("gw-a1")
        # What the request says about names and usage counts for nothing.
        wished = csr(agent.key, "-addext", "subjectAltName=URI:hawser://controller", "-addext", "basicConstraints=CA:TRUE")
        reply = agent.enrol(self.token(site)["token"], csr_pem=wished)
        self.assertEqual(reply.status, 200, reply)
        self.assertEqual(set(reply.json), {"gateway_id", "certificate_pem", "ca_pem", "urls"})
        self.assertEqual(reply.json["ca_pem"], (self.controller.state / "gateway-ca.pem").read_text())
        for purpose in ("sslclient", "sslserver"):
            openssl("verify", "-x509_strict", "-purpose", purpose, "-CAfile", self.controller.state / "gateway-ca.pem", agent.cert)
        text = openssl("x509", "-in", agent.cert, "-noout", "-text").decode()
        self.assertIn(f"URI:hawser://gateway/{agent.id}\n", text)
        self.assertIn("CA:FALSE", text)
        self.assertNotIn("hawser://controller", text)
        openssl("x509", "-in", agent.cert, "-noout", "-checkend", 30 * 86400 - 600)
        with self.assertRaises(AssertionError):
            openssl("x509", "-in", agent.cert, "-noout", "-checkend", 30 * 86400 + 600)
        self.assertEqual(openssl("x509", "-in", agent.cert, "-noout", "-pubkey"), openssl("pkey", "-in", agent.key, "-pubout"))
        gateway = self.api("GET", f"gateways/{agent.id}").json
        self.assertEqual((gateway["name"], gateway["state"], gateway["site_id"]), ("gw-a1", "enrolled", site["id"]))
        self.assertEqual((gateway["endpoints"], gateway["endpoints_source"]), (agent.node()["endpoints"], "agent"))
        self.assertEqual(gateway["interfaces"], agent.node()["interfaces"])
        serial = openssl("x509", "-in", agent.cert, "-noout", "-serial").decode().strip().split("=")[1].lower()
        self.assertEqual(gateway["certificate"]["serial"], serial)

    def test_the_controllers_own_certificates(self):
        state = self.controller.state
        openssl("verify", "-x509_strict", "-CAfile", state / "gateway-ca.pem", state / "config.pem", state / "agent-listener.pem")
        openssl("verify", "-x509_strict", "-purpose", "sslserver", "-CAfile", state / "web-ca.pem", state / "web.pem")
        for key in ("gateway-ca", "config", "agent-listener", "web-ca", "web"):
            self.assertEqual((state / f"{key}.key").stat().st_mode & 0o777, 0o600)
        # A gateway's certificate can't stand in for the controller: the listener's is no client, the config key neither.
        for name in ("agent-listener", "config"):
            reply = self.agent("x").call("GET", "/agent/v1/config", cert=state / f"{name}.pem", key=state / f"{name}.key")
            self.is_problem(reply, 401)

    def test_one_use_belongs_to_one_key(self):
        token = self.token(self.site("a", "10.1.0.0/16"))
        agent = self.agent("gw-a1")
        first = agent.enrol(token["token"])
        again = agent.enrol(token["token"])
        self.assertEqual((first.status, again.status), (200, 200))
        self.assertEqual(first.json, again.json)
        other = self.agent("gw-a2", "10.1.0.2")
        self.is_problem(other.enrol(token["token"]), 409, "token-used")
        self.assertEqual(self.api("GET", f"enrolment-tokens/{token['id']}").json["uses"], 1)
        self.assertEqual(len(self.api("GET", "gateways").json["items"]), 1)

    def test_many_uses(self):
        token = self.token(self.site("a", "10.1.0.0/16"), max_uses=2)
        agents = [self.agent("gw-a1", f"10.1.0.{i}") for i in range(1, 4)]
        for agent in agents:
            agent.key = new_key(pathlib.Path(self.files.name, f"{agent.address}.key"))
            agent.cert = pathlib.Path(self.files.name, f"{agent.address}.pem")
        self.assertEqual([agent.enrol(token["token"]).status for agent in agents], [200, 200, 409])
        self.assertNotEqual(agents[0].id, agents[1].id)
        names = sorted(item["name"] for item in self.api("GET", "gateways").json["items"])
        self.assertEqual(names, ["gw-a1", "gw-a1-2"])

    def test_refused_tokens(self):
        site = self.site("a", "10.1.0.0/16")
        token = self.token(site)
        agent = self.agent("gw-a1")
        self.is_problem(agent.enrol(token["token"], secret="00" * 32), 403)
        self.is_problem(agent.enrol(token["token"], token_id=str(uuid.uuid4())), 403)
        expiry = int(time.time()) + 1
        self.change(f"enrolment-tokens/{token['id']}", expires_at=time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(expiry)))
        self.until(lambda: time.time() > expiry + 1)
        self.is_problem(agent.enrol(token["token"]), 403)
        deleted = self.token(site)
        self.assertEqual(self.api("DELETE", f"enrolment-tokens/{deleted['id']}").status, 204)
        self.is_problem(agent.enrol(deleted["token"]), 403)
        self.assertEqual(self.api("GET", "gateways").json["items"], [])

    def test_a_named_gateway_is_bound_and_keeps_its_identity(self):
        site = self.site("a", "10.1.0.0/16")
        made = self.make("gateways", name="gw-a1", site_id=site["id"])
        agent = self.agent("some-host-name")
        self.assertEqual(agent.enrol(self.token(site, gateway_name="gw-a1")["token"]).status, 200)
        self.assertEqual(agent.id, made["id"])
        imaged = self.agent("other-host-name")
        self.assertEqual(imaged.enrol(self.token(site, gateway_name="gw-a1")["token"]).status, 200)
        self.assertEqual(imaged.id, made["id"])
        self.assertEqual(imaged.config()[1]["gateway"]["name"], "gw-a1")

    def test_where_a_machine_runs(self):
        """What it says at enrolment and later; the size that planning goes by follows, unless somebody has set it."""
        aws = {"provider": "aws", "region": "eu-west-1", "size": "c6in.large"}
        larger = {**aws, "size": "c6in.xlarge"}
        site = self.site("a", "10.1.0.0/16")
        for name, size in (("gw-a1", None), ("gw-a2", "c5n.large")):
            agent = self.agent(name, f"10.1.0.{name[-1]}")
            self.assertEqual(agent.enrol(self.token(site, size=size)["token"], **aws).status, 200)
            seen = self.api("GET", f"gateways/{agent.id}").json
            self.assertEqual((seen["cloud"], seen["size"]), (aws, size or "c6in.large"))
            agent.report()
            self.assertEqual(self.api("GET", f"gateways/{agent.id}").json["cloud"], aws)
            agent.report(cloud=larger)
            seen = self.api("GET", f"gateways/{agent.id}").json
            self.assertEqual((seen["cloud"], seen["size"]), (larger, size or "c6in.xlarge"))
        self.assertEqual(agent.report(cloud={"provider": "x" * 64, "region": None, "size": None}).status, 422)
        other = self.agent("gw-a3", "10.1.0.3")
        self.assertEqual(other.enrol(self.token(site)["token"]).status, 200)
        self.assertIsNone(self.api("GET", f"gateways/{other.id}").json["cloud"])

    def test_operators_endpoints_win(self):
        site = self.site("a", "10.1.0.0/16")
        set_by_hand = [{"address": "198.51.100.7", "family": 4, "scope": "public", "reachable": False}]
        self.make("gateways", name="gw-a1", site_id=site["id"], endpoints=set_by_hand)
        agent = self.agent("gw-a1")
        self.assertEqual(agent.enrol(self.token(site, gateway_name="gw-a1")["token"]).status, 200)
        agent.report()
        gateway = self.api("GET", f"gateways/{agent.id}").json
        self.assertEqual((gateway["endpoints"], gateway["endpoints_source"]), (set_by_hand, "operator"))

    def test_bad_requests(self):
        token = self.token(self.site("a", "10.1.0.0/16"))["token"]
        agent = self.agent("gw-a1")
        self.is_problem(agent.anonymous("POST", "/agent/v1/enrol", b"{"), 422)
        self.is_problem(agent.anonymous("POST", "/agent/v1/enrol", b""), 422)
        for field, value in {"csr_pem": "no", "name": "No Name", "boot_id": "1", "interfaces": 5, "endpoints": [{"address": "x"}],
                             "secret": "12", "token_id": None}.items():
            with self.subTest(field=field):
                reply = self.is_problem(agent.enrol(token, **{field: value}), 422)
                self.assertTrue(reply.json["field"].startswith(field), reply)
        reply = self.is_problem(agent.enrol(token, surprise=1), 422)
        rsa = pathlib.Path(self.files.name, "rsa.key")
        openssl("genpkey", "-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048", "-out", rsa)
        p384 = new_key(pathlib.Path(self.files.name, "p384.key"), "P-384")
        for key in (rsa, p384):
            reply = self.is_problem(agent.enrol(token, csr_pem=csr(key)), 422)
            self.assertEqual(reply.json["field"], "csr_pem")
        self.assertEqual(agent.enrol(token).status, 200)


class Configs(Base):
    def test_signed_for_each_gateway(self):
        _, agents = self.chain()
        for agent in agents:
            poll = agent.poll()
            revision, config = agent.config()
            self.assertEqual((poll.status, poll.json["config_revision"], poll.json["commands"]), (200, revision, []))
            self.assertLess(abs(int(poll.headers["Hawser-Time"]) - time.time()), 5)
            self.assertGreaterEqual(int(poll.headers["Hawser-Controller-Revision"]), revision)
            self.assertEqual((config["version"], config["gateway"]["id"], config["gateway"]["name"]), (1, agent.id, agent.name))
        routes = {(r["ingress"], r["prefix"]): r["target"] for r in agents[0].config()[1]["fib"]["routes"]}
        self.assertEqual(routes[("site", "10.2.0.0/16")], "set")
        self.assertEqual(routes[("attachment", "10.1.0.0/16")], "local")

    def test_a_signature_is_good_for_one_gateway_and_one_revision(self):
        _, agents = self.chain()
        reply = agents[0].call("GET", "/agent/v1/config")
        agents[0].config()
        right = reply.headers["Hawser-Revision"]
        for body, owner, revision in ((reply.body, agents[1].id, right), (reply.body, agents[0].id, str(int(right) + 1)),
                                      (reply.body + b" ", agents[0].id, right)):
            signed = (b"hawser-config-v1\0" + uuid.UUID(owner).bytes + b"\0" + int(revision).to_bytes(8, "big") + body)
            with self.assertRaises(AssertionError):
                agents[0].verify(reply, signed)

    def test_only_changed_gateways_are_woken(self):
        sites, agents = self.chain()
        seen = [agent.config()[0] for agent in agents]
        polls = [agent.parked_poll() for agent in agents]
        # A link is no gateway's business but its two ends'.
        link = next(item for item in self.api("GET", "links").json["items"] if agents[0].id in (item["gateway_a_id"], item["gateway_b_id"]))
        self.change(f"links/{link['id']}", tunnels_override=3)
        woken = [polls[0].wait(), polls[1].wait()]
        for agent, reply, old in zip(agents, woken, seen):
            self.assertEqual(reply.status, 200)
            revision, config = agent.config()
            self.assertEqual(reply.json["config_revision"], revision)
            self.assertGreater(revision, old)
            self.assertEqual([item["tunnels"] for item in config["links"] if item["id"] == link["id"]], [3])
        self.assertLess(polls[0].ended - polls[0].begun, POLL_SECONDS)
        self.assertEqual(polls[2].wait().status, 204)
        self.assertGreaterEqual(polls[2].ended - polls[2].begun, POLL_SECONDS - 0.2)
        self.assertEqual(agents[2].config()[0], seen[2])

    def test_a_write_that_changes_no_config_wakes_nobody(self):
        sites, agents = self.chain()
        poll = agents[0].parked_poll()
        self.change(f"sites/{sites[0]['id']}", region="eu-1")
        self.assertEqual(poll.wait().status, 204)
        self.assertGreaterEqual(poll.ended - poll.begun, POLL_SECONDS - 0.2)

    def test_a_newer_poll_ends_the_older(self):
        agent = self.enrolled(self.site("a", "10.1.0.0/16"), "gw-a1", "10.1.0.1")
        older = agent.parked_poll()
        self.until(lambda: time.monotonic() - older.begun > 0.5)
        newer = agent.parked_poll()
        self.assertEqual(older.wait().status, 204)
        self.assertLess(older.ended - older.begun, POLL_SECONDS - 1)
        self.assertEqual(newer.wait().status, 204)
        self.assertGreaterEqual(newer.ended - newer.begun, POLL_SECONDS - 0.2)

    def test_polls_over_one_connection(self):
        site = self.site("a", "10.1.0.0/16")
        agent = self.enrolled(site, "gw-a1", "10.1.0.1")
        with kept(self.controller, agent, timeout=20) as client:
            denials = agent.poll().json["denials_revision"]
            seen = 0
            for octet in range(1, 6):
                reply = client.request("GET", f"/agent/v1/poll?seen={seen}&denials={denials}&boot={agent.boot}")
                self.assertEqual(reply.status, 200)
                seen = int(client.request("GET", "/agent/v1/config").headers["Hawser-Revision"])
                self.assertEqual(seen, reply.json["config_revision"])
                parked = Parked(lambda: client.request("GET", f"/agent/v1/poll?seen={seen}&denials={denials}&boot={agent.boot}"))
                self.change(f"sites/{site['id']}", cidrs=["10.1.0.0/16", f"10.{octet + 1}.0.0/16"])
                self.assertEqual(parked.wait().status, 200)

    def test_bad_queries(self):
        agent = self.enrolled(self.site("a", "10.1.0.0/16"), "gw-a1", "10.1.0.1")
        for query in ("seen=x", "seen=-1", f"seen={2**64}", "seen=1&denials=a", "seen=1"):
            boot = "" if query == "seen=1" else f"&boot={agent.boot}"
            self.is_problem(agent.call("GET", f"/agent/v1/poll?{query}{boot}"), 422)

    def test_disabled_connection_leaves_the_fib(self):
        _, agents = self.chain()
        connection = next(item for item in self.api("GET", "connections").json["items"] if item["name"] == "b-t")
        self.change(f"connections/{connection['id']}", enabled=False)
        config = agents[0].config()[1]
        self.assertEqual([r["target"] for r in config["fib"]["routes"] if r["prefix"] == "10.2.0.0/16"], ["unreachable"])
        transit = agents[1].config()[1]
        self.assertEqual(sorted(item["enabled"] for item in transit["links"]), [False, True])

    def test_a_refused_plan_changes_nothing(self):
        sites, agents = self.chain()
        site = self.site("six", "10.6.0.0/16")
        six = self.agent("gw-six", "fd06::1")
        node = {"interfaces": [{"name": "eth0", "role": "both", "mtu": 1500, "addresses": ["fd06::1/64"]}],
                "endpoints": [{"address": "fd06::1", "family": 6, "scope": "private", "reachable": True}]}
        self.assertEqual(six.enrol(self.token(site)["token"], **node).status, 200)
        before = [agent.config() for agent in agents]
        reply = self.api("POST", "connections", {"name": "six-t", "site_a_id": site["id"], "site_b_id": sites[1]["id"]})
        self.is_problem(reply, 409)
        self.assertEqual(reply.json["field"], "endpoints")
        self.assertIn("gw-six", reply.json["detail"])
        self.assertEqual([agent.config() for agent in agents], before)
        self.assertEqual(len(self.api("GET", "connections").json["items"]), 2)


class Credentials(Base):
    PATHS = (("GET", "/agent/v1/config"), ("GET", "/agent/v1/denials"), ("POST", "/agent/v1/report"), ("POST", "/agent/v1/renew"),
             ("GET", "/agent/v1/poll?seen=0&denials=0&boot=%s" % uuid.uuid4()))

    def refused(self, agent, status, cert, key, paths=PATHS):
        for method, path in paths:
            with self.subTest(path=path):
                body = {"csr_pem": csr(agent.key)} if path.endswith("renew") else {} if method == "POST" else None
                reply = request(self.controller.agent_port, self.controller.agent_context(cert, key), method, path, body)
                self.is_problem(reply, status)

    def test_none(self):
        self.refused(self.agent("x"), 401, None, None)

    def test_of_another_ca(self):
        agent = self.enrolled(self.site("a", "10.1.0.0/16"), "gw-a1", "10.1.0.1")
        cert = Authority.impostor(self.files.name).issue(agent.key, "fake", f"URI:hawser://gateway/{agent.id}", -1, 30)
        self.refused(agent, 401, cert, agent.key)

    def own(self):
        return Authority(self.files.name, self.controller.state / "gateway-ca.pem", self.controller.state / "gateway-ca.key")

    def test_not_a_gateways(self):
        agent = self.enrolled(self.site("a", "10.1.0.0/16"), "gw-a1", "10.1.0.1")
        for i, uri in enumerate(("URI:hawser://controller", "URI:hawser://gateway/", "URI:hawser://gateway/" + agent.id.upper(),
                                 f"URI:hawser://gateway/{agent.id}/x", f"DNS:{agent.id}",
                                 f"URI:hawser://gateway/{agent.id},URI:hawser://gateway/{uuid.uuid4()}")):
            self.refused(agent, 401, self.own().issue(agent.key, f"odd{i}", uri, -1, 30), agent.key)
        server = self.own().issue(agent.key, "server", f"URI:hawser://gateway/{agent.id}", -1, 30, usage="serverAuth")
        self.refused(agent, 401, server, agent.key)
        unknown = self.own().issue(agent.key, "unknown", f"URI:hawser://gateway/{uuid.uuid4()}", -1, 30)
        self.refused(agent, 403, unknown, agent.key)

    def test_expired_may_renew_and_nothing_else(self):
        agent = self.enrolled(self.site("a", "10.1.0.0/16"), "gw-a1", "10.1.0.1")
        expired = self.own().issue(agent.key, "expired", f"URI:hawser://gateway/{agent.id}", -209, -179)
        self.refused(agent, 401, expired, agent.key, [p for p in self.PATHS if not p[1].endswith("renew")])
        reply = agent.call("POST", "/agent/v1/renew", {"csr_pem": csr(agent.key)}, cert=expired)
        self.assertEqual(reply.status, 200, reply)
        agent.cert.write_text(reply.json["certificate_pem"])
        self.assertEqual(agent.call("GET", "/agent/v1/config").status, 200)
        long_ago = self.own().issue(agent.key, "long-ago", f"URI:hawser://gateway/{agent.id}", -211, -181)
        self.refused(agent, 401, long_ago, agent.key)
        future = self.own().issue(agent.key, "future", f"URI:hawser://gateway/{agent.id}", 2, 30)
        self.refused(agent, 401, future, agent.key)

    def test_renewal(self):
        agent = self.enrolled(self.site("a", "10.1.0.0/16"), "gw-a1", "10.1.0.1")
        key = new_key(pathlib.Path(self.files.name, "next.key"))
        reply = agent.call("POST", "/agent/v1/renew", {"csr_pem": csr(key)})
        self.assertEqual((reply.status, set(reply.json)), (200, {"certificate_pem", "ca_pem"}), reply)
        agent.key = key
        agent.cert.write_text(reply.json["certificate_pem"])
        openssl("verify", "-x509_strict", "-CAfile", self.controller.state / "gateway-ca.pem", agent.cert)
        self.assertEqual(agent.config()[1]["gateway"]["id"], agent.id)
        self.is_problem(agent.call("POST", "/agent/v1/renew", {"csr_pem": "x"}), 422)

    def test_renewals_are_limited(self):
        agent = self.enrolled(self.site("a", "10.1.0.0/16"), "gw-a1", "10.1.0.1")
        body = {"csr_pem": csr(agent.key)}
        codes = [agent.call("POST", "/agent/v1/renew", body).status for _ in range(9)]
        self.assertEqual((codes[0], codes[-1]), (200, 429), codes)
        self.api("POST", f"gateways/{agent.id}/revoke", {})
        witness = self.enrolled(self.site("b", "10.2.0.0/16"), "gw-b1", "10.2.0.1")
        self.assertLess(len(witness.denials()[1]["serials"]), 40)

    def test_a_renewal_begun_before_the_revocation(self):
        agent = self.enrolled(self.site("a", "10.1.0.0/16"), "gw-a1", "10.1.0.1")
        body = json.dumps({"csr_pem": csr(agent.key)}).encode()
        with kept(self.controller, agent) as client:
            link, begun = client.connection, self.requests_begun()
            link.putrequest("POST", "/agent/v1/renew")
            link.putheader("Content-Type", "application/json")
            link.putheader("Content-Length", str(len(body)))
            link.endheaders(body[:10])
            self.until(lambda: self.requests_begun() > begun)
            self.api("POST", f"gateways/{agent.id}/revoke", {})
            link.send(body[10:])
            self.assertEqual(link.getresponse().status, 403)

    def test_revoked(self):
        _, agents = self.chain()
        victim, peer, far = agents
        serial = openssl("x509", "-in", victim.cert, "-noout", "-serial").decode().strip().split("=")[1].lower()
        number = far.poll().json["denials_revision"]  # earlier tests have revoked too
        polls = [agent.parked_poll() for agent in agents]
        with kept(self.controller, victim) as standing:
            self.assertEqual(standing.request("GET", "/agent/v1/config").status, 200)
            self.until(lambda: all(time.monotonic() - poll.begun > 0.3 for poll in polls))
            begun = time.monotonic()
            revoked = self.api("POST", f"gateways/{victim.id}/revoke", {})
            self.assertEqual((revoked.status, revoked.json["state"]), (200, "revoked"), revoked)
            self.is_problem(polls[0].wait(), 403)
            self.assertLess(time.monotonic() - begun, 2)
            self.is_problem(standing.request("GET", "/agent/v1/config"), 403)
        body = {"csr_pem": csr(victim.key)}
        self.is_problem(victim.call("POST", "/agent/v1/renew", body), 403)
        for agent, poll in zip(agents[1:], polls[1:]):
            reply = poll.wait()
            self.assertEqual((reply.status, reply.json["denials_revision"]), (200, number + 1))
            got, denials = agent.denials()
            self.assertEqual(got, number + 1)
            self.assertIn(victim.id, denials["gateway_ids"])
            self.assertIn(serial, denials["serials"])
        self.assertEqual(peer.config()[1]["peers"][0]["gateway_id"], far.id)
        self.assertEqual(self.api("GET", f"gateways/{victim.id}").json["unconfirmed_peers"], [peer.id])
        self.assertEqual(peer.report(denials_revision=number + 1).status, 204)
        self.assertEqual(self.api("GET", f"gateways/{victim.id}").json["unconfirmed_peers"], [])
        # Nor does its token let it in again, nor one that was made for its name.
        self.assertEqual(self.api("DELETE", f"gateways/{victim.id}").status, 204)
        self.is_problem(victim.call("GET", "/agent/v1/config"), 403)

    def test_a_deleted_gateways_token_is_spent(self):
        site = self.site("a", "10.1.0.0/16")
        token = self.token(site)["token"]
        agent = self.agent("gw-a1")
        self.assertEqual(agent.enrol(token).status, 200)
        self.assertEqual(self.api("DELETE", f"gateways/{agent.id}").status, 204)
        self.is_problem(agent.enrol(token), 403)
        self.is_problem(agent.call("GET", "/agent/v1/config"), 403)


class Reports(Base):
    def test_what_is_kept(self):
        sites, agents = self.chain()
        link = self.api("GET", "links").json["items"][0]
        first = self.api("GET", f"gateways/{agents[0].id}").json
        self.assertEqual((first["status"]["state"], first["telemetry"]), ("unknown", None))
        revision = agents[0].config()[0]
        mine = [item["id"] for item in agents[0].config()[1]["links"]]
        tunnel = {"tunnel": 0, "state": "up", "reason": "answered", "port": 4510, "rtt_us": 120, "tx_packets": 1, "tx_bytes": 2,
                  "rx_packets": 3, "rx_bytes": 4, "probes_sent": 5, "probes_answered": 5, "probes_lost": 0}
        links = [{"link_id": mine[0], "state": "up", "reason": "8 of 8 tunnels answer", "since": 1, "epoch": 1, "rekeyed_at": 1,
                  "suite": "aes-256-gcm", "keying": {"state": "connected", "last_error": "", "failures": 0}, "mtu": 1438,
                  "tx_bps": 1, "rx_bps": 2, "tunnels": [{**tunnel, "tunnel": i, "port": 4510 + i} for i in range(8)]}]
        reply = agents[0].report(revisions={"received": revision, "applied": revision, "in_force": revision, "refused": []}, links=links)
        self.assertEqual(reply.status, 204, reply)
        self.assertIn("Hawser-Time", reply.headers)
        gateway = self.api("GET", f"gateways/{agents[0].id}").json
        self.assertEqual(gateway["revisions"], {"config": revision, "received": revision, "applied": revision, "in_force": revision, "refused": []})
        self.assertEqual((gateway["status"]["state"], gateway["status"]["observer"]), ("up", "gw-a1"))
        self.assertEqual(gateway["telemetry"]["goodput_tx_bps"], 1000)
        link = self.api("GET", f"links/{mine[0]}").json
        self.assertEqual((link["status"]["state"], link["status"]["tunnels_up"], link["status"]["tunnels_total"]), ("up", 8, 8))
        # The other end sees it down: that is what counts.
        self.assertEqual(agents[1].report(links=[{**links[0], "state": "down", "reason": "no answer", "tunnels": []}]).status, 204)
        link = self.api("GET", f"links/{mine[0]}").json
        self.assertEqual((link["status"]["state"], link["status"]["reason"], link["status"]["tunnels_up"]), ("down", "no answer", 0))
        self.assertEqual(link["status"]["observer"], "gw-a1, gw-t1")
        # A gateway that is no end of the link has no say.
        self.assertEqual(agents[2].report(links=links).status, 204)
        self.assertEqual(self.api("GET", f"links/{mine[0]}").json["status"]["state"], "down")
        self.assertEqual((link["status"]["suite"], link["status"]["encrypted"]), ("aes-256-gcm", True))
        self.assertIn(link["status"]["age_seconds"], range(10))

    def test_long_reports(self):
        """Nobody fills the disk with blanks."""
        agent = self.enrolled(self.site("a", "10.1.0.0/16"), "gw-a1", "10.1.0.1")
        problems = [f"{i:03}" + "x" * 190 for i in range(32)]
        self.assertEqual(agent.report(system={"ip_forward": True, "problems": problems}).status, 204)
        body = b" " * 162768 + agent.report_body()
        self.is_problem(agent.call("POST", "/agent/v1/report", b" " * 1000 + body), 413)
        self.assertEqual(agent.call("POST", "/agent/v1/report", body[2000:]).status, 204)

    def test_a_report_does_not_raise_the_revision(self):
        _, agents = self.chain()
        agents[0].report()  # learns of the workers
        before = agents[0].poll().headers["Hawser-Controller-Revision"]
        agents[0].report()
        self.assertEqual(agents[0].poll().headers["Hawser-Controller-Revision"], before)

    def test_a_moved_gateway_is_planned_anew(self):
        _, agents = self.chain()
        poll = agents[1].parked_poll()
        agents[0].address = "10.1.0.77"
        self.assertEqual(agents[0].report().status, 204)
        self.assertEqual(poll.wait().status, 200)
        remotes = [item["remote"] for item in agents[1].config()[1]["links"]]
        self.assertIn("10.1.0.77", remotes)
        self.assertEqual(agents[0].config()[1]["links"][0]["local"], "10.1.0.77")

    def test_more_workers_more_tunnels(self):
        _, agents = self.chain()
        agents[1].workers = 12
        self.assertEqual(agents[1].report().status, 204)
        self.assertEqual({item["tunnels"] for item in agents[1].config()[1]["links"]}, {12})

    def test_an_address_that_no_peer_shares_does_not_fail_the_report(self):
        _, agents = self.chain()
        node = {"interfaces": [{"name": "eth0", "role": "both", "mtu": 1500, "addresses": ["fd01::1/64"]}],
                "endpoints": [{"address": "fd01::1", "family": 6, "scope": "private", "reachable": True}]}
        self.assertEqual(agents[0].report(**node).status, 204)
        link = next(item for item in self.api("GET", "links").json["items"] if agents[0].id in (item["gateway_a_id"], item["gateway_b_id"]))
        self.assertEqual(link["status"]["state"], "down")
        self.assertIn("address family", link["status"]["reason"])
        self.assertIsNone(link["address_a"])
        # And the operator is not kept from other work by it.
        self.site("other", "10.77.0.0/16")

    def test_a_clone_is_told(self):
        agent = self.enrolled(self.site("a", "10.1.0.0/16"), "gw-a1", "10.1.0.1")
        original, clone = agent.boot, str(uuid.uuid4())
        for boot in (original, clone):
            self.assertEqual(agent.report(boot_id=boot).status, 204)
        self.assertEqual(self.api("GET", f"gateways/{agent.id}").json["status"]["state"], "up")  # that was a reboot
        self.assertEqual(agent.report(boot_id=original).status, 204)
        status = self.api("GET", f"gateways/{agent.id}").json["status"]
        self.assertEqual(status["state"], "degraded")
        self.assertIn("clone", status["reason"])

    def test_a_restless_gateway_is_planned_now_and_then(self):
        """Endpoints that come and go: three plans at once, then one a minute; its reports are kept all the same."""
        _, agents = self.chain()
        before = self.api("GET", "revisions").json["revision"]
        for i in range(10):
            agents[0].address = f"10.1.0.{2 + i % 2}"
            self.assertEqual(agents[0].report(interval_seconds=1.0 + i).status, 204)
        self.assertEqual(self.api("GET", "revisions").json["revision"], before + 3)
        gateway = self.api("GET", f"gateways/{agents[0].id}").json
        self.assertEqual(gateway["endpoints"][0]["address"], "10.1.0.2")
        self.assertEqual(gateway["telemetry"]["interval_seconds"], 10)
        self.assertEqual(gateway["status"]["state"], "degraded")
        self.assertIn("restless", gateway["status"]["reason"])
        # Others are planned as ever.
        agents[1].workers = 12
        self.assertEqual(agents[1].report().status, 204)
        self.assertEqual(self.api("GET", "revisions").json["revision"], before + 4)

    def test_bad_reports(self):
        agent = self.enrolled(self.site("a", "10.1.0.0/16"), "gw-a1", "10.1.0.1")
        self.is_problem(agent.call("POST", "/agent/v1/report", b"nonsense"), 422)
        for field, value in {"boot_id": "x", "interval_seconds": -1, "links": [{}], "dataplane": None, "revisions": {"received": "1"},
                             "endpoints": "no"}.items():
            with self.subTest(field=field):
                reply = self.is_problem(agent.report(**{field: value}), 422)
                self.assertTrue(reply.json["field"].startswith(field), reply)
        self.assertIsNone(self.api("GET", f"gateways/{agent.id}").json["telemetry"])


class RestoredBackup(Base):
    """Agents know more than the store: an older copy of it was put back."""

    def test_a_backup_of_the_running_store_comes_back(self):
        """As docs/operations.md has it. The store has written as much since as it had lost: numbers alone tell nothing."""
        sites, agents = self.chain()
        state, backup = self.controller.state, self.controller.dir / "backup.db"
        with sqlite3.connect(state / "hawser.db", timeout=10) as db:
            db.execute("VACUUM INTO ?", (str(backup),))
        self.change(f"sites/{sites[0]['id']}", cidrs=["10.1.0.0/16", "10.66.0.0/16"])
        lost, _ = agents[1].config()
        self.assertEqual(self.controller.stop(), 0)
        for suffix in ("-wal", "-shm"):
            (state / f"hawser.db{suffix}").unlink(missing_ok=True)
        shutil.copyfile(backup, state / "hawser.db")
        done = self.controller.run("restored")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("revisions/accept", done.stdout)
        self.controller.start()
        now = self.api("GET", "revisions").json
        self.assertTrue(now["held"])
        self.assertGreater(now["revision"], lost)
        self.assertIn("backup", now["reason"])
        self.change(f"sites/{sites[0]['id']}", cidrs=["10.1.0.0/16", "10.67.0.0/16"])
        denials = agents[1].poll().json["denials_revision"] if agents[1].knows_denials() else 0
        parked = Parked(lambda: agents[1].poll(seen=lost, denials=denials))
        self.until(lambda: time.monotonic() - parked.begun > 0.3)
        self.assertFalse(self.api("POST", "revisions/accept", {}).json["held"])
        self.assertEqual(parked.wait().status, 200)
        revision, config = agents[1].config()
        self.assertGreater(revision, lost)
        self.assertIn("10.67.0.0/16", json.dumps(config))
        self.assertNotIn("10.66.0.0/16", json.dumps(config))

    def setUp(self):
        super().setUp()
        self.addCleanup(self.api, "POST", "revisions/accept", {})

    def test_nothing_is_pushed_until_accepted(self):
        sites, agents = self.chain()
        self.assertEqual(self.api("GET", "revisions").json["held"], False)
        known = agents[0].poll().json["config_revision"] + 1000
        denials = agents[0].poll().json["denials_revision"]
        poll = Parked(lambda: agents[0].poll(seen=known, denials=denials))
        self.until(lambda: self.api("GET", "revisions").json["held"])
        state = self.api("GET", "revisions").json
        self.assertGreater(state["revision"], known)
        self.assertIn(agents[0].id, state["reason"])
        self.change(f"sites/{sites[0]['id']}", cidrs=["10.1.0.0/16", "10.5.0.0/16"])
        self.assertEqual(poll.wait().status, 204)
        self.assertEqual(agents[1].poll(seen=0, denials=denials).status, 204)
        polls = [Parked(lambda agent=agent: agent.poll(seen=known, denials=denials)) for agent in agents]
        self.until(lambda: all(time.monotonic() - parked.begun > 0.3 for parked in polls))
        accepted = self.api("POST", "revisions/accept", {}).json
        self.assertEqual((accepted["held"], accepted["reason"]), (False, None))
        for agent, parked in zip(agents, polls):
            self.assertEqual(parked.wait().status, 200)
            revision, _ = agent.config()
            self.assertEqual((revision, parked.reply.json["config_revision"]), (accepted["revision"], accepted["revision"]))
        self.assertEqual(self.api("POST", "revisions/accept", {}).json, accepted)

    def test_claims_beyond_reason(self):
        site = self.site("a", "10.1.0.0/16")
        agent = self.enrolled(site, "gw-a1", "10.1.0.1")
        before = self.api("GET", "revisions").json
        huge = 2**63 - 2
        self.is_problem(agent.poll(seen=huge), 422)
        self.is_problem(agent.poll(denials=huge), 422)
        for number in (huge, 2**64 - 1):
            self.is_problem(agent.report(revisions={"received": number, "applied": 0, "in_force": 0, "refused": []}), 422)
            self.is_problem(agent.report(denials_revision=number), 422)
        self.assertEqual(self.api("GET", "revisions").json, before)
        self.change(f"sites/{site['id']}", cidrs=["10.1.0.0/16", "10.9.0.0/16"])

    def test_a_report_tells_it_too(self):
        agent = self.enrolled(self.site("a", "10.1.0.0/16"), "gw-a1", "10.1.0.1")
        known = self.api("GET", "revisions").json["revision"] + 50
        revisions = {"received": known, "applied": known, "in_force": known, "refused": []}
        self.assertEqual(agent.report(revisions=revisions).status, 204)
        state = self.api("GET", "revisions").json
        self.assertEqual((state["held"], state["revision"] > known), (True, True))
        self.assertEqual(agent.report(revisions=revisions).status, 204)
        self.assertEqual(self.api("GET", "revisions").json["revision"], state["revision"])

    def test_denials_go_on_above_what_agents_know(self):
        _, agents = self.chain()
        known = agents[1].poll().json["denials_revision"] + 70
        seen = agents[1].config()[0]
        poll = Parked(lambda: agents[1].poll(seen=seen, denials=known))
        self.until(lambda: self.api("GET", "revisions").json["held"])
        self.assertEqual(self.api("POST", f"gateways/{agents[0].id}/revoke", {}).status, 200)
        reply = poll.wait()
        self.assertEqual((reply.status, reply.json["config_revision"], reply.json["denials_revision"]), (200, seen, known + 1))
        number, denials = agents[1].denials()
        self.assertEqual(number, known + 1)
        self.assertIn(agents[0].id, denials["gateway_ids"])


if __name__ == "__main__":
    unittest.main()
