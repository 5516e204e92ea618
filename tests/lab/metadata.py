"""A cloud's metadata service at 169.254.169.254 inside one namespace, answering as its provider documents it; and
variants of it that nobody should trust. Runs in the calling process, on threads."""
import base64
import http.server
import json
import secrets
import socket
import socketserver
import threading

import netns

ADDRESS = "169.254.169.254"
VARIANTS = ("right", "v1-only", "disabled", "slow", "garbage", "huge", "redirect")


class Facts:
    """What the machine is. `public`: {own address: public address}."""

    def __init__(self, region, size, own=(), public=None, mtu=1500, user_data=None):
        self.region = region
        self.size = size
        self.own = list(own)
        self.public = public or {}
        self.mtu = mtu
        self.user_data = user_data


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = 30

    def log_message(self, *_):
        pass

    def handle(self):
        try:
            super().handle()
        except OSError:
            pass  # the agent has its deadline

    def answer(self, status, body=b"", content="text/plain", **headers):
        body = body.encode() if isinstance(body, str) else body
        self.server.owner.seen.append((self.command, self.path, status))
        self.send_response(status)
        self.send_header("Content-Type", content)
        self.send_header("Content-Length", str(len(body)))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)

    def json(self, value, **headers):
        self.answer(200, json.dumps(value), "application/json", **headers)

    def slowly(self):
        """A byte now and then: only a deadline for the whole ends it."""
        self.server.owner.seen.append((self.command, self.path, 200))
        self.send_response(200)
        self.send_header("Content-Length", "1000000")
        self.end_headers()
        while not self.server.owner.closed.wait(0.2):
            self.wfile.write(b"a")
            self.wfile.flush()

    def do_GET(self):
        owner = self.server.owner
        if owner.variant == "slow":
            self.slowly()
        elif owner.variant == "redirect":
            self.answer(302, Location=f"http://{ADDRESS}:81/elsewhere")
        elif owner.variant == "garbage":
            self.answer(200, secrets.token_bytes(2000))
        elif owner.variant == "huge":
            self.answer(200, b"a" * (8 << 20))
        elif owner.variant == "disabled":
            self.answer(403)
        else:
            owner.provider(self, owner.facts)

    def do_PUT(self):
        self.do_GET()


def aws(request, facts):
    """IMDSv2. v1-only: GETs are answered without a token, PUTs not at all."""
    owner = request.server.owner
    if request.command == "PUT":
        ttl = request.headers.get("X-aws-ec2-metadata-token-ttl-seconds", "")
        if owner.variant == "v1-only":
            request.answer(405)
        elif request.headers.get("X-Forwarded-For"):
            request.answer(403)
        elif request.path != "/latest/api/token" or not ttl.isdecimal() or not 1 <= int(ttl) <= 21600:
            request.answer(400)
        else:
            # The hop limit: such an answer reaches nothing behind this machine.
            if owner.address == ADDRESS:
                request.connection.setsockopt(socket.IPPROTO_IP, socket.IP_TTL, 1)
            owner.sessions.add(session := base64.b64encode(secrets.token_bytes(40)).decode())
            request.answer(200, session)
        return
    if owner.variant != "v1-only" and request.headers.get("X-aws-ec2-metadata-token") not in owner.sessions:
        request.answer(401)
        return
    macs = "/latest/meta-data/network/interfaces/macs/"
    mac = "0e:49:61:0f:c3:77"
    pages = {
        "/latest/meta-data/instance-type": facts.size,
        "/latest/meta-data/placement/region": facts.region,
        macs: f"{mac}/",
        **{f"{macs}{mac}/ipv4-associations/{outside}": inside for inside, outside in facts.public.items()},
    }
    if facts.public:
        pages[f"{macs}{mac}/ipv4-associations/"] = "\n".join(facts.public.values())
    if facts.user_data is not None:
        pages["/latest/user-data"] = facts.user_data
    page = pages.get(request.path)
    request.answer(404 if page is None else 200, page or "")


