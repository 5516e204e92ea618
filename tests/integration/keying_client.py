"""Dials a gateway's keying port as a peer would (docs/protocols.md), with whatever certificate a test has."""
import ssl
import struct
import uuid

import netns

OFFER, ACCEPT, READY, REFUSE = 1, 2, 3, 8
PORT = 4510


def context(pair, ca_file):
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    made.minimum_version = ssl.TLSVersion.TLSv1_3
    made.check_hostname = False
    made.verify_mode = ssl.CERT_REQUIRED
    made.load_verify_locations(ca_file)
    if pair:
        made.load_cert_chain(*pair)
    return made


def offer(link, own, peer, boot, epoch=1_000_000):
    """One tunnel under aes-256-gcm. `boot`: of the dataplane that speaks; a new one would replace its keys."""
    body = struct.pack(">BBBB", 1, 1, 1, 1) + link.bytes + own.bytes + peer.bytes + boot.bytes
    body += struct.pack(">QIIQ", epoch, 8192, 1400, 0) + bytes([1]) + struct.pack(">I", 0x1234567)
    return struct.pack(">HH", OFFER, len(body)) + body


def ready(link, epoch):
    body = link.bytes + struct.pack(">Q", epoch)
    return struct.pack(">HH", READY, len(body)) + body


def accepted_epoch(body):
    return struct.unpack_from(">Q", body, 68)[0]


def dial(ns, source, address, pair, ca_file, message, timeout=12, then=None):
    """What comes back after `message`: ("accept"|"refuse"|"message N", body), or ("closed", reason). A TLS 1.3
    client learns of a refused certificate only by its first read. `then(body)` makes a last message."""
    try:
        raw = netns.connect(ns, (address, PORT), timeout, source)
    except OSError as error:
        return "closed", str(error)
    try:
        with context(pair, ca_file).wrap_socket(raw) as tls:
            tls.sendall(message)
            head = read(tls, 4)
            kind, length = struct.unpack(">HH", head)
            body = read(tls, length)
            if then:
                tls.sendall(then(body))
            return {ACCEPT: "accept", REFUSE: "refuse"}.get(kind, f"message {kind}"), body
    except (OSError, EOFError) as error:
        return "closed", str(error)
    finally:
        raw.close()


def read(tls, count):
    data = b""
    while len(data) < count:
        piece = tls.recv(count - len(data))
        if not piece:
            raise EOFError("closed by the peer")
        data += piece
    return data


def try_offer(lab, from_node, to_gateway, link_id, own_id, pair, ca_file):
    """An OFFER for a link, from a node's address to a gateway."""
    sender, target = lab.state["nodes"][from_node], lab.state["nodes"][to_gateway]
    boot = uuid.UUID(lab.status(from_node)["dataplane"]["boot_id"])
    message = offer(uuid.UUID(link_id), uuid.UUID(own_id), uuid.UUID(target["gateway_id"]), boot)
    return dial(sender["netns"], sender["addresses"]["underlay"][0], target["addresses"]["underlay"][0], pair, ca_file,
                message)
