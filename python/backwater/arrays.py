"""NumPy and Arrow, imported when something of theirs is first used.

Their import takes longer than many a simulation. So a run starts without them, and a sweep imports them while it
simulates (`load_meanwhile`).
"""

from __future__ import annotations

import threading
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

MODULES = ("numpy", "pyarrow", "pyarrow.parquet", "pyarrow.compute")
NEEDED = MODULES[:3]
"""What every run needs to write its tables and its page. Claims about flows need the rest too."""
IMPORTING = threading.RLock()
"""Held by the thread that imports one of them: modules that import one another must not be met half made."""


class Late:
    """Stands for a module, and imports it when a name in it is first used."""

    def __init__(self, module: str) -> None:
        self.module = module

    def __getattr__(self, name: str) -> Any:
        with IMPORTING:
            found = getattr(import_module(self.module), name)
        setattr(self, name, found)
        return found


@cache
def load_meanwhile() -> None:
    """Imports them all in a thread of its own, so that the main thread hears of signals."""
    threading.Thread(target=load, daemon=True).start()


def load() -> None:
    for module in NEEDED:
        with IMPORTING:
            import_module(module)


if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    Array = npt.NDArray[Any]
    Floats = npt.NDArray[np.float64]
    Integers = npt.NDArray[np.int64]
else:
    np, pa, pq, pc = map(Late, MODULES)
    Array = Floats = Integers = Any

__all__ = ["Array", "Floats", "Integers", "load_meanwhile", "np", "pa", "pc", "pq"]
