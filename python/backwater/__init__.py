"""Backwater: a packet-level simulator of flow control in datacenter networks.

>>> import backwater
>>> results = backwater.Experiment("experiments/bfc/fig9.toml", scale="smoke", seed=7).run()
>>> results.sql("select label, class, p99 from slowdown where size_high_bytes = 3000")
"""

from backwater._core import InputError, version
from backwater.api import Experiment, Results
from backwater.results import Run

__version__ = version
__all__ = ["Experiment", "InputError", "Results", "Run", "version"]
