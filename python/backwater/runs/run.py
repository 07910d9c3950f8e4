"""One run: its scenario, its summary and its tables. A file is parsed only after its hash is checked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from backwater._core import InputError
from backwater.common import suggest
from backwater.common.arrays import pa
from backwater.common.disk import sha256
from backwater.common.json_files import parsed, refused
from backwater.runs import tables
from backwater.runs.critical import CriticalPath, critical_path, job_of
from backwater.runs.explain import Explained, Progress, Tail, again, numbered
from backwater.runs.manifest import MANIFEST, Entry, variant_of, without_seed

if TYPE_CHECKING:
    from backwater.runs.summary import Summary
    from backwater.scenario.plan import Params
    from backwater.scenario.typed import Scenario


@dataclass(frozen=True, repr=False)
class Run:
    """One simulated network: a scheme under a workload. `label` is its name, and `path` its directory."""

    label: str
    path: Path
    entry: Entry
    """The run's entry in the manifest."""
    verified: dict[str, tuple[int, ...]] = field(default_factory=dict, compare=False, repr=False)
    """Files whose hash has been checked, each with its identity then."""
    keeps: object = field(default=None, compare=False, repr=False)
    """Keeps a temporary directory alive."""

    def __repr__(self) -> str:
        return f"Run({self.label!r}, {self.ending})"

    @property
    def scheme(self) -> str:
        """Preset of the run."""
        return self.entry.scheme

    @property
    def variant(self) -> str:
        """Variant of the run, or its scheme if there are no variants."""
        return variant_of(self.params, self.scheme)

    @property
    def seed(self) -> int | None:
        """Seed of the run. None if nothing is drawn."""
        if "seed" in self.params:
            return int(self.params["seed"])
        seed = self.scenario.get("seed", self.scenario.get("compute", {}).get("seed"))
        return seed if isinstance(seed, int) else None

    @property
    def label_without_seed(self) -> str:
        """Label of the run's point, which all its seeds share."""
        return without_seed(self.label, self.params)

    @property
    def digest(self) -> str:
        """Digest of all results of the run."""
        return self.entry.digest

    @property
    def digests(self) -> dict[str, str]:
        """Digest of each table, by name. `run` is the digest of results that are in no table."""
        return self.entry.digests

    @property
    def complete(self) -> bool:
        """Whether the run ended normally and every counted flow that has to finish did."""
        return self.entry.complete

    @property
    def ending(self) -> str:
        """How the run ended: `finished`, `time`, `standstill` or `interrupted`."""
        return self.entry.ending or ("finished" if self.complete else "interrupted")

    @property
    def params(self) -> Params:
        """Values of the varied keys: variant, swept keys and seed."""
        return self.entry.params

    @cached_property
    def scenario(self) -> Scenario:
        """The resolved scenario, as in its `scenario.json`. Every default is filled in."""
        return parsed(self.file("scenario.json"))

    @cached_property
    def summary(self) -> Summary:
        """Single numbers of the run, as in its `summary.json`."""
        return parsed(self.file("summary.json"))

    @property
    def tables(self) -> list[str]:
        """Names of the run's tables."""
        return sorted(self.table_files)

    @property
    def table_files(self) -> dict[str, str]:
        """File of each table, such as `flows.parquet`, or `waits.3f2a90c1d4e5.parquet` of a stored explanation."""
        return {name.partition(".")[0]: name for name in self.entry.files if name.endswith(".parquet")}

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
        if found != self.entry.files.get(name):
            raise refused(path, f"damaged: its hash is not the one in {MANIFEST}")
        self.verified[name] = standing
        return path

    def verify(self) -> None:
        """Compares every file with its hash in the manifest.

        # Errors
        `InputError` that names the first missing or changed file.
        """
        for name in self.entry.files:
            self.file(name)

    def table(self, name: str, columns: Sequence[str] | None = None) -> pa.Table:
        """Returns a table of this run. `backwater schema` lists tables and their columns.

        `columns` selects some of its columns, which takes less memory.

        # Errors
        `InputError` if there is no such table or column, or its file is damaged.
        """
        path = self._table_file(name)
        try:
            return tables.read(path, columns)
        except (OSError, pa.ArrowException) as error:
            raise refused(path, f"damaged: {error}") from error

    def batches(self, name: str, columns: Sequence[str] | None = None, rows: int = 1 << 18) -> Iterator[pa.RecordBatch]:
        """Yields a table in batches of at most so many rows, in memory that does not grow with its size.

        # Errors
        `InputError` if there is no such table, or its file is damaged.
        """
        path = self._table_file(name)
        try:
            yield from tables.batches_of(path, columns, rows)
        except (OSError, pa.ArrowException) as error:
            raise refused(path, f"damaged: {error}") from error

    def _table_file(self, name: str) -> Path:
        """Returns the checked file of a table."""
        if name not in self.tables:
            raise InputError(
                f"{self.path}: no table '{name}'; {suggest.expected(name, self.tables, 'backwater schema')}"
            )
        return self.file(self.table_files[name])

    def explain(self, *numbers: int, progress: Progress | None = None) -> Explained:
        """Explains where these flows spent their time. `numbers` are those of the table `flows`.

        This runs the run again, and takes as long. `progress` is called with the done and the total amount of work.

        >>> found = results.run("BFC").explain(17).flow(17)
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
        if self.entry.cut_short:
            raise refused(self.path, "was stopped before its end: it cannot be run to the same point again")
        end = self.summary["sim_time_ps"]
        found = again(self.label, self.scenario, self.digest, self.table("flows"), flows, end, progress)
        return replace(found, tail=tail)

    def slowest_iteration(self, job: str | None = None) -> int:
        """Returns the number of the iteration of a job that took longest, of those that ended.

        # Errors
        `InputError` if there is no such job, or no iteration has ended.
        """
        name = job_of(self.scenario, job)[1]
        rows = [row for row in self.summary.get("iterations") or [] if row["class"] == name]
        if not rows:
            raise InputError(f"{self.label}: no iteration of job '{name}' has ended: expected at least one to explain")
        return max(rows, key=lambda row: (row["time_ps"], -row["iteration"]))["iteration"]

    def critical_path(self, iteration: int, job: str | None = None, progress: Progress | None = None) -> CriticalPath:
        """Returns the critical path of an iteration of a job, and what its messages waited for.

        `job` is its class, which is needed if the run has several jobs. The run is run again. The spans of `parts` sum
        to the time of the iteration.

        # Errors
        `InputError` if there is no such iteration, or this version makes another run.
        """
        if self.entry.cut_short:
            raise refused(self.path, "was stopped before its end: it cannot be run to the same point again")
        end = self.summary["sim_time_ps"]
        name = job_of(self.scenario, job)[1]
        flows, phases = self.table("flows"), self.table("phases")
        return critical_path(
            self.label, self.scenario, self.digest, flows, phases, end, job=name, iteration=iteration, progress=progress
        )


def identity(path: Path) -> tuple[int, ...]:
    """Returns a value that changes if the file is replaced or written again."""
    stat = path.stat()
    return stat.st_dev, stat.st_ino, stat.st_size, stat.st_mtime_ns
