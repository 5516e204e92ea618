"""1:1 translation before one gateway, as clouds do it: the gateway has its own address alone, and a router between it and
the underlay lets it appear as its public one, in both families and both directions, ports kept."""
import netns
from topology import ROUTER_UNDERLAY

NS = "hw-nat"
INSIDE, OUTSIDE = "inside0", "outside0"
SYSCTLS = {"net.ipv4.ip_forward": "1", "net.ipv6.conf.all.forwarding": "1"}


def nodad(address):
    return ["nodad"] if ":" in address else []


def build(node, port, mtu, strict_wire):
    """The router and its lines; `port`: its end on the bridge."""
    netns.add(NS)
    netns.sysctl(NS, {**netns.SYSCTLS, **SYSCTLS})
    netns.veth(netns.UNDERLAY, port, NS, OUTSIDE, mtu)
    netns.veth(NS, INSIDE, node.netns, "underlay0", mtu)
    netns.ip(netns.UNDERLAY, "link", "set", port, "master", netns.BRIDGE, "up")
    for ns, interface in ((netns.UNDERLAY, port), (NS, OUTSIDE), (NS, INSIDE), (node.netns, "underlay0")):
        netns.offloads(ns, interface, strict_wire)
    for interface, addresses in ((INSIDE, node.nat_inside), (OUTSIDE, node.public)):
        netns.ip(NS, "link", "set", interface, "up")
        for address in addresses:
            netns.ip(NS, "addr", "add", address, "dev", interface, *nodad(address))


def route(topology, node):
    """Inwards to the gateway, outwards to the others and, for the plain-routing prefixes, by them."""
    for address in node.underlay:
        netns.ip(NS, "route", "add", address, "dev", INSIDE)
    for other in topology.underlay_nodes():
        for theirs, own in zip(other.reached_at, node.public) if other is not node else ():
            netns.ip(NS, "route", "add", theirs, "dev", OUTSIDE, "src", own)
    for router, own in zip(ROUTER_UNDERLAY, node.public):
        netns.ip(NS, "route", "add", router, "dev", OUTSIDE, "src", own)
        netns.ip(NS, "route", "add", "::/0" if ":" in own else "0.0.0.0/0", "via", router, "dev", OUTSIDE)
    for gateway, prefix, hop in topology.plain_routes():
        if gateway is node:
            netns.ip(NS, "route", "add", prefix, "via", hop, "dev", OUTSIDE, "onlink")
    for address in node.plain_addresses:
        v6 = ":" in address
        prefix = f"fd18:{topology.sites[node.site]['number']}::/64" if v6 else \
            f"198.18.{topology.sites[node.site]['number']}.0/24"
        netns.ip(NS, "route", "add", prefix, "via", node.underlay[v6], "dev", INSIDE, "onlink")


def translate(node):
    rules = ["table inet hawser_nat {", " chain arriving {", "  type nat hook prerouting priority dstnat;"]
    for family, own, public in zip(("ip", "ip6"), node.underlay, node.public):
        rules.append(f'  iifname "{OUTSIDE}" {family} daddr {public} dnat {family} to {own}')
    rules += [" }", " chain leaving {", "  type nat hook postrouting priority srcnat;"]
    for family, own, public in zip(("ip", "ip6"), node.underlay, node.public):
        rules.append(f'  oifname "{OUTSIDE}" {family} saddr {own} snat {family} to {public}')
    rules += [" }", " chain new {", "  type filter hook forward priority filter;", " }", "}"]
    netns.in_ns(NS, "nft", "-f", "-", stdin="\n".join(rules) + "\n")


def close(closed=True):
    """Closed, it lets nothing in but answers: the gateway can dial, and nobody can dial it."""
    rules = ["flush chain inet hawser_nat new"]
    if closed:
        rules.append(f'add rule inet hawser_nat new iifname "{OUTSIDE}" ct state new drop')
    netns.in_ns(NS, "nft", "-f", "-", stdin="\n".join(rules) + "\n")
