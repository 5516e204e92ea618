"""What is known of the running lab: /run/hawser-lab/state.json, changed under a lock, replaced whole."""
import contextlib
import fcntl
import json
import os
import pathlib

from netns import LabError

DIR = pathlib.Path("/run/hawser-lab")
FILE = DIR / "state.json"
LOCK = DIR / "state.lock"
NODES = DIR / "nodes"
VERSION = 1


def load():
    try:
        return json.loads(FILE.read_text())
    except FileNotFoundError:
        raise LabError("no lab is up (start one: tests/lab/lab up chain)") from None


def save(state):
    """Readers see the old file or the new one, never half of it."""
    temporary = FILE.with_suffix(f".{os.getpid()}")
    temporary.write_text(json.dumps(state, indent=2) + "\n")
    temporary.rename(FILE)


@contextlib.contextmanager
def edit():
    """The block changes the yielded dict; nobody else writes meanwhile."""
    with open(LOCK, "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        state = load()
        yield state
        save(state)


def set_pid(node, process, pid):
    with edit() as state:
        if process == "controller":
            state["controller"]["pid"] = pid
        else:
            state["nodes"][node]["pids"][process] = pid


def get_pid(state, node, process):
    if process == "controller":
        return state["controller"]["pid"]
    return state["nodes"][node]["pids"].get(process)
