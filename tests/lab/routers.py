"""An underlay of routers in a row in place of the one bridge: lines, routes, and what one hop is told to do."""
import netns
import state
from netns import LabError
from topology import ROUTER_UNDERLAY

ICMP_KINDS = ("all", "too-big", "time-exceeded", "none")
MTU_MIN, MTU_MAX = 1280, 65521
# The controller's own line is narrower than any step, so that its traffic passes them all.
CONTROLLER_MTU = 1280

# They answer every packet, from the address that it came in by.
ROUTER_SYSCTLS = {
    "net.ipv4.ip_forward": "1",
    "net.ipv6.conf.all.forwarding": "1",
    "net.ipv4.icmp_ratelimit": "0",
    "net.ipv6.icmp.ratelimit": "0",
    "net.ipv4.icmp_errors_use_inbound_ifaddr": "1",
}
DROPS = {
    "too-big": ["icmp type destination-unreachable icmp code 4 drop", "icmpv6 type packet-too-big drop"],
    "time-exceeded": ["icmp type time-exceeded drop", "icmpv6 type time-exceeded drop"],
    "all": ["icmp type { destination-unreachable, time-exceeded, parameter-problem } drop",
            "icmpv6 type { destination-unreachable, packet-too-big, time-exceeded, parameter-problem } drop"],
    "none": [],
}


def v6(number, rest):
    """As RFC 5952 writes it."""
    return f"2001:db8:a{f':{number:x}' if number else ''}::{rest}"


def line_prefixes(number):
    return [f"198.51.100.{4 * number}/30", v6(number, "/64")]


def line_ends(number):
    """([left v4, v6], [right v4, v6]), bare."""
    return ([f"198.51.100.{4 * number + 1}", v6(number, "1")], [f"198.51.100.{4 * number + 2}", v6(number, "2")])


def interface(node, side):
    return side + "0" if node.role == "router" else "underlay0"


def lines(topology):
    """[(number, left node, right node)]"""
    nodes = [topology.nodes[name] for name in topology.path]
    return [(number, *pair) for number, pair in enumerate(zip(nodes, nodes[1:]))]


def addresses(topology, name):
    """{left: [v4, v6], right: [v4, v6]} of a router, bare."""
    position = topology.path.index(name)
    return {"left": line_ends(position - 1)[1], "right": line_ends(position)[0]}


def build(topology, mtu, strict_wire):
    for number, left, right in lines(topology):
        netns.veth(left.netns, interface(left, "right"), right.netns, interface(right, "left"), mtu)
        for node, side in ((left, "right"), (right, "left")):
            netns.offloads(node.netns, interface(node, side), strict_wire)
            if node.role == "router":
                own = line_ends(number)[0 if side == "right" else 1]
                for address, prefix in zip(own, line_prefixes(number)):
                    netns.ip(node.netns, "addr", "add", f"{address}/{prefix.split('/')[1]}", "dev", side + "0",
                             *(["nodad"] if ":" in address else []))
                netns.ip(node.netns, "link", "set", side + "0", "up")
    hub = topology.nodes[topology.controller_at]
    controller = topology.with_role("controller")[0]
    netns.veth(hub.netns, "controller0", controller.netns, "underlay0", CONTROLLER_MTU)
    for address in ROUTER_UNDERLAY:
        netns.ip(hub.netns, "addr", "add", address, "dev", "controller0", *(["nodad"] if ":" in address else []))
    netns.ip(hub.netns, "link", "set", "controller0", "up")
    for name in topology.path:
        if topology.nodes[name].role == "router":
            netns.sysctl(topology.nodes[name].netns, ROUTER_SYSCTLS)
            route_router(topology, topology.nodes[name])


