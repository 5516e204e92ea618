"""Who gets in: keying between gateways, and the agents' API."""
import pathlib
import tempfile
import unittest

import keying_client
import labs
import pki
import rest
from traffic import reaches

TOPOLOGY = "chain"
OPTIONS = {"agent_settings": {"confirm_timeout_seconds": 5}}


class Certificates(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.lab = labs.current()
        cls.place = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.place.cleanup)
        directory = pathlib.Path(cls.lab.state["controller"]["state_dir"])
        cls.ca_file = str(directory / "gateway-ca.pem")
        cls.ids = {n: cls.lab.state["nodes"][n]["gateway_id"] for n in cls.lab.gateways}
        ours, other = pki.Authority(directory), pki.Authority()
        uri = pki.gateway_uri(cls.ids["gw-a1"])
        key = pki.new_key()
        cls.pairs = {
            "another CA's": pki.write_pair(cls.place.name, "other", other.issue(uri, key), key),
            "an expired one": pki.write_pair(cls.place.name, "expired", ours.issue(uri, key, -40, -10), key),
            "none": None,
        }
        links = cls.lab.api.list("/api/v1/links")
        cls.links = {frozenset((link["gateway_a_id"], link["gateway_b_id"])): link["id"] for link in links}

    def link(self, a, b):
        return self.links[frozenset((self.ids[a], self.ids[b]))]

    def epochs(self, gateway):
        return sorted((k["link_id"], k["epoch"]) for k in self.lab.status(gateway)["links"])

    def offer_as(self, pair, own, link, to="gw-t1", sender="gw-a1"):
        return keying_client.try_offer(self.lab, sender, to, link, self.ids[own], pair, self.ca_file)

    def test_a_peers_own_certificate_is_accepted(self):
        """The client of these tests is right: with the real certificate the gateway answers. The epoch that it
        offers and leaves is never sent on, so traffic goes on with the keys in use."""
        outcome, body = self.offer_as(pki.identity_files(self.lab, "gw-a1"), "gw-a1", self.link("gw-a1", "gw-t1"))
        self.assertEqual(outcome, "accept", body)
        self.assertTrue(reaches(self.lab))

    def test_wrong_certificates_do_not_key(self):
        before = self.epochs("gw-t1")
        for what, pair in self.pairs.items():
            with self.subTest(what):
                outcome, _ = self.offer_as(pair, "gw-a1", self.link("gw-a1", "gw-t1"))
                self.assertEqual(outcome, "closed")
        self.assertEqual(self.epochs("gw-t1"), before)

    def test_a_third_gateways_certificate_does_not_key(self):
        """gw-b1 is enrolled, but no peer of gw-a1's; and a peer of gw-t1's, but not on gw-a1's link."""
        third = pki.identity_files(self.lab, "gw-b1")
        before = self.epochs("gw-a1") + self.epochs("gw-t1")
        outcome, _ = self.offer_as(third, "gw-b1", self.link("gw-a1", "gw-t1"), to="gw-a1", sender="gw-t1")
        self.assertEqual(outcome, "closed")
        for own in ("gw-b1", "gw-a1"):
            outcome, _ = self.offer_as(third, own, self.link("gw-a1", "gw-t1"))
            self.assertNotEqual(outcome, "accept")
        self.assertEqual(self.epochs("gw-a1") + self.epochs("gw-t1"), before)

    def api(self, pair):
        state = self.lab.state["controller"]
        api = rest.Api("hw-gw-a1", state["agent_url"], None, self.ca_file, client_cert=pair)
        api.context.check_hostname = False
        return api

    def agent_paths(self):
        return (("GET", "/agent/v1/poll?seen=0&denials=0&boot=x", None), ("GET", "/agent/v1/config", None),
                ("GET", "/agent/v1/denials", None), ("POST", "/agent/v1/report", {}))

    def test_wrong_certificates_do_not_reach_the_agents_api(self):
        for what, pair in self.pairs.items():
            for method, path, body in self.agent_paths():
                with self.subTest(f"{what}: {path}"):
                    try:
                        status = self.api(pair).raw(method, path, body).status
                    except OSError:
                        continue  # refused in the handshake
                    self.assertEqual(status, 401)

    def test_anyone_may_read_the_ca(self):
        answer = self.api(None).raw("GET", "/agent/v1/ca")
        self.assertEqual(answer.status, 200)
        self.assertEqual(answer.body.strip(), pathlib.Path(self.ca_file).read_bytes().strip())

    def test_an_ended_certificate_may_renew_and_nothing_else(self):
        """The enrolled key, ended 10 days ago: renewal alone is left to it."""
        directory = pathlib.Path(self.lab.state["controller"]["state_dir"])
        _, key_file = pki.identity_files(self.lab, "gw-a1")
        key = pki.serialization.load_pem_private_key(pathlib.Path(key_file).read_bytes(), None)
        ended = pki.Authority(directory).issue(pki.gateway_uri(self.ids["gw-a1"]), key, -40, -10)
        too_old = pki.Authority(directory).issue(pki.gateway_uri(self.ids["gw-a1"]), key, -240, -200)
        for stem, cert, wanted in (("ended", ended, 200), ("too-old", too_old, 401)):
            pair = pki.write_pair(self.place.name, stem, cert, key)
            answer = self.api(pair).raw("POST", "/agent/v1/renew", {"csr_pem": pki.csr(key)})
            self.assertEqual(answer.status, wanted, answer.body)

    def test_a_gateways_certificate_is_not_the_controllers(self):
        """An agent that dials its controller and finds a gateway's certificate there does not talk to it: the
        listener's SAN is what the agents look for, so a gateway's must not carry it."""
        for gateway in self.lab.gateways:
            cert_file, _ = pki.identity_files(self.lab, gateway)
            cert = pki.x509.load_pem_x509_certificate(pathlib.Path(cert_file).read_bytes())
            names = cert.extensions.get_extension_for_class(pki.x509.SubjectAlternativeName).value
            self.assertEqual(names.get_values_for_type(pki.x509.UniformResourceIdentifier),
                             [pki.gateway_uri(self.ids[gateway])])
