"""The whole lab: up, down, reboot, and the handle by which tests and the demo use it."""
import contextlib
import os
import pathlib
import signal
import subprocess

import daemons
import fleet
import lifetime
import netns
import network
import rest
import routers
import state
from expect import say, wait_for
from netns import LabError
from topology import Topology

# Which build the running lab uses, for reboots.
BUILD = state.DIR / "build"
DEFAULT_BUILD = daemons.ROOT / "build" / "release"


class Lab:
    """A running lab, known by its state file."""

    def __init__(self):
        self.reload()

    def reload(self):
        self.state = state.load()
        self.topology = Topology(self.state["topology"], self.state.get("nat"))
        controller = self.state["controller"]
        token = pathlib.Path(controller["token_file"]).read_text().strip()
        self.api = rest.Api("hw-controller", controller["url"], token, controller["ca_file"])

    @property
    def gateways(self):
        return [g.name for g in self.topology.with_role("gateway")]

    def build_dir(self):
        return BUILD.read_text().strip()

    def node(self, name):
        if name not in self.topology.nodes:
            raise LabError(f"no node {name!r}; there are: {', '.join(self.topology.nodes)}")
        return self.topology.nodes[name]

    def pid(self, name, process):
        return state.get_pid(state.load(), name, process)

    def prefix(self, name):
        """Command prefix that enters a node's namespaces."""
        self.node(name)
        return daemons.enter(name, state.load()["nodes"][name]["pids"]["supervisor"])

    def exec(self, name, *argv, check=True, timeout=60, stdin=None):
        return netns.run(*self.prefix(name), *argv, check=check, timeout=timeout, stdin=stdin)

    def popen(self, name, *argv, **options):
        return subprocess.Popen([*self.prefix(name), *argv], **options)

    def status(self, name):
        return daemons.agent_status(name)

    def kill(self, name, process, sig=signal.SIGKILL):
        return daemons.end(name, process, sig)

    def start(self, name, process):
        if process == "dataplane":
            return wait_dataplane(name)
        if daemons.alive(self.pid(name, process), netns.PREFIX + name):
            return self.pid(name, process)
        pid = daemons.start(name, process)
        if process == "controller":
            wait_ready(self.api)
        return pid

    def restart(self, name, process):
        self.kill(name, process, signal.SIGTERM)
        return self.start(name, process)

    def reboot(self, name):
        """Processes, TUN, addresses, routes and rules of the node go and come anew; its state directory stays."""
        node = self.node(name)
        self.needs_bridge("reboot")
        running = [p for p in ("controller", "agent") if daemons.alive(self.recorded(name, p), node.netns)]
        netns.kill_all(node.netns)
        network.renew(self.topology, node, lifetime.ALLOWED_CC, self.state["strict_wire"])
        daemons.fresh_boot(node)
        start_supervisors([node], pathlib.Path(BUILD.read_text().strip()))
        for process in running:
            daemons.start(name, process)

    def recorded(self, name, process):
        """A pid of the state file, or None where this kind of node has no such process."""
        role = self.node(name).role
        has = {"controller": ("controller",), "gateway": ("agent", "dataplane")}.get(role, ())
        return self.pid(name, process) if process in has else None

    def wait_links(self, timeout=60):
        return fleet.wait_links(self.api, self.gateways, timeout)

    def cut(self, a, b=None):
        """Silence between two underlay nodes, or between one and everybody."""
        self.needs_bridge("cut")
        others = [b] if b else [n.name for n in self.topology.underlay_nodes() if n.name != a]
        for other in others:
            network.cut(self.node(a), self.node(other))

    def needs_bridge(self, verb):
        if self.topology.path:
            raise LabError(f"{verb}: not where the underlay is a row of routers")

    def hop(self, name, mtu=None, icmp=None):
        """What a router of the row does: MTU of the line to its right, ICMP errors that it never sends."""
        routers.hop(self.topology, name, mtu, icmp)

    def reset_hop(self, name):
        routers.hop(self.topology, name, self.state["mtu"], "none")

    def heal(self):
        network.heal()

    def close(self):
        """Ends the lab, once; for the process that brought it up without `stay`."""
        with lifetime.undisturbed():
            fd, self.lock_fd = self.lock_fd, None
            if fd is not None:
                lifetime.release(fd)


