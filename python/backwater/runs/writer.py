"""Writes run directories: each complete run, then the manifest that lists it, and at the end the final name.

If a process is killed, the next process that writes the same runs finds the finished ones and does not simulate them
again.
"""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import json
import os
import shutil
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from backwater import _core
from backwater._core import InputError
from backwater.common import disk, module
from backwater.common.json_files import indented
from backwater.runs import tables
from backwater.runs.directory import TIMING, RunDirectory
from backwater.runs.manifest import MANIFEST, Manifest, RunTiming, Timing, sealed
from backwater.runs.run import Run
from backwater.runs.staging import CLAIM, Staging, clear, held, is_held, partial, remove

if TYPE_CHECKING:
    from backwater.runs.summary import Summary
    from backwater.scenario.typed import Scenario

RESERVE = ".reserve"
RESERVE_BYTES = 64 << 10
RESERVE_PER_RUN = 16 << 10
"""Of the disk, held for the manifest: an entry takes 3 KB, and the one before stands until the next is written."""

SCENARIO = "scenario.json"
PAGE = "report.html"
NAMES = ("name", "description")
"""Keys of a scenario that no run depends on."""


@dataclass(frozen=True)
class Shipped:
    """A run that was made on another machine."""

    digest: str
    digests_json: str
    summary_json: str
    files: dict[str, bytes]
    """Its tables as they are written, by name."""
    wall_s: float

    def digests(self) -> str:
        return self.digests_json

    def summary(self) -> str:
        return self.summary_json


class Writer:
    """A run directory in the making, with these runs by label.

    A complete run is only replaced by what ran to its end; a fragment of the same runs is gone on from.

    # Errors
    `InputError` where the directory holds something else, cannot be made or replaced, or another process writes it.
    """

    def __init__(self, out: Path, wanted: dict[str, Scenario], *, force: bool = False) -> None:
        self.out = out
        # Random, so that no file system stores it in less room than it reserves.
        self.room = os.urandom(RESERVE_BYTES + RESERVE_PER_RUN * len(wanted))
        self.wanted = digests_of(wanted)
        with disk.errors(out):
            refuse(out)
        self.staging = Staging(out)
        self.path = self.staging.path
        self._numbers = itertools.count()
        """Of runs that are being written, each in a hidden directory."""
        self._ending = threading.Lock()
        self._ended = False
        try:
            with disk.errors(out):
                self.finished = self._find(force)
                self._keep_room()
        except BaseException:
            self.close()
            raise

    def _find(self, force: bool) -> dict[str, Run]:
        """Returns finished runs by label, which need no new simulation.

        Everything else is removed, if that is allowed.
        """
        standing, left = opened(self.out), opened(self.path)
        if not force:
            refuse_standing(self.out, standing, self.wanted)
            refuse_left(self.out, left, self.wanted)
        found = {run.label: run for run in ended(left, self.wanted)}
        self.timings = {**timings(standing), **timings(left)}
        for inner in list(self.path.iterdir()):
            if inner.name not in (CLAIM, MANIFEST, TIMING, *found):
                remove(inner)
        if standing is not None and standing.interrupted:
            for run in ended(standing, self.wanted):
                if run.label not in found:
                    shutil.copytree(run.path, self.path / run.label, copy_function=link_or_copy)
                    found[run.label] = Run(run.label, self.path / run.label, run.entry)
        return found

    def write_run(
        self, label: str, scenario: Scenario, outcome: tables.Outcome | Shipped
    ) -> tuple[Summary, dict[str, str]]:
        """Writes one run, whole or not at all. Returns its summary, and SHA-256 by file.

        # Errors
        `InputError` where the disk refuses, or where the directory has ended meanwhile without this run.
        """
        making = self.path / f".making-{next(self._numbers)}"
        text = text_of(scenario)
        summary: Summary = json.loads(outcome.summary())
        try:
            with disk.errors(self.out):
                with self._unless_ended():
                    making.mkdir()
                (making / SCENARIO).write_text(text, encoding="utf-8")
                (making / "summary.json").write_text(indented(summary), encoding="utf-8")
                write_tables(making, scenario, outcome)
                files = sorted(making.iterdir())
                hashes = {file.name: disk.sha256(file) for file in files}
                for path in (*files, making):
                    disk.sync(path)
                with self._unless_ended():
                    making.rename(self.path / label)
        except BaseException:
            remove(making)
            raise
        return summary, hashes

    @contextlib.contextmanager
    def _unless_ended(self) -> Iterator[None]:
        """Holds off the end of the directory. After it, a thread that was given up no longer adds its run."""
        with self._ending:
            if self._ended:
                raise InputError(f"{self.out}: has ended without this run")
            yield

    def _end(self) -> None:
        """Removes what is hidden: room that is not needed, and runs that were given up. The page of a part goes too."""
        with self._ending:
            self._ended = True
        with contextlib.suppress(OSError):
            for inner in self.path.iterdir():
                if inner.name.startswith(".") or inner.name == PAGE:
                    remove(inner)

    def record(self, manifest: Manifest, timing: Timing) -> None:
        """Writes the manifest of all finished runs. The previous one stays until the new one is complete."""
        with disk.errors(self.out):
            (self.path / RESERVE).unlink(missing_ok=True)
            disk.write_whole(self.path / TIMING, sealed(timing))
            disk.write_whole(self.path / MANIFEST, sealed(manifest), durable=True)
        with contextlib.suppress(InputError):
            self._keep_room()

    def _keep_room(self) -> None:
        """Reserves space for the next manifest, so that a full disk costs a table and not the list of runs."""
        with disk.errors(self.out):
            try:
                (self.path / RESERVE).write_bytes(self.room)
            except OSError:
                (self.path / RESERVE).unlink(missing_ok=True)
                raise

    def write_page(self, text: str) -> None:
        """Writes the page of the finished runs. It goes when the directory gets its name.

        # Errors
        `InputError` where the disk refuses, or where the directory has ended meanwhile.
        """
        with disk.errors(self.out), self._unless_ended():
            disk.write_whole(self.path / PAGE, text)

    def commit(self, *, interrupted: bool) -> Path:
        """Gives the directory its final name. It replaces a complete run only if it was not interrupted. Returns the
        name.

        # Errors
        `InputError` where the file system refuses; what was done stays where it is, and the message says where.
        """
        self._end()
        standing = opened(self.out)
        if interrupted and standing is not None and not standing.interrupted:
            self.staging.leave()
            return self.path
        try:
            self.staging.take_name()
        except InputError as error:
            self.staging.leave()
            raise InputError(f"{error}\n{left_at(self.path)}") from error
        return self.out

    def close(self) -> None:
        """Releases the directory. Finished runs stay for the next process. Without any, it is removed."""
        self._end()
        left = opened(self.path)
        if left is not None and any(not run.entry.cut_short for run in left.runs):
            self.staging.leave()
        else:
            self.staging.discard()


