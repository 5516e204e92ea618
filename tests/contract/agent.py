"""An agent made of the openssl command and Python's TLS: enrols, polls, fetches, and judges signatures with foreign tools."""
import base64
import contextlib
import hashlib
import json
import pathlib
import struct
import subprocess
import threading
import time
import uuid

from controller import Client, request


def openssl(*words, data=None):
    done = subprocess.run(["openssl", *map(str, words)], input=data, capture_output=True, timeout=30)
    if done.returncode:
        raise AssertionError(f"openssl {' '.join(map(str, words))}: {done.stderr.decode()}")
    return done.stdout


def unb64(text):
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def open_token(token):
    """The parts of an enrolment token."""
    assert token.startswith("hwt1.")
    return json.loads(unb64(token[5:]))


def csr(key, *words):
    return openssl("req", "-new", "-key", key, "-subj", "/", *words).decode()


def new_key(path, curve="P-256"):
    openssl("genpkey", "-algorithm", "EC", "-pkeyopt", f"ec_paramgen_curve:{curve}", "-out", path)
    return path


class Agent:
    """One machine. `folder`: where its files go."""

    def __init__(self, controller, folder, name, address="10.1.0.1"):
        self.controller = controller
        self.folder = pathlib.Path(folder)
        self.name = name
        self.address = address
        self.boot = str(uuid.uuid4())
        self.key = new_key(self.folder / f"{name}.key")
        self.cert = self.folder / f"{name}.pem"
        self.id = None
        self.workers = 2

    def node(self):
        return {"interfaces": [{"name": "eth0", "role": "both", "mtu": 1500, "addresses": [f"{self.address}/24"]}],
                "endpoints": [{"address": self.address, "family": 4, "scope": "private", "reachable": True}]}

    def enrol_body(self, token, **changes):
        parts = open_token(token)
        return {"token_id": parts["id"], "secret": parts["secret"], "csr_pem": csr(self.key), "name": self.name, "boot_id": self.boot,
                "agent_version": "0.1.0", "provider": None, "region": None, "size": None, **self.node(), **changes}

    def enrol(self, token, **changes):
        """The reply; on success the certificate is kept."""
        reply = self.anonymous("POST", "/agent/v1/enrol", self.enrol_body(token, **changes))
        if reply.status == 200:
            self.id = reply.json["gateway_id"]
            self.cert.write_text(reply.json["certificate_pem"])
        return reply

    def anonymous(self, method, path, body=None):
        return request(self.controller.agent_port, self.controller.agent_context(), method, path, body)

    def call(self, method, path, body=None, cert=None, key=None, timeout=10):
        context = self.controller.agent_context(cert or self.cert, key or self.key)
        return request(self.controller.agent_port, context, method, path, body, timeout=timeout)

    def poll(self, seen=0, denials=0, boot=None, timeout=30):
        return self.call("GET", f"/agent/v1/poll?seen={seen}&denials={denials}&boot={boot or self.boot}", timeout=timeout)

    def parked_poll(self):
        """Parked, once the agent has fetched what there is."""
        seen = self.config()[0]
        denials = self.poll(seen).json["denials_revision"] if self.knows_denials() else 0
        return Parked(lambda: self.poll(seen, denials))

    def knows_denials(self):
        return self.call("GET", "/agent/v1/denials").status == 200

    def report(self, **changes):
        return self.call("POST", "/agent/v1/report", self.report_body(**changes))

    def report_body(self, **changes):
        return json.dumps({
            "agent_version": "0.1.0", "boot_id": self.boot, "time": int(time.time()), "wall_skew_seconds": 0,
            "revisions": {"received": 0, "applied": 0, "in_force": 0, "refused": []}, "denials_revision": 0, **self.node(),
            "dataplane": {"connected": True, "boot_id": str(uuid.uuid4()), "version": "0.1.0", "workers": self.workers,
                          "provider": "ipsec-mb", "features": ["udp_gso"]},
            "interval_seconds": 10.0,
            "totals": {"goodput_tx_bps": 1000, "goodput_rx_bps": 2000, "wire_tx_bps": 1100, "wire_rx_bps": 2200,
                       "tx_packets": 1, "rx_packets": 2, "tx_bytes": 3, "rx_bytes": 4},
            "links": [], "workers": [{"busy_ratio": 0.5}], "drops": {}, "system": {"ip_forward": True, "problems": []}, "commands": [],
            **changes}).encode()

    def config(self):
        """The config, once openssl has said that it is signed for this gateway."""
        reply = self.call("GET", "/agent/v1/config")
        assert reply.status == 200, reply
        revision = int(reply.headers["Hawser-Revision"])
        signed = b"hawser-config-v1\0" + uuid.UUID(self.id).bytes + b"\0" + struct.pack(">Q", revision) + reply.body
        self.verify(reply, signed)
        return revision, reply.json

    def denials(self):
        reply = self.call("GET", "/agent/v1/denials")
        assert reply.status == 200, reply
        number = int(reply.headers["Hawser-Revision"])
        self.verify(reply, b"hawser-denials-v1\0" + struct.pack(">Q", number) + reply.body)
        return number, reply.json

    def verify(self, reply, signed):
        """The signer is of the gateway CA and named as the config key; its key has signed exactly these bytes."""
        der, signature, data = (self.folder / f"{self.name}.{kind}" for kind in ("der", "sig", "data"))
        der.write_bytes(unb64(reply.headers["Hawser-Signer"]))
        signature.write_bytes(unb64(reply.headers["Hawser-Signature"]))
        data.write_bytes(signed)
        signer = self.folder / f"{self.name}.signer.pem"
        openssl("x509", "-inform", "DER", "-in", der, "-out", signer)
        openssl("verify", "-x509_strict", "-CAfile", self.controller.state / "gateway-ca.pem", signer)
        names = openssl("x509", "-in", signer, "-noout", "-ext", "subjectAltName").decode().split("\n")[1].strip()
        assert names == "URI:hawser://controller/config", names
        public = self.folder / f"{self.name}.signer.pub"
        public.write_bytes(openssl("x509", "-in", signer, "-noout", "-pubkey"))
        openssl("dgst", "-sha256", "-verify", public, "-signature", signature, data)


