"""Experiments from their runs to their reports, as `run` and `reproduce` have them."""

from __future__ import annotations

import queue
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from backwater import _core
from backwater.cli.exits import BAD_INPUT, BUG, FAILED, stoppable
from backwater.cli.options import all_sets
from backwater.cli.places import is_drawn, unfinished
from backwater.cli.printing import ending, print_claims, print_runs, told_claims
from backwater.cli.terminal import out, progress_watch, say
from backwater.common import signals
from backwater.execute.cluster import address_of, connected
from backwater.execute.job import SimulatorError
from backwater.execute.making import make
from backwater.execute.store import Store
from backwater.execute.sweep import threads_of
from backwater.experiment import Experiment
from backwater.runs import capture, events
from backwater.runs.staging import partial as partial_of
from backwater.runs.writer import PAGE, is_begun, left_at, left_of
from backwater.show import endings, growing
from backwater.show.failures import Undrawn
from backwater.show.results import Results

if TYPE_CHECKING:
    from backwater.lab.machine import Machine


class Told(Enum):
    """How much of the claims is printed: the failed ones in a line, the count of each verdict, or the table."""

    FAILED = "failed"
    COUNTS = "counts"
    TABLE = "table"


@dataclass(frozen=True)
class Chosen:
    """An experiment, its directory, and the function to call when its report is written."""

    experiment: Experiment
    place: Path
    published: Callable[[Results], None] = lambda _: None
    told: Told = Told.FAILED


def open_all(paths: list[Path], sets: list[str], seeds: int | None, scale: str | None) -> list[Experiment]:
    """Opens scenarios with these changes.

    Of several, those whose seed is part of the set-up keep it. One alone refuses another number of seeds.
    """
    opened = [Experiment.from_arguments(path, sets, scale) for path in paths]
    if seeds is None:
        return opened
    counted = all_sets(sets, seeds)
    return [
        Experiment.from_arguments(one.path, counted, scale)
        if len(opened) == 1 or not (one.plan.seeds or {}).get("fixed")
        else one
        for one in opened
    ]


def run_all(
    chosen: list[Chosen],
    threads: int | None,
    force: bool,
    recorded: dict[str, events.Wanted] | None = None,
    captured: dict[str, capture.Wanted] | None = None,
    store: Path | None = None,
    on: str | Machine | None = None,
) -> int:
    """Runs experiments, reports each when its runs are complete, and returns the exit code.

    `on` names a cluster, or is a lab.
    """
    if isinstance(on, str):
        address_of(on)  # Before anything is written.
    if on is not None and recorded:
        raise _core.InputError(f"--on {on}: single events are recorded here; expected no --events with it")
    if on is not None and captured:
        raise _core.InputError(f"--on {on}: packets are captured here; expected no --pcap with it")
    todo = unfinished([one.experiment for one in chosen], [one.place for one in chosen], threads, force)
    code = max((again(one) for one, runs in zip(chosen, todo, strict=True) if not runs), default=0)
    held = Store(store) if store is not None else None
    publisher = Publisher(code)
    makings = [
        one.experiment.making(
            one.place,
            force=force,
            events=recorded,
            captured=captured,
            store=held,
            made=partial(publisher.put, one),
            page=growing.page if len(one.experiment.labels) > 1 else None,
        )
        for one, runs in zip(chosen, todo, strict=True)
        if runs
    ]
    tell_page([making.out for making in makings if making.page is not None])
    try:
        with (
            connected(on) as cluster,
            stoppable(lambda: left_in([one.place for one in chosen])) as stop,
            progress_watch() as watch,
        ):
            ended = make(makings, threads_of(threads), watch, stop, cluster)
            if not ended and not any(making.place for making in makings):
                raise KeyboardInterrupt
    except (_core.InputError, SimulatorError):
        publisher.finish()  # Those that are complete.
        raise
    if ended:
        with signals.during(None, lambda: undrawn(publisher.left)):
            return publisher.finish()
    for making in makings:
        if making.place is not None and (done := Results(making.place)).interrupted:
            tell_left(done, making.out)
    if publisher.left:
        say(f"{signals.name()}: {undrawn(publisher.left)}")
    return signals.code()