def write_tables(place: Path, scenario: Scenario, outcome: tables.Outcome | Shipped) -> None:
    """Writes the tables of a run, or takes those that another machine has written."""
    if isinstance(outcome, Shipped):
        for name, content in outcome.files.items():
            (place / name).write_bytes(content)
        return
    for table in outcome.tables():
        tables.write(outcome, table, place / f"{table}.parquet", digest_of_text(identity_of(scenario)))


def refuse(out: Path) -> None:
    """Refuses a place that cannot be a run directory, with `InputError`."""
    if out.is_symlink():
        raise InputError(f"{out}: is a symbolic link to {out.readlink()}; name a directory with --out")
    if out.exists() and not out.is_dir():
        raise InputError(f"{out}: exists and is not a directory; name another with --out")
    if out.name in ("", "..") or Path.cwd().is_relative_to(out.resolve()):
        raise InputError(f"{out}: is the directory that this runs in, or above it; name one in it with --out")
    if out.is_dir() and not (out / MANIFEST).exists() and any(out.iterdir()):
        raise InputError(f"{out}: holds files that are no run of ours; name another directory with --out")


def digests_of(wanted: dict[str, Scenario]) -> dict[str, str]:
    """Returns the digest of each scenario, by label."""
    return {label: digest_of_text(text_of(scenario)) for label, scenario in wanted.items()}


def check(out: Path, wanted: dict[str, Scenario], *, force: bool = False) -> None:
    """Refuses what `Writer` would refuse, and changes nothing.

    # Errors
    `InputError` where the directory holds something else, or cannot be made.
    """
    above = next(place for place in out.absolute().parents if place.exists())
    with disk.errors(out):
        refuse(out)
        if not force:
            refuse_standing(out, opened(out), digests_of(wanted))
            refuse_left(out, opened(partial(out)), digests_of(wanted))
        with disk.scratch(above / out.name):
            pass


