"""Stores of earlier versions: today's controller opens a copy and gives everything in it again."""
import gzip
import json
import os
import pathlib
import shutil
import sqlite3
import tempfile
import unittest

from controller import Client, Controller, ROOT, USER

# Kept for a time only, so that one day they are gone by right.
AGEING = ("/api/v1/operations", "/api/v1/audit")
RECORDED = sorted((ROOT / "tests" / "data").glob("v*/controller"))


def unpack(folder, place):
    store = place / "hawser.db"
    store.write_bytes(gzip.decompress((folder / "hawser.db.gz").read_bytes()))
    return store


class Recorded(Controller):
    """Started on what a version left behind instead of being bootstrapped."""

    def __init__(self, folder):
        super().__init__()
        self.folder = folder

    def bootstrap(self, *words):
        done = super().bootstrap(*words)
        for entry in self.folder.iterdir():
            if entry.suffix in (".key", ".pem"):
                shutil.copyfile(entry, self.state / entry.name)
        for left in self.state.glob("hawser.db*"):
            left.unlink()
        unpack(self.folder, self.state)
        if os.geteuid() == 0:
            for entry in self.state.iterdir():
                os.chown(entry, USER, -1)
        self.token = (self.folder / "admin-token").read_text().strip()
        return done


def pages(client, token, path):
    items, cursor = [], ""
    while cursor is not None:
        reply = client.request("GET", f"{path}?limit=100{cursor and '&cursor='}{cursor}", None, {"Authorization": f"Bearer {token}"})
        if reply.status != 200:
            raise AssertionError(f"{path}: {reply}")
        items += reply.json["items"]
        cursor = reply.json.get("next_cursor")
    return items


class Stores(unittest.TestCase):
    maxDiff = None

    def test_there_is_a_record(self):
        self.assertTrue(RECORDED)

    def test_each_opens_and_is_whole(self):
        for folder in RECORDED:
            with self.subTest(folder.parent.name), Recorded(folder) as controller:
                client = Client(controller.port, controller.web_context())
                expected = json.loads((folder / "expected.json").read_text())
                for path, ids in expected.items():
                    found = [item.get("id") or item.get("sequence") for item in pages(client, controller.token, path)]
                    if path not in AGEING:
                        self.assertEqual([i for i in ids if i not in found], [], path)
                client.close()

    def test_what_was_measured_is_there(self):
        for folder in RECORDED:
            with self.subTest(folder.parent.name), Recorded(folder) as controller:
                client = Client(controller.port, controller.web_context())
                reply = client.request("GET", "/api/v1/topology", None, {"Authorization": f"Bearer {controller.token}"})
                self.assertEqual(reply.status, 200, reply)
                client.close()

    def test_stores_are_sound(self):
        for folder in RECORDED:
            with self.subTest(folder.parent.name), tempfile.TemporaryDirectory() as place:
                db = sqlite3.connect(unpack(folder, pathlib.Path(place)))
                self.addCleanup(db.close)
                self.assertEqual(db.execute("PRAGMA integrity_check").fetchall(), [("ok",)])
                for table in ("telemetry", "operations", "audit", "site_joins", "denials"):
                    names = [n for (n,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'") if n.startswith(table)]
                    self.assertTrue(any(db.execute(f"SELECT count(*) FROM {n}").fetchone()[0] for n in names), table)


if __name__ == "__main__":
    unittest.main()
