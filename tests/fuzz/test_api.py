"""The people's API under requests made from its own OpenAPI document: as documented, almost so, and hostile.

No answer is a 5xx, none is missing, and each is documented for its operation and of the documented shape. By hand:

    tests/fuzz/test_api.py [--seconds N] [--seed S]
"""
import argparse
import collections
import json
import os
import pathlib
import random
import sys
import time
import unittest

HERE = pathlib.Path(__file__).resolve().parent
os.environ.setdefault("HAWSER_BUILD", str(HERE.parents[1] / "build" / "asan"))
sys.path[:0] = [str(HERE / "api"), str(HERE.parent / "contract")]

import wire
from agent import Agent
from compose import Composer
from controller import BUILD, Controller, request
from judge import Fault, Judge
from openapi import Document
from pool import Pool

SECONDS = 600 if os.environ.get("HAWSER_LONG") else 25
FAULTS = 25  # enough to look at


class Fuzzer:
    def __init__(self, controller, seed):
        self.rng = random.Random(seed)
        self.controller = controller
        self.document = json.loads((BUILD / "controller" / "openapi.json").read_text())
        self.pool = Pool(self.rng)
        self.composer = Composer(self.document, self.rng, self.pool, controller.token)
        self.judge = Judge(Document(self.document))
        self.wire = wire.Wire(controller.port, controller.web_context())
        self.statuses = collections.defaultdict(collections.Counter)
        self.faults = {}
        self.sent = 0

    def call(self, method, path, body=None):
        answer = request(self.controller.port, self.controller.web_context(), method, path, body,
                         {"Authorization": f"Bearer {self.controller.token}"})
        assert answer.status < 300, answer
        self.pool.learn(path, path, answer.json)
        return answer.json

    def furnish(self):
        """Two sites whose gateways are enrolled and have reported, and what joins them: most objects want others."""
        self.pool.hidden.add(self.call("GET", "/api/v1/whoami")["key_id"])
        sites = [self.call("POST", "/api/v1/sites", {"name": name, "provider": "onprem", "role": role, "cidrs": [f"172.16.{i}.0/24"]})
                 for i, (name, role) in enumerate((("spoke-a", "spoke"), ("transit-t", "transit")))]
        agents = []
        for site, name, address in zip(sites, ("gw-a", "gw-t"), ("172.16.0.1", "172.16.1.1")):
            token = self.call("POST", "/api/v1/enrolment-tokens", {"site_id": site["id"]})
            agent = Agent(self.controller, self.controller.dir, name, address)
            assert agent.enrol(token["token"]).status == 200
            agents.append(agent)
        self.call("POST", "/api/v1/connections", {"name": "a-t", "site_a_id": sites[0]["id"], "site_b_id": sites[1]["id"]})
        for agent in agents:
            assert agent.report().status < 300
        self.look()

    def look(self):
        """Learns what exists."""
        for path in self.document["paths"]:
            if "{" not in path and path.startswith("/api/v1/") and path.endswith("s") and "get" in self.document["paths"][path]:
                answer = request(self.controller.port, self.controller.web_context(), "GET", path, None,
                                 {"Authorization": f"Bearer {self.controller.token}"})
                if answer.status == 200:
                    self.pool.learn(path, path, answer.json)

    def run(self, seconds):
        until = time.monotonic() + seconds
        while time.monotonic() < until and len(self.faults) < FAULTS:
            self.one(*self.composer.next())
            if self.sent % 500 == 0:
                self.look()

    def one(self, asked, valid):
        self.sent += 1
        known = self.judge.document.find(asked.method, asked.path)[0] or "elsewhere"
        key = (asked.method, known)
        try:
            answer = self.ask(asked)
            if answer:
                if not asked.broken:
                    self.statuses[key][answer.status] += 1
                self.judge.judge(asked, answer)
                self.learn(asked, answer)
        except (Fault, wire.Died) as fault:
            said = f"{fault}" + ("" if isinstance(fault, wire.Died) else f"\n  {answer}")
            self.faults.setdefault((*key, asked.broken, str(fault)[:60]), f"{asked.shown()}\n  {said}")
            self.wire.close()

    def ask(self, asked):
        """Strangers come from addresses of their own: who guesses too often is not listened to for a while."""
        if not asked.stranger:
            return self.wire.ask(asked.data(), asked.method, asked.may_be_cut)
        address = ".".join(map(str, (127, self.rng.randint(1, 254), self.rng.randint(0, 254), self.rng.randint(1, 254))))
        stranger = wire.Wire(self.controller.port, self.wire.context, address)
        try:
            return stranger.ask(asked.data(), asked.method, asked.may_be_cut)
        finally:
            stranger.close()

    def learn(self, asked, answer):
        template, _ = self.judge.document.find(asked.method, asked.path)
        if template and answer.status in (200, 201) and answer.json:
            self.pool.learn(template, asked.path, answer.json)
        if answer.status == 204 and asked.method == "DELETE":
            self.pool.forget(asked.path.split("/")[-1])

    def never_succeeded(self):
        done = {key for key, seen in self.statuses.items() if any(status < 300 for status in seen)}
        return sorted(f"{method} {path}" for method, path, _ in self.composer.operations if (method, path) not in done)

    def told(self):
        return "\n".join(f"{' '.join(map(str, key[:2]))}{f' ({key[2]})' if key[2] else ''}:\n  {text}" for key, text in self.faults.items())


def fuzz(seed, seconds):
    with Controller() as controller:
        fuzzer = Fuzzer(controller, seed)
        fuzzer.furnish()
        fuzzer.run(seconds)
        fuzzer.wire.close()
    return fuzzer


class Api(unittest.TestCase):
    def test_hostile_requests(self):
        seed = os.environ.get("HAWSER_FUZZ_SEED") or str(random.SystemRandom().getrandbits(32))
        fuzzer = fuzz(seed, SECONDS)
        print(f"    seed {seed}, {fuzzer.sent} requests", flush=True)
        self.assertFalse(fuzzer.faults, f"HAWSER_FUZZ_SEED={seed}, {fuzzer.sent} requests\n{fuzzer.told()}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", default=str(random.SystemRandom().getrandbits(32)))
    options = parser.parse_args()
    print(f"seed {options.seed}", flush=True)
    fuzzer = fuzz(options.seed, options.seconds)
    for (method, path), seen in sorted(fuzzer.statuses.items(), key=lambda item: item[0][::-1]):
        print(f"{method:8}{path:52} " + " ".join(f"{status}:{n}" for status, n in sorted(seen.items())))
    print("never succeeded:", *fuzzer.never_succeeded(), sep="\n    ")
    print(fuzzer.told())
    print(f"{fuzzer.sent} requests, {len(fuzzer.faults)} faults")
    return 1 if fuzzer.faults else 0


if __name__ == "__main__":
    sys.exit(main())
