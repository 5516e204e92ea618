#!/usr/bin/python3
"""Judges what packet_judge makes by scapy, an implementation that shares no code with it: lengths and checksums by
building each packet anew, ESP by decrypting it, and the other way round by letting it open what scapy sealed."""
import logging
import subprocess
import sys

logging.getLogger("scapy").setLevel(logging.ERROR)
from scapy.layers.inet import ICMP, IP, TCP, UDP  # noqa: E402
from scapy.layers.inet6 import IPv6  # noqa: E402
from scapy.layers.ipsec import ESP, SecurityAssociation  # noqa: E402
from scapy.packet import Raw  # noqa: E402


def parse(data):
    return IP(data) if data[0] >> 4 == 4 else IPv6(data)


def rebuilt(data):
    """The packet with every length and checksum of its own layers (not of a quoted packet) left to scapy."""
    packet = parse(data)
    layer = packet
    while layer and not layer.name.endswith("in ICMP") and not layer.name.endswith("in ICMPv6"):
        for field in ("len", "plen", "chksum", "cksum"):
            if field in layer.fields and (field != "len" or isinstance(layer, (IP, UDP))):
                delattr(layer, field)
        layer = layer.payload
    return bytes(packet)


def association(esn, top, spi, key):
    """`top` is the highest number before: scapy wants the low half's successor and the high half given."""
    kw = {"esn_en": True, "esn": (top + 1) >> 32} if esn else {}
    sa = SecurityAssociation(ESP, spi=spi, crypt_algo="AES-GCM", crypt_key=key,
                             tunnel_header=IP(src="192.0.2.1", dst="192.0.2.2"), **kw)
    sa.seq_num = (top + 1) & 0xffffffff
    return sa


def judge_ip(name, data):
    return rebuilt(data) == data, name


def judge_esp(esn, top, spi, key, data, inner):
    sa = association(int(esn), int(top), int(spi), bytes.fromhex(key))
    outer = IP(bytes(IP(src="192.0.2.1", dst="192.0.2.2", proto=50) / Raw(bytes.fromhex(data))))
    return bytes(sa.decrypt(outer)) == bytes.fromhex(inner), f"esp esn={esn} top={top}"


def judge_emitted(program):
    done = subprocess.run([program, "emit"], capture_output=True, text=True, check=True)
    for line in done.stdout.splitlines():
        kind, *words = line.split()
        if kind == "ip":
            yield judge_ip(words[0], bytes.fromhex(words[1]))
        else:
            yield judge_esp(*words)


def foreign_packets():
    for esn in (0, 1):
        for top in (7, 0xfffffffe if esn else 0x7fffffff, 0x5ffffffff if esn else 1):
            for size in range(0, 1400, 93):
                inner = IP(src="10.1.0.9", dst="10.2.0.7") / TCP(sport=size, dport=80) / Raw(bytes(size))
                if size % 2:
                    inner = IPv6(src="fd01::9", dst="fd02::7") / UDP(sport=1, dport=2) / Raw(bytes(size))
                yield esn, top, 256 + size, bytes(range(36)), inner


def judge_opened(program):
    """What scapy sealed must come out; with one bit of it changed, nothing may."""
    lines, wanted = [], []
    for esn, top, spi, key, inner in foreign_packets():
        sealed = bytes(association(esn, top, spi, key).encrypt(inner, esn=(top + 1) >> 32 if esn else None)[ESP])
        spoilt = sealed[:-1] + bytes([sealed[-1] ^ 1])
        for data, want in ((sealed, bytes(inner).hex()), (spoilt, "refused")):
            lines.append(f"{esn} {top} {spi} {key.hex()} {data.hex()}")
            wanted.append(want)
    done = subprocess.run([program, "open"], input="\n".join(lines), capture_output=True, text=True, check=True)
    for got, want, line in zip(done.stdout.split(), wanted, lines, strict=True):
        yield got == want, f"open {line[:24]}"


def main(program):
    results = list(judge_emitted(program)) + list(judge_opened(program))
    bad = [name for ok, name in results if not ok]
    print(f"{len(results)} packets judged, {len(bad)} wrong", *bad[:10], sep="\n")
    return 1 if bad or len(results) < 200 else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
