"""Reads run directories. A file is parsed only after its hash is checked.

OUT/manifest.json        version, seed, scale, digest, command, expectations, and the runs with hashes of their files
OUT/<label>/             one per run: scenario.json (resolved), summary.json, one Parquet file per table, and stored
                         explanations (`kept`)
OUT/timing.json          wall clock and memory, which the digest does not cover
OUT/claims.json          the judged claims
OUT/summary.parquet      a row for each run (`summaries`)
OUT/report.html figures/

Manifest and timing carry a seal: a hash of everything else in them. Claims, summaries, report and figures are made
from the other files.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from backwater._core import InputError
from backwater.common import suggest
from backwater.common.arrays import pa
from backwater.common.disk import sha256
from backwater.runs import summaries, tables
from backwater.runs.explain import Explained, Progress, Tail, again, numbered

FORMAT = 2
UNSEALED = 1
"""The previous format, whose manifests have no seal."""
MANIFEST = "manifest.json"
TIMING = "timing.json"
CLAIMS = "claims.json"
SUMMARY = "summary.parquet"
SEAL = "sha256"
ENTRY = {"label": str, "dir": str, "scheme": str, "digest": str, "complete": bool, "params": dict, "files": dict}
"""Keys of each run in a manifest, and their types."""
HEAD = {"name": str, "version": str, "scale": str, "digest": str, "command": str, "complete": bool, "runs": list}


@dataclass(frozen=True)
class Run:
    """One simulated network: a scheme under a workload. `label` is its name, and `path` its directory."""

    label: str
    path: Path
    entry: dict[str, Any]
    """The run's entry in the manifest."""
    verified: dict[str, tuple[int, ...]] = field(default_factory=dict, compare=False, repr=False)
    """Files whose hash has been checked, each with its identity then."""
    keeps: object = field(default=None, compare=False, repr=False)
    """Keeps a temporary directory alive."""

    @property
    def scheme(self) -> str:
        """Preset of the run."""
        return self.entry["scheme"]

    @property
    def digest(self) -> str:
        """Digest of all results of the run."""
        return self.entry["digest"]

    @property
    def digests(self) -> dict[str, str]:
        """Digest of each table, by name. `run` is the digest of results that are in no table."""
        return self.entry.get("digests", {})

    @property
    def complete(self) -> bool:
        """Whether the run ended normally and every counted flow that has to finish did."""
        return self.entry["complete"]

    @property
    def ending(self) -> str:
        """How the run ended: `finished`, `time`, `standstill` or `interrupted`."""
        return self.entry.get("ending", "finished" if self.complete else "interrupted")

    @property
    def params(self) -> dict[str, Any]:
        """Values of the varied keys: variant, swept keys and seed."""
        return self.entry.get("params", {})

    @cached_property
    def scenario(self) -> dict[str, Any]:
        """The resolved scenario. Every default is filled in."""
        return parsed(self.file("scenario.json"))

    @cached_property
    def summary(self) -> dict[str, Any]:
        """Single numbers of the run, as in its `summary.json`."""
        return parsed(self.file("summary.json"))

    @property
    def tables(self) -> list[str]:
        """Names of the run's tables."""
        return sorted(self.table_files)

    @property
    def table_files(self) -> dict[str, str]:
        """File of each table, such as `flows.parquet`, or `waits.3f2a90c1d4e5.parquet` of a stored explanation."""
        return {name.partition(".")[0]: name for name in self.entry["files"] if name.endswith(".parquet")}

    def file(self, name: str) -> Path:
        """Returns the path of one of the run's files, after checking its hash.

        # Errors
        `InputError` if the file is missing or damaged.
        """
        path = self.path / name
        try:
            standing = identity(path)
            if self.verified.get(name) == standing:
                return path
            found = sha256(path)
        except FileNotFoundError:
            raise refused(path, "missing") from None
        except OSError as error:
            raise refused(path, f"cannot be read: {error.strerror}") from error
        if found != self.entry["files"].get(name):
            raise refused(path, f"damaged: its hash is not the one in {MANIFEST}")
        self.verified[name] = standing
        return path

    def verify(self) -> None:
        """Compares every file with its hash in the manifest.

        # Errors
        `InputError` that names the first missing or changed file.
        """
        for name in self.entry["files"]:
            self.file(name)

    def table(self, name: str, columns: Sequence[str] | None = None) -> pa.Table:
        """Returns a table of this run. `backwater schema` lists tables and their columns.

        `columns` selects some of its columns, which takes less memory.

        # Errors
        `InputError` if there is no such table or column, or its file is damaged.
        """
        if name not in self.tables:
            raise InputError(
                f"{self.path}: no table '{name}'; {suggest.expected(name, self.tables, 'backwater schema')}"
            )
        path = self.file(self.table_files[name])
        try:
            return tables.read(path, columns)
        except (OSError, pa.ArrowException) as error:
            raise refused(path, f"damaged: {error}") from error

    def explain(self, *numbers: int, progress: Progress | None = None) -> Explained:
        """Explains where these flows spent their time. `numbers` are those of the table `flows`.

        This runs the run again, and takes as long. `progress` is called with the done and the total amount of work.

        >>> found = results["BFC"].explain(17).flow(17)
        >>> sum(wait["span_ps"] for wait in found["waits"]) == found["fct_ps"]
        True

        # Errors
        `InputError` if there is no such flow, if it did not finish, or if this version's run has another digest.
        """
        return self.explain_flows(numbered(self.table("flows"), numbers), progress=progress)

    def explain_flows(
        self, flows: pa.Table, *, tail: Tail | None = None, progress: Progress | None = None
    ) -> Explained:
        """Explains the flows of these rows of the table `flows`. `backwater.runs.explain.slowest` selects such rows.

        `tail` says how they were selected, if they are a tail (`backwater.runs.explain.tail_of`).
        """
        if self.entry.get("cut_short"):
            raise refused(self.path, "was stopped before its end: it cannot be run to the same point again")
        found = again(self.label, self.scenario, self.digest, self.table("flows"), flows, progress)
        return replace(found, tail=tail)


