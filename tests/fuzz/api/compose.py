"""Requests of an operation: as documented, almost so, and with heads that nobody may accept."""
import json
import re
import string
import urllib.parse
import uuid

import values as values_of

ANSWERED_BY_THE_LIBRARY = (400, 413, 414, 431, 505)
HEAD = 8000
LARGE = 2**21  # more is not read before it is refused
SAFE = string.ascii_letters + string.digits + "-._~"
TAGS = ('"0"', "*", "", ",", '"', 'W/"1"', '"1", "2"', '"' + "9" * 300 + '"', "1", '"1" "2"', "é", '"18446744073709551616"')
TYPES = ("text/plain", "application/json; charset=utf-8", "application/merge-patch+json", "APPLICATION/JSON", "", "application/jsonx", ";", "a" * 500)
KEYS = ("", " ", "k", "k" * 255, "k" * 256, "é", "a b", "\x80", "'", "k" * 2000)
TOKENS = ("", "Bearer", "Bearer ", "Bearer x", "bearer hwa1.x", "Basic YTpi", "Bearer hwa1." + "A" * 60, "Bearer " + "x" * 3000, "é", "Bearer hwa1.é")
OTHERS = (("Accept", "text/html"), ("Accept-Encoding", "gzip, br"), ("Content-Encoding", "gzip"), ("Range", "bytes=0-1"), ("Expect", "100-continue"),
          ("If-None-Match", "*"), ("If-None-Match", '"1"'), ("If-Modified-Since", "x"), ("X-HTTP-Method-Override", "DELETE"), ("Forwarded", "for=1"),
          ("Origin", "https://elsewhere.example"), ("Hawser-Csrf", "x"), ("Cookie", "a=b; c"), ("Cookie", "__Host-hawser-session=x"),
          ("Cookie", "__Host-hawser-session=" + "A" * 64), ("Upgrade", "h2c"), ("Connection", "keep-alive, x"), ("TE", "trailers"), ("X-Long", "x" * 3000))
IDS = ("x", "00000000-0000-0000-0000-000000000000", "%41", "..", "%2e%2e", "%2F", "a%2Fb", "%", "%zz", "%e9", "%ff%fe", "%F0%9F%98%80", "@0", "a" * 63,
       "a" * 64, "a" * 2000, ";", "*", "'", "{id}", "current", "%20", "+")


class Request:
    def __init__(self, method, path):
        self.method = method
        self.path = path  # without the query
        self.query = []   # "name=value", encoded
        self.headers = []
        self.body = None
        self.chunk = 0    # bytes a chunk; 0: Content-Length
        self.broken = None  # why no server may take it
        self.stranger = False  # comes from another address: its failures are counted there

    @property
    def target(self):
        return self.path + ("?" + "&".join(self.query) if self.query else "")

    @property
    def is_long(self):
        """The library refuses the head by itself, before all of it is read."""
        return len(self.head()) > HEAD or self.broken in ("a long field", "a long target")

    @property
    def may_be_cut(self):
        return self.is_long or (self.body is not None and len(self.body) > LARGE)

    def head(self):
        lines = [f"{self.method} {self.target} HTTP/1.1", "Host: 127.0.0.1", *(f"{name}: {value}" for name, value in self.headers)]
        if self.body is not None:
            lines.append("Transfer-Encoding: chunked" if self.chunk else f"Content-Length: {len(self.body)}")
        return "\r\n".join(lines).encode("utf-8", "surrogateescape") + b"\r\n\r\n"

    def payload(self):
        if self.body is None or not self.chunk:
            return self.body or b""
        parts = [self.body[i:i + self.chunk] for i in range(0, len(self.body), self.chunk)]
        return b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in parts) + b"0\r\n\r\n"

    def data(self):
        head = self.head()
        return (BREAKS[self.broken](head) if self.broken else head) + self.payload()

    def shown(self):
        """Without long runs, and cut."""
        text = re.sub(r"(.{1,4}?)\1{30,}", lambda run: f"{run[1]}<{len(run[0])}>", self.data().decode("latin-1"), flags=re.S)
        return repr(text[:2000].encode("latin-1"))


def in_field(text):
    return lambda head: head.replace(b"Host: 127", b"Host: 1" + text + b"27", 1)


def in_target(text):
    return lambda head: head.replace(b" HTTP/1.1", text + b" HTTP/1.1", 1)


def line(text):
    return lambda head: head[:-2] + text + b"\r\n\r\n"


