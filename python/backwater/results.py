"""Run directories: written whole or not at all, and read back.

OUT/manifest.json        what ran: version, seed, scale, digest, command, runs
OUT/<label>/             one per run: scenario.json (resolved), summary.json, one Parquet file per table
OUT/claims.json          what the experiment expected and what was measured
OUT/report.html figures/
OUT/timing.json          wall clock and memory, outside what the digest covers
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa

from backwater import tables
from backwater._core import InputError, Outcome

FORMAT = 1
MANIFEST = "manifest.json"


@dataclass(frozen=True)
class Run:
    """One simulated network: a scheme under a workload."""

    label: str
    path: Path
    entry: dict[str, Any]
    """The run's entry in the manifest."""

    @property
    def scheme(self) -> str:
        return self.entry["scheme"]

    @property
    def digest(self) -> str:
        return self.entry["digest"]

    @property
    def digests(self) -> dict[str, str]:
        """Of each table, by name; `run` is what stands in none."""
        return self.entry.get("digests", {})

    @property
    def complete(self) -> bool:
        return self.entry["complete"]

    @property
    def params(self) -> dict[str, Any]:
        """Coordinates in the sweep."""
        return self.entry.get("params", {})

    @cached_property
    def scenario(self) -> dict[str, Any]:
        """The resolved scenario, every default filled in."""
        return read_json(self.path / "scenario.json")

    @cached_property
    def summary(self) -> dict[str, Any]:
        return read_json(self.path / "summary.json")

    @property
    def tables(self) -> list[str]:
        return sorted(path.stem for path in self.path.glob("*.parquet"))

    def table(self, name: str) -> pa.Table:
        """A table of this run.

        # Errors
        `InputError` where there is no such table or the file is damaged.
        """
        path = self.path / f"{name}.parquet"
        if not path.exists():
            raise InputError(f"{self.path}: no table '{name}'; there is {', '.join(self.tables) or 'none'}")
        try:
            return tables.read(path)
        except (OSError, pa.ArrowException) as error:
            raise InputError(f"{path}: damaged: {error}") from error


class Results:
    """The runs of one experiment, read from its directory."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        if not self.path.is_dir():
            raise InputError(f"{self.path}: no such run directory")
        if not (self.path / MANIFEST).is_file():
            raise InputError(f"{self.path}: not a run directory: it has no {MANIFEST}")
        self.manifest: dict[str, Any] = read_json(self.path / MANIFEST)
        try:
            self.runs = [Run(entry["label"], self.path / entry["dir"], entry) for entry in self.manifest["runs"]]
        except (KeyError, TypeError) as error:
            raise InputError(f"{self.path / MANIFEST}: not a manifest of ours: {error!r}") from error

    def __repr__(self) -> str:
        return f"Results({str(self.path)!r}, runs={[run.label for run in self.runs]})"

    @property
    def name(self) -> str:
        return self.manifest["name"]

    @property
    def digest(self) -> str:
        return self.manifest["digest"]

    @property
    def complete(self) -> bool:
        return self.manifest["complete"]

    @property
    def summary(self) -> dict[str, dict[str, Any]]:
        """Label to summary."""
        return {run.label: run.summary for run in self.runs}

    @cached_property
    def claims(self) -> list[dict[str, Any]]:
        path = self.path / "claims.json"
        return read_json(path) if path.exists() else []

    @cached_property
    def timing(self) -> dict[str, Any]:
        path = self.path / "timing.json"
        return read_json(path) if path.exists() else {}

    def verify(self) -> None:
        """Compares every file with its hash in the manifest.

        # Errors
        `InputError` naming the first file that is missing or is not what was written.
        """
        for run in self.runs:
            for name, written in run.entry.get("files", {}).items():
                path = run.path / name
                if not path.is_file():
                    raise InputError(f"{path}: missing")
                if sha256(path) != written:
                    raise InputError(f"{path}: damaged: its hash is not the one in {MANIFEST}")

    def __getitem__(self, label: str) -> Run:
        for run in self.runs:
            if run.label == label:
                return run
        raise InputError(f"{self.path}: no run '{label}'; there is {', '.join(run.label for run in self.runs)}")

    def table(self, name: str) -> pa.Table:
        """A table of every run, one after another, with the run's `label` as first column."""
        parts = []
        for run in self.runs:
            part = run.table(name)
            label = pa.DictionaryArray.from_arrays(pa.array([0] * part.num_rows, pa.int32()), [run.label])
            parts.append(part.add_column(0, "label", label))
        if not parts:
            raise InputError(f"{self.path}: holds no finished run")
        return pa.concat_tables(parts).unify_dictionaries()

    def sql(self, query: str) -> pa.Table:
        """DuckDB's answer; every table is there, with all runs in it and a `label` column."""
        import duckdb

        with duckdb.connect() as connection:
            for name in sorted({name for run in self.runs for name in run.tables}):
                selects = [
                    f"select {quoted(run.label)} as label, * from read_parquet({quoted(f'{run.path}/{name}.parquet')})"
                    for run in self.runs
                ]
                connection.execute(f'create view "{name}" as ' + " union all by name ".join(selects))
            try:
                return connection.sql(query).to_arrow_table()
            except duckdb.Error as error:
                raise InputError(f"{self.path}: {error}") from error


