"""Experiments from Python: load, run, look.

>>> results = Experiment("fig9.toml", scale="smoke", seed=7, **{"switch.queues": 64}).run()
>>> results.table("flows").num_rows > 1000
True
"""

from __future__ import annotations

import json
import os
import shlex
import tempfile
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

from backwater import _core, deadlock, disk, results, sweep
from backwater.cluster import connected
from backwater.compute.registry import SCHEMAS
from backwater.events import Wanted
from backwater.judge import claims
from backwater.making import Making, make
from backwater.show import notebook, report
from backwater.show.plots import Plots
from backwater.signals import Stop
from backwater.store import Store
from backwater.toml_text import toml_key, toml_value

IN_PYTHON = "the dictionary"
"""What messages call a scenario that stands in no file."""


def changed(
    seed: int | None,
    seeds: int | None,
    vary: Mapping[str, Iterable[Any]] | None,
    sets: Mapping[str, Any] | None,
    more_sets: Mapping[str, Any],
) -> list[str]:
    """Changes as `--set` has them."""
    given = {"seed": seed, "seeds.count": seeds}
    changes = {key: value for key, value in given.items() if value is not None}
    axes = {f"sweep.{key}": list(values) for key, values in (vary or {}).items()}
    return [
        f"{key}={toml_value(value, key)}" for key, value in {**changes, **axes, **(sets or {}), **more_sets}.items()
    ]


class Keeper:
    """A temporary directory that goes with it."""

    def __init__(self, place: Path) -> None:
        weakref.finalize(self, disk.forget, place)


class Results(results.Results):
    """The runs of one experiment, read from its directory, judged, and able to draw their page.

    Shows itself in a notebook; its `summary` table is what `pyarrow.table(results)`, `polars.DataFrame(results)` and
    other readers of the Arrow stream make of it.
    """

    @cached_property
    def plot(self) -> Plots:
        """Figures of these runs, each as Matplotlib's axes: `results.plot.slowdown()`."""
        return Plots(self)

    def _repr_html_(self) -> str:
        return notebook.results(self)

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self.table("summary").__arrow_c_stream__(requested_schema)

    def __dataframe__(self, nan_as_null: bool = False, allow_copy: bool = True) -> object:
        return self.table("summary").__dataframe__(nan_as_null, allow_copy)

    def keep(self, keeper: Keeper) -> None:
        """Holds a temporary directory, as does each run, which may be all that somebody keeps."""
        self.keeper = keeper
        self.runs = [replace(run, keeps=keeper) for run in self.runs]

    @cached_property
    def claims(self) -> list[dict[str, Any]]:
        """What the experiment expects, judged by the tables."""
        return claims.of(self)

    @cached_property
    def answer(self) -> list[str]:
        """Who has the lowest tail slowdown, by how much and how surely, in sentences: how the page begins."""
        answer: list[str] = report.page_data([self])["answer"]
        return answer

    def report(self, formats: Sequence[str] = ("png",)) -> Path:
        """Writes `claims.json`, `summary.parquet`, `report.html` and the figures again; returns the page.

        `formats` of figures are `png`, `svg` and `pdf`.

        # Errors
        `InputError` naming what could not be written; everything else is.
        """
        return report.write([self], self.path, formats)


