"""Sites that were joined: what one still sends to the other never leaves in plain, until an operator says that it may."""
import unittest

import labs
from capture import forbidden_on_underlay
from expect import wait_for
from traffic import Stream, reaches

TOPOLOGY = "chain"
OPTIONS = {"agent_settings": {"confirm_timeout_seconds": 5}}


class Separation(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        self.lab = labs.current()
        self.api = self.lab.api

    def sites(self, *names):
        return sorted(s["id"] for s in self.api.list("/api/v1/sites") if s["name"] in names)

    def connection(self):
        return next(c for c in self.api.list("/api/v1/connections") if c["name"] == "site-a-site-t")

    def separation(self, *names):
        """That of the pair, or None."""
        wanted = self.sites(*names)
        return next((s for s in self.api.list("/api/v1/separations")
                     if [s["site_a_id"], s["site_b_id"]] == wanted), None)

    def in_force(self):
        """The first gateway has what the controller has last made for it."""
        gateway = self.api.get(f"/api/v1/gateways/{self.lab.state['nodes']['gw-a1']['gateway_id']}")
        return gateway["revisions"]["in_force"] == gateway["revisions"]["config"]

    def sending(self):
        for family in (4, 6):
            stream = Stream(self.lab, family, 9100 + family)
            self.addCleanup(stream.stop)

    def sent_more(self, datagrams=100):
        """Waits until the host's network has seen that many more datagrams to the far site."""
        def seen():
            out = self.lab.exec("gw-a1", "cat", "/sys/class/net/site0/statistics/rx_packets")
            return int(out)
        start = seen()
        wait_for(f"{datagrams} more datagrams", lambda: seen() - start >= datagrams, 20)

    def joined_again(self, body):
        """The connection as it was; for the next file on this lab."""
        if not any(c["name"] == body["name"] for c in self.api.list("/api/v1/connections")):
            self.api.post("/api/v1/connections", body)
        self.lab.wait_links()
        wait_for("traffic again", lambda: reaches(self.lab) and reaches(self.lab, 6), 20)

    def test_a_deleted_connection(self):
        connection = self.connection()
        body = {k: connection[k] for k in ("name", "site_a_id", "site_b_id", "tunnels", "suites")}
        self.addCleanup(self.joined_again, body)
        with forbidden_on_underlay(self.lab) as capture:
            self.sending()
            self.api.delete(f"/api/v1/connections/{connection['id']}")
            self.sent_more()
            wait_for("the new config in force", self.in_force, 20)
            self.sent_more()
            lost = capture.stop()
            self.assertEqual((capture.lines(), lost), ([], 0))
        self.assertIsNotNone(self.separation("site-a", "site-t"))
        self.assertIsNone(self.separation("site-b", "site-t"))
        apart = self.separation("site-a", "site-b")
        with forbidden_on_underlay(self.lab) as capture:
            self.api.delete(f"/api/v1/separations/{apart['id']}")
            wait_for("the new config in force", self.in_force, 20)
            self.sent_more()
            capture.stop()
            self.assertTrue(capture.lines(), "what may leave in plain is seen to do so")
        self.doCleanups()
        self.assertEqual(self.api.list("/api/v1/separations"), [])

    def test_a_disabled_link(self):
        link = next(link for link in self.api.list("/api/v1/links")
                    if self.lab.state["nodes"]["gw-a1"]["gateway_id"] in (link["gateway_a_id"], link["gateway_b_id"]))
        self.addCleanup(self.lab.wait_links)
        self.addCleanup(self.api.patch, f"/api/v1/links/{link['id']}", {"enabled": True})
        with forbidden_on_underlay(self.lab) as capture:
            self.sending()
            self.api.patch(f"/api/v1/links/{link['id']}", {"enabled": False})
            self.sent_more()
            wait_for("the new config in force", self.in_force, 20)
            self.sent_more()
            lost = capture.stop()
            self.assertEqual((capture.lines(), lost), ([], 0))
        self.assertEqual(self.api.list("/api/v1/separations"), [])


if __name__ == "__main__":
    unittest.main()
