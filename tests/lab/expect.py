"""Waiting for conditions, and telling the person about it."""
import sys
import time

from netns import LabError

quiet = False


def say(text):
    """One line of progress, on stderr so that results can be piped."""
    if not quiet:
        print(text, file=sys.stderr, flush=True)


def wait_for(what, condition, timeout, interval=0.1, on_timeout=None):
    """Polls until `condition()` is true and returns its value. A condition may raise OSError or LabError
    to say "not yet"; the last such reason stands in the error. `on_timeout()` adds lines to it."""
    deadline = time.monotonic() + timeout
    reason = ""
    while True:
        try:
            value = condition()
            if value:
                return value
        except (OSError, LabError) as error:
            reason = f": {error}"
        if time.monotonic() >= deadline:
            more = "\n" + on_timeout() if on_timeout else ""
            raise LabError(f"{what}: not within {timeout:g} s{reason}{more}")
        time.sleep(interval)
