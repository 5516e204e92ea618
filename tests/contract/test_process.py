"""The program around the APIs: bootstrap, settings, start and stop, kill -9, and garbage on its ports."""
import concurrent.futures
import hashlib
import json
import os
import re
import socket
import ssl
import stat
import subprocess
import sys
import threading
import time
import unittest

from controller import BINARY, USER, Client, Controller, request


def site(name, cidr):
    return {"name": name, "provider": "onprem", "role": "spoke", "cidrs": [cidr]}


class Base(unittest.TestCase):
    def controller(self, running=True, **settings):
        controller = Controller(**settings)
        if running:
            controller.__enter__()
        self.addCleanup(controller.__exit__, None, None, None)
        return controller

    def api(self, controller, method, path, body=None, token=None):
        return request(controller.port, controller.web_context(), method, f"/api/v1/{path}", body,
                       {"Authorization": f"Bearer {token or controller.token}"})


class Bootstrap(Base):
    def test_first_run(self):
        controller = self.controller(running=False)
        done = controller.bootstrap("--url", f"https://hawser.example:{controller.port}")
        self.assertEqual(done.returncode, 0, done.stderr)
        fingerprint = re.search(r"sha256:([0-9a-f]{64})\b", done.stdout)[1]
        der = subprocess.run(["openssl", "x509", "-in", controller.state / "gateway-ca.pem", "-noout", "-pubkey"],
                             capture_output=True, check=True).stdout
        spki = subprocess.run(["openssl", "pkey", "-pubin", "-outform", "DER"], input=der, capture_output=True, check=True).stdout
        self.assertEqual(hashlib.sha256(spki).hexdigest(), fingerprint)
        # The lab and people take the token from the line that names it.
        line = next(line for line in done.stdout.splitlines() if "token" in line)
        self.assertEqual(line.split()[-1], controller.token)

    def test_files(self):
        controller = self.controller(running=False)
        self.assertEqual(controller.bootstrap().returncode, 0)
        names = {p.name for p in controller.state.iterdir()}
        self.assertLessEqual({"gateway-ca.pem", "gateway-ca.key", "config.pem", "config.key", "web-ca.pem", "hawser.db"}, names)
        owner = USER if os.geteuid() == 0 else os.geteuid()
        self.assertEqual(stat.S_IMODE(controller.state.stat().st_mode), 0o700)
        for path in controller.state.iterdir():
            self.assertEqual(path.stat().st_uid, owner, path)
            self.assertEqual(stat.S_IMODE(path.stat().st_mode) & 0o077 if path.suffix in (".key", ".db") else 0, 0, path)
            # Neither the token nor anything it can be made from stands on disk.
            self.assertNotIn(controller.token.encode(), path.read_bytes(), path)

    def test_server_certificate_names(self):
        controller = self.controller(running=False)
        self.assertEqual(controller.bootstrap("--url", "https://hawser.example:8443", "--url", "https://[2001:db8::9]").returncode, 0)
        text = subprocess.run(["openssl", "x509", "-in", controller.state / "web.pem", "-noout", "-ext", "subjectAltName"],
                              capture_output=True, text=True, check=True).stdout
        for name in ("DNS:hawser.example", "IP Address:2001:DB8:0:0:0:0:0:9", "IP Address:127.0.0.1", "DNS:localhost"):
            self.assertIn(name, text)
        subprocess.run(["openssl", "verify", "-x509_strict", "-CAfile", controller.state / "web-ca.pem", controller.state / "web.pem"],
                       capture_output=True, check=True)

    def test_own_certificate(self):
        """With tls_cert and tls_key nothing is made for the web."""
        controller = self.controller(running=False)
        pem, key = controller.dir / "own.pem", controller.dir / "own.key"
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "3",
                        "-keyout", key, "-out", pem, "-subj", "/CN=own", "-addext", "subjectAltName=IP:127.0.0.1"],
                       capture_output=True, check=True)
        key.chmod(0o644)
        controller.config.write_text(json.dumps({**json.loads(controller.config.read_text()), "tls_cert": str(pem), "tls_key": str(key)}))
        self.assertEqual(controller.bootstrap().returncode, 0)
        self.assertFalse((controller.state / "web-ca.pem").exists())
        controller.start()
        context = ssl.create_default_context(cadata=pem.read_text())
        self.assertEqual(request(controller.port, context, "GET", "/healthz").status, 200)

    def test_a_new_web_key(self):
        """As docs/operations.md has it: without its key the certificate is made anew, under the same CA and names."""
        controller = self.controller()

        def served():
            with socket.create_connection(("127.0.0.1", controller.port), timeout=5) as s:
                with controller.web_context().wrap_socket(s, server_hostname="127.0.0.1") as tls:
                    return tls.getpeercert()
        before = served()
        controller.stop()
        (controller.state / "web.key").unlink()
        controller.start()
        after = served()
        self.assertNotEqual(before["serialNumber"], after["serialNumber"])
        self.assertEqual(before["subjectAltName"], after["subjectAltName"])

    def test_second_run(self):
        controller = self.controller()
        before = {p.name: p.read_bytes() for p in controller.state.iterdir() if p.suffix in (".pem", ".key")}
        old = controller.token
        done = controller.run("bootstrap")
        self.assertEqual((done.returncode, done.stdout), (3, ""))
        self.assertIn("--new-admin-token", done.stderr)
        self.assertEqual(self.api(controller, "GET", "sites").status, 200)
        # A new token while the controller runs: the old one ends at once, nothing else changes.
        self.assertEqual(controller.bootstrap("--new-admin-token").returncode, 0)
        self.assertNotEqual(controller.token, old)
        self.assertEqual(self.api(controller, "GET", "sites").status, 200)
        self.assertEqual(self.api(controller, "GET", "sites", token=old).status, 401)
        after = {p.name: p.read_bytes() for p in controller.state.iterdir() if p.suffix in (".pem", ".key")}
        self.assertEqual(before, after)

    def test_several_at_once(self):
        controller = self.controller(running=False)
        controller.state.mkdir(mode=0o700)
        if os.geteuid() == 0:
            os.chown(controller.state, USER, USER)
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            done = list(pool.map(lambda _: controller.run("bootstrap"), range(4)))
        self.assertEqual(sorted(run.returncode for run in done), [0, 3, 3, 3], [run.stderr for run in done])
        controller.token = re.search(r"hwa1\.\S+", next(run.stdout for run in done if run.returncode == 0))[0]
        controller.start()
        self.assertEqual(self.api(controller, "GET", "sites").status, 200)

    def test_interrupted(self):
        """Ended at any file that it writes, it goes through when it is run again."""
        for file in ("gateway-ca.pem", "config.pem", "web.key"):
            with self.subTest(file=file):
                controller = self.controller(running=False)
                controller.state.mkdir(mode=0o700)
                obstacle = controller.state / file
                obstacle.mkdir()
                for path in (controller.state, obstacle):
                    if os.geteuid() == 0:
                        os.chown(path, USER, USER)
                self.assertEqual(controller.bootstrap().returncode, 1)
                with self.assertRaisesRegex(AssertionError, "run it again"):
                    controller.start()
                obstacle.rmdir()
                done = controller.bootstrap()
                self.assertEqual(done.returncode, 0, done.stderr)
                controller.start()
                self.assertEqual(self.api(controller, "GET", "sites").status, 200)

    def test_a_host_name_that_is_none(self):
        if os.geteuid() != 0:
            self.skipTest("needs root to have another host name")
        controller = self.controller(running=False)
        script = "import socket, os, sys; socket.sethostname('odd_name'); os.execv(sys.argv[1], sys.argv[1:])"
        done = subprocess.run(["unshare", "--uts", sys.executable, "-c", script, str(BINARY), "bootstrap", "--config",
                               str(controller.config)], capture_output=True, text=True, timeout=30)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_needed_first(self):
        controller = self.controller(running=False)
        if os.geteuid() != 0:
            controller.state.mkdir(mode=0o700)
        done = controller.run("bootstrap", "--new-admin-token")
        self.assertEqual(done.returncode, 1)
        self.assertIn("bootstrap", done.stderr)
        with self.assertRaisesRegex(AssertionError, "run hawser-controller bootstrap"):
            controller.start()

    def test_bad_urls(self):
        for url in ("hawser.example", "http://x:1", "https://", "https://:8443"):
            controller = self.controller(running=False)
            done = controller.bootstrap("--url", url)
            self.assertEqual(done.returncode, 1, url)
            self.assertIn(url, done.stderr)