def azure(request, facts):
    path, _, query = request.path.partition("?")
    if request.headers.get("Metadata") != "true" or request.headers.get("X-Forwarded-For"):
        request.answer(400, '{"error": "Bad request. Required metadata header not specified"}')
    elif "api-version=" not in query:
        request.answer(400, '{"error": "Bad request. api-version was not specified in the request"}')
    elif path == "/metadata/instance":
        request.json({
            "compute": {"azEnvironment": "AZUREPUBLICCLOUD", "location": facts.region, "name": "gw", "osType": "Linux",
                        "userData": base64.b64encode((facts.user_data or "").encode()).decode(), "vmSize": facts.size,
                        "zone": "1"},
            # A public address of the Standard SKU does not stand here.
            "network": {"interface": [{
                "ipv4": {"ipAddress": [{"privateIpAddress": a, "publicIpAddress": ""} for a in facts.own],
                         "subnet": [{"address": "10.0.0.0", "prefix": "24"}]},
                "ipv6": {"ipAddress": []}, "macAddress": "0011AAFFBB22"}]},
        })
    elif path == "/metadata/loadbalancer" and facts.public:
        request.json({"loadbalancer": {
            "publicIpAddresses": [{"frontendIpAddress": o, "privateIpAddress": i} for i, o in facts.public.items()],
            "inboundRules": [], "outboundRules": []}})
    elif path == "/metadata/instance/compute/userData" and "format=text" in query:
        request.answer(200, base64.b64encode((facts.user_data or "").encode()))
    else:
        request.answer(404)


def gcp(request, facts):
    path, _, query = request.path.partition("?")
    root = "/computeMetadata/v1/instance/"
    flavor = {"Metadata_Flavor": "Google"}
    if request.headers.get("Metadata-Flavor") != "Google" or request.headers.get("X-Forwarded-For"):
        request.answer(403, **flavor)
    elif path == root + "machine-type":
        request.answer(200, f"projects/123456/machineTypes/{facts.size}", **flavor)
    elif path == root + "zone":
        request.answer(200, f"projects/123456/zones/{facts.region}-b", **flavor)
    elif path == root + "network-interfaces/" and "recursive=true" in query:
        request.json([{
            "accessConfigs": [{"externalIp": facts.public.get(a, ""), "type": "ONE_TO_ONE_NAT"}],
            "dnsServers": [ADDRESS], "forwardedIps": [], "gateway": "10.132.0.1", "ip": a, "ipAliases": [],
            "mac": "42:01:0a:84:00:05", "mtu": facts.mtu, "network": "projects/123456/networks/default",
            "subnetmask": "255.255.240.0"} for a in facts.own], **flavor)
    elif path == root + "attributes/user-data" and facts.user_data is not None:
        request.answer(200, facts.user_data, **flavor)
    else:
        request.answer(404, **flavor)


def oci(request, facts):
    metadata = {"ssh_authorized_keys": "ssh-ed25519 AAAA"}
    if facts.user_data is not None:
        metadata["user_data"] = base64.b64encode(facts.user_data.encode()).decode()
    if request.headers.get("Authorization") != "Bearer Oracle" or request.headers.get("X-Forwarded-For"):
        request.answer(401)
    elif request.path == "/opc/v2/instance/":
        request.json({"availabilityDomain": "qIZq:PHX-AD-1", "canonicalRegionName": facts.region, "displayName": "gw",
                      "metadata": metadata, "region": "phx", "shape": facts.size, "state": "Running",
                      "timeCreated": 1584727285318})
    elif request.path == "/opc/v2/instance/metadata/user_data" and "user_data" in metadata:
        request.answer(200, metadata["user_data"])
    else:
        request.answer(404)


PROVIDERS = {"aws": aws, "azure": azure, "gcp": gcp, "oci": oci}


class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = True

    def __init__(self, owner, sock):
        super().__init__((ADDRESS, 80), Handler, bind_and_activate=False)
        self.owner = owner
        self.socket.close()
        self.socket = sock


class Service:
    """`with Service(ns, "aws", facts) as service:`; `seen` is [(method, path, status)]."""

    def __init__(self, ns, provider, facts, variant="right", address=ADDRESS):
        self.ns = ns
        self.address = address
        self.provider = PROVIDERS[provider]
        self.facts = facts
        self.variant = variant
        self.sessions = set()
        self.seen = []
        self.closed = threading.Event()

    def __enter__(self):
        netns.ip(self.ns, "addr", "replace", self.address, "dev", "lo")
        sock = netns.new_socket(self.ns, self.address, socket.SOCK_STREAM)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind((self.address, 80))
        sock.listen(16)
        self.server = Server(self, sock)
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(self, *_):
        self.closed.set()
        self.server.shutdown()
        self.server.server_close()
        netns.ip(self.ns, "addr", "del", self.address, "dev", "lo", check=False)

    def count(self, path):
        return sum(p.startswith(path) for _, p, _ in self.seen)
