"""What tap.c wrote: HTTP exchanges, keying messages and messages of the dataplane's socket."""
import struct

TLS_OUT, TLS_IN, TLS_END, LOCAL_OUT, LOCAL_IN, LOCAL_FILE = range(1, 7)
KEYING = {1: "offer", 2: "accept", 3: "ready", 4: "delete", 5: "want", 6: "mtu", 7: "hello", 8: "refuse"}


def entries(data):
    at = 0
    while at + 13 <= len(data):
        kind, key, length = struct.unpack_from("=BQI", data, at)
        yield kind, key, data[at + 13:at + 13 + length]
        at += 13 + length


def connections(data):
    """[(sent, received)] of every TLS connection; an address that is used again is another one."""
    done, current = [], {}
    for kind, key, part in entries(data):
        if kind in (TLS_OUT, TLS_IN):
            current.setdefault(key, [b"", b""])[kind == TLS_IN] += part
        elif kind == TLS_END and key in current:
            done.append(current.pop(key))
    return done + list(current.values())


class Message:
    """One HTTP message: its first line, headers by lower-case name, body."""

    def __init__(self, head, body):
        lines = head.decode("latin-1").split("\r\n")
        self.first = lines[0].split(" ")
        self.headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines[1:])}
        self.body = body


def messages(stream):
    """Those that are whole. Bodies have a length, as Hawser's have."""
    found = []
    while b"\r\n\r\n" in stream:
        head, _, rest = stream.partition(b"\r\n\r\n")
        message = Message(head, b"")
        length = int(message.headers.get("content-length", 0))
        if len(rest) < length:
            break
        message.body, stream = rest[:length], rest[length:]
        if message.first[1] != "100":
            found.append(message)
    return found


def is_http(sent):
    return sent[:4] in (b"GET ", b"POST")


def exchanges(data):
    """[(request, reply)] of the agents' API."""
    return [pair for sent, received in connections(data) if is_http(sent)
            for pair in zip(messages(sent), messages(received))]


def keying(data):
    """{name: message} of the keying connection, the longest of each kind in either direction."""
    found = {}
    for streams in connections(data):
        if is_http(streams[0]):
            continue
        for stream in streams:
            while len(stream) >= 4:
                kind, length = struct.unpack_from("!HH", stream)
                if kind not in KEYING or len(stream) < 4 + length:
                    break
                message, stream = stream[:4 + length], stream[4 + length:]
                if len(message) > len(found.get(KEYING[kind], b"")):
                    found[KEYING[kind]] = message
    return found


def local(data):
    """{(type, to the dataplane): message}, the longest of each, and the last forwarding table that went with one."""
    found, table = {}, b""
    for kind, _, part in entries(data):
        if kind == LOCAL_FILE:
            table = part
        if kind in (LOCAL_OUT, LOCAL_IN) and len(part) >= 16:
            version, number, length = struct.unpack_from("=HHI", part)
            key = (number, kind == LOCAL_OUT)
            if length == len(part) and version and len(part) > len(found.get(key, b"")):
                found[key] = part
    return found, table
