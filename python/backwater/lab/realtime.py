"""Real-time scheduling of the lab's threads, where the system allows it."""

from __future__ import annotations

import contextlib
import os
import struct
import time
from collections.abc import Callable
from pathlib import Path

from backwater import _core
from backwater._core import InputError

THREADS = ("fabric", "send", "receive")
"""Threads that a run depends on: that of switches and NICs, and the sender of own flows. The lateness of both decides
whether it is faithful. A receiver that waited for other processes would lose datagrams, as its sockets hold some 90."""
PRIORITY = 10
"""Of 1 to 99 for SCHED_FIFO. Any of them goes before all ordinary processes."""
STARTING_S = 60.0
"""Time that threads have to start. Before, the lab sets up its hosts, and its processes if it has any."""
POLL_S = 0.01
WAKING = Path("/dev/cpu_dma_latency")
"""Longest time in which a processor may wake, in microseconds. It holds while the file is open."""
RUNTIME, PERIOD = (Path("/proc/sys/kernel", f"sched_rt_{name}_us") for name in ("runtime", "period"))


def use(names: tuple[str, ...], ended: Callable[[], bool] = lambda: False) -> None:
    """Gives this process's threads of these names SCHED_FIFO, as soon as they run. `ended` says that they will not.

    # Errors
    `InputError` if the system does not allow it.
    """
    wanted, until = set(names), time.monotonic() + STARTING_S
    while wanted and time.monotonic() < until:
        if ended():
            return
        for name, thread in threads():
            if name in wanted:
                try:
                    os.sched_setscheduler(thread, os.SCHED_FIFO, os.sched_param(PRIORITY))
                except PermissionError:
                    raise InputError(
                        "--realtime: the system allows no real-time priority: it needs root, or "
                        f"`ulimit -r {PRIORITY}` where an administrator has set rtprio in /etc/security/limits.conf"
                    ) from None
                wanted.discard(name)
        time.sleep(POLL_S)
    if wanted:
        raise RuntimeError(f"no thread of the lab is called {', '.join(sorted(wanted))}")


def keep_processors_awake() -> None:
    """Keeps idle processors from sleep until this process ends. Without permission, which root has, it does nothing.

    A processor that sleeps wakes late, in a virtual machine by milliseconds at times.
    """
    with contextlib.suppress(OSError):
        os.write(os.open(WAKING, os.O_WRONLY), struct.pack("i", 0))


def threads() -> list[tuple[str, int]]:
    """Returns name and number of this process's threads, by their numbers in its own process namespace."""
    found = []
    for task in Path("/proc/self/task").iterdir():
        with contextlib.suppress(OSError):  # It has just ended.
            status = dict(line.split(":", 1) for line in (task / "status").read_text().splitlines())
            found.append((status["Name"].strip(), int(status["NSpid"].split()[-1])))
    return found


def throttle(processes: int) -> str | None:
    """Says how long the kernel may stop a real-time thread that waits awake; None if it does not.

    The lab waits awake for the next event only where it has more processors than `processes`.
    """
    try:
        runtime, period = (int(file.read_text()) for file in (RUNTIME, PERIOD))
    except (OSError, ValueError):
        return None
    if runtime < 0 or runtime >= period or _core.processors() <= processes:
        return None
    span = f"{(period - runtime) / 1e3:g} ms of each {period / 1e6:g} s"
    return (
        f"--realtime: the kernel may stop a real-time thread that waits awake, for {span}; "
        "`sysctl kernel.sched_rt_runtime_us=-1` lifts that"
    )
