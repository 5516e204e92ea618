"""tcpdump in a namespace, filtered in the kernel so that nothing is lost under load."""
import contextlib
import os
import re
import signal
import subprocess
import tempfile
import time

import netns
from expect import wait_for


class Capture:
    """Packets that match `expression` in namespace `ns`, until stop(). `direction`: in, out or inout."""

    def __init__(self, ns, interface, expression, direction="inout"):
        handle, self.file = tempfile.mkstemp(suffix=".pcap")
        os.close(handle)
        self.errors = tempfile.TemporaryFile(mode="w+")
        # Unprivileged after opening the device would need a user that may write the file.
        self.process = subprocess.Popen(
            ["nsenter", f"--net={netns.path(ns)}", "tcpdump", "-Z", "root", "-n", "-U", "--immediate-mode",
             "-i", interface, "-Q", direction, "-B", "32768", "-w", self.file, expression],
            stdout=subprocess.DEVNULL, stderr=self.errors)
        wait_for("tcpdump to listen", lambda: "listening on" in self.said(), 10, 0.05)

    def said(self):
        self.errors.seek(0)
        return self.errors.read()

    def stop(self):
        """Ends the capture; returns how many packets the kernel could not deliver to it."""
        if self.process.poll() is None:
            time.sleep(0.3)  # what lies in the kernel's buffer has to be read; nothing tells when it is
            self.process.send_signal(signal.SIGINT)
            self.process.wait(15)
        found = re.search(r"(\d+) packets? dropped by kernel", self.said())
        return int(found.group(1)) if found else -1

    def lines(self, limit=20):
        """Captured packets in words; call after stop()."""
        out = subprocess.run(["tcpdump", "-n", "-r", self.file, "-c", str(limit)], capture_output=True, text=True)
        return out.stdout.splitlines()

    def bytes(self):
        with open(self.file, "rb") as captured:
            return captured.read()

    def close(self):
        self.stop()
        self.errors.close()
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self.file)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def permitted(lab):
    """Filter of what may appear on the underlay (DESIGN, Packet engine): ESP in UDP on the gateways' ports,
    keying, the controller's ports, ICMP between gateways' own addresses, ARP, neighbour discovery, MLD."""
    gateways4 = [g.underlay[0] for g in lab.topology.with_role("gateway")]
    gateways6 = [g.underlay[1] for g in lab.topology.with_role("gateway")]
    controller = lab.topology.with_role("controller")[0].underlay[0]

    def between(addresses):
        either = " or ".join(addresses)
        return f"(src host ({either}) and dst host ({either}))"

    esp = f"({between(gateways4)} and udp src portrange 4510-4559 and udp dst portrange 4510-4559 and udp[8:4] > 255)"
    esp6 = f"({between(gateways6)} and ip6[6] == 17 and udp src portrange 4510-4559 and ip6[48:4] > 255)"
    keying = f"(({between(gateways4)} or {between(gateways6)}) and tcp port 4510)"
    control = f"(host {controller} and (tcp port 8443 or tcp port 8444))"
    icmp = f"((icmp and {between(gateways4)}) or (ip6[6] == 58 and ip6[40] < 128 and {between(gateways6)}))"
    nd = "(ip6[6] == 58 and ip6[40] >= 133 and ip6[40] <= 137)"
    mld = "(ip6[6] == 0 and ip6[40] == 58 and (ip6[48] == 143 or (ip6[48] >= 130 and ip6[48] <= 132)))"
    return " or ".join((esp, esp6, keying, control, icmp, "arp", nd, mld))


def forbidden_on_underlay(lab):
    """A capture of everything on any port of the underlay that may not be there."""
    return Capture(netns.UNDERLAY, "any", f"not ({permitted(lab)})")
