"""docs/api.md, done as it says: every command of it runs, in its order, on the machine that it names."""
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import threading
import unittest

import daemons
import fleet
import lab
import state

TOPOLOGY = None  # it makes its own network, without anything in it
BLOCK = re.compile(r"^```sh\n# on ([^\n]*)\n(.*?)^```", re.M | re.S)
LIMIT = 60


class Shell:
    """A root shell in a node that stays open between the blocks of a document."""

    def __init__(self, node, folder, **variables):
        self.node = node
        supervisor = state.load()["nodes"][node]["pids"]["supervisor"]
        path = f"{folder / 'bin'}:{daemons.BIN_DIR}:{os.environ['PATH']}"
        self.process = subprocess.Popen([*daemons.enter(node, supervisor), "bash", "--noprofile", "--norc"], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                        env={"PATH": path, "LAB_NODE": node, "HOME": str(folder), **variables})
        self.run(f"set -e -o pipefail\ncd {folder}\n"
                 # Accounts of packaging/ in this node alone, by the lab's fixed numbers.
                 f"mount --bind {folder}/passwd /etc/passwd\nmount --bind {folder}/group /etc/group\n")

    def run(self, commands):
        self.process.stdin.write(commands + "echo; echo the-block-has-ended\n")
        self.process.stdin.flush()
        lines = []
        watchdog = threading.Timer(LIMIT, self.process.kill)
        watchdog.start()
        try:
            for line in self.process.stdout:
                if line == "the-block-has-ended\n":
                    return "".join(lines)
                lines.append(line)
        finally:
            watchdog.cancel()
        raise AssertionError(f"on {self.node}:\n{commands}\ndid not end in order:\n{''.join(lines)}")

    def close(self):
        self.process.stdin.close()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()


class Walk(unittest.TestCase):
    def setUp(self):
        if os.geteuid() != 0:
            self.skipTest("namespaces need root")
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)
        self.folder.chmod(0o755)
        users = "".join(f"hawser-{name}:x:{uid}:{daemons.GID}::/:/usr/sbin/nologin\n" for name, uid in daemons.UID.items())
        (self.folder / "passwd").write_text(pathlib.Path("/etc/passwd").read_text() + users)
        (self.folder / "group").write_text(pathlib.Path("/etc/group").read_text() + f"hawser:x:{daemons.GID}:\n")
        # The lab has supervisors in place of systemd: what shall be started is written down, and started below.
        (self.folder / "bin").mkdir()
        self.systemctl = self.folder / "bin" / "systemctl"
        self.systemctl.write_text(f"#!/bin/sh\n[ \"$1 $2\" = 'enable --now' ] || exit 1\nshift 2\n"
                                  f"for unit; do echo $LAB_NODE $unit; done >> {self.folder}/wanted\n")
        self.systemctl.chmod(0o755)

    def start_wanted(self):
        wanted = self.folder / "wanted"
        for line in wanted.read_text().splitlines() if wanted.exists() else ():
            node, unit = line.split()
            if unit == "hawser-dataplane":
                lab.wait_dataplane(node)  # its supervisor keeps it running
            else:
                daemons.start(node, unit.removeprefix("hawser-"))
        wanted.unlink(missing_ok=True)

    def test_from_bootstrap_to_traffic(self):
        blocks = BLOCK.findall((daemons.ROOT / "docs" / "api.md").read_text())
        self.assertGreaterEqual(len(blocks), 8)
        outputs, shells = [], {}
        with lab.prepared(lab.Options("chain")) as topology:
            fleet.write_controller_settings(topology.nodes["controller"])
            try:
                for where, commands in blocks:
                    for node in where.split(" and "):
                        node = {"the controller": "controller"}.get(node, node)
                        if node not in shells:
                            shells[node] = Shell(node, self.folder, NAME=node)
                        outputs.append(shells[node].run(commands))
                    self.start_wanted()
            finally:
                for shell in shells.values():
                    shell.close()
        told = "\n".join(outputs)
        self.assertRegex(told, r"admin token: +hwa1\.")
        self.assertEqual(len(re.findall("[12] received", told)), 3, told)
        self.assertIn(" 100% packet loss", told)
        self.assertEqual({'"status":401', '"status":403', '"status":409'}, set(re.findall('"status":4[0-9]{2}', told)), told)
        self.assertIn('"code":"path-resiliency","met":false', told)
        self.assertIn("overlaps 10.2.0.0/16 of site site-b", told)
        self.assertIn('"state":"revoked"', told)


if __name__ == "__main__":
    unittest.main()
