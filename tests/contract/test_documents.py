"""Documents against the tree: a reader finds every file, function and link that a document names."""
import pathlib
import re
import subprocess
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
QUOTED = re.compile(r"`([^`\n]+)`")
LINK = re.compile(r"\]\(([^)#]+)(?:#[^)]*)?\)")
# `path/file.c`, `file.c: function`, `folder/`, `function` or `CONSTANT`, as docs/architecture.md writes them.
FILE = re.compile(r"^(?P<path>[\w./-]+\.(?:c|h|py|sql|yaml|in))(?:: (?P<name>\w+))?$")
FOLDER = re.compile(r"^[\w./-]+/$")
NAME = re.compile(r"^(?:[a-z]\w*_\w+|[A-Z]\w*_\w+)$")
PROGRAM = re.compile(r"^hawser(?:-\w+|_\w+)+$")
SOURCES = ("agent/", "common/", "controller/")


def tracked():
    listed = subprocess.run(["git", "-C", str(ROOT), "ls-files", "-co", "--exclude-standard"], capture_output=True,
                            text=True, check=True).stdout.split("\n")
    return [p for p in listed if p and (ROOT / p).is_file()]


def documents():
    return [p for p in tracked() if p == "README.md" or re.match(r"(docs|tests/lab)/[^/]*\.md$", p)]


def unfenced(path):
    """A document without its code blocks, whose words are commands and their output."""
    return re.sub(r"^```.*?^```", "", (ROOT / path).read_text(), flags=re.M | re.S)


def defines(code, function):
    """A definition or declaration begins at the left edge; a call does not."""
    return re.search(rf"^\w[^;=\n]*\b{function}\(", code, re.M)


class Architecture(unittest.TestCase):
    """docs/architecture.md names files by their end (`http/server.c`), and functions after them or alone."""

    @classmethod
    def setUpClass(cls):
        cls.files = tracked()
        cls.folders = {str(parent) + "/" for p in cls.files for parent in pathlib.PurePath(p).parents}
        cls.code = {p: (ROOT / p).read_text() for p in cls.files
                    if p.startswith(SOURCES) and p.endswith((".c", ".h", "CMakeLists.txt"))}
        cls.quoted = sorted(set(QUOTED.findall(unfenced("docs/architecture.md"))))

    def named(self, path):
        return [p for p in self.files if p == path or p.endswith("/" + path)]

    def wrong_with(self, text):
        """What a reader would not find, or None."""
        file = FILE.match(text)
        if file:
            found = self.named(file["path"])
            if not found:
                return "no such file"
            if file["name"] and not any(defines(self.code.get(p, ""), file["name"]) for p in found):
                return "no such function in it"
        elif FOLDER.match(text):
            if not any(f == text or f.endswith("/" + text) for f in self.folders):
                return "no such folder"
        elif PROGRAM.match(text) or NAME.match(text):
            if not any(re.search(rf"\b{re.escape(text)}\b", code) for code in self.code.values()):
                return "nowhere in the sources"
        return None

    def test_every_name_is_found(self):
        wrong = [f"{text}: {why}" for text in self.quoted if (why := self.wrong_with(text))]
        self.assertEqual(wrong, [])
        judged = [t for t in self.quoted if FILE.match(t) or FOLDER.match(t) or NAME.match(t)]
        self.assertGreater(len(judged), 100, "the document's way of quoting has changed")

    def test_a_wrong_name_is_noticed(self):
        for text in ("replay2.c", "esp_in.c: esp_in_close", "esp_in.c: memcpy", "no_such_function",
                     "controller/nowhere/", "hawser-nothing"):
            self.assertIsNotNone(self.wrong_with(text), text)


class Links(unittest.TestCase):
    def test_every_link_leads_somewhere(self):
        wrong = [f"{document}: {target}" for document in documents()
                 for target in LINK.findall(unfenced(document))
                 if "://" not in target and not (ROOT / document).parent.joinpath(target).exists()]
        self.assertEqual(wrong, [])

    def test_every_path_of_the_tree_exists(self):
        """`tests/lab/demo`, `schema/openapi/`, `controller/settings.c`: with their first folder, anywhere."""
        tops = {p.split("/")[0] for p in tracked() if "/" in p}
        wrong = []
        for document in ("README.md", "docs/architecture.md", "tests/lab/README.md"):
            for text in QUOTED.findall((ROOT / document).read_text()):
                path = text.split()[0].split(":")[0]
                if "/" in path and path.split("/")[0] in tops and not list(ROOT.glob(path.rstrip("/"))):
                    wrong.append(f"{document}: {text}")
        self.assertEqual(wrong, [])


if __name__ == "__main__":
    unittest.main()
