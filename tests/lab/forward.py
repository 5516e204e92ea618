"""Forwards a port of this machine's loopback into a namespace, so that the controller can be reached from a
browser or curl outside of the lab."""
import contextlib
import socket
import threading

import lifetime
import netns


def pump(source, sink):
    with contextlib.suppress(OSError):
        while data := source.recv(65536):
            sink.sendall(data)
    with contextlib.suppress(OSError):
        sink.shutdown(socket.SHUT_WR)


def serve(client, ns, target):
    try:
        inside = netns.connect(ns, target, 5)
    except OSError:
        client.close()
        return
    inside.settimeout(None)
    back = threading.Thread(target=pump, args=(inside, client), daemon=True)
    back.start()
    pump(client, inside)
    back.join()
    client.close()
    inside.close()


def start(port, ns, target):
    """Listens on 127.0.0.1:`port`, or on a free port if that is taken; returns the port."""
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind(("127.0.0.1", port))
    except OSError:
        listener.bind(("127.0.0.1", 0))
    listener.listen(64)

    def accept():
        while True:
            client, _ = listener.accept()
            threading.Thread(target=serve, args=(client, ns, target), daemon=True).start()

    # Its threads inherit the blocked signals: an ending signal is the main thread's, which may be cleaning up.
    with lifetime.undisturbed():
        threading.Thread(target=accept, daemon=True).start()
    return listener.getsockname()[1]