class Results:
    """The runs of one experiment, read from its directory. `path` is the directory, and `runs` are the runs."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        if not self.path.is_dir():
            raise InputError(f"{self.path}: no such run directory")
        if not (self.path / MANIFEST).is_file():
            raise InputError(f"{self.path}: not a run directory: it has no {MANIFEST}")
        self._read()

    def _read(self) -> None:
        self.manifest = read_manifest(self.path / MANIFEST)
        self.runs = [Run(entry["label"], self.path / entry["dir"], entry) for entry in self.manifest["runs"]]

    def __repr__(self) -> str:
        return f"Results({str(self.path)!r}, runs={[run.label for run in self.runs]})"

    @property
    def name(self) -> str:
        """Name of the experiment."""
        return self.manifest["name"]

    @property
    def digest(self) -> str:
        """Digest of all runs together."""
        return self.manifest["digest"]

    @property
    def complete(self) -> bool:
        """Whether all runs are complete."""
        return self.manifest["complete"]

    @property
    def interrupted(self) -> bool:
        """Whether the experiment was stopped before all its runs had ended."""
        return self.manifest.get("interrupted", not self.complete)

    @property
    def summary(self) -> dict[str, dict[str, Any]]:
        """Summary of each run, by label."""
        return {run.label: run.summary for run in self.runs}

    @cached_property
    def answer(self) -> list[str]:
        """The sentences that the report begins with. This class judges nothing, so there are none."""
        return []

    @cached_property
    def claims(self) -> list[dict[str, Any]]:
        """The claims, as `judged`."""
        return self.judged

    @property
    def judged(self) -> list[dict[str, Any]]:
        """Claims as they were judged when `claims.json` was written. Empty if there is no such file."""
        path = self.path / CLAIMS
        return parsed(path) if path.exists() else []

    @cached_property
    def timing(self) -> dict[str, Any]:
        """Wall-clock time and memory of the runs."""
        path = self.path / TIMING
        if not path.exists():
            return {"runs": []}
        return parsed(path) if self.manifest["format"] == UNSEALED else read_sealed(path)

    def verify(self) -> None:
        """Compares every file of every run with its hash in the manifest.

        # Errors
        `InputError` that names the first missing or changed file.
        """
        for run in self.runs:
            run.verify()

    def __getitem__(self, label: str) -> Run:
        for run in self.runs:
            if run.label == label:
                return run
        raise InputError(f"{self.path}: no run '{label}'; {suggest.expected(label, [run.label for run in self.runs])}")

    def select(self, name: str) -> list[Run]:
        """Returns the run with this label, or all runs of a variant: `BFC` selects every seed and point of BFC.

        A label without its seed, such as `BFC.load=0.5`, selects all seeds of that point.

        # Errors
        `InputError` if there is no such run.
        """
        for fits in (
            lambda run: run.label == name,
            lambda run: without_seed(run.label, run.params) == name,
            lambda run: run.params.get("variant") == name,
        ):
            if found := [run for run in self.runs if fits(run)]:
                return found
        names = list(dict.fromkeys(without_seed(run.label, run.params) for run in self.runs))
        raise InputError(f"{self.path}: no run '{name}'; {suggest.expected(name, names)}")

    def table(self, name: str) -> pa.Table:
        """Returns a table with the rows of all runs, and the run's `label` as first column.

        `summary` has one row for each run: the varied keys, the seed, and every number of its summary.

        # Errors
        `InputError` if a run has no such table or its file is damaged.
        """
        if name == summaries.TABLE:
            return summaries.of(self.runs)
        parts = []
        for run in self.runs:
            part = run.table(name)
            label = pa.DictionaryArray.from_arrays(pa.array([0] * part.num_rows, pa.int32()), [run.label])
            parts.append(part.add_column(0, "label", label))
        if not parts:
            raise InputError(f"{self.path}: holds no finished run")
        return pa.concat_tables(parts).unify_dictionaries()

    def sql(self, query: str) -> pa.Table:
        """Runs a DuckDB query and returns its result.

        Every table is a view with the rows of all runs and a `label` column. `summary` is a view too.

        # Errors
        `InputError` if DuckDB refuses the query or a file is damaged.
        """
        import duckdb

        self.verify()
        with duckdb.connect() as connection:
            for name in sorted({name for run in self.runs for name in run.tables}):
                selects = [
                    f"select {quoted(run.label)} as label, * from read_parquet({quoted(f'{run.path}/{file}')})"
                    for run in self.runs
                    if (file := run.table_files.get(name))  # What was explained is there of some runs only.
                ]
                connection.execute(f'create view "{name}" as ' + " union all by name ".join(selects))
            connection.register(summaries.TABLE, summaries.of(self.runs))
            try:
                return connection.sql(query).to_arrow_table()
            except duckdb.Error as error:
                raise InputError(f"{self.path}: {error}") from error


def without_seed(label: str, params: dict[str, Any]) -> str:
    """Returns the label that runs share which differ only in their seed."""
    return label.removesuffix(f".seed={params['seed']}") if "seed" in params else label


def identity(path: Path) -> tuple[int, ...]:
    """Returns a value that changes if the file is replaced or written again."""
    stat = path.stat()
    return stat.st_dev, stat.st_ino, stat.st_size, stat.st_mtime_ns


def next_name(place: Path) -> Path:
    """Returns the next name: `fig9.2` for `fig9`, `fig9.3` for `fig9.2`."""
    stem, dot, n = place.name.rpartition(".")
    return place.with_name(f"{stem}.{int(n) + 1}" if dot and n.isascii() and n.isdigit() else f"{place.name}.2")


def digest_of(digests: list[str]) -> str:
    """Returns the digest of an experiment: that of its only run, or SHA-256 over those of its runs in order."""
    if len(digests) == 1:
        return digests[0]
    return hashlib.sha256("\n".join(digests).encode()).hexdigest()


def read_manifest(path: Path) -> dict[str, Any]:
    """Reads a manifest.

    # Errors
    `InputError` if it is damaged, has another format, or is no manifest.
    """
    manifest = parsed(path)
    known = isinstance(manifest, dict) and manifest.get("format")
    if known == UNSEALED and type(known) is int:
        return checked(path, manifest)
    if isinstance(manifest, dict) and "format" in manifest and (type(known) is not int or known != FORMAT):
        raise refused(path, f"format {known!r}: expected {UNSEALED} or {FORMAT}")
    return checked(path, unsealed(path, manifest))


def checked(path: Path, manifest: dict[str, Any]) -> dict[str, Any]:
    """Returns the manifest if it has all required keys.

    # Errors
    `InputError` if one is missing or has another type.
    """

    def check(table: Any, shape: dict[str, type], where: str) -> None:
        if not isinstance(table, dict):
            raise refused(path, f"not a manifest of ours: {where} is no table")
        for key, kind in shape.items():
            if not isinstance(table.get(key), kind):
                raise refused(path, f"not a manifest of ours: {where} has no '{key}' of type {kind.__name__}")

    check(manifest, HEAD, "it")
    for i, entry in enumerate(manifest["runs"]):
        check(entry, ENTRY, f"runs[{i}]")
        if Path(entry["dir"]).name != entry["dir"]:
            raise refused(path, f"not a manifest of ours: runs[{i}].dir = {entry['dir']!r}: expected a plain name")
    return manifest


def sealed(value: dict[str, Any]) -> str:
    """Returns JSON with a hash over everything in it."""
    return json.dumps(value | {SEAL: seal_of(value)}, indent=2) + "\n"


def read_sealed(path: Path) -> dict[str, Any]:
    """Reads a file that `sealed` wrote.

    # Errors
    `InputError` if it is damaged.
    """
    return unsealed(path, parsed(path))


def unsealed(path: Path, value: Any) -> dict[str, Any]:
    if not isinstance(value, dict) or SEAL not in value:
        raise refused(path, f"not a {path.stem} of ours: it has no '{SEAL}' over what is in it")
    if value.pop(SEAL) != seal_of(value):
        raise refused(path, f"damaged: its '{SEAL}' is not that of what is in it")
    return value


def seal_of(value: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(value, separators=(",", ":")).encode()).hexdigest()


def parsed(path: Path) -> Any:
    """Reads a JSON file."""
    try:
        return json.loads(path.read_bytes())
    except OSError as error:
        raise refused(path, f"cannot be read: {error.strerror or error}") from error
    except (ValueError, RecursionError) as error:
        raise refused(path, f"damaged: {error}") from error


def refused(path: Path, problem: str) -> InputError:
    """Returns the error for a file of a run directory."""
    error = InputError(f"{path}: {problem}")
    error.place = error.file = str(path)
    error.problem = problem
    return error


def quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
