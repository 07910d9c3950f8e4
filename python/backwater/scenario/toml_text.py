"""Python values as TOML text, as `--set` reads them."""

from __future__ import annotations

import json
import math
import operator
from typing import Any

from backwater._core import InputError
from backwater.scenario.units import Quantity

DEEP = 64
"""Tables and lists inside each other; no scenario has ten."""
BIGGEST = 2**63


def toml_value(value: Any, key: str = "value", depth: int = 0) -> str:
    """Writes a text, number, truth value, list or table.

    # Errors
    `InputError` naming the key of what TOML has no word for, such as None.
    """
    if depth > DEEP:
        raise refused(key, value, f"tables and lists at most {DEEP} deep")
    if hasattr(value, "dtype"):
        value = plain(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return text(key, value)
    if isinstance(value, Quantity):
        return text(key, str(value))
    if isinstance(value, float):
        return repr(float(value)) if math.isfinite(value) else str(float(value))
    if isinstance(value, dict):
        parts = []
        for name, inner in value.items():
            if not isinstance(name, str):
                raise refused(f"{key}.{name}", name, "a text as key")
            parts.append(f"{text(key, name)} = {toml_value(inner, f'{key}.{name}', depth + 1)}")
        return "{" + ", ".join(parts) + "}"
    if isinstance(value, list | tuple):
        inside = [toml_value(inner, f"{key}.{i}", depth + 1) for i, inner in enumerate(value)]
        return "[" + ", ".join(inside) + "]"
    try:
        number = operator.index(value)
    except TypeError:
        expected = getattr(value, "_where_it_belongs", "a text, a number, a truth, a list or a table")
        raise refused(key, value, expected) from None
    if not -BIGGEST <= number < BIGGEST:
        raise refused(key, value, f"a whole number from {-BIGGEST} to {BIGGEST - 1}")
    return str(number)


def plain(value: Any) -> Any:
    """Returns a truth value or a float of NumPy as Python's, and an array as a list. Anything else stays as it is.

    >>> import numpy as np
    >>> plain(np.float32(0.3)), plain(np.True_)
    (0.3, True)
    """
    if getattr(value, "ndim", 0):
        return list(value)
    kind = getattr(value.dtype, "kind", "")
    return bool(value) if kind == "b" else float(str(value)) if kind == "f" else value


def toml_key(key: Any) -> str:
    """Writes a key in quotes, as it stands before `=`.

    # Errors
    `InputError` where it is no text.
    """
    if not isinstance(key, str):
        raise refused(str(key)[:70], key, "a text as key")
    return text(key, key)


def text(key: str, value: str) -> str:
    """Writes a text. JSON's texts are valid in TOML, except for DEL and lone surrogates."""
    try:
        value.encode()
    except UnicodeEncodeError:
        raise refused(key, ascii(value), "a text in Unicode") from None
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def refused(key: str, value: Any, allowed: str) -> InputError:
    try:
        shown = repr(value)
    except (ValueError, RecursionError):  # A number of thousands of digits, a list in itself.
        shown = f"a {type(value).__name__}"
    shown = shown if len(shown) <= 70 else f"{shown[:70]}..."
    error = InputError(f"{key} = {shown}: expected {allowed}")
    error.key, error.value, error.problem = key, shown, f"expected {allowed}"
    return error
