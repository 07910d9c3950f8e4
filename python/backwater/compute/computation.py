"""The parts of a computation: parameters with their schema, results with their names, and the function between them.

The reader of scenarios checks files that use a computation against the schema given here, and fills in defaults. The
function gets base units: bytes, seconds, bits per second.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from backwater.common.quantities import as_number
from backwater.common.values import Value
from backwater.compute.sizes import Sizes

Schema = dict[str, Value]
Values = Mapping[str, float | None]

DIGITS = 12
"""Of a result: the last few bits of logarithms differ between machines."""
NEEDED: Any = object()
"""In place of a default, where a parameter has none. A default of None leaves the parameter None."""


@dataclass(frozen=True)
class Computation:
    """A kind of computation. A line of `registry.py` registers it."""

    kind: str
    """What files call it."""
    description: str
    """One sentence, with its source."""
    parameters: dict[str, Schema]
    results: dict[str, str]
    """What each is, with its unit."""
    compute: Callable[..., Values]
    """From the parameters by name, and `seed`, to the results; None for one that there is none of."""
    facts: tuple[str, ...] = ()
    """Results that are facts about hardware, or follow from parameters alone: nothing could contradict them."""
    draws: bool = False
    """Whether results depend on the seed."""

    def run(self, given: Mapping[str, Any], seed: int) -> dict[str, float | None]:
        """Computes the results from resolved parameters, in the order of `results`."""
        values = {name: value_of(schema, given[name], name) for name, schema in self.parameters.items()}
        found = self.compute(**values, seed=seed)
        assert found.keys() == self.results.keys(), f"{self.kind} gives what it says it does"
        return {name: rounded(found[name]) for name in self.results}


def rounded(x: float | None) -> float | None:
    return None if x is None else float(f"{x:.{DIGITS}g}")


def value_of(schema: Schema, given: Any, name: str) -> Any:
    """Returns a parameter in the form that the function takes."""
    if given is None:
        return None
    if schema.get("$ref") == SIZES:
        return Sizes.of(given)
    if "$ref" in schema:
        return rounded(as_number(given, name))  # 80 us is 8e-5, and not its neighbour.
    return float(given) if schema.get("type") == "number" else given


# Kinds of parameters. Bounds are in base units; `above` and `below` leave the bound itself out.

SIZES = "#/$defs/Sizes"
BOUNDS = {"least": "minimum", "above": "exclusiveMinimum", "most": "maximum", "below": "exclusiveMaximum"}


def number(what: str, default: Any = NEEDED, **bounds: float) -> Schema:
    return parameter({"type": "number"}, what, default, bounds)


def whole(what: str, default: Any = NEEDED, *, least: int, most: int) -> Schema:
    return parameter({"type": "integer"}, what, default, {"least": least, "most": most})


def duration(what: str, default: Any = NEEDED, **bounds: float) -> Schema:
    return parameter({"$ref": "#/$defs/Duration"}, what, default, bounds or {"above": 0})


def size(what: str, default: Any = NEEDED, **bounds: float) -> Schema:
    return parameter({"$ref": "#/$defs/Bytes"}, what, default, bounds or {"above": 0})


def rate(what: str, default: Any = NEEDED, **bounds: float) -> Schema:
    return parameter({"$ref": "#/$defs/BitsPerSec"}, what, default, bounds or {"above": 0})


def sizes(what: str) -> Schema:
    """Declares a parameter for flow sizes, in every form that a workload takes."""
    return parameter({"$ref": SIZES}, what, NEEDED, {})


def choice(what: str, words: list[str], default: Any = NEEDED) -> Schema:
    return parameter({"oneOf": [{"const": word} for word in words]}, what, default, {})


def parameter(schema: Schema, what: str, default: Any, bounds: Mapping[str, float]) -> Schema:
    schema |= {BOUNDS[name]: bound for name, bound in bounds.items()} | {"description": what}
    return schema if default is NEEDED else schema | {"default": default}
