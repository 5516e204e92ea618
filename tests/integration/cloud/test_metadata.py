"""Machines that know of themselves only what their cloud's metadata service says. Each is an agent without dataplane in a
namespace on the lab's underlay, of a site of its own, so that no link of the lab changes."""
import json
import pathlib
import subprocess
import tempfile
import time
import unittest
import uuid

import daemons
import labs
import netns
from expect import wait_for
from metadata import Facts, Service

TOPOLOGY = "chain"
OPTIONS = {"agent_settings": {"confirm_timeout_seconds": 5}}

NS = "hw-cloud"
INSIDE, OUTSIDE = "10.9.0.1", "203.0.113.9"
FIRMWARE = {
    "aws": ("sys_vendor", "Amazon EC2"),
    "azure": ("chassis_asset_tag", "7783-7084-3265-9085-8269-3286-77"),
    "gcp": ("product_name", "Google Compute Engine"),
    "oci": ("chassis_asset_tag", "OracleCloud.com"),
}
PLACES = {
    "aws": ("eu-central-1", "c6in.xlarge"),
    "azure": ("westeurope", "Standard_D4s_v5"),
    "gcp": ("europe-west1", "n2-standard-4"),
    "oci": ("eu-frankfurt-1", "VM.Standard3.Flex"),
}
USER_DATA = {
    "aws": "/latest/user-data",
    "azure": "/metadata/instance/compute/userData",
    "gcp": "/computeMetadata/v1/instance/attributes/user-data",
    "oci": "/opc/v2/instance/metadata/user_data",
}


class Machine:
    """A fresh machine; `firmware`: the provider that its firmware names."""

    def __init__(self, name, firmware=None, **settings):
        self.name = name
        self.files = tempfile.TemporaryDirectory()
        self.root = pathlib.Path(self.files.name)
        (self.root / "dmi").mkdir()
        if firmware:
            field, text = FIRMWARE[firmware]
            (self.root / "dmi" / field).write_text(text + "\n")
        (self.root / "boot_id").write_text(f"{uuid.uuid4()}\n")
        self.settings = self.root / "agent.json"
        self.settings.write_text(json.dumps({
            "name": name, "token_file": str(self.root / "token"), "state_dir": str(self.root / "state"),
            "run_dir": str(self.root / "run"), "dataplane_socket": str(self.root / "dataplane.sock"),
            "dataplane_user": str(daemons.UID["dataplane"]), "boot_id_file": str(self.root / "boot_id"),
            "dmi_dir": str(self.root / "dmi"), "report_interval_seconds": 1, **settings}))
        self.log = open(self.root / "log", "a+", encoding="utf-8")
        self.process = None

    def command(self, *words):
        build = pathlib.Path(labs.current().build_dir()) / "lab-bin" / "hawser-agent"
        return ["nsenter", f"--net={netns.path(NS)}", str(build), *words, "--config", str(self.settings)]

    def run(self, *words, timeout=15):
        return subprocess.run(self.command(*words), capture_output=True, text=True, timeout=timeout)

    def start(self):
        self.started = time.monotonic()
        self.process = subprocess.Popen(self.command("run"), stdout=self.log, stderr=self.log)

    def stop(self):
        if self.process:
            self.process.terminate()
            self.process.wait(10)
            self.process = None

    def status(self):
        done = self.run("status", "--json")
        return json.loads(done.stdout) if done.returncode == 0 else {}

    def write_token(self, token):
        path = self.root / "token"
        path.touch(mode=0o600)
        path.write_text(token)

    def logged(self):
        return (self.root / "log").read_text(encoding="utf-8")

    def close(self):
        self.stop()
        self.log.close()
        self.files.cleanup()


