#!/usr/bin/python3
"""Traffic for test_firewall_table, run in the namespace of the host that it begins at.

udp TO FIRST LAST          one datagram to each port
serve CLIENT ADDRESS PORT FROM
                           serves one connection that the namespace CLIENT makes from port FROM; fails unless
                           the client got the answer
connect ADDRESS PORT FROM  the client of it
"""
import socket
import subprocess
import sys


def udp(to, first, last):
    kind = socket.AF_INET6 if ":" in to else socket.AF_INET
    for port in range(int(first), int(last) + 1):
        with socket.socket(kind, socket.SOCK_DGRAM) as s:
            s.sendto(bytes(32), (to, port))


def serve(client, address, port, from_port):
    with socket.create_server((address, int(port))) as server:
        server.settimeout(3)
        with subprocess.Popen(["ip", "netns", "exec", client, sys.executable, __file__, "connect", address, port,
                               from_port], stdout=subprocess.PIPE) as run:
            with server.accept()[0] as s:
                s.sendall(b"hello")
            if run.communicate()[0] != b"hello\n":
                sys.exit("no answer")


def connect(address, port, from_port):
    with socket.create_connection((address, int(port)), 3, ("", int(from_port))) as s:
        print(s.recv(5).decode())


{"udp": udp, "serve": serve, "connect": connect}[sys.argv[1]](*sys.argv[2:])
