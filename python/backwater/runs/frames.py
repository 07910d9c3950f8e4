"""Tables as data frames of pandas and Polars, and results as an xarray dataset. Each library is an extra."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from backwater.common.arrays import pa
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
    points = [variants, *(name for name in at.axes.values() if name != variants), "seed"]
    order: dict[str, list[Any]] = {name: list(dict.fromkeys(at.values[name])) for name in points}
    numbers = plain(summary)
    of_runs, of_classes = numbers[numbers["class"].isna()], numbers[numbers["class"].notna()]
    parts = [
        of_runs.pivot(index=points, columns="name", values="value"),
        of_classes.pivot(index=[*points, "class"], columns="name", values="value"),
    ]
    ends: dict[str, Any] = {}
    if slowdown is not None:
        rows = plain(slowdown)
        bins = rows[["size_low_bytes", "size_high_bytes"]].drop_duplicates()
        bins = bins.sort_values(list(bins), ignore_index=True)  # An open end is NaN, which comes last.
        rows["size"], order["size"] = spelled_all(rows), spelled_all(bins)
        ends = {name: ("size", bins[name].to_numpy(float)) for name in bins}
        told = [name for name in rows if name not in {*at.arrays, "class", "size", *bins}]
        parts.append(rows.set_index([*points, "class", "size"])[told].add_prefix("slowdown_"))
    data = xarray.merge([part.to_xarray() for part in parts if len(part)])
    if variants == "variant":
        scheme_of = dict(zip(at.values["variant"], at.values["scheme"], strict=True))
        ends["scheme"] = ("variant", [scheme_of[one] for one in order["variant"]])
    return data.reindex(order).assign_coords(ends)


def plain(table: pa.Table) -> pandas.DataFrame:
    """Returns a table as a data frame with text as text."""
    return table.to_pandas(strings_to_categorical=False).astype(
        {field.name: object for field in table.schema if pa.types.is_dictionary(field.type)}
    )


def spelled_all(bins: pandas.DataFrame) -> list[str]:
    """Returns the range of sizes of each row."""
    return [spelled(low, high) for low, high in zip(bins["size_low_bytes"], bins["size_high_bytes"], strict=True)]


def spelled(low: float, high: float) -> str:
    """Writes a range of sizes as claims have it: `<=3000`, `(3000,100000]` or `>100000`. An open end is 0 or NaN."""
    if math.isnan(high):
        return f">{low:.0f}" if low else "all"
    return f"({low:.0f},{high:.0f}]" if low else f"<={high:.0f}"
