"""Ranges and defaults that the help of a command names. It imports little, so that help is quick."""

from __future__ import annotations

from collections.abc import Callable

from backwater._core import InputError

THREADS_MAX = 1024
EVENTS_AT_MOST = 1_000_000
"""Events of a run that are recorded if nobody says how many."""
PACKETS_AT_MOST = 1_000_000
"""Packets of a run that are captured if nobody says how many."""


def plain(value: float) -> str:
    return f"{value:g}"


def within(option: str, value: float, low: float, high: float, show: Callable[[float], str] = plain) -> None:
    """Takes an option's value from `low` to `high`.

    # Errors
    `InputError` naming the option, the value and what is allowed.
    """
    if not low <= value <= high:
        raise InputError(f"{option} {show(value)}: expected {show(low)} to {show(high)}")
