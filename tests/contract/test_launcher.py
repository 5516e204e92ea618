"""hawser-dataplane-launch: what dataplane.json says becomes the flags that the packet engine itself accepts."""
import grp
import json
import os
import pathlib
import pwd
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("HAWSER_BUILD", ROOT / "build" / "asan")).resolve()
LAUNCHER = BUILD / "agent/launcher/hawser-dataplane-launch"
DATAPLANE = BUILD / "agent/dataplane/hawser-dataplane"


class Launcher(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.config = pathlib.Path(folder.name) / "dataplane.json"
        self.echo = pathlib.Path(folder.name) / "echo"
        self.echo.write_text('#!/bin/sh\nprintf "%s\\n" "$@"\n')
        self.echo.chmod(0o755)

    def launch(self, settings, *flags, **environment):
        # By number: packaging's users, which are the default, exist only where Hawser is installed.
        self.config.write_text(json.dumps({"agent_user": "18452", "socket_group": "18450", **settings}))
        return subprocess.run([LAUNCHER, "--config", self.config, "--dataplane", self.echo, *flags],
                              env={**os.environ, **environment}, capture_output=True, text=True, timeout=20)

    def flags(self, settings, *flags, **environment):
        """What the packet engine is started with: {flag: value}."""
        done = self.launch(settings, *flags, **environment)
        self.assertEqual(done.returncode, 0, done.stderr)
        words = done.stdout.split("\n")[:-1]
        return dict(zip(words[::2], words[1::2]))

    def test_defaults(self):
        self.assertEqual(self.flags({}), {"--workers": "0", "--first-core": "0", "--provider": "auto",
                                          "--agent-uid": "18452", "--socket-gid": "18450", "--log-level": "info"})

    def test_packagings_agent_is_served_by_default(self):
        self.config.write_text("{}")
        done = subprocess.run([LAUNCHER, "--config", self.config, "--dataplane", self.echo], capture_output=True,
                              text=True, timeout=20)
        try:
            uid, gid = str(pwd.getpwnam("hawser-agent").pw_uid), str(grp.getgrnam("hawser").gr_gid)
            self.assertIn(f"--agent-uid\n{uid}\n--socket-gid\n{gid}\n", done.stdout)
        except KeyError:
            self.assertEqual(done.returncode, 2)
            self.assertIn("agent_user: no user hawser-agent", done.stderr)

    def test_every_setting_becomes_a_flag(self):
        settings = {"socket": "/run/x.sock", "workers": 3, "first_core": 2, "provider": "libcrypto",
                    "agent_user": "990", "socket_group": "991", "log_level": "debug"}
        self.assertEqual(self.flags(settings), {
            "--socket": "/run/x.sock", "--workers": "3", "--first-core": "2", "--provider": "libcrypto",
            "--agent-uid": "990", "--socket-gid": "991", "--log-level": "debug"})
        done = self.launch({"sandbox": False})
        self.assertIn("--no-sandbox", done.stdout.split())

    def test_the_engine_knows_every_flag(self):
        settings = {"socket": "/run/x.sock", "agent_user": "990", "socket_group": "991"}
        words = [w for pair in self.flags(settings).items() for w in pair]
        done = subprocess.run([DATAPLANE, *words, "--help"], capture_output=True, text=True, timeout=20)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_flag_over_environment_over_file(self):
        self.assertEqual(self.flags({"first_core": 1}, HAWSER_FIRST_CORE="2")["--first-core"], "2")
        self.assertEqual(self.flags({"first_core": 1}, "--first-core", "3", HAWSER_FIRST_CORE="2")["--first-core"], "3")

    def test_out_of_range_is_refused_by_name(self):
        for key, value in (("first_core", 1024), ("first_core", -1), ("first_core", "x"), ("workers", 65),
                           ("provider", "none"), ("log_level", "loud")):
            with self.subTest(key=key, value=value):
                done = self.launch({key: value}, "--check-config")
                self.assertEqual(done.returncode, 2)
                self.assertIn(key, done.stderr)


if __name__ == "__main__":
    unittest.main()