def first_state(topology, options):
    """The state file's form (README.md); ids and overlay addresses come after enrolment."""
    controller = topology.with_role("controller")[0]
    nodes = {}
    for node in topology.nodes.values():
        gateway = node.role == "gateway"
        nodes[node.name] = {
            "netns": node.netns,
            "role": node.role,
            "site": node.site,
            "site_id": None,
            "gateway_id": None,
            "addresses": {
                "site": [network.bare(a) for a in node.site_addresses],
                "underlay": node.underlay,
                "overlay": [],
                "plain": [network.bare(a) for a in node.plain_addresses],
            },
            "interfaces": {
                "site": node.site_interface,
                "underlay": node.underlay_interface,
                "tun": "hawser0" if gateway else None,
            },
            "state_dir": str(daemons.node_dir(node.name) / "lib"),
            "pids": {"agent": None, "dataplane": None, "supervisor": None},
        }
    behind = {"nat": topology.nat.name} if topology.nat else {}
    if topology.nat:
        nodes[topology.nat.name]["addresses"]["public"] = topology.nat.public
    row = {"path": topology.path, "hops": routers.first_hops(topology, options.mtu)} if topology.path else {}
    for name, own in row.get("hops", {}).items():
        nodes[name]["addresses"]["underlay"] = own["left"] + own["right"]
        nodes[name]["interfaces"] = {"left": "left0", "right": "right0"}
        nodes[name]["pids"] = {"supervisor": None}
    return {
        "version": state.VERSION,
        "topology": topology.name,
        "mtu": options.mtu,
        "tunnels": options.tunnels,
        "suite": options.suite,
        "strict_wire": options.strict_wire,
        "controller": {
            "url": fleet.controller_url(controller, fleet.CONTROLLER_PORT),
            "agent_url": fleet.controller_url(controller, fleet.AGENT_PORT),
            "token_file": str(state.DIR / "admin-token"),
            "ca_file": str(daemons.node_dir(controller.name) / "lib" / "web-ca.pem"),
            "state_dir": str(daemons.node_dir(controller.name) / "lib"),
            "pid": None,
        },
        "nodes": nodes,
        **row,
        **behind,
    }


def start_supervisors(nodes, build):
    started = [(node, *daemons.start_supervisor(node, build)) for node in nodes]
    for node, pid, ready in started:
        wait_for(f"supervisor of {node.name}", ready.exists, 10, 0.02,
                 lambda n=node: daemons.log_tail(n.name, "dataplane" if n.role == "gateway" else "supervisor"))


def wait_dataplane(name):
    """The pid of a dataplane that listens; a killed one's socket is replaced by its successor's."""
    socket = daemons.node_dir(name) / "run" / "dataplane.sock"

    def listening():
        pid = state.get_pid(state.load(), name, "dataplane")
        return pid if socket.exists() and daemons.alive(pid, netns.PREFIX + name) else None

    return wait_for(f"dataplane on {name}", listening, 15, 0.05, lambda: daemons.log_tail(name, "dataplane"))


def wait_ready(api, timeout=15):
    """Until the controller answers /readyz; its log explains if it never does."""
    def ready():
        return api.raw("GET", "/readyz").status == 200
    wait_for("the controller", ready, timeout, 0.05, lambda: daemons.log_tail("controller", "controller", 20))


def start_controller(topology, settings):
    node = topology.with_role("controller")[0]
    fleet.write_controller_settings(node, settings)
    out = daemons.bootstrap(node.name, fleet.controller_url(node, fleet.CONTROLLER_PORT))
    token_file = pathlib.Path(state.load()["controller"]["token_file"])
    token_file.touch(mode=0o600)
    token_file.write_text(token_from(out) + "\n")
    daemons.start(node.name, "controller")
    lab = Lab()
    wait_ready(lab.api)
    return lab


def token_from(text):
    """The admin token in bootstrap's output: the last word of the line that names it."""
    for line in text.splitlines():
        if "token" in line.lower() and line.split()[-1:]:
            return line.split()[-1]
    raise LabError(f"bootstrap printed no token:\n{text}")


def populate(lab, options):
    """Objects and enrolment; afterwards the state file knows every id and overlay address."""
    sites = fleet.create_sites(lab.api, lab.topology)
    fleet.create_connections(lab.api, lab.topology, sites, options.tunnels, options.suite)
    for gateway in lab.topology.with_role("gateway"):
        daemons.write_token(gateway, fleet.create_token(lab.api, sites[gateway.site], gateway.name))
    for name in lab.gateways:
        wait_dataplane(name)
        daemons.start(name, "agent")
    say("  agents enrol")
    known = fleet.wait_enrolled(lab.api, lab.topology)
    with state.edit() as current:
        for node in current["nodes"].values():
            node["site_id"] = sites.get(node["site"])
        for name in lab.gateways:
            current["nodes"][name]["gateway_id"] = known[name]["id"]
            current["nodes"][name]["addresses"]["overlay"] = fleet.overlay_addresses(known[name])


