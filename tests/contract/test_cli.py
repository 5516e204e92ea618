"""hawserctl against a running controller: what each verb promises, exit codes, and what is printed of hostile answers."""
import contextlib
import hashlib
import http.server
import json
import os
import pathlib
import pty
import re
import select
import shlex
import shutil
import ssl
import subprocess
import tempfile
import threading
import time
import unittest

from agent import Agent
from controller import BUILD, Client, Controller, ROOT, SANITIZERS

BINARY = BUILD / "controller" / "cli" / "hawserctl"
DOCUMENT = json.loads((BUILD / "controller" / "openapi.json").read_text())
OK, FAILED, USAGE, NOT_FOUND, NOT_ALLOWED, CONFLICT = range(6)
# What a terminal obeys, or what turns the direction of writing.
HOSTILE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff]")
EVIL = "a\x1b[2J\x1b]0;owned\x07\r\n\u009b31m\u202eb\x7f"


def run(*words, env=None, stdin=None, timeout=30):
    return subprocess.run([str(BINARY), *map(str, words)], capture_output=True, text=True, input=stdin, timeout=timeout,
                          stdin=None if stdin is not None else subprocess.DEVNULL,
                          env={"PATH": os.environ["PATH"], "HOME": "/nonexistent", **SANITIZERS, **(env or {})})


def verbs():
    """[(noun, verb, method, path, {flag: member})] as the program's own tables have them."""
    rows = [line.split("\t") for line in run("--print-verbs").stdout.splitlines()]
    return [(noun, verb, method, path, dict(pair.split("=") for pair in flags.split(",") if pair))
            for noun, verb, method, path, flags in rows]


def words_of(noun, verb):
    return [noun, verb] if verb else [noun]


class Tables(unittest.TestCase):
    """Without a controller."""

    def test_every_verb_has_help_with_an_example_that_it_takes(self):
        for noun, verb, _, _, flags in verbs():
            with self.subTest(f"{noun} {verb}"):
                done = run(*words_of(noun, verb), "--help")
                self.assertEqual((done.returncode, done.stderr), (OK, ""))
                for flag in flags:
                    self.assertIn(f"--{flag} ", done.stdout.replace("\n", " "))
                example = re.search(r"^Example:\n  (hawserctl .*)$", done.stdout, re.M)[1].split(" > ")[0].split(" < ")[0].split(" | ")[0]
                self.assertTrue(example.startswith(" ".join(["hawserctl", *words_of(noun, verb)])), example)
                if noun == "watch":  # goes on where nobody answers
                    continue
                # Nobody listens there: the words were understood when that is what it complains of.
                tried = run(*shlex.split(example)[1:], "--timeout", 2, env={"HAWSER_URL": "https://127.0.0.1:1"})
                self.assertIn(tried.returncode, (OK, FAILED), tried.stderr)

    def test_help_of_all_and_of_each_noun(self):
        everything = run("--help")
        self.assertEqual(everything.returncode, OK)
        for noun in {row[0] for row in verbs()}:
            self.assertIn(f"\n  {noun} ", everything.stdout)
            self.assertEqual(run(noun, "--help").returncode, OK)

    def test_the_document_names_the_verbs_that_there_are(self):
        text = (ROOT / "docs" / "hawserctl.md").read_text()
        known = {}
        for noun, verb, _, _, _ in verbs():
            known.setdefault(noun, set()).add(verb)
        for nouns, words in re.findall(r"^\| (`[^|]*) \|(.*?)\| .* \|$", text, re.M):
            if "*agreed*" in nouns:
                continue
            for noun in re.findall(r"`([a-z-]+)", nouns):
                listed = re.match(r" `([a-z -]+)`", words)
                named = set(listed[1].split()) if listed else {""}
                self.assertEqual(named, known.pop(noun), noun)
        self.assertEqual(known, {})

    def test_usage(self):
        for words in ([], ["sites", "list"], ["site"], ["site", "lst"], ["site", "show"], ["site", "list", "x"], ["site", "list", "--x"],
                      ["site", "create"], ["site", "create", "--name"], ["site", "list", "-o", "yaml"], ["site", "show", "a", "b"],
                      ["site", "set", "a"], ["site", "create", "--file", "/x", "--name", "y"], ["site", "list", "-x"],
                      ["gateway", "list", "--site"], ["api", "get", "/x"], ["api", "GET", "x"], ["completion", "zsh"]):
            with self.subTest(" ".join(words)):
                done = run(*words, env={"HAWSER_URL": "https://127.0.0.1:1"})
                self.assertEqual((done.returncode, done.stdout), (USAGE, ""), done.stderr)
                self.assertTrue(done.stderr)

    def test_flags_are_members_of_the_api(self):
        """What hawserctl offers the API takes, and what the API takes hawserctl offers."""
        schemas = DOCUMENT["components"]["schemas"]
        # Several verbs may make one kind of request, each with members of its own.
        together = {}
        for noun, _, method, path, flags in verbs():
            together.setdefault((noun, method, path), set()).update(re.split(r"[.\[]", member)[0] for member in flags.values() if member)
        for noun, verb, method, path, flags in verbs():
            if method == "-":
                continue
            operations = {re.sub(r"\{[a-z_]+\}", "{}", p): item for p, item in DOCUMENT["paths"].items()}
            item = operations.get(re.sub(r"\{[a-z_]+\}|%s", "{}", path))
            with self.subTest(f"{noun} {verb}"):
                self.assertIsNotNone(item, f"no path {path}")
                operation = item[method.lower()]
                members = together[noun, method, path]
                if method == "GET":
                    known = {p.get("name") or p["$ref"].split("/")[-1] for p in operation.get("parameters", [])}
                    known = {DOCUMENT["components"]["parameters"].get(k, {}).get("name", k) for k in known}
                    self.assertEqual(members - known, set())
                    self.assertEqual(known - members - {"id", "limit", "cursor", "format"}, set())
                elif "requestBody" in operation:
                    schema = operation["requestBody"]["content"]["application/json"]["schema"]
                    while "$ref" in schema:
                        schema = schemas[schema["$ref"].split("/")[-1]]
                    operands = {"gateway_id", "target_gateway_id", "target_address"} if noun == "diag" else set()
                    if method == "PUT" and noun == "rule":
                        operands = {"rules"}  # from a file alone
                    self.assertEqual(members ^ (set(schema["properties"]) - operands), set())
                else:
                    self.assertEqual(members, set())

    def test_bash_completes_every_noun_verb_and_flag(self):
        script = run("completion", "bash").stdout

        def complete(*words):
            program = (script + '\nCOMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _hawserctl; printf "%s\\n" "${COMPREPLY[@]}"')
            done = subprocess.run(["bash", "-c", program, "bash", "hawserctl", *words], capture_output=True, text=True, timeout=20)
            self.assertEqual(done.stderr, "")
            return done.stdout.split()

        rows = verbs()
        self.assertEqual(set(complete("")), {row[0] for row in rows})
        for noun in {row[0] for row in rows if row[1]}:
            self.assertEqual(complete(noun, ""), [row[1] for row in rows if row[0] == noun])
        for noun, verb, _, _, flags in rows:
            self.assertLessEqual({f"--{flag}" for flag in flags}, set(complete(*words_of(noun, verb), "--")))
        self.assertEqual(complete("-o", "json", "site", "cre"), ["create"])
        self.assertEqual(complete("site", "create", "--role", "t"), ["transit"])

    def test_manual_names_every_verb_and_groff_takes_it(self):
        page = run("manual").stdout
        for noun, verb, _, _, _ in verbs():
            self.assertIn("\\fBhawserctl " + " ".join(words_of(noun, verb)).replace("-", "\\-"), page)
        if shutil.which("groff"):
            done = subprocess.run(["groff", "-K", "utf8", "-man", "-Tutf8", "-ww"], input=page, capture_output=True, text=True)
            self.assertEqual((done.returncode, done.stderr), (0, ""))


