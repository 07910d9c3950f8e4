"""Writes `docs/api.md` from the docstrings: `python tools/apipage.py FILE`."""

from __future__ import annotations

import ast
import functools
import inspect
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import backwater
from backwater.runs.explain import Explained
from backwater.scenario import sizes, topology, units, workload
from backwater.show.plots import Plots

SHOWN = (
    backwater.Experiment,
    backwater.Results,
    backwater.Runs,
    backwater.Run,
    backwater.RateControl,
    backwater.Signals,
    backwater.Set,
    backwater.Hop,
    backwater.Watch,
    backwater.Estimate,
    backwater.Scheme,
    backwater.PublishedExperiment,
    Plots,
    Explained,
    backwater.InputError,
)
FUNCTIONS = (backwater.experiments, backwater.schemes)
MODULES = (topology, workload, sizes, units)
HIDDEN = {"from_arguments", "keep", "making", "runs", "path", "coordinates", "entry", "verified", "keeps"}
"""Members for the command line and for other modules only."""
LINE = 100
"""Longest signature on one line, characters."""
HEAD = """# Python

You can do everything from Python that the command line does. If your input is wrong, you get a `backwater.InputError`.
Tests run each example of this page. In the examples, `fig9.toml` is the scenario of figure 9 of the BFC paper, and
`results` are the results of three schemes.

`make api` generates this page from the docstrings.
"""


def page() -> str:
    parts = [HEAD, inspect.cleandoc(backwater.__doc__ or "").partition("\n")[2].strip("\n")]
    sections = [*map(section, SHOWN), *map(function_section, FUNCTIONS), *map(module_section, MODULES)]
    return "\n".join([*map(fenced, parts), *sections]).rstrip("\n")


def function_section(function: Callable[..., Any]) -> str:
    """Returns the section of a function of the package."""
    name = function.__name__
    return "\n".join([f"\n## backwater.{name}", "", typed(name, function, skipped=0), "", fenced(doc(function))])


def module_section(module: ModuleType) -> str:
    """Returns the section of a public module with its functions."""
    name = module.__name__.rpartition(".")[2]
    lines = [f"\n## backwater.{name}", "", fenced(doc(module))]
    for one in getattr(module, "__all__", ()):
        function = getattr(module, one)
        lines += [f"\n### `{name}.{one}`", "", typed(one, function, skipped=0), "", fenced(doc(function))]
    return "\n".join(lines)


def section(cls: type) -> str:
    """Returns the section of a class with its members and those of its bases in this package."""
    lines = [f"\n## {cls.__name__}", ""]
    if cls in (backwater.Experiment, backwater.Results):
        lines += [typed(cls.__name__, cls.__init__), ""]
    lines.append(fenced(doc(cls)))
    listed = [f"* `{name}: {kind}`" + (told and f". {told}") for name, kind, told in fields(cls)]
    lines += ["", *listed] if listed else []
    for name, member in members(cls):
        lines += [f"\n### {heading(cls.__name__, name, member)}", "", typed(name, member), "", fenced(doc(member))]
    return "\n".join(lines)


def fields(cls: type) -> Iterator[tuple[str, str, str]]:
    """Yields the public attributes that a class declares: name, type, and the text below it."""
    if not cls.__module__.startswith("backwater."):  # It is compiled.
        return
    (tree,) = ast.parse(inspect.getsource(cls)).body
    body = tree.body if isinstance(tree, ast.ClassDef) else []
    for one, following in zip(body, [*body[1:], None], strict=True):
        if not isinstance(one, ast.AnnAssign) or not isinstance(one.target, ast.Name):
            continue
        name = one.target.id
        if name in HIDDEN or name.startswith("_"):
            continue
        written = isinstance(following, ast.Expr) and isinstance(following.value, ast.Constant)
        yield name, ast.unparse(one.annotation), " ".join(str(following.value.value).split()) if written else ""


def members(cls: type) -> Iterator[tuple[str, Any]]:
    """Yields public methods and properties with a docstring, those of a base first."""
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
    """Returns the heading of a member, such as `Results.table(name)`; for a property its name alone."""
    if isinstance(member, property | functools.cached_property):
        return f"`{owner}.{name}`"
    function = member.__func__ if isinstance(member, classmethod) else member
    shown = [
        str(one.replace(annotation=one.empty)) for one in list(inspect.signature(function).parameters.values())[1:]
    ]
    return f"`{owner}.{name}({', '.join(shown)})`"


def typed(name: str, member: Any, skipped: int = 1) -> str:
    """Returns the types of a member: of a property, or of a method's parameters and result."""
    if isinstance(member, property | functools.cached_property):
        getter: Any = member.fget if isinstance(member, property) else member.func
        return f"Type: `{inspect.signature(getter).return_annotation}`"
    signature = inspect.signature(member.__func__ if isinstance(member, classmethod) else member)
    parts: list[str] = []
    marked = False
    for one in list(signature.parameters.values())[skipped:]:
        if one.kind in (one.KEYWORD_ONLY, one.VAR_POSITIONAL) and not marked:
            marked = True
            parts += ["*"] if one.kind is one.KEYWORD_ONLY else []
        stars = "*" if one.kind is one.VAR_POSITIONAL else "**" if one.kind is one.VAR_KEYWORD else ""
        default = "" if one.default is one.empty else f" = {one.default!r}"
        parts.append(f"{stars}{one.name}: {one.annotation}{default}")
        parts += ["/"] if one.kind is one.POSITIONAL_ONLY else []
    result = "" if signature.return_annotation in ("None", signature.empty) else f" -> {signature.return_annotation}"
    line = f"{name}({', '.join(parts)}){result}"
    if len(line) > LINE:
        line = f"{name}(\n" + "".join(f"    {part},\n" for part in parts) + f"){result}"
    return f"```python\n{line}\n```"


def doc(member: Any) -> str:
    return inspect.cleandoc(getattr(member, "__doc__", None) or "")


def fenced(text: str) -> str:
    """Returns a docstring as Markdown: examples become blocks of Python, and the heading of errors one word."""
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
