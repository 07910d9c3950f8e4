"""A process of the lab that runs one switch, or the NICs of all hosts: `python -m backwater.lab.node NAME`.

It reads orders from its input and reports on its output, a line of JSON each. NAME is for lists of processes.
"""

from __future__ import annotations

import os
import signal
import sys


def main() -> int:
    """Runs the part until its input ends. Returns the exit code."""
    from backwater import _core
    from backwater.lab import realtime

    # The lab ends its processes itself, so that they report what they have counted.
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    _core.lab_follow_parent()
    return 0 if _core.lab_node(lambda: realtime.use(realtime.THREADS[:1])) else 2


if __name__ == "__main__":
    code = main()
    sys.stdout.flush()
    os._exit(code)