class Settings(Base):
    def check(self, text, *words, **variables):
        controller = self.controller(running=False)
        controller.config.write_text(text)
        return subprocess.run([str(BINARY), "--check-config", "--config", str(controller.config), *words], capture_output=True,
                              text=True, timeout=10, env={**os.environ, **variables})

    def test_good(self):
        self.assertEqual(self.check("{}").returncode, 0)
        self.assertEqual(self.check('{"threads": 4, "overlay_pools": ["100.96.0.0/12", "fd12:3456::/48"]}', "--poll-seconds", "9").returncode, 0)

    def test_bad(self):
        for text, word in [('{"thread": 2}', "thread"), ('{"threads": 1}', "threads"), ('{"threads": "2"}', "threads"), ("{", "line"),
                           ('{"overlay_pools": ["10.0.0.1/8"]}', "overlay_pools"), ('{"overlay_pools": ["10.0.0.0/8", "11.0.0.0/8"]}', "overlay_pools"),
                           ('{"overlay_pools": ["10.0.0.0/30"]}', "overlay_pools"), ('{"agent_urls": ["http://x"]}', "agent_urls"),
                           ('{"agent_urls": ["https://x/path"]}', "agent_urls"), ('{"tls_cert": "/x"}', "tls_cert"),
                           ('{"log_level": "loud"}', "log_level"), ('{"poll_seconds": 51}', "poll_seconds"), ('{"listen": "x"}', "listen")]:
            with self.subTest(text=text):
                done = self.check(text)
                self.assertEqual(done.returncode, 2, done)
                self.assertIn(word, done.stderr)

    def test_order(self):
        self.assertIn("HAWSER_THREADS", self.check("{}", HAWSER_THREADS="1").stderr)
        self.assertIn("flag: threads", self.check("{}", "--threads", "1", HAWSER_THREADS="3").stderr)

    def test_command_line(self):
        def run(*words):
            return subprocess.run([str(BINARY), *words], capture_output=True, text=True, timeout=10)
        self.assertEqual((run("--help").returncode, run("--help").stderr), (0, ""))
        self.assertRegex(run("--version").stdout, r"^hawser-controller \d+\.\d+\.\d+\n$")
        for words in (["fly"], ["--config"], ["run", "bootstrap"], ["--new-admin-token"], ["bootstrap", "--url"], ["--threads"]):
            with self.subTest(words=words):
                self.assertEqual(run(*words).returncode, 2)

    def test_pools_of_a_used_store_stay(self):
        controller = self.controller()
        self.assertEqual(controller.stop(), 0)
        controller.config.write_text(json.dumps({**json.loads(controller.config.read_text()), "overlay_pools": ["100.64.0.0/16"]}))
        with self.assertRaisesRegex(AssertionError, "100.127.0.0/16"):
            controller.start()