class Writer:
    """A run directory in the making: a hidden directory beside it that takes its name in one step.

    # Errors
    `InputError` where the directory exists or cannot be made.
    """

    def __init__(self, out: Path, *, force: bool = False) -> None:
        self.out = out
        refuse(out, force=force)
        with disk_errors(out):
            out.parent.mkdir(parents=True, exist_ok=True)
            self.path = Path(tempfile.mkdtemp(prefix=f".{out.name}.", suffix=".partial", dir=out.parent))
            self.path.chmod(0o777 & ~current_umask())

    def write_run(
        self, label: str, scenario: dict[str, Any], outcome: Outcome
    ) -> tuple[dict[str, Any], dict[str, str]]:
        """Writes one run, or nothing of it; returns its summary, and SHA-256 by file."""
        path = self.path / label
        text = json.dumps(scenario, indent=2) + "\n"
        scenario_digest = hashlib.sha256(text.encode()).hexdigest()
        summary = json.loads(outcome.summary())
        try:
            with disk_errors(self.out):
                path.mkdir()
                (path / "scenario.json").write_text(text)
                (path / "summary.json").write_text(json.dumps(summary, indent=2) + "\n")
                for table in outcome.tables():
                    tables.write(outcome, table, path / f"{table}.parquet", scenario_digest)
                hashes = {file.name: sha256(file) for file in sorted(path.iterdir())}
        except BaseException:
            shutil.rmtree(path, ignore_errors=True)
            raise
        return summary, hashes

    def write_json(self, name: str, value: object) -> None:
        path = self.path / name
        try:
            with disk_errors(self.out):
                path.write_text(json.dumps(value, indent=2) + "\n")
        except BaseException:
            path.unlink(missing_ok=True)
            raise

    def commit(self) -> None:
        """Takes the final name; what stood there goes only now."""
        with disk_errors(self.out):
            aside = None
            if self.out.exists():
                aside = Path(tempfile.mkdtemp(prefix=f".{self.out.name}.", suffix=".old", dir=self.out.parent))
                self.out.rename(aside / "old")
            self.path.rename(self.out)
            if aside is not None:
                shutil.rmtree(aside, ignore_errors=True)

    def discard(self) -> None:
        shutil.rmtree(self.path, ignore_errors=True)


def refuse(out: Path, *, force: bool) -> None:
    """Raises `InputError` if `out` may not be written."""
    if not out.exists() and not out.is_symlink():
        return
    if not out.is_dir():
        raise InputError(f"{out}: exists and is not a directory; name another with --out")
    if not any(out.iterdir()):
        return
    if not (out / MANIFEST).exists():
        raise InputError(f"{out}: holds files that are no run of ours; name another directory with --out")
    if not force:
        raise InputError(f"{out}: holds a run already; name another directory with --out, or replace it with --force")


def next_name(place: Path) -> Path:
    """`fig9` to `fig9.2`, `fig9.2` to `fig9.3`."""
    stem, dot, n = place.name.rpartition(".")
    return place.with_name(f"{stem}.{int(n) + 1}" if dot and n.isdigit() else f"{place.name}.2")


def digest_of(digests: list[str]) -> str:
    """The digest of an experiment: its only run's, or SHA-256 over its runs' in order."""
    if len(digests) == 1:
        return digests[0]
    return hashlib.sha256("\n".join(digests).encode()).hexdigest()


def read_json(path: Path) -> Any:
    try:
        return json.loads(path.read_text())
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror or error}") from error
    except ValueError as error:
        raise InputError(f"{path}: damaged: {error}") from error


@contextlib.contextmanager
def disk_errors(out: Path) -> Iterator[None]:
    """Turns what the file system refuses into a message for the user."""
    try:
        yield
    except OSError as error:
        full = error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
        reason = "the disk is full" if full else error.strerror or str(error)
        where = f" ({error.filename})" if error.filename and str(error.filename) != str(out) and not full else ""
        raise InputError(f"{out}: cannot be written: {reason}{where}") from error


def current_umask() -> int:
    mask = os.umask(0o22)
    os.umask(mask)
    return mask


def sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
