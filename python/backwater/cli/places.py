"""Where experiments are written, and which of them are finished there and do not run again."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from backwater.cli.terminal import note, say
from backwater.execute.sweep import threads_of
from backwater.experiment import Experiment
from backwater.runs import directory
from backwater.runs.writer import PAGE, Writer, goes_on, is_finished
from backwater.show.results import Results


def destinations(opened: list[Experiment], out_dir: Path | None) -> list[Path]:
    """Returns the directory of each experiment: DIR itself for one, a directory in DIR for each of several.

    Without DIR names under `runs/` that are free, or that hold what an interrupted command had done of the same.
    """
    if out_dir is not None:
        return [out_dir] if len(opened) == 1 else named(opened, out_dir, lambda *_: True)
    several = len(opened) > 1
    places = named(opened, Path("runs"), lambda place, one: goes_on(place, one.scenarios, finished=several))
    if any(not place.exists() or Results(place).interrupted for place in places) or (
        several and not all(map(is_drawn, places))
    ):
        return places
    return named(opened, Path("runs"), lambda place, one: goes_on(place, one.scenarios, finished=False))


def named(opened: list[Experiment], into: Path, takes: Callable[[Path, Experiment], bool]) -> list[Path]:
    """Returns a directory for each experiment: the first one by its name that is free for it."""
    places: list[Path] = []
    for experiment in opened:
        place = into / Path(experiment.invocation[-1]).stem
        while place in places or not takes(place, experiment):
            place = directory.next_name(place)
        places.append(place)
    return places


def is_drawn(place: Path) -> bool:
    """Returns whether the report is there, which is written last."""
    return (place / PAGE).exists()


def unfinished(experiments: list[Experiment], places: list[Path], threads: int | None, force: bool) -> list[bool]:
    """Returns which experiments have to run. Of several, finished ones do not, unless all are finished and drawn.

    # Errors
    `InputError` where one cannot be written, before the first runs.
    """
    used = threads_of(threads)
    if threads is not None and used < threads:
        note(f"--threads {threads}: {used} are used, as many as serve this process's processors")
    finished = [
        len(experiments) > 1 and not force and is_finished(place, experiment.scenarios)
        for experiment, place in zip(experiments, places, strict=True)
    ]
    everything = all(finished) and all(map(is_drawn, places))
    todo = [not done or everything for done in finished]
    for experiment, place, runs in zip(experiments, places, todo, strict=True):
        if runs:
            Writer(place, experiment.scenarios, force=force).close()
        else:
            say(f"{place}: finished before; not run again")
    return todo