class Running(unittest.TestCase):
    """A controller, a folder for files, and what reaches the controller."""

    @classmethod
    def setUpClass(cls):
        cls.controller = cls.enter(Controller())
        cls.folder = pathlib.Path(tempfile.mkdtemp())
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        cls.token = cls.write("token", cls.controller.token + "\n", 0o600)
        cls.ca = cls.write("ca.pem", (cls.controller.state / "web-ca.pem").read_text())
        cls.url = f"https://127.0.0.1:{cls.controller.port}"
        cls.env = {"HAWSER_URL": cls.url, "HAWSER_CA": str(cls.ca), "HAWSER_TOKEN_FILE": str(cls.token)}

    @classmethod
    def enter(cls, context):
        value = context.__enter__()
        cls.addClassCleanup(context.__exit__, None, None, None)
        return value

    @classmethod
    def write(cls, name, text, mode=0o644):
        path = cls.folder / name
        path.write_text(text)
        path.chmod(mode)
        return path

    def ctl(self, *words, code=OK, **options):
        done = run(*words, **{"env": self.env, **options})
        self.assertEqual(done.returncode, code, f"{words}: {done.stdout}{done.stderr}")
        if code != OK:
            self.assertRegex(done.stderr, "(?m)^hawserctl: ")
        return done

    def objects(self, *words):
        return json.loads(self.ctl(*words, "-o", "json").stdout)


