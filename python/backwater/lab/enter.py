"""A command in a host of a running lab: `python -m backwater.lab.enter NAMESPACES COMMAND...`.

NAMESPACES are numbers of open descriptors, with commas. This process has one thread, as it must. The command is its
child, because only a child is in the process namespace that its parent has joined: it ends with the lab.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys


def main() -> int:
    """Enters, runs the command, and returns its exit code, as a shell says it."""
    from backwater import _core

    descriptors, command = [int(number) for number in sys.argv[1].split(",")], sys.argv[2:]
    here = os.getcwd()  # noqa: PTH109  The mount namespace begins at its root.
    try:
        _core.lab_join(descriptors)
        os.chdir(here)
        for one in descriptors:
            os.close(one)
        child = subprocess.Popen(command, preexec_fn=take_terminal)  # There is one thread.
    except (_core.InputError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    # The keyboard's signals are for the command, and so is the terminal while it runs.
    for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGTTOU):
        signal.signal(number, signal.SIG_IGN)
    code = child.wait()
    if os.isatty(0):
        os.tcsetpgrp(0, os.getpgrp())
    return code if code >= 0 else 128 - code


def take_terminal() -> None:
    """Gives the terminal to a process group of this process's own.

    The group of its parent has no number in the process namespace, so a shell could not work with it.
    """
    if os.isatty(0):
        os.setpgid(0, 0)
        before = signal.signal(signal.SIGTTOU, signal.SIG_IGN)
        os.tcsetpgrp(0, os.getpgrp())
        signal.signal(signal.SIGTTOU, before)


if __name__ == "__main__":
    raise SystemExit(main())
