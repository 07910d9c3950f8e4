"""Answers an unknown name with the nearest ones, and with the command that lists all."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence

MANY = 12
"""More names than these do not help in an error."""
NEAREST = 3
WORD_MAX = 100
"""Longer words are no slips, and comparing them would take long."""


def hint(word: str, known: Iterable[str]) -> str:
    """Returns `did you mean a, b or c? `, or nothing if no name is close."""
    plain = {name.lower(): name for name in reversed(list(known))}
    near = difflib.get_close_matches(word.lower(), plain, NEAREST) if len(word) <= WORD_MAX else []
    near += [one for one in plain if len(word) >= NEAREST and one.startswith(word.lower()) and one not in near]
    *first, last = [plain[one] for one in near[:NEAREST]] or [""]
    return f"did you mean {' or '.join(filter(None, [', '.join(first), last]))}? " if last else ""


def expected(word: str, known: Sequence[str], command: str = "") -> str:
    """Returns what was expected in place of `word`: the nearest names, and all, or of many where they are listed.

    `command` is the command that lists them.
    """
    if len(known) <= MANY:
        return f"{hint(word, known)}expected one of {', '.join(known)}"
    if command:
        return f"{hint(word, known)}expected one of the {len(known)} names that `{command}` lists"
    return f"{hint(word, known)}expected one of {len(known)} names, from {known[0]} to {known[-1]}"
