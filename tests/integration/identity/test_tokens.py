"""Enrolment tokens: one use belongs to one key."""
import base64
import json
import unittest
import uuid

import labs
import pki
import rest

TOPOLOGY = "chain"
OPTIONS = {"agent_settings": {"confirm_timeout_seconds": 5}}


class Tokens(unittest.TestCase):
    def setUp(self):
        self.lab = labs.current()
        controller = self.lab.state["controller"]
        self.agents = rest.Api("hw-gw-a1", controller["agent_url"], None, controller["state_dir"] + "/gateway-ca.pem")
        self.agents.context.check_hostname = False
        self.site = self.lab.state["nodes"]["host-a"]["site_id"]

    def token(self, name, **more):
        made = self.lab.api.post("/api/v1/enrolment-tokens", {"site_id": self.site, "gateway_name": name, **more})
        self.addCleanup(self.lab.api.delete, f"/api/v1/enrolment-tokens/{made['id']}")
        prefix, _, body = made["token"].partition(".")
        self.assertEqual(prefix, "hwt1")
        return json.loads(base64.urlsafe_b64decode(body + "=" * (-len(body) % 4)))

    def enrol(self, token, key, name, secret=None):
        return self.agents.raw("POST", "/agent/v1/enrol", {
            "token_id": token["id"], "secret": secret or token["secret"], "csr_pem": pki.csr(key), "name": name,
            "boot_id": str(uuid.uuid4()), "agent_version": "0.1.0", "provider": None, "region": None, "size": None,
            "interfaces": [{"name": "eth0", "role": "both", "mtu": 1500, "addresses": ["10.1.99.1/24"]}],
            "endpoints": [{"address": "10.1.99.1", "family": 4, "scope": "private", "reachable": True}],
        })

    def forget(self, gateway_id):
        self.lab.api.delete(f"/api/v1/gateways/{gateway_id}")
        self.lab.wait_links()

    def test_token_carries_urls_and_pin(self):
        token = self.token("gw-token-1")
        self.assertEqual(set(token), {"urls", "pins", "id", "secret"})
        self.assertEqual(token["urls"], [self.lab.state["controller"]["agent_url"]])
        ca = pki.x509.load_pem_x509_certificate(
            open(self.lab.state["controller"]["state_dir"] + "/gateway-ca.pem", "rb").read())
        spki = ca.public_key().public_bytes(pki.serialization.Encoding.DER,
                                            pki.serialization.PublicFormat.SubjectPublicKeyInfo)
        digest = pki.hashes.Hash(pki.hashes.SHA256())
        digest.update(spki)
        self.assertEqual(token["pins"], [digest.finalize().hex()])

    def test_used_token_serves_its_key_alone(self):
        token, key = self.token("gw-token-2"), pki.new_key()
        first = self.enrol(token, key, "gw-token-2")
        self.assertEqual(first.status, 200, first.body)
        self.addCleanup(self.forget, first.json["gateway_id"])
        again = self.enrol(token, key, "gw-token-2")
        self.assertEqual((again.status, again.json), (200, first.json))
        stranger = self.enrol(token, pki.new_key(), "gw-token-2")
        self.assertEqual(stranger.status, 409, stranger.body)
        self.assertIn("token-used", stranger.json["type"])

    def test_wrong_secret_and_unknown_token(self):
        token = self.token("gw-token-3")
        wrong = self.enrol(token, pki.new_key(), "gw-token-3", secret="00" * 32)
        self.assertEqual(wrong.status, 403, wrong.body)
        unknown = self.enrol({**token, "id": str(uuid.uuid4())}, pki.new_key(), "gw-token-3")
        self.assertEqual(unknown.status, 403, unknown.body)

    def test_expired_token(self):
        token = self.token("gw-token-4")
        self.lab.api.patch(f"/api/v1/enrolment-tokens/{token['id']}", {"expires_at": "2020-01-01T00:00:00Z"})
        self.assertEqual(self.enrol(token, pki.new_key(), "gw-token-4").status, 403)

    def test_secret_is_shown_once(self):
        token = self.token("gw-token-5")
        text = json.dumps(self.lab.api.get(f"/api/v1/enrolment-tokens/{token['id']}"))
        self.assertNotIn(token["secret"], text)
        self.assertNotIn("hwt1.", text)
