"""From a Topology to namespaces, veth pairs, addresses and routes; and the same for one node again."""
import nat
import netns
import routers
from topology import ROUTER_UNDERLAY


def port(node):
    """Name of a node's end in the underlay's namespace (15 characters at most)."""
    return "u-" + node.name[:12]


def build(topology, mtu, strict_wire, cc_saved):
    """Everything below the daemons. Forwarding stays off: the agents turn it on once their rules stand."""
    for node in topology.nodes.values():
        add_namespace(node)
    if topology.path:
        routers.build(topology, mtu, strict_wire)
    else:
        build_bridge(topology, mtu, strict_wire)
    for host, gateway in topology.site_links():
        netns.veth(host.netns, "site0", gateway.netns, "site0", mtu)
        netns.offloads(host.netns, "site0", False)
        netns.offloads(gateway.netns, "site0", False)
    for node in topology.nodes.values():
        configure(topology, node)
    if topology.nat:
        nat.route(topology, topology.nat)
        nat.translate(topology.nat)
    netns.set_cubic([h.netns for h in topology.with_role("host")], cc_saved)


def build_bridge(topology, mtu, strict_wire):
    """One bridge with a port for each gateway and the controller."""
    netns.add(netns.UNDERLAY)
    netns.ip(netns.UNDERLAY, "link", "add", netns.BRIDGE, "mtu", str(mtu), "type", "bridge", "mcast_snooping", "0")
    netns.plain_bridging(netns.UNDERLAY)
    # The default router of the underlay: a packet that leaks out of a gateway in plain has somewhere to go.
    for address in ROUTER_UNDERLAY:
        netns.ip(netns.UNDERLAY, "addr", "add", address, "dev", netns.BRIDGE, *nodad(address))
    netns.ip(netns.UNDERLAY, "link", "set", netns.BRIDGE, "up")
    for node in topology.underlay_nodes():
        if node is topology.nat:
            nat.build(node, port(node), mtu, strict_wire)
            continue
        netns.veth(netns.UNDERLAY, port(node), node.netns, "underlay0", mtu)
        netns.ip(netns.UNDERLAY, "link", "set", port(node), "master", netns.BRIDGE, "up")
        netns.offloads(netns.UNDERLAY, port(node), strict_wire)
        netns.offloads(node.netns, "underlay0", strict_wire)


def add_namespace(node):
    netns.add(node.netns)
    netns.sysctl(node.netns, netns.SYSCTLS)
    if node.role == "gateway":
        netns.sysctl(node.netns, netns.GATEWAY_SYSCTLS)


def nodad(address):
    return ["nodad"] if ":" in address else []


def configure(topology, node):
    """Addresses and routes of one node, whose interfaces exist and are bare."""
    for interface in {node.site_interface, node.underlay_interface} - {None}:
        netns.ip(node.netns, "link", "set", interface, "up")
    for address in node.site_addresses + node.plain_addresses:
        netns.ip(node.netns, "addr", "add", address, "dev", "site0", *nodad(address))
    if node.role == "host":
        route_host(topology, node)
    if node.underlay and topology.path:
        routers.route_underlay(topology, node)
    elif node.underlay:
        route_underlay(topology, node)
    for gateway, prefix, hop in topology.plain_routes():
        if gateway is node:
            if topology.path:
                hop = routers.next_hop(topology, node)[":" in prefix]
            elif node is topology.nat:
                hop = node.nat_inside[":" in prefix]
            netns.ip(node.netns, "route", "add", prefix, "via", hop, "dev", "underlay0", "onlink")


def route_host(topology, host):
    """Everything to the site's gateway; the plain-routing prefixes from the plain address."""
    gateway = topology.gateway_of(host.site)
    for own, theirs in zip(host.site_addresses, gateway.site_addresses):
        family = "::/0" if ":" in own else "0.0.0.0/0"
        netns.ip(host.netns, "route", "add", family, "via", bare(theirs), "dev", "site0", "src", bare(own))
    for own, theirs, prefix in zip(host.plain_addresses, gateway.plain_addresses, ("198.18.0.0/16", "fd18::/16")):
        netns.ip(host.netns, "route", "add", prefix, "via", bare(theirs), "dev", "site0", "src", bare(own))


def route_underlay(topology, node):
    """Host addresses with on-link routes to the others', so that no prefix covers a site by accident, and a
    default route through the underlay's router, as a cloud machine has."""
    for address in node.underlay:
        netns.ip(node.netns, "addr", "add", address, "dev", "underlay0", *nodad(address))
    others = [n.reached_at for n in topology.underlay_nodes() if n is not node] + [ROUTER_UNDERLAY]
    routers_here = ROUTER_UNDERLAY
    if node is topology.nat:
        others, routers_here = [node.nat_inside], node.nat_inside
    for theirs in others:
        for own, address in zip(node.underlay, theirs):
            netns.ip(node.netns, "route", "add", address, "dev", "underlay0", "src", own)
    for own, router in zip(node.underlay, routers_here):
        family = "::/0" if ":" in own else "0.0.0.0/0"
        netns.ip(node.netns, "route", "add", family, "via", router, "dev", "underlay0", "src", own)
    for address in node.reached_at:
        # The router's neighbour advertisements need a way back.
        netns.ip(netns.UNDERLAY, "route", "add", address, "dev", netns.BRIDGE)


def bare(address):
    return address.split("/")[0]


def renew(topology, node, cc_saved, strict_wire):
    """A reboot: the interfaces are parked, the namespace with all that was in it goes, a new one takes them."""
    interfaces = sorted({i for i in (node.site_interface, node.underlay_interface) if i})
    for interface in interfaces:
        netns.ip(node.netns, "link", "set", interface, "down")
        netns.ip(node.netns, "link", "set", interface, "name", "park-" + interface, "netns", netns.UNDERLAY)
    netns.delete(node.netns)
    for address in node.reached_at:
        netns.ip(netns.UNDERLAY, "route", "del", address, "dev", netns.BRIDGE)
    add_namespace(node)
    for interface in interfaces:
        netns.ip(netns.UNDERLAY, "link", "set", "park-" + interface, "name", interface, "netns", node.netns)
        netns.offloads(node.netns, interface, strict_wire and interface == "underlay0")
    configure(topology, node)
    if node.role == "host":
        netns.set_cubic([node.netns], cc_saved)


def cut(a, b):
    """Drops everything between two nodes on the underlay, silently and in both directions."""
    rules = ["add table bridge hawser_lab",
             "add chain bridge hawser_lab cut { type filter hook forward priority 0; }"]
    for one, other in ((a, b), (b, a)):
        rules.append(f'add rule bridge hawser_lab cut iifname "{port(one)}" oifname "{port(other)}" drop')
    netns.in_ns(netns.UNDERLAY, "nft", "-f", "-", stdin="\n".join(rules) + "\n")


def heal():
    netns.in_ns(netns.UNDERLAY, "nft", "delete", "table", "bridge", "hawser_lab", check=False)


def remove():
    """All namespaces of the lab with every process in them."""
    for ns in netns.listed():
        netns.kill_all(ns)
    for ns in netns.listed():
        netns.delete(ns)
