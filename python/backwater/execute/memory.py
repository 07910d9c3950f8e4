"""Memory of this process and of the machine, in MB."""

from __future__ import annotations

import contextlib
import ctypes
import resource
import sys
from pathlib import Path

from backwater import _core

SHARE = 0.8
"""Of the memory that is free at first, runs that go side by side may take this."""
UNKNOWN_MB = 900
"""Where the system does not say how much there is."""


def together_mb() -> float:
    """Returns the memory in MB that runs side by side may use."""
    free = _core.free_memory()
    return UNKNOWN_MB if free is None else SHARE * free / 1e6


def resident_mb() -> float:
    """Returns the memory in MB that this process holds now, as far as the system says."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize() / 1e6
    except OSError:
        return 0.0


def peak_rss_mb() -> float:
    """Returns the most memory in MB that this process ever held."""
    rss = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return round(rss / (1 << 20 if sys.platform == "darwin" else 1 << 10), 1)


def give_back() -> None:
    """Returns freed memory to the system. With a thread for each run, glibc's allocator would grow on and on."""
    with contextlib.suppress(AttributeError, OSError, TypeError):
        ctypes.CDLL(None).malloc_trim(0)
