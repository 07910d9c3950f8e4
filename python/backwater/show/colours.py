"""Which colour a variant has: that of its scheme, on every page and in every figure."""

from __future__ import annotations

import re
from collections.abc import Iterable

HOMES = {
    name: slot
    for slot, name in enumerate(
        (
            *("bfc", "dctcp", "ideal-fq", "dcqcn", "hpcc", "expresspass", "flowsail", "pfc"),
            *("bcc", "homa", "ideal-srf", "timely", "ideal-fc", "ecn", "swift", "tcp"),
        )
    )
}
"""Slots of schemes and their families: eight colours, and the same with dashes, dots and both."""


def slots(variants: Iterable[tuple[str, str]]) -> dict[str, int]:
    """A slot for each variant, by its name, from names and schemes; the first of a scheme has the scheme's own."""
    named = dict(variants)
    found: dict[str, int] = {}
    for home in (HOMES.get, family):
        for variant, scheme in named.items():
            slot = home(scheme)
            if variant not in found and slot is not None and slot not in found.values():
                found[variant] = slot
    for variant in named:
        if variant not in found:
            found[variant] = next(slot for slot in range(len(named) + len(HOMES)) if slot not in found.values())
    return {variant: found[variant] for variant in named}


def family(scheme: str) -> int | None:
    """The slot of `bfc` for `bfc-srf` and `bfc+cc`."""
    return HOMES.get(re.split(r"[-+*@]", scheme)[0])
