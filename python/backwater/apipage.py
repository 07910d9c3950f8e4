"""`docs/api.md`, from the docstrings: `python -m backwater.apipage FILE`."""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import backwater
from backwater.explain import Explained
from backwater.show.plots import Plots

SHOWN = (backwater.Experiment, backwater.Results, backwater.Run, Plots, Explained, backwater.InputError)
HIDDEN = {"from_arguments", "making"}
"""What the command line needs of them, and nobody else."""
HEAD = """# Python

Everything that the command line does, from Python; an error of the caller's is a `backwater.InputError`. Each example
here is run by the tests, where `fig9.toml` is the scenario of BFC's figure 9 and `results` are of three schemes.

This page is drawn from the docstrings by `make api`.
"""


def page() -> str:
    parts = [HEAD, inspect.cleandoc(backwater.__doc__ or "").partition("\n")[2].strip("\n")]
    return "\n".join([*map(fenced, parts), *(section(cls) for cls in SHOWN)])


def section(cls: type) -> str:
    """A class, and what it has that is its own or its base's here."""
    lines = [f"\n## {cls.__name__}", "", fenced(doc(cls))]
    for name, member in members(cls):
        lines += [f"\n### {heading(cls.__name__, name, member)}", "", fenced(doc(member))]
    return "\n".join(lines)


def members(cls: type) -> Iterator[tuple[str, Any]]:
    """Public methods and properties with a docstring, those of a base first."""
    ours = [base for base in reversed(cls.__mro__) if base.__module__.startswith("backwater")]
    found = {name: member for base in ours for name, member in vars(base).items() if not name.startswith("_")}
    for name, member in found.items():
        if (
            name not in HIDDEN
            and doc(member)
            and (callable(member) or isinstance(member, property | functools.cached_property | classmethod))
        ):
            yield name, member


def heading(owner: str, name: str, member: Any) -> str:
    """`results.table(name)`, and a property by its name alone."""
    if isinstance(member, property | functools.cached_property):
        return f"`{owner}.{name}`"
    function = member.__func__ if isinstance(member, classmethod) else member
    shown = [
        str(one.replace(annotation=one.empty)) for one in list(inspect.signature(function).parameters.values())[1:]
    ]
    return f"`{owner}.{name}({', '.join(shown)})`"


def doc(member: Any) -> str:
    return inspect.cleandoc(getattr(member, "__doc__", None) or "")


def fenced(text: str) -> str:
    """Examples as blocks of Python, the heading of errors as one word."""
    lines: list[str] = []
    inside = False
    for line in text.replace("# Errors\n", "**Errors:** ").split("\n"):
        begins = line.startswith(">>>")
        if begins and not inside:
            lines += ["```python", line]
            inside = True
        elif inside and not line:
            lines += ["```", ""]
            inside = False
        else:
            lines.append(line)
    return "\n".join([*lines, *(["```"] if inside else [])])


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(page() + "\n", encoding="utf-8")
