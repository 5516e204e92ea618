"""Who owns the lab, and what is left of it: the lock, the keeper, and the cleaning up."""
import contextlib
import fcntl
import os
import pathlib
import shutil
import signal

import daemons
import netns
import network
import state
from netns import LabError

LOCK = state.DIR / "lock"
KEEPER = state.DIR / "keeper.pid"
MADE_DIRS = state.DIR / "made_dirs"
ALLOWED_CC = state.DIR / "allowed_congestion_control"


def try_lock(wait=False):
    """The lock's descriptor, or None if somebody holds it. The file may be removed while we wait: retry."""
    while True:
        state.DIR.mkdir(mode=0o755, exist_ok=True)
        fd = os.open(LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except BlockingIOError:
            os.close(fd)
            return None
        if netns.inode(LOCK) == os.fstat(fd).st_ino:
            os.truncate(fd, 0)
            os.pwrite(fd, f"{os.getpid()}\n".encode(), 0)
            return fd
        os.close(fd)


def keep(lock_fd):
    """Hands the lock to a process that does nothing but hold it until `down`: the lab is alive that long."""
    pid = daemons.detach(["sleep", "infinity"], "/dev/null", keep_fds=[lock_fd])
    KEEPER.write_text(f"{pid}\n")


def end_keeper():
    """True if there was one. Its command line is checked, since a number may have gone to another process."""
    try:
        pid = int(KEEPER.read_text())
        command = pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except (OSError, ValueError):
        return False
    KEEPER.unlink()
    if command[:2] != [b"sleep", b"infinity"]:
        return False
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
    return True


def supervisors_alive():
    with contextlib.suppress(LabError, ValueError):
        return any(daemons.alive(n["pids"].get("supervisor"), n["netns"]) for n in state.load()["nodes"].values())
    return False


def take_lock():
    """The lock for a new lab. A keeper whose supervisors are all gone guards nothing and is ended."""
    fd = try_lock()
    if fd is None and not supervisors_alive() and end_keeper():
        fd = try_lock(wait=True)
    if fd is None:
        end = "end it with: tests/lab/lab down" if KEEPER.exists() else "stop that process"
        raise LabError(f"a lab is {describe()}; {end}")
    return fd


def describe():
    with contextlib.suppress(LabError):
        name = state.load()["topology"]
        return f"up ({name})" if KEEPER.exists() else f"in use by process {LOCK.read_text().strip()} ({name})"
    return f"being set up by process {LOCK.read_text().strip()}"


def leftovers():
    return bool(netns.listed()) or state.FILE.exists()


def clean():
    """Removes everything but the lock, whatever state a crash left it in."""
    network.remove()
    netns.restore_allowed(ALLOWED_CC)
    made = MADE_DIRS.read_text().splitlines() if MADE_DIRS.exists() else []
    for entry in state.DIR.iterdir():
        if entry.is_dir():
            shutil.rmtree(entry, ignore_errors=True)
        elif entry != LOCK:
            entry.unlink()
    for path in reversed(made):
        with contextlib.suppress(OSError):
            os.rmdir(path)


def release(lock_fd):
    """Ends the caller's own lab: everything goes, the lock last. An impatient second Ctrl-C waits until then."""
    with undisturbed():
        clean()
        remove_lock(lock_fd)


ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextlib.contextmanager
def undisturbed():
    """Signals that end this program or its commands are delivered after the block."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ENDING)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def end_in_order():
    """Every ending signal is a KeyboardInterrupt, so that cleaning up happens. Also SIGINT to a program that a
    script started in the background, where it begins ignored; but not SIGHUP under nohup."""
    for number in ENDING:
        if number != signal.SIGHUP or signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, signal.default_int_handler)


def remove_lock(fd):
    shutil.rmtree(state.DIR, ignore_errors=True)
    os.close(fd)


def down():
    """`lab down`: ends a lab that stands by itself or was left over. True if there was one."""
    fd = try_lock(wait=end_keeper())
    if fd is None:
        raise LabError(f"the lab is {describe()}; stop that process")
    found = leftovers()
    release(fd)
    return found


def make_mount_points():
    """Mount points on the machine; those that were not there before are removed afterwards."""
    made = []
    for path in (*daemons.MOUNTS.values(), daemons.BIN_DIR):
        if not os.path.isdir(path):
            os.makedirs(path)
            made.append(path)
    MADE_DIRS.write_text("".join(p + "\n" for p in made))
