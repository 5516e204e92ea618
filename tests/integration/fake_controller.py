"""An agents' listener that serves what a test wants: right or wrong configs, silence, or nothing any more.
It has the real listener's certificate and, where a test needs one, the real config key."""
import base64
import http.server
import json
import pathlib
import socket
import socketserver
import ssl
import struct
import threading
import time
import uuid

import netns
from pki import ec, hashes, serialization, x509


class ConfigSigner:
    """Signs as docs/protocols.md says, with any key and certificate."""

    def __init__(self, key, cert):
        self.key = key
        self.cert = cert

    @classmethod
    def real(cls, state_dir):
        directory = pathlib.Path(state_dir)
        return cls(serialization.load_pem_private_key((directory / "config.key").read_bytes(), None),
                   x509.load_pem_x509_certificate((directory / "config.pem").read_bytes()))

    def signed(self, gateway_id, revision, body):
        """(revision, headers, body)"""
        message = b"hawser-config-v1\0" + uuid.UUID(gateway_id).bytes + b"\0" + struct.pack(">Q", revision) + body
        signature = self.key.sign(message, ec.ECDSA(hashes.SHA256()))
        return revision, {
            "Hawser-Revision": str(revision),
            "Hawser-Signature": b64(signature),
            "Hawser-Signer": b64(self.cert.public_bytes(serialization.Encoding.DER)),
        }, body


def b64(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = 60

    def setup(self):
        self.server.owner.silent_until_heard()
        self.request.do_handshake()
        super().setup()

    def log_message(self, *_):
        pass

    def parse_request(self):
        self.server.owner.silent_until_heard()
        return super().parse_request()

    def gateway(self):
        names = dict(x for x in self.request.getpeercert().get("subjectAltName", ()))
        return names.get("URI", "").rpartition("/")[2]

    def answer(self, status, body=b"", headers=None):
        self.server.owner.requests += 1
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Hawser-Time", str(int(time.time())))
        self.send_header("Hawser-Controller-Revision", "1000000")
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)
        self.wfile.flush()

    def do_GET(self):
        owner, path = self.server.owner, self.path.partition("?")[0]
        if owner.status:
            self.answer(owner.status)
        elif path == "/agent/v1/poll":
            query = dict(p.split("=", 1) for p in self.path.partition("?")[2].split("&"))
            newer = owner.wait_newer(self.gateway(), int(query["seen"]))
            if newer is None:
                self.answer(204)
            else:
                reply = {"config_revision": newer, "denials_revision": int(query["denials"]), "commands": []}
                self.answer(200, json.dumps(reply).encode(), {"Content-Type": "application/json"})
        elif path == "/agent/v1/config" and self.gateway() in owner.configs:
            revision, headers, body = owner.configs[self.gateway()]
            owner.serving(self.gateway(), revision)
            self.answer(200, body, {"Content-Type": "application/json", **headers})
            owner.served(self.gateway(), revision)
        else:
            self.answer(404)

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if self.path == "/agent/v1/report":
            self.server.owner.reports.append((self.gateway(), json.loads(body)))
        self.answer(self.server.owner.status or 204)


class FakeController:
    def __init__(self, lab):
        controller = lab.state["controller"]
        directory = pathlib.Path(controller["state_dir"])
        self.address = (lab.topology.with_role("controller")[0].underlay[0], 8444)
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.minimum_version = ssl.TLSVersion.TLSv1_3
        self.context.load_cert_chain(directory / "agent-listener.pem", directory / "agent-listener.key")
        self.context.load_verify_locations(directory / "gateway-ca.pem")
        self.context.verify_mode = ssl.CERT_REQUIRED
        self.configs = {}     # gateway id: (revision, headers, body)
        self.announced = {}   # gateway id: revision told by poll
        self.fetched = []     # (gateway id, revision)
        self.reports = []
        self.requests = 0
        self.status = None    # instead of what is asked for, to every request
        self.changed = threading.Condition()
        self.heard = threading.Event()
        self.heard.set()
        self.mute_on = None   # (gateway id, revision): silence from that fetch on
        self.after_mute = None
        self.start()

    def start(self):
        with netns.entered("hw-controller"):
            listener = socket.create_server(self.address, reuse_port=True)
        owner = self

        class Server(socketserver.ThreadingMixIn, socketserver.TCPServer):
            daemon_threads = True
            allow_reuse_address = True

            def get_request(self):
                sock, address = self.socket.accept()
                return owner.context.wrap_socket(sock, server_side=True, do_handshake_on_connect=False), address

            def handle_error(self, *_):
                pass

        self.server = Server(self.address, Handler, bind_and_activate=False)
        self.server.socket.close()
        self.server.socket = listener
        self.server.owner = self
        self.thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        self.thread.start()

    def stop(self):
        """As a killed process: the kernel answers its port with RST from now on."""
        self.heard.set()
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()

    def silent_until_heard(self):
        self.heard.wait()

    def offer(self, gateway, config, announce=None):
        """Serves `config` to a gateway and tells its poll of `announce` (by default the config's revision)."""
        with self.changed:
            self.configs[gateway] = config
            self.announced[gateway] = announce or config[0]
            self.changed.notify_all()

    def wait_newer(self, gateway, seen):
        with self.changed:
            self.changed.wait_for(lambda: self.announced.get(gateway, 0) > seen, timeout=2)
            newer = self.announced.get(gateway, 0)
            return newer if newer > seen else None

    def serving(self, gateway, revision):
        """Before the bytes go out: nothing after this fetch is answered, if a test asked for that."""
        if self.mute_on == (gateway, revision):
            self.heard.clear()

    def served(self, gateway, revision):
        self.fetched.append((gateway, revision))
        if self.mute_on == (gateway, revision) and self.after_mute:
            self.mute_on = None
            self.after_mute()

    def unmute(self):
        self.heard.set()

    def refused(self, gateway):
        """Revisions that the gateway's last report calls refused."""
        last = next((r for g, r in reversed(self.reports) if g == gateway), None)
        return {x["revision"] for x in last["revisions"]["refused"]} if last else set()
