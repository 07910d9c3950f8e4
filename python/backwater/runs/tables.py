"""Writes outcome columns to Parquet, and reads them.

Each batch is one row group, so memory does not grow with the number of flows. Pages carry checksums, which are verified
on reading. Each column carries its unit and description. The file carries its schema version and the scenario that it
came from, without the scenario's name: the same run under another name gives the same file.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Protocol, TypedDict

from backwater import _core
from backwater.common import suggest
from backwater.common.arrays import Array, np, pa, pq

SCHEMA_VERSION = "2"
ROWS_PER_GROUP = 1 << 18  # 60 bytes a flow: 16 MB at a time.

NUMPY = {"u64": "<u8", "u32": "<u4", "u16": "<u2", "u8": "u1", "f64": "<f8"}
ARROW = {"u64": "int64", "u32": "int64", "u16": "int32", "u8": "int32", "f64": "double"}
"""Arrow's name of each type. Signed, so that a difference of two can be negative; nothing comes near the top bit."""
NULL_U64 = 2**64 - 1
NO_CODE = 2**16 - 1


class Outcome(Protocol):
    """The outcome of a run, as it is written. For a simulation it is `_core.Outcome`."""

    def summary(self) -> str: ...
    def tables(self) -> list[str]: ...
    def batches(self, table: str, rows: int) -> _core.Batches: ...
    def categories(self, table: str, column: str) -> list[str] | None: ...


class Column(TypedDict):
    """A column as `backwater schema` prints it."""

    name: str
    type: str
    unit: str | None
    description: str


def column(name: str, kind: str, unit: str | None, description: str) -> Column:
    """Returns a column as `backwater schema` prints it."""
    return {"name": name, "type": kind, "unit": unit, "description": description}


def column_of(field: pa.Field) -> Column:
    """Returns a stored field as a column."""
    notes = {key.decode(): value.decode() for key, value in (field.metadata or {}).items()}
    kind = "cat" if pa.types.is_dictionary(field.type) else str(field.type)
    return column(field.name, kind, notes.get("unit") or None, notes.get("description", ""))


@cache
def schemas() -> dict[str, list[Column]]:
    """Returns every table that a run writes, or records if it is asked to."""
    return json.loads(_core.tables_schema())


def write(outcome: Outcome, table: str, path: Path, scenario_digest: str) -> int:
    """Writes one table and returns its number of rows."""
    writer: pq.ParquetWriter | None = None
    rows = 0
    metadata = {
        "backwater.table": table,
        "backwater.schema_version": SCHEMA_VERSION,
        "backwater.version": _core.version,
        "backwater.scenario_digest": scenario_digest,
    }
    try:
        for batch in batches(outcome, table):
            if writer is None:
                schema = batch.schema.with_metadata(metadata)
                writer = pq.ParquetWriter(path, schema, **stored(schema))
            writer.write_batch(batch.replace_schema_metadata(metadata))
            rows += batch.num_rows
        if writer is None:
            nothing = empty(table).replace_schema_metadata(metadata)
            pq.write_table(nothing, path, **stored(nothing.schema))
    finally:
        if writer is not None:
            writer.close()
    return rows


def write_table(table: pa.Table, path: Path) -> None:
    """Writes a single table: as Arrow if the name ends so, else as Parquet."""
    if path.suffix == ".arrow":
        with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
            writer.write_table(table)
    else:
        pq.write_table(table, path, **stored(table.schema))


def stored(schema: pa.Schema) -> dict[str, Any]:
    """Returns how Parquet stores these columns. Columns of numbers have no dictionary, because few values repeat."""
    integers = [field.name for field in schema if pa.types.is_integer(field.type)]
    floats = [field.name for field in schema if pa.types.is_floating(field.type)]
    encodings = dict.fromkeys(integers, "DELTA_BINARY_PACKED") | dict.fromkeys(floats, "BYTE_STREAM_SPLIT")
    return {
        "compression": "zstd",
        "compression_level": 1,
        "write_page_checksum": True,
        "use_dictionary": [name for name in schema.names if name not in encodings],
        "column_encoding": encodings,
    }


