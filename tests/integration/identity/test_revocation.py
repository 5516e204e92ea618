"""A revoked gateway is cut off; there is no way back for it, so this lab is not shared."""
import time
import unittest

import labs
import pki
import rest
from expect import wait_for
from traffic import reaches

TOPOLOGY = "chain"
OPTIONS = {"tunnels": 2}
DESTROYS = True

BAR = 5.0


class Revocation(unittest.TestCase):
    def test_revoked_gateway_is_cut_off(self):
        lab = labs.current()
        gateway = lab.state["nodes"]["gw-b1"]["gateway_id"]
        self.assertTrue(reaches(lab))
        started = time.monotonic()
        lab.api.post(f"/api/v1/gateways/{gateway}/revoke")
        wait_for("the peer to drop its keys", lambda: self.no_keys(lab), 2 * BAR, 0.05)
        took = time.monotonic() - started
        self.assertLess(took, BAR)
        self.assertFalse(reaches(lab))

        controller = lab.state["controller"]
        api = rest.Api("hw-gw-b1", controller["agent_url"], None, controller["state_dir"] + "/gateway-ca.pem",
                       client_cert=pki.identity_files(lab, "gw-b1"))
        api.context.check_hostname = False
        self.assertEqual(api.raw("GET", "/agent/v1/config").status, 403)
        self.assertEqual(api.raw("POST", "/agent/v1/renew", {"csr_pem": pki.csr(pki.new_key())}).status, 403)

        seen = lab.api.get(f"/api/v1/gateways/{gateway}")
        self.assertEqual(seen["state"], "revoked")
        wait_for("every peer to confirm",
                 lambda: not lab.api.get(f"/api/v1/gateways/{gateway}")["unconfirmed_peers"], 10)

        # The denial outlives the peer's agent, with the controller away.
        lab.kill("controller", "controller")
        lab.restart("gw-t1", "agent")
        time.sleep(3)  # long enough for a dial that must not happen
        self.assertTrue(self.no_keys(lab))

    def no_keys(self, lab):
        """gw-t1 has nothing keyed with gw-b1: the link is gone from its config, or has no keys."""
        links = [k for k in lab.status("gw-t1")["links"] if k.get("peer") == "gw-b1"]
        return all(t["state"] in ("no_sa", "down") for k in links for t in k["tunnels"])
