"""What a user's automation would do: sites, connections and tokens by the REST API, settings files, enrolment."""
import daemons
import netns
import state
from daemons import GID, UID
from expect import say, wait_for
from netns import LabError

CONTROLLER_PORT = 8443
AGENT_PORT = 8444


def controller_url(node, port):
    return f"https://{node.underlay[0]}:{port}"


def write_controller_settings(node, extra=None):
    daemons.write_settings(node, "controller.json", {
        "agent_urls": [controller_url(node, AGENT_PORT)],
        "user": str(UID["controller"]),
        "webui_dir": daemons.CONSOLE_DIR,
        **(extra or {}),
    })


def write_gateway_settings(node, agent=None, dataplane=None, first_core=0):
    """`first_core`: gateways of one machine share its cores, so that the workers of a single flow, which have one number in all
    of them, don't meet on one core."""
    daemons.write_settings(node, "agent.json", {
        "name": node.name,
        "site_interface": node.site_interface,
        "underlay_interface": node.underlay_interface,
        "boot_id_file": "/run/hawser/boot_id",
        "dataplane_user": str(UID["dataplane"]),
        "report_interval_seconds": 2,
        "cloud": "none",  # the machine's own is none of the lab's business
        **({"public_addresses": node.public} if node.public else {}),
        **(agent or {}),
    })
    daemons.write_settings(node, "dataplane.json", {
        "first_core": first_core,
        "agent_user": str(UID["agent"]),
        "socket_group": str(GID),
        **(dataplane or {}),
    })


def create_sites(api, topology):
    """{site name: id}"""
    ids = {}
    for name, site in topology.sites.items():
        made = api.post("/api/v1/sites", {
            "name": name, "provider": "onprem", "region": "lab", "role": site["role"],
            "cidrs": topology.cidrs(name),
        })
        ids[name] = made["id"]
    return ids


def create_connections(api, topology, sites, tunnels, suite):
    for a, b in topology.connections:
        body = {"name": f"{a}-{b}", "site_a_id": sites[a], "site_b_id": sites[b], "tunnels": tunnels}
        if suite:
            body["suites"] = [suite]
        if topology.nat and topology.nat.site in (a, b):
            body["path"] = "public"
        api.post("/api/v1/connections", body)


def create_token(api, site_id, gateway_name):
    made = api.post("/api/v1/enrolment-tokens", {"site_id": site_id, "gateway_name": gateway_name})
    return made["token"]


def failing_agents(names):
    return "\n".join(daemons.log_tail(n, p) for n in names for p in ("agent", "dataplane"))


def wait_enrolled(api, topology, timeout=30):
    """{gateway name: gateway as the API shows it}"""
    names = {g.name for g in topology.with_role("gateway")}

    def all_enrolled():
        known = {g["name"]: g for g in api.list("/api/v1/gateways") if g["state"] == "enrolled"}
        return known if names <= set(known) else None

    return wait_for("enrolment of " + ", ".join(sorted(names)), all_enrolled, timeout,
                    on_timeout=lambda: failing_agents(sorted(names)))


def link_states(names):
    """[(gateway, link of its status)]; OSError or LabError while an agent does not answer."""
    return [(n, link) for n in names for link in daemons.agent_status(n)["links"]]


def link_up(link):
    return link["state"] == "up" and all(t["state"] == "up" for t in link["tunnels"])


def wait_links(api, names, timeout=60):
    """Until every link that the planner made is up with all its tunnels, seen from both of its ends."""
    planned = wait_for("links from the planner", lambda: api.list("/api/v1/links"), timeout)
    shown = {"count": -1}

    def all_up():
        seen = link_states(names)
        up = [link for _, link in seen if link_up(link)]
        if len(up) != shown["count"]:
            shown["count"] = len(up)
            say(f"  links up: {len(up)} of {2 * len(planned)} ends")
        return seen if len(up) == 2 * len(planned) else None

    return wait_for("links", all_up, timeout, on_timeout=lambda: explain_links(names))


def explain_links(names):
    lines = []
    for name in names:
        try:
            status = daemons.agent_status(name)
        except (LabError, OSError, ValueError) as error:
            lines += [f"{name}: no status: {error}", daemons.log_tail(name, "agent")]
            continue
        for link in status["links"]:
            if not link_up(link):
                tunnels = sum(t["state"] == "up" for t in link["tunnels"])
                lines.append(f"{name} to {link.get('peer')}: {link['state']}, {tunnels} of {len(link['tunnels'])} "
                             f"tunnels up; {link.get('reason')}; keying {link.get('keying')}")
        lines += [daemons.log_tail(name, "agent"), daemons.log_tail(name, "dataplane")]
    return "\n".join(lines)


def overlay_addresses(gateway):
    return [a for a in (gateway.get("overlay") or {}).values() if a]
