"""The results of an experiment: its runs with their claims, figures and report. `backwater.Results` is this class."""

from __future__ import annotations

import json
import sys
import weakref
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

from backwater._core import InputError
from backwater.common import disk, suggest
from backwater.judge import claims, panels
from backwater.judge.panels import Panel
from backwater.runs import kept
from backwater.runs.critical import CriticalPath
from backwater.runs.directory import CLAIMS, SUMMARY, RunDirectory
from backwater.runs.explain import Explained
from backwater.runs.staging import Staging
from backwater.runs.tables import write_table
from backwater.runs.verdicts import Claim
from backwater.runs.writer import PAGE
from backwater.show import notebook, report, tails
from backwater.show.failures import Failures
from backwater.show.page import PageData
from backwater.show.plots import Plots


class Keeper:
    """Deletes a temporary directory when nothing refers to this object any more."""

    def __init__(self, place: Path) -> None:
        weakref.finalize(self, disk.forget, place)


class Results(RunDirectory):
    """The runs of one experiment: their tables, claims, figures and report.

    `Results("runs/fig9")` reads a run directory, `results["BFC"]` is every seed and point of BFC, and a loop over it
    goes through its runs. A notebook shows a table of them. `pyarrow.table(results)`, `polars.DataFrame(results)` and
    other readers of the Arrow stream get the table `summary`.
    """

    @cached_property
    def plot(self) -> Plots:
        """Draws figures of these runs as Matplotlib axes: `results.plot.slowdown()`."""
        return Plots(self)

    def _repr_html_(self) -> str:
        return notebook.results(self, self.claims)

    def keep(self, keeper: Keeper) -> None:
        """Keeps a temporary directory alive as long as these results or any of their runs."""
        self.keeper = keeper
        self._read()

    @cached_property
    def claims(self) -> list[Claim]:
        """The experiment's claims, judged now from the tables of its runs: a dictionary for each."""
        return claims.of(self)

    @cached_property
    def answer(self) -> list[str]:
        """First sentences of the report: who has the lowest tail slowdown, by how much, and how certain it is."""
        answer: list[str] = report.page_data([self])["answer"]
        return answer

    def explain_tails(self) -> None:
        """Explains why the longest and the best tail are slow, where this costs under a tenth of the runs.

        The explanations are stored in the run directory, so `report` shows them. `Experiment.run` does this too.

        # Errors
        `InputError` if a file cannot be written.
        """
        if any("lab" in run.summary for run in self.runs):
            return  # Real packets do not come twice in the same way.
        if found := tails.explained(self):
            self.store(found)

    def store(self, found: Sequence[Explained | CriticalPath]) -> None:
        """Stores explanations of runs in the run directory, so that `report` shows them.

        `Run.explain` and `Run.critical_path` return them. They replace older ones of the same runs.

        # Errors
        `InputError` if a file cannot be written, or if other runs are in the directory by now.
        """
        kept.keep(self.path, found)
        self._read()

    def report(self, formats: Sequence[str] = ("png",), *, size: str = "page") -> Path:
        """Writes `claims.json`, `summary.parquet` and `report.html` again, and draws figures. Returns the page's path.

        `formats` are the file formats of figures: `png`, `svg`, `pdf`. With `size="page"` figures are 7 inches wide,
        with `size="column"` 3.35 inches.

        # Errors
        `InputError` if there is no such format or size, or if a file cannot be written. The message names it, and all
        other files are written.
        """
        if isinstance(formats, str):
            raise InputError(f"formats = {formats!r}: expected a list of formats, such as [{formats!r}]")
        if unknown := [one for one in formats if one not in report.FORMATS]:
            raise InputError(f"formats: {unknown[0]!r}: {suggest.expected(str(unknown[0]), report.FORMATS)}")
        if formats:
            from backwater.show import figures

            figures.check_size(size)
        return write([self], self.path, formats, size)


def write(opened: Sequence[Results], place: Path, formats: Sequence[str] = (), size: str = "page") -> Path:
    """Judges, and writes claims, summaries, figures and the page into `place`; returns the page.

    One that fails leaves the others. Figures are drawn in each of these formats, and are as wide as `size` says.

    # Errors
    `InputError` and `Undrawn`, when everything else is written.
    """
    failures = Failures()
    with disk.errors(place):
        place.mkdir(parents=True, exist_ok=True)
    making = Staging(place / PAGE)  # Made whole beside their names first: a full disk leaves what was there.
    try:
        for one in opened:
            judge(one, failures)
            if not one.path.samefile(place):
                continue
            if one.claims:
                with failures.of(place / CLAIMS):
                    put(json.dumps(one.claims, indent=2) + "\n", making.path / CLAIMS, place)
            with failures.of(place / SUMMARY):
                write_table(one.table("summary"), making.path / SUMMARY)
                (making.path / SUMMARY).replace(place / SUMMARY)
        with failures.of(place / PAGE):
            shown: list[Panel] = []
            with failures.of(opened[0].path / "manifest.json"):
                shown = panels.read(opened[0]) if len(opened) == 1 else []
            data = report.page_data(opened, shown, judged=[row for one in opened for row in one.claims])
            if len(opened) == 1:
                opened[0].answer = data["answer"]
            if formats:
                with failures.of(place / "figures"):
                    draw(data, making.path / "figures", place / "figures", formats, size)
            put(report.render(data), making.path / PAGE, place)
    finally:
        making.discard()
    failures.tell()
    return place / PAGE


def judge(one: Results, failures: Failures) -> None:
    """Sets its claims; none where they cannot be judged."""
    one.claims = []
    with failures.of(one.path / CLAIMS):
        one.claims = claims.of(one)


def put(text: str, made: Path, place: Path) -> None:
    made.write_text(text, encoding="utf-8")
    made.replace(place / made.name)


def draw(data: PageData, made: Path, place: Path, formats: Sequence[str], size: str) -> None:
    """Draws the figures; one that fails leaves the others, a full disk what was there."""
    from backwater.show import figures  # Matplotlib takes a third of a second to import: only where it draws.

    try:
        figures.write(data, made, formats, size)
    finally:
        if not isinstance(sys.exception(), OSError) and made.is_dir():
            disk.put_directory(made, place)
