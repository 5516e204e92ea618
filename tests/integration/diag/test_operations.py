"""Operations: progress and result kept, two at once, cancel, an agent that is restarted in the middle; ping, tcp-connect."""
import unittest

import daemons
from expect import wait_for
from diagnostics import OPEN, address, ask, gateway, lab, read, run, wait

TOPOLOGY = "routed"
LONG = {"target_address": "10.2.0.1", "count": 100, "interval_ms": 1000}


class Operations(unittest.TestCase):
    def tearDown(self):
        for name in lab().state["hops"]:
            lab().reset_hop(name)

    def refused(self, status, kind="ping", **body):
        reply = lab().api.raw("POST", f"/api/v1/diagnostics/{kind}", {"gateway_id": gateway("gw-a1"), **body})
        self.assertEqual(reply.status, status, reply.body)

    def test_ping(self):
        for family in (4, 6):
            result = run("ping", target_gateway_id=gateway("gw-b1"), family=family, count=3, interval_ms=100)["result"]
            self.assertEqual((result["sent"], result["received"], result["loss_ratio"]), (3, 3, 0))
            self.assertEqual([(r["from"], r["ttl"]) for r in result["replies"]],
                             [(address("gw-b1", "underlay", family), 59)] * 3)
        inner = run("ping", target_address=address("host-b", "site", 4), network="overlay", count=2, interval_ms=100)
        self.assertEqual(inner["result"]["received"], 2)
        lab().hop("r2", 1400)
        large = run("ping", target_gateway_id=gateway("gw-b1"), count=1, size_bytes=1500)["result"]
        self.assertEqual((large["received"], large["replies"][0]["error"], large["replies"][0]["from"]),
                         (0, "too big: next hop takes 1400", "198.51.100.6"))
        cut = run("ping", target_gateway_id=gateway("gw-b1"), count=1, size_bytes=3000, dont_fragment=False)["result"]
        self.assertEqual(cut["received"], 1)

    def test_tcp_connect(self):
        port = run("tcp-connect", target_gateway_id=gateway("gw-b1"), port=4510)["result"]
        self.assertEqual((port["outcome"], port["source_address"]), ("connected", address("gw-a1", "underlay", 4)))
        closed = run("tcp-connect", target_address=address("host-b", "site", 6), network="overlay", port=81)["result"]
        self.assertEqual(closed["outcome"], "refused")
        self.assertIn("answers, but nothing listens", closed["verdict"])

    def test_refused_at_the_edge(self):
        for target in ("224.0.0.1", "127.0.0.1", "255.255.255.255", "0.0.0.0", "fe80::1", "ff02::1"):
            self.refused(422, target_address=target)
        self.refused(422)
        self.refused(422, target_address="10.2.0.1", target_gateway_id=gateway("gw-b1"))
        self.refused(422, target_address="10.2.0.1", count=101)
        self.refused(422, target_address="10.2.0.1", interval_ms=99)
        self.refused(422, target_address="fd02::1", size_bytes=47)
        self.refused(422, "tcp-connect", target_address="10.2.0.1")
        no_way = run("ping", target_address="203.0.113.7", network="overlay")
        self.assertEqual((no_way["state"], no_way["error"]["code"]), ("failed", "no-route"))

    def test_two_at_once_and_cancel(self):
        first, second, third = (ask("ping", **LONG) for _ in range(3))
        try:
            self.assertEqual(wait(first, ("queued",))["state"], "running")
            self.assertEqual(wait(second, ("queued",))["state"], "running")
            self.assertEqual(read(third)["state"], "queued")
            shown = lab().api.get(f"/api/v1/operations?gateway_id={gateway('gw-a1')}&state=running")["items"]
            self.assertEqual({o["id"] for o in shown}, {first["id"], second["id"]})
            # A queued one ends at once; a running one when its agent has stopped, with what it had found.
            self.assertEqual(self.cancel(third)["state"], "cancelled")
            self.cancel(first)
            over = wait(first)
            self.assertEqual((over["state"], over["error"]["code"]), ("cancelled", "cancelled"))
            self.assertGreaterEqual(over["result"]["received"], 1)
            self.assertEqual(self.cancel(first), over)
        finally:
            for operation in (first, second, third):
                self.cancel(operation)
                wait(operation)

    def cancel(self, operation):
        return lab().api.post(f"/api/v1/operations/{operation['id']}/cancel", {})

    def test_agent_restarted_in_the_middle(self):
        operation = wait(ask("ping", **LONG), ("queued",))
        lab().kill("gw-a1", "agent")
        lab().start("gw-a1", "agent")
        over = wait(operation)
        self.assertEqual((over["state"], over["error"]["code"]), ("failed", "internal"))
        self.assertIn("restarted", over["error"]["text"])
        self.assertEqual(run("ping", target_address="10.2.0.1", count=1)["state"], "succeeded")

    def test_run_once_though_delivered_twice(self):
        """The controller dies before it has heard of the end: its agent tells the next one, and runs nothing again."""
        before = self.logged("command taken"), self.logged("command over")
        operation = wait(ask("ping", target_address="10.2.0.1", count=3, interval_ms=500), ("queued",))
        lab().kill("controller", "controller")
        wait_for("the ping to end", lambda: self.logged("command over") > before[1], 10)
        lab().start("controller", "controller")
        over = wait(operation)
        self.assertEqual((over["state"], over["result"]["received"]), ("succeeded", 3))
        self.assertEqual(self.logged("command taken"), before[0] + 1)

    def logged(self, what):
        return daemons.log_file("gw-a1", "agent").read_text().count(what)

    def test_repeated_request_is_one_operation(self):
        body = {"gateway_id": gateway("gw-a1"), "target_address": "10.2.0.1", "count": 1}
        one, two = (lab().api.raw("POST", "/api/v1/diagnostics/ping", body, {"Idempotency-Key": "ping-once"})
                    for _ in range(2))
        self.assertEqual((one.status, one.json["id"]), (202, two.json["id"]))
        wait(one.json, OPEN)
