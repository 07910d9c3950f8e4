"""Switches as processes of their own, with watchdogs over the pauses between them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from backwater._core import InputError
from backwater.events import time_ps

ACTIONS = ("forward", "drop")
"""Actions of a watchdog on packets that a neighbour holds too long."""
LOOKS = 4
"""Looks of a watchdog in the time that it allows a pause."""


@dataclass(frozen=True)
class Watchdog:
    """Watchdogs that end a pause of more than `span_ps` of the network's time."""

    span_ps: int
    action: str


@dataclass(frozen=True)
class Apart:
    """A lab whose switches are processes."""

    watchdog: Watchdog | None = None

    def to_json(self) -> dict[str, Any]:
        if self.watchdog is None:
            return {"watchdog": None}
        span_s = self.watchdog.span_ps / 1e12
        return {"watchdog": (span_s, span_s / LOOKS, self.watchdog.action == "drop")}

    def words(self) -> list[str]:
        """Returns the options of the command that asked for it."""
        words = ["--processes"]
        if self.watchdog is not None:
            words += ["--watchdog", f"{self.watchdog.span_ps / 1e6:g}us:{self.watchdog.action}"]
        return words


def read(text: str) -> Watchdog:
    """Reads `TIME` or `TIME:ACTION`, such as `200us:drop`.

    # Errors
    `InputError` where it is neither.
    """
    time, colon, action = text.partition(":")
    expected = f"expected a time of the network and {' or '.join(ACTIONS)}, such as 200us:drop"
    try:
        span_ps = time_ps(time)
    except ValueError:
        raise InputError(f"--watchdog {text}: {time!r} is no time: {expected}") from None
    if colon and action not in ACTIONS:
        raise InputError(f"--watchdog {text}: {action!r} is no action: {expected}")
    # A look takes time, so that looks every few nanoseconds would take all of it.
    if not 10**6 <= span_ps <= 10**15:
        raise InputError(f"--watchdog {text}: expected a time from 1us to 1000s")
    return Watchdog(span_ps, action or ACTIONS[0])
