"""Network namespaces, and work done inside them by this process."""
import contextlib
import ctypes
import fcntl
import os
import socket
import struct
import subprocess

# With the process in it, so that two runs on one machine don't meet.
PREFIX = f"hwx-engine-{os.getpid()}-"
CLONE_NEWNET = 0x40000000
IFF_TUN, IFF_NO_PI, IFF_VNET_HDR, IFF_MULTI_QUEUE = 0x0001, 0x1000, 0x4000, 0x0100
TUNSETIFF, TUNSETOFFLOAD = 0x400454CA, 0x400454D0
IP_PMTUDISC_PROBE = 3
libc = ctypes.CDLL(None, use_errno=True)


def run(*command, **options):
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, **options)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)}: {done.stderr.strip() or done.stdout.strip()}")
    return done.stdout


def set_namespace(fd):
    if libc.setns(fd, CLONE_NEWNET) != 0:
        raise OSError(ctypes.get_errno(), "setns")


class Namespace:
    """One namespace with the project's usual settings; removed by close()."""

    def __init__(self, name):
        self.name = PREFIX + name
        run("ip", "netns", "add", self.name)
        self.ip("link", "set", "lo", "up")
        for key in ("net.ipv4.ip_forward=1", "net.ipv6.conf.all.forwarding=1", "net.ipv4.conf.all.rp_filter=0",
                    "net.ipv4.conf.default.rp_filter=0", "net.ipv6.conf.all.accept_dad=0",
                    "net.ipv6.conf.default.accept_dad=0"):
            self.exec("sysctl", "-qw", key)

    def close(self):
        subprocess.run(["ip", "netns", "del", self.name], capture_output=True)

    def ip(self, *args):
        return self.exec("ip", *args)

    def command(self, *args):
        return ["nsenter", f"--net=/run/netns/{self.name}", *args]

    def exec(self, *args, **options):
        return run(*self.command(*args), **options)

    @contextlib.contextmanager
    def inside(self):
        """This thread works in the namespace: sockets and devices opened here belong to it."""
        own = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
        there = os.open(f"/run/netns/{self.name}", os.O_RDONLY)
        try:
            set_namespace(there)
            yield
        finally:
            set_namespace(own)
            os.close(there)
            os.close(own)

    def veth(self, interface, other, other_interface, mtu):
        """A pair of devices between two namespaces, GRO on as on real network cards."""
        run("ip", "link", "add", interface, "netns", self.name, "mtu", str(mtu), "type", "veth", "peer", "name",
            other_interface, "netns", other.name, "mtu", str(mtu))
        for space, name in ((self, interface), (other, other_interface)):
            space.ip("link", "set", name, "up")
            space.exec("ethtool", "-K", name, "gro", "on")

    def open_tun(self, name, queues, mtu):
        """Descriptors of all queues, in order."""
        fds = []
        with self.inside():
            for _ in range(queues):
                fd = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
                flags = IFF_TUN | IFF_NO_PI | IFF_VNET_HDR | IFF_MULTI_QUEUE
                fcntl.ioctl(fd, TUNSETIFF, struct.pack("16sH22x", name.encode(), flags))
                fds.append(fd)
        # As the agent does: without a link-local address the kernel announces no groups (MLD) on the
        # tunnel device, at random times, which the engine would count as drops.
        self.ip("link", "set", name, "addrgenmode", "none")
        self.ip("link", "set", name, "mtu", str(mtu), "up")
        return fds

    def udp_socket(self, family, port):
        """A bound socket as the agent makes it."""
        with self.inside():
            s = socket.socket(socket.AF_INET if family == 4 else socket.AF_INET6, socket.SOCK_DGRAM)
        if family == 4:
            s.setsockopt(socket.IPPROTO_IP, 10, IP_PMTUDISC_PROBE)
        else:
            s.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
            s.setsockopt(socket.IPPROTO_IPV6, 23, IP_PMTUDISC_PROBE)
            s.setsockopt(socket.IPPROTO_IPV6, 62, 1)
        for option in (32, 33):  # SO_SNDBUFFORCE, SO_RCVBUFFORCE
            s.setsockopt(socket.SOL_SOCKET, option, 8 << 20)
        s.bind(("0.0.0.0" if family == 4 else "::", port))
        return s