class Running(Base):
    def test_restart_keeps_everything(self):
        controller = self.controller()
        made = self.api(controller, "POST", "sites", site("a", "10.1.0.0/16")).json
        for signal in (15, 2, 9):
            code = controller.stop(signal)
            self.assertEqual(code, 0 if signal != 9 else -9)
            controller.start()
            self.assertEqual(self.api(controller, "GET", f"sites/{made['id']}").json, made)

    def test_kill_9_while_writing(self):
        """Every acknowledged write is there after the kill, and at most the one in flight besides."""
        controller = self.controller()
        acknowledged = []
        gone = threading.Event()

        def write():
            client = Client(controller.port, controller.web_context())
            try:
                for i in range(5000):
                    reply = client.request("POST", "/api/v1/sites", site(f"s{i}", f"10.{i // 250}.{i % 250}.0/24"),
                                           {"Authorization": f"Bearer {controller.token}"})
                    if reply.status == 201:
                        acknowledged.append(reply.json["name"])
                    if len(acknowledged) == 40:
                        gone.set()
            except OSError:
                pass
            finally:
                client.close()
                gone.set()

        writer = threading.Thread(target=write)
        writer.start()
        gone.wait(20)
        controller.stop(9)
        writer.join(20)
        controller.start()
        kept = [s["name"] for s in self.api(controller, "GET", "sites?limit=1000").json["items"]]
        self.assertGreaterEqual(len(acknowledged), 40)
        self.assertLessEqual(set(acknowledged), set(kept))
        self.assertLessEqual(len(kept), len(acknowledged) + 1)

    def test_many_writers(self):
        """Writes from many clients at once: none lost, each with a revision of its own."""
        controller = self.controller()

        def write(i):
            return self.api(controller, "POST", "sites", site(f"s{i}", f"10.{i}.0.0/16"))

        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            replies = list(pool.map(write, range(40)))
        self.assertEqual({r.status for r in replies}, {201})
        self.assertEqual(len({r.json["revision"] for r in replies}), 40)
        self.assertEqual(len(self.api(controller, "GET", "sites").json["items"]), 40)

    def test_one_of_two_equal_names_wins(self):
        controller = self.controller()
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            replies = list(pool.map(lambda i: self.api(controller, "POST", "sites", site("same", f"10.{i}.0.0/16")), range(8)))
        self.assertEqual(sorted(r.status for r in replies), [201] + [409] * 7)

    def test_garbage(self):
        controller = self.controller()
        made = self.api(controller, "POST", "sites", site("a", "10.1.0.0/16")).json
        junk = [b"", b"\0", b"GET / HTTP/1.1\r\n\r\n", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + os.urandom(500), os.urandom(5000),
                b"\x80\x2e\x01\x00\x02" + os.urandom(40), b"SSH-2.0-x\r\n"]
        for port in (controller.port, controller.agent_port):
            for data in junk:
                with socket.create_connection(("127.0.0.1", port), timeout=5) as plain:
                    try:
                        plain.sendall(data)
                        plain.shutdown(socket.SHUT_WR)
                        while plain.recv(4096):
                            pass
                    except OSError:
                        pass
        self.assertEqual(self.api(controller, "GET", "sites").json["items"], [made])
        for listener in ("people", "agents"):
            self.counted(controller, f'hawser_http_connections_without_request_total{{listener="{listener}"}}', len(junk))

    def counted(self, controller, name, count):
        """Waits until the metric has reached the count: connections are closed a little later."""
        def value():
            reply = request(controller.port, controller.web_context(), "GET", "/metrics", None, {"Authorization": f"Bearer {controller.token}"})
            return int(next(line for line in reply.body.decode().splitlines() if line.startswith(name)).split()[-1])
        deadline = time.monotonic() + 10
        while value() < count:
            self.assertLess(time.monotonic(), deadline, name)
            time.sleep(0.02)

    def test_garbage_inside_tls(self):
        controller = self.controller()
        made = self.api(controller, "POST", "sites", site("a", "10.1.0.0/16")).json
        junk = [b"\0" * 100, b"\r\n" * 100, b"GET\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"GET /" + b"a" * 20000 + b" HTTP/1.1\r\n\r\n",
                b"POST /api/v1/sites HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n", os.urandom(3000),
                b"POST /api/v1/sites HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
                b"GET / HTTP/1.1\r\nHost: x\r\n" + b"A: b\r\n" * 5000 + b"\r\n",
                b"GET /healthz HTTP/1.1\r\nHost: x\r\n" + b"".join(b"A%d: b\r\n" % i for i in range(60)) + b"\r\n",
                b"POST /api/v1/sites HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\nContent-Length: 20\r\n\r\n{}"]
        for port, context in ((controller.port, controller.web_context()), (controller.agent_port, controller.agent_context())):
            for data in junk:
                with socket.create_connection(("127.0.0.1", port), timeout=5) as plain, \
                        context.wrap_socket(plain, server_hostname="127.0.0.1") as tls:
                    answer = b""
                    try:
                        tls.sendall(data)
                        plain.shutdown(socket.SHUT_WR)
                        while piece := tls.recv(4096):
                            answer += piece
                    except OSError:
                        pass
                    self.assertFalse(answer.startswith(b"HTTP/1.1 2"), (data[:60], answer[:200]))
        self.assertEqual(self.api(controller, "GET", "sites").json["items"], [made])

    def test_a_body_of_doubtful_length_hides_no_request(self):
        controller = self.controller()
        for fields in ("Content-Length: 4\r\nTransfer-Encoding: chunked", "Content-Length: 5\r\nContent-Length: 50",
                       "Transfer-Encoding: gzip", "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked"):
            with self.subTest(fields=fields), socket.create_connection(("127.0.0.1", controller.port), timeout=5) as plain, \
                    controller.web_context().wrap_socket(plain, server_hostname="127.0.0.1") as tls:
                tls.sendall(f"POST /api/v1/sites HTTP/1.1\r\nHost: x\r\n{fields}\r\n\r\n0\r\n\r\n"
                            "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n".encode())
                answer = b""
                while piece := tls.recv(4096):
                    answer += piece
                self.assertEqual((answer.count(b"HTTP/1.1 "), answer[:12]), (1, b"HTTP/1.1 400"), answer)

    def test_slow_clients_don_t_hold_up_others(self):
        """Many that say nothing, before and inside TLS, are not waited for by the others."""
        controller = self.controller()
        context = controller.web_context()
        silent = []
        try:
            for i in range(60):
                plain = socket.create_connection(("127.0.0.1", controller.port), timeout=5)
                silent.append(plain)
                if i % 2:
                    tls = context.wrap_socket(plain, server_hostname="127.0.0.1")
                    silent[-1] = tls
                    tls.sendall(b"POST /api/v1/sites HTTP/1.1\r\nHost: x\r\nContent-Length: 50\r\n\r\n{")
            started = time.monotonic()
            self.assertEqual(self.api(controller, "GET", "sites").status, 200)
            self.assertLess(time.monotonic() - started, 5)
        finally:
            for s in silent:
                s.close()

    def test_stops_with_clients_connected(self):
        controller = self.controller()
        context = controller.web_context()
        held = [context.wrap_socket(socket.create_connection(("127.0.0.1", controller.port), timeout=5), server_hostname="127.0.0.1")
                for _ in range(5)]
        started = time.monotonic()
        self.assertEqual(controller.stop(), 0)
        self.assertLess(time.monotonic() - started, 8)
        for s in held:
            s.close()

    def test_failed_authentications_are_limited(self):
        controller = self.controller()
        client = Client(controller.port, controller.web_context())
        self.addCleanup(client.close)
        statuses = [client.request("GET", "/api/v1/sites", headers={"Authorization": "Bearer guess"}).status for _ in range(80)]
        self.assertEqual(statuses[0], 401)
        self.assertEqual(statuses[-1], 429)
        reply = client.request("GET", "/api/v1/sites", headers={"Authorization": f"Bearer {controller.token}"})
        self.assertEqual((reply.status, reply.headers["Content-Type"]), (429, "application/problem+json"))
        self.assertIsNotNone(reply.headers["Retry-After"])
        self.assertEqual(client.request("GET", "/healthz").status, 200)

    def test_notifies_its_supervisor(self):
        controller = self.controller(running=False)
        self.assertEqual(controller.bootstrap().returncode, 0)
        path = controller.dir / "notify"
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as supervisor:
            supervisor.bind(str(path))
            path.chmod(0o666)
            supervisor.settimeout(10)
            os.environ["NOTIFY_SOCKET"] = str(path)
            os.environ["WATCHDOG_USEC"] = "400000"
            try:
                controller.start()
            finally:
                del os.environ["NOTIFY_SOCKET"], os.environ["WATCHDOG_USEC"]
            said = []
            while said.count("WATCHDOG=1") < 2 or "READY=1" not in said:
                said += supervisor.recv(4096).decode().split("\n")
            self.assertEqual(controller.stop(), 0)
            while "STOPPING=1" not in said:
                said += supervisor.recv(4096).decode().split("\n")

    def test_reload_takes_new_certificates(self):
        controller = self.controller()
        client = Client(controller.port, controller.web_context())
        self.addCleanup(client.close)
        self.assertEqual(client.request("GET", "/healthz").status, 200)
        before = ssl.get_server_certificate(("127.0.0.1", controller.port))
        other = self.controller(running=False)
        self.assertEqual(other.bootstrap().returncode, 0)
        for name in ("web.pem", "web.key"):
            (controller.state / name).write_bytes((other.state / name).read_bytes())
        controller.process.send_signal(1)
        deadline = time.monotonic() + 10
        while ssl.get_server_certificate(("127.0.0.1", controller.port)) == before:
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.02)
        self.assertEqual(client.request("GET", "/healthz").status, 200)

    def test_both_families(self):
        controller = self.controller(running=False)
        settings = json.loads(controller.config.read_text())
        settings["listen"] = [f"127.0.0.1:{controller.port}", f"[::1]:{controller.port}"]
        controller.config.write_text(json.dumps(settings))
        self.assertEqual(controller.bootstrap().returncode, 0)
        controller.start()
        context = controller.web_context()
        for host in ("127.0.0.1", "::1"):
            with socket.create_connection((host, controller.port), timeout=5) as plain, \
                    context.wrap_socket(plain, server_hostname=host) as tls:
                tls.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
                self.assertTrue(tls.recv(100).startswith(b"HTTP/1.1 200"))

    def test_damaged_files(self):
        """The controller says which file it is, or goes on where nothing is lost."""
        for name, content, says in (("hawser.db", b"", "hawser.db is empty"), ("hawser.db", b"garbage" * 99, "not a database"),
                                    ("gateway-ca.key", b"garbage", "gateway-ca.key"), ("web.pem", b"garbage", "web.pem")):
            with self.subTest(name=name, content=content[:7]):
                controller = self.controller(running=False)
                self.assertEqual(controller.bootstrap().returncode, 0)
                (controller.state / name).write_bytes(content)
                with self.assertRaisesRegex(AssertionError, says):
                    controller.start()
        controller = self.controller(running=False)
        self.assertEqual(controller.bootstrap().returncode, 0)
        for name in ("config", "agent-listener", "web"):
            (controller.state / f"{name}.key").write_bytes((controller.state / "gateway-ca.key").read_bytes())
        controller.start()
        self.assertEqual(self.api(controller, "GET", "sites").status, 200)

    def test_a_certificate_of_another_key(self):
        controller = self.controller(running=False)
        self.assertEqual(controller.bootstrap().returncode, 0)
        settings = json.loads(controller.config.read_text())
        for name in ("web.pem", "agent-listener.key"):
            (controller.dir / name).write_bytes((controller.state / name).read_bytes())
            (controller.dir / name).chmod(0o644)
        settings |= {"tls_cert": str(controller.dir / "web.pem"), "tls_key": str(controller.dir / "agent-listener.key")}
        controller.config.write_text(json.dumps(settings))
        with self.assertRaisesRegex(AssertionError, "people's listener"):
            controller.start()

    def test_a_taken_port_is_told(self):
        controller = self.controller(running=False)
        self.assertEqual(controller.bootstrap().returncode, 0)
        with socket.create_server(("127.0.0.1", controller.agent_port)):
            with self.assertRaisesRegex(AssertionError, f"listen on 127.0.0.1:{controller.agent_port}"):
                controller.start()


if __name__ == "__main__":
    unittest.main()
