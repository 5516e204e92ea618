"""A topology file becomes nodes with names, addresses and routes. Pure: touches nothing.

Address plan, N being a site's number:
    site CIDRs       10.N.0.0/16           fd0N::/48
    site network     10.N.1.0/24           fd0N:0:0:1::/64     gateway .1, host .10
    underlay         10.N.0.1              fd0N::1             a gateway, inside its site's CIDRs
    controller       192.0.2.9             2001:db8:9::9
    behind NAT       203.0.113.N           2001:db8:113::N     what the others reach such a gateway at
    underlay router  192.0.2.1             2001:db8:9::1       default route of every underlay node
    plain routing    198.18.N.0/24         fd18:N::/64         gateway .1, host .10; outside every site CIDR
A row of routers (`path`) has its addresses in routers.py.
"""
import json
import pathlib

TOPOLOGIES = pathlib.Path(__file__).resolve().parent / "topologies"

CONTROLLER_UNDERLAY = ["192.0.2.9", "2001:db8:9::9"]
ROUTER_UNDERLAY = ["192.0.2.1", "2001:db8:9::1"]


class Node:
    """One namespace. `site_addresses` and `plain_addresses` carry their prefix length, the others are bare. `public`:
    what a gateway behind 1:1 NAT is translated to, `nat_inside`: the translating router's own addresses on its side."""

    def __init__(self, name, role, site):
        self.name = name
        self.role = role
        self.site = site
        self.netns = "hw-" + name
        self.underlay = []
        self.site_addresses = []
        self.plain_addresses = []
        self.public = []
        self.nat_inside = []

    @property
    def reached_at(self):
        """Underlay addresses as the others see them."""
        return self.public or self.underlay

    @property
    def site_interface(self):
        """A gateway without hosts behind it has one interface for both roles."""
        if self.site_addresses:
            return "site0"
        return "underlay0" if self.role == "gateway" else None

    @property
    def underlay_interface(self):
        return "underlay0" if self.underlay else None


class Topology:
    """`nat`: name of the one gateway behind 1:1 NAT, or None."""

    def __init__(self, name, nat=None):
        path = TOPOLOGIES / (name + ".json")
        if not path.is_file():
            known = ", ".join(sorted(p.stem for p in TOPOLOGIES.glob("*.json")))
            raise ValueError(f"no topology {name!r}; there are: {known}")
        data = json.loads(path.read_text())
        self.name = name
        self.sites = data["sites"]
        self.connections = [tuple(pair) for pair in data["connections"]]
        self.plain_path = data["plain_path"]
        # Names of the nodes in a row where the underlay is routers; empty where it is one bridge.
        self.path = data.get("path", [])
        self.controller_at = data.get("controller_at")
        self.nodes = {n: Node(n, d["role"], d.get("site")) for n, d in data["nodes"].items()}
        self._number()
        self.nat = self._behind_nat(nat) if nat else None

    def _behind_nat(self, name):
        node = self.nodes.get(name)
        if not node or node.role != "gateway" or self.path:
            raise ValueError(f"{name!r} is no gateway on a bridge that could be put behind NAT")
        n = self.sites[node.site]["number"]
        node.public = [f"203.0.113.{n}", f"2001:db8:113::{n}"]
        node.nat_inside = [f"10.{n}.0.254", f"fd0{n}::fe"]
        return node

    def _number(self):
        for host in self.with_role("host"):
            n = self.sites[host.site]["number"]
            host.site_addresses = [f"10.{n}.1.10/24", f"fd0{n}:0:0:1::10/64"]
            host.plain_addresses = [f"198.18.{n}.10/24", f"fd18:{n}::10/64"]
            gateway = self.gateway_of(host.site)
            gateway.site_addresses = [f"10.{n}.1.1/24", f"fd0{n}:0:0:1::1/64"]
            gateway.plain_addresses = [f"198.18.{n}.1/24", f"fd18:{n}::1/64"]
        for gateway in self.with_role("gateway"):
            n = self.sites[gateway.site]["number"]
            gateway.underlay = [f"10.{n}.0.1", f"fd0{n}::1"]
        for controller in self.with_role("controller"):
            controller.underlay = list(CONTROLLER_UNDERLAY)

    def with_role(self, role):
        return [n for n in self.nodes.values() if n.role == role]

    def gateway_of(self, site):
        return next(n for n in self.with_role("gateway") if n.site == site)

    def cidrs(self, site):
        n = self.sites[site]["number"]
        return [f"10.{n}.0.0/16", f"fd0{n}::/48"]

    def underlay_nodes(self):
        return [n for n in self.nodes.values() if n.underlay]

    def site_links(self):
        """(host, gateway) pairs that share one veth."""
        return [(h, self.gateway_of(h.site)) for h in self.with_role("host")]

    def plain_routes(self):
        """[(gateway, prefix, next hop)]: the plain-routing baseline in table main, both directions."""
        routes = []
        for ends in (self.plain_path, self.plain_path[::-1]):
            gateways, far = ends[1:-1], self.nodes[ends[-1]]
            n = self.sites[far.site]["number"]
            for gateway, following in zip(gateways, gateways[1:]):
                hops = self.nodes[following].reached_at
                routes.append((self.nodes[gateway], f"198.18.{n}.0/24", hops[0]))
                routes.append((self.nodes[gateway], f"fd18:{n}::/64", hops[1]))
        return routes