BREAKS = {
    **{f"control character {byte:#x} in a field": in_field(bytes([byte])) for byte in (0, 1, 9, 11, 27, 31, 127)},
    **{f"control character {byte:#x} in the target": in_target(bytes([byte])) for byte in (0, 1, 9, 31, 127)},
    **{f"%{byte:02x} in the query": in_target(b"?%%%02x" % byte) for byte in (0, 10, 13, 127)},
    "NUL in the method": lambda head: b"\x00" + head,
    "NUL in the version": lambda head: head.replace(b"HTTP/1.1", b"HTTP/1.1\x00", 1),
    "Host twice": line(b"Host: 127.0.0.1"),
    "no Host": lambda head: head.replace(b"Host: 127.0.0.1\r\n", b"", 1),
    "Authorization twice": line(b"Authorization: a\r\nAuthorization: b"),
    "lengths that differ": line(b"Content-Length: 0\r\nContent-Length: 1"),
    "length and coding": line(b"Content-Length: 5\r\nTransfer-Encoding: chunked"),
    "an unknown coding": line(b"Transfer-Encoding: gzip"),
    "a length that is none": line(b"Content-Length: -1"),
    "a huge length": line(b"Content-Length: 99999999999999999999999"),
    "a folded line": line(b"X: a\r\n b"),
    "a blank before the colon": line(b"X : a"),
    "a field without a name": line(b": a"),
    "a field without a colon": line(b"abc"),
    "a line feed alone": lambda head: head.replace(b"\r\n", b"\n", 1),
    "a carriage return alone": line(b"X: a\rb"),
    "a blank in the target": in_target(b" x"),
    "too many fields": line(b"\r\n".join(b"X%d: y" % i for i in range(60))),
    "a long field": line(b"X: " + b"y" * 33000),
    "a long target": in_target(b"?x=" + b"y" * 33000),
    "HTTP/2.0": lambda head: head.replace(b"HTTP/1.1", b"HTTP/2.0", 1),
    "HTTP/0.9": lambda head: head.replace(b"HTTP/1.1", b"HTTP/0.9", 1),
    "no version": lambda head: head.replace(b" HTTP/1.1", b"", 1),
}


