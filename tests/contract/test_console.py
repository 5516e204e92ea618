"""Serving of the console's files, and its sessions, by a running controller."""
import gzip
import pathlib
import re
import shutil
import sqlite3
import tempfile
import unittest

from controller import Client, Controller
from openapi import Document

PAGE = b"<!doctype html><title>console</title>"
SCRIPT = b"console.log(1)\n" * 100
CSP = ("default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; "
       "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
COOKIE = "__Host-hawser-session"


def console_files(folder):
    (folder / "assets").mkdir()
    (folder / "index.html").write_bytes(PAGE)
    (folder / "favicon.svg").write_bytes(b"<svg/>")
    (folder / "assets" / "a-1f.js").write_bytes(SCRIPT)
    (folder / "assets" / "a-1f.js.gz").write_bytes(gzip.compress(SCRIPT))
    (folder / "odd name.html").write_bytes(b"never")
    (folder / "link.html").symlink_to("/etc/passwd")
    (folder / ".hidden").write_bytes(b"never")


class Base(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="console-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        cls.folder.chmod(0o755)
        console_files(cls.folder)
        cls.controller = Controller(webui_dir=str(cls.folder))
        cls.controller.__enter__()
        cls.addClassCleanup(cls.controller.__exit__, None, None, None)
        cls.client = Client(cls.controller.port, cls.controller.web_context())
        cls.document = Document(cls.client.request("GET", "/api/v1/openapi.json").json)

    def get(self, path, **headers):
        return self.client.request("GET", path, headers={k.replace("_", "-"): v for k, v in headers.items()})


class Files(Base):
    def test_pages_of_the_console_are_the_index(self):
        for path in ("/", "/index.html", "/gateways", "/gateways/5b0a4a51-9a5c-4e0c-8f4e-3f3d3c1b7a10", "/sign-in"):
            reply = self.get(path)
            self.assertEqual((reply.status, reply.body), (200, PAGE), path)
            self.assertEqual(reply.headers["Content-Type"], "text/html; charset=utf-8")
            self.assertEqual(reply.headers["Cache-Control"], "no-cache")

    def test_every_answer_of_the_console_has_the_headers(self):
        for path in ("/", "/favicon.svg", "/assets/a-1f.js"):
            headers = self.get(path).headers
            self.assertEqual(headers["Content-Security-Policy"], CSP)
            self.assertEqual(headers["X-Content-Type-Options"], "nosniff")
            self.assertEqual(headers["Referrer-Policy"], "no-referrer")
            self.assertEqual(headers["Cross-Origin-Opener-Policy"], "same-origin")
            self.assertEqual(headers["Cross-Origin-Resource-Policy"], "same-origin")
            self.assertEqual(headers["Permissions-Policy"], "camera=(), geolocation=(), microphone=()")

    def test_the_api_is_never_a_page(self):
        for path in ("/healthz", "/api/v1/sites", "/api/nothing"):
            headers = self.get(path).headers
            self.assertEqual(headers["Content-Security-Policy"], "default-src 'none'; frame-ancestors 'none'")
            self.assertEqual(headers["Cache-Control"], "no-store")
            self.assertEqual(headers["X-Content-Type-Options"], "nosniff")

    def test_what_is_no_page_and_no_file_is_a_problem(self):
        for path in ("/nothing.js", "/assets/b.js", "/api/v1/nothing", "/api/nothing", "/agent/v1/poll", "/metrics/x",
                     "/odd%20name.html", "/link.html", "/.hidden", "/assets/../index.html", "/%2e%2e/%2e%2e/etc/passwd.",
                     "//etc/passwd.x"):
            reply = self.get(path)
            self.assertEqual(reply.status, 404, f"{path}: {reply}")
            self.assertEqual(reply.headers["Content-Type"], "application/problem+json")

    def test_only_get_and_head(self):
        self.assertEqual(self.client.request("POST", "/gateways", {}).status, 404)
        reply = self.client.request("HEAD", "/")
        self.assertEqual((reply.status, reply.body, reply.headers["Content-Length"]), (200, b"", str(len(PAGE))))

    def test_hashed_names_are_kept_for_ever(self):
        reply = self.get("/assets/a-1f.js")
        self.assertEqual(reply.headers["Cache-Control"], "public, max-age=31536000, immutable")
        self.assertEqual(reply.headers["Content-Type"], "text/javascript; charset=utf-8")
        self.assertEqual((reply.body, reply.headers["Content-Encoding"]), (SCRIPT, None))

    def test_packed_for_who_takes_it(self):
        for accept, packed in (("gzip", True), ("br, gzip;q=0.5", True), ("br", False), ("gzip;q=0", False), ("x-gzip", False)):
            reply = self.get("/assets/a-1f.js", Accept_Encoding=accept)
            self.assertEqual(reply.headers["Content-Encoding"], "gzip" if packed else None, accept)
            self.assertEqual(reply.headers["Vary"], "Accept-Encoding")
            self.assertEqual(gzip.decompress(reply.body) if packed else reply.body, SCRIPT)

    def test_an_unchanged_page_is_not_sent_again(self):
        tag = self.get("/").headers["ETag"]
        reply = self.get("/gateways", If_None_Match=f'"other", {tag}')
        self.assertEqual((reply.status, reply.body), (304, b""))
        self.assertEqual(self.get("/gateways", If_None_Match="*").status, 304)
        self.assertEqual(self.get("/", If_None_Match='"other"').status, 200)

    def test_without_files_all_the_rest_works(self):
        with Controller(webui_dir="/nowhere/at/all") as controller:
            client = Client(controller.port, controller.web_context())
            self.assertEqual(client.request("GET", "/").status, 404)
            self.assertEqual(client.request("GET", "/healthz").status, 200)
            client.close()


class Sessions(Base):
    def call(self, method, path, body=None, **headers):
        reply = self.client.request(method, path, body, {k.replace("_", "-"): v for k, v in headers.items()})
        self.document.check(method, path, reply)
        return reply

    def sign_in(self):
        reply = self.call("POST", "/api/v1/sessions", {"token": self.controller.token})
        self.assertEqual(reply.status, 201, reply)
        return reply.json, re.match(COOKIE + r"=[A-Za-z0-9_-]{43}(?=;)", reply.headers["Set-Cookie"])[0]

    def store(self):
        return sqlite3.connect(self.controller.state / "hawser.db", isolation_level=None)

    def test_sign_in_gives_a_cookie_that_scripts_do_not_see(self):
        reply = self.call("POST", "/api/v1/sessions", {"token": self.controller.token})
        self.assertRegex(reply.headers["Set-Cookie"],
                         f"^{COOKIE}=[A-Za-z0-9_-]{{43}}; Path=/; Secure; HttpOnly; SameSite=Strict$")
        self.assertNotIn(self.controller.token, reply.body.decode())
        self.assertTrue(self.controller.token.startswith(reply.json["token_prefix"]))

    def test_the_cookie_stands_for_the_token(self):
        session, cookie = self.sign_in()
        self.assertEqual(self.get("/api/v1/sites", Cookie=cookie).status, 200)
        me = self.call("GET", "/api/v1/whoami", Cookie=f"other=1; {cookie}; more=2").json
        self.assertEqual((me["by"], me["role"], me["session"]["id"]), ("session", "admin", session["id"]))
        self.assertEqual(me["csrf_token"], session["csrf_token"])
        self.assertEqual(self.call("GET", "/api/v1/whoami", Authorization=f"Bearer {self.controller.token}").json["by"], "token")

    def test_authorization_wins(self):
        _, cookie = self.sign_in()
        self.assertEqual(self.get("/api/v1/sites", Cookie=cookie, Authorization="Bearer hwa1.wrong").status, 401)

    def test_writes_need_the_csrf_token_and_their_own_origin(self):
        session, cookie = self.sign_in()
        site = {"name": "by-console", "provider": "onprem", "role": "spoke"}
        own = f"https://127.0.0.1:{self.controller.port}"
        token = session["csrf_token"]

        def post(**headers):
            return self.client.request("POST", "/api/v1/sites", site, {"Cookie": cookie, **headers}).status
        self.assertEqual(post(), 403)
        self.assertEqual(post(**{"Hawser-Csrf": "0" * 64}), 403)
        self.assertEqual(post(**{"Hawser-Csrf": token, "Origin": "https://evil.example"}), 403)
        self.assertEqual(post(**{"Hawser-Csrf": token, "Origin": own.replace("https", "http")}), 403)
        self.assertEqual(post(**{"Hawser-Csrf": token, "Origin": "null"}), 403)
        self.assertEqual(post(**{"Hawser-Csrf": token, "Origin": own}), 201)
        other, _ = self.sign_in()
        self.assertEqual(post(**{"Hawser-Csrf": other["csrf_token"], "Origin": own}), 403)

    def test_sign_out(self):
        session, cookie = self.sign_in()
        self.assertEqual(self.call("DELETE", "/api/v1/sessions/current", Cookie=cookie).status, 403)
        reply = self.call("DELETE", "/api/v1/sessions/current", Cookie=cookie, Hawser_Csrf=session["csrf_token"])
        self.assertEqual(reply.status, 204)
        self.assertRegex(reply.headers["Set-Cookie"], f"^{COOKIE}=; .*Max-Age=0$")
        reply = self.call("GET", "/api/v1/whoami", Cookie=cookie)
        self.assertEqual(reply.status, 401)
        self.assertRegex(reply.headers["Set-Cookie"], f"^{COOKIE}=; .*Max-Age=0$")

    def test_a_session_ends(self):
        for column, age in (("last_used_at", 3600), ("expires_at", 0)):
            session, cookie = self.sign_in()
            with self.store() as store:
                store.execute(f"UPDATE web_sessions SET {column} = unixepoch() - ? WHERE id = ?",
                              (age, bytes.fromhex(session["id"].replace("-", ""))))
            self.assertEqual(self.call("GET", "/api/v1/whoami", Cookie=cookie).status, 401, column)

    def test_use_keeps_it_alive(self):
        session, cookie = self.sign_in()
        one = bytes.fromhex(session["id"].replace("-", ""))
        with self.store() as store:
            store.execute("UPDATE web_sessions SET last_used_at = unixepoch() - 3000 WHERE id = ?", (one,))
        self.assertEqual(self.call("GET", "/api/v1/whoami", Cookie=cookie).status, 200)
        with self.store() as store:
            self.assertLess(store.execute("SELECT unixepoch() - last_used_at FROM web_sessions WHERE id = ?", (one,)).fetchone()[0], 60)

    def test_a_use_that_cannot_be_noted_refuses_nobody(self):
        session, cookie = self.sign_in()
        one = bytes.fromhex(session["id"].replace("-", ""))
        with self.store() as store:
            store.execute("UPDATE web_sessions SET last_used_at = unixepoch() - 3000 WHERE id = ?", (one,))
            store.execute("CREATE TRIGGER full BEFORE UPDATE ON web_sessions BEGIN SELECT RAISE(FAIL, 'disk full'); END")
            try:
                self.assertEqual(self.call("GET", "/api/v1/whoami", Cookie=cookie).status, 200)
                self.assertEqual(self.get("/api/v1/sites", Cookie=cookie).status, 200)
            finally:
                store.execute("DROP TRIGGER full")
        self.assertEqual(self.controller.log_text().count("a use is not noted"), 1)

    def test_the_secret_is_not_stored(self):
        _, cookie = self.sign_in()
        with self.store() as store:
            dump = "\n".join(store.iterdump())
        self.assertNotIn(cookie.split("=")[1], dump)

    def test_at_most_64_a_token(self):
        _, first = self.sign_in()
        with self.store() as store:
            store.execute("UPDATE web_sessions SET created_at = created_at - 10")
        for _ in range(64):
            self.sign_in()
        with self.store() as store:
            self.assertEqual(store.execute("SELECT count(*) FROM web_sessions").fetchone()[0], 64)
        self.assertEqual(self.call("GET", "/api/v1/whoami", Cookie=first).status, 401)

    def test_a_wrong_token_is_refused_and_counted(self):
        with Controller() as controller:
            client = Client(controller.port, controller.web_context())
            seen = [client.request("POST", "/api/v1/sessions", {"token": "hwa1.no"}).status for _ in range(130)]
            client.close()
        self.assertEqual(seen[0], 401)
        self.assertIn(429, seen)

    def test_failures_of_others_end_no_session(self):
        wrong = f"{COOKIE}={'A' * 43}"
        for failing in ({"Authorization": "Bearer guess"}, {"Cookie": wrong}):
            with Controller() as controller:
                client = Client(controller.port, controller.web_context())
                signed_in = client.request("POST", "/api/v1/sessions", {"token": controller.token})
                cookie = signed_in.headers["Set-Cookie"].split(";")[0]

                def status(method="GET", body=None, **headers):
                    return client.request(method, "/api/v1/sites", body, headers).status
                self.assertEqual([status("POST", {}, Cookie=cookie) for _ in range(80)], [403] * 80)  # no failure: a session it is
                seen = [status(**failing) for _ in range(80)]
                self.assertEqual((seen[0], seen[-1]), (401, 429), failing)
                self.assertEqual(status(Authorization=f"Bearer {controller.token}"), 429)
                self.assertEqual(status(Cookie=wrong), 429)
                self.assertEqual(status(Cookie=cookie), 200)
                client.close()

    def test_bodies_are_judged(self):
        for body, status in (({}, 422), ({"token": 1}, 422), ({"token": "x" * 129}, 422), ({"token": "x", "more": 1}, 422), (b"{", 400)):
            self.assertEqual(self.call("POST", "/api/v1/sessions", body).status, status, body)


if __name__ == "__main__":
    unittest.main()
