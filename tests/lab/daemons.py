"""The processes of a node: how each is started (user, capabilities, files) and ended."""
import contextlib
import json
import os
import pathlib
import shutil
import signal
import sys
import time
import uuid

import netns
import state
from netns import LabError

LAB = pathlib.Path(__file__).resolve().parent
ROOT = LAB.parents[1]

# The users of packaging/, by fixed numbers: no account is made.
UID = {"controller": 18451, "agent": 18452, "dataplane": 18453}
GID = 18450
AGENT_CAPS = ("net_admin", "net_raw", "bpf")

BINARIES = {
    "hawser-controller": "controller",
    "hawserctl": "controller/cli",
    "hawser-agent": "agent/control",
    "hawser-agent-keylog": "agent/control",
    "hawser-dataplane": "agent/dataplane",
    "hawser-dataplane-launch": "agent/launcher",
}
BIN_DIR = "/run/hawser-lab/bin"
CONSOLE_DIR = BIN_DIR + "/webui"
KEYLOG = "/var/lib/hawser/keylog"
# Where a node sees its own directories: mount points on the machine, private per node.
MOUNTS = {"run": "/run/hawser", "lib": "/var/lib/hawser", "etc": "/etc/hawser"}


def stage(build):
    """Copies the programs beside each other into BUILD/lab-bin. A build tree may lie in a folder that the
    daemons' users cannot enter, so nodes see this copy by a bind mount."""
    staged = build / "lab-bin"
    staged.mkdir(exist_ok=True)
    for name, folder in BINARIES.items():
        source = build / folder / name
        if not source.is_file():
            if name.endswith("-keylog"):
                continue
            raise LabError(f"{source} is not built: cmake --preset release && cmake --build --preset release")
        temporary = staged / (name + ".new")
        shutil.copy2(source, temporary)
        temporary.rename(staged / name)
    staged.chmod(0o755)
    stage_console(build, staged / "webui")
    return staged


def stage_console(build, staged):
    """The console's files, where the build has them."""
    shutil.rmtree(staged, ignore_errors=True)
    if (build / "webui" / "dist" / "index.html").is_file():
        shutil.copytree(build / "webui" / "dist", staged)


def node_dir(name):
    return state.NODES / name


def make_dirs(node):
    """A node's directories, kept over its reboot save run/ and boot_id."""
    base = node_dir(node.name)
    for sub in ("lib", "etc", "log"):
        (base / sub).mkdir(parents=True, exist_ok=True)
    owner = UID["controller"] if node.role == "controller" else UID["agent"]
    os.chown(base / "lib", owner, GID)
    (base / "lib").chmod(0o700)
    (base / "etc").chmod(0o755)
    # The agent deletes the token after use.
    os.chown(base / "etc", owner, GID)
    fresh_boot(node)


def fresh_boot(node):
    """What a boot makes anew: /run/hawser and the boot id."""
    base = node_dir(node.name)
    shutil.rmtree(base / "run", ignore_errors=True)
    (base / "run").mkdir()
    os.chown(base / "run", 0, GID)
    (base / "run").chmod(0o1770)
    (base / "run" / "boot_id").write_text(str(uuid.uuid4()) + "\n")
    (base / "run" / "boot_id").chmod(0o644)


def write_settings(node, name, settings):
    path = node_dir(node.name) / "etc" / name
    path.write_text(json.dumps(settings, indent=2) + "\n")
    path.chmod(0o644)


def write_token(node, token):
    path = node_dir(node.name) / "etc" / "token"
    path.write_text(token + "\n")
    path.chmod(0o600)
    os.chown(path, UID["agent"], GID)


def log_file(name, process):
    return node_dir(name) / "log" / (process + ".log")


def log_tail(name, process, lines=12):
    try:
        text = log_file(name, process).read_text(errors="replace").splitlines()[-lines:]
    except OSError:
        text = []
    return "\n".join([f"--- last lines of {process} on {name}:"] + (text or ["(nothing)"]))


def detach(argv, log, keep_fds=(), extra_environment=None):
    """Starts a program as a child of nobody here (double fork), in a session of its own; returns its pid."""
    environment = {**(extra_environment or {})}
    environment |= {k: v for k, v in os.environ.items()
                   if k in ("PATH", "LANG", "TZ", "HAWSER_TEST_RUN") or k.endswith("SAN_OPTIONS")}
    read_end, write_end = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.setsid()
            grandchild = os.fork()
            if grandchild:
                os.write(write_end, str(grandchild).encode())
                os._exit(0)
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
            out = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
            os.dup2(out, 1)
            os.dup2(out, 2)
            # Nothing of the caller's stays open in a daemon, not even what its own caller left open.
            for fd in map(int, os.listdir("/proc/self/fd")):
                if fd > 2:
                    with contextlib.suppress(OSError):
                        os.set_inheritable(fd, fd in keep_fds)
            os.chdir("/")
            os.execvpe(argv[0], argv, environment)
        finally:
            os._exit(127)
    os.close(write_end)
    with os.fdopen(read_end) as pipe:
        pid = int(pipe.read())
    os.waitpid(child, 0)
    return pid


def enter(name, supervisor):
    """Prefix of a command that runs in a node's namespaces."""
    return ["nsenter", f"--net={netns.path(netns.PREFIX + name)}", f"--mount=/proc/{supervisor}/ns/mnt",
            f"--root=/proc/{supervisor}/root"]


