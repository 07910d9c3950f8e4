"""The coordinates of runs: the columns that say of which run a row is.

`label`, `variant`, `scheme` and `seed`, and each swept key by its shortest name that no other has: `load` for
`background.load`. The field of a swept key carries the full key as metadata.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from backwater.common.arrays import np, pa
from backwater.runs.run import Run
from backwater.runs.tables import Column, column, schemas

HEAD = (
    column("label", "cat", None, "name of the run"),
    column("variant", "cat", None, "the variant, or the scheme if there are no variants"),
    column("scheme", "cat", None, "the scheme"),
    column("seed", "i64", None, "the seed; null if nothing is drawn"),
)
"""These come first, and the swept keys after them."""
NAMES = tuple(one["name"] for one in HEAD)


class Coordinates:
    """The coordinates of some runs: their names, and a value for each run."""

    def __init__(self, runs: Sequence[Run]) -> None:
        keys = dict.fromkeys(key for run in runs for key in run.params if key not in NAMES)
        self.axes = {key: shortened(key, [other for other in keys if other != key]) for key in keys}
        """The swept keys, each with its short name."""
        self.values: dict[str, list[Any]] = {
            "label": [run.label for run in runs],
            "variant": [run.variant for run in runs],
            "scheme": [run.scheme for run in runs],
            "seed": [run.seed for run in runs],
            **{name: [run.params.get(key) for run in runs] for key, name in self.axes.items()},
        }
        self.arrays = {
            name: coded(column) if name in ("label", "variant", "scheme") else typed(column)
            for name, column in self.values.items()
        }
        """Text is dictionary-encoded."""
        self.place = {run.label: i for i, run in enumerate(runs)}
        """Index of a run in these columns, by its label."""

    @property
    def columns(self) -> list[Column]:
        """The coordinates as `backwater schema` prints columns."""
        swept = [column(name, "any", None, f"the swept key {key}") for key, name in self.axes.items()]
        return [*HEAD, *swept]

    @property
    def fields(self) -> list[pa.Field]:
        """The coordinates as Arrow fields, with their descriptions."""
        full = {name: key for key, name in self.axes.items()}
        return [
            pa.field(
                one["name"],
                self.arrays[one["name"]].type,
                metadata={"unit": "", "description": one["description"]}
                | ({"key": full[one["name"]]} if one["name"] in full else {}),
            )
            for one in self.columns
        ]

    def repeated(self, name: str, label: str, rows: int) -> pa.Array:
        """Returns so many times the coordinate of a run. Text stays a code of few values."""
        column, at = self.arrays[name], self.place[label]
        first = np.zeros(rows, np.int32)
        if pa.types.is_dictionary(column.type):
            return pa.DictionaryArray.from_arrays(column.indices.slice(at, 1).take(first), column.dictionary)
        return column.slice(at, 1).take(first)


def shortened(key: str, others: Sequence[str]) -> str:
    """Returns the shortest end of a dotted key that is the end of no other key and no column of a table."""
    taken = {*NAMES, *(column["name"] for columns in schemas().values() for column in columns)}
    words = key.split(".")
    for n in range(1, len(words)):
        name = ".".join(words[-n:])
        if name not in taken and not any(f".{other}".endswith(f".{name}") for other in others):
            return name
    return key


def typed(values: list[Any]) -> pa.Array:
    """Returns a column of truth values, whole numbers or numbers if all are, else of text."""
    kinds = {type(value) for value in values if value is not None}
    if kinds <= {int}:
        return pa.array(values, pa.int64())
    if kinds == {bool}:
        return pa.array(values, pa.bool_())
    return pa.array(values, pa.float64()) if kinds <= {int, float} else coded(values)


def coded(values: list[Any]) -> pa.Array:
    """Returns a column of text, dictionary-encoded."""
    return pa.array([None if one is None else str(one) for one in values], pa.string()).dictionary_encode()
