"""Finds cycles of pauses in a scenario's network, and the turns to elide so that there are none."""

from backwater.deadlock.search import FAILURES, SECONDS, Deadlock, Elision, Turn, Waits, search

__all__ = ["FAILURES", "SECONDS", "Deadlock", "Elision", "Turn", "Waits", "search"]
