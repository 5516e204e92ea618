"""JSON values of a schema, and what is almost one."""
import base64
import ipaddress
import json
import re
import re._parser as regular
import uuid

BORDERS = (0, -1, 1, 2**31 - 1, 2**31, 2**32, 2**53, 2**53 + 1, 2**63 - 1, 2**63, 2**64 - 1, 2**64, -2**63, -2**63 - 1,
           10**30, 0.1, -0.0, 1.0, 1e308, 5e-324)
TEXTS = ("", " ", "x" * 64, "x" * 255, "x" * 256, "x" * 5000, "é", "日本", "😀", "a\u202eb", "a\u0000b", "a\nb", "\x1b[31m", "\x7f", "\x85",
         "\ufeff", "\uffff", "\ud800", "%s%n", "' OR 1=1 --", "<b>&\"'", "../../etc/passwd", "@0", "@1", "0", "-1", "null", "1e5",
         "0.0.0.0/0", "::/0", "10.0.0.0/8", "255.255.255.255", "fe80::1%eth0", "::ffff:1.2.3.4", "2026-02-30T00:00:00Z",
         "2026-12-31T23:59:60Z", "9999-12-31T23:59:59Z", "0000-00-00T00:00:00Z", "1969-12-31T23:59:59Z", "1h", "999999d",
         "00000000-0000-0000-0000-000000000000")
NUMERALS = ("1e400", "-1e400", "1e-400", "1.0000000000000000000000001", "9" * 400, "-0", "1e5", "1.5E+3")
NO_JSON = ("NaN", "Infinity", "-Infinity", "01", "+1", ".5", "1.", "0x10", "'a'", "undefined", "/**/1", "tru", "[1,]", '{"a":1,}',
           '"\\x"', '"\\u12"', '"a\tb"', '"\\u0000"', '"\\ud800"', '"\\ud800\\u0041"', "")


class Raw(str):
    """JSON text as it is."""


class Pairs(list):
    """Members of an object, which may come twice."""


def text(value):
    """The JSON text; json.dumps knows no Raw and no Pairs."""
    if isinstance(value, Raw):
        return str(value)
    if isinstance(value, Pairs):
        return "{" + ",".join(f"{json.dumps(key)}:{text(member)}" for key, member in value) + "}"
    if isinstance(value, dict):
        return text(Pairs(value.items()))
    if isinstance(value, list):
        return "[" + ",".join(map(text, value)) + "]"
    return json.dumps(value)


def places(value, path=()):
    """The way to every value within."""
    yield path
    members = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, member in members:
        yield from places(member, (*path, key))


def put(value, path, change):
    """A copy with `change` applied to what stands at `path`."""
    if not path:
        return change(value)
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[path[0]] = put(copy[path[0]], path[1:], change)
    return copy


