"""Tables that are made from other tables of the runs, with the coordinates of their rows first."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from backwater._core import InputError
from backwater.common.arrays import pa
from backwater.runs.coordinates import Coordinates
from backwater.runs.run import Run
from backwater.runs.tables import ARROW, Column

Columns = dict[str, Any]
"""An array or a list of values for each name."""


def table(
    runs: Sequence[Run], at: Coordinates, columns: list[Column], rows: Callable[[Run], Iterator[Columns]], none: str
) -> pa.Table:
    """Returns such a table of several runs, after their coordinates. `rows` yields nothing of a run without it.

    # Errors
    `InputError` that says `none`, if none of the runs has it.
    """
    body = [field_of(one) for one in columns]
    schema = pa.schema([*(one for one in at.fields if one.name not in {field.name for field in body}), *body])
    batches = []
    for run in runs:
        for found in rows(run):
            size = len(found[columns[0]["name"]])
            arrays = [
                typed(found[field.name], field.type)
                if field.name in found
                else at.repeated(field.name, run.label, size)
                for field in schema
            ]
            batches.append(pa.Table.from_arrays(arrays, schema=schema))
    if not batches:
        raise InputError(none)
    return pa.concat_tables(batches).unify_dictionaries()


def field_of(one: Column) -> pa.Field:
    kind = pa.dictionary(pa.int32(), pa.string()) if one["type"] == "cat" else pa.type_for_alias(ARROW[one["type"]])
    return pa.field(one["name"], kind, metadata={"unit": one["unit"] or "", "description": one["description"]})


def typed(values: Any, kind: pa.DataType) -> pa.Array:
    if isinstance(values, pa.Array):
        return values
    if pa.types.is_dictionary(kind):
        return pa.array(values, pa.string()).dictionary_encode()
    return pa.array(values, kind)
