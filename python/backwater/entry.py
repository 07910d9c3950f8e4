"""Runs before the command line is read: starts to listen for signals, and makes output errors harmless.

Results are worth more than their printed form. Characters that a terminal cannot show are replaced. Output that a pipe
or a disk refuses is dropped, and the exit code reports it at the end.
"""

from __future__ import annotations

import errno
import io
import os
import sys
from collections.abc import Callable
from importlib.abc import MetaPathFinder
from typing import Any, NoReturn

from backwater.common import signals

UNPRINTED = 2
"""Exit code where everything succeeded but the output, which did not arrive."""


class WithoutPandas(MetaPathFinder):
    """Hides pandas, which no command uses.

    Arrow imports it at the first array, if it is installed, and that takes a quarter of a second.
    """

    def find_spec(self, fullname: str, path: object, target: object = None) -> None:
        if fullname == "pandas":
            raise ModuleNotFoundError("No module named 'pandas'", name=fullname)


class Lenient(io.FileIO):
    """A stream that may fail. Output that it does not take is dropped, and the first error is remembered."""

    failed: OSError | None = None

    def write(self, data: Any, /) -> int:
        if self.failed is None:
            try:
                return super().write(data)
            except OSError as error:
                self.failed = error
        return memoryview(data).nbytes


def enter(command: Callable[[], object]) -> NoReturn:
    """Prepares the process, runs a command, and exits with its code."""
    for descriptor in range(3):
        open_if_closed(descriptor)
    signals.listen()
    output, errors = Lenient(1, "w", closefd=False), Lenient(2, "w", closefd=False)
    sys.stdout, sys.stderr = text(output, sys.stdout), text(errors, sys.stderr)
    os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")  # Arrow's own would hold 25 MB more.
    sys.meta_path.insert(0, WithoutPandas())
    os.environ.pop("MPLBACKEND", None)  # Figures need none, and Matplotlib refuses to load with one it does not know.
    try:
        command()
    except SystemExit as leave:
        finish(leave.code if isinstance(leave.code, int) else 0 if leave.code is None else 1, output)
    finish(0, output)


def open_if_closed(descriptor: int) -> None:
    """Opens a closed standard stream to the null device.

    Otherwise the next file that is opened would get its number.
    """
    try:
        os.fstat(descriptor)
    except OSError:
        os.open(os.devnull, os.O_RDWR)  # It gets the lowest number that is free.


def text(raw: Lenient, like: Any) -> io.TextIOWrapper:
    """Makes a text stream with the encoding of the old one. Characters that it lacks are written as escapes."""
    encoding = getattr(like, "encoding", None) or "utf-8"
    buffered = raw.isatty() or raw.fileno() == 2
    return io.TextIOWrapper(
        io.BufferedWriter(raw), encoding=encoding, errors="backslashreplace", line_buffering=buffered
    )


def finish(code: int, output: Lenient) -> NoReturn:
    """Exits with this code, or with `UNPRINTED` if output was lost. A reader that stops reading is no error."""
    sys.stdout.flush()
    if output.failed is not None and output.failed.errno != errno.EPIPE:
        print(f"error: standard output: cannot be written: {output.failed.strerror}", file=sys.stderr)
        code = code or UNPRINTED
    sys.stderr.flush()
    # This does not wait for threads that were given up. It also saves the tenth of a second in which Python unloads
    # modules. Dask ends its workers as Python exits.
    if signals.heard or "distributed" not in sys.modules:
        signals.exit_at_once(code)
    sys.exit(code)
