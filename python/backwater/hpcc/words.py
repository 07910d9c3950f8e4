"""Reads text files as a C++ stream does: words, whatever line they are on. Each word keeps its line number.

`#` starts a comment, and so does a word that begins with `//`. The simulators have no comments, but people write them.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from itertools import takewhile
from pathlib import Path

from backwater._core import InputError
from backwater.common.quantities import some

INTEGER = re.compile(r"[0-9]{1,19}")
NUMBER = re.compile(r"[+-]?([0-9]{1,40}\.?[0-9]{0,400}|\.[0-9]{1,400})([eE][+-]?[0-9]{1,4})?")
TEXT_MAX = 2**28
"""Largest file that is read, bytes: enough for some millions of flows."""


class Words:
    """The words of a file in order. `line` is the line of the last returned word."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.line = 0
        self._rows = rows(path)
        self._row: list[str] = []
        self._at = 0

    def row(self) -> list[str]:
        """Returns the words left on the line of the next word; none at the end of the file."""
        while self._at == len(self._row):
            self.line, self._row = next(self._rows, (self.line, []))
            self._at = 0
            if not self._row:
                break
        return self._row[self._at :]

    def rest(self) -> list[str]:
        """Returns the words left on the line of the last returned word."""
        return self._row[self._at :]

    def next(self, what: str) -> str:
        """Returns the next word. If there is none, the error says that `what` was expected."""
        if self._at == len(self._row) and not self.row():
            raise InputError(f"{self.path}:{max(1, self.line)}: the file ends here: expected {what}")
        self._at += 1
        return self._row[self._at - 1]

    def integer(self, what: str, low: int = 0, high: int = 2**32 - 1) -> int:
        word = self.next(what)
        if not INTEGER.fullmatch(word) or not low <= int(word) <= high:
            raise self.wrong(what, word, f"expected a whole number from {low} to {high}")
        return int(word)

    def number(self, what: str, expected: str = "expected a number") -> float:
        word = self.next(what)
        value = number(word)
        if value is None:
            raise self.wrong(what, word, expected)
        return value

    def left(self, what: str, count: int, is_one: Callable[[list[str]], bool]) -> str:
        """Says what is left behind `count` things that are called `what`; empty at the end of the file.

        The simulators stop reading there. Lines for which `is_one` holds are further such things.
        """
        behind = self.row()
        if not behind:
            return ""
        place = f"as there ({self.path.name}:{self.line})"
        further = is_one(behind) + sum(is_one(row) for _, row in self._rows)
        if further:
            return f"{some(further, what)} behind the {count:,} of the first line {are(further)} left out, {place}"
        return f"text behind the last {what} is left out, {place}"

    def wrong(self, what: str, word: str, problem: str) -> InputError:
        """Returns an error about the last returned word."""
        return wrong(self.path, self.line, what, word, problem)


def wrong(path: Path, line: int, what: str, word: str, problem: str) -> InputError:
    """Returns the error `FILE:LINE: WHAT "WORD": PROBLEM`."""
    return InputError(f'{path}:{line}: {what}{" " if what else ""}"{shown(word)}": {problem}')


def are(count: int) -> str:
    return "is" if count == 1 else "are"


def shown(text: str) -> str:
    """Returns at most 60 characters of a text. Unprintable characters appear as numbers."""
    short = text if len(text) <= 60 else f"{text[:57]}..."
    return "".join(letter if letter.isprintable() else f"\\u{ord(letter):04x}" for letter in short)


def number(word: str) -> float | None:
    """Reads a number as a C++ stream reads a double."""
    value = float(word) if NUMBER.fullmatch(word) else math.nan
    return value if math.isfinite(value) else None


def rows(path: Path) -> Iterator[tuple[int, list[str]]]:
    """Yields the number and the words of each line that is not empty."""
    for number, line in enumerate(read_text(path).split("\n"), start=1):
        words = line.split("#", 1)[0].split()
        if "//" in line:
            words = list(takewhile(lambda word: not word.startswith("//"), words))
        if words:
            yield number, words


def read_text(path: Path) -> str:
    """Reads a whole text file.

    # Errors
    `InputError` if it cannot be read or is not text.
    """
    try:
        # A pipe or a device may never end.
        if path.exists() and not path.is_file() and not path.is_dir():
            raise InputError(f"{path}: is not a plain file")
        if path.stat().st_size > TEXT_MAX:
            raise InputError(f"{path}: has {path.stat().st_size} bytes: expected at most {TEXT_MAX}")
        data = path.read_bytes()
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror or error}") from error
    bad = data.find(b"\0")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        bad = error.start if bad < 0 else min(bad, error.start)
    if bad >= 0:
        line = data.count(b"\n", 0, bad) + 1
        raise InputError(f"{path}:{line}: byte 0x{data[bad]:02x}: not a text file: expected numbers and words in UTF-8")
    return text