def ping_across(lab):
    """One echo from end to end in both families; a link that is up forwards."""
    first, last = lab.topology.plain_path[0], lab.topology.plain_path[-1]
    for address in lab.state["nodes"][last]["addresses"]["site"]:
        wait_for(f"ping from {first} to {last} ({address})",
                 lambda a=address: lab.exec(first, "ping", "-n", "-c", "1", "-W", "1", a), 15)


def prepare(options):
    """The network, settings and dataplanes: everything that a machine has before anybody configures it."""
    topology = Topology(options.topology, options.nat)
    build = pathlib.Path(options.build).resolve()
    daemons.stage(build)
    lifetime.make_mount_points()
    BUILD.write_text(f"{build}\n")
    if options.keylog:
        (state.DIR / "keylog").touch()
    state.save(first_state(topology, options))
    say(f"lab: network {topology.name}, underlay MTU {options.mtu}" + (", strict wire" if options.strict_wire else ""))
    network.build(topology, options.mtu, options.strict_wire, lifetime.ALLOWED_CC)
    for node in topology.nodes.values():
        daemons.make_dirs(node)
    gateways = topology.with_role("gateway")
    # Neighbours share a core where there are fewer cores than gateways: what one sends is in the other's cache.
    for number, gateway in enumerate(gateways):
        fleet.write_gateway_settings(gateway, options.agent_settings, options.dataplane_settings,
                                     number * os.cpu_count() // len(gateways))
    start_supervisors(list(topology.nodes.values()), build)
    return topology


@contextlib.contextmanager
def prepared(options):
    """Machines as `prepare` leaves them, for who does the rest by hand; taken down at the end."""
    lock_fd = lifetime.take_lock()
    try:
        lifetime.clean()
        yield prepare(options)
    finally:
        lifetime.release(lock_fd)


def bring_up(options):
    topology = prepare(options)
    say("lab: controller")
    lab = start_controller(topology, options.controller_settings)
    say("lab: gateways")
    populate(lab, options)
    lab.wait_links()
    ping_across(lab)
    # Only now: keying never meets a black hole.
    for name, what in options.hops.items():
        lab.hop(name, **what)
    return Lab()


class Options:
    """What `lab up` can be told; tests give more."""

    def __init__(self, topology, mtu=1500, tunnels=8, suite="aes-256-gcm", strict_wire=False, build=None,
                 agent_settings=None, dataplane_settings=None, controller_settings=None, keylog=False,
                 hops=None, nat=None):
        self.topology = topology
        self.mtu = mtu
        self.tunnels = tunnels
        self.suite = suite
        self.strict_wire = strict_wire
        self.build = build or os.environ.get("HAWSER_BUILD") or DEFAULT_BUILD
        self.agent_settings = agent_settings
        self.dataplane_settings = dataplane_settings
        self.controller_settings = controller_settings
        self.keylog = keylog
        self.hops = hops or {}  # {router: {mtu, icmp}}
        self.nat = nat  # a gateway's name


def up(options, stay=False, keep=False):
    """Brings a lab up; on failure takes it down again, or with `keep` leaves it to be looked at. With `stay` it
    outlives this process; else the lock stays with the caller, whose death leaves a lab that the next `up` removes."""
    if os.geteuid() != 0:
        raise LabError("the lab needs root: it makes network namespaces")
    topology = Topology(options.topology, options.nat)
    for name, what in options.hops.items():
        routers.router(topology, name)
        routers.check(**{"mtu": None, "icmp": None, **what})
    lock_fd = lifetime.take_lock()
    try:
        if lifetime.leftovers():
            say("lab: cleaning up after a run that did not end in order")
        lifetime.clean()
        lab = bring_up(options)
    except BaseException:
        if keep:
            lifetime.keep(lock_fd)
        else:
            lifetime.release(lock_fd)
        raise
    lab.lock_fd = lock_fd
    if stay:
        lifetime.keep(lock_fd)
        os.close(lock_fd)
    return lab
