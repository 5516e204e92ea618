#!/usr/bin/python3
"""supervise.py NODE [CMD…]: holds NODE's mount namespace, and runs CMD again 100 ms after each end, as
systemd's Restart=always with RestartSec=100ms would. Its standard error is the command's log."""
import signal
import subprocess
import sys
import time

import state

node, command = sys.argv[1], sys.argv[2:]
while command:
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL)
    state.set_pid(node, "dataplane", process.pid)
    code = process.wait()
    print(f"supervisor: dataplane ended with {code}, starts again", file=sys.stderr, flush=True)
    time.sleep(0.1)
signal.pause()
