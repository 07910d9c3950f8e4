"""Experiments from Python: load a scenario, run it, and read its results.

>>> results = Experiment("fig9.toml", scale="smoke", seed=7, **{"switch.queues": 64}).run()
>>> results.table("flows").num_rows > 1000
True
"""

from __future__ import annotations

import os
import shlex
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

from backwater import _core
from backwater.common import disk
from backwater.common.signals import Stop
from backwater.common.values import Value
from backwater.compute.registry import SCHEMAS
from backwater.deadlock import search as deadlock
from backwater.execute import estimate as estimates
from backwater.execute import sweep
from backwater.execute.cluster import connected
from backwater.execute.control import RateControl, instance, keys_of, name_of
from backwater.execute.estimate import Estimate
from backwater.execute.growing import Page
from backwater.execute.making import Making, make
from backwater.execute.progress import watching
from backwater.execute.store import Store
from backwater.runs import manifest, writer
from backwater.runs.capture import Wanted as Captured
from backwater.runs.events import Wanted
from backwater.scenario import experiments, plan, resolved
from backwater.scenario.changes import changed, python_arguments, python_words
from backwater.scenario.plan import Scenario
from backwater.scenario.toml_text import toml_key, toml_value
from backwater.scenario.units import Duration, spelled
from backwater.show import notebook
from backwater.show.results import Keeper, Results

Scheme = str | RateControl | type[RateControl]
"""A scheme by name, or a congestion control in Python."""
IN_PYTHON = "the dictionary"
"""Name in messages of a scenario that is in no file."""


