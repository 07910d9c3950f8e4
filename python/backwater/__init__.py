"""Backwater: a packet-level simulator of flow control in datacenter networks.

>>> import backwater
>>> results = backwater.Experiment("fig9.toml", scale="smoke", seed=7).run()
>>> results.sql("select label, p99 from slowdown where size_high_bytes = 3000 order by p99").column_names
['label', 'p99']
"""

from importlib import import_module

from backwater.common import module

TYPE_CHECKING = False  # As in `typing`, whose import takes longer than all of this.
if TYPE_CHECKING:
    from typing import Any

    from backwater._core import InputError, version
    from backwater.execute.control import Hop, RateControl, Set, Signals
    from backwater.execute.estimate import Estimate
    from backwater.execute.sweep import Watch
    from backwater.experiment import Experiment
    from backwater.runs.joined import Runs
    from backwater.runs.run import Run
    from backwater.scenario import sizes, topology, typed, units, workload
    from backwater.scenario.experiments import PublishedExperiment, experiments
    from backwater.scenario.schemes import Scheme, schemes
    from backwater.show.results import Results

    __version__ = version

__all__ = [
    "Estimate",
    "Experiment",
    "Hop",
    "InputError",
    "PublishedExperiment",
    "RateControl",
    "Results",
    "Run",
    "Runs",
    "Scheme",
    "Set",
    "Signals",
    "Watch",
    "experiments",
    "schemes",
    "sizes",
    "topology",
    "typed",
    "units",
    "version",
    "workload",
]

HOMES = {
    "Estimate": "execute.estimate",
    "Hop": "execute.control",
    "Experiment": "experiment",
    "InputError": "_core",
    "PublishedExperiment": "scenario.experiments",
    "Results": "show.results",
    "RateControl": "execute.control",
    "Run": "runs.run",
    "Runs": "runs.joined",
    "Scheme": "scenario.schemes",
    "Set": "execute.control",
    "Signals": "execute.control",
    "Watch": "execute.sweep",
    "__version__": "_core",
    "experiments": "scenario.experiments",
    "schemes": "scenario.schemes",
    "version": "_core",
}
"""The modules of the names above, imported when one is used: the command line hears signals before that."""
MODULES = ("sizes", "topology", "typed", "units", "workload")
"""Modules of `scenario` that are public under their own names."""

module.load()  # Before anything imports `_core`.


def __getattr__(name: str) -> "Any":
    if name in MODULES:
        found: Any = import_module(f"{__name__}.scenario.{name}")
    elif name in HOMES:
        found = getattr(import_module(f"{__name__}.{HOMES[name]}"), name.strip("_"))
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return [*globals(), *HOMES, *MODULES]
