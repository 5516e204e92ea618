"""The dependency rule, read from the include lines: arrows point down, one home for each library."""
import pathlib
import re
import subprocess
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
INCLUDE = re.compile(r'^\s*#\s*include\s+["<]([^">]+)[">]', re.M)

# Folder: project folders that its files may include from.
MAY_INCLUDE = {
    "common": ("common/",),
    "agent/dataplane": ("agent/dataplane/", "common/"),
    "agent/control": ("agent/control/", "common/"),
    "agent/launcher": ("agent/launcher/", "common/"),
    "controller/cli": ("controller/cli/", "common/"),
    "controller": ("controller/", "common/"),
}
# Parts of common that only its second library has (they need JSON, TLS or HTTP).
NET_ONLY = re.compile(r"^common/(json|tls|x509|http_client|settings_file|model/)")
# Header of a library: the only places that may name it.
HOMES = {
    "microhttpd.h": ("controller/http/",),
    "gnutls/": ("controller/http/",),
    "sqlite3.h": ("controller/store/",),
    "curl/": ("common/http_client",),
    "json-c/": ("common/json",),
    "json.h": ("common/json",),
    "libmnl/": ("agent/control/",),
    "nftables/": ("agent/control/",),
    "intel-ipsec-mb.h": ("agent/dataplane/",),
    "seccomp.h": ("agent/dataplane/",),
}


def sources():
    listed = subprocess.run(["git", "-C", str(ROOT), "ls-files", "-co", "--exclude-standard", "*.c", "*.h"],
                            capture_output=True, text=True, check=True).stdout.split()
    return [p for p in listed if p.split("/")[0] in ("common", "agent", "controller") and (ROOT / p).is_file()]


def includes(path):
    return INCLUDE.findall((ROOT / path).read_text())


class Dependencies(unittest.TestCase):
    def test_folders_include_only_what_lies_below(self):
        wrong = []
        for path in sources():
            folder = next(f for f in MAY_INCLUDE if path.startswith(f + "/"))
            for name in includes(path):
                if name.startswith(("common/", "agent/", "controller/", "tests/")):
                    if not name.startswith(MAY_INCLUDE[folder]):
                        wrong.append(f"{path} includes {name}")
        self.assertEqual(wrong, [])

    def test_the_store_has_room_for_every_statement(self):
        statements = sum(len(re.findall(r"stmt_get\(", (ROOT / p).read_text())) for p in sources() if p.startswith("controller/"))
        room = int(re.search(r"#define STMT_CACHE (\d+)", (ROOT / "controller/store/stmt.h").read_text())[1])
        self.assertGreater(statements, 100)
        self.assertLess(2 * statements, room)

    def test_dataplane_sees_the_base_library_alone(self):
        wrong = [f"{path} includes {name}" for path in sources() if path.startswith("agent/dataplane/")
                 for name in includes(path) if NET_ONLY.match(name) or name.startswith(("json-c", "curl", "openssl/ssl"))]
        self.assertEqual(wrong, [])

    def test_each_library_has_one_home(self):
        wrong = []
        for path in sources():
            for name in includes(path):
                for header, homes in HOMES.items():
                    if name.startswith(header) and not path.startswith(homes):
                        wrong.append(f"{path} includes {name}, at home in {' '.join(homes)}")
        self.assertEqual(wrong, [])


if __name__ == "__main__":
    unittest.main()