class Composer:
    def __init__(self, document, rng, pool, token):
        self.document, self.rng, self.pool, self.token = document, rng, pool, token
        self.values = values_of.Values(document, rng, pool)
        self.operations = [(method.upper(), path, item[method]) for path, item in document["paths"].items()
                           for method in ("get", "post", "put", "patch", "delete") if method in item]

    def weight(self, method, path):
        if method == "DELETE":
            kind = self.pool.kind_of(path)
            return 5 if len(self.pool.ids[kind]) > 25 else 0.3
        return {"GET": 1, "POST": 3, "PATCH": 3, "PUT": 3}[method]

    def next(self):
        """(request, whether all of it is as documented)."""
        method, path, operation = self.rng.choices(self.operations, [self.weight(m, p) for m, p, _ in self.operations])[0]
        request = self.documented(method, path, operation)
        choice = self.rng.random()
        if choice < 0.25:
            return request, True
        for _ in range(1 if choice < 0.85 else 2):
            self.rng.choice((self.odd_body, self.odd_body, self.odd_body, self.odd_bytes, self.odd_query, self.odd_id, self.odd_header, self.odd_token,
                             self.odd_framing, self.break_head, self.odd_method))(request, path)
        if request.broken:
            request.body = None  # the connection ends with the refusal, whatever else was sent
        return request, False

    def documented(self, method, path, operation):
        rng = self.rng
        request = Request(method, path)
        shared = self.document["paths"][path].get("parameters", [])
        parameters = [self.values.resolve(p)[1] for p in (*shared, *operation.get("parameters", []))]
        for p in parameters:
            if p["in"] != "path" and not p.get("required") and rng.random() < 0.7:
                continue
            value = self.parameter(path, p)
            if p["in"] == "path":
                if p["name"] != "id" and value in self.pool.parents:
                    request.path = path.replace("{id}", self.pool.parents[value])
                request.path = request.path.replace("{%s}" % p["name"], urllib.parse.quote(value, SAFE))
            elif p["in"] == "query":
                request.query.append(f"{p['name']}={urllib.parse.quote(value, SAFE)}")
            else:
                request.headers.append((p["name"], value))
        if operation.get("security") != []:
            request.headers.append(("Authorization", f"Bearer {self.token}"))
        content = operation.get("requestBody", {}).get("content")
        if content:
            kind = rng.choice(list(content))
            request.value = self.values.valid(content[kind]["schema"])
            if path == "/api/v1/sessions":
                request.value["token"] = self.token
            request.body = values_of.text(request.value).encode("utf-8", "surrogatepass")
            request.headers.append(("Content-Type", kind))
        return request

    def parameter(self, path, p):
        rng = self.rng
        if p["in"] == "path":
            return self.pool.id(self.pool.kind_of(path) if p["name"] == "id" else p["name"])
        if p["name"] == "object":
            kind = rng.choice(("gateway", "link", "tunnel", "worker"))
            one = self.pool.id({"tunnel": "link", "worker": "gateway"}.get(kind, kind))
            return f"{kind}/{one}" + (f"/{rng.randint(0, 3)}" if kind in ("tunnel", "worker") else "")
        if p["name"] == "cursor":
            return rng.choice(self.pool.cursors) if self.pool.cursors else ""
        if p["name"] == "If-Match":
            return rng.choice(("*", f'"{rng.randint(1, 50)}"'))
        if p["name"] == "Idempotency-Key":
            return str(uuid.UUID(int=self.rng.getrandbits(128)))
        value = self.values.valid(p["schema"], p["name"])
        if isinstance(value, list):
            return ",".join(map(str, value))
        return value if isinstance(value, str) else json.dumps(value)

    # --- almost as documented ---

    def odd_body(self, request, path):
        if request.body is None:
            self.odd_query(request, path)
            return
        spoiled = self.values.spoiled(getattr(request, "value", {}))
        request.body = values_of.text(spoiled).encode("utf-8", "surrogatepass")

    def odd_bytes(self, request, path):
        if not any(name == "Content-Type" for name, _ in request.headers):  # twice is a broken head
            request.headers.append(("Content-Type", "application/json"))
        request.body = self.values.spoiled_bytes(request.body or b"{}")

    def odd_query(self, request, path):
        rng = self.rng
        names = [q.split("=")[0] for q in request.query] + ["limit", "cursor", "x", "", "%ff", "site_id", "range", "a" * 200, "%c3%a9"]
        value = rng.choice((values_of.cursor(rng), "%ff", "%C3%A9", "0", "-1", "1001", "1e3", "18446744073709551616", "", "%20", "a" * 3000, "%F0%9F%98%80",
                            urllib.parse.quote(rng.choice(values_of.TEXTS).encode("utf-8", "surrogatepass").translate(None, bytes(range(32)) + b"\x7f"), "")))
        member = rng.choice((f"{rng.choice(names)}={value}", rng.choice(names), "&", "=", f"limit={value}", f"cursor={value}"))
        if request.query and rng.random() < 0.6:
            request.query[rng.randrange(len(request.query))] = member
        else:
            request.query += [member] * rng.choice((1, 1, 1, 2)) if rng.random() < 0.95 else [f"a{i}=1" for i in range(80)]

    def odd_id(self, request, path):
        segments = request.path.split("/")
        places = [i for i, s in enumerate(path.split("/")) if s.startswith("{")]
        if places:
            segments[self.rng.choice(places)] = self.rng.choice(IDS)
            request.path = "/".join(segments)
        else:
            request.path += self.rng.choice(("/", "//", "/x", "%00"[:2], ";a", "/.", "/..", "/%2e"))

    def odd_header(self, request, path):
        name, value = self.rng.choice((
            ("If-Match", self.rng.choice(TAGS)), ("Idempotency-Key", self.rng.choice(KEYS)), ("Content-Type", self.rng.choice(TYPES)),
            self.rng.choice(OTHERS), self.rng.choice(OTHERS)))
        if name == "Cookie":
            request.stranger = True
        request.headers = [h for h in request.headers if h[0] != name] + [(name, value)]

    def odd_token(self, request, path):
        request.stranger = True
        request.headers = [h for h in request.headers if h[0] != "Authorization"]
        if self.rng.random() < 0.8:
            request.headers.append(("Authorization", self.rng.choice(TOKENS)))

    def odd_framing(self, request, path):
        if request.body is not None:
            request.chunk = self.rng.choice((1, 7, 1000, 100000)) if len(request.body) < 5000 else 100000

    def odd_method(self, request, path):
        request.method = self.rng.choice(("HEAD", "OPTIONS", "TRACE", "PUT", "PATCH", "DELETE", "get", "X" * 50, "CONNECT"))

    def break_head(self, request, path):
        request.broken = self.rng.choice(list(BREAKS))