def as_user(process, caps=()):
    """setpriv as packaging's units have it: own uid, group hawser, only the named capabilities."""
    if caps:
        wanted = ",".join("+" + c for c in caps)
        limits = [f"--inh-caps=-all,{wanted}", f"--ambient-caps=-all,{wanted}", f"--bounding-set=-all,{wanted}"]
    else:
        limits = ["--inh-caps=-all", "--ambient-caps=-all", "--bounding-set=-all"]
    return ["setpriv", f"--reuid={UID[process]}", f"--regid={GID}", "--clear-groups", "--no-new-privs", *limits]


def start_supervisor(node, build):
    """The process that holds the node's mount namespace, and at a gateway keeps its dataplane running."""
    base = node_dir(node.name)
    steps = ["umount -l /sys && mount -t sysfs sysfs /sys"]
    # A node of its own: who may open the machine's differs (udev says everybody).
    steps.append("mount -t tmpfs -o mode=755 tmpfs /dev/net && mknod -m 666 /dev/net/tun c 10 200")
    steps += [f"mount --bind {base / sub} {point}" for sub, point in MOUNTS.items()]
    steps += [f"mount --bind {build / 'lab-bin'} {BIN_DIR}", 'exec "$@"']
    command = []
    if node.role == "gateway":
        command = [*as_user("dataplane"), f"{BIN_DIR}/hawser-dataplane-launch",
                   "--config", "/etc/hawser/dataplane.json"]
    ready = base / "run" / "supervised"
    argv = ["nsenter", f"--net={netns.path(node.netns)}", sys.executable, str(LAB / "private_mounts.py"),
            "sh", "-ec", "\n".join([*steps[:-1], f"touch {ready}", steps[-1]]), "sh",
            sys.executable, str(LAB / "supervise.py"), node.name, *command]
    pid = detach(argv, log_file(node.name, "dataplane" if command else "supervisor"))
    state.set_pid(node.name, "supervisor", pid)
    return pid, ready


def start(name, process):
    """Starts the agent or the controller of a node whose supervisor runs."""
    current = state.load()
    supervisor = current["nodes"][name]["pids"]["supervisor"]
    program = {"agent": "hawser-agent", "controller": "hawser-controller"}[process]
    caps = AGENT_CAPS if process == "agent" else ()
    environment = {}
    if process == "agent" and keylog_wanted():
        program = "hawser-agent-keylog"
        environment["HAWSER_KEYLOG_FILE"] = KEYLOG
    argv = [*enter(name, supervisor), *as_user(process, caps), f"{BIN_DIR}/{program}",
            "--config", f"/etc/hawser/{process}.json"]
    pid = detach(argv, log_file(name, process), extra_environment=environment)
    state.set_pid(name, process, pid)
    wait_entered(pid, netns.PREFIX + name)
    return pid


def wait_entered(pid, ns, timeout=5):
    """Until a new process has reached its namespace, or has ended: before that a kill would not find it there."""
    deadline = time.monotonic() + timeout
    while os.path.exists(f"/proc/{pid}") and not alive(pid, ns) and time.monotonic() < deadline:
        time.sleep(0.002)


def keylog_wanted():
    """Set by lab.Options(keylog=True): agents of a build for tests, which write their SA keys to a file."""
    return (state.DIR / "keylog").exists()


def read_keylog(name):
    """[{link, tunnel, direction, spi, suite, epoch, key, salt}] of a gateway."""
    path = node_dir(name) / "lib" / pathlib.Path(KEYLOG).name
    return [json.loads(line) for line in path.read_text().splitlines()]


def alive(pid, ns):
    """True while any thread of `pid` runs in that namespace: a number that another process got does not count, and a
    process whose first thread has ended may still hold its sockets."""
    wanted = netns.inode(netns.path(ns))
    try:
        threads = os.listdir(f"/proc/{pid}/task") if pid and wanted else []
    except OSError:
        threads = []
    return any(netns.inode(f"/proc/{pid}/task/{thread}/ns/net") == wanted for thread in threads)


def end(name, process, sig=signal.SIGKILL, timeout=10):
    """Sends the signal and waits until the process is gone. Returns its pid, 0 if none ran."""
    ns = netns.PREFIX + name
    pid = state.get_pid(state.load(), name, process)
    if not alive(pid, ns):
        return 0
    os.kill(pid, sig)
    deadline = time.monotonic() + timeout
    while alive(pid, ns):
        if time.monotonic() > deadline:
            raise LabError(f"{process} on {name} (pid {pid}) does not end on signal {sig}")
        time.sleep(0.01)
    return pid


def bootstrap(name, url):
    """`hawser-controller bootstrap` in its node, as its user; returns what it printed."""
    supervisor = state.load()["nodes"][name]["pids"]["supervisor"]
    return netns.run(*enter(name, supervisor), *as_user("controller"), f"{BIN_DIR}/hawser-controller",
                     "bootstrap", "--config", "/etc/hawser/controller.json", "--url", url)


def agent_status(name):
    """`hawser-agent status --json` of a gateway, decoded."""
    supervisor = state.load()["nodes"][name]["pids"]["supervisor"]
    out = netns.run(*enter(name, supervisor), f"{BIN_DIR}/hawser-agent", "status", "--json",
                    "--config", "/etc/hawser/agent.json", timeout=10)
    return json.loads(out)


