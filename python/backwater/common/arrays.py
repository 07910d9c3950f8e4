"""NumPy and Arrow, imported at their first use.

Importing them takes longer than a short simulation. So a run starts without them, and `load_meanwhile` imports them
while it simulates.
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
"""Only one thread imports at a time: a second one could meet modules that import one another half initialised."""


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
    """Imports what every run needs. A separate thread does it, so the main thread can still stop a sweep at Ctrl-C."""
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