class Metadata(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.lab = labs.current()
        controller = cls.lab.node("controller").underlay[0]
        netns.add(NS)
        cls.addClassCleanup(cls.remove_namespace)
        netns.veth(netns.UNDERLAY, "u-cloud", NS, "underlay0", 1500)
        netns.ip(netns.UNDERLAY, "link", "set", "u-cloud", "master", netns.BRIDGE, "up")
        netns.ip(NS, "link", "set", "underlay0", "up")
        netns.ip(NS, "addr", "add", f"{INSIDE}/32", "dev", "underlay0")
        netns.ip(NS, "route", "add", controller, "dev", "underlay0", "src", INSIDE)
        netns.ip(NS, "route", "add", "default", "via", "192.0.2.1", "dev", "underlay0", "onlink", "src", INSIDE)
        netns.in_ns(cls.lab.node("controller").netns, "ip", "route", "add", f"{INSIDE}/32", "dev", "underlay0")
        cls.site = cls.lab.api.post("/api/v1/sites", {
            "name": "site-cloud", "provider": "aws", "region": "somewhere", "role": "spoke", "cidrs": ["10.9.0.0/16"]})["id"]
        cls.addClassCleanup(lambda: cls.lab.api.delete(f"/api/v1/sites/{cls.site}"))

    @classmethod
    def remove_namespace(cls):
        netns.in_ns(cls.lab.node("controller").netns, "ip", "route", "del", f"{INSIDE}/32", check=False)
        netns.kill_all(NS)
        netns.delete(NS)

    def machine(self, name, *args, **settings):
        made = Machine(name, *args, **settings)
        self.addCleanup(made.close)
        self.addCleanup(self.forget, name)
        return made

    def forget(self, name):
        gateway = self.gateway(name)
        if gateway:
            self.lab.api.delete(f"/api/v1/gateways/{gateway['id']}")

    def gateway(self, name):
        return next((g for g in self.lab.api.list("/api/v1/gateways") if g["name"] == name), None)

    def token(self):
        made = self.lab.api.post("/api/v1/enrolment-tokens", {"site_id": self.site})
        self.addCleanup(self.lab.api.delete, f"/api/v1/enrolment-tokens/{made['id']}")
        return made["token"]

    def facts(self, provider, user_data=None):
        region, size = PLACES[provider]
        return Facts(region, size, own=[INSIDE], public={} if provider == "oci" else {INSIDE: OUTSIDE}, mtu=1460,
                     user_data=user_data)

    def enrolled(self, machine, timeout=10):
        return wait_for(f"enrolment of {machine.name}", lambda: self.gateway(machine.name), timeout, 0.05,
                        on_timeout=machine.logged)

    def check_place(self, provider, machine, gateway):
        region, size = PLACES[provider]
        self.assertEqual(gateway["cloud"], {"provider": provider, "region": region, "size": size})
        self.assertEqual(gateway["size"], size)
        public = {"address": OUTSIDE, "family": 4, "scope": "public", "reachable": True}
        private = {"address": INSIDE, "family": 4, "scope": "private", "reachable": True}
        self.assertEqual(gateway["endpoints"], [private] if provider == "oci" else [private, public])
        cloud = machine.status()["cloud"]
        self.assertEqual((cloud["service"], cloud["error"]), (provider, None))
        self.assertEqual(cloud["size"], {"value": size, "source": "metadata"})
        self.assertEqual(cloud["public_addresses"], [] if provider == "oci" else [
            {"address": OUTSIDE, "inside": INSIDE, "source": "metadata"}])
        shown = machine.run("status").stdout
        self.assertIn(f"cloud:        {provider} (metadata), region {region} (metadata), size {size} (metadata)", shown)

    def test_a_machine_enrols_by_metadata_alone(self):
        """Token in the user data, as an object of ours or beside somebody's cloud-config; the firmware names the cloud."""
        for provider in PLACES:
            with self.subTest(provider):
                token = self.token()
                user_data = {"azure": json.dumps({"hawser": {"token": token}})}.get(
                    provider, f"#cloud-config\n# hawser-token: {token}\nhostname: gw\n")
                machine = self.machine(f"gw-{provider}", provider)
                with Service(NS, provider, self.facts(provider, user_data)) as service:
                    machine.start()
                    gateway = self.enrolled(machine)
                    wait_for("its status", lambda m=machine: m.status().get("controller"), 5, 0.05)
                    self.check_place(provider, machine, gateway)
                    labs.note(f"{provider}: enrolled {time.monotonic() - machine.started:.2f} s after its start")
                    # The secret: asked for once, kept nowhere.
                    self.assertEqual(service.count(USER_DATA[provider]), 1, service.seen)
                    self.assertEqual([s for s in service.seen if s[2] not in (200, 404)], [])
                self.assertNotIn(token[5:40], machine.logged())
                self.assertNotIn(token[5:40], (machine.root / "state" / "cloud.json").read_text())
                machine.stop()

    def test_what_the_service_said_outlives_it(self):
        """Endpoints do not move because the service is away at a start; and settings win over what it says."""
        machine = self.machine("gw-away", "gcp", region="elsewhere")
        with Service(NS, "gcp", self.facts("gcp", json.dumps({"hawser": {"token": self.token()}}))):
            machine.start()
            gateway = self.enrolled(machine)
            self.assertEqual(gateway["cloud"], {"provider": "gcp", "region": "elsewhere", "size": "n2-standard-4"})
            # 1500 on the interface is more than this network carries.
            problem = wait_for("the MTU to be told", lambda: [
                p for p in machine.status().get("system", {}).get("problems", ()) if "1460" in p], 5, 0.05)
            self.assertIn(INSIDE, problem[0])
        machine.stop()
        machine.start()
        status = wait_for("the controller", lambda: (machine.status().get("controller") or {}).get("state") == "connected" and
                          machine.status(), 10, 0.05, on_timeout=machine.logged)
        self.assertEqual([p["address"] for p in status["cloud"]["public_addresses"]], [OUTSIDE])
        self.assertEqual(status["cloud"]["region"], {"value": "elsewhere", "source": "settings"})
        reported = wait_for("a report", lambda: self.lab.api.get(f"/api/v1/gateways/{gateway['id']}")["status"]["observed_at"], 5, 0.05)
        self.assertTrue(reported)
        self.assertEqual(self.lab.api.get(f"/api/v1/gateways/{gateway['id']}")["endpoints"], gateway["endpoints"])

    def test_a_machine_of_no_cloud_is_not_delayed(self):
        """Without a known firmware nobody is asked; where the settings name a cloud whose service is away, the enrolment
        by a token file waits for three seconds at most."""
        for name, settings, most in (("gw-onprem", {}, 2.0), ("gw-mute", {"cloud": "azure"}, 5.0)):
            with self.subTest(name):
                machine = self.machine(name, None, **settings)
                machine.write_token(self.token())
                machine.start()
                gateway = self.enrolled(machine)
                took = time.monotonic() - machine.started
                labs.note(f"{name}: enrolled {took:.2f} s after its start")
                self.assertLess(took, most)
                self.assertIsNone(gateway["cloud"])
                machine.stop()

    def test_a_machine_without_ipv4_to_its_service(self):
        """AWS's other address is asked where 169.254.169.254 does not answer."""
        machine = self.machine("gw-six", "aws")
        user_data = json.dumps({"hawser": {"token": self.token()}})
        with Service(NS, "aws", self.facts("aws", user_data), address="fd00:ec2::254"):
            machine.start()
            self.assertEqual(self.enrolled(machine)["cloud"]["provider"], "aws")

    def test_a_token_that_another_machine_has_used(self):
        user_data = json.dumps({"hawser": {"token": self.token()}})
        with Service(NS, "oci", self.facts("oci", user_data)):
            first, second = self.machine("gw-first", "oci"), self.machine("gw-second", "oci")
            first.start()
            self.enrolled(first)
            second.start()
            problems = wait_for("it to be told", lambda: [
                p for p in second.status().get("system", {}).get("problems", ()) if "belongs to another key" in p], 5, 0.05)
            self.assertIn("not enrolled", problems[0])
        self.assertIsNone(self.gateway("gw-second"))

    def test_a_service_that_comes_late(self):
        """A machine whose network is there after its agent asks again."""
        if not labs.LONG:
            self.skipTest("waits for a retry (--long)")
        machine = self.machine("gw-late", "gcp")
        machine.start()
        wait_for("the first try", lambda: "not enrolled" in machine.logged(), 5, 0.05)
        with Service(NS, "gcp", self.facts("gcp", json.dumps({"hawser": {"token": self.token()}}))):
            self.assertEqual(self.enrolled(machine, 20)["cloud"]["provider"], "gcp")

    def test_public_addresses_by_settings(self):
        machine = self.machine("gw-set", None, public_addresses=["203.0.113.77"], size="rack-7")
        machine.write_token(self.token())
        machine.start()
        gateway = self.enrolled(machine)
        self.assertEqual([(p["address"], p["scope"]) for p in gateway["endpoints"]],
                         [(INSIDE, "private"), ("203.0.113.77", "public")])
        self.assertEqual(gateway["size"], "rack-7")

    def test_services_that_nobody_should_trust(self):
        """Each has a good token in its user data; none of them is believed, and it is said why."""
        user_data = json.dumps({"hawser": {"token": self.token()}})
        cases = {("aws", "v1-only"): "IMDSv2", ("aws", "disabled"): "status 403", ("azure", "slow"): "imed out",
                 ("azure", "garbage"): "/metadata/instance", ("gcp", "huge"): "too large", ("gcp", "garbage"): "Metadata-Flavor",
                 ("oci", "redirect"): "status 302"}
        for (provider, variant), word in cases.items():
            with self.subTest(f"{provider} {variant}"):
                machine = self.machine(f"gw-{variant}", provider)
                with Service(NS, provider, self.facts(provider, user_data), variant) as service:
                    started = time.monotonic()
                    done = machine.run("enrol")
                    self.assertLess(time.monotonic() - started, 4)
                self.assertEqual(done.returncode, 3, done.stderr)
                self.assertIn(word, done.stderr)
                self.assertEqual(service.count(USER_DATA[provider]), 0, service.seen)
        self.assertIsNone(next((g for g in self.lab.api.list("/api/v1/gateways") if g["site_id"] == self.site), None))

    def test_other_user_data_is_left_alone(self):
        machine = self.machine("gw-plain", "aws")
        with Service(NS, "aws", self.facts("aws", "#!/bin/sh\necho hello\n")):
            done = machine.run("enrol")
            self.assertEqual(done.returncode, 3, done.stderr)
            self.assertIn("no token in the user data of aws", done.stderr)
            machine.write_token(self.token())
            done = machine.run("enrol")
            self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.gateway("gw-plain")["cloud"]["provider"], "aws")
