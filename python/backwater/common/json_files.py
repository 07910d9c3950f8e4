"""Files of JSON, as types of ours. What does not fit is refused with its place, its value and what was expected."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from backwater._core import InputError

T = TypeVar("T")
SHOWN = 60
"""Most characters of a value in a message."""
KINDS = {
    "str": "text",
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "object": "a table",
    "array": "a list",
    "null": "null",
}
"""Kinds of values, as messages call them."""


def indented(value: object) -> str:
    """Returns `json.dumps(value, indent=2)` and the end of a line, in less than half of its time."""
    try:
        return msgspec.json.format(json.dumps(value), indent=2) + "\n"
    except msgspec.DecodeError:  # It takes neither NaN nor infinity.
        return json.dumps(value, indent=2) + "\n"


def parsed(path: Path) -> Any:
    """Reads a file of JSON.

    # Errors
    `InputError` if it cannot be read, or is damaged.
    """
    try:
        return json.loads(path.read_bytes())
    except OSError as error:
        raise refused(path, f"cannot be read: {error.strerror or error}") from error
    except (ValueError, RecursionError) as error:
        raise refused(path, f"damaged: {error}") from error


def fitting(path: Path, value: Any, kind: type[T], called: str = "") -> T:
    """Returns what was read from a file as a value of this type. Keys that the type does not have are left out.

    Messages call the file `called`, by default by its name.

    # Errors
    `InputError` that names the file, the place in it, the value and what was expected.
    """
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        raise refused(path, f"not {called or f'a {path.stem}'} of ours: {told(str(error), value)}") from error


def told(problem: str, value: Any) -> str:
    """Says in words of ours why a value does not fit, from what msgspec says: `Expected ..., got ... - at `$.a[0]``."""
    reason, _, where = problem.partition(" - at ")
    place = where.strip("`").removeprefix("$").removeprefix(".")
    if missing := re.fullmatch(r"Object missing required field `(.*)`", reason):
        return f"{place or 'it'} has no '{missing[1]}'"
    expected = re.match(r"Expected `([^`]*)`", reason)
    words = " or ".join(KINDS.get(kind, kind) for kind in expected[1].split(" | ")) if expected else reason
    steps = re.findall(r"[^.\[\]]+|\[[^\]]*\]", place)
    for step in steps:
        if step.startswith("["):
            if not step[1:-1].isdigit():  # msgspec does not name the key: `[...]`.
                return f"{place}: expected {words}"
            value = value[int(step[1:-1])]
        else:
            value = value[step]
    shown = json.dumps(value)
    shown = shown if len(shown) <= SHOWN else f"{shown[:SHOWN]}..."
    return f"{place or 'it'} = {shown}: expected {words}"


def refused(path: Path, problem: str) -> InputError:
    """Returns the error for a file."""
    error = InputError(f"{path}: {problem}")
    error.place = error.file = str(path)
    error.problem = problem
    return error
