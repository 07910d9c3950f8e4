"""Several runs of an experiment, with the tables of all of them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from backwater._core import InputError
from backwater.common import suggest
from backwater.common.arrays import pa
from backwater.runs import derived, frames, job_tables, pause_trees, summaries, tables
from backwater.runs.coordinates import Coordinates
from backwater.runs.run import Run
from backwater.runs.tables import Column
from backwater.scenario.changes import meant

if TYPE_CHECKING:
    import duckdb
    import pandas
    import polars
    import xarray

ROWS = 1 << 18
"""Rows that are read at once."""


class Runs(Sequence[Run]):
    """Some runs of one experiment, in their order. A loop over it goes through its runs.

    Every table begins with the coordinates of a row: `label`, `variant`, `scheme`, `seed`, and each swept key by its
    shortest name, such as `load` for `background.load`. So you can group by them without a join.

    >>> bfc = results["BFC"]                    # all seeds and points of BFC
    >>> bfc.slowdown().column_names[:6]
    ['label', 'variant', 'scheme', 'seed', 'class', 'size_low_bytes']
    >>> long = bfc.flows(columns=["slowdown"], where="size_bytes > 100000 and class = 'background'")
    >>> [run.label for run in bfc] == long["label"].unique().to_pylist()
    True
    """

    def __init__(self, runs: Sequence[Run], path: Path) -> None:
        self.path = path
        self.runs = list(runs)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self.path)!r}: {self._told()})"

    def _told(self) -> str:
        """Returns how many runs there are, of which variants and seeds."""
        n = len(self.runs)
        if n <= 3:
            return ", ".join(run.label for run in self.runs) or "no runs"
        columns = self.coordinates.values.items()
        sizes = {name: len(set(map(str, column))) for name, column in columns if name not in ("label", "scheme")}
        many = [
            f"{count} {name}s" if name in ("variant", "seed") else f"{count} of {name}" for name, count in sizes.items()
        ]
        return f"{n} runs, {', '.join(told for told, count in zip(many, sizes.values(), strict=True) if count > 1)}"

    def __len__(self) -> int:
        return len(self.runs)

    def __iter__(self) -> Iterator[Run]:
        return iter(self.runs)

    def __contains__(self, what: object) -> bool:
        """Whether a run is among these, or a label or variant names one."""
        return bool(self._named(what)) if isinstance(what, str) else what in self.runs

    @overload
    def __getitem__(self, which: int) -> Run: ...
    @overload
    def __getitem__(self, which: str | slice | list[str]) -> Runs: ...
    def __getitem__(self, which: int | str | slice | list[str]) -> Run | Runs:
        if isinstance(which, str):
            return self.select(which)
        if isinstance(which, list):
            return self._some(which)
        if isinstance(which, slice):
            return Runs(self.runs[which], self.path)
        if not hasattr(which, "__index__"):
            raise TypeError(f"{which!r}: expected the name of runs, a list of names, a number or a slice")
        return self.runs[which]

    def run(self, name: str | None = None) -> Run:
        """Returns the only run, or the only one with this label, variant or point.

        # Errors
        `InputError` if there is none, or several.
        """
        found = self.runs if name is None else self.select(name).runs
        if len(found) != 1:
            which = name or self.path
            several = f"{which}: these are {len(found)} runs, such as '{found[0].label}': expected one" if found else ""
            raise InputError(several or f"{self.path}: holds no finished run")
        return found[0]

    def select(self, name: str | None = None, /, **at: Any) -> Runs:
        """Returns the runs with this name, and with these coordinates: `select("BFC", seed=[1, 2], load=0.8)`.

        A name is a label, a label without its seed, or a variant: `BFC` selects every seed and point of BFC. A
        coordinate is a column of any table before those of its own, with a value or a list of values.

        # Errors
        `InputError` if there is no such run or coordinate.
        """
        found = self.runs if name is None else self._named(name)
        if not found:
            names = dict.fromkeys([*(run.variant for run in self.runs), *(run.label_without_seed for run in self.runs)])
            raise InputError(f"{self.path}: no run '{name}'; {suggest.expected(str(name), list(names))}")
        for key, wanted in at.items():
            here = Coordinates(found)
            column, known = here.axes.get(key, key), here.values
            if column not in known:
                raise InputError(f"{self.path}: no coordinate '{key}'; {suggest.expected(key, list(known))}")
            several = isinstance(wanted, Iterable) and not isinstance(wanted, str)
            some = [meant(value) for value in (wanted if several else [wanted])]
            there = known[column]
            if missing := [value for value in some if value not in there]:
                raise InputError(f"{self.path}: no run with {key} = {missing[0]!r}; there are {listed(there)}")
            found = [run for run, value in zip(found, there, strict=True) if value in some]
        return Runs(found, self.path)

    def _named(self, name: str) -> list[Run]:
        """Returns the runs that this name selects; none if it is no label, point or variant."""
        names: tuple[Callable[[Run], str], ...] = (
            lambda run: run.label,
            lambda run: run.label_without_seed,
            lambda run: run.variant,
        )
        return next((found for of in names if (found := [run for run in self.runs if of(run) == name])), [])

    def _some(self, names: str | Sequence[str]) -> Runs:
        """Returns the runs with one of these names, in their order.

        # Errors
        `InputError` if there is no run with one of them.
        """
        chosen = {run.label for name in ([names] if isinstance(names, str) else names) for run in self.select(name)}
        return Runs([run for run in self.runs if run.label in chosen], self.path)

    @cached_property
    def coordinates(self) -> Coordinates:
        """Coordinates of these runs."""
        return Coordinates(self.runs)

    @property
    def tables(self) -> list[str]:
        """Names of the tables that some of the runs have, and `summary`."""
        return sorted({summaries.TABLE, *(name for run in self.runs for name in run.tables)})

    def columns(self, table: str) -> list[Column]:
        """Returns the columns of a table of these runs: `name`, `type`, `unit` and `description` of each.

        # Errors
        `InputError` if there is no such table.
        """
        return [tables.column_of(field) for field in self.scan(table).schema]

    def scan(
        self,
        table: str,
        columns: Sequence[str] | None = None,
        where: str | None = None,
        runs: str | Sequence[str] | None = None,
    ) -> pa.RecordBatchReader:
        """Reads a table of these runs in batches, in memory that does not grow with its size.

        `columns` selects columns. The coordinates come first, unless `columns` names some of them. `where` is a
        condition in SQL, such as `"size_bytes > 1e6 and scheme = 'bfc'"`. `runs` names runs, as `results["bfc"]` does.
        Nothing that they leave out is read.

        # Errors
        `InputError` if there is no such table, column or run, if the condition is wrong, or if a file is damaged.
        """
        if runs is not None:
            return self._some(runs).scan(table, columns, where)
        if where is not None and (not isinstance(where, str) or not where.strip()):
            raise InputError(f"where = {where!r}: expected a condition in SQL, such as 'slowdown > 2'")
        if table == summaries.TABLE:
            return self._summary(columns, where).to_reader()
        having = [run for run in self.runs if table in run.tables]
        if not having:
            raise InputError(f"{self.path}: no table '{table}'; {suggest.expected(table, self.tables)}")
        head = self.coordinates.fields
        stored = tables.schema(having[0].file(having[0].table_files[table]))
        body = [field for field in stored if field.name not in self.coordinates.arrays]
        schema = pa.schema(chosen(head, body, columns, f"{self.path}: {table}"))
        rows = rows_of(having, self.coordinates, table, schema, where)
        return pa.RecordBatchReader.from_batches(schema, rows)

    def table(
        self,
        name: str,
        columns: Sequence[str] | None = None,
        where: str | None = None,
        runs: str | Sequence[str] | None = None,
    ) -> pa.Table:
        """Returns a table with the rows of all runs. `columns`, `where` and `runs` are as for `scan`.

        `summary` has one row for each run: its coordinates, and every number of its summary.

        # Errors
        `InputError` if there is no such table, column or run, if the condition is wrong, or if a file is damaged.
        """
        return self.scan(name, columns, where, runs).read_all().unify_dictionaries()

    def flows(
        self,
        columns: Sequence[str] | None = None,
        where: str | None = None,
        runs: str | Sequence[str] | None = None,
    ) -> pa.Table:
        """Returns the table `flows`: a row for each flow. `columns`, `where` and `runs` are as for `scan`."""
        return self.table("flows", columns, where, runs)

    def slowdown(self, where: str | None = None, runs: str | Sequence[str] | None = None) -> pa.Table:
        """Returns the table `slowdown`: a row for each run, class and size bin."""
        return self.table("slowdown", None, where, runs)

    def summary(self) -> pa.Table:
        """Returns every number of the summaries as a row: coordinates, `name`, `class`, `value` and `unit`.

        Slowdown by size bin is in the table `slowdown`. `table("summary")` has a row for each run instead.

        >>> results.summary().filter(pc.field("name") == "buffer.p99_bytes")["value"].to_pylist()[0] > 0
        True
        """
        return summaries.tidy(self.runs)

    def jobs(self) -> pa.Table:
        """Returns a row for each collective or job of each run.

        It has the time per iteration with its percentiles, what a rank does in an iteration on average, algorithm and
        bus bandwidth, and the slowest rank. `table.field(NAME).metadata` says what a column means.

        # Errors
        `InputError` if no run has a job.
        """
        return self._of_jobs(job_tables.JOBS, job_tables.of_jobs)

    def ranks(self) -> pa.Table:
        """Returns a row for each rank in each iteration of a job that ended.

        `compute_ps`, `exposed_ps`, `other_ps` and `bubble_ps` sum to `time_ps`, the time of the iteration from the
        begin of its first rank to the end of its last. `under_way_ps` is the time with a message of the rank under
        way.

        # Errors
        `InputError` if no run has a job.
        """
        return self._of_jobs(job_tables.RANKS, job_tables.of_ranks)

    def steps(self) -> pa.Table:
        """Returns a row for each rank in each phase of an iteration that ended, such as a step of a collective.

        Over the phases of an iteration, `compute_ps` and `exposed_ps` sum to those of the rank in `ranks()`.

        # Errors
        `InputError` if no run has a job.
        """
        return self._of_jobs(job_tables.STEPS, job_tables.of_steps)

    def _of_jobs(self, columns: list[Column], rows: Callable[[Run], Iterator[derived.Columns]]) -> pa.Table:
        none = f"{self.path}: no run has a job: expected a workload of kind 'job' or 'collective'"
        return derived.table(self.runs, self.coordinates, columns, rows, none)

    def pause_trees(self) -> pa.Table:
        """Returns a row for each tree of pauses of each run, those first that held ports longest.

        A row has the root port, at which the pauses begin, how far they reach, how many hosts they hold, and when.
        `table.field(NAME).metadata` says what a column means.

        # Errors
        `InputError` if no run recorded its links (`measure.links`).
        """
        none = f"{self.path}: no run recorded its links: expected a period in `measure.links`, such as '20 us'"
        return derived.table(self.runs, self.coordinates, pause_trees.COLUMNS, pause_trees.of_trees, none)

    def _summary(self, columns: Sequence[str] | None, where: str | None) -> pa.Table:
        """Returns the table `summary`, with some of its columns and rows."""
        wide = summaries.of(self.runs)
        head = [field for field in wide.schema if field.name in self.coordinates.arrays]
        body = [field for field in wide.schema if field not in head]
        fields = chosen(head, body, columns, f"{self.path}: {summaries.TABLE}")
        if where is None:
            return wide.select([field.name for field in fields])
        with connected() as connection:
            connection.register("wide", wide)
            query = f"select {', '.join(quoted_name(field.name) for field in fields)} from wide where ({where})"
            what = f"{self.path}: where = {where!r}"
            with refusing(what):
                found = asked(connection, query, what).to_arrow_table()
        return found.cast(pa.schema(fields))

    def sql(self, query: str) -> pa.Table:
        """Runs a DuckDB query and returns its result.

        Every table is a view with the rows of all runs, coordinates first. `summary` is a view too. Only the files of
        tables that the query names are read.

        # Errors
        `InputError` if DuckDB refuses the query or a file is damaged.
        """
        with connected() as connection:
            words = set(re.findall(r"\w+", query.lower()))
            named = {name for name in self.tables if name in words}
            for name in sorted(named):
                if name == summaries.TABLE:
                    connection.register(name, summaries.of(self.runs))
                    continue
                parts = [selected(run, self.coordinates, name) for run in self.runs if name in run.tables]
                connection.execute(f"create view {quoted_name(name)} as " + " union all by name ".join(parts))
            with refusing(str(self.path), f"\nThe tables are {', '.join(self.tables)}."):
                return asked(connection, query, str(self.path)).to_arrow_table()

    def to_pandas(self, table: str = summaries.TABLE, **options: Any) -> pandas.DataFrame:
        """Returns a table as a pandas data frame. Options are those of `table`.

        Needs the extra: `pip install 'backwater[pandas]'`.
        """
        return frames.pandas_of(self.table(table, **options))

    def to_polars(self, table: str = summaries.TABLE, **options: Any) -> polars.DataFrame:
        """Returns a table as a Polars data frame. Options are those of `table`.

        Needs the extra: `pip install 'backwater[polars]'`.
        """
        return frames.polars_of(self.table(table, **options))

    def to_xarray(self) -> xarray.Dataset:
        """Returns slowdown and summary as an xarray dataset.

        Its dimensions are `variant` (or `scheme`, if there are no variants), each swept key, `seed`, `class` and
        `size`. `slowdown_p99` has all of them. A number of the summary, such as `buffer.p99_bytes`, has those of its
        run. What a run does not have is NaN. Needs the extra: `pip install 'backwater[xarray]'`.
        """
        slowdown = self.slowdown() if "slowdown" in self.tables else None
        return frames.xarray_of(self.coordinates, slowdown, self.summary())

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self.table(summaries.TABLE).__arrow_c_stream__(requested_schema)

    def __dataframe__(self, nan_as_null: bool = False, allow_copy: bool = True) -> object:
        return self.table(summaries.TABLE).__dataframe__(nan_as_null, allow_copy)


def chosen(
    head: Sequence[pa.Field], body: Sequence[pa.Field], columns: Sequence[str] | None, where: str
) -> list[pa.Field]:
    """Returns the fields that `columns` selects, after all coordinates if it names none of them."""
    if columns is None:
        return [*head, *body]
    if isinstance(columns, str):
        raise InputError(f"columns = {columns!r}: expected a list of names, such as [{columns!r}]")
    there = {field.name: field for field in (*head, *body)}
    for name in columns:
        if name not in there:
            raise InputError(f"{where}: no column '{name}'; {suggest.expected(name, list(there))}")
    heads = {field.name for field in head}
    return [*([] if heads & set(columns) else head), *(there[name] for name in columns)]


def rows_of(
    having: Sequence[Run], at: Coordinates, table: str, schema: pa.Schema, where: str | None
) -> Iterator[pa.RecordBatch]:
    """Yields the rows of a table, run by run."""
    if where is not None:
        yield from filtered(having, at, table, schema, where)
        return
    own = [name for name in schema.names if name not in at.arrays]
    for run in having:
        for batch in run.batches(table, own, ROWS):
            arrays = [
                at.repeated(name, run.label, batch.num_rows) if name in at.arrays else batch[name]
                for name in schema.names
            ]
            yield pa.RecordBatch.from_arrays(arrays, schema=schema)


def filtered(
    having: Sequence[Run], at: Coordinates, table: str, schema: pa.Schema, where: str
) -> Iterator[pa.RecordBatch]:
    """Yields the rows for which a condition in SQL holds."""
    names = ", ".join(quoted_name(name) for name in schema.names)
    parts = " union all by name ".join(selected(run, at, table) for run in having)
    what = f"where = {where!r}"
    with connected() as connection, refusing(what):
        found = asked(connection, f"select {names} from ({parts}) where ({where})", what)
        for batch in found.to_arrow_reader(ROWS):
            yield from pa.Table.from_batches([batch]).cast(schema).combine_chunks().to_batches()


def selected(run: Run, at: Coordinates, table: str) -> str:
    """Returns the query of a run's table, after its coordinates."""
    path = run.file(run.table_files[table])
    own = set(tables.schema(path).names)
    here = at.place[run.label]
    literals = [
        f"{literal(array[here].as_py(), array.type)} as {quoted_name(name)}" for name, array in at.arrays.items()
    ]
    twice = [quoted_name(name) for name in at.arrays if name in own]
    rest = f"* exclude ({', '.join(twice)})" if twice else "*"
    return f"select {', '.join(literals)}, {rest} from read_parquet({quoted(str(path))})"


