"""The page of a directory while its runs are made. A thread beside them writes it again after runs have ended."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable
from pathlib import Path

from backwater.runs.writer import Writer

EVERY_S = 3.0
"""Least time to the first page, and from one page to the next."""
SHARE = 0.01
"""Most of the time that goes into pages. The runs go on meanwhile, but one processor is not theirs alone."""

Page = Callable[[Path, int], str]
"""Makes the page of a directory that is to have so many runs, from those that are there."""


class Growing:
    """The page of a directory in the making, which is to have so many runs."""

    def __init__(self, writer: Writer, page: Page, runs: int) -> None:
        self._writer, self._page, self._runs = writer, page, runs
        self._shown = -1
        self._next = time.perf_counter() + EVERY_S
        self._thread: threading.Thread | None = None

    def look(self, recorded: int) -> None:
        """Begins to write the page if other runs were recorded since, and pages have not taken too much time."""
        busy = self._thread is not None and self._thread.is_alive()
        if recorded != self._shown and not busy and time.perf_counter() >= self._next:
            self._shown = recorded
            self._thread = threading.Thread(target=self._write, daemon=True)
            self._thread.start()

    def _write(self) -> None:
        began = time.perf_counter()
        with contextlib.suppress(Exception):  # The page at the end says what is wrong.
            self._writer.write_page(self._page(self._writer.path, self._runs))
        ended = time.perf_counter()
        self._next = ended + max(EVERY_S, (ended - began) / SHARE)
