"""`backwater check --deadlock`: cycles of pauses in scenarios, and a scenario that elides what it takes."""

from __future__ import annotations

import functools
import json
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import typer
from rich.table import Table

from backwater import _core, deadlock, disk
from backwater.api import Experiment
from backwater.cli.exits import FAILED
from backwater.cli.options import check_file
from backwater.deadlock import words
from backwater.terminal import out, progress_of, say


def check_deadlock(
    paths: list[Path],
    sets: list[str],
    scale: str | None,
    failures: str,
    json_file: Path | None,
    write_file: Path | None,
) -> None:
    """Tells what goes round in each run, runs of which the same is to be said together."""
    if failures not in deadlock.FAILURES:
        raise _core.InputError(f"--failures {failures}: expected one of {', '.join(deadlock.FAILURES)}")
    for option, file in (("--json", json_file), ("--write", write_file)):
        if file is not None:
            check_file(option, file)
            if len(paths) > 1:
                raise _core.InputError(f"{option} {file}: with one scenario only, and {len(paths)} are given")
    if write_file is not None and write_file.absolute() == paths[0].absolute():
        raise _core.InputError(f"--write {write_file}: is the scenario itself: expected another file, which extends it")
    acyclic = True
    for path in paths:
        experiment = Experiment.from_arguments(path, sets, scale)
        found: dict[str, deadlock.Deadlock] = {}
        for label, scenario in experiment.networks.items():
            with progress_of(label) as progress:
                found[label] = deadlock.search(scenario, failures, progress=progress)
        for labels, one in together(found):
            say(f"{path}: {', '.join(labels)}")
            for line in words.told(one):
                out.print(line) if isinstance(line, Table) else say(line)
        acyclic = acyclic and all(one.is_acyclic for one in found.values())
        if json_file is not None:
            runs = {label: one.to_json() for label, one in found.items()}
            with disk.errors(json_file):
                disk.write_whole(json_file, json.dumps({"scenario": str(path), "runs": runs}, indent=2) + "\n")
        if write_file is not None:
            changes = "".join(f" --set {shlex.quote(change)}" for change in sets)
            command = f"backwater check {path} --deadlock --failures {failures}{changes}"
            scenarios, all_found = list(experiment.networks.values()), list(found.values())
            text_at = functools.partial(words.scenario_text, path, command, scenarios, all_found)
            write_scenario(write_file, text_at, sets, scale)
            say(f"Written: {write_file}")
    raise typer.Exit(0 if acyclic else FAILED)


def write_scenario(file: Path, text_at: Callable[[Path], str], sets: list[str], scale: str | None) -> None:
    """Only what can be loaded: some schemes refuse an `elide` that another needs. `text_at` says what stands there."""
    text = text_at(file)
    with disk.errors(file), disk.scratch(file) as place:
        trial = place / file.name
        trial.write_text(text_at(trial), encoding="utf-8")
        try:
            _core.load(str(trial), sets, scale)
        except _core.InputError as error:
            problem = f"--write {file}: a table for all runs is refused ({error}): expected --set variant=NAME"
            raise _core.InputError(problem) from error
    with disk.errors(file):
        disk.write_whole(file, text)


def together(found: dict[str, deadlock.Deadlock]) -> list[tuple[list[str], deadlock.Deadlock]]:
    """Runs of which the same is told, in the order of the first of each."""
    groups: dict[tuple[Any, ...], list[str]] = {}
    for label, one in found.items():
        groups.setdefault(words.key(one), []).append(label)
    return [(labels, found[labels[0]]) for labels in groups.values()]
