"""`backwater deadlock`: cycles of pauses in scenarios, and a scenario that elides the turns that close them."""

from __future__ import annotations

import functools
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from backwater import _core
from backwater.cli.exits import FAILED
from backwater.cli.later import when_used
from backwater.cli.options import Force, Json, Scale, Scenarios, Sets, all_sets, check_file
from backwater.common import disk

with when_used():
    from backwater import experiment as api
    from backwater.cli import printing, terminal
    from backwater.deadlock import search, words


def deadlock(
    scenario: Scenarios,
    failures: Annotated[
        str,
        typer.Option(
            "--failures",
            metavar="0|1|2|all",
            help="Let any one or two links between switches fail, or allow every turn (all).",
        ),
    ] = "0",
    sets: Sets = None,
    scale: Scale = None,
    out_file: Annotated[
        Path | None,
        typer.Option(
            "-o", "--out", metavar="FILE", help="Write a scenario to FILE that elides the turns which close cycles."
        ),
    ] = None,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Find cycles of pauses in scenarios.

    In a cycle, every port waits for the next one, so pauses can last forever.
    The exit code is 1 if there is any cycle, else 0. Nothing is simulated.

    Examples:
        backwater deadlock mine.toml --failures 1
        backwater deadlock mine.toml --failures all --out elided.toml
    """
    paths, changes = scenario, all_sets(sets, None)
    if failures not in search.FAILURES:
        raise _core.InputError(f"--failures {failures}: expected one of {', '.join(search.FAILURES)}")
    if out_file is not None:
        if len(paths) > 1:
            raise _core.InputError(f"--out {out_file}: with one scenario only, and {len(paths)} are given")
        if out_file.absolute() == paths[0].absolute():
            raise _core.InputError(f"--out {out_file}: is the scenario itself: expected another file, which extends it")
        check_file("--out", out_file, force=force)
    acyclic, everything = True, []
    for path in paths:
        experiment = api.Experiment.from_arguments(path, changes, scale)
        found: dict[str, search.Deadlock] = {}
        with printing.quietly(as_json):
            for label, network in experiment.networks.items():
                with terminal.progress_of(label) as progress:
                    found[label] = search.search(network, failures, progress=progress)
        acyclic = acyclic and all(one.is_acyclic for one in found.values())
        everything.append({"scenario": str(path), "runs": {label: one.to_json() for label, one in found.items()}})
        if not as_json:
            tell(path, found)
        if out_file is not None:
            typed = "".join(f" --set {shlex.quote(change)}" for change in changes)
            command = f"backwater deadlock {path} --failures {failures}{typed}"
            scenarios, all_found = list(experiment.networks.values()), list(found.values())
            text_at = functools.partial(words.scenario_text, path, command, scenarios, all_found)
            write_scenario(out_file, text_at, changes, scale)
            if not as_json:
                terminal.say(f"Written: {out_file}")
    if as_json:
        printing.print_json(everything)
    raise typer.Exit(0 if acyclic else FAILED)


def tell(path: Path, found: dict[str, search.Deadlock]) -> None:
    """Prints the cycles of each run. Runs with the same cycles are printed together."""
    for labels, one in together(found):
        terminal.answer(f"{path}: {', '.join(labels)}")
        for line in words.told(one):
            terminal.out.print(line) if isinstance(line, terminal.Table) else terminal.answer(line)


def write_scenario(file: Path, text_at: Callable[[Path], str], sets: list[str], scale: str | None) -> None:
    """Writes a scenario if it can be loaded. `text_at` returns its text."""
    text = text_at(file)
    with disk.errors(file), disk.scratch(file) as place:
        trial = place / file.name
        trial.write_text(text_at(trial), encoding="utf-8")
        try:
            _core.load(str(trial), sets, scale)
        except _core.InputError as error:
            problem = f"--out {file}: a table for all runs is refused ({error}): expected --set variant=NAME"
            raise _core.InputError(problem) from error
    with disk.errors(file):
        disk.write_whole(file, text)


def together(found: dict[str, search.Deadlock]) -> list[tuple[list[str], search.Deadlock]]:
    """Groups runs with the same text, in the order of the first run of each group."""
    groups: dict[tuple[Any, ...], list[str]] = {}
    for label, one in found.items():
        groups.setdefault(words.key(one), []).append(label)
    return [(labels, found[labels[0]]) for labels in groups.values()]
