"""Jobs as files of other simulators: the job of a scenario or of a file, in GOAL, as flows of htsim, or in CSV."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypedDict

from backwater import _core
from backwater._core import InputError
from backwater.common import disk, suggest
from backwater.common.quantities import size, some
from backwater.scenario.typed import Scenario

READ = {".goal": "goal", ".bin": "goal-binary", ".csv": "csv", ".cm": "htsim", ".tm": "htsim"}
"""Formats of files by their names."""
PARTS = ("phases", "acknowledgements", "fractions")
"""What may be left out."""


class Facts(TypedDict):
    """What was written. The file has one of the iterations."""

    ranks: int
    operations: int
    iterations: int
    bytes: int


@dataclass(frozen=True)
class Export:
    """A file to write: its format, the unit of starts of htsim, and what is left out."""

    to: str
    start_unit: str | None = None
    leave_out: Sequence[str] = ()

    def asked(self, key: str, value: str | None) -> str:
        """Returns this as the core reads it, with another key."""
        given: dict[str, object] = {"to": self.to, "leave_out": list(self.leave_out)}
        given |= {"start_unit": self.start_unit} if self.start_unit else {}
        return json.dumps(given | ({key: value} if value else {}))


def of_scenario(scenario: Scenario, export: Export, out: Path, class_: str | None, *, force: bool) -> Facts:
    """Writes the job of a workload of a resolved scenario.

    # Errors
    `InputError` where the scenario has no such workload, the format cannot say what the job has, or the file exists or
    cannot be written.
    """
    text, asked = json.dumps(scenario), export.asked("class", class_)
    return written(out, lambda place: _core.job_export(text, asked, place), force=force)


def of_file(file: Path, export: Export, out: Path, *, force: bool) -> Facts:
    """Writes the job of a file.

    # Errors
    `InputError` where the file is not valid, the format cannot say what the job has, or the file to write exists or
    cannot be written.
    """
    asked = export.asked("from", READ[file.suffix])
    return written(out, lambda place: _core.job_file_export(file, asked, place), force=force)


def written(out: Path, write: Callable[[Path], str], *, force: bool) -> Facts:
    """Writes a file that gets its name when it is complete."""
    if out.exists() and not force:
        raise InputError(f"{out}: exists; name another file, or replace it with --force")
    with disk.errors(out):
        out.parent.mkdir(parents=True, exist_ok=True)
        with disk.scratch(out) as partial:
            made = partial / "made"
            facts: Facts = json.loads(write(made))
            made.replace(out)
    return facts


def parts(words: str) -> list[str]:
    """Reads what is to be left out.

    # Errors
    `InputError` for a word that is none of `PARTS`.
    """
    named = [word.strip() for word in words.split(",") if word.strip()]
    for word in named:
        if word not in PARTS:
            raise InputError(f"--leave-out {word}: {suggest.expected(word, PARTS)}")
    return named


def summary(facts: Facts, out: Path) -> list[str]:
    """What was written, in lines for the terminal."""
    what = f"{some(facts['ranks'], 'rank')}, {some(facts['operations'], 'operation')}, {size(facts['bytes'])}"
    notes = [f"Note: it has one of {facts['iterations']} iterations"] if facts["iterations"] > 1 else []
    return [f"{out}: {what}", *notes]
