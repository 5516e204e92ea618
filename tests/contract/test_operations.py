"""Operations against a running controller, this test being the agents: what polls carry, what reports do, how each ends."""
import json
import sqlite3
import tempfile
import time
import unittest
import uuid

from agent import Agent
from controller import Controller
from test_api import Api

HOP = {"hop": 1, "address": "10.2.0.1", "addresses": ["10.2.0.1"], "name": None, "sent": 3, "answered": 3,
       "rtt_ms": {"avg": 0.2, "min": 0.1, "max": 0.3}, "mtu": 1500, "mtu_source": "device", "note": None}


def trace(source, destination, mtu=1500):
    hop = {**HOP, "address": destination, "addresses": [destination], "mtu": mtu}
    return {"source_address": source, "destination_address": destination, "family": 4, "protocol": "udp", "reached": True,
            "path_mtu": mtu, "mtu_source": "device", "verdict": "whatever the agent says", "hops": [hop]}


class Operations(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="operations-")
        cls.addClassCleanup(folder.cleanup)
        cls.controller = Controller()
        cls.addClassCleanup(cls.controller.__exit__, None, None, None)
        cls.controller.__enter__()
        cls.api = Api(cls.controller)
        cls.agents = {}
        for number, name in ((1, "gw-a"), (2, "gw-b")):
            site = cls.made("sites", {"name": f"site-{name}", "provider": "onprem", "cidrs": [f"10.{number}.0.0/16"],
                                      "role": "transit" if number == 1 else "spoke"})
            token = cls.made("enrolment-tokens", {"site_id": site["id"], "gateway_name": name})["token"]
            agent = Agent(cls.controller, folder.name, name, f"10.{number}.0.1")
            assert agent.enrol(token).status == 200
            cls.agents[name] = agent
        cls.a, cls.b = cls.agents.values()

    @classmethod
    def made(cls, kind, body):
        reply = cls.api.call("POST", f"/api/v1/{kind}", body)
        assert reply.status == 201, reply
        return reply.json

    def ask(self, kind="ping", status=202, **body):
        body = {"gateway_id": self.a.id, **body}
        reply = self.api.call("POST", f"/api/v1/diagnostics/{kind}", body)
        self.assertEqual(reply.status, status, reply.body)
        if status == 202:
            self.assertEqual(reply.headers["Location"], f"/api/v1/operations/{reply.json['id']}")
        return reply.json

    def read(self, operation):
        reply = self.api.call("GET", f"/api/v1/operations/{operation['id']}")
        self.assertEqual(reply.status, 200)
        return reply.json

    def cancel(self, operation):
        reply = self.api.call("POST", f"/api/v1/operations/{operation['id']}/cancel", {})
        self.assertEqual(reply.status, 200)
        return reply.json

    def commands(self, agent):
        """What a poll of an agent without a config carries: it is answered at once."""
        return agent.poll(0).json["commands"]

    def report(self, agent, command, sequence, state="running", result=None, error=None, status=204):
        body = {"sequence": sequence, "state": state, "progress": {"done": 1, "total": 3, "text": "hop 1"},
                "result": result, "error": error}
        reply = agent.call("POST", f"/agent/v1/operations/{command['id']}", json.dumps(body).encode())
        self.assertEqual(reply.status, status, reply.body)

    def tearDown(self):
        """Nothing is left open for the next."""
        for operation in self.api.call("GET", "/api/v1/operations?limit=1000").json["items"]:
            self.cancel(operation)
        for agent in self.agents.values():
            for command in self.commands(agent):
                self.report(agent, command, 1, "succeeded")
        self.shift("UPDATE operations SET state = 'failed', finished_at = 1 WHERE finished_at = 0")
        self.shift("UPDATE operation_commands SET state = 'failed', finished_at = 1 WHERE finished_at = 0")

    def shift(self, sql):
        with sqlite3.connect(self.controller.state / "hawser.db", timeout=10) as db:
            db.execute(sql)
        db.close()

    def test_trace_both_ways(self):
        operation = self.ask("trace-path", target_gateway_id=self.b.id, protocol="icmp")
        self.assertEqual((operation["state"], operation["request"]["protocol"], operation["request"]["max_hops"],
                          operation["request"]["family"]), ("queued", "icmp", 30, 4))
        first, = self.commands(self.a)
        self.assertEqual([first], self.commands(self.a))  # until it is reported on
        self.assertEqual((first["kind"], first["params"]["target"]), ("trace-path", "10.2.0.1"))
        self.assertEqual(self.commands(self.b), [])
        self.report(self.a, first, 1)
        self.assertEqual(self.commands(self.a), [])
        running = self.read(operation)
        self.assertEqual((running["state"], running["progress"]["text"], running["progress"]["total"]), ("running", "hop 1", 3))
        self.report(self.a, first, 2, "succeeded", trace("10.1.0.1", "10.2.0.1"))
        self.assertEqual(self.read(operation)["state"], "running")
        back, = self.commands(self.b)
        self.assertEqual((back["params"]["target"], back["params"]["source"]), ("10.1.0.1", "10.2.0.1"))
        self.assertNotEqual(back["id"], first["id"])
        self.report(self.b, back, 1)
        self.report(self.b, back, 2, "succeeded", trace("10.2.0.1", "10.1.0.1"))
        over = self.read(operation)
        self.assertEqual((over["state"], over["error"]), ("succeeded", None))
        self.assertEqual(over["result"]["verdict"], "MTU is 1500 all the way, outward and back.")
        self.assertEqual([over["result"][leg]["hops"][0]["name"] for leg in ("outward", "back")], ["gw-b", "gw-a"])
        self.assertEqual(over["result"]["back"]["gateway_id"], self.b.id)
        self.assertEqual([s["name"] for s in over["progress"]["steps"]], ["outward", "back"])
        listed = self.api.call("GET", "/api/v1/operations?limit=1&kind=trace-path").json["items"]
        self.assertEqual([(o["id"], o["result"]) for o in listed], [(over["id"], None)])

    def test_the_way_back_leads_to_the_first_gateway_alone(self):
        """Its agent can't have the other one probe whatever address it likes."""
        self.assertEqual(self.a.report().status, 204)  # interfaces
        overlay = self.api.call("GET", f"/api/v1/gateways/{self.a.id}").json["overlay"]["ipv4"]
        for source, own in (("10.1.0.1", True), (overlay, True), ("10.2.0.1", False), ("192.0.2.7", False), ("127.0.0.1", False)):
            with self.subTest(source=source):
                operation = self.ask("trace-path", target_gateway_id=self.b.id)
                command, = self.commands(self.a)
                self.report(self.a, command, 1, "succeeded", trace(source, "10.2.0.1"))
                now = self.read(operation)
                if own:
                    self.assertEqual([c["params"]["target"] for c in self.commands(self.b)], [source])
                    self.cancel(operation)
                    continue
                self.assertEqual(self.commands(self.b), [])
                self.assertEqual((now["state"], now["error"]["code"]), ("failed", "internal"))
                self.assertIn(f"{source} as its source, which is no address of its gateway", now["error"]["text"])
                self.assertEqual(now["result"]["outward"]["source_address"], source)

    def test_reports_that_do_not_count(self):
        operation = self.ask(target_address="10.2.0.1")
        command, = self.commands(self.a)
        self.report(self.b, command, 1, status=404)
        self.report(self.a, {"id": str(uuid.uuid4())}, 1, status=404)
        self.report(self.a, command, 5)
        self.report(self.a, command, 4, "failed", error={"code": "internal", "text": "late"})
        self.assertEqual(self.read(operation)["state"], "running")
        self.report(self.a, command, 6, "failed", error={"code": "no-route", "text": "No route."})
        self.report(self.a, command, 7, status=409)
        self.assertEqual(self.read(operation)["error"], {"code": "no-route", "text": "No route."})

    def test_result_of_another_shape_is_the_agents_failure(self):
        for result in ({}, {"verdict": "<b>"}, trace("10.1.0.1", "10.2.0.1") | {"hops": [{}] * 65}, None):
            operation = self.ask("trace-path", target_address="10.2.0.1")
            command, = self.commands(self.a)
            self.report(self.a, command, 1, "succeeded", result)
            over = self.read(operation)
            self.assertEqual((over["state"], over["error"]["code"], over["result"]), ("failed", "internal", None))

    def test_cancel(self):
        queued = self.ask(target_address="10.2.0.1")
        self.assertEqual(self.cancel(queued)["state"], "cancelled")
        self.assertEqual(self.commands(self.a), [])
        operation = self.ask(target_address="10.2.0.1")
        command, = self.commands(self.a)
        self.report(self.a, command, 1)
        self.assertEqual(self.cancel(operation)["state"], "running")
        stop, = self.commands(self.a)
        self.assertEqual((stop["kind"], stop["params"]), ("cancel", {"command_id": command["id"]}))
        self.report(self.a, command, 2, "cancelled", error={"code": "cancelled", "text": "cancelled"})
        over = self.read(operation)
        self.assertEqual((over["state"], len(over["progress"]["steps"])), ("cancelled", 1))
        self.assertEqual(self.cancel(operation), over)

    def test_two_are_given_out_and_sixteen_wait(self):
        operations = [self.ask(target_address="10.2.0.1") for _ in range(16)]
        self.ask(target_address="10.2.0.1", status=409)
        given = self.commands(self.a)
        self.assertEqual(len(given), 2)
        self.report(self.a, given[0], 1)
        self.assertEqual([c["id"] for c in self.commands(self.a)], [given[1]["id"]])
        self.report(self.a, given[0], 2, "failed", error={"code": "internal", "text": ""})
        self.assertEqual(len(self.commands(self.a)), 2)
        self.assertEqual(self.read(operations[0])["state"], "failed")

    def ended(self, operation):
        deadline = time.monotonic() + 10
        while (now := self.read(operation))["state"] in ("queued", "running"):
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.1)
        return now

    def test_what_waits_in_vain_ends(self):
        lost = self.ask(target_address="10.2.0.1")
        silent = self.ask(target_address="10.2.0.1")
        command = self.commands(self.a)[1]
        self.report(self.a, command, 1)
        self.shift("UPDATE operations SET created_at = created_at - 61, expires_at = expires_at - 61"
                   " WHERE state = 'queued'")
        self.shift("UPDATE operation_commands SET reported_at = reported_at - 31 WHERE reported_at > 0")
        over = self.ended(lost)
        self.assertEqual((over["state"], over["error"]["code"]), ("expired", "not-delivered"))
        over = self.ended(silent)
        self.assertEqual((over["state"], over["error"]["code"]), ("failed", "no-answer"))

    def test_refused(self):
        self.ask(status=422)
        self.ask(status=422, target_address="10.2.0.1", target_gateway_id=self.b.id)
        self.ask(status=422, target_gateway_id=self.a.id)
        self.ask(status=422, target_gateway_id=str(uuid.uuid4()))
        self.ask(status=422, target_address="239.1.2.3")
        self.ask(status=422, target_address="10.2.0.1", family=6)
        self.ask(status=422, target_gateway_id=self.b.id, family=6)
        self.ask("trace-path", status=422, target_address="10.2.0.1", max_hops=65)
        self.ask("trace-path", status=422, target_address="10.2.0.1", port=80)
        self.ask("tcp-connect", status=422, target_address="10.2.0.1")
        self.ask(status=422, target_address="10.2.0.1", port=80)
        for query in ("kind=dns", "state=done", "gateway_id=1", "cursor=x"):
            self.assertEqual(self.api.call("GET", f"/api/v1/operations?{query}").status, 422, query)
        self.assertEqual(self.api.call("GET", f"/api/v1/operations/{uuid.uuid4()}").status, 404)


if __name__ == "__main__":
    unittest.main()
