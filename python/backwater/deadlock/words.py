"""The result of a deadlock search as text, and as a scenario."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from rich.table import Table

from backwater._core import InputError
from backwater.common.quantities import some
from backwater.deadlock.search import Deadlock, Elision, Turn, Waits
from backwater.scenario.toml_text import toml_value

if TYPE_CHECKING:
    from backwater.scenario.typed import Scenario

SHOWN = 12
"""Most turns, or ports of a cycle, that are listed."""
SCHEMES = {"bfc": "BFC", "flowsail": "FlowSail", "pfc": "PFC"}
"""Usual spelling of backpressures."""
WHAT = {
    "0": "routes of the scenario",
    "1": "routes with any one link between switches failed",
    "2": "routes with any one or two links between switches failed",
    "all": "every physically possible turn, except back to where packets came from",
}


def told(found: Deadlock) -> Iterator[str | Table]:
    """Returns lines of text and the table of turns to elide."""
    pausing = f"{found.ports:,} egress ports, {found.turns:,} turns, {found.pausing:,} with backpressure"
    yield f"  {WHAT[found.failures]}: {pausing}" + (f", {found.elided:,} elided" if found.elided else "")
    if found.is_acyclic:
        yield "  ACYCLIC: no port can wait for itself through others, so no deadlock can happen"
        return
    among = some(sum(found.components), "port")
    yield f"  CYCLIC: {among} can wait for one another" + (
        f", in {len(found.components):,} components" if len(found.components) > 1 else ""
    )
    if not found.alone and any(wait.failed for wait in found.circle):
        yield "  no single state of the links that was tried has this cycle, but several in a row can cause it"
    for wait in found.circle[:SHOWN]:
        yield f"    {waiting(wait)}"
    if len(found.circle) > SHOWN:
        yield f"    and so on, {len(found.circle) - SHOWN:,} more, back to the first"
    if found.elision is None:
        holding = sorted({scheme(wait.turn) for wait in found.circle if wait.turn.table is None})
        yield f"  no elision breaks it: {' and '.join(holding) or 'PFC'} stops a port for every egress"
        return
    yield from elided(found.elision)


def waiting(wait: Waits) -> str:
    turn = wait.turn
    why = f"{scheme(turn)}, packets to {wait.towards or 'any'}"
    if wait.changing:
        why += " under way while routes change"
    if wait.failed:
        why += f" with {' and '.join('-'.join(link) for link in wait.failed)} failed"
    return f"{turn.start} -> {turn.switch} waits for {turn.switch} -> {turn.end} ({why})"


def scheme(turn: Turn) -> str:
    return SCHEMES.get(turn.by, turn.by)


def elided(elision: Elision) -> Iterator[str | Table]:
    count = len(elision.turns)
    proven = "fewer are not enough" if elision.is_smallest else f"at least {elision.bound:,} are needed"
    yield f"  without backpressure on {some(count, 'turn')} there is no cycle; {proven}"
    yield f"  {share(elision)}"
    table = Table(box=None, pad_edge=True)
    for heading in ("   from", "switch", "to", "pairs of hosts"):
        table.add_column(heading, justify="right" if heading.startswith("pairs") else "left")
    for turn in elision.turns[:SHOWN]:
        table.add_row(f"   {turn.start}", turn.switch, turn.end, percent(turn.share))
    yield table
    if count > SHOWN:
        yield f"    and {count - SHOWN:,} more: --out FILE and --json have them all"
        return
    for (region, name), turns in elision.tables().items():
        yield f"  [switch.{name}]" if region is None else f"  # in [[region]] {region}: its table switch.{name}"
        yield f"  elide = {toml_value(turns)}"


def share(elision: Elision) -> str:
    if elision.share:
        return f"{percent(elision.share)} of the pairs of hosts use these turns"
    return "no pair of hosts uses these turns while all links are up"


def percent(share: float) -> str:
    return f"{100 * share:.3g} %"


def scenario_text(base: Path, command: str, scenarios: list[Scenario], found: list[Deadlock], place: Path) -> str:
    """Returns the text of a scenario at `place` that extends `base` and elides the turns.

    # Errors
    `InputError` if no such table works for all runs.
    """
    both = zip(scenarios, found, strict=True)
    tables = [(scenario, one.elision) for scenario, one in both if one.elision is not None]
    if not tables:
        raise InputError(f"--out {place}: {base} has no turn to elide")
    first, elision = tables[0]
    for scenario, other in tables[1:]:
        if scenario["topology"] != first["topology"] or not agree(elision, other):
            raise InputError(
                f"--out {place}: the runs of {base} need different turns elided: expected --set variant=NAME, or "
                "other settings that select runs with the same turns"
            )
    own: dict[str, list[list[str]]] = {}
    regions = [cast(dict[str, Any], dict(region)) for region in first.get("region", [])]
    changed = False
    for _, one in tables:
        for (region, table), turns in one.tables().items():
            if region is None or regions[region]["scheme"] == first["scheme"]:
                merged = own.setdefault(table, [])
                merged += [turn for turn in turns if turn not in merged]
            if region is not None:
                switch = regions[region]["switch"]
                regions[region]["switch"] = switch | {table: switch[table] | {"elide": turns}}
                changed = changed or regions[region]["scheme"] != first["scheme"] or bool(one.before)
    lines = [f"# {command}", f"extends = {toml_value(os.path.relpath(base, place.parent))}"]
    if changed:
        lines += ["region = [", *(f"    {toml_value(region)}," for region in regions), "]"]
    for table, turns in own.items():
        lines += ["", f"[switch.{table}]", "elide = [", *(f"    {toml_value(turn)}," for turn in turns), "]"]
    return "\n".join(lines) + "\n"


def agree(one: Elision, other: Elision) -> bool:
    """Returns whether both elide the same turns in the tables that both have."""
    ours, theirs = one.tables(), other.tables()
    return all(ours[key] == theirs[key] for key in ours.keys() & theirs.keys())


def key(found: Deadlock) -> tuple[Any, ...]:
    """Returns a key that is equal for runs with the same text."""
    turns: tuple[Turn, ...] = tuple(found.elision.turns) if found.elision else ()
    return (found.ports, found.turns, found.pausing, found.elided, tuple(found.components), turns, str(found.circle))
