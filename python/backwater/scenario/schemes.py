"""The schemes that a scenario can name."""

from __future__ import annotations

import json
from dataclasses import dataclass

from backwater import _core


@dataclass(frozen=True)
class Scheme:
    """A preset: what `scheme = "bfc"` stands for."""

    name: str
    """Name in a scenario."""
    title: str
    """Name in figures."""
    summary: str
    """One or two sentences on the scheme."""
    source: str
    """The publication that it follows."""


def schemes() -> list[Scheme]:
    """Returns every scheme that a scenario can name.

    >>> import backwater
    >>> "bfc" in [scheme.name for scheme in backwater.schemes()]
    True
    """
    return [
        Scheme(*(one[key] for key in ("name", "title", "summary", "source"))) for one in json.loads(_core.schemes())
    ]