class Experiment:
    """A checked scenario with your changes: one or more runs.

    `source` is a scenario file, or a dictionary with the same content. `sets` changes dotted keys, as `--set` does:
    `{"switch.queues": 128}`. Keyword arguments change keys too. `vary` lists the values that keys take in turn. `seed`
    is the seed of all runs. `seeds` is the number of seeds for each run. `scale` is a scale of the file, such as
    `"smoke"`. `control` is a congestion control in Python for all runs: a class derived from `RateControl`.

    >>> base = Experiment({
    ...     "scheme": "bfc",
    ...     "topology": {"kind": "single-switch", "hosts": 4, "rate": "100 Gbps", "delay": "1 us"},
    ...     "workload": [{"kind": "background", "sizes": {"fixed": "10 KB"}, "load": 0.5, "load_of": "receivers"}],
    ...     "run": {"duration": "100 us"},
    ... })
    >>> base.with_(vary={"load": [0.5, 0.8], "scheme": ["bfc", "dctcp"]}).labels
    ['bfc.load=0.5', 'dctcp.load=0.5', 'bfc.load=0.8', 'dctcp.load=0.8']

    # Errors
    `InputError` if the scenario is wrong. The message names the file, the place, the value and the allowed values.
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
        control: RateControl | type[RateControl] | None = None,
        **more_sets: Any,
    ) -> None:
        self.controls: dict[str, RateControl] = {}
        with python_words():
            changes = changed(seed, seeds, vary, sets, {**more_sets, **self._control(control)})
            self._open(source if isinstance(source, Mapping) else located(source), changes, scale)

    def _control(self, control: RateControl | type[RateControl] | None) -> dict[str, Value]:
        """Notes a control in Python. Returns the keys that it sets.

        # Errors
        `InputError` if it is no control, or another has its name.
        """
        if control is None:
            return {}
        made = instance(control)
        name = name_of(made)
        if name in self.controls:
            expected = f"expected different names, such as {type(made).__name__}(name='{name} 2')"
            raise _core.InputError(f"control: two are called '{name}': {expected}")
        self.controls[name] = made
        return keys_of(made)

    def _variant(self, control: RateControl) -> dict[str, Value]:
        """Notes a control in Python. Returns the variant that has it."""
        return {"name": name_of(control), "scheme": control.switch, **self._control(control)}

    @classmethod
    def of(
        cls,
        topology: Mapping[str, Any],
        workload: Mapping[str, Any] | Sequence[Mapping[str, Any]],
        *,
        schemes: Scheme | Sequence[Scheme] = "bfc",
        duration: Duration | timedelta,
        warmup: Duration | timedelta | None = None,
        name: str | None = None,
        seed: int | None = None,
        seeds: int | None = None,
        vary: Mapping[str, Iterable[Any]] | None = None,
        sets: Mapping[str, Any] | None = None,
        **more_sets: Any,
    ) -> Experiment:
        """Returns the experiment of a network, its traffic and schemes.

        `topology` and `workload` are tables of a scenario, such as those that `backwater.topology` and
        `backwater.workload` make. Traffic arrives for `duration`. Flows that arrive within `warmup` are not counted.
        Several `schemes` are varied. One may be a class in Python, derived from `RateControl`. The rest is as for
        `Experiment`.

        >>> from backwater import sizes, topology, units, workload
        >>> net = topology.single_switch(hosts=4, rate=100 * units.Gbps, delay=1 * units.us)
        >>> traffic = workload.background(sizes=sizes.fixed(10 * units.KB), load=0.5, load_of="receivers")
        >>> Experiment.of(net, traffic, schemes=["bfc", "dctcp"], duration=100 * units.us, seeds=2).labels
        ['bfc.seed=1', 'bfc.seed=2', 'dctcp.seed=1', 'dctcp.seed=2']

        # Errors
        `InputError` if the scenario is wrong.
        """
        tables(topology, "topology", "one of backwater.topology, such as leaf_spine(...) or from_networkx(graph)")
        workloads = tables(workload, "workload", "one of backwater.workload, such as background(...), or several")
        if not isinstance(schemes, str | type | RateControl | Iterable):
            raise _core.InputError(f"schemes = {schemes!r}: expected a scheme such as 'bfc', or several")
        chosen = [schemes] if isinstance(schemes, str | type | RateControl) else list(schemes)
        run = {"duration": spelled(duration, "s")}
        run |= {} if warmup is None else {"warmup": spelled(warmup, "s")}
        source: dict[str, object] = {} if name is None else {"name": name}
        source |= {"topology": dict(topology), "workload": [dict(one) for one in workloads], "run": run}
        made = cls.__new__(cls)
        made.controls = {}
        varied = dict(vary or {})
        if not all(isinstance(scheme, str) for scheme in chosen):
            source["variant"] = [
                {"name": scheme, "scheme": scheme} if isinstance(scheme, str) else made._variant(instance(scheme))
                for scheme in chosen
            ]
        elif len(chosen) == 1:
            source["scheme"] = chosen[0]
        else:
            varied["scheme"] = chosen
        with python_words():
            made._open(source, changed(seed, seeds, varied, sets, more_sets), None)
        return made

    @classmethod
    def from_arguments(cls, path: Path, sets: list[str], scale: str | None) -> Experiment:
        """Opens a scenario for the command line; `sets` are texts `KEY=VALUE`."""
        experiment = cls.__new__(cls)
        experiment.controls = {}
        experiment._open(path, sets, scale)
        return experiment

    def _open(self, source: Path | Mapping[str, Any], sets: list[str], scale: str | None) -> None:
        self.source = source
        self.sets = sets
        if isinstance(source, Mapping):
            text = "".join(f"{toml_key(key)} = {toml_value(value, key)}\n" for key, value in source.items())
            made = _core.load_text(text, ".", IN_PYTHON, sets, scale, SCHEMAS)
            self.path = Path(f"{source.get('name') or 'scenario'}.toml")
        else:
            self.path = experiments.locate(source)
            made = _core.load(str(self.path), sets, scale, SCHEMAS)
        self.invocation = ["run", str(self.path if isinstance(source, Mapping) else source)]
        self.plan = plan.read(made)

    def with_(
        self,
        sets: Mapping[str, Any] | None = None,
        /,
        *,
        seed: int | None = None,
        seeds: int | None = None,
        scale: str | None = None,
        vary: Mapping[str, Iterable[Any]] | None = None,
        control: RateControl | type[RateControl] | None = None,
        **more_sets: Any,
    ) -> Experiment:
        """Returns a new experiment with these changes on top of the present ones.

        >>> Experiment("fig9.toml").with_({"switch.queues": 128}, variant="BFC", seeds=3).labels
        ['BFC.seed=1', 'BFC.seed=2', 'BFC.seed=3']

        # Errors
        `InputError` if the changed scenario is wrong.
        """
        other = Experiment.__new__(Experiment)
        other.controls = {} if control is not None else dict(self.controls)
        instead = ("seed=", "seeds.") if seed is not None or seeds is not None else ()
        kept = [change for change in self.sets if not change.startswith(instead)]
        with python_words():
            changes = [*kept, *changed(seed, seeds, vary, sets, {**more_sets, **other._control(control)})]
            other._open(self.source, changes, scale or self.plan.scale or None)
        return other

    def __repr__(self) -> str:
        labels = self.labels
        return f"Experiment({str(self.path)!r}: {', '.join(labels) if len(labels) <= 3 else f'{len(labels)} runs'})"

    def _repr_html_(self) -> str:
        return notebook.experiment(self.name, self.plan)

    @property
    def name(self) -> str:
        """Name of the scenario, or of its file."""
        return self.plan.name or self.path.stem

    @property
    def scale(self) -> str:
        """Scale of the runs, such as `quick`; empty if the file has none."""
        return self.plan.scale

    @property
    def labels(self) -> list[str]:
        """Labels of the runs, in their order."""
        return [run.label for run in self.plan.runs]

    def command(self, out: Path | None) -> str:
        """Returns the command that runs this experiment into `out`. A dictionary appears as a file with its name."""
        words = ["backwater", *self.invocation]
        for change in self.sets:
            words += ["--set", change]
        if self.scale:
            words += ["--scale", self.scale]
        if out is not None:
            words += ["--out", str(out)]
        return shlex.join(words)

    @property
    def scenarios(self) -> dict[str, Scenario]:
        """Resolved scenario of each run, by label. Every default is filled in."""
        return {run.label: run.scenario for run in self.plan.runs}

    @property
    def networks(self) -> dict[str, Scenario]:
        """One resolved scenario for each configuration, by label without the seed."""
        first: dict[str, Scenario] = {}
        for run in self.plan.runs:
            first.setdefault(manifest.without_seed(run.label, run.params), run.scenario)
        return first

    def to_dict(self) -> dict[str, Any]:
        """Returns a scenario with the same runs, with your changes and every default in it.

        `Experiment` takes it, here and elsewhere: what files held is in it, too. If there are several runs that differ
        in more than their seed, each is a variant, called by its label.
        """
        seeds = dict.fromkeys(run.params["seed"] for run in self.plan.runs if "seed" in run.params)
        return resolved.joined(list(self.networks.items()), [int(seed) for seed in seeds])

    def save(self, path: str | os.PathLike[str], *, force: bool = False) -> None:
        """Writes `to_dict()` as a scenario file, which `backwater run` takes. `force` replaces an existing file.

        # Errors
        `InputError` if the file exists or cannot be written.
        """
        place = Path(path)
        if place.exists() and not force:
            raise _core.InputError(f"{place}: exists: expected another name, or force=True")
        lines = [f"{toml_key(key)} = {toml_value(value, key)}\n" for key, value in self.to_dict().items()]
        with disk.errors(place):
            disk.write_whole(place, "".join(lines))

    def estimate(self, threads: int | None = None) -> Estimate:
        """Estimates flows, packet-hops, time and memory of every run, and of all together on this machine.

        It measures this machine's speed, which takes a second or two.

        # Errors
        `InputError` if `threads` is out of range.
        """
        return estimates.estimate(self.plan, threads)

    def check(self, out: str | os.PathLike[str] | None = None, *, force: bool = False) -> None:
        """Checks that `run` may write the directory `out`. The scenario has been checked before. Nothing is written.

        # Errors
        `InputError` if `out` holds something else or cannot be written.
        """
        if out is None:
            return
        with python_arguments():
            writer.check(Path(out), self.scenarios, force=force)

    def deadlock(self, failures: str = "0", *, seconds: float = deadlock.SECONDS) -> dict[str, deadlock.Deadlock]:
        """Finds cycles of pauses in each network of `networks`, and the smallest set of turns to elide.

        `failures` is the number of failed links between switches: `"0"`, any `"1"`, any `"2"`, or `"all"` for every
        turn that is physically possible. The search for the smallest set takes at most `seconds`.

        # Errors
        `InputError` for any other `failures`, and for cycles without the solver: `pip install 'backwater[deadlock]'`.
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
        progress: bool | Callable[[float], None] = False,
        store: str | os.PathLike[str] | None = None,
        on: str | None = None,
        stop: Stop | None = None,
    ) -> Results:
        """Runs the experiment and writes its run directory `out`.

        Without `out`, the directory is temporary. It exists as long as the results or one of their runs. `force`
        replaces an existing `out`. `threads` is the number of runs at a time, by default one for each processor.

        Finished runs are cached in the directory `store`, and reused from there. A run with a control in Python is not,
        because its code may have changed. `on` is a cluster to run on, such as `dask://HOST:PORT` or `slurm:8`.

        `progress=True` shows a bar. A function is called several times a second with the share that is done, 0 to 1.
        `watch` is told of each run: see `backwater.Watch`. Another thread may ask `stop` to end the experiment.

        If you interrupt it, finished runs are kept in `Results.path`, and `Results.interrupted` is True. The same call
        then continues from there.

        # Errors
        `InputError` if `out` exists or cannot be written. Also if claims or report cannot be written; then the runs are
        kept.
        """
        with watching(progress, watch) as watched:
            done = self.simulate(out, threads=threads, force=force, watch=watched, stop=stop, store=store, on=on)
        if not done.interrupted:
            try:
                done.explain_tails()
                done.report(formats=())
            except _core.InputError as error:
                n = len(done.runs)
                raise _core.InputError(f"{error}\n{n} of {n} runs were finished and are kept in {done.path}") from error
        return done

    async def run_async(self, out: str | os.PathLike[str] | None = None, **options: Any) -> Results:
        """Runs the experiment as `run` does, while other coroutines go on. `options` are those of `run`.

        If the task is cancelled, the runs in progress stop, and finished ones are kept in `out`.
        """
        import asyncio  # Takes a tenth of the time that this module does.

        stop = Stop()
        work = asyncio.get_running_loop().run_in_executor(None, lambda: self.run(out, stop=stop, **options))
        try:
            return await asyncio.shield(work)
        except asyncio.CancelledError:
            stop.ask()
            await asyncio.wait([work])
            work.exception()  # What was interrupted says so, and nobody waits for it.
            raise

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
        """Runs the experiment like `run`, but without claims and report. `Results.report` writes them later.

        `events` says, by the label of a run, which of its single events to record, and to which file.
        """
        number = sweep.threads_of(threads)
        if self.controls and on is not None:
            raise _core.InputError(f"on = {on!r}: a control in Python runs on this machine: expected no cluster")
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
        held = None if store is None else Store(Path(store))
        if held is not None:
            held.check()
        making = self.making(Path(out), force=force, events=events, store=held)
        with python_arguments(), connected(on) as cluster:
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
        captured: dict[str, Captured] | None = None,
        store: Store | None = None,
        made: Callable[[Path], None] = lambda _: None,
        page: Page | None = None,
    ) -> Making:
        """Returns the run directory to be made; `made` is called when all runs are there.

        `page` makes the page that it has meanwhile.
        """
        command = self.command(None if out.parent in disk.scratches else out)
        return Making(
            self.plan,
            self.name,
            command,
            out,
            force=force,
            events=events,
            captured=captured,
            controls=self.controls,
            store=store,
            made=made,
            page=page,
        )


def tables(given: object, key: str, allowed: str) -> list[Mapping[str, Any]]:
    """Returns one or several tables of a scenario as a list.

    # Errors
    `InputError` for anything else.
    """
    several: list[Any] = (
        [given] if isinstance(given, Mapping) else list(given) if isinstance(given, Sequence) else [None]
    )
    if not all(isinstance(one, Mapping) for one in several):
        raise _core.InputError(f"{key}: {type(given).__name__}: expected {allowed}")
    return several


def located(source: object) -> Path:
    """Returns the path or name of a scenario file as a path.

    # Errors
    `InputError` for anything else.
    """
    if not isinstance(source, str | os.PathLike):
        allowed = "a scenario file, the name of a published experiment, or a dictionary"
        raise _core.InputError(f"source = {source!r:.70}: expected {allowed}")
    return Path(source)