class Life(Running):
    def test_1_from_nothing_to_a_network(self):
        self.assertIn("No gateway yet", self.ctl("status").stdout)
        self.ctl("status", "--check")
        self.ctl("site", "create", "--name", "branch", "--provider", "onprem", "--role", "spoke", "--cidrs", "10.1.0.0/16,fd01::/64")
        made = self.objects("site", "create", "--name=hub", "--provider=aws", "--role=transit", "--cidrs=10.2.0.0/16")
        self.assertEqual(self.objects("site", "show", "hub"), made)
        self.assertEqual(self.objects("site", "show", made["id"]), made)
        self.ctl("connection", "create", "--name", "branch-hub", "--site-a", "branch", "--site-b", "hub", "--tunnels", 8,
                 "--liveness-interval-ms", 200, "--liveness-missed", 4)
        changed = self.objects("connection", "set", "branch-hub", "--tunnels", "null", "--enabled", "false")
        self.assertEqual((changed["tunnels"], changed["enabled"], changed["liveness"]), (None, False, {"interval_ms": 200, "missed": 4}))
        self.ctl("connection", "set", "branch-hub", "--enabled", "--tunnels", 4)
        self.ctl("gateway", "create", "--name", "gw-1", "--site", "branch", "--endpoints", "10.1.0.1,203.0.113.7/public/unreachable,fd01::1")
        self.assertEqual(self.objects("gateway", "show", "gw-1")["endpoints"], [
            {"address": "10.1.0.1", "family": 4, "scope": "private", "reachable": True},
            {"address": "203.0.113.7", "family": 4, "scope": "public", "reachable": False},
            {"address": "fd01::1", "family": 6, "scope": "private", "reachable": True}])
        self.ctl("gateway", "create", "--file", "-", stdin=json.dumps({"name": "gw-2", "site_id": made["id"]}))
        self.assertEqual([g["name"] for g in self.objects("gateway", "list", "--site", "hub")], ["gw-2"])
        self.assertRegex(self.ctl("gateway", "list", "-o", "wide").stdout.splitlines()[0], r" SIZE +CLOUD +REGION +WEIGHT ")
        table = self.ctl("link", "list", "--gateway", "gw-1").stdout.splitlines()
        self.assertRegex(table[0], r"^GATEWAY A +GATEWAY B +STATE ")
        link = self.objects("link", "list")[0]
        name = "/".join(table[1].split()[:2])
        self.assertEqual(self.objects("link", "set", name, "--tunnels-override", 16)["tunnels_override"], 16)
        self.assertEqual(self.objects("link", "show", name)["id"], link["id"])
        self.assertEqual(len(self.ctl("link", "list", "--no-headers").stdout.splitlines()), 1)
        self.assertIn(link["id"], self.ctl("link", "list", "-o", "wide").stdout)
        self.assertIn("gw-1", self.ctl("status").stdout)
        self.ctl("status", "--check", code=FAILED)
        self.assertEqual(set(json.loads(self.ctl("status", "--json").stdout)), {"controller", "revisions", "topology", "connections", "rulesets"})
        self.assertEqual(self.objects("link", "tunnels", name), [])
        self.assertEqual(self.objects("gateway", "workers", "gw-1"), [])
        self.assertIn("controller", self.ctl("gateway", "openings", "gw-1").stdout)

    def test_2_tokens(self):
        text = self.ctl("token", "create", "--site", "branch", "--format", "token", "--expires-in", "2h").stdout
        self.assertRegex(text, r"\Ahwt1\.[A-Za-z0-9_-]+\n\Z")
        config = self.ctl("token", "create", "--site", "branch", "--format", "cloud-init").stdout
        self.assertTrue(config.startswith("#cloud-config\n"))
        shell = self.ctl("token", "create", "--site", "branch", "--format", "shell").stdout
        self.assertEqual(subprocess.run(["sh", "-n"], input=shell, text=True).returncode, 0)
        self.assertEqual(len(self.objects("token", "list")), 3)
        first = self.objects("token", "list")[0]["id"]
        self.assertNotIn("hwt1.", self.ctl("token", "show", first).stdout)
        self.ctl("token", "set", first, "--expires-at", "7d")
        self.ctl("token", "delete", first)
        self.ctl("token", "show", "gw-1", code=USAGE)
        self.ctl("token", "show", first, code=NOT_FOUND)

    def test_3_deleting_asks(self):
        asked = self.ctl("site", "delete", "branch", code=USAGE)
        self.assertIn("--yes", asked.stderr)
        refused = self.ctl("site", "delete", "branch", "--yes", code=CONFLICT)
        self.assertIn("branch-hub", refused.stderr)
        self.assertRegex(refused.stderr, r"(?m)^hint: hawserctl \w+ show ")
        self.ctl("gateway", "revoke", "gw-2", "--yes")
        for noun, name in (("connection", "branch-hub"), ("gateway", "gw-1"), ("gateway", "gw-2")):
            self.ctl(noun, "delete", name, "--yes")
        self.assertEqual(self.ctl("site", "delete", "branch", "--yes").stdout, "site branch: deleted\n")

    def test_4_firewall(self):
        site = self.objects("site", "create", "--name", "edge", "--provider", "onprem", "--role", "spoke", "--cidrs", "10.61.0.0/16,fd61::/64")
        self.ctl("site", "create", "--name", "other-edge", "--provider", "onprem", "--role", "spoke", "--cidrs", "10.62.0.0/16")
        made = self.objects("ruleset", "create", "--name", "edge-set", "--site", "edge", "--base-policy", "deny")
        self.assertEqual((made["site_id"], made["base_policy"], made["rules_total"]), (site["id"], "deny", 0))
        for where in ("edge", "other-edge"):
            self.ctl("address-group", "create", "--name", "partners", "--site", where, "--prefixes", "203.0.113.0/24,2001:db8:7::/48")
        self.ctl("address-group", "show", "partners", code=USAGE)  # which of the two?
        group = self.objects("address-group", "show", "edge/partners")
        inside = ["--ruleset", "edge-set"]
        added = self.objects("rule", "add", *inside, "--name", "web-in", "--action", "allow", "--protocol", "tcp", "--source-groups", "edge/partners",
                             "--destination", "10.61.1.0/24", "--destination-ports", "80,443", "--log")
        self.assertEqual([(r["name"], r["source"]["group_ids"], r["destination"]["prefixes"], r["log"]) for r in added],
                         [("web-in", [group["id"]], ["10.61.1.0/24"], True)])
        several = {"position": 1, "rules": [{"name": n, "action": "deny", "protocol": p} for n, p in (("udp", "udp"), ("gre", "47"))]}
        self.ctl("rule", "add", *inside, "--file", "-", stdin=json.dumps(several))
        names = lambda: [r["name"] for r in self.objects("rule", "list", *inside)]
        self.assertEqual(names(), ["udp", "gre", "web-in"])
        self.ctl("rule", "move", "web-in", *inside, "--position", 1)
        self.assertEqual(names(), ["web-in", "udp", "gre"])
        table = self.ctl("rule", "list", *inside).stdout.splitlines()
        self.assertRegex(table[0], r"^NO +NAME +ACTION +PROTOCOL +SOURCE +DESTINATION +PORTS +ENABLED +HITS +SEEN$")
        self.assertRegex(table[1], r"^1 +web-in +allow +tcp +partners +10\.61\.1\.0/24 +80,443 +yes +- +never$")
        self.assertRegex(table[2], r"^2 +udp +deny +udp +any +any +- +yes ")
        self.assertEqual(self.objects("rule", "set", "udp", *inside, "--enabled", "false", "--source", "10.62.0.0/16")["source"]["prefixes"], ["10.62.0.0/16"])
        self.assertIn("edge/partners", self.ctl("rule", "show", "web-in", *inside).stdout)
        seen = self.ctl("rule", "show", "gre", *inside, "--etag").stdout.strip()
        self.ctl("rule", "set", "gre", *inside, "--description", "tunnels")
        self.ctl("rule", "delete", "gre", *inside, "--yes", "--if-match", seen, code=CONFLICT)
        self.ctl("rule", "delete", "gre", *inside, "--yes")
        never = self.ctl("rule", "add", *inside, "--name", "never", "--action", "deny", "--protocol", "tcp", "--source-groups", "edge/partners",
                         "--destination", "10.61.1.7/32", "--destination-ports", "443", code=USAGE)
        self.assertIn("web-in", never.stderr)
        rules = self.objects("rule", "list", *inside)
        seen = self.ctl("ruleset", "show", "edge-set", "--etag").stdout.strip()
        rules = [{"name": "first", "action": "allow", "protocol": "icmp"}, *reversed(rules)]
        self.assertEqual(self.objects("rule", "replace", *inside, "--file", self.write("rules.json", json.dumps(rules)))["rules_total"], 3)
        self.assertEqual(names(), ["first", "udp", "web-in"])
        self.assertEqual([r["id"] for r in self.objects("rule", "list", *inside)][1:], [r["id"] for r in rules[1:]])
        self.ctl("rule", "replace", *inside, "--file", "-", "--if-match", seen, stdin='{"rules": []}', code=CONFLICT)
        self.ctl("rule", "replace", *inside, "--file", "-", stdin='[{"name": "x", "acton": "allow"}]', code=USAGE)
        self.ctl("rule", "replace", *inside, code=USAGE)
        self.ctl("rule", "add", "--name", "x", "--action", "allow", code=USAGE)
        self.ctl("rule", "add", "--file", "-", stdin="{}", code=USAGE)  # which ruleset?
        self.ctl("rule", "list", "--ruleset", "nobody", code=NOT_FOUND)
        self.ctl("rule", "show", "nobody", *inside, code=NOT_FOUND)
        self.ctl("rule", "add", *inside, "--name", "x", "--action", "allow", "--source-groups", "nobody", code=NOT_FOUND)
        self.ctl("ruleset", "create", "--name", "second", "--site", "edge", code=CONFLICT)
        self.ctl("address-group", "delete", "edge/partners", "--yes", code=CONFLICT)
        self.assertIn("edge-set", self.ctl("ruleset", "list", "--site", "edge").stdout)
        self.ctl("ruleset", "set", "edge-set", "--enabled", "false")
        self.ctl("ruleset", "delete", "edge-set", "--yes")
        for where in ("edge", "other-edge"):
            self.ctl("address-group", "delete", f"{where}/partners", "--yes")
            self.ctl("site", "delete", where, "--yes")

    def test_4_api_keys(self):
        made = self.ctl("api-key", "create", "--name", "watcher", "--role", "viewer", "--expires-in-days", 30)
        self.assertRegex(made.stdout, r"\Ahwa1\.[A-Za-z0-9_-]{43}\n\Z")
        self.assertIn("watcher", made.stderr)
        self.assertNotIn(made.stdout.strip(), made.stderr)
        viewer = {**self.env, "HAWSER_TOKEN_FILE": str(self.write("viewer", made.stdout, 0o600))}
        self.ctl("site", "list", env=viewer)
        refused = self.ctl("site", "create", "--name", "no", "--provider", "onprem", "--role", "spoke", env=viewer, code=NOT_ALLOWED)
        self.assertIn("hint: hawserctl whoami", refused.stderr)
        self.assertEqual(json.loads(self.ctl("whoami", "-o", "json", env=viewer).stdout)["role"], "viewer")
        self.ctl("api-key", "list", env=viewer, code=NOT_ALLOWED)
        whole = self.objects("api-key", "create", "--name", "robot", "--role", "operator")
        self.assertTrue(whole["key"].startswith("hwa1."))
        self.assertEqual(self.objects("api-key", "show", "robot")["role"], "operator")
        told = self.ctl("api-key", "list").stdout + self.ctl("api-key", "show", "robot").stdout + self.ctl("api-key", "list", "-o", "json").stdout
        self.assertNotIn(whole["key"], told)
        self.assertRegex(told, r"(?m)^watcher +viewer +valid +in 29 d|30 d")
        self.ctl("api-key", "create", "--name", "robot", "--role", "viewer", code=CONFLICT)
        self.ctl("api-key", "create", "--name", "x", "--role", "king", code=USAGE)
        self.ctl("api-key", "create", "--name", "x", "--role", "viewer", "--expires-in-days", 401, code=USAGE)
        self.ctl("api-key", "delete", "watcher", code=USAGE)  # nobody to ask
        for name in ("watcher", "robot"):
            self.ctl("api-key", "delete", name, "--yes")
        self.ctl("site", "list", env=viewer, code=NOT_ALLOWED)
        last = self.objects("api-key", "list")
        self.assertEqual(len(last), 1)
        self.ctl("api-key", "delete", last[0]["id"], "--yes", code=CONFLICT)

    def test_4_encryption_policy(self):
        for name, role, cidr in (("left-vault", "spoke", "10.81.0.0/16"), ("right-vault", "transit", "10.82.0.0/16")):
            self.ctl("site", "create", "--name", name, "--provider", "onprem", "--role", role, "--cidrs", cidr)
        self.ctl("connection", "create", "--name", "vaults", "--site-a", "left-vault", "--site-b", "right-vault")
        permit = ["connection", "permit", "vaults", "--suite", "none", "--ends-at", "6d", "--yes", "--reason"]
        refused = self.ctl(*permit, "short", code=CONFLICT)
        self.assertEqual(len(re.findall("(?m)^  not met: ", refused.stderr)), 4, refused.stderr)
        self.assertIn("not met: site left-vault does not have trusted_underlay\n", refused.stderr)
        self.assertRegex(refused.stderr, "(?m)^  instead: .*aes-128-gcm")
        self.assertIn("hint: hawserctl connection policy vaults", refused.stderr)
        for site in ("left-vault", "right-vault"):
            self.ctl("site", "set", site, "--trusted-underlay", "true")
        self.ctl("connection", "set", "vaults", "--path-resiliency", "true")
        self.ctl(*permit[:-2], "--reason", "bulk copy in our own fibre", code=USAGE)  # nobody to ask
        table = self.ctl(*permit, "bulk copy in our own fibre").stdout.splitlines()
        self.assertRegex(table[1], r"^PLAINTEXT for [56] d +no +\S.*bulk copy in our own fibre")
        self.assertRegex(self.ctl("connection", "list").stdout, "PLAINTEXT for [56] d")
        self.assertEqual(self.objects("connection", "policy", "vaults")["permission"]["suite"], "none")
        self.assertRegex(self.ctl("status").stdout, r"(?m)^PLAINTEXT +connection vaults for [56] d.*: bulk copy in our own fibre$")
        seen = self.ctl("connection", "policy", "vaults", "--etag").stdout.strip()
        self.ctl(*permit, "another reason for it", "--if-match", "1", code=CONFLICT)
        self.assertEqual(self.ctl("connection", "encrypt", "vaults", "--if-match", seen).stdout, "connection vaults: encrypted\n")
        self.assertNotIn("PLAINTEXT", self.ctl("status").stdout)
        self.ctl("connection", "permit", "vaults", "--suite", "aes-256-gcm", "--reason", "x", "--ends-at", "6d", "--yes", code=USAGE)
        self.ctl("connection", "policy", "nobody", code=NOT_FOUND)
        self.ctl("connection", "delete", "vaults", "--yes")
        for site in ("left-vault", "right-vault"):
            self.ctl("site", "delete", site, "--yes")

    def test_4_audit(self):
        site = self.objects("site", "create", "--name", "watched", "--provider", "onprem", "--role", "spoke")
        self.ctl("site", "set", "watched", "--region", "here")
        key = self.ctl("api-key", "create", "--name", "reader", "--role", "viewer").stdout
        viewer = {**self.env, "HAWSER_TOKEN_FILE": str(self.write("reader", key, 0o600))}
        self.ctl("site", "delete", "watched", "--yes", env=viewer, code=NOT_ALLOWED)
        self.ctl("audit", "list", env=viewer, code=NOT_ALLOWED)
        about = self.objects("audit", "list", "--object", site["id"], "--from", "1h")
        self.assertEqual([(r["action"], r["outcome"], r["actor"]["name"]) for r in about if r["outcome"] == "done"],
                         [("sites.patch", "done", "bootstrap"), ("sites.create", "done", "bootstrap")])
        refused = self.ctl("audit", "list", "--outcome", "refused", "--actor", "reader").stdout.splitlines()
        self.assertRegex(refused[0], r"^NO +TIME +ACTOR +ROLE +ACTION +OBJECT +OUTCOME$")
        self.assertRegex(refused[1], r"^[0-9]+ +20\S+Z +reader +viewer +\S+ +\S.* refused$")
        self.assertRegex(self.ctl("audit", "list", "--type", "sites", "--order", "oldest").stdout, r"(?m) sites\.create +site watched +done$")
        self.assertEqual(len(self.objects("audit", "list", "--limit", 2)), 2)
        self.ctl("audit", "list", "--limit", 0, code=USAGE)
        self.ctl("audit", "list", "--from", "yesterday", code=USAGE)
        exported = self.ctl("audit", "export").stdout
        records = [json.loads(line) for line in exported.splitlines()]
        self.assertEqual([r["sequence"] for r in records], list(range(1, len(records) + 1)))
        self.assertGreater(len(records), 4)
        for line, record in zip(exported.splitlines(), records):
            text = line.replace(f',"hash":"{record["hash"]}"', "")
            self.assertEqual(hashlib.sha256(text.encode()).hexdigest(), record["hash"])
        self.assertEqual([r["previous_hash"] for r in records[1:]], [r["hash"] for r in records[:-1]])
        self.assertNotIn(key.strip(), exported)
        self.ctl("api-key", "delete", "reader", "--yes")
        self.ctl("site", "delete", "watched", "--yes")

    def test_4_a_change_in_between(self):
        self.ctl("site", "create", "--name", "shared", "--provider", "onprem", "--role", "spoke")
        seen = self.ctl("site", "show", "shared", "--etag").stdout.strip()
        self.assertRegex(seen, r'\A"[0-9]+"\Z')
        self.ctl("site", "set", "shared", "--region", "near", "--if-match", seen)
        late = self.ctl("site", "set", "shared", "--region", "far", "--if-match", seen, code=CONFLICT)
        self.assertIn("--force", late.stderr)
        self.ctl("site", "delete", "shared", "--yes", "--if-match", seen.strip('"'), code=CONFLICT)
        self.assertEqual(self.objects("site", "show", "shared")["region"], "near")
        self.ctl("site", "set", "shared", "--region", "far", "--force")
        for words in (["--if-match", seen, "--force"], ["--if-match", ""], ["--if-match", "1\r\nX: y"], ["--if-match"], []):
            self.ctl("site", "set", "shared", *words, *(["--region", "x"] if words else []), code=USAGE)
        self.ctl("site", "set", "shared", "--force", code=USAGE)
        told = self.ctl("-v", "site", "set", "shared", "--region", "back").stderr
        self.assertRegex(told, r"(?s)GET https://\S+/sites/[0-9a-f-]+: 200.*PATCH https://\S+: 200")
        self.ctl("site", "delete", "shared", "--yes", "--force")

    def test_4_revision_version_api(self):
        self.assertIs(self.objects("revision", "show")["held"], False)
        self.ctl("revision", "accept", "--yes")
        self.assertEqual(set(self.objects("version")), {"hawserctl", "controller"})
        self.assertEqual(json.loads(self.ctl("api", "GET", "/healthz").stdout), {"status": "alive"})
        self.assertIn("hawser_build_info", self.ctl("api", "GET", "/metrics").stdout)

    def test_4_telemetry_and_whoami(self):
        self.assertEqual(self.objects("whoami")["role"], "admin")
        self.ctl("site", "create", "--name", "measured", "--provider", "onprem", "--role", "spoke")
        gateway = self.objects("gateway", "create", "--name", "gw-m", "--site", "measured")
        words = ["telemetry", "get", "--object", "gateway/gw-m", "--metric", "goodput_tx_bps,drops", "--range", "5m", "--step", "1m"]
        self.assertEqual({s["object"] for s in self.objects(*words)["series"]}, {f"gateway/{gateway['id']}"})
        self.assertIn("gateway/gw-m", self.ctl(*words).stdout)
        self.assertEqual(self.ctl(*words, "-o", "csv").stdout.splitlines()[0], "time,object,observer,metric,avg,min,max")
        self.ctl("site", "list", "-o", "csv", code=USAGE)
        self.ctl("telemetry", "get", "--object", "gateway/nobody", "--metric", "drops", code=NOT_FOUND)
        self.ctl("telemetry", "get", "--object", "gw-m", "--metric", "drops", code=USAGE)
        self.ctl("telemetry", "get", "--object", "worker/gw-m/x", "--metric", "busy_ratio", code=USAGE)
        self.ctl("telemetry", "get", "--object", "gateway/gw-m", "--metric", "beauty", code=USAGE)

    def test_4_sizes(self):
        catalogue = self.objects("size", "list")
        self.assertEqual({s["provider"] for s in self.objects("size", "list", "--provider", "aws")}, {"aws"})
        some = next(s for s in catalogue if s["provider"] == "aws")
        self.assertEqual(self.objects("size", "show", some["size"])["id"], some["id"])
        self.ctl("size", "delete", f"aws/{some['size']}", code=CONFLICT)
        self.ctl("size", "create", "--provider", "onprem", "--size", "box", "--vcpus", 8, "--memory-bytes", 1 << 34)
        figure = self.objects("size", "add-figure", "onprem/box", "--throughput-bps", "9.4e9", "--mtu", 8900, "--gro", "--method", "iperf3, 32 streams")
        self.assertEqual((figure["throughput_bps"], figure["gro"], figure["method"]), (9.4e9, True, "iperf3, 32 streams"))
        answer = self.ctl("size", "recommend", "--gbps", 5, "--mtu", 8900, "--provider", "onprem").stdout
        self.assertRegex(answer, r"(?s)\APROVIDER .*\nonprem +box .*\n\n\S")
        self.ctl("size", "delete-figure", "onprem/box", "1", code=USAGE)
        self.ctl("size", "delete-figure", "onprem/box", figure["id"])
        self.ctl("size", "delete", "onprem/box")
        self.ctl("size", "show", "onprem/box", code=NOT_FOUND)

    def test_4_plan(self):
        before = self.objects("revision", "show")
        self.ctl("site", "create", "--name", "left", "--provider", "onprem", "--role", "spoke", "--cidrs", "10.71.0.0/16")
        made = self.ctl("site", "create", "--plan", "--name", "right", "--provider", "onprem", "--role", "transit", "--cidrs", "10.72.0.0/16")
        self.assertTrue(made.stdout.strip())
        self.ctl("site", "show", "right", code=NOT_FOUND)
        refused = run("site", "create", "--plan", "--name", "right", "--provider", "onprem", "--role", "transit", "--cidrs", "10.71.1.0/24", env=self.env)
        self.assertEqual((refused.returncode, "overlaps 10.71.0.0/16 of site left" in refused.stdout), (FAILED, True), refused)
        changes = self.write("changes.json", json.dumps({"changes": [
            {"method": "POST", "path": "/api/v1/sites", "body": {"name": "x", "provider": "onprem", "role": "transit", "cidrs": ["10.73.0.0/16"]}},
            {"method": "POST", "path": "/api/v1/connections", "body": {"name": "x", "site_a_id": "@0", "site_b_id": self.objects("site", "show", "left")["id"]}}]}))
        self.assertIs(self.objects("plan", "--file", changes)["feasible"], True)
        self.assertIs(json.loads(self.ctl("site", "delete", "left", "--plan", "-o", "json").stdout)["feasible"], True)
        self.ctl("site", "list", "--plan", code=USAGE)
        self.ctl("token", "create", "--site", "left", "--plan", code=USAGE)
        self.ctl("site", "delete", "left", "--yes")
        self.assertEqual(self.objects("revision", "show")["revision"], before["revision"] + 2)

    def test_5_all_pages(self):
        """More sites than a page has at most need not be made: pages of the default size are asked for by hand."""
        with contextlib.closing(Client(self.controller.port, self.controller.web_context())) as client:
            for i in range(250):
                body = {"name": f"many-{i:03}", "provider": "onprem", "role": "spoke", "cidrs": [f"172.{16 + i // 200}.{i % 200}.0/24"]}
                reply = client.request("POST", "/api/v1/sites", body, {"Authorization": f"Bearer {self.controller.token}"})
                self.assertEqual(reply.status, 201, reply)
        names = [s["name"] for s in self.objects("site", "list") if s["name"].startswith("many-")]
        self.assertEqual(sorted(names), [f"many-{i:03}" for i in range(250)])
        listed = self.ctl("site", "list", "--no-headers").stdout.splitlines()
        self.assertEqual(len([line for line in listed if line.startswith("many-")]), 250)
        self.ctl("site", "set", "many-249", "--region", "far")
        # A reader that has seen enough: no crash, nothing said.
        done = subprocess.run(["bash", "-c", f"{BINARY} site list -o json | head -n 1; echo ${{PIPESTATUS[0]}}"],
                              capture_output=True, text=True, env={**os.environ, **SANITIZERS, **self.env})
        self.assertEqual((done.stdout.split("\n")[0], done.stderr), ("[", ""))


