"""A foreign HTTPS server for test_http_client: answers by path, TLS 1.3 unless told otherwise.

usage: https_server.py CERT KEY CLIENT_CA|- TLS_VERSION; prints its port on standard output and ends with standard input.
"""
import http.server
import os
import socket
import ssl
import sys
import threading
import time


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def answer(self, status, body=b"", headers=()):
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        for name, value in headers:
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        if self.path == "/ok":
            self.answer(200, b"hello", [("Hawser-Revision", "41"), ("hawser-time", " 17 ")])
        elif self.path == "/empty":
            self.send_response(204)
            self.end_headers()
        elif self.path == "/big":
            self.answer(200, b"x" * 100000)
        elif self.path == "/slow":
            time.sleep(30)
        elif self.path == "/drip":
            self.send_response(200)
            self.send_header("Content-Length", "1000")
            self.end_headers()
            for _ in range(300):
                self.wfile.write(b"x")
                self.wfile.flush()
                time.sleep(0.1)
        elif self.path == "/drop":
            self.close_connection = True
        elif self.path == "/redirect":
            self.answer(302, b"", [("Location", "/ok")])
        elif self.path == "/who":
            cert = self.connection.getpeercert()
            names = cert.get("subjectAltName", ()) if cert else ()
            self.answer(200, repr(names).encode())
        elif self.path == "/port":
            self.answer(200, str(self.client_address[1]).encode())
        elif self.path == "/headers":
            self.answer(200, b"", [("X-%d" % i, "y" * 1000) for i in range(60)])
        else:
            self.answer(404, b"no")

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.answer(201, b"%s %s|" % (self.headers["Content-Type"].encode(),
                                       self.headers.get("X-Test", "-").encode()) + body)

    do_PATCH = do_POST

    def log_message(self, *args):
        pass


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def finish_request(self, request, client_address):
        request.settimeout(60)
        try:
            request.do_handshake()
        except ssl.SSLError:
            # Let the alert arrive: closing with unread bytes would reset the connection.
            socket.socket.shutdown(request, socket.SHUT_WR)
            while os.read(request.fileno(), 4096):
                pass
            raise
        super().finish_request(request, client_address)

    def handle_error(self, request, client_address):
        pass


cert, key, client_ca, version = sys.argv[1:]
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(cert, key)
context.minimum_version = context.maximum_version = getattr(ssl.TLSVersion, version)
if client_ca != "-":
    context.verify_mode = ssl.CERT_REQUIRED
    context.load_verify_locations(client_ca)
server = Server(("127.0.0.1", 0), Handler)
server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
threading.Thread(target=server.serve_forever, daemon=True).start()
os.write(1, b"%d\n" % server.server_address[1])
sys.stdin.read()
os._exit(0)
