"""Resolved scenarios as one scenario: what they share, and a variant for what differs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, cast

from backwater.common.values import Table, Value

if TYPE_CHECKING:
    from backwater.scenario.typed import Scenario

ONE = ("name", "description", "seed")
"""Keys that no variant sets."""


def joined(runs: Sequence[tuple[str, Scenario]], seeds: Sequence[int]) -> dict[str, Value]:
    """Returns a scenario whose runs are these: each has a label and a resolved scenario, all of the first seed.

    `seeds` are the seeds of every run, which are consecutive. One run is its scenario, and several are variants called
    by their labels.
    """
    scenarios = [known(cast(Table, scenario)) for _, scenario in runs]
    first = dict(scenarios[0])
    if len(runs) > 1:
        paths = [dict(leaves(scenario)) for scenario in scenarios]
        shared = {key for key, value in paths[0].items() if all(path.get(key, ...) == value for path in paths)}
        variants = [
            {"name": label} | {key: value for key, value in path.items() if key not in shared and key not in ONE}
            for (label, _), path in zip(runs, paths, strict=True)
        ]
        first = nested({key: value for key, value in paths[0].items() if key in shared or key in ONE})
        first["variant"] = variants
    if len(seeds) > 1:
        first.pop("seed", None)
        first["seeds"] = {"count": len(seeds), "first": min(seeds)}
    return first


def known(table: Table) -> dict[str, Value]:
    """Returns a table without parameters of computations that have no value, for which TOML has no word."""
    return {
        key: known(value) if isinstance(value, Mapping) else value for key, value in table.items() if value is not None
    }


def leaves(table: Table, prefix: str = "") -> Iterator[tuple[str, Value]]:
    """Yields the dotted keys of a table and their values. A list is a value."""
    for key, value in table.items():
        path = f"{prefix}{key}"
        if isinstance(value, Mapping) and value and not any("." in inner for inner in value):
            yield from leaves(value, f"{path}.")
        else:
            yield path, value


def nested(paths: Table) -> dict[str, Value]:
    """Returns the table with these dotted keys."""
    made: dict[str, Value] = {}
    for path, value in paths.items():
        *tables, key = path.split(".")
        inside = made
        for name in tables:
            inside = cast(dict[str, Value], inside.setdefault(name, {}))
        inside[key] = value
    return made