class Refusals(Running):
    def test_exit_codes(self):
        self.ctl("site", "create", "--name", "a", "--provider", "aws", "--role", "spoke", "--cidrs", "10.1.0.0/16")
        overlap = self.ctl("site", "create", "--name", "b", "--provider", "aws", "--role", "spoke", "--cidrs", "10.1.0.0/24", code=CONFLICT)
        self.assertRegex(overlap.stderr, r"\Ahawserctl: site b: overlaps 10\.1\.0\.0/16 of site a \(cidrs\[0\], request [0-9a-f-]{36}\)\n"
                                         r"hint: hawserctl site show a\n\Z")
        self.ctl("site", "create", "--name", "a", "--provider", "aws", "--role", "spoke", code=CONFLICT)
        invalid = self.ctl("site", "set", "a", "--cidrs", "10.1.0.1/16", code=USAGE)
        self.assertIn("hint: hawserctl site set --help", invalid.stderr)
        self.assertIn("hint: hawserctl site list", self.ctl("site", "show", "nobody", code=NOT_FOUND).stderr)
        self.ctl("site", "show", "00000000-0000-4000-8000-000000000000", code=NOT_FOUND)
        self.ctl("api", "GET", "/api/v1/nothing", code=NOT_FOUND)
        broken = self.write("broken.json", '{"name": ')
        self.ctl("site", "create", "--file", broken, code=USAGE)
        self.ctl("api", "POST", "/api/v1/sites", "--file", broken, code=USAGE)

    def test_credentials(self):
        wrong = self.write("wrong", "hwa1.wrong\n", 0o600)
        self.assertIn("hint: ", self.ctl("site", "list", "--token-file", wrong, code=NOT_ALLOWED).stderr)
        bare = {k: v for k, v in self.env.items() if k != "HAWSER_TOKEN_FILE"}
        self.assertIn("HAWSER_TOKEN_FILE", self.ctl("site", "list", env=bare, code=NOT_ALLOWED).stderr)
        self.ctl("site", "list", env={**bare, "HAWSER_TOKEN": self.controller.token})
        self.ctl("site", "list", "--token-file", "-", env=bare, stdin=self.controller.token + "\n")
        self.ctl("site", "create", "--token-file", "-", "--file", "-", env=bare, stdin=self.controller.token, code=USAGE)
        readable = self.write("readable", self.controller.token, 0o644)
        self.assertIn("chmod 600", self.ctl("site", "list", "--token-file", readable, code=USAGE).stderr)
        injected = self.write("injected", f"{self.controller.token}\r\nX-Evil: 1", 0o600)
        self.ctl("site", "list", "--token-file", injected, code=USAGE)
        self.ctl("site", "list", "--token-file", self.folder / "missing", code=USAGE)

    def test_the_token_is_never_printed(self):
        told = self.ctl("-v", "site", "list")
        self.assertRegex(told.stderr, r"GET https://\S+/api/v1/sites\S*: 200, ")
        self.assertNotIn(self.controller.token[5:], told.stderr + told.stdout)

    def test_config_file(self):
        config = self.folder / "hawser" / "hawserctl.json"
        config.parent.mkdir(exist_ok=True)
        settings = {"url": self.url, "ca_file": str(self.ca), "token_file": str(self.token)}
        config.write_text(json.dumps(settings))
        self.ctl("site", "list", env={"XDG_CONFIG_HOME": str(self.folder)})
        self.ctl("site", "list", "--config", config, env={})
        # flag > environment > file
        self.ctl("site", "list", env={"HAWSER_CONFIG": str(config), "HAWSER_URL": "https://127.0.0.1:1"}, code=FAILED)
        self.ctl("site", "list", "--url", self.url, env={"HAWSER_CONFIG": str(config), "HAWSER_URL": "https://127.0.0.1:1"})
        unknown = self.write("unknown.json", json.dumps({**settings, "colour": "red"}))
        self.assertIn("colour", self.ctl("site", "list", "--config", unknown, code=USAGE).stderr)
        self.ctl("site", "list", "--config", self.folder / "missing.json", code=USAGE)

    def test_wrong_ca_and_nobody_there(self):
        other = self.write("other.pem", (self.controller.state / "gateway-ca.pem").read_text())
        self.assertIn("--ca FILE", self.ctl("site", "list", "--ca", other, code=FAILED).stderr)
        self.ctl("site", "list", "--ca", self.folder / "missing", code=USAGE)
        dead = self.ctl("site", "list", "--url", "https://127.0.0.1:1", code=FAILED)
        self.assertIn("nobody listens at https://127.0.0.1:1", dead.stderr)
        self.ctl("site", "list", "--url", "http://127.0.0.1:1", code=USAGE)

    def test_full_disk(self):
        with open("/dev/full", "w") as full:
            done = subprocess.run([BINARY, "revision", "show"], stdout=full, stderr=subprocess.PIPE, text=True,
                                  env={**os.environ, **SANITIZERS, **self.env})
        self.assertEqual(done.returncode, FAILED)
        self.assertIn("No space left", done.stderr)