def read(path: Path, columns: Sequence[str] | None = None) -> pa.Table:
    """Reads a table or some of its columns, and verifies the checksum of every page.

    # Errors
    `InputError` if it has no such column. Arrow's errors if it is damaged.
    """
    with pq.ParquetFile(path, page_checksum_verification=True) as file:
        there = file.schema_arrow.names
        for name in columns or ():
            if name not in there:
                raise _core.InputError(f"{path}: no column '{name}'; {suggest.expected(name, there)}")
        return file.read(None if columns is None else list(columns))


def schema(path: Path) -> pa.Schema:
    """Returns the schema of a stored table."""
    with pq.ParquetFile(path) as file:
        return file.schema_arrow


def batches_of(path: Path, columns: Sequence[str] | None, rows: int) -> Iterator[pa.RecordBatch]:
    """Yields a stored table in batches, and verifies the checksum of every page.

    By default Arrow reads ahead, and holds all that it has read: 0.9 GB for two columns of 10^8 rows.
    """
    with pq.ParquetFile(path, page_checksum_verification=True, pre_buffer=False) as file:
        yield from file.iter_batches(rows, columns=columns)


def batches(outcome: Outcome, table: str) -> Iterator[pa.RecordBatch]:
    """Yields the rows of a table, `ROWS_PER_GROUP` at a time."""
    fields = documented(table)
    categories: dict[str, pa.Array | None] = {}
    for columns in outcome.batches(table, ROWS_PER_GROUP):
        arrays, named = [], []
        for name, (kind, data) in columns.items():
            if name not in categories:
                strings = outcome.categories(table, name)
                categories[name] = None if strings is None else pa.array(strings, pa.string())
            array = to_arrow(kind, data, categories[name])
            arrays.append(array)
            named.append(pa.field(name, array.type, metadata=fields.get(name)))
        yield pa.RecordBatch.from_arrays(arrays, schema=pa.schema(named))


def empty(table: str) -> pa.Table:
    """Returns a table without rows."""
    fields = documented(table)
    return pa.schema(
        [pa.field(name, arrow_type(kind), metadata=fields[name]) for name, kind in kinds(table)]
    ).empty_table()


def arrow_type(kind: str) -> pa.DataType:
    """Returns the Arrow type of a documented type. `cat` is text with few values."""
    return pa.dictionary(pa.int32(), pa.string()) if kind == "cat" else pa.type_for_alias(ARROW[kind])


def kinds(table: str) -> list[tuple[str, str]]:
    """Returns the names and documented types of a table's columns."""
    return [(column["name"], column["type"]) for column in schemas()[table]]


def to_arrow(kind: str, data: bytes, categories: pa.Array | None) -> pa.Array:
    """Converts one column of one batch."""
    values = np.frombuffer(data, NUMPY[kind])
    if categories is not None:
        none = values == NO_CODE
        codes = np.where(none, 0, values).astype(np.int32)
        return pa.DictionaryArray.from_arrays(pa.array(codes, mask=none if none.any() else None), categories)
    if kind == "u64":
        null = values == NULL_U64
        values = values.view("<i8")  # What stands for null becomes -1.
    elif kind == "f64":
        null = np.isnan(values)
    else:
        return pa.array(values.astype(arrow_type(kind).to_pandas_dtype()))
    return pa.array(values, mask=null if null.any() else None)


def codes(column: pa.ChunkedArray) -> tuple[list[str], Array]:
    """Returns the values of a column of text, and the place of each row's value among them."""
    whole = column.unify_dictionaries().combine_chunks()
    array = whole if isinstance(whole, pa.Array) else whole.chunk(0)
    return array.dictionary.to_pylist(), array.indices.to_numpy()


@cache
def documented(table: str) -> dict[str, dict[str, str]]:
    """Returns the metadata of a table's fields."""
    return {
        column["name"]: {"unit": column["unit"] or "", "description": column["description"]}
        for column in schemas()[table]
    }
