"""Gateways of different sizes: the transit has one worker more than the spokes, and flows still keep their order."""
import json
import unittest

import daemons
import labs
import measure
from expect import wait_for

TOPOLOGY = "chain"


class UnequalWorkers(unittest.TestCase):
    def setUp(self):
        self.lab = labs.current()
        self.settings = daemons.node_dir("gw-t1") / "etc" / "dataplane.json"
        before = self.settings.read_text()
        self.addCleanup(self.restart, before)
        workers = self.lab.status("gw-a1")["dataplane"]["workers"]
        self.restart(json.dumps({**json.loads(before), "workers": workers + 1}))
        self.assertEqual(self.lab.status("gw-t1")["dataplane"]["workers"], workers + 1)

    def restart(self, settings):
        """The transit's dataplane anew, with these settings; every link is keyed again by it."""
        old = self.lab.status("gw-t1")["dataplane"]["boot_id"]

        def is_new():
            now = self.lab.status("gw-t1")["dataplane"]
            return now["connected"] and now["boot_id"] != old
        self.settings.write_text(settings)
        self.lab.kill("gw-t1", "dataplane")
        wait_for("another dataplane on gw-t1", is_new, 20)
        self.lab.wait_links()

    def reordered(self):
        """Packets that the sending host's TCP has seen come late, since its boot."""
        lines = [line.split() for line in self.lab.exec("host-a", "cat", "/proc/net/netstat").splitlines()]
        of = dict(zip(lines[0], lines[1]))
        return sum(int(of[k]) for k in ("TCPSACKReorder", "TCPTSReorder", "TCPRenoReorder"))

    def test_flows_keep_their_order(self):
        client, server = measure.ends(self.lab)
        address, _ = measure.addresses(self.lab)
        before = self.reordered()
        with measure.IperfServer(self.lab, server):
            result = measure.iperf(self.lab, client, address, 32, 3)
        self.assertGreater(result["gbps"], 0.1)
        # A hash that moves flows gives hundreds; the hosts' own veth pairs give one now and then, by plain routing too.
        self.assertLess(self.reordered() - before, 10)


if __name__ == "__main__":
    unittest.main()
