"""Whether pauses can go round in a scenario's network, and which turns to elide so that they cannot."""

from backwater.deadlock.search import FAILURES, SECONDS, Deadlock, Elision, Turn, Waits, search

__all__ = ["FAILURES", "SECONDS", "Deadlock", "Elision", "Turn", "Waits", "search"]
