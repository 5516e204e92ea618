"""Slow clients (Debian's slowhttptest in its four modes) at both listeners: they are cut, and nobody else notices them."""
import contextlib
import os
import pathlib
import re
import subprocess
import sys
import threading
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "contract"))

from controller import Controller, request

LONG = bool(os.environ.get("HAWSER_LONG"))
REQUEST_S = 20 if LONG else 3
CONNECTIONS = 120 if LONG else 40  # of each mode; 128 is what one address may have of the people's listener
LATE_S = 2.0
IDLE_S = 60
MODES = {"slow headers": ["-H", "-i", "1"], "slow body": ["-B", "-i", "1", "-s", "8192"], "ranges": ["-R", "-t", "HEAD"],
         "slow reading": ["-X", "-k", "3", "-w", "10", "-y", "20", "-n", "1", "-z", "32"]}


def established(port):
    """Connections of the attackers' address that the server still has; what it has cut may wait in theirs."""
    shown = subprocess.run(["ss", "-tnH", "state", "established", f"sport = :{port}", "and", "dst = 127.0.0.1"],
                           capture_output=True, text=True, check=True, timeout=10)
    return len(shown.stdout.splitlines())


class Others(threading.Thread):
    """A client at another address that asks for its share all the time."""

    def __init__(self, port, context, path):
        super().__init__(daemon=True)
        self.port, self.context, self.path = port, context, path
        self.seconds, self.wrong = [], []
        self.over = threading.Event()

    def run(self):
        while not self.over.wait(0.1):
            begun = time.monotonic()
            try:
                answer = request(self.port, self.context, "GET", self.path, timeout=10, source="127.0.0.2")
                if answer.status != 200:
                    self.wrong.append(answer)
            except OSError as error:
                self.wrong.append(error)
            self.seconds.append(time.monotonic() - begun)


class Slow(unittest.TestCase):
    def attack(self, mode, port, path):
        words = ["slowhttptest", *MODES[mode], "-c", str(CONNECTIONS), "-r", "100", "-l", "200", "-p", "3", "-v", "1",
                 "-u", f"https://127.0.0.1:{port}{path}"]
        return subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def until(self, condition, seconds):
        """How long it took; the last state is shown when it doesn't come."""
        begun = time.monotonic()
        while (left := condition()) and time.monotonic() - begun < seconds:
            time.sleep(0.1)
        self.assertFalse(left)
        return time.monotonic() - begun

    def cuts(self, controller):
        answer = request(controller.port, controller.web_context(), "GET", "/metrics", headers={"Authorization": f"Bearer {controller.token}"})
        return dict(re.findall(r'hawser_http_deadline_cuts_total\{listener="(\w+)"\} (\d+)', answer.body.decode()))

    def all_at_once(self, attack, port):
        """Slow readers stay: their answer lies in the sockets' buffers, so that the server sees an idle client."""
        for mode in MODES:
            attack(mode)
        self.until(lambda: established(port) < CONNECTIONS, 5)
        self.until(lambda: established(port) > CONNECTIONS, REQUEST_S + 8)

    def one_by_one(self, attack, port):
        for mode in MODES:
            attack(mode)
            if mode != "ranges":  # over before one can look
                self.until(lambda: established(port) < CONNECTIONS // 2, 10)
            self.until(lambda: established(port), (IDLE_S if mode == "slow reading" else REQUEST_S) + 15)

    def try_listener(self, port, context, path, alive):
        others = Others(port, context, alive)
        with contextlib.ExitStack() as stack:
            def attack(mode):
                process = self.attack(mode, port, path)
                stack.callback(process.wait)
                stack.callback(process.kill)
            stack.callback(others.over.set)
            others.start()
            (self.one_by_one if LONG else self.all_at_once)(attack, port)
            others.over.set()
            others.join()
        self.assertEqual(others.wrong, [])
        self.assertGreater(len(others.seconds), 10)
        self.assertLess(max(others.seconds), LATE_S)

    def test_both_listeners(self):
        with Controller(request_seconds=REQUEST_S) as controller:
            self.try_listener(controller.port, controller.web_context(), "/api/v1/openapi.json", "/healthz")
            self.try_listener(controller.agent_port, controller.agent_context(), "/agent/v1/ca", "/agent/v1/ca")
            cuts = self.cuts(controller)
            self.assertTrue(all(int(cuts[listener]) >= CONNECTIONS for listener in ("people", "agents")), cuts)


if __name__ == "__main__":
    unittest.main()
