"""Finds the published experiments, which are part of the package, and says where each comes from.

An experiment is a scenario, `PAPER/NAME.toml`. `NAME.claims.toml` beside it says what its results should show. The name
`PAPER-NAME` stands for it from any directory. For a command that lists or prints experiments: `known` gives names and
paths, `about` gives title, paper and section, and `text` gives a scenario to copy.
"""

from __future__ import annotations

import os
import re
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import TypedDict, cast

from backwater._core import InputError
from backwater.common import suggest
from backwater.scenario.claims import Figure
from backwater.scenario.toml_text import toml_key, toml_value

CLAIMS = ".claims.toml"
"""Ending of a claims file."""
PROGRAMS = ".programs.toml"
"""Ending of a file with programs for the hosts of a lab."""
UNCLAIMED = ("smoke", "lab")
"""Folders whose experiments are of no paper, and are not judged."""
PAPERS = ("bfc", "flowsail", "bcc")
"""In this order: a figure's number alone is that of the first that has it."""
TITLES = {
    "bfc": "BFC",
    "flowsail": "FlowSail",
    "bcc": "BCC",
    "fidelity": "Fidelity",
    "collectives": "Collectives",
    "ai": "Training jobs",
    "deadlock": "Deadlock",
}
PREFIXES = {"bfc": "bfc", "flowsail": "fs", "bcc": "bcc"}
"""How the ids of a paper's claims begin, which name its figures too: `fs-fig11` is `flowsail-fig11`."""
ALL = "all"
LISTED = "`backwater list experiments` lists them"


def root() -> Path:
    """Returns the directory of the published experiments, which has a directory for each paper."""
    root = Path(__file__).parent.parent / "experiments"
    if not root.is_dir():
        raise InputError(f"{root}: the published experiments are not there")
    return root


def known() -> dict[str, Path]:
    """Returns the scenario file of each experiment by its name `PAPER-NAME`, sorted.

    Files of claims and of programs are not listed.
    """
    files = [path for path in root().glob("*/*.toml") if not path.name.endswith((CLAIMS, PROGRAMS))]
    return {f"{path.parent.name}-{path.stem}": path for path in sorted(files, key=in_order)}


class Source(TypedDict, total=False):
    """The publication that a scenario is taken from."""

    paper: str
    doi: str
    url: str
    section: str


class OwnKeys(TypedDict, total=False):
    """Keys of a scenario file that say what it shows."""

    description: str
    source: Source
    figure: Figure


@dataclass(frozen=True)
class PublishedExperiment:
    """An experiment, and the publication that it is taken from. A text is empty if the experiment does not have it."""

    name: str
    """Such as `bfc-fig9`."""
    path: Path
    title: str
    """What the figure or table shows."""
    figure: str
    """Number of the figure, such as `9`, or what else the experiment shows: `table 1`, `section 4`."""
    paper: str
    """Title of the paper, authors, where and when it appeared; empty for experiments of no paper."""
    doi: str
    """Digital object identifier, such as `10.1109/TNET.2024.3406613`."""
    url: str
    """Address of the paper: `https://doi.org/` and its identifier, or its own address."""
    section: str
    """Section of the paper."""


def about(name: str) -> PublishedExperiment:
    """Says what the experiment `name`, one of `known()`, shows and where it comes from.

    # Errors
    `KeyError` if there is no such experiment.
    """
    path = known()[name]
    keys = own_keys(path)
    source: Source = keys.get("source", {})
    figure: Figure = keys.get("figure", {})
    doi = source.get("doi", "")
    url = f"https://doi.org/{doi}" if doi else source.get("url", "")
    title = figure.get("title") or keys.get("description", "")
    section = source.get("section", "")
    return PublishedExperiment(name, path, title, figure.get("number", ""), source.get("paper", ""), doi, url, section)


def experiments() -> list[PublishedExperiment]:
    """Returns every experiment that comes with the package. `Experiment` takes its name.

    >>> import backwater
    >>> [one.section for one in backwater.experiments() if one.name == "bfc-fig9"]
    ['6.2.2']
    """
    return [about(name) for name in known()]


def text(name: str) -> str:
    """Scenario file of the experiment `name`, one of `known()`, as text that can be copied to any directory.

    If it extends another file, the text names that file by its full path.

    # Errors
    `KeyError` if there is no such experiment.
    """
    path = known()[name]

    def extends(match: re.Match[str]) -> str:
        return toml_key("extends") + " = " + toml_value(str((path.parent / match[1]).resolve()), "extends")

    return re.sub(r'^extends = "([^"]*)"$', extends, path.read_text(encoding="utf-8"), flags=re.MULTILINE)


def own_keys(path: Path) -> OwnKeys:
    """Returns the keys of a scenario file and of its claims file, but not of the files that it extends."""
    keys = cast(OwnKeys, tomllib.loads(path.read_text(encoding="utf-8")))
    claims = path.with_suffix(CLAIMS)
    if not claims.is_file():
        return keys
    more = cast(OwnKeys, tomllib.loads(claims.read_text(encoding="utf-8")))
    figure: Figure = {**keys.get("figure", {}), **more.get("figure", {})}
    return {**keys, **more, "figure": figure}


def locate(source: str | os.PathLike[str]) -> Path:
    """Path of a scenario: a file, or a published experiment by its name, such as `bfc-fig9`, `fs-fig11` or `fig9`.

    A file of that name comes first. A name that is neither is returned as a path if it looks like one: if it has an
    ending or a directory.

    # Errors
    `InputError` for any other name, with the closest one.
    """
    found = locate_all(source)
    if len(found) > 1:
        raise InputError(f"{source}: these are {len(found)} experiments: expected one, such as {next(iter(found))}")
    return next(iter(found.values()))


def locate_all(source: str | os.PathLike[str]) -> dict[str, Path]:
    """Scenarios that a name stands for, by their names: one as in `locate`, or all of a paper for `bcc`, or `all`.

    # Errors
    As `locate`.
    """
    path = Path(source)
    if path.is_file() or path.suffix or len(path.parts) != 1:
        return {str(path): path}
    try:
        found = find(str(path))
    except InputError:
        if path.exists():
            return {str(path): path}
        raise InputError(f"{path}: no such file or published experiment; {hint(str(path))}{LISTED}") from None
    return found if len(found) > 1 else {str(path): next(iter(found.values()))}


def paper_of(name: str) -> str:
    """Returns the paper of an experiment: `flowsail` for `flowsail-fig11`."""
    return name.partition("-")[0]


def find(identifier: str) -> dict[str, Path]:
    """`bfc-fig9`, `fig9` for short, or `bfc` for all of a paper, `fs` for `flowsail`, or `all`; as in `known`.

    Where several papers have a figure, its number alone is that of the first in `PAPERS`.

    # Errors
    `InputError` with the closest names.
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
        raise InputError(f"{identifier}: no such experiment or paper; {hint(identifier)}{LISTED}")
    return figure


def hint(identifier: str) -> str:
    """Returns the experiments and papers with the closest names as a question, or nothing if none is close."""
    everything = known()
    papers = dict.fromkeys(path.parent.name for path in everything.values())
    if "-" not in identifier:  # `fig99` may mean any paper's `fig9`.
        everything |= {path.stem: path for path in everything.values()}
    return suggest.hint(identifier, [*everything, *papers])


def in_order(path: Path) -> tuple[str, str, int, str]:
    """Returns a key that sorts fig2a before fig2b before fig10."""
    word, number, part = re.match(r"(\D*)(\d*)(.*)", path.stem).groups()  # type: ignore[union-attr]
    return path.parent.name, word, int(number or 0), part
