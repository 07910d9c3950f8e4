"""What could not be written, while the rest goes on."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

from backwater._core import InputError
from backwater.common import disk


class Undrawn(Exception):
    """What only a bug of ours can keep from being written, a line each. Everything else was."""


class Failures:
    """One after another, each with its place."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, Exception]] = []

    @contextlib.contextmanager
    def of(self, place: Path) -> Iterator[None]:
        try:
            with disk.errors(place):
                yield
        except Exception as error:
            self.seen.append((str(place), error))

    def tell(self) -> None:
        """Raises `InputError` or `Undrawn` if there was one."""
        lines = [
            str(error) if isinstance(error, InputError | Undrawn) else f"{place}: {type(error).__name__}: {error}"
            for place, error in self.seen
        ]
        if lines:
            expected = all(isinstance(error, InputError) for _, error in self.seen)
            raise (InputError if expected else Undrawn)("\n".join(lines))