def literal(value: Any, kind: pa.DataType) -> str:
    """Returns a coordinate as SQL."""
    if pa.types.is_dictionary(kind):
        return "null::varchar" if value is None else f"{quoted(value)}::varchar"
    name = "boolean" if pa.types.is_boolean(kind) else "bigint" if pa.types.is_integer(kind) else "double"
    return f"{'null' if value is None else repr(value).lower()}::{name}"


@contextmanager
def connected() -> Iterator[duckdb.DuckDBPyConnection]:
    import duckdb

    with duckdb.connect() as connection:
        yield connection


@contextmanager
def refusing(what: str, hint: str = "") -> Iterator[None]:
    """Turns what DuckDB refuses into `InputError`, be it before the first row or at a row. `hint` is on tables."""
    import duckdb

    try:
        yield
    except duckdb.CatalogException as error:
        raise InputError(f"{what}: {error}{hint}") from error
    except duckdb.Error as error:
        raise InputError(f"{what}: {error}") from error


def asked(connection: duckdb.DuckDBPyConnection, query: str, what: str) -> duckdb.DuckDBPyRelation:
    """Runs a query, within `refusing`."""
    found = connection.sql(query)
    if found is None:
        raise InputError(f"{what}: expected a query that returns rows")
    return found


def quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def quoted_name(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def listed(values: Sequence[Any]) -> str:
    """Lists the first of these values."""
    some = [repr(value) for value in dict.fromkeys(values)]
    return ", ".join(some[:8]) + (f" and {len(some) - 8} more" if len(some) > 8 else "")
