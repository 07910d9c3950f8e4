"""Runs that were made before, under any name, so that nothing is simulated twice.

STORE/KEY/    the files of the run's directory, and run.json, which describes them

KEY follows from the simulator and from the resolved scenario with its seed, but not from its name and description. An
entry gets its name when it is complete. Its files are verified when they are used, and removed if they are damaged. So
several processes may use one store at a time. If the file system can, files are shared with run directories and take no
extra room. You may delete a store at any time.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import time
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from backwater import _core
from backwater._core import InputError
from backwater.common import disk
from backwater.common.json_files import fitting
from backwater.compute.running import is_computation
from backwater.runs.manifest import Entry, RunTiming, read_sealed, sealed
from backwater.runs.run import Run
from backwater.runs.staging import remove
from backwater.runs.tables import SCHEMA_VERSION
from backwater.runs.writer import SCENARIO, build, identity_of, is_own, link_or_copy, text_of

if TYPE_CHECKING:
    from backwater.scenario.typed import Scenario

NAME = ".store"
"""What it is called beside run directories."""
RUN = "run.json"
STALE_S = 86_400
"""Entries that were begun longer ago than this, nobody is making any more."""


def key_of(scenario: Scenario) -> str:
    """Returns the key of a run in the store: SHA-256 in hex."""
    made_by = f"{_core.version} {build(own=is_own(scenario))} {SCHEMA_VERSION}"
    return hashlib.sha256(f"{made_by} {identity_of(scenario)}".encode()).hexdigest()


class Stored(msgspec.Struct):
    """What `run.json` holds."""

    entry: Entry
    timing: RunTiming


class Store:
    """A directory of finished runs. It is made with its first run."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self._tidied = False

    def check(self) -> None:
        """Refuses a place that cannot hold runs, if a user named it. A store that fails later stops nothing.

        # Errors
        `InputError` that names the place.
        """
        standing = next(one for one in (self.place, *self.place.absolute().parents) if one.exists())
        if not standing.is_dir():
            raise InputError(f"{self.place}: {standing} is a file: expected a directory for the store")
        with disk.errors(self.place), disk.scratch(standing / NAME):
            pass

    def take(self, key: str, scenario: Scenario, into: Path) -> tuple[Run, RunTiming] | None:
        """Copies a run into the directory `into` with the names of `scenario`. Returns it with its timing.

        None where it is not in the store, or damaged there: then nothing is left of it.

        # Errors
        `OSError` where `into` cannot be made.
        """
        held = self.place / key
        try:
            found = fitting(held / RUN, read_sealed(held / RUN), Stored)
        except InputError:
            self.drop(key)
            return None
        run = Run(into.name, into, replace(found.entry, label=into.name, dir=into.name))
        making = into.with_name(f".{into.name}")
        making.mkdir()
        try:
            for name in run.entry.files:
                if name != SCENARIO:
                    link_or_copy(held / name, making / name)
            (making / SCENARIO).write_text(text_of(scenario), encoding="utf-8")
            run.entry.files = {**run.entry.files, SCENARIO: disk.sha256(making / SCENARIO)}
            Run(into.name, making, run.entry).verify()
            for path in (making / SCENARIO, making):
                disk.sync(path)
            making.rename(into)
        except (InputError, FileNotFoundError):  # Damaged, or dropped by another process just now.
            remove(making)
            self.drop(key)
            return None
        except BaseException:
            remove(making)
            raise
        return run, found.timing

    def put(self, key: str, path: Path, entry: Entry, timing: RunTiming) -> None:
        """Adds a run that was written, if the file system allows it."""
        if (self.place / key).exists():
            return
        making = self.place / f".{key}.{os.getpid()}"
        with contextlib.suppress(OSError, InputError):
            self._tidy()
            try:
                making.mkdir(parents=True)
                for name in entry.files:
                    link_or_copy(path / name, making / name)
                (making / RUN).write_text(sealed(Stored(entry, timing)), encoding="utf-8")
                for made in (making / RUN, making):
                    disk.sync(made)
                making.rename(self.place / key)
            finally:
                remove(making)

    def _tidy(self) -> None:
        """Removes unfinished entries of processes that died."""
        if not self._tidied and self.place.is_dir():
            for path in self.place.iterdir():
                if path.name.startswith(".") and time.time() - path.stat().st_mtime > STALE_S:
                    remove(path)
        self._tidied = True

    def drop(self, key: str) -> None:
        """Removes an entry."""
        remove(self.place / key)


def is_kept(scenario: Scenario) -> bool:
    """Returns whether the store takes such runs. It takes no computations, whose code is not part of the key."""
    return not is_computation(scenario)
