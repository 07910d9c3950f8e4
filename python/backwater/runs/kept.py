"""Stored explanations of a run, in its directory, so that its report shows them.

RUN/<label>/explained.ID.json       which flows, the slowest first, and how they were selected
RUN/<label>/waits.ID.parquet        where they spent their time
RUN/<label>/rates.ID.parquet        bytes that their receivers got, over time

RUN/<label>/path.ID.json            the critical path of an iteration: its steps, and which messages were followed
RUN/<label>/path_waits.ID.parquet   where these messages spent their time
RUN/<label>/path_rates.ID.parquet   bytes that their receivers got, over time

ID follows from the content, so new files never take the names of files in the manifest. An interruption leaves the old
files, and at most some unlisted files beside them. The next explanation removes these.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

import msgspec

from backwater._core import InputError
from backwater.common import disk
from backwater.common.arrays import pa, pc
from backwater.common.json_files import fitting, parsed, refused
from backwater.runs import tables
from backwater.runs.critical import KINDS, CriticalPath, Step
from backwater.runs.directory import RunDirectory
from backwater.runs.explain import Explained, Tail, receivers_of
from backwater.runs.manifest import MANIFEST, relisted
from backwater.runs.run import Run
from backwater.runs.staging import Staging

FLOWS = {"explained": ".json", "waits": ".parquet", "rates": ".parquet"}
PATH = {"path": ".json", "path_waits": ".parquet", "path_rates": ".parquet"}
PARTS = FLOWS | PATH
"""Names of the files without ID, and how they end."""


class Chosen(msgspec.Struct):
    """What `explained.ID.json` holds."""

    flows: list[int]
    """By their numbers, the slowest first."""
    tail: Tail | None


class StoredPath(msgspec.Struct):
    """What `path.ID.json` holds."""

    job: str
    iteration: int
    begin_ps: int
    end_ps: int
    flows: list[int]
    """Messages that were followed, by the numbers of their flows."""
    steps: list[Step]


def keep(place: Path, found: Sequence[Explained | CriticalPath]) -> None:
    """Stores explanations and critical paths in a run directory. They replace older ones of the same runs.

    A run has one explanation of flows and one critical path. Neither replaces the other.

    # Errors
    `InputError` where it cannot be written, another process does, or other runs stand there by now.
    """
    with holding(place) as making:
        opened = RunDirectory(place)
        files: dict[str, dict[str, str]] = {}
        try:
            with disk.errors(place):
                for one in found:
                    run = opened.run(one.label)
                    if run.digest != one.digest:
                        raise InputError(f"{run.path}: another run of it stands there by now: nothing was kept")
                    parts = FLOWS if isinstance(one, Explained) else PATH
                    before = files.get(run.label, run.entry.files)
                    listed = {name: digest for name, digest in before.items() if not is_part(name, parts)}
                    files[run.label] = dict(sorted((listed | put(one, making, run.path)).items()))
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
    if (file := stored(run, "explained")) is None:
        return None
    chosen = fitting(file, parsed(file), Chosen, "an explanation")
    return explained(run, file, chosen.flows, FLOWS, chosen.tail)


def path_of(run: Run) -> CriticalPath | None:
    """Returns the stored critical path of a run, or None.

    # Errors
    `InputError` where a file is damaged.
    """
    if (file := stored(run, "path")) is None:
        return None
    found = fitting(file, parsed(file), StoredPath, "a critical path")
    if problem := broken(found):
        raise refused(file, f"not a critical path of ours: {problem}")
    messages = explained(run, file, found.flows, PATH, None) if found.flows else None
    return CriticalPath(
        run.label, run.digest, found.job, found.iteration, found.begin_ps, found.end_ps, found.steps, messages
    )


def broken(path: StoredPath) -> str | None:
    """Returns where steps do not follow one another through the iteration, or are of no kind of ours."""
    if not path.steps:
        return "steps = []: expected at least one"
    at = path.begin_ps
    for number, step in enumerate(path.steps):
        if step.kind not in KINDS:
            return f"steps[{number}].kind = {step.kind!r}: expected one of {', '.join(KINDS)}"
        if step.begin_ps != at:
            return f"steps[{number}].begin_ps = {step.begin_ps}: expected {at}, when the step before it ends"
        if step.end_ps < at:
            return f"steps[{number}].end_ps = {step.end_ps}: expected at least its start, {at}"
        at = step.end_ps
    return None if at == path.end_ps else f"end_ps = {path.end_ps}: expected {at}, when the last step ends"


def stored(run: Run, part: str) -> Path | None:
    """Returns the checked file of JSON with this name, or None."""
    name = next((name for name in run.entry.files if is_part(name, {part: PARTS[part]})), None)
    return None if name is None else run.file(name)


def explained(run: Run, file: Path, numbers: list[int], parts: Mapping[str, str], tail: Tail | None) -> Explained:
    """Returns the explanation of these flows, whose tables have the names of `parts`."""
    everything = run.table("flows")
    there = everything["flow"].cast(pa.int64()).combine_chunks()
    at = pc.index_in(pa.array([n if 0 <= n < 2**63 else -1 for n in numbers], pa.int64()), value_set=there)
    if at.null_count:
        place = at.to_pylist().index(None)
        raise refused(file, f"flows[{place}] = {numbers[place]}: expected a flow of table `flows`")
    _, waits, rates = parts
    table = run.table(waits)
    receivers = receivers_of(table, everything)
    return Explained(run.label, run.digest, everything.take(at), table, run.table(rates), receivers, tail)


@contextlib.contextmanager
def holding(place: Path) -> Iterator[Path]:
    """Makes a directory for new files, which one process holds at a time."""
    staging = Staging(place / MANIFEST)
    try:
        yield staging.path
    finally:
        staging.discard()


def put(found: Explained | CriticalPath, making: Path, into: Path) -> dict[str, str]:
    """Writes the files of one run, each whole before it gets its name. Returns SHA-256 by name."""
    parts = FLOWS if isinstance(found, Explained) else PATH
    made = {part: making / f"{part}{ending}" for part, ending in parts.items()}
    note, waits, rates = made.values()
    note.write_text(json.dumps(noted(found)) + "\n", encoding="utf-8")
    followed = found if isinstance(found, Explained) else found.explained
    tables.write_table(tables.empty("waits") if followed is None else followed.waits, waits)
    tables.write_table(tables.empty("rates") if followed is None else followed.rates, rates)
    hashes = {part: disk.sha256(file) for part, file in made.items()}
    identity = hashlib.sha256("".join(hashes.values()).encode()).hexdigest()[:12]
    names = {part: f"{part}.{identity}{ending}" for part, ending in parts.items()}
    for part, file in made.items():
        disk.sync(file)
        file.replace(into / names[part])
    return {names[part]: hashes[part] for part in parts}


def noted(found: Explained | CriticalPath) -> object:
    """Returns what the file of JSON holds."""
    if isinstance(found, Explained):
        tail = None if found.tail is None else asdict(found.tail)
        return {"flows": found.flows["flow"].to_pylist(), "tail": tail}
    flows = [] if found.explained is None else found.explained.flows["flow"].to_pylist()
    return msgspec.to_builtins(StoredPath(found.job, found.iteration, found.begin_ps, found.end_ps, flows, found.steps))


def is_part(name: str, parts: Mapping[str, str] = PARTS) -> bool:
    """Returns whether a file belongs to an explanation."""
    part, dot, rest = name.partition(".")
    return part in parts and dot == "." and rest.endswith(parts[part]) and rest != parts[part][1:]


def tidy(place: Path) -> None:
    """Removes files of explanations that the manifest does not list."""
    with contextlib.suppress(InputError, OSError):
        for run in RunDirectory(place).runs:
            for file in run.path.iterdir():
                if is_part(file.name) and file.name not in run.entry.files:
                    file.unlink()
