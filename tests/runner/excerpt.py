"""What of a failed test's output is shown: where it failed, and its end."""
import re

TAIL = 80

# Where a failure begins, and how many lines from there on tell it.
HEADS = [
    (re.compile(r"^\s*\d+\. .+:\d+\s+- "), 1),                      # CUnit
    (re.compile(r"==\d+==ERROR: |WARNING: ThreadSanitizer"), 30),   # sanitizers
    (re.compile(r"^.+:\d+:\d+: runtime error: "), 12),
    (re.compile(r"^Traceback \(most recent call last\)"), 40),
    (re.compile(r"^(\w+\.)*\w*(Error|Exception)\b"), 12),           # what a traceback ends with
]
MOST = 200  # of lines before the end


def shown(lines):
    """The numbers of the lines to show, in order."""
    wanted = []
    for number, line in enumerate(lines):
        for head, length in HEADS:
            if head.search(line):
                wanted += range(number, min(number + length, len(lines)))
    chosen = sorted(set(wanted))[:MOST]
    return sorted({*chosen, *range(max(0, len(lines) - TAIL), len(lines))})


def excerpt(text):
    """The lines to show; what is left out between them is told."""
    lines = text.rstrip().splitlines()
    told, last = [], -1
    for number in shown(lines):
        if number > last + 1:
            told.append(f"[{number - last - 1} lines]")
        told.append(lines[number])
        last = number
    return told
