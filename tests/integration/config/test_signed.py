"""Which configs a gateway takes, and what it does when one cuts it off (DESIGN, From intent to packets)."""
import json
import time
import unittest

import labs
import pki
import rest
from capture import forbidden_on_underlay
from expect import wait_for
from fake_controller import ConfigSigner, FakeController
from traffic import Stream, reaches

TOPOLOGY = "pair"
CONFIRM = 5
OPTIONS = {"agent_settings": {"confirm_timeout_seconds": CONFIRM}}
# Revisions go far beyond the real controller's, which would rightly raise an alarm on its return.
DESTROYS = True


class SignedConfig(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.lab = labs.current()
        controller = cls.lab.state["controller"]
        cls.ids = {n: cls.lab.state["nodes"][n]["gateway_id"] for n in cls.lab.gateways}
        cls.gateway = cls.ids["gw-a1"]
        cls.bodies = {n: cls.fetch(n, controller) for n in cls.lab.gateways}
        cls.signer = ConfigSigner.real(controller["state_dir"])
        cls.lab.kill("controller", "controller")
        cls.fake = FakeController(cls.lab)
        cls.addClassCleanup(cls.fake.stop)
        cls.revision = 1000

    @classmethod
    def fetch(cls, gateway, controller):
        api = rest.Api("hw-" + gateway, controller["agent_url"], None, controller["state_dir"] + "/gateway-ca.pem",
                       client_cert=pki.identity_files(cls.lab, gateway))
        api.context.check_hostname = False
        return api.raw("GET", "/agent/v1/config").body

    def next(self):
        type(self).revision += 10
        return self.revision

    def revisions(self):
        return self.lab.status("gw-a1")["revisions"]

    def changed(self):
        """The gateway's config with another probe interval: new bytes, same links."""
        config = json.loads(self.bodies["gw-a1"])
        config["links"][0]["liveness"]["interval_ms"] = 500 + self.revision % 400
        return json.dumps(config).encode()

    def assert_refused(self, config, announce):
        """Fetched, and not in force when the gateway has come back to poll."""
        before = self.revisions()["in_force"]
        fetched = len(self.fake.fetched)
        self.fake.offer(self.gateway, config, announce)
        wait_for("the config to be fetched", lambda: len(self.fake.fetched) > fetched, 15)
        reports = len(self.fake.reports)
        wait_for("reports after it", lambda: len(self.fake.reports) > reports + 1, 15)
        self.assertEqual(self.revisions()["in_force"], before)
        self.assertTrue(reaches(self.lab))

    def accept(self, revision):
        self.fake.offer(self.gateway, self.signer.signed(self.gateway, revision, self.changed()))
        wait_for(f"revision {revision} in force", lambda: self.revisions()["in_force"] == revision, 15)

    def test_1_rightly_signed_is_taken(self):
        revision = self.next()
        self.accept(revision)
        wait_for("its confirmation", lambda: self.revisions()["confirmed"] == revision, 15)

    def test_2_unsigned(self):
        revision = self.next()
        body = self.changed()
        self.assert_refused((revision, {"Hawser-Revision": str(revision)}, body), revision)

    def test_2_changed_after_signing(self):
        revision = self.next()
        _, headers, body = self.signer.signed(self.gateway, revision, self.changed())
        self.assert_refused((revision, headers, body + b" "), revision)

    def test_2_signed_by_another_ca(self):
        revision = self.next()
        key = pki.new_key()
        stranger = ConfigSigner(key, pki.Authority().issue("hawser://controller/config", key))
        self.assert_refused(stranger.signed(self.gateway, revision, self.changed()), revision)

    def test_2_signed_by_a_gateway(self):
        """A certificate of the right CA that is not the config key's."""
        cert_file, key_file = pki.identity_files(self.lab, "gw-b1")
        with open(cert_file, "rb") as cert, open(key_file, "rb") as key:
            signer = ConfigSigner(pki.serialization.load_pem_private_key(key.read(), None),
                                  pki.x509.load_pem_x509_certificate(cert.read()))
        revision = self.next()
        self.assert_refused(signer.signed(self.gateway, revision, self.changed()), revision)

    def test_2_another_gateways(self):
        revision = self.next()
        foreign = self.signer.signed(self.ids["gw-b1"], revision, self.bodies["gw-b1"])
        self.assert_refused(foreign, revision)

    def test_2_another_gateways_body_signed_for_this_one(self):
        revision = self.next()
        self.assert_refused(self.signer.signed(self.gateway, revision, self.bodies["gw-b1"]), revision)

    def test_2_lower_revision(self):
        announced = self.next()
        self.assert_refused(self.signer.signed(self.gateway, 5, self.changed()), announced)

    def test_2_malformed_body(self):
        revision = self.next()
        self.assert_refused(self.signer.signed(self.gateway, revision, b'{"version": 1, "surprise": true}'), revision)

    def test_3_path_cut_by_a_config_rolls_back(self):
        self.accept(self.next())
        good = self.revisions()["in_force"]
        wait_for("its confirmation", lambda: self.revisions()["confirmed"] == good, 15)
        bad = self.next()
        self.addCleanup(self.lab.heal)
        self.fake.after_mute = lambda: self.lab.cut("gw-a1", "controller")
        self.fake.mute_on = (self.gateway, bad)
        config = self.signer.signed(self.gateway, bad, self.changed())
        with forbidden_on_underlay(self.lab) as capture, Stream(self.lab) as stream:
            self.fake.offer(self.gateway, config)
            wait_for("the config to be applied", lambda: self.revisions()["in_force"] == bad, 15, 0.02)
            started = time.monotonic()
            wait_for("the rollback", lambda: self.revisions()["in_force"] == good, 3 * CONFIRM + 10)
            self.assertGreater(time.monotonic() - started, CONFIRM - 2)
            self.assertLess(stream.stop()["worst"], 2)
            self.assertEqual((capture.stop(), capture.lines()), (0, []))
        self.assertIn(bad, {r["revision"] for r in self.revisions()["refused"]})
        fetched = self.fake.fetched.count((self.gateway, bad))
        self.fake.unmute()
        self.lab.heal()
        wait_for("the report of the refusal", lambda: bad in self.fake.refused(self.gateway), 70)
        reports = len(self.fake.reports)
        wait_for("reports after it", lambda: len(self.fake.reports) > reports + 2, 30)
        self.assertEqual(self.revisions()["in_force"], good)
        self.assertLessEqual(self.fake.fetched.count((self.gateway, bad)), fetched + 1)

    def test_3_only_a_granted_request_lifts_a_revocation(self):
        self.addCleanup(setattr, self.fake, "status", None)
        self.fake.status = 403
        wait_for("the gateway to hear of it", lambda: self.is_revoked("gw-a1"), 15)
        wait_for("the end of its keys", lambda: not reaches(self.lab), 10)
        for status in (500, 429, 404):
            self.fake.status = status
            before = self.fake.requests
            wait_for("some answers", lambda: self.fake.requests >= before + 4, 30)
            self.assertTrue(self.is_revoked("gw-a1"), status)
            self.assertFalse(reaches(self.lab))
        self.fake.status = None
        wait_for("new keys", lambda: reaches(self.lab), 90)

    def is_revoked(self, name):
        return "this gateway is revoked" in self.lab.status(name)["system"]["problems"]

    def test_4_dead_controller_does_not_roll_back(self):
        bad = self.next()
        self.fake.after_mute = self.fake.stop
        self.fake.mute_on = (self.gateway, bad)
        self.fake.offer(self.gateway, self.signer.signed(self.gateway, bad, self.changed()))
        wait_for("the config to be applied", lambda: self.revisions()["in_force"] == bad, 15)
        until = time.monotonic() + 2 * CONFIRM + 2
        while time.monotonic() < until:  # what must not happen has until now to happen
            self.assertEqual(self.revisions()["in_force"], bad)
            time.sleep(0.5)
