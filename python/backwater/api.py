"""Experiments from Python: load, run, look.

>>> results = Experiment("fig9.toml", scale="quick", seed=7, **{"switch.queues": 128}).run()
>>> results.table("flows")
"""

from __future__ import annotations

import json
import os
import shlex
import tempfile
import weakref
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import Any

from backwater import _core, deadlock, disk, results, sweep
from backwater.compute.registry import SCHEMAS
from backwater.events import Wanted
from backwater.judge import claims
from backwater.making import Making, make
from backwater.show import report
from backwater.signals import Stop
from backwater.store import Store
from backwater.toml_text import toml_value


class Results(results.Results):
    """The runs of one experiment, read from its directory, judged, and able to draw their page."""

    @cached_property
    def claims(self) -> list[dict[str, Any]]:
        """What the experiment expects, judged by the tables."""
        return claims.of(self)

    def report(self) -> Path:
        """Writes `claims.json`, `report.html` and the figures again; returns the page.

        # Errors
        `InputError` naming what could not be written; everything else is.
        """
        return report.write([self], self.path)


class Experiment:
    """A scenario file with its changes, checked: one or more runs.

    `sets` holds dotted keys as in `--set`, such as `{"switch.queues": 128}`; keyword arguments do the same.
    `seed` is the one seed of each run, `seeds` how many each run is made with.

    # Errors
    `InputError` naming file, place, value and what was allowed.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        seed: int | None = None,
        seeds: int | None = None,
        scale: str | None = None,
        sets: dict[str, Any] | None = None,
        **more_sets: Any,
    ) -> None:
        given = {"seed": seed, "seeds.count": seeds}
        changes = {key: value for key, value in given.items() if value is not None} | (sets or {}) | more_sets
        self._open(Path(path), [f"{key}={toml_value(value, key)}" for key, value in changes.items()], scale)

    @classmethod
    def from_arguments(cls, path: Path, sets: list[str], scale: str | None) -> Experiment:
        """As the command line gives it, `sets` as `KEY=VALUE`."""
        experiment = cls.__new__(cls)
        experiment._open(path, sets, scale)
        return experiment

    def _open(self, path: Path, sets: list[str], scale: str | None) -> None:
        self.path = path
        self.sets = sets
        self.invocation = ["run", str(path)]
        self.plan: dict[str, Any] = json.loads(_core.load(str(path), sets, scale, SCHEMAS))

    def __repr__(self) -> str:
        return f"Experiment({str(self.path)!r}, runs={self.labels})"

    @property
    def name(self) -> str:
        return self.plan["name"] or self.path.stem

    @property
    def scale(self) -> str:
        return self.plan["scale"]

    @property
    def labels(self) -> list[str]:
        return [run["label"] for run in self.plan["runs"]]

    def command(self, out: Path | None) -> str:
        """What to type to run it again."""
        words = ["backwater", *self.invocation]
        for change in self.sets:
            words += ["--set", change]
        if self.scale:
            words += ["--scale", self.scale]
        if out is not None:
            words += ["--out", str(out)]
        return shlex.join(words)

    @property
    def scenarios(self) -> dict[str, dict[str, Any]]:
        """Label to resolved scenario."""
        return {run["label"]: run["scenario"] for run in self.plan["runs"]}

    @property
    def networks(self) -> dict[str, dict[str, Any]]:
        """As `scenarios`, but of those that differ only in their seed the first, whose label does not say it."""
        first: dict[str, dict[str, Any]] = {}
        for run in self.plan["runs"]:
            first.setdefault(sweep.without_seed(run["label"], run["params"]), run["scenario"])
        return first

    def deadlock(self, failures: str = "0", *, seconds: float = deadlock.SECONDS) -> dict[str, deadlock.Deadlock]:
        """By label, whatever the seed: whether pauses can go round, where, and the smallest set of turns to elide.

        `failures` of links between switches: "0", any "1" or "2", or "all", every turn that is physically possible. The
        smallest set is looked for as long as `seconds`.

        # Errors
        `InputError` for other `failures`.
        """
        return {
            label: deadlock.search(scenario, failures, seconds=seconds) for label, scenario in self.networks.items()
        }

    def run(
        self,
        out: str | os.PathLike[str] | None = None,
        *,
        threads: int | None = None,
        force: bool = False,
        watch: sweep.Watch | None = None,
        store: str | os.PathLike[str] | None = None,
    ) -> Results:
        """Runs it and writes its directory; without `out`, into a temporary one that lives as long as the results.

        Runs that are in the directory `store` are not simulated again, and those that are not are put there.

        Interrupted, it keeps what was done, in `Results.path`: then `Results.interrupted` is True, and the same again
        goes on from there.

        # Errors
        `InputError` when `out` exists or cannot be written, and when claims or page cannot; then the runs are there.
        """
        done = self.simulate(out, threads=threads, force=force, watch=watch, store=store)
        if not done.interrupted:
            try:
                done.report()
            except _core.InputError as error:
                n = len(done.runs)
                raise _core.InputError(f"{error}\n{n} of {n} runs were finished and are kept in {done.path}") from error
        return done

    def simulate(
        self,
        out: str | os.PathLike[str] | None = None,
        *,
        threads: int | None = None,
        force: bool = False,
        watch: sweep.Watch | None = None,
        stop: Stop | None = None,
        events: dict[str, Wanted] | None = None,
        store: str | os.PathLike[str] | None = None,
    ) -> Results:
        """As `run`, without claims, figures and page: `Results.report` makes them.

        `events` says which single events of a run to record besides, and where to, by the run's label.
        """
        number = sweep.threads_of(threads)
        if out is None:
            temporary = Path(tempfile.mkdtemp(prefix="backwater-"))
            disk.scratches.add(temporary)
            try:
                done = self.simulate(
                    temporary / self.path.stem, threads=threads, watch=watch, stop=stop, events=events, store=store
                )
            except BaseException:
                disk.forget(temporary)
                raise
            weakref.finalize(done, disk.forget, temporary)
            return done
        making = self.making(Path(out), force=force, events=events, store=None if store is None else Store(Path(store)))
        make([making], number, watch or sweep.Watch(), stop or Stop())
        if making.place is None:
            raise KeyboardInterrupt
        return Results(making.place)

    def making(
        self,
        out: Path,
        *,
        force: bool = False,
        events: dict[str, Wanted] | None = None,
        store: Store | None = None,
        made: Callable[[Path], None] = lambda _: None,
    ) -> Making:
        """Its directory, to be made; `made` hears when all runs are there."""
        command = self.command(None if out.parent in disk.scratches else out)
        return Making(self.plan, self.name, command, out, force=force, events=events, store=store, made=made)
