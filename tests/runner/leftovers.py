"""What a run must not leave on the machine: namespaces, processes, files."""
import os
import pathlib
import subprocess
import uuid

# Every process that a run starts inherits this variable, so that strays are found whatever their name.
VARIABLE = "HAWSER_TEST_RUN"
PLACES = ("/run/hawser-lab", "/run/hawser", "/var/lib/hawser", "/etc/hawser")
NETNS = pathlib.Path("/run/netns")


class Watch:
    def __init__(self, root, temporary):
        self.root = root
        self.temporary = pathlib.Path(temporary)
        self.mark = uuid.uuid4().hex
        os.environ[VARIABLE] = self.mark
        self.before = self.look()

    def look(self):
        return {
            "namespace": {p.name for p in NETNS.glob("hw-*")} if NETNS.is_dir() else set(),
            "place": {p for p in PLACES if os.path.exists(p)},
            "file in the tree": set(self.git_status()),
            "temporary file": {str(p) for p in self.temporary.iterdir()},
        }

    def git_status(self):
        done = subprocess.run(["git", "-C", str(self.root), "status", "--porcelain"], capture_output=True, text=True)
        return done.stdout.splitlines()

    def processes(self):
        wanted = f"{VARIABLE}={self.mark}".encode()
        found = []
        for entry in os.listdir("/proc"):
            if not entry.isdigit() or int(entry) == os.getpid():
                continue
            try:
                if wanted in pathlib.Path(f"/proc/{entry}/environ").read_bytes().split(b"\0"):
                    command = pathlib.Path(f"/proc/{entry}/cmdline").read_bytes().replace(b"\0", b" ")
                    found.append(f"{entry} {command.decode(errors='replace').strip()}")
            except OSError:
                continue
        return found

    def left(self):
        """Lines that name what is there now and was not before."""
        after = self.look()
        lines = [f"{kind}: {item}" for kind in after for item in sorted(after[kind] - self.before[kind])]
        return lines + [f"process: {p}" for p in self.processes()]
