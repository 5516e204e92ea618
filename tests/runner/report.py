"""Outcomes of all groups in one list, printed as they come."""
import time

from excerpt import excerpt


class Report:
    def __init__(self):
        self.passed = []
        self.failed = []
        self.skipped = []
        self.started = time.monotonic()

    def passes(self, name, seconds):
        self.passed.append(name)
        print(f"ok    {name} ({seconds:.1f} s)", flush=True)

    def fails(self, name, detail, seconds=0.0):
        self.failed.append(name)
        print(f"FAIL  {name} ({seconds:.1f} s)", flush=True)
        for line in excerpt(detail):
            print("      " + line, flush=True)

    def skips(self, name, reason):
        self.skipped.append(name)
        print(f"skip  {name}: {reason}", flush=True)

    def group(self, name):
        print(f"== {name}", flush=True)

    def close(self):
        """The closing lines; returns the exit code."""
        if self.failed:
            print("failed: " + ", ".join(self.failed))
        print(f"{time.monotonic() - self.started:.0f} s")
        print(f"{len(self.passed)} passed, {len(self.failed)} failed, {len(self.skipped)} skipped", flush=True)
        return 1 if self.failed or not self.passed else 0
