"""Tables as data frames of pandas and Polars, and results as an xarray dataset. Each library is an extra."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from backwater.common.arrays import np, pa
from backwater.common.extras import library
from backwater.runs.coordinates import Coordinates

if TYPE_CHECKING:
    import pandas
    import polars
    import xarray


def pandas_of(table: pa.Table) -> pandas.DataFrame:
    """Returns a table as a data frame. Text of few values becomes a category."""
    library("pandas")
    return table.to_pandas()


def polars_of(table: pa.Table) -> polars.DataFrame:
    """Returns a table as a Polars data frame."""
    return library("polars").from_arrow(table)


def xarray_of(at: Coordinates, slowdown: pa.Table | None, summary: pa.Table) -> xarray.Dataset:
    """Returns slowdown by class and size, and the numbers of the tidy summary, along the coordinates of the runs."""
    xarray = library("xarray")
    variants = "variant" if at.values["variant"] != at.values["scheme"] else "scheme"
    names = [variants, *(name for name in at.axes.values() if name not in ("variant", "scheme")), "seed"]
    points = {name: list(dict.fromkeys(at.values[name])) for name in names}
    shape = [len(values) for values in points.values()]
    index = [tuple(points[name].index(at.values[name][i]) for name in names) for i in range(len(at.values["label"]))]
    where = dict(zip(at.values["label"], index, strict=True))
    data: dict[str, tuple[list[str], Any]] = {}
    coords: dict[str, Any] = {name: labels(values) for name, values in points.items()}
    if variants == "variant":
        scheme_of = dict(zip(at.values["variant"], at.values["scheme"], strict=True))
        coords["scheme"] = ("variant", labels([scheme_of[one] for one in points["variant"]]))
    rows = summary.to_pylist()
    classes = list(dict.fromkeys(row["class"] for row in rows if row["class"] is not None))
    bins: list[tuple[int | None, int | None]] = []
    if slowdown is not None:
        sizes = slowdown.to_pylist()
        classes = list(dict.fromkeys([*(row["class"] for row in sizes), *classes]))
        bins = list(dict.fromkeys((row["size_low_bytes"], row["size_high_bytes"]) for row in sizes))
        coords["size"] = labels([spelled(*one) for one in bins])
        coords["size_low_bytes"] = ("size", np.array([low or 0 for low, _ in bins], float))
        coords["size_high_bytes"] = ("size", np.array([np.inf if high is None else high for _, high in bins], float))
        told = [
            name
            for name in slowdown.column_names
            if name not in (*at.arrays, "class", "size_low_bytes", "size_high_bytes")
        ]
        for name in told:
            values = np.full([*shape, len(classes), len(bins)], np.nan)
            for row in sizes:
                place = bins.index((row["size_low_bytes"], row["size_high_bytes"]))
                if row[name] is not None:
                    values[(*where[row["label"]], classes.index(row["class"]), place)] = row[name]
            data[f"slowdown_{name}"] = ([*names, "class", "size"], values)
    if classes:
        coords["class"] = labels(classes)
    for row in rows:
        by_class = row["class"] is not None
        dims = [*names, "class"] if by_class else names
        if row["name"] not in data:
            data[row["name"]] = (dims, np.full([*shape, len(classes)] if by_class else shape, np.nan))
        at_class = (classes.index(row["class"]),) if by_class else ()
        data[row["name"]][1][(*where[row["label"]], *at_class)] = row["value"]
    return xarray.Dataset(data, coords)


def labels(values: Sequence[Any]) -> Any:
    """Returns the values along a dimension: an array of numbers, or of text."""
    kinds = {type(value) for value in values}
    return (
        np.array(values) if kinds <= {int, float} or kinds == {bool} else np.array([str(one) for one in values], object)
    )


def spelled(low: int | None, high: int | None) -> str:
    """Writes a range of sizes as claims have it: `<=3000`, `(3000,100000]`, `>100000`, or `all`."""
    if not low:
        return "all" if high is None else f"<={high}"
    return f">{low}" if high is None else f"({low},{high}]"
