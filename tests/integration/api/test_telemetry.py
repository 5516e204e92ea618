"""What the controller shows against what really happened: iperf3's own figures, and an agent that fell silent."""
import time
import unittest

import labs
import measure
from expect import wait_for

TOPOLOGY = "chain"
OPTIONS = {"agent_settings": {"confirm_timeout_seconds": 5}}

SECONDS = 22  # long enough for a whole report of 10 s to lie inside
STALE_S = 30
RAW = "range=5m&step=raw"


class Telemetry(unittest.TestCase):
    def setUp(self):
        self.lab = labs.current()

    def get(self, path):
        return self.lab.api.get(f"/api/v1/{path}")

    def series(self, thing, *metrics):
        got = self.get(f"telemetry?object={thing}&metric={','.join(metrics)}&{RAW}")
        return [[value or 0 for value in one["avg"]] for one in got["series"]]

    def state(self, gateway):
        status = self.get(f"gateways/{gateway}")["status"]
        return status["state"]

    def test_rates_are_iperfs_and_silence_is_unknown(self):
        """The far agent is dead all the while: its dataplane goes on, so both are seen in one go."""
        nodes = self.lab.state["nodes"]
        first, last = nodes["gw-a1"]["gateway_id"], nodes["gw-b1"]["gateway_id"]
        link = next(item for item in self.get(f"links?gateway_id={first}")["items"] if item["kind"] == "attachment")
        thing, sent = f"link/{link['id']}", ("tx_bytes", "goodput_tx_bps") if link["gateway_a_id"] == first else ("rx_bytes", "goodput_rx_bps")
        wait_for("a first report", lambda: self.state(last) == "up", 30)
        self.lab.kill("gw-b1", "agent")
        killed = time.monotonic()
        try:
            near, far = measure.ends(self.lab)
            before = sum(self.series(thing, sent[0])[0])
            with measure.IperfServer(self.lab, far):
                ran = measure.iperf(self.lab, near, measure.addresses(self.lab)[0], 4, SECONDS)
            self.assertLess(time.monotonic() - killed, STALE_S)
            # All bytes come by the report after the end; iperf3 counts payload alone, the link headers too.
            wait_for("the last bytes", lambda: sum(self.series(thing, sent[0])[0]) - before > ran["bytes"], 15)
            carried = sum(self.series(thing, sent[0])[0]) - before
            self.assertLess(carried, ran["bytes"] * 1.08)
            highest = max(self.series(thing, sent[1])[0])
            labs.note(f"iperf3 {ran['gbps']:.2f} Gbit/s, the link's best report {highest / 1e9:.2f}; {carried / ran['bytes']:.3f} times the bytes")
            self.assertGreater(highest, ran["gbps"] * 1e9 * 0.9)
            self.assertLess(highest, ran["gbps"] * 1e9 * 1.35)
            wait_for("the silent gateway to be unknown", lambda: self.state(last) == "unknown", 30)
            self.assertGreater(time.monotonic() - killed, STALE_S - 11)
            picture = {gateway["name"]: gateway for gateway in self.get("topology")["gateways"]}
            self.assertEqual((picture["gw-b1"]["status"]["state"], picture["gw-b1"]["goodput_tx_bps"]), ("unknown", None))
            self.assertGreaterEqual(picture["gw-b1"]["status"]["age_seconds"], STALE_S)
            self.assertEqual(picture["gw-a1"]["status"]["state"], "up")
        finally:
            self.lab.start("gw-b1", "agent")
        wait_for("it to be back", lambda: self.state(last) == "up", 30)

    def test_tunnels_and_workers(self):
        link = self.get("links")["items"][0]
        tunnels = self.get(f"links/{link['id']}/tunnels")["items"]
        self.assertEqual(len(tunnels), link["tunnels"])
        for tunnel in tunnels:
            self.assertEqual([end["state"] for end in tunnel["ends"]], ["up", "up"])
            self.assertTrue(all(0 < end["rtt_ms"]["avg"] < 1000 and 1200 < end["mtu"] < 1500 for end in tunnel["ends"]), tunnel)
        workers = self.get(f"gateways/{link['gateway_a_id']}/workers")["items"]
        self.assertEqual(sum(worker["tunnels"] for worker in workers),
                         sum(one["tunnels"] for one in self.get(f"links?gateway_id={link['gateway_a_id']}")["items"]))
