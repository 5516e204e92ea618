"""The OpenAPI document before a foreign judge: redocly, installed once a build folder from a lock file."""
import os
import pathlib
import shutil
import subprocess
import unittest

from controller import BUILD

HERE = pathlib.Path(__file__).resolve().parent / "lint"
TOOLS = BUILD / "contract-lint"


def install():
    """As the console's build does: anew when the lock file has changed, and only then."""
    npm = shutil.which("npm")
    if not npm:
        raise AssertionError("npm is missing (tests/setup installs it): the OpenAPI document can't be linted")
    lock, installed = HERE / "package-lock.json", TOOLS / "installed-lock.json"
    if installed.is_file() and installed.read_bytes() == lock.read_bytes():
        return
    shutil.rmtree(TOOLS, ignore_errors=True)
    TOOLS.mkdir()
    for name in ("package.json", "package-lock.json"):
        shutil.copy(HERE / name, TOOLS)
    done = subprocess.run([npm, "ci", "--prefer-offline", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"],
                          cwd=TOOLS, capture_output=True, text=True, timeout=240)
    if done.returncode:
        raise AssertionError(f"npm could not fetch the linter: {done.stderr}")
    shutil.copy(lock, installed)


class Lint(unittest.TestCase):
    def test_document_passes_without_a_warning(self):
        install()
        done = subprocess.run(["node", str(TOOLS / "node_modules/@redocly/cli/bin/cli.js"), "lint",
                               str(BUILD / "controller" / "openapi.json"), "--config", str(HERE / "redocly.yaml")],
                              capture_output=True, text=True, timeout=60,
                              env={**os.environ, "REDOCLY_TELEMETRY": "off", "REDOCLY_SUPPRESS_UPDATE_NOTICE": "true"})
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertNotIn("warning", done.stdout + done.stderr)


if __name__ == "__main__":
    unittest.main()
