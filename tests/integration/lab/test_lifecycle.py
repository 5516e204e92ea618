"""The lab itself: one at a time, described by its state file, gone without a trace, and cleaned up after a crash."""
import contextlib
import json
import os
import pathlib
import signal
import subprocess
import tempfile
import unittest

import daemons
import lifetime
import netns
import state
from expect import wait_for

TOPOLOGY = None
LAB = daemons.LAB / "lab"


def lab(*argv, timeout=120):
    return subprocess.run([str(LAB), *argv], capture_output=True, text=True, timeout=timeout)


class Lifecycle(unittest.TestCase):
    def setUp(self):
        if os.geteuid() != 0:
            self.skipTest("namespaces need root")
        self.allowed = netns.ALLOWED_CC.read_text()
        self.addCleanup(lab, "down")

    def assert_gone(self):
        self.assertEqual(netns.listed(), [])
        self.assertFalse(state.DIR.exists())
        self.assertEqual(netns.ALLOWED_CC.read_text(), self.allowed)

    def test_up_is_described_refused_a_second_time_and_gone(self):
        up = lab("up", "pair", "--tunnels", "3", "--json")
        self.assertEqual(up.returncode, 0, up.stderr)
        told = json.loads(up.stdout)
        self.assertEqual(told, json.loads(state.FILE.read_text()))
        self.assertEqual(list(told), ["version", "topology", "mtu", "tunnels", "suite", "strict_wire", "controller",
                                      "nodes"])
        self.assertEqual(list(told["controller"]), ["url", "agent_url", "token_file", "ca_file", "state_dir", "pid"])
        gateway = told["nodes"]["gw-a1"]
        self.assertEqual(list(gateway), ["netns", "role", "site", "site_id", "gateway_id", "addresses", "interfaces",
                                         "state_dir", "pids"])
        self.assertEqual((told["tunnels"], gateway["netns"], len(gateway["addresses"]["overlay"])), (3, "hw-gw-a1", 2))

        again = lab("up", "chain")
        self.assertEqual(again.returncode, 1)
        self.assertIn("a lab is up (pair)", again.stderr)

        status = json.loads(lab("status", "--json").stdout)
        self.assertTrue(all(all(p.values()) for p in status["processes"].values()))
        self.assertEqual([(k["state"], k["tunnels_up"]) for k in status["links"]], [("up", 3), ("up", 3)])

        entered = lab("exec", "gw-a1", "--", "sh", "-c", "cat /run/hawser/boot_id; exit 7")
        self.assertEqual(entered.returncode, 7)
        self.assertEqual(entered.stdout, (daemons.node_dir("gw-a1") / "run" / "boot_id").read_text())

        self.assertEqual(lab("down").returncode, 0)
        self.assert_gone()

    def test_crash_while_coming_up_is_cleaned_by_the_next_up(self):
        with subprocess.Popen([str(LAB), "up", "pair"], stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL) as first:
            wait_for("gateways to start", lambda: state.FILE.exists() and state.load()["nodes"]["gw-a1"]["pids"]["agent"],
                     30, 0.02)
            first.send_signal(signal.SIGKILL)
        self.assertTrue(netns.listed())
        up = lab("up", "pair")
        self.assertEqual(up.returncode, 0, up.stderr)
        self.assertIn("cleaning up", up.stderr)
        self.assertEqual(lab("down").returncode, 0)
        self.assert_gone()

    def test_killed_lab_is_cleaned_by_the_next_up(self):
        self.assertEqual(lab("up", "pair").returncode, 0)
        for ns in netns.listed():
            for pid in netns.pids(ns):
                os.kill(pid, signal.SIGKILL)
        wait_for("all to be dead", lambda: not any(netns.pids(ns) for ns in netns.listed()), 10)
        up = lab("up", "pair")
        self.assertEqual(up.returncode, 0, up.stderr)
        self.assertEqual(lab("down").returncode, 0)
        self.assert_gone()

    def test_list_of_congestion_controls_is_restored_after_a_crash(self):
        """As a run leaves it that died between widening the list and putting it back."""
        state.DIR.mkdir(exist_ok=True)
        lifetime.ALLOWED_CC.write_text(self.allowed)
        netns.ALLOWED_CC.write_text(self.allowed.strip() + (" cubic" if "cubic" not in self.allowed.split() else ""))
        self.assertEqual(lab("down").returncode, 0)
        self.assert_gone()

    def test_interrupted_up_leaves_nothing(self):
        with subprocess.Popen([str(LAB), "up", "pair"], stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL) as first:
            wait_for("namespaces", lambda: len(netns.listed()) > 3, 30, 0.02)
            first.send_signal(signal.SIGINT)
            self.assertEqual(first.wait(60), 130)
        self.assert_gone()

    def test_impatient_interrupts_leave_nothing(self):
        """Also one started in the background of a script, where SIGINT begins ignored."""
        with subprocess.Popen(["sh", "-c", f"trap '' INT; exec {LAB} up pair"], stderr=subprocess.DEVNULL,
                              stdout=subprocess.DEVNULL) as first:
            wait_for("namespaces", lambda: len(netns.listed()) > 3, 30, 0.02)
            while first.poll() is None:
                first.send_signal(signal.SIGINT)
                with contextlib.suppress(subprocess.TimeoutExpired):
                    first.wait(0.05)
        self.assert_gone()

    def test_lab_in_a_chroot(self):
        """Its root is an ordinary directory, not a mount point: nothing may rely on changing how / propagates."""
        with tempfile.TemporaryDirectory() as root:
            os.chmod(root, 0o755)
            script = """set -e
                for entry in /*; do
                    if [ -L "$entry" ]; then cp -P "$entry" "$0/"
                    elif [ -d "$entry" ]; then mkdir "$0$entry"; mount --rbind "$entry" "$0$entry"; fi
                done
                chroot "$0" "$@" up pair
                chroot "$0" "$@" exec gw-a1 -- test -f /run/hawser/boot_id
                chroot "$0" "$@" down"""
            done = subprocess.run(["unshare", "--mount", "sh", "-c", script, root, str(LAB)], capture_output=True,
                                  text=True, timeout=120)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn("links up: 2 of 2 ends", done.stderr)
        self.assert_gone()

    def test_row_of_routers_is_told_what_to_do_and_says_it(self):
        up = lab("up", "routed", "--tunnels", "2", "--hop-mtu", "r3=1400", "--icmp", "r3=too-big", "--json")
        self.assertEqual(up.returncode, 0, up.stderr)
        told = json.loads(up.stdout)
        self.assertEqual(told["path"], ["gw-a1", "r1", "r2", "r3", "r4", "r5", "gw-b1"])
        self.assertEqual(told["hops"]["r3"], {"left": ["198.51.100.10", "2001:db8:a:2::2"],
                                              "right": ["198.51.100.13", "2001:db8:a:3::1"],
                                              "mtu_right": 1400, "icmp": "too-big"})
        self.assertIn("mtu 1400", netns.ip("hw-r4", "link", "show", "left0"))
        # A router that says nothing lets a large packet vanish; once it speaks, it names its line's MTU.
        large = ("exec", "r1", "--", "ping", "-n", "-c", "1", "-W", "1", "-M", "do", "-s", "1400", "198.51.100.18")
        silent = lab(*large)
        self.assertNotIn("Frag needed", silent.stdout)
        self.assertEqual(lab("hop", "r3", "--icmp", "none").returncode, 0)
        self.assertIn("mtu = 1400", lab(*large).stdout)
        self.assertEqual(lab("hop", "r3", "--reset").returncode, 0)
        self.assertEqual((state.load()["hops"]["r3"]["mtu_right"], state.load()["hops"]["r3"]["icmp"]), (1500, "none"))
        self.assertIn("1280 to", lab("hop", "r3", "--mtu", "1000").stderr)
        self.assertIn("no router 'gw-a1'; there are: r1,", lab("hop", "gw-a1").stderr)

    def test_wrong_words_are_explained(self):
        unknown = lab("up", "ring")
        self.assertEqual(unknown.returncode, 1)
        self.assertIn("chain, pair", unknown.stderr)
        self.assertIn("no lab is up", lab("status").stderr)
        self.assertEqual(pathlib.Path(state.DIR).exists(), False)