def refuse_standing(out: Path, standing: RunDirectory | None, wanted: dict[str, str]) -> None:
    """Refuses a place with a run that these runs do not continue, with `InputError`."""
    if standing is None:
        if (out / MANIFEST).exists():
            raise InputError(f"{out}: holds a run that is damaged; name another directory, or replace it with --force")
    elif not standing.interrupted:
        raise InputError(f"{out}: holds a run already; name another directory with --out, or replace it with --force")
    elif not all(is_wanted(run, standing, wanted) for run in standing.runs):
        raise InputError(
            f"{out}: holds what was done of another run, `{standing.manifest.command}`, or by another version; "
            "name another directory with --out, or replace it with --force"
        )


def refuse_left(out: Path, left: RunDirectory | None, wanted: dict[str, str]) -> None:
    """Refuses a place where a process that died left other finished runs, with `InputError`."""
    others = [run for run in left.runs if not is_wanted(run, left, wanted)] if left is not None else []
    if left is not None and others and all(not run.entry.cut_short for run in others):
        raise InputError(
            f"{out}: {partial(out)} holds {len(others)} finished runs of another command or version, "
            f"`{left.manifest.command}`; name another directory with --out, or give them up with --force"
        )


def opened(path: Path) -> RunDirectory | None:
    """Returns the results there, or None if they cannot be read."""
    try:
        return RunDirectory(path)
    except InputError:
        return None


def ended(left: RunDirectory | None, wanted: dict[str, str]) -> list[Run]:
    """Returns those of these runs that ended and are unchanged since."""
    found = []
    for run in left.runs if left is not None else ():
        if left is not None and is_wanted(run, left, wanted) and not run.entry.cut_short:
            with contextlib.suppress(InputError):
                run.verify()
                found.append(run)
    return found


def is_wanted(run: Run, of: RunDirectory, wanted: dict[str, str]) -> bool:
    """Returns whether this version would make the same of one of these runs, with its seed."""
    same = of.manifest.version == _core.version and of.manifest.build in (build(), build(own=True))
    return same and run.label in wanted and run.entry.files.get(SCENARIO) == wanted[run.label]


def is_finished(out: Path, wanted: dict[str, Scenario]) -> bool:
    """Returns whether the directory has exactly these runs, complete and unchanged."""
    standing = opened(out)
    digests = {label: digest_of_text(text_of(scenario)) for label, scenario in wanted.items()}
    if standing is None or standing.interrupted or [run.label for run in standing.runs] != list(wanted):
        return False
    return len(ended(standing, digests)) == len(wanted)


def goes_on(out: Path, wanted: dict[str, Scenario], *, finished: bool) -> bool:
    """Returns whether these runs may be written there: nothing is there, or some of them, or with `finished` all."""
    if is_held(out):
        return False
    standing, left = opened(out), opened(partial(out))
    digests = {label: digest_of_text(text_of(scenario)) for label, scenario in wanted.items()}
    try:
        refuse_left(out, left, digests)
        if out.exists() and not (finished and is_finished(out, wanted)):
            refuse_standing(out, standing, digests)
            return standing is not None
    except InputError:
        return False
    return True


def timings(of: RunDirectory | None) -> dict[str, RunTiming]:
    """Returns the timing of each run by label, as far as it can be read."""
    with contextlib.suppress(InputError):
        return {row["label"]: row for row in of.timing["runs"]} if of is not None else {}
    return {}


def left_at(path: Path) -> str:
    return f"what was finished is in {path}; the same command goes on from there"


def is_begun(out: Path) -> bool:
    """Returns whether this process is writing the directory."""
    return partial(out) in held


def left_of(out: Path) -> str:
    """Says what is left of an interrupted directory. A directory without a finished run is removed."""
    path = partial(out)
    if path not in held:
        return "nothing was finished"
    if any(not inner.name.startswith(".") and inner.is_dir() for inner in path.iterdir()):
        return left_at(path)
    clear(path)
    return "nothing was finished"


@cache
def build(*, own: bool = False) -> str:
    """Returns a hash of the simulator itself, of the one with schemes of your own if `own`.

    Two builds of one version may differ. Schemes of your own change nothing for others.
    """
    return disk.sha256(Path(str(_core.__file__)) if own else module.packaged())[:16]


def is_own(scenario: Scenario) -> bool:
    """Returns whether a resolved scenario has a scheme of your own somewhere."""
    switches = [scenario, *scenario.get("region", [])]
    return "mine" in scenario.get("host", {}) or any("mine" in table.get("switch", {}) for table in switches)


def identity_of(scenario: Scenario) -> str:
    """Returns a resolved scenario without its names, on one line."""
    return json.dumps({key: value for key, value in scenario.items() if key not in NAMES})


def text_of(scenario: Scenario) -> str:
    return indented(scenario)


def digest_of_text(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def link_or_copy(source: str | Path, target: str | Path) -> str | Path:
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)
    return target
