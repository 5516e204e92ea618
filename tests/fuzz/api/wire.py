"""Requests byte by byte over TLS."""
import http.client
import socket


class Died(Exception):
    """The connection ended where an answer was due."""


class Answer:
    def __init__(self, response):
        self.status = response.status
        self.headers = response.headers
        self.body = response.read()
        self.closes = response.will_close
        self.kind = (self.headers.get("Content-Type") or "").split(";")[0]
        self.json = None

    def __repr__(self):
        return f"{self.status} {self.kind} {self.body[:600]!r}"


class Wire:
    """One connection at a time, made anew when the answer before has announced its end."""

    def __init__(self, port, context, source="127.0.0.1", timeout=20):
        self.port, self.context, self.source, self.timeout = port, context, source, timeout
        self.socket = None

    def open(self):
        plain = socket.create_connection(("127.0.0.1", self.port), self.timeout, source_address=(self.source, 0))
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.socket = self.context.wrap_socket(plain, server_hostname="127.0.0.1")

    def ask(self, data, method="GET", may_be_cut=False):
        """`may_be_cut`: more is sent than the server must read before it answers."""
        if not self.socket:
            self.open()
        try:
            try:
                self.socket.sendall(data)
            except OSError:
                if not may_be_cut:
                    raise
            response = http.client.HTTPResponse(self.socket, method=method)
            response.begin()
            answer = Answer(response)
        except (OSError, http.client.HTTPException) as error:
            self.close()
            if may_be_cut:
                return None
            raise Died(f"{type(error).__name__}: {error}") from error
        if answer.closes:
            self.close()
        return answer

    def close(self):
        if self.socket:
            self.socket.close()
            self.socket = None
