"""How a command ends: by its exit code, by a message on stderr, or early after a signal.

Exit codes: 0 success, 1 a claim failed or flows did not finish, 2 bad input, 70 a bug of ours; 130, 143, 129 after
SIGINT, SIGTERM, SIGHUP.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from typing import NoReturn

from backwater.common import signals

FAILED, BAD_INPUT, BUG = 1, 2, 70


@contextlib.contextmanager
def stoppable(left: Callable[[], str]) -> Iterator[signals.Stop]:
    """Marks work that a signal stops. `left` says what is left if the work does not end in time."""
    stop = signals.Stop()
    try:
        with signals.during(stop, left):
            yield stop
    except KeyboardInterrupt:
        fail(f"{signals.name()}: nothing was finished", signals.code())


def fail(message: str, code: int) -> NoReturn:
    print(message, file=sys.stderr)
    sys.exit(code)
