"""Finds the published experiments, which the package carries."""

from __future__ import annotations

import difflib
import re
from pathlib import Path

from backwater._core import InputError

PAPERS = ("bfc", "flowsail", "bcc")
"""In this order: a figure's number alone is that of the first that has it."""
TITLES = {
    "bfc": "BFC",
    "flowsail": "FlowSail",
    "bcc": "BCC",
    "fidelity": "Fidelity",
    "collectives": "Collectives",
    "deadlock": "Deadlock",
}
PREFIXES = {"bfc": "bfc", "flowsail": "fs", "bcc": "bcc"}
"""How the ids of a paper's claims begin, which name its figures too: `fs-fig11` is `flowsail-fig11`."""
ALL = "all"


def root() -> Path:
    """The directory with one directory a paper."""
    root = Path(__file__).parent / "experiments"
    if not root.is_dir():
        raise InputError(f"{root}: the published experiments are not there")
    return root


def known() -> dict[str, Path]:
    """`paper-figure` to its file, in order of name."""
    return {f"{path.parent.name}-{path.stem}": path for path in sorted(root().glob("*/*.toml"), key=in_order)}


def paper_of(name: str) -> str:
    """The directory of an experiment, `flowsail` for `flowsail-fig11`."""
    return name.partition("-")[0]


def find(identifier: str) -> dict[str, Path]:
    """`bfc-fig9`, `fig9` for short, or `bfc` for all of a paper, `fs` for `flowsail`, or `all`; as in `known`.

    Where several papers have a figure, its number alone is that of the first in `PAPERS`.

    # Errors
    `InputError` with what there is.
    """
    everything = known()
    if identifier == ALL:
        return {name: path for paper in TITLES for name, path in everything.items() if path.parent.name == paper}
    prefix, dash, figure_name = identifier.partition("-")
    identifier = {short: paper for paper, short in PREFIXES.items()}.get(prefix, prefix) + dash + figure_name
    if identifier in everything:
        return {identifier: everything[identifier]}
    if paper := {name: path for name, path in everything.items() if path.parent.name == identifier}:
        return paper
    figure = {name: path for name, path in everything.items() if path.stem == identifier}
    for name in (f"{first}-{identifier}" for first in PAPERS):
        if len(figure) > 1 and name in figure:
            figure = {name: figure[name]}
    if not figure:
        stems = [path.stem for path in everything.values()]
        close = difflib.get_close_matches(identifier, [*everything, *stems], 1)
        hint = f"did you mean {close[0]}? " if close else ""
        raise InputError(f"reproduce {identifier}: no such experiment; {hint}there is {', '.join(everything)}")
    return figure


def in_order(path: Path) -> tuple[str, str, int, str]:
    """fig2a before fig2b before fig10."""
    word, number, part = re.match(r"(\D*)(\d*)(.*)", path.stem).groups()  # type: ignore[union-attr]
    return path.parent.name, word, int(number or 0), part
