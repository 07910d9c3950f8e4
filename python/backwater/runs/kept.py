"""Stored explanations of a run, in its directory, so that its report shows them.

RUN/<label>/explained.ID.json    which flows, the slowest first, and how they were selected
RUN/<label>/waits.ID.parquet     where they spent their time
RUN/<label>/rates.ID.parquet     bytes that their receivers got, over time

ID follows from the content, so new files never take the names of files in the manifest. An interruption leaves the old
files, and at most some unlisted files beside them. The next explanation removes these.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path

import msgspec

from backwater._core import InputError
from backwater.common import disk
from backwater.common.arrays import pc
from backwater.common.json_files import fitting, parsed
from backwater.runs import tables
from backwater.runs.explain import Explained, Tail, receivers_of
from backwater.runs.manifest import MANIFEST, relisted
from backwater.runs.results import Results
from backwater.runs.run import Run
from backwater.runs.staging import Staging

PARTS = {"explained": ".json", "waits": ".parquet", "rates": ".parquet"}


class Chosen(msgspec.Struct):
    """What `explained.ID.json` holds."""

    flows: list[int]
    """By their numbers, the slowest first."""
    tail: Tail | None


def keep(place: Path, found: Sequence[Explained]) -> None:
    """Stores explanations in a run directory. They replace older ones of the same runs.

    # Errors
    `InputError` where it cannot be written, another process does, or other runs stand there by now.
    """
    with holding(place) as making:
        opened = Results(place)
        files: dict[str, dict[str, str]] = {}
        try:
            with disk.errors(place):
                for explained in found:
                    run = opened.run(explained.label)
                    if run.digest != explained.digest:
                        raise InputError(f"{run.path}: another run of it stands there by now: nothing was kept")
                    listed = {name: digest for name, digest in run.entry.files.items() if not is_part(name)}
                    files[run.label] = dict(sorted((listed | put(explained, making, run.path)).items()))
                    disk.sync(run.path)
                # Made where the next process finds and removes it, if this one is killed.
                made = making / MANIFEST
                made.write_text(relisted(place / MANIFEST, files), encoding="utf-8")
                disk.sync(made)
                made.replace(place / MANIFEST)
                disk.sync(place)
        finally:
            tidy(place)


def check(place: Path) -> None:
    """Refuses a run directory in which nothing could be stored.

    # Errors
    `InputError` where not.
    """
    with holding(place):
        pass


def of(run: Run) -> Explained | None:
    """Returns the stored explanation of a run, or None.

    # Errors
    `InputError` where a file is damaged.
    """
    name = next((name for name in run.entry.files if is_part(name) and name.startswith("explained.")), None)
    if name is None:
        return None
    file = run.file(name)
    chosen = fitting(file, parsed(file), Chosen)
    everything, waits, rates = (run.table(table) for table in ("flows", "waits", "rates"))
    numbers = pc.cast(chosen.flows, everything["flow"].type)
    flows = everything.take(pc.index_in(numbers, value_set=everything["flow"].combine_chunks()))
    return Explained(run.label, run.digest, flows, waits, rates, receivers_of(waits, everything), chosen.tail)


@contextlib.contextmanager
def holding(place: Path) -> Iterator[Path]:
    """Makes a directory for new files, which one process holds at a time."""
    staging = Staging(place / MANIFEST)
    try:
        yield staging.path
    finally:
        staging.discard()


def put(explained: Explained, making: Path, into: Path) -> dict[str, str]:
    """Writes the files of one run, each whole before it gets its name. Returns SHA-256 by name."""
    made = {part: making / f"{part}{ending}" for part, ending in PARTS.items()}
    tail = None if explained.tail is None else asdict(explained.tail)
    chosen = {"flows": explained.flows["flow"].to_pylist(), "tail": tail}
    made["explained"].write_text(json.dumps(chosen) + "\n", encoding="utf-8")
    tables.write_table(explained.waits, made["waits"])
    tables.write_table(explained.rates, made["rates"])
    hashes = {part: disk.sha256(file) for part, file in made.items()}
    identity = hashlib.sha256("".join(hashes.values()).encode()).hexdigest()[:12]
    names = {part: f"{part}.{identity}{ending}" for part, ending in PARTS.items()}
    for part, file in made.items():
        disk.sync(file)
        file.replace(into / names[part])
    return {names[part]: hashes[part] for part in PARTS}


def is_part(name: str) -> bool:
    """Returns whether a file belongs to an explanation."""
    part, dot, rest = name.partition(".")
    return part in PARTS and dot == "." and rest.endswith(PARTS[part]) and rest != PARTS[part][1:]


def tidy(place: Path) -> None:
    """Removes files of explanations that the manifest does not list."""
    with contextlib.suppress(InputError, OSError):
        for run in Results(place).runs:
            for file in run.path.iterdir():
                if is_part(file.name) and file.name not in run.entry.files:
                    file.unlink()