class Liar(http.server.BaseHTTPRequestHandler):
    """A controller whose every text drives the terminal."""
    protocol_version = "HTTP/1.1"
    keys = []
    gateway = {"id": "00000000-0000-4000-8000-000000000001", "name": EVIL, "site_id": "00000000-0000-4000-8000-000000000002", "state": EVIL,
               "status": {"state": EVIL, "reason": EVIL, "observed_at": EVIL, "age_seconds": None}, "endpoints": [{"address": EVIL, EVIL: EVIL}],
               "overlay": {"ipv4": EVIL, "ipv6": [EVIL]}, EVIL: EVIL}
    topology = {"sites": [gateway], "gateways": [gateway], "links": [{**gateway, "gateway_a_id": EVIL, "gateway_b_id": gateway["id"]}],
                "connections": [{"name": EVIL, "state": EVIL, "mtu": EVIL, "tunnels_up": EVIL, "tunnels_total": EVIL}]}

    def do_GET(self):
        status, body = 200, {"items": [self.gateway], "next_cursor": None}
        if self.path.startswith("/api/v1/gateways/"):
            body = self.gateway
        elif self.path == "/api/v1/topology":
            body = self.topology
        elif self.path == "/version":
            body = {"version": EVIL}
        elif self.path.startswith("/api/v1/revisions"):
            body = {"revision": EVIL, "held": True, "reason": EVIL}
        elif self.path.startswith("/api/v1/connections"):
            status, body = 409, {"detail": EVIL, "field": EVIL, "request_id": EVIL}
        data = json.dumps(body, ensure_ascii=False).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("X-Request-Id", EVIL.replace("\r", "").replace("\n", "").encode("ascii", "ignore").decode())
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def do_POST(self):
        """Hears the first try and breaks off; answers the second."""
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.keys.append(self.headers["Idempotency-Key"])
        if len(self.keys) == 1:
            self.close_connection = True
            return
        self.do_GET()

    def log_message(self, *words):
        pass


