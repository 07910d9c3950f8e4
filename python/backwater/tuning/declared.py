"""Ranges of keys that the JSON schema of scenarios declares."""

from __future__ import annotations

import functools
import json
import math
from collections.abc import Mapping
from typing import NamedTuple, NotRequired, TypedDict

from backwater import _core
from backwater.common.values import Table, Value
from backwater.compute.registry import SCHEMAS

BASES = {"#/$defs/Bytes": "B", "#/$defs/Duration": "s", "#/$defs/BitsPerSec": "bps"}
"""Unit in which the schema has the bounds of a quantity, by its definition."""
WIDTHS = (2**8 - 1, 2**16 - 1, 2**32 - 1)
"""Largest whole numbers of the types in memory. As a maximum they say nothing about a good value."""
WHOLE_MAX = 2**53
INWARD = 0.001
"""A bound that is itself not allowed moves inward by this share of the range."""

Schema = TypedDict(
    "Schema",
    {
        "$defs": NotRequired["dict[str, Schema]"],
        "$ref": NotRequired[str],
        "type": NotRequired[str | list[str]],
        "properties": NotRequired["dict[str, Schema]"],
        "items": NotRequired["Schema"],
        "oneOf": NotRequired["list[Schema]"],
        "anyOf": NotRequired["list[Schema]"],
        "const": NotRequired[str],
        "minimum": NotRequired[float],
        "maximum": NotRequired[float],
        "exclusiveMinimum": NotRequired[float],
        "exclusiveMaximum": NotRequired[float],
    },
)
"""The parts of JSON Schema that lead to a key and bound it."""


class Bounds(NamedTuple):
    """The smallest and the largest value of a key, in units of `base` if it has a unit."""

    low: float
    high: float
    is_whole: bool
    base: str


@functools.cache
def schema() -> Schema:
    """Returns the JSON schema of scenario files."""
    found: Schema = json.loads(_core.scenario_schema(SCHEMAS))
    return found


def bounds(key: str, scenario: Table, root: Schema | None = None) -> Bounds | None:
    """Returns the range that the schema declares for a dotted key of a resolved scenario; None without one.

    The scenario says which form a table has: a workload's `kind`, for example. A range has two ends. The widths of
    whole numbers in memory are no ends.
    """
    whole = root or schema()
    node: Schema | None = whole
    value: Value = scenario
    for step in key.split("."):
        node = None if node is None else form(node, value, whole)
        if node is None:
            return None
        if "items" in node and step.isdecimal():
            node, value = node["items"], entry(value, int(step))
        else:
            node = node.get("properties", {}).get(step)
            value = value.get(step) if isinstance(value, Mapping) else None
    return None if node is None else bounds_of(node)


def entry(value: Value, i: int) -> Value:
    """Returns an entry of a list; None if there is none."""
    return value[i] if isinstance(value, list) and i < len(value) else None


def form(node: Schema, value: Value, root: Schema) -> Schema | None:
    """Follows references, and chooses the form that a table has by its `kind`."""
    while "$ref" in node:
        node = root["$defs"][node["$ref"].removeprefix("#/$defs/")]
    choices = [one for one in node.get("oneOf", node.get("anyOf", [])) if one.get("type") != "null"]
    if not choices:
        return node
    if len(choices) == 1:
        return form(choices[0], value, root)
    kind = value.get("kind") if isinstance(value, Mapping) else None
    fits = (one for one in choices if one.get("properties", {}).get("kind", {}).get("const") == kind)
    return next(fits, None) if kind is not None else None


def bounds_of(node: Schema) -> Bounds | None:
    """Returns the bounds of a number or a quantity. An end that is not allowed itself is left out."""
    kinds = node.get("type", "")
    kind = kinds if isinstance(kinds, str) else next((one for one in kinds if one != "null"), "")
    base = BASES.get(node.get("$ref", ""), "")
    if kind not in ("integer", "number") and not base:
        return None
    low, high = node.get("minimum", -math.inf), node.get("maximum", math.inf)
    above, below = node.get("exclusiveMinimum", -math.inf), node.get("exclusiveMaximum", math.inf)
    least, most = max(low, above), min(high, below)
    if not math.isfinite(most - least) or least >= most:
        return None
    if kind == "integer":
        fits = most < WHOLE_MAX and most not in WIDTHS
        return Bounds(least + (above >= low), most - (below <= high), True, "") if fits else None
    step = INWARD * (most - least)
    return Bounds(least + step * (above >= low), most - step * (below <= high), False, base)