class Experiment:
    """A scenario with its changes, checked: one or more runs.

    `source` is a scenario file, or a dictionary with what would stand in one. `sets` holds dotted keys as in `--set`,
    such as `{"switch.queues": 128}`; keyword arguments do the same. `vary` holds the values that keys take in turn,
    `seed` is the one seed of each run, `seeds` how many each run is made with.

    >>> base = Experiment({
    ...     "scheme": "bfc",
    ...     "topology": {"kind": "single-switch", "hosts": 4, "rate": "100 Gbps", "delay": "1 us"},
    ...     "workload": [{"kind": "background", "sizes": {"fixed": "10 KB"}, "load": 0.5, "load_of": "receivers"}],
    ...     "run": {"duration": "100 us"},
    ... })
    >>> base.with_(vary={"load": [0.5, 0.8], "scheme": ["bfc", "dctcp"]}).labels
    ['bfc.load=0.5', 'dctcp.load=0.5', 'bfc.load=0.8', 'dctcp.load=0.8']

    # Errors
    `InputError` naming file, place, value and what was allowed.
    """

    def __init__(
        self,
        source: str | os.PathLike[str] | Mapping[str, Any],
        *,
        seed: int | None = None,
        seeds: int | None = None,
        scale: str | None = None,
        vary: Mapping[str, Iterable[Any]] | None = None,
        sets: Mapping[str, Any] | None = None,
        **more_sets: Any,
    ) -> None:
        changes = changed(seed, seeds, vary, sets, more_sets)
        self._open(source if isinstance(source, Mapping) else Path(source), changes, scale)

    @classmethod
    def from_arguments(cls, path: Path, sets: list[str], scale: str | None) -> Experiment:
        """As the command line gives it, `sets` as `KEY=VALUE`."""
        experiment = cls.__new__(cls)
        experiment._open(path, sets, scale)
        return experiment

    def _open(self, source: Path | Mapping[str, Any], sets: list[str], scale: str | None) -> None:
        self.source = source
        self.sets = sets
        if isinstance(source, Mapping):
            text = "".join(f"{toml_key(key)} = {toml_value(value, key)}\n" for key, value in source.items())
            plan = _core.load_text(text, ".", IN_PYTHON, sets, scale, SCHEMAS)
            self.path = Path(f"{source.get('name') or 'scenario'}.toml")
        else:
            plan = _core.load(str(source), sets, scale, SCHEMAS)
            self.path = source
        self.invocation = ["run", str(self.path)]
        self.plan: dict[str, Any] = json.loads(plan)

    def with_(
        self,
        sets: Mapping[str, Any] | None = None,
        /,
        *,
        seed: int | None = None,
        seeds: int | None = None,
        scale: str | None = None,
        vary: Mapping[str, Iterable[Any]] | None = None,
        **more_sets: Any,
    ) -> Experiment:
        """The same experiment with these changes on top of its own.

        >>> Experiment("fig9.toml").with_({"switch.queues": 128}, variant="BFC", seeds=3).labels
        ['BFC.seed=1', 'BFC.seed=2', 'BFC.seed=3']

        # Errors
        As for any.
        """
        other = Experiment.__new__(Experiment)
        instead = ("seed=", "seeds.") if seed is not None or seeds is not None else ()
        kept = [change for change in self.sets if not change.startswith(instead)]
        changes = [*kept, *changed(seed, seeds, vary, sets, more_sets)]
        other._open(self.source, changes, scale or self.plan["scale"] or None)
        return other

    def __repr__(self) -> str:
        return f"Experiment({str(self.path)!r}, runs={self.labels})"

    def _repr_html_(self) -> str:
        return notebook.experiment(self.name, self.plan)

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
        """What to type to run it again; of a dictionary, as what a file of it would be called."""
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
        on: str | None = None,
    ) -> Results:
        """Runs it and writes its directory; without `out`, a temporary one that lives as long as the results and runs.

        Runs that are in the directory `store` are not simulated again, and those that are not are put there. `on` is
        a cluster to run on, such as `dask://HOST:PORT` or `slurm:8`.

        Interrupted, it keeps what was done, in `Results.path`: then `Results.interrupted` is True, and the same again
        goes on from there.

        # Errors
        `InputError` when `out` exists or cannot be written, and when claims or page cannot; then the runs are there.
        """
        done = self.simulate(out, threads=threads, force=force, watch=watch, store=store, on=on)
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
        on: str | None = None,
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
                    temporary / self.path.stem,
                    threads=threads,
                    watch=watch,
                    stop=stop,
                    events=events,
                    store=store,
                    on=on,
                )
            except BaseException:
                disk.forget(temporary)
                raise
            done.keep(Keeper(temporary))
            return done
        making = self.making(Path(out), force=force, events=events, store=None if store is None else Store(Path(store)))
        with connected(on) as cluster:
            make([making], number, watch or sweep.Watch(), stop or Stop(), cluster)
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
