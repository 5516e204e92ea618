"""A real controller on loopback ports with a state directory of its own, and clients of both of its APIs."""
import contextlib
import http.client
import json
import os
import pathlib
import re
import shutil
import socket
import ssl
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("HAWSER_BUILD", ROOT / "build" / "dev"))
BINARY = BUILD / "controller" / "hawser-controller"
USER = 65534  # what the controller runs as when the tests run as root
SANITIZERS = {"ASAN_OPTIONS": "detect_leaks=1:exitcode=99", "UBSAN_OPTIONS": "print_stacktrace=1"}


def free_ports(count):
    """TCP ports of 127.0.0.1 that nobody uses now."""
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(count)]
        return [s.getsockname()[1] for s in sockets]


def stage(folder):
    """The program where its user may go: a checkout often lies in a home that is closed to others."""
    staged = folder / BINARY.name
    try:
        os.link(BINARY, staged)
    except OSError:
        shutil.copy(BINARY, staged)
    return staged


def become_user():
    if os.geteuid() == 0:
        os.setgroups([])
        os.setgid(USER)
        os.setuid(USER)


class Controller:
    """With `with`: bootstrapped and running. Leaving checks that it ended in order, without a sanitizer's report."""

    def __init__(self, **settings):
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="controller-"))
        self.dir.chmod(0o711)
        self.binary = stage(self.dir)
        self.state = self.dir / "state"
        self.port, self.agent_port = free_ports(2)
        self.config = self.dir / "controller.json"
        self.config.write_text(json.dumps({
            "listen": [f"127.0.0.1:{self.port}"],
            "agent_listen": [f"127.0.0.1:{self.agent_port}"],
            "agent_urls": [f"https://127.0.0.1:{self.agent_port}"],
            "state_dir": str(self.state),
            "user": str(USER),
            **settings,
        }))
        self.config.chmod(0o644)
        self.log = self.dir / "log"
        self.process = None
        self.token = None

    def run(self, *words):
        return subprocess.run([str(BINARY), *words, "--config", str(self.config)], capture_output=True, text=True,
                              timeout=30, env={**os.environ, **SANITIZERS})

    def bootstrap(self, *words):
        if os.geteuid() != 0:
            self.state.mkdir(mode=0o700, exist_ok=True)
        done = self.run("bootstrap", *words)
        if done.returncode == 0:
            self.token = re.search(r"hwa1\.\S+", done.stdout)[0]
        return done

    def start(self):
        begun = self.log.stat().st_size if self.log.exists() else 0
        with self.log.open("ab") as log:
            self.process = subprocess.Popen([str(self.binary), "--config", str(self.config)], stderr=log,
                                            preexec_fn=become_user, env={**os.environ, **SANITIZERS})
        deadline = time.monotonic() + 15
        while " ready version=" not in self.log_text(begun):
            if self.process.poll() is not None:
                self.process = None
                raise AssertionError(f"the controller did not start:\n{self.log_text(begun)}")
            if time.monotonic() > deadline:
                raise AssertionError(f"the controller is not ready:\n{self.log_text(begun)}")
            time.sleep(0.02)

    def stop(self, signal=15):
        self.process.send_signal(signal)
        code = self.process.wait(timeout=20)
        self.process = None
        return code

    def log_text(self, begun=0):
        return self.log.read_bytes()[begun:].decode(errors="replace") if self.log.exists() else ""

    def __enter__(self):
        try:
            done = self.bootstrap()
            assert done.returncode == 0, done.stderr
            self.start()
        except BaseException:
            self.__exit__(*sys.exc_info())
            raise
        return self

    def __exit__(self, kind, value, trace):
        try:
            code = self.stop() if self.process else 0
            if kind is None:
                assert code == 0, f"exit code {code}:\n{self.log_text()}"
        finally:
            if self.process:
                self.process.kill()
                self.process.wait()
            shutil.rmtree(self.dir)

    def web_context(self):
        return ssl.create_default_context(cadata=(self.state / "web-ca.pem").read_text())

    def agent_context(self, certificate=None, key=None):
        """Trusts the gateway CA; its listener is named by a URI, which Python does not compare."""
        context = ssl.create_default_context(cadata=(self.state / "gateway-ca.pem").read_text())
        context.check_hostname = False
        if certificate:
            context.load_cert_chain(certificate, key)
        return context


class Reply:
    def __init__(self, response):
        self.status = response.status
        self.headers = response.headers
        self.body = response.read()
        kind = (self.headers.get("Content-Type") or "").split(";")[0]
        self.json = json.loads(self.body) if re.search("[/+]json$", kind) and self.body else None

    def __repr__(self):
        return f"{self.status} {self.body.decode(errors='replace')}"


class Client:
    """Requests over one connection, made anew when the controller has closed it."""

    def __init__(self, port, context, timeout=10, source=None):
        self.connection = http.client.HTTPSConnection("127.0.0.1", port, timeout=timeout, context=context,
                                                      source_address=source and (source, 0))

    def request(self, method, path, body=None, headers=None):
        """`body`: bytes as they are, anything else as JSON."""
        headers = dict(headers or {})
        if body is not None and not isinstance(body, bytes):
            body = json.dumps(body).encode()
        if body is not None:
            headers.setdefault("Content-Type", "application/json")
        for attempt in (1, 2):
            try:
                self.connection.request(method, path, body=body, headers=headers)
                return Reply(self.connection.getresponse())
            except (http.client.RemoteDisconnected, ConnectionResetError, BrokenPipeError, ssl.SSLEOFError):
                self.connection.close()
                if attempt == 2:
                    raise

    def close(self):
        self.connection.close()


def request(port, context, method, path, body=None, headers=None, timeout=10, source=None):
    """One request over a connection of its own."""
    with contextlib.closing(Client(port, context, timeout, source)) as client:
        return client.request(method, path, body, headers)
