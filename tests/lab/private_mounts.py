#!/usr/bin/python3
"""private_mounts.py CMD…: executes CMD in a mount namespace of its own, from which no mount reaches the machine.
unshare --mount does the same but in a chroot, whose root is no mount point and so cannot be made private."""
import ctypes
import os
import sys

CLONE_NEWNS = 0x20000
MS_REC, MS_PRIVATE = 0x4000, 0x40000
libc = ctypes.CDLL(None, use_errno=True)


def check(result, what):
    if result != 0:
        sys.exit(f"{what}: {os.strerror(ctypes.get_errno())}")


def make_private():
    """Entering a mount namespace, even one's own, leads to its real root, which is always a mount point."""
    own = os.open("/proc/self/ns/mnt", os.O_RDONLY | os.O_CLOEXEC)
    check(libc.setns(own, CLONE_NEWNS), "setns")
    check(libc.mount(None, b"/", None, MS_REC | MS_PRIVATE, None), "make mounts private")


check(libc.unshare(CLONE_NEWNS), "unshare")
child = os.fork()
if child == 0:
    make_private()
    os._exit(0)
if os.waitpid(child, 0)[1] != 0:
    sys.exit(1)
os.execvp(sys.argv[1], sys.argv[1:])