class Values:
    def __init__(self, document, rng, pool):
        self.document = document
        self.rng = rng
        self.pool = pool

    def resolve(self, node):
        name = None
        while "$ref" in node:
            reference, node = node["$ref"], self.document
            name = reference.rsplit("/", 1)[1]
            for step in reference.removeprefix("#/").split("/"):
                node = node[step]
        return name, node

    # --- valid ---

    def valid(self, schema, member=""):
        """`member`: the name of what this is for, from which the kind of an id follows."""
        name, schema = self.resolve(schema)
        rng = self.rng
        if "const" in schema:
            return schema["const"]
        if "enum" in schema:
            return rng.choice(schema["enum"])
        if rng.random() < 0.2 and "default" in schema:
            return schema["default"]
        for several in ("oneOf", "anyOf"):
            if several in schema and schema.get("type") != "object":
                return self.valid(rng.choice(schema[several]), member)
        kind = schema.get("type", "string")
        if isinstance(kind, list):
            kind = rng.choice(kind)
        return getattr(self, kind)(schema, name, member)

    def null(self, schema, name, member):
        return None

    def boolean(self, schema, name, member):
        return self.rng.random() < 0.5

    def integer(self, schema, name, member):
        low, high = schema.get("minimum", 0), schema.get("maximum", 2**31)
        return self.rng.choice((low, high, min(low + 1, high), self.rng.randint(low, high), self.rng.randint(low, min(high, low + 20))))

    def number(self, schema, name, member):
        low, high = schema.get("minimum", schema.get("exclusiveMinimum", 0) + 1e-6), schema.get("maximum", 1e12)
        return self.rng.choice((low, high, self.rng.uniform(low, high)))

    def array(self, schema, name, member):
        low, high = schema.get("minItems", 0), schema.get("maxItems", 3)
        count = self.rng.randint(low, max(low, min(high, 3)))
        return [self.valid(schema["items"], member) for _ in range(count)]

    def object(self, schema, name, member):
        required = set(schema.get("required", ()))
        return {key: self.valid(value, key) for key, value in schema.get("properties", {}).items()
                if key in required or self.rng.random() < 0.4}

    def string(self, schema, name, member):
        rng, form = self.rng, schema.get("format")
        if form == "uuid":
            return self.pool.id(member)
        if name == "Prefix":
            return self.prefix()
        if form == "ipv4" or form == "ipv6" or name == "Address":
            return self.address(form)
        if form == "date-time":
            return f"20{rng.randint(26, 36)}-{rng.randint(1, 12):02}-{rng.randint(1, 28):02}T{rng.randint(0, 23):02}:00:00Z"
        if "pattern" in schema:
            made = "".join(self.matching(regular.parse(schema["pattern"])))
            return made if re.search(schema["pattern"], made) else "a"
        low, high = schema.get("minLength", 1), schema.get("maxLength", 40)
        return "".join(rng.choice("abcdefgh 0123-éß") for _ in range(rng.randint(low, max(low, min(high, 40)))))

    def address(self, form=None):
        if form == "ipv6" or (not form and self.rng.random() < 0.3):
            return str(ipaddress.ip_address(0xfd << 120 | self.rng.getrandbits(60)))
        return f"10.{self.rng.randint(0, 255)}.{self.rng.randint(0, 255)}.{self.rng.randint(1, 254)}"

    def prefix(self):
        length = self.rng.choice((16, 20, 24))
        return str(ipaddress.ip_network((self.address("ipv4"), length), strict=False))

    def matching(self, parsed):
        """Text that a regular expression of the document matches."""
        for op, argument in parsed:
            if op is regular.LITERAL:
                yield chr(argument)
            elif op is regular.IN:
                yield self.one_of(argument)
            elif op in (regular.MAX_REPEAT, regular.MIN_REPEAT):
                low, high, inner = argument
                for _ in range(self.rng.randint(low, min(int(high), low + 12))):
                    yield from self.matching(inner)
            elif op is regular.SUBPATTERN:
                yield from self.matching(argument[-1])
            elif op is regular.BRANCH:
                yield from self.matching(self.rng.choice(argument[1]))
            elif op is regular.ANY:
                yield self.rng.choice("aZ9-")

    def one_of(self, choices):
        op, argument = self.rng.choice(choices)
        if op is regular.RANGE:
            return chr(self.rng.randint(*argument))
        return chr(argument) if op is regular.LITERAL else self.rng.choice("0123456789")

    # --- almost valid ---

    def odd(self, was=None):
        """Another value in place of `was`."""
        rng = self.rng
        if isinstance(was, (int, float)) and not isinstance(was, bool) and rng.random() < 0.5:
            return rng.choice((was + 1, was - 1, -was, was * 1000, was + 0.5, *BORDERS))
        if isinstance(was, str) and rng.random() < 0.5:
            return rng.choice((was + "x", was[:-1], was.upper(), was + "\n", " " + was, was * 30, *TEXTS))
        if isinstance(was, list) and was and rng.random() < 0.5:
            return was * rng.choice((2, 20, 300))
        return rng.choice((None, True, False, [], {}, [None], [[]], {"a": 1}, self.deep(), rng.choice(BORDERS), rng.choice(TEXTS),
                           Raw(rng.choice(NUMERALS)), Raw(rng.choice(NO_JSON)), self.pool.id("site_id")))

    def deep(self):
        depth = self.rng.choice((5, 28, 31, 32, 33, 200, 3000))
        before, after = self.rng.choice((("[", "]"), ('{"a":', "}")))
        return Raw(before * depth + "1" + after * depth)

    def spoiled(self, value):
        """A copy with one or two places changed."""
        rng = self.rng
        for _ in range(rng.choice((1, 1, 1, 2))):
            path = rng.choice(list(places(value)))
            value = put(value, path, rng.choice((self.odd, self.odd, self.spoil_object)))
            if not isinstance(value, (dict, list)):
                break
        return value

    def spoil_object(self, was):
        if not isinstance(was, dict):
            return self.odd(was)
        members = Pairs(was.items())
        choice = self.rng.random()
        if members and choice < 0.4:
            members.pop(self.rng.randrange(len(members)))
        elif members and choice < 0.7:
            key, member = self.rng.choice(members)
            members.append((key, self.rng.choice((member, self.odd(member)))))
        else:
            members.append((self.rng.choice(("x", "", "id", "revision", "\u0000", "a" * 300, "__proto__", "名")), self.odd()))
        return members if len({key for key, _ in members}) < len(members) else dict(members)

    def spoiled_bytes(self, body):
        """The text itself is harmed."""
        rng = self.rng
        at = rng.randint(0, len(body))
        return rng.choice((
            body[:at], body[:at] + bytes([rng.randint(0, 255)]) + body[at:], body[:at] + b"\xff\xfe" + body[at:], b"\xef\xbb\xbf" + body,
            body + body, body + b"x", body + b" " * rng.choice((1, 2000)), body[:at] + b"\x00" + body[at:], b"", b"\x00", b"[" * 5000,
            body.decode("utf-8", "replace").encode("utf-16"), b" " * rng.choice((65536, 2**20 - 1, 2**20, 2**20 + 1, 2**21 + 5)),
            b'{"name":"' + b"a" * rng.choice((65000, 66000, 2**20, 2**21)) + b'"}'))


def cursor(rng):
    """What looks like one."""
    inside = rng.choice((b"a", b"\x00", b"a\x00b", b"\xff", b"x" * 150, b"x" * 300, uuid.uuid4().bytes, str(uuid.uuid4()).encode(), b"'--"))
    return rng.choice((base64.urlsafe_b64encode(inside).rstrip(b"=").decode(), "=", "a", "A===", "", "%%", "*"))