class Hostile(Running):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(cls.controller.state / "web.pem", cls.controller.state / "web.key")
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Liar)
        server.daemon_threads = True
        server.socket = context.wrap_socket(server.socket, server_side=True)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        cls.addClassCleanup(server.server_close)
        cls.addClassCleanup(server.shutdown)
        cls.env = {**cls.env, "HAWSER_URL": f"https://127.0.0.1:{server.server_address[1]}"}

    def test_nothing_that_a_terminal_obeys_is_printed(self):
        identity = "00000000-0000-4000-8000-000000000001"
        for words in (["gateway", "list"], ["gateway", "list", "-o", "wide"], ["gateway", "list", "-o", "json"], ["gateway", "show", identity],
                      ["gateway", "show", identity, "-o", "json"], ["status"], ["status", "--json"], ["version"], ["version", "-o", "json"],
                      ["revision", "show"], ["connection", "list"], ["link", "list"], ["api", "GET", "/api/v1/gateways"], ["-v", "gateway", "list"]):
            with self.subTest(" ".join(words)):
                done = run(*words, env=self.env)
                self.assertIn(done.returncode, (OK, CONFLICT), done.stderr)
                self.assertEqual(HOSTILE.findall(done.stdout + done.stderr), [])
                self.assertIn("owned", done.stdout + done.stderr)

    def test_a_create_whose_answer_is_lost_is_sent_again_under_its_key(self):
        Liar.keys.clear()
        self.ctl("site", "create", "--name", "a", "--provider", "aws", "--role", "spoke")
        self.assertEqual((len(Liar.keys), len(set(Liar.keys))), (2, 1), Liar.keys)
        self.assertRegex(Liar.keys[0], r"\A[0-9a-f-]{36}\Z")

    def test_json_means_the_same(self):
        self.assertEqual(self.objects("gateway", "list")[0]["name"], EVIL)
        self.assertEqual(self.objects("version")["controller"], EVIL)

    def test_names_of_one_line_stay_on_one_line(self):
        self.assertEqual(len(self.ctl("gateway", "list", "--no-headers").stdout.splitlines()), 1)
        self.assertEqual(len(self.ctl("connection", "list", code=CONFLICT).stderr.splitlines()), 2)