class Parked:
    """A request that runs until it is answered."""

    def __init__(self, call):
        self.reply = None
        self.error = None
        self.begun = time.monotonic()
        self.ended = None
        self.thread = threading.Thread(target=self.run, args=(call,), daemon=True)
        self.thread.start()

    def run(self, call):
        try:
            self.reply = call()
        except Exception as error:  # told by wait()
            self.error = error
        self.ended = time.monotonic()

    def done(self):
        return self.ended is not None

    def wait(self, timeout=15):
        self.thread.join(timeout)
        assert self.done(), "still parked"
        if self.error:
            raise self.error
        return self.reply


def spki_pin(pem_path):
    der = openssl("x509", "-in", pem_path, "-noout", "-pubkey")
    return hashlib.sha256(openssl("pkey", "-pubin", "-outform", "DER", data=der)).hexdigest()


class Authority:
    """Signs certificates as the gateway CA (or an impostor) would, with any dates: what a test needs to be refused."""

    def __init__(self, folder, cert, key):
        self.folder = pathlib.Path(folder)
        self.cert, self.key = cert, key
        self.config = self.folder / "ca.cnf"
        self.config.write_text(
            "[ca]\ndefault_ca=d\n[d]\ndatabase=%(f)s/index\nnew_certs_dir=%(f)s\nrand_serial=yes\ndefault_md=sha256\npolicy=p\n"
            "unique_subject=no\n[p]\ncommonName=supplied\n" % {"f": self.folder})
        (self.folder / "index").write_text("")

    @classmethod
    def impostor(cls, folder):
        """A CA with the same names as the real one."""
        folder = pathlib.Path(folder)
        key = new_key(folder / "impostor.key")
        cert = folder / "impostor.pem"
        openssl("req", "-x509", "-new", "-key", key, "-subj", "/O=Hawser/CN=gateway CA", "-days", "30", "-out", cert)
        return cls(folder, cert, key)

    def issue(self, key, name, uri, begin, end, usage="clientAuth,serverAuth"):
        """`begin`, `end`: days from now."""
        request_file, out, extensions = (self.folder / f"{name}.{kind}" for kind in ("csr", "crt", "ext"))
        request_file.write_text(openssl("req", "-new", "-key", key, "-subj", f"/CN={name}").decode())
        extensions.write_text(f"basicConstraints=critical,CA:FALSE\nkeyUsage=critical,digitalSignature\nextendedKeyUsage={usage}\n"
                              f"subjectAltName={uri}\nsubjectKeyIdentifier=hash\nauthorityKeyIdentifier=keyid\n")

        def day(offset):
            return time.strftime("%Y%m%d%H%M%SZ", time.gmtime(time.time() + offset * 86400))
        openssl("ca", "-batch", "-config", self.config, "-cert", self.cert, "-keyfile", self.key, "-in", request_file, "-out", out,
                "-startdate", day(begin), "-enddate", day(end), "-extfile", extensions, "-notext")
        return out


@contextlib.contextmanager
def kept(controller, agent, timeout=10):
    """A client that keeps its connection."""
    client = Client(controller.agent_port, controller.agent_context(agent.cert, agent.key), timeout)
    try:
        yield client
    finally:
        client.close()
