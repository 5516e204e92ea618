"""SA keys are written down by one program alone, which is made for tests."""
import os
import pathlib
import unittest

CONTROL = pathlib.Path(os.environ["HAWSER_BUILD"]) / "agent" / "control"
WORDS = (b"HAWSER_KEYLOG_FILE", b"keylog")


class Keylog(unittest.TestCase):
    def test_agent_holds_no_key_log(self):
        program = (CONTROL / "hawser-agent").read_bytes()
        self.assertIn(b"EXPORTER-hawser-esp-v1", program)
        self.assertEqual([word for word in WORDS if word in program], [])

    def test_nothing_but_keys_c_calls_it(self):
        root = pathlib.Path(__file__).resolve().parents[2]
        users = [path.name for path in sorted((root / "agent").glob("**/*.c")) if "keylog_write" in path.read_text()]
        self.assertEqual(users, ["keylog.c", "keys.c"])
