"""What `cmake --install` puts in place, and what the programs link (DESIGN, Processes)."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

import daemons

TOPOLOGY = None
BUILD = daemons.ROOT / "build" / "release"

FILES = [
    "usr/bin/hawser-controller", "usr/bin/hawser-agent", "usr/bin/hawser-dataplane", "usr/bin/hawserctl",
    "usr/share/man/man1/hawserctl.1", "usr/share/bash-completion/completions/hawserctl",
    "usr/bin/hawser-dataplane-launch",
    "usr/lib/systemd/system/hawser-controller.service", "usr/lib/systemd/system/hawser-agent.service",
    "usr/lib/systemd/system/hawser-dataplane.service",
    "usr/lib/sysusers.d/hawser.conf", "usr/lib/tmpfiles.d/hawser.conf",
    "etc/hawser/controller.json.example", "etc/hawser/agent.json.example", "etc/hawser/dataplane.json.example",
]

# Direct dependencies that DESIGN grants to each program; libc and its kin are everybody's.
EVERYBODY = {"libc", "libm", "ld-linux-x86-64", "libpthread", "libgcc_s"}
LINKS = {
    "hawser-controller": {"libmicrohttpd", "libgnutls", "libsqlite3", "libjson-c", "libssl", "libcrypto", "libcurl"},
    "hawser-agent": {"libcurl", "libjson-c", "libssl", "libcrypto", "libmnl", "libnftables"},
    "hawser-dataplane": {"libIPSec_MB", "libcrypto", "libseccomp"},
    "hawser-dataplane-launch": {"libjson-c"},
    "hawserctl": {"libcurl", "libjson-c", "libssl", "libcrypto"},
}


def needed(program):
    out = subprocess.run(["readelf", "-d", program], capture_output=True, text=True, check=True).stdout
    return {re.sub(r"(-gnutls)?\.so.*", "", name) for name in re.findall(r"\(NEEDED\).*\[(.+)\]", out)}


class Install(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.root = pathlib.Path(tempfile.mkdtemp())
        cls.addClassCleanup(shutil.rmtree, cls.root)
        subprocess.run(["cmake", "--install", BUILD], env={**os.environ, "DESTDIR": str(cls.root)},
                       check=True, capture_output=True)

    def test_files_are_in_place(self):
        missing = [f for f in FILES if not (self.root / f).is_file()]
        self.assertEqual(missing, [])

    def test_nothing_made_for_tests_is_installed(self):
        programs = {p.name for p in (self.root / "usr/bin").iterdir()}
        self.assertEqual(programs, {pathlib.Path(f).name for f in FILES if f.startswith("usr/bin/")})

    def test_components_split_controller_and_gateway(self):
        with tempfile.TemporaryDirectory() as place:
            subprocess.run(["cmake", "--install", BUILD, "--component", "gateway"],
                           env={**os.environ, "DESTDIR": place}, check=True, capture_output=True)
            self.assertFalse((pathlib.Path(place) / "usr/bin/hawser-controller").exists())
            self.assertTrue((pathlib.Path(place) / "usr/bin/hawser-agent").is_file())

    def test_programs_link_what_they_may(self):
        for program, allowed in LINKS.items():
            with self.subTest(program):
                self.assertLessEqual(needed(self.root / "usr/bin" / program), allowed | EVERYBODY)

    def test_programs_are_hardened(self):
        for program in LINKS:
            out = subprocess.run(["readelf", "-dlh", self.root / "usr/bin" / program], capture_output=True,
                                 text=True, check=True).stdout
            with self.subTest(program):
                self.assertIn("DYN (Position-Independent Executable file)", out)
                self.assertIn("BIND_NOW", out)
                self.assertIn("GNU_RELRO", out)
                self.assertRegex(out, r"GNU_STACK[^\n]*\n[^\n]*RW ")

    def test_examples_pass_the_programs_own_check(self):
        for name, program in (("controller", "hawser-controller"), ("agent", "hawser-agent"),
                              ("dataplane", "hawser-dataplane-launch")):
            example = self.root / f"etc/hawser/{name}.json.example"
            json.loads(example.read_text())
            with self.subTest(name):
                # The users of the example exist on a machine with Hawser installed, not on this one.
                text = example.read_text().replace("hawser-agent", "18452").replace('"hawser"', '"18450"')
                checked = self.root / f"{name}.json"
                checked.write_text(text)
                done = subprocess.run([self.root / "usr/bin" / program, "--check-config", "--config", checked],
                                      env={**os.environ, "HAWSER_DATAPLANE_USER": "18453"} if name == "agent" else None,
                                      capture_output=True, text=True)
                self.assertEqual(done.returncode, 0, done.stderr)

    def test_every_program_tells_its_version(self):
        for program in LINKS:
            with self.subTest(program):
                done = subprocess.run([self.root / "usr/bin" / program, "--version"], capture_output=True, text=True)
                self.assertRegex(done.stdout, rf"^{program} \d+\.\d+\.\d+\n$")

    def test_unknown_setting_is_refused_by_name(self):
        for name, program in (("controller", "hawser-controller"), ("agent", "hawser-agent"),
                              ("dataplane", "hawser-dataplane-launch")):
            bad = self.root / f"{name}-bad.json"
            bad.write_text('{"no_such_key": 1}')
            with self.subTest(name):
                done = subprocess.run([self.root / "usr/bin" / program, "--check-config", "--config", bad],
                                      capture_output=True, text=True)
                self.assertNotEqual(done.returncode, 0)
                self.assertIn("no_such_key", done.stderr)


class Units(unittest.TestCase):
    UNITS = sorted((BUILD / "packaging").glob("*.service"))

    def test_systemd_accepts_the_units(self):
        if not shutil.which("systemd-analyze"):
            self.skipTest("systemd-analyze is not installed")
        with tempfile.TemporaryDirectory() as place:
            root = pathlib.Path(place)
            subprocess.run(["cmake", "--install", BUILD], env={**os.environ, "DESTDIR": place}, check=True,
                           capture_output=True)
            # The checker looks for the programs under their installed names.
            copies = []
            for unit in self.UNITS:
                copy = root / unit.name
                copy.write_text(re.sub(r"=/usr/bin/", f"={root}/usr/bin/", unit.read_text()))
                copies.append(copy)
            done = subprocess.run(["systemd-analyze", "verify", "--man=no", *copies], capture_output=True, text=True)
            ours = [line for line in done.stderr.splitlines() if "hawser" in line]
            self.assertEqual((done.returncode, ours), (0, []), done.stderr)

    def test_agent_and_dataplane_are_not_bound_to_each_other(self):
        for unit in self.UNITS:
            for line in unit.read_text().splitlines():
                key, _, value = line.partition("=")
                if key in ("Requires", "BindsTo", "PartOf", "Requisite", "After", "Before", "Wants"):
                    self.assertNotIn("hawser-", value, unit.name)

    def test_gateways_never_stop_trying_and_keys_never_reach_a_disk(self):
        for name in ("hawser-agent.service", "hawser-dataplane.service"):
            unit = next(unit for unit in self.UNITS if unit.name == name)
            values = dict(line.split("=", 1) for line in unit.read_text().splitlines() if "=" in line)
            self.assertEqual((values.get("StartLimitIntervalSec"), values.get("Restart")), ("0", "always"), name)
            self.assertEqual((values.get("MemorySwapMax"), values.get("LimitCORE")), ("0", "0"), name)

    def test_capabilities_are_those_of_the_design(self):
        wanted = {"hawser-agent.service": "CAP_NET_ADMIN CAP_NET_RAW CAP_BPF",
                  "hawser-controller.service": "", "hawser-dataplane.service": ""}
        for unit in self.UNITS:
            values = dict(line.split("=", 1) for line in unit.read_text().splitlines() if "=" in line)
            self.assertEqual(values["CapabilityBoundingSet"], wanted[unit.name])
            self.assertEqual(values["AmbientCapabilities"], wanted[unit.name])
