"""What this simulator computes. Rows of the ledger hold for a simulator that computes the same."""

from __future__ import annotations

import hashlib
import json
from functools import cache
from typing import NamedTuple

from backwater.experiment import Experiment
from backwater.scenario import experiments

SMOKE = "smoke-"


class Simulator(NamedTuple):
    """What a simulator computes, whatever its version."""

    identity: str
    """16 hex digits of SHA-256 over `runs`."""
    runs: dict[str, str]
    """Digest of each run of the smoke experiments, by experiment and label."""


@cache
def this() -> Simulator:
    """Runs the smoke experiments. Returns what this simulator computes."""
    smoke = {name: path for name, path in experiments.known().items() if name.startswith(SMOKE)}
    runs = {
        f"{name}: {run.label}": run.digest for name, path in smoke.items() for run in Experiment(path).simulate().runs
    }
    return Simulator(hashlib.sha256(json.dumps(runs, sort_keys=True).encode()).hexdigest()[:16], runs)
