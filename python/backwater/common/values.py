"""What a file of TOML or JSON may hold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

Value: TypeAlias = "str | float | Sequence[Value] | Mapping[str, Value] | None"
"""A value of TOML or JSON. Whoever reads it has to ask which kind it is."""
Table: TypeAlias = "Mapping[str, Value]"
Swept: TypeAlias = "str | float"
"""A value of a swept key: text, a number or a truth value."""
