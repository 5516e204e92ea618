"""A foreign controller for test_enrolment: GET /agent/v1/ca and POST /agent/v1/enrol, as docs/protocols.md has them.

usage: enrol_server.py DIR CA MODE; the PKI lies in DIR, CA names the gateway CA served. Prints its port on standard
output, each request as a line on standard error, and ends with standard input. MODE: good, refuse, busy, lost (the certificate
is issued and the reply lost), impostor (the listener's certificate is of another CA).
"""
import http.server
import json
import pathlib
import ssl
import subprocess
import sys
import threading
import time

DIR, CA, MODE = pathlib.Path(sys.argv[1]), sys.argv[2], sys.argv[3]
GATEWAY = "11111111-1111-4111-8111-111111111111"
issued = {}


def issue(csr):
    """One certificate a key: the same request gets the same certificate."""
    (DIR / "in.csr").write_text(csr)
    key = subprocess.run(["openssl", "req", "-in", DIR / "in.csr", "-noout", "-pubkey", "-verify"],
                         check=True, capture_output=True).stdout
    if key not in issued:
        (DIR / "in.ext").write_text("basicConstraints=critical,CA:FALSE\nextendedKeyUsage=serverAuth,clientAuth\n"
                                    f"subjectAltName=URI:hawser://gateway/{GATEWAY}\n")
        subprocess.run(["openssl", "x509", "-req", "-in", DIR / "in.csr", "-CA", DIR / f"{CA}.pem", "-CAkey",
                        DIR / f"{CA}.key", "-days", "30", "-extfile", DIR / "in.ext", "-out", DIR / "out.pem"],
                       check=True, capture_output=True)
        issued[key] = (DIR / "out.pem").read_text()
    return issued[key]


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self, status, body, kind="application/json"):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Hawser-Time", str(int(time.time())))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        print("GET", self.path, file=sys.stderr, flush=True)
        self.answer(200, (DIR / f"{CA}.pem").read_bytes(), "application/x-pem-file")

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        print("POST", self.path, json.dumps(body), file=sys.stderr, flush=True)
        if MODE == "refuse":
            self.answer(409, b'{"type":"token-used","title":"token used","status":409}')
        elif MODE == "busy":
            self.answer(503, b"{}")
        else:
            reply = {"gateway_id": GATEWAY, "certificate_pem": issue(body["csr_pem"]),
                     "ca_pem": (DIR / f"{CA}.pem").read_text(), "urls": ["https://192.0.2.9:8444"]}
            if MODE == "lost" and len(list(DIR.glob("lost"))) == 0:
                (DIR / "lost").touch()
                self.close_connection = True
                return
            self.answer(200, json.dumps(reply).encode())


context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.minimum_version = ssl.TLSVersion.TLSv1_3
listener = "foreign-controller" if MODE == "impostor" else "controller"
context.load_cert_chain(DIR / f"{listener}.pem", DIR / f"{listener}.key")
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
server.socket = context.wrap_socket(server.socket, server_side=True)
threading.Thread(target=server.serve_forever, daemon=True).start()
print(server.server_address[1], flush=True)
sys.stdin.read()
