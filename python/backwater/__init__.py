"""Backwater: a packet-level simulator of flow control in datacenter networks.

>>> import backwater
>>> results = backwater.Experiment("fig9.toml", scale="smoke", seed=7).run()
>>> results.sql("select label, p99 from slowdown where size_high_bytes = 3000 order by p99").column_names
['label', 'p99']
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from backwater._core import InputError, version
    from backwater.experiment import Experiment, Results
    from backwater.runs.results import Run

    __version__ = version

__all__ = ["Experiment", "InputError", "Results", "Run", "version"]

HOMES = {
    "Experiment": "experiment",
    "InputError": "_core",
    "Results": "experiment",
    "Run": "runs.results",
    "__version__": "_core",
    "version": "_core",
}
"""The modules of the names above, imported when one is used: the command line hears signals before that."""


def __getattr__(name: str) -> Any:
    if name not in HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(import_module(f"{__name__}.{HOMES[name]}"), name.strip("_"))
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return [*globals(), *HOMES]