def tell_page(places: list[Path]) -> None:
    """Says on a terminal where the page of each of these directories is while it is made."""
    if places and out.is_terminal:
        page = partial_of(places[0]) / PAGE
        more = f", and {len(places) - 1} more beside it" if len(places) > 1 else ""
        say(f"Finished runs are on a page that grows: {page}{more}")


class Publisher:
    """Judges and draws complete experiments one by one, while the next ones run."""

    def __init__(self, code: int) -> None:
        self.left: list[Path] = []
        """Those that are not drawn yet."""
        self._code = code
        self._failure: BaseException | None = None
        self._queue: queue.SimpleQueue[tuple[Chosen, Path] | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._work, daemon=True)
        self._thread.start()

    def put(self, one: Chosen, place: Path) -> None:
        """Queues an experiment. It raises the error of an earlier one, if there was any."""
        if self._failure is not None:
            raise self._failure
        self.left.append(place)
        self._queue.put((one, place))

    def finish(self) -> int:
        """Waits until all experiments are drawn, and returns the exit code."""
        self._queue.put(None)
        self._thread.join()
        if self._failure is not None:
            raise self._failure
        return self._code

    def _work(self) -> None:
        try:
            while (got := self._queue.get()) is not None:
                one, place = got
                self._code = max(self._code, publish(one, Results(place)))
                self.left.remove(place)
        except BaseException as failure:  # Whatever it is, the main thread decides.
            self._failure = failure


def publish(one: Chosen, done: Results) -> int:
    """Judges, draws and reports a complete experiment, and returns the exit code."""
    print_runs(done)
    code = 0
    try:
        done.explain_tails()
        done.report(formats=())
    except (_core.InputError, Undrawn) as failure:
        code = BUG if isinstance(failure, Undrawn) else BAD_INPUT
        print(
            f"error: {failure}\nThe runs are complete in {done.path}; `backwater report {done.path}` tries this again",
            file=sys.stderr,
        )
    one.published(done)
    if one.told is Told.TABLE:
        print_claims(done.claims)
    if not done.complete:
        print("\n".join(["Not complete:", *filter(None, map(endings.told, done.runs))]), file=sys.stderr)
    if code == 0:
        for line in ending(done):
            say(line)
    if one.told is Told.COUNTS or any(row["verdict"] == "fail" for row in done.claims):
        for line in told_claims(done):
            say(line)
    return code or (FAILED if not done.complete or any(row["verdict"] == "fail" for row in done.claims) else 0)


def again(one: Chosen) -> int:
    """Draws an experiment that was finished before but not drawn, and returns the exit code."""
    done = Results(one.place)
    code = FAILED if any(row["verdict"] == "fail" for row in done.claims) else 0
    if not is_drawn(one.place):
        with signals.during(None, lambda: undrawn([one.place])):
            return publish(one, done)
    one.published(done)
    return code


def tell_left(done: Results, place: Path) -> None:
    """Reports the finished runs of an experiment that was interrupted before it got to `place`."""
    print_runs(done)
    if done.path != place:
        say(f"{signals.name()}: {place} stays as it was")
    say(f"{signals.name()}: {left_at(done.path)}")


def undrawn(places: list[Path]) -> str:
    """Says what is left of experiments whose runs are complete, but which are not drawn."""
    if len(places) == 1:
        return f"the runs are in {places[0]}; `backwater report {places[0]}` writes what is missing"
    return f"{len(places)} experiments are complete in {places[0].parent} and not drawn; the same command draws them"


def left_in(places: list[Path]) -> str:
    """Says what is left of interrupted experiments."""
    left = [left_of(place) for place in places if is_begun(place)]
    return "\n".join(left) or "nothing was finished"
