"""Tunes keys of a scenario with Optuna: each trial is the experiment with other values, and a number of its summary."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from backwater._core import InputError
from backwater.common import suggest
from backwater.common.arrays import pa
from backwater.common.extras import library
from backwater.common.signals import Stop
from backwater.common.values import Swept, Table
from backwater.experiment import Experiment
from backwater.show.results import Results
from backwater.tuning import ranges
from backwater.tuning.ranges import Choice, Range

WORST = 1e300
"""Objective of a trial whose runs have no such number: all flows were dropped, for example."""


@dataclass(frozen=True)
class Trial:
    """One set of values, and its objective."""

    number: int
    """Trials count from 1. The first has the values of the experiment itself."""
    values: dict[str, Swept]
    objective: float | None
    """None if its runs have no such number, or the scenario is refused."""
    digest: str
    seconds: float
    refused: str = ""
    """Why the scenario with these values is refused; empty if it ran."""


@dataclass
class Tuned:
    """The trials of a search. `best` is the one with the best objective."""

    objective: str
    """Column of the table `summary`."""
    is_maximized: bool
    trials: list[Trial] = field(default_factory=list)

    @property
    def best(self) -> Trial | None:
        """The best trial so far; None if no trial has an objective."""
        known = [trial for trial in self.trials if trial.objective is not None]
        return min(known, key=lambda trial: self.cost(trial.objective), default=None)

    def cost(self, found: float | None) -> float:
        """Returns what the search minimizes."""
        if found is None:
            return WORST
        return -found if self.is_maximized else found

    def table(self) -> pa.Table:
        """Returns a row for each trial: its number, the tuned keys, the objective, the digest, and seconds."""
        rows = [
            {"trial": one.number, **{key: str(value) for key, value in one.values.items()}, "objective": one.objective}
            | {"digest": one.digest, "seconds": one.seconds, "refused": one.refused}
            for one in self.trials
        ]
        return pa.Table.from_pylist(rows)


def tune(
    experiment: Experiment,
    over: Mapping[str, Any],
    objective: str,
    *,
    maximize: bool = False,
    trials: int = 30,
    seconds: float = math.inf,
    seed: int = 1,
    store: Path | None = None,
    threads: int | None = None,
    tell: Callable[[Trial, Tuned], None] = lambda trial, tuned: None,
    stop: Stop | None = None,
) -> Tuned:
    """Searches for the values of keys with which a number of the summary is smallest, or largest.

    `over` has a range for each key: a pair of ends such as `(0.01, 1)` or `("50 KB", "400 KB")`, a list of choices, or
    text as on the command line, `"0.01..1:log"`. None takes the range that the schema of scenarios declares, and
    `":log"` the same on a logarithmic scale. `objective` is a column of the table `summary`, such as
    `slowdown.background.all.p99`; its mean over all runs of the experiment counts. The first trial has the values of
    the experiment itself. The search ends after so many `trials` or `seconds`. It draws from `seed`, so it is the same
    again if no time limit ends it. With a `store`, runs that were done before are not done again.

    Values that are refused only together, such as two thresholds in the wrong order, cost a trial without an objective.

    # Errors
    `InputError` if a range, a key or the objective is wrong, and without Optuna: `pip install 'backwater[optuna]'`.
    """
    optuna = library("optuna")
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    spaces = ranges.of(over, first_scenario(experiment))
    require_keys(experiment, spaces)
    study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=seed))
    tuned = Tuned(objective, maximize)
    began = time.monotonic()
    halt = stop or Stop()
    while len(tuned.trials) < trials and time.monotonic() - began < seconds and not halt.is_wanted():
        asked = study.ask() if tuned.trials else None
        values = {} if asked is None else {key: space.draw(asked, key) for key, space in spaces.items()}
        number = len(tuned.trials) + 1
        at = time.monotonic()
        if refused := refusal(experiment, values):
            trial = Trial(number, values, None, "", 0.0, str(refused))
        else:
            try:
                done = (experiment.with_(values) if values else experiment).simulate(
                    store=store, threads=threads, stop=halt
                )
            except KeyboardInterrupt:
                if tuned.trials:
                    break
                raise
            if done.interrupted:
                break
            found = mean_of(done, objective)
            took = round(time.monotonic() - at, 3)
            trial = Trial(number, values or as_is(experiment, spaces), found, done.digest, took)
        tuned.trials.append(trial)
        if asked is not None:
            study.tell(asked, tuned.cost(trial.objective))
        tell(trial, tuned)
    return tuned


def require_keys(experiment: Experiment, spaces: Mapping[str, Range | Choice]) -> None:
    """Raises the first refusal if a key is refused at both ends of its range, or with each of its choices."""
    for key, space in spaces.items():
        refusals = [refusal(experiment, {key: value}) for value in space.ends]
        if all(refusals) and refusals[0] is not None:
            raise refusals[0]


def refusal(experiment: Experiment, values: Mapping[str, Any]) -> InputError | None:
    """Returns why the scenario with these values is refused; None if it is not."""
    try:
        experiment.with_(values)
    except InputError as error:
        return error
    return None


def mean_of(done: Results, objective: str) -> float | None:
    """Returns the mean of a number of the summary over all runs; None if a run does not have it.

    # Errors
    `InputError` if no run can have it.
    """
    table = done.table("summary")
    if objective not in table.column_names:
        numbers = [field.name for field in table.schema if not pa.types.is_dictionary(field.type)]
        raise InputError(f"objective '{objective}': {suggest.expected(objective, numbers, 'backwater schema summary')}")
    values = table[objective].to_pylist()
    if any(value is None or isinstance(value, str) for value in values):
        return None
    return float(sum(values) / len(values))


def as_is(experiment: Experiment, spaces: Mapping[str, Any]) -> dict[str, Swept]:
    """Returns the values that the tuned keys have in the experiment itself, if its first run has these keys."""
    scenario = first_scenario(experiment)
    found: dict[str, Swept] = {}
    for key in spaces:
        value: Any = scenario
        for step in key.split("."):
            value = value.get(step) if isinstance(value, dict) else None
        found[key] = "as given" if value is None else value
    return found


def first_scenario(experiment: Experiment) -> Table:
    """Returns the resolved scenario of the first run."""
    return cast(Table, next(iter(experiment.scenarios.values())))