class Terminal(Running):
    """On a terminal of its own."""

    def on_terminal(self, *words, keys=(), env=None):
        """What the terminal was sent, and the exit code. `keys`: [(text to wait for, keys to press, or what makes them)]"""
        pid, fd = pty.fork()
        if pid == 0:
            os.execve(BINARY, [str(BINARY), *words], {"PATH": os.environ["PATH"], "TERM": "xterm", "HOME": "/nonexistent",
                                                      **SANITIZERS, **self.env, **(env or {})})
        seen, keys, deadline = "", list(keys), time.monotonic() + 20
        while time.monotonic() < deadline:
            if select.select([fd], [], [], 0.2)[0]:
                try:
                    data = os.read(fd, 65536)
                except OSError:
                    break
                seen += data.decode(errors="replace")
            if keys and keys[0][0] in seen:
                pressed = keys.pop(0)[1]
                os.write(fd, pressed() if callable(pressed) else pressed)
        os.close(fd)
        return seen, os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])

    def test_1_questions_are_asked(self):
        self.ctl("site", "create", "--name", "branch", "--provider", "onprem", "--role", "spoke")
        self.ctl("gateway", "create", "--name", "gw-1", "--site", "branch")
        seen, code = self.on_terminal("site", "delete", "branch", keys=[("[y/N]", b"n\n")])
        self.assertEqual((code, "nothing was done" in seen), (FAILED, True), seen)
        self.assertEqual(len(self.objects("site", "list")), 1)

    def test_2_a_change_while_the_question_stands(self):
        self.ctl("site", "create", "--name", "asked", "--provider", "onprem", "--role", "spoke")
        seen, code = self.on_terminal("site", "delete", "asked", keys=[
            ("[y/N]", lambda: self.ctl("site", "set", "asked", "--region", "elsewhere") and b"y\n")])
        self.assertEqual((code, "somebody else changed it" in seen), (CONFLICT, True), seen)
        self.ctl("site", "delete", "asked", "--yes")

    def test_2_colours_are_for_terminals(self):
        self.assertIn("\x1b[2munknown", self.on_terminal("gateway", "list")[0])
        self.assertNotIn("\x1b", self.on_terminal("gateway", "list", env={"NO_COLOR": "1"})[0])
        self.assertNotIn("\x1b", self.ctl("gateway", "list").stdout)

    def test_2_a_permission_is_red(self):
        for name, role in (("near", "spoke"), ("far", "transit")):
            self.ctl("site", "create", "--name", name, "--provider", "onprem", "--role", role, "--trusted-underlay")
        self.ctl("connection", "create", "--name", "own-fibre", "--site-a", "near", "--site-b", "far", "--path-resiliency")
        self.ctl("connection", "permit", "own-fibre", "--suite", "none", "--reason", "it is our own fibre", "--ends-at", "6d", "--yes")
        self.assertIn("\x1b[31mPLAINTEXT\x1b[0m   connection own-fibre", self.on_terminal("status")[0])
        seen, code = self.on_terminal("watch", keys=[("own-fibre for", b"q")])
        self.assertEqual((code, "\x1b[31mPLAINTEXT" in seen), (OK, True), seen)
        self.assertIn("\x1b[31mPLAINTEXT for", self.on_terminal("connection", "list")[0])
        self.ctl("connection", "delete", "own-fibre", "--yes")

    def test_3_watch_ends_by_q_and_gives_the_screen_back(self):
        seen, code = self.on_terminal("watch", "--interval", "1", keys=[("gw-1", b"q")])
        self.assertEqual(code, OK, seen)
        self.assertTrue(seen.startswith("\x1b[?1049h") and seen.rstrip().endswith("\x1b[?1049l"), seen)
        seen, code = self.on_terminal("watch", keys=[("gw-1", b"\x03")])
        self.assertEqual((code, seen.count("\x1b[?1049l")), (OK, 1), seen)

    def test_4_watch_says_that_nobody_answers(self):
        seen, code = self.on_terminal("watch", env={"HAWSER_URL": "https://127.0.0.1:1"}, keys=[("no answer", b"q")])
        self.assertEqual(code, OK, seen)


