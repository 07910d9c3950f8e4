"""The package's modules import each other in one direction, whether at once, in a function or for types only."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import backwater
from conftest import ROOT

PACKAGE = Path(backwater.__file__).parent
PLANTED = {
    "in a function": "def draw():\n    from top import page",
    "for types": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import top.page",
    "relative": "from . import page",
    "of a name": "from top.page import draw",
    "through the front": "from top import VERSION",
}


def modules(package: Path) -> dict[str, Path]:
    """Dotted name to file, for what is compiled its `.pyi`; a package goes by its own name."""
    files = [path for path in package.rglob("*.py*") if path.suffix in (".py", ".pyi")]
    names = [".".join(path.relative_to(package.parent).with_suffix("").parts) for path in files]
    return {name.removesuffix(".__init__"): path for name, path in zip(names, files, strict=True)}


def imports(package: Path) -> dict[str, set[str]]:
    """Each module's imports from its package, wherever in its file they stand."""
    files = modules(package)
    graph = {}
    for name, path in files.items():
        inside = name if path.name == "__init__.py" else name.rpartition(".")[0]
        wanted = set(imported(ast.parse(path.read_text()), inside))
        # `from a import b` means the module a.b where there is one, and else a.
        graph[name] = {full if full in files else full.rpartition(".")[0] for full in wanted} & files.keys()
    return graph


def imported(tree: ast.Module, inside: str) -> Iterator[str]:
    """What a module of the package `inside` imports, by full name."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = inside.rsplit(".", node.level - 1)[0] if node.level else ""
            origin = ".".join(filter(None, (above, node.module)))
            yield from (f"{origin}.{alias.name}" for alias in node.names)


def circle(graph: dict[str, set[str]]) -> list[str]:
    """Modules that import each other in a ring, the first named again at the end; empty where none do."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return error.args[1]
    return []


def test_no_module_imports_itself_by_way_of_others() -> None:
    graph = imports(PACKAGE)
    assert graph["backwater.cli.run"] >= {"backwater.experiment", "backwater.hpcc.fct"}, "imports are seen"
    found = circle(graph)
    assert not found, "circle of imports: " + " <- ".join(found)


def test_no_room_imports_itself_by_way_of_others() -> None:
    """A room is a package in ours, or a module that is in none."""

    def room(name: str) -> str:
        return ".".join(name.split(".")[:2])

    graph: dict[str, set[str]] = {}
    for name, wanted in imports(PACKAGE).items():
        graph.setdefault(room(name), set()).update({room(other) for other in wanted} - {room(name)})
    assert graph["backwater.show"] >= {"backwater.judge", "backwater.runs"}, "imports are seen"
    found = circle(graph)
    assert not found, "circle of rooms: " + " <- ".join(found)


FLOORS = (
    {"_core"},
    {"common"},
    {"scenario"},
    {"runs"},
    {"compute"},
    {"deadlock", "hpcc", "lab"},
    {"execute"},
    {"judge"},
    {"show"},
    {"experiment"},
    {"ledger"},
    {"plan"},
    {"tuning"},
    {"mine"},
    {"cli"},
)
"""Parts of the package. Each imports from those before it, and from no other on its own line."""
ENTRANCES = {"__init__", "__main__", "entry"}
"""Modules through which Python and the command line come in."""


def test_each_part_imports_from_those_below_it_only() -> None:
    floor = {part: i for i, parts in enumerate(FLOORS) for part in parts}
    graph = imports(PACKAGE)
    upwards = []
    for name, wanted in graph.items():
        part = name.split(".")[1] if "." in name else "__init__"
        if part in ENTRANCES:
            continue
        for other in wanted - {"backwater"}:
            below = other.split(".")[1]
            if below != part and floor.get(below, -1) >= floor[part]:
                upwards.append(f"{name} imports {other}")
    assert not upwards
    loose = {
        name.split(".")[1] for name in graph if name.count(".") == 1 and modules(PACKAGE)[name].name != "__init__.py"
    }
    assert loose == {"_core", "experiment", "__main__", "entry"}, "every other module is in a part"


def test_what_the_package_imports_is_what_it_declares() -> None:
    """A plain installation has what most commands need, and nothing else. Who needs an extra asks for it."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    plain, *extras = (
        {re.split(r"[<>=]", one)[0].replace("-", "_") for one in wanted}
        for wanted in (project["dependencies"], *project["optional-dependencies"].values())
    )
    trees = [ast.parse(path.read_text()) for path in modules(PACKAGE).values()]
    found = {name.split(".")[0] for tree in trees for name in imported(tree, "backwater")}
    outside = found - sys.stdlib_module_names - {"backwater"}
    asked_for = {call.args[0].value for tree in trees for call in calls(tree, "library")}
    of_extras = set().union(*extras[:-1])
    assert plain <= outside <= plain | of_extras
    assert asked_for == of_extras - {"dask", "dask_jobqueue", "distributed"}, "execute/cluster.py imports these"
    assert of_extras <= extras[-1], "dev is last, and has every extra for the tests"


def calls(tree: ast.Module, function: str) -> Iterator[ast.Call]:
    """Calls of a function by its plain name, with arguments."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == function and node.args:
            yield node


@pytest.mark.parametrize("planted", PLANTED)
def test_a_circle_is_found_however_it_is_hidden(tmp_path: Path, planted: str) -> None:
    top = tmp_path / "top"
    top.mkdir()
    (top / "__init__.py").write_text("from top.page import VERSION")
    (top / "page.py").write_text("from top.results import Results")
    (top / "results.py").write_text("import json")
    assert circle(imports(top)) == []
    (top / "results.py").write_text(PLANTED[planted])
    assert {"top.page", "top.results"} <= set(circle(imports(top)))
