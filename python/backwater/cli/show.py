"""`backwater show`: one experiment, scheme, workload or chip."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from backwater import _core
from backwater._core import InputError
from backwater.cli.later import when_used
from backwater.cli.options import Json
from backwater.common import suggest
from backwater.scenario import experiments

if TYPE_CHECKING:
    from backwater.cli.lists import Row

with when_used():
    from backwater import experiment as api
    from backwater.cli import lists, printing, terminal
    from backwater.scenario import chips
    from backwater.show import series


def show(
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="Name an experiment, a scheme, a table of flow sizes or a chip.")
    ],
    as_json: Json = False,
) -> None:
    """Print an experiment, scheme, workload or chip.

    For an experiment it prints the scenario file, which you can save, change and run.

    Examples:
        backwater show bfc-fig9 > mine.toml
        backwater show dcqcn
        backwater show google_rpc --json
    """
    if name in experiments.known() or name not in facts():
        identifier = found_experiment(name)
        text = experiments.text(identifier)
        printing.print_json({"name": identifier, "scenario": text}) if as_json else print(text, end="")
        return
    found = facts()[name]
    if name in {one["name"] for one in lists.known_schemes()}:
        found = {**found, **preset(name)}
    if as_json:
        printing.print_json(found)
        return
    table = terminal.Table(box=None, pad_edge=False, show_header=False)
    for key, value in series.flat(found).items():
        table.add_row(key, value)
    terminal.out.print(table)


def facts() -> dict[str, Row]:
    """Returns schemes, size tables and chips by name."""
    return {
        **{
            one["name"]: {key: one[key] for key in ("name", "title", "summary", "source")}
            for one in lists.known_schemes()
        },
        **{table: lists.workload(table) for table in _core.size_tables()},
        **chips.chips(),
    }


def preset(scheme: str) -> dict[str, object]:
    """Returns the values that a scheme sets for switches and hosts, on one switch of 100 Gbps ports."""
    source = {
        "scheme": scheme,
        "topology": {"kind": "single-switch", "hosts": 4, "rate": "100 Gbps", "delay": "1 us"},
        "workload": [{"kind": "background", "sizes": {"fixed": "10 KB"}, "load": 0.5, "load_of": "receivers"}],
        "run": {"duration": "100 us"},
    }
    (resolved,) = api.Experiment(source).scenarios.values()
    return {"switch": resolved["switch"], "host": resolved["host"]}


def found_experiment(name: str) -> str:
    """Returns the full name of one experiment, such as `bfc-fig9` for `fig9`.

    # Errors
    `InputError` with the nearest name, where there is none or there are several.
    """
    try:
        found = list(experiments.find(name))
    except InputError:
        hint = suggest.hint(name, [*experiments.known(), *facts()])
        listed = "`backwater list experiments|schemes|workloads|chips` lists the names"
        raise InputError(f"show {name}: no such name; {hint}{listed}") from None
    if len(found) > 1:
        raise InputError(f"show {name}: these are {len(found)} experiments: expected one, such as {found[0]}")
    return found[0]