class Diagnostics(Running):
    """The agent's part is played here: what it is told and what it answers."""

    def test_an_operation_from_begin_to_end(self):
        self.ctl("site", "create", "--name", "branch", "--provider", "onprem", "--role", "spoke", "--cidrs", "10.1.0.0/16")
        self.ctl("gateway", "create", "--name", "gw-idle", "--site", "branch")
        self.ctl("diag", "ping", "gw-idle", "10.1.0.9", code=CONFLICT)
        token = self.ctl("token", "create", "--site", "branch", "--format", "token").stdout.strip()
        agent = Agent(self.controller, self.folder, "gw-diag")
        self.assertEqual(agent.enrol(token).status, 200)
        begun = self.objects("diag", "ping", "gw-diag", "10.1.0.9", "--count", 2, "--network", "overlay", "--no-wait")
        self.assertEqual((begun["kind"], begun["state"], begun["request"]["count"], begun["request"]["target_address"]),
                         ("ping", "queued", 2, "10.1.0.9"))
        self.assertIn(begun["id"], self.ctl("operation", "list", "--gateway", "gw-diag", "--kind", "ping").stdout)
        self.ctl("operation", "cancel", begun["id"])
        cancelled = self.ctl("operation", "wait", begun["id"], code=FAILED)
        self.assertIn("cancelled", cancelled.stderr)
        self.assertEqual(self.objects("operation", "show", begun["id"])["state"], "cancelled")
        self.ctl("diag", "trace-path", "gw-diag", "nobody", code=NOT_FOUND)
        self.ctl("diag", "trace-path", "gw-diag", "10.1.0.9", "--max-hops", 65, code=USAGE)
        self.ctl("diag", "tcp-connect", "gw-diag", "10.1.0.9", code=USAGE)

    def test_ctrl_c_cancels(self):
        self.ctl("site", "create", "--name", "other", "--provider", "onprem", "--role", "spoke", "--cidrs", "10.2.0.0/16")
        token = self.ctl("token", "create", "--site", "other", "--format", "token").stdout.strip()
        self.assertEqual(Agent(self.controller, self.folder, "gw-slow", "10.2.0.1").enrol(token).status, 200)
        waiting = subprocess.Popen([BINARY, "-v", "diag", "tcp-connect", "gw-slow", "10.2.0.9", "--port", "443"], stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True, env={**os.environ, **SANITIZERS, **self.env})
        for line in waiting.stderr:
            if line.startswith("GET ") and "/operations/" in line:
                break  # it waits
        queued = self.objects("operation", "list", "--gateway", "gw-slow")
        waiting.send_signal(2)
        _, told = waiting.communicate(timeout=20)
        self.assertEqual((waiting.returncode, self.objects("operation", "show", queued[0]["id"])["state"]), (FAILED, "cancelled"), told)


class Reports(Running):
    def test_what_an_agent_reports_is_shown_escaped(self):
        """From a gateway's report through the controller to the terminal."""
        self.ctl("site", "create", "--name", "branch", "--provider", "onprem", "--role", "spoke")
        token = self.ctl("token", "create", "--site", "branch", "--format", "token").stdout.strip()
        agent = Agent(self.controller, self.folder, "gw-evil")
        self.assertEqual(agent.enrol(token).status, 200)
        evil = "\x1b[2J\u202e"
        revisions = {"received": 1, "applied": 0, "in_force": 0, "refused": [{"revision": 1, "reason": evil}]}
        reply = agent.report(revisions=revisions, system={"ip_forward": True, "problems": [evil]})
        self.assertIn(reply.status, (204, 400, 422), reply)
        for words in (["gateway", "show", "gw-evil"], ["gateway", "list", "-o", "wide"], ["status"], ["gateway", "show", "gw-evil", "-o", "json"]):
            self.assertEqual(HOSTILE.findall(self.ctl(*words).stdout), [])


    def test_a_firewall_that_does_not_stand_is_not_overlooked(self):
        self.ctl("site", "create", "--name", "walled", "--provider", "onprem", "--role", "spoke", "--cidrs", "10.9.0.0/16")
        token = self.ctl("token", "create", "--site", "walled", "--format", "token").stdout.strip()
        agent = Agent(self.controller, self.folder, "gw-walled", "10.9.0.1")
        self.assertEqual(agent.enrol(token).status, 200)
        ruleset = self.objects("ruleset", "create", "--name", "wall", "--site", "walled")
        revision = self.objects("gateway", "show", "gw-walled")["revisions"]["config"]
        reply = agent.report(revisions={"received": revision, "applied": revision, "in_force": revision, "refused": []}, firewall={
            "ruleset_id": ruleset["id"], "applied": False, "error": "nftables: no memory\x1b[2J", "base": [0, 0], "established": [0, 0],
            "invalid": [0, 0], "rules": []})
        self.assertEqual(reply.status, 204, reply)
        told = self.ctl("status").stdout
        self.assertRegex(told, r"(?m)^firewall +ruleset wall failed at gw-walled: nftables: no memory")
        self.assertEqual(HOSTILE.findall(told), [])
        self.assertIn("firewalls", self.ctl("status", "--check", code=FAILED).stderr)
        self.assertRegex(self.ctl("ruleset", "list").stdout, "(?m)^wall .* 1 failed ")
        self.ctl("ruleset", "set", "wall", "--enabled", "false")
        self.assertRegex(self.ctl("status").stdout, "(?m)^firewall +ruleset wall is switched off")


if __name__ == "__main__":
    unittest.main()
