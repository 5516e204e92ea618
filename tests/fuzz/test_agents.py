"""The agents' API under messages that are almost right: enrolment, renewal, reports, polls. Answers are documented in docs/protocols.md."""
import json
import os
import pathlib
import random
import sys
import time
import unittest
import uuid

HERE = pathlib.Path(__file__).resolve().parent
os.environ.setdefault("HAWSER_BUILD", str(HERE.parents[1] / "build" / "asan"))
sys.path[:0] = [str(HERE / "api"), str(HERE.parent / "contract")]

import values
import wire
from agent import Agent, csr
from compose import BREAKS, Composer, Request
from controller import BUILD, Controller, request
from judge import Fault, Judge
from openapi import Document
from pool import Pool

SECONDS = 120 if os.environ.get("HAWSER_LONG") else 10
STATUSES = {200, 202, 204, 400, 401, 403, 404, 405, 409, 413, 415, 422, 429}


class Fuzzer:
    def __init__(self, controller, seed):
        self.rng = random.Random(seed)
        self.pool = Pool(self.rng)
        self.document = json.loads((BUILD / "controller" / "openapi.json").read_text())
        self.composer = Composer(self.document, self.rng, self.pool, "")
        self.judge = Judge(Document(self.document))
        self.controller = controller
        self.sent, self.accepted, self.faults = 0, 0, {}
        self.agent = self.enrol()
        self.wires = {True: wire.Wire(controller.agent_port, controller.agent_context(self.agent.cert, self.agent.key)),
                      False: wire.Wire(controller.agent_port, controller.agent_context())}
        self.report = json.loads(self.agent.report_body())
        self.csr = csr(self.agent.key)

    def call(self, path, body):
        answer = request(self.controller.port, self.controller.web_context(), "POST", path, body, {"Authorization": f"Bearer {self.controller.token}"})
        assert answer.status == 201, answer
        return answer.json

    def enrol(self):
        site = self.call("/api/v1/sites", {"name": "a", "provider": "onprem", "role": "spoke", "cidrs": ["10.1.0.0/16"]})
        self.token = self.call("/api/v1/enrolment-tokens", {"site_id": site["id"]})["token"]
        agent = Agent(self.controller, self.controller.dir, "gw-a")
        assert agent.enrol(self.token).status == 200
        return agent

    def next(self):
        """(request, whether with the certificate)."""
        boot = str(uuid.uuid4())
        method, path, body, known = self.rng.choice((
            ("POST", "report", {**self.report, "time": int(time.time())}, True), ("POST", "report", self.report, True),
            ("POST", "renew", {"csr_pem": self.csr}, True), ("GET", "config", None, True), ("GET", "denials", None, True),
            ("POST", f"operations/{boot}", {"state": "succeeded", "result": {}}, True),
            ("POST", "enrol", self.agent.enrol_body(self.token) if self.sent % 40 == 0 else {"csr_pem": self.csr, "token_id": boot, "secret": "x"}, False),
            ("GET", "ca", None, False)))
        if self.sent % 100 == 0:  # it may wait for its whole second
            method, path, body, known = "GET", f"poll?seen=0&denials=0&boot={boot}", None, True
        path, _, query = path.partition("?")
        asked = Request(method, f"/agent/v1/{path}")
        asked.query = query.split("&") if query else []
        if body is not None:
            asked.value = body
            asked.body = json.dumps(body).encode()
            asked.headers.append(("Content-Type", "application/json"))
        for _ in range(self.rng.choice((0, 1, 1, 1, 2))):
            self.rng.choice((self.composer.odd_body,) * 5 + (self.composer.odd_bytes, self.composer.odd_query, self.composer.odd_header,
                             self.composer.odd_framing, self.composer.odd_method, self.composer.break_head))(asked, asked.path)
        if asked.broken:
            asked.body = None
        return asked, known if self.rng.random() < 0.9 else not known

    def one(self):
        asked, known = self.next()
        # A connection of this listener has 8 KiB (controller/http/server.c): where its head leaves the library no room for an
        # answer, it is the deadline that ends it.
        while len(asked.head()) > 2000 or len(asked.query) > 8:
            asked, known = self.next()
        self.sent += 1
        answer = None
        try:
            answer = self.wires[known].ask(asked.data(), asked.method, asked.may_be_cut)
            if answer:
                self.accepted += answer.status < 300
                self.judge_answer(asked, answer)
        except (Fault, wire.Died) as fault:
            self.faults.setdefault((asked.method, asked.path, asked.broken, str(fault)[:60]), f"{asked.shown()}\n  {fault}\n  {answer}")
            self.wires[known].close()

    def judge_answer(self, asked, answer):
        self.judge.read(answer)
        if asked.broken or (asked.is_long and answer.status in (414, 431)):
            self.judge.judge_broken(asked, answer)
        elif answer.status not in STATUSES:
            raise Fault("not among the documented answers")
        elif answer.status >= 400 and asked.method != "HEAD":
            if answer.kind != "application/problem+json":
                raise Fault("no problem+json")
            self.judge.problem(answer)


class Agents(unittest.TestCase):
    def test_hostile_messages(self):
        seed = os.environ.get("HAWSER_FUZZ_SEED") or str(random.SystemRandom().getrandbits(32))
        with Controller(poll_seconds=1) as controller:
            fuzzer = Fuzzer(controller, seed)
            until = time.monotonic() + SECONDS
            while time.monotonic() < until and len(fuzzer.faults) < 25:
                fuzzer.one()
            for one in fuzzer.wires.values():
                one.close()
        print(f"    seed {seed}, {fuzzer.sent} messages, {fuzzer.accepted} accepted", flush=True)
        told = "\n".join(f"{key}:\n  {text}" for key, text in fuzzer.faults.items())
        self.assertFalse(fuzzer.faults, f"HAWSER_FUZZ_SEED={seed}\n{told}")
        self.assertGreater(fuzzer.accepted, 10)


if __name__ == "__main__":
    unittest.main()
