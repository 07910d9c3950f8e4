"""Receives SIGINT, SIGTERM and SIGHUP at once, whatever the process is doing.

A separate thread receives them, because the main thread may be in an import, a table or a picture. It prints a message
and asks a running sweep to stop. Without a sweep it ends the process at once. Files get their names only when they are
complete, so there is nothing to tidy except hidden leftovers. A sweep has a moment to write runs that were cut short. A
second signal does not wait for that.
"""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from typing import NoReturn

EXIT_CODES = {signal.SIGINT: 130, signal.SIGTERM: 143, signal.SIGHUP: 129}
NAMES = {signal.SIGINT: "Interrupted", signal.SIGTERM: "Terminated", signal.SIGHUP: "Hung up"}
WRITING_S = 0.04
"""Processor time after a signal in which runs that were cut short may be written."""
ENDING_S = 0.15
"""Processor time after a signal after which the process ends, whatever it is doing."""
WALL_S = 5.0
"""The same by the clock, for a process that is stuck and uses no processor."""
SHOW_CURSOR = b"\x1b[?25h"


class Stop:
    """A request to stop. It is not set at first."""

    def __init__(self) -> None:
        self.asked: float | None = None

    def ask(self) -> None:
        self.asked = time.process_time()

    def is_wanted(self) -> bool:
        return self.asked is not None

    def is_due(self) -> bool:
        """Returns whether the time to wait for interrupted runs is over."""
        return self.asked is not None and time.process_time() - self.asked > WRITING_S


class Phase:
    """The meaning of a signal at present: what it stops, and what to say at the end of the process."""

    def __init__(self, stop: Stop | None, left: Callable[[], str]) -> None:
        self.stop = stop
        self.left = left


phase = Phase(None, lambda: "nothing was left half-written")
heard: list[int] = []
"""Signals so far."""
naming = threading.Event()
"""Set while finished runs get the name of their directory. That takes a moment, and is not cut short."""


def listen() -> None:
    """Starts to listen for signals. One that is ignored, as under `nohup`, stays ignored."""
    read, write = os.pipe()
    os.set_blocking(write, False)
    signal.set_wakeup_fd(write, warn_on_full_buffer=False)
    for number in EXIT_CODES:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, lambda *_: None)  # The wakeup descriptor tells.
    threading.Thread(target=hear, args=(read,), daemon=True).start()


@contextlib.contextmanager
def while_naming() -> Iterator[None]:
    """Lets finished runs get the name of their directory before a signal ends the process."""
    naming.set()
    try:
        yield
    finally:
        naming.clear()


@contextlib.contextmanager
def held_back() -> Iterator[None]:
    """Holds the signals back from this thread, and from processes that it starts until they call `let_through`."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, EXIT_CODES)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def let_through() -> None:
    """Receives what was held back, and all signals from now on."""
    signal.pthread_sigmask(signal.SIG_UNBLOCK, EXIT_CODES)


def hear(read: int) -> None:
    while True:
        for number in os.read(read, 64):
            if number in EXIT_CODES:
                on_signal(number)


def on_signal(number: int) -> None:
    heard.append(number)
    stop = phase.stop
    if stop is None or len(heard) > 1:
        leave()
    else:
        tell(f"{name()}: stopping; once more stops without writing what was cut short")
        stop.ask()
        threading.Thread(target=end_in_time, daemon=True).start()


def end_in_time() -> None:
    """Ends the process after a while, if it has not ended by itself."""
    processor, clock = time.process_time(), time.monotonic()
    while time.monotonic() - clock < WALL_S and (time.process_time() - processor < ENDING_S or naming.is_set()):
        time.sleep(0.005)
    leave()


def leave() -> NoReturn:
    """Ends the process now."""
    with contextlib.suppress(OSError):
        if os.isatty(1):
            os.write(1, SHOW_CURSOR)
    with contextlib.suppress(Exception):  # It looks at the disk.
        tell(f"{name()}: {phase.left()}")
    exit_at_once(code())


def exit_at_once(code: int) -> NoReturn:
    """Ends the process without its threads. What they have half-written is removed."""
    import sys

    # The module may be absent, or half imported.
    if (forget_all := getattr(sys.modules.get("backwater.common.disk"), "forget_all", None)) is not None:
        forget_all()
    os._exit(code)


def code() -> int:
    """Returns the exit code after a signal."""
    return EXIT_CODES[signal.Signals(heard[0])] if heard else EXIT_CODES[signal.SIGINT]


def name() -> str:
    """Returns a word for the signal."""
    return NAMES[signal.Signals(heard[0])] if heard else NAMES[signal.SIGINT]


def tell(line: str) -> None:
    """Writes a line to standard error, if possible."""
    with contextlib.suppress(OSError):
        os.set_blocking(2, False)
        os.write(2, f"{line}\n".encode(errors="backslashreplace"))
        os.set_blocking(2, True)


@contextlib.contextmanager
def during(stop: Stop | None, left: Callable[[], str]) -> Iterator[None]:
    """Sets what a signal means during a part of the work."""
    global phase
    before, phase = phase, Phase(stop, left)
    try:
        yield
    finally:
        phase = before