def destinations(topology, position):
    """[(what is reached, position of the node that has it on link, its interface there)] for a router at `position`:
    both gateways with their plain prefixes, every line, the controller."""
    found = []
    for end in (0, len(topology.path) - 1):
        gateway = topology.nodes[topology.path[end]]
        beside = 1 if end == 0 else end - 1
        n = topology.sites[gateway.site]["number"]
        found += [(a, beside, None) for a in gateway.underlay]
        found += [(p, beside, a) for p, a in zip((f"198.18.{n}.0/24", f"fd18:{n}::/64"), gateway.underlay)]
    hub = topology.path.index(topology.controller_at)
    found += [(a, hub, None) for a in topology.with_role("controller")[0].underlay]
    for number, _, _ in lines(topology):
        nearest = number if position <= number else number + 1
        found += [(p, nearest, None) for p in line_prefixes(number) if nearest != position]
    return found


def route_router(topology, router):
    """Everything on either side by the neighbour of that side; what is on link by the interface."""
    position = topology.path.index(router.name)
    for what, where, via in destinations(topology, position):
        if where != position:
            hops = line_ends(position)[1] if where > position else line_ends(position - 1)[0]
            argv = ["via", hops[":" in what]]
        else:
            argv = ["dev", on_link(topology, position, what)] + (["via", via, "onlink"] if via else [])
        netns.ip(router.netns, "route", "add", what, *argv)


def on_link(topology, position, what):
    if what in topology.with_role("controller")[0].underlay:
        return "controller0"
    first = topology.nodes[topology.path[0]]
    n = topology.sites[first.site]["number"]
    left = what in first.underlay or what in (f"198.18.{n}.0/24", f"fd18:{n}::/64")
    return "left0" if left and position == 1 else "right0"


def next_hop(topology, node):
    """[v4, v6] of the router beside a gateway or the controller."""
    if node.role == "controller":
        return ROUTER_UNDERLAY
    position = topology.path.index(node.name)
    return line_ends(0)[1] if position == 0 else line_ends(position - 1)[0]


def route_underlay(topology, node):
    """Own addresses, and everything by the router beside it."""
    for own, router in zip(node.underlay, next_hop(topology, node)):
        everything = "::/0" if ":" in own else "0.0.0.0/0"
        netns.ip(node.netns, "addr", "add", own, "dev", "underlay0", *(["nodad"] if ":" in own else []))
        netns.ip(node.netns, "route", "add", router, "dev", "underlay0", "src", own)
        netns.ip(node.netns, "route", "add", everything, "via", router, "dev", "underlay0", "src", own)


def first_hops(topology, mtu):
    """The state file's `hops`."""
    return {name: {**addresses(topology, name), "mtu_right": mtu, "icmp": "none"}
            for name in topology.path if topology.nodes[name].role == "router"}


def router(topology, name):
    if name not in topology.nodes or topology.nodes[name].role != "router":
        known = ", ".join(n.name for n in topology.with_role("router"))
        raise LabError(f"no router {name!r}; there are: {known or 'none in this topology'}")
    return topology.nodes[name]


def check(mtu, icmp):
    if mtu is not None and not MTU_MIN <= mtu <= MTU_MAX:
        raise LabError(f"MTU of a line: {MTU_MIN} to {MTU_MAX}, not {mtu}")
    if icmp is not None and icmp not in ICMP_KINDS:
        raise LabError(f"ICMP of a hop: {', '.join(ICMP_KINDS)}, not {icmp!r}")


def hop(topology, name, mtu=None, icmp=None):
    """`mtu`: of the line to its right, both ends. `icmp`: which errors it never sends."""
    node = router(topology, name)
    check(mtu, icmp)
    if mtu is not None:
        _, left, right = lines(topology)[topology.path.index(name)]
        netns.ip(left.netns, "link", "set", interface(left, "right"), "mtu", str(mtu))
        netns.ip(right.netns, "link", "set", interface(right, "left"), "mtu", str(mtu))
    if icmp is not None:
        rules = ["table inet hawser_lab", "delete table inet hawser_lab", "table inet hawser_lab {",
                 "chain out {", "type filter hook output priority 0;", *DROPS[icmp], "}", "}"]
        netns.in_ns(node.netns, "nft", "-f", "-", stdin="\n".join(rules) + "\n")
    with state.edit() as current:
        known = current["hops"][name]
        known["mtu_right"] = known["mtu_right"] if mtu is None else mtu
        known["icmp"] = known["icmp"] if icmp is None else icmp
