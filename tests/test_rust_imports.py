"""The modules of each Rust crate need each other in one direction.

A name counts as needed where it is defined, not where it is handed on; what is there for tests only does not count. A
module and those inside it are one, so they may need each other: there is no circle with what it needs of its parts left
out, and none with what they need of it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from conftest import ROOT
from test_imports import circle

CRATES = sorted(path.parent for path in ROOT.glob("crates/*/src/lib.rs"))
NOT_CODE = re.compile(
    r"""//[^\n]*|/\*.*?\*/|b?r(#*)".*?"\1|b?"(?:\\.|[^"\\])*"|b?'(?:\\[^']+|[^'\\])'""",
    re.DOTALL,
)
USE = re.compile(r"(\bpub\b(?:\([^)]*\))?\s+)?\buse\s+([^;]+);")
ITEM = re.compile(r"\b(?:fn|struct|enum|union|trait|type|const|static|macro_rules!)\s+(\w+)")
PATH = re.compile(r"\w+(?:::\w+)+")
Name = tuple[str, ...]


@dataclass
class Module:
    """A file's code without comments, texts, tests and uses."""

    code: str
    #: What it defines.
    items: set[str] = field(default_factory=set)
    #: Path by the name that it has here, for what is handed on as well as used, and for what is only used.
    handed_on: dict[str, Name] = field(default_factory=dict)
    used: dict[str, Name] = field(default_factory=dict)
    #: Modules from which everything is used.
    everything: set[Name] = field(default_factory=set)


class Crate:
    """Modules by their path, `("lib",)` at the top."""

    def __init__(self, source: Path) -> None:
        self.modules: dict[Name, Module] = {}
        files = {name(path.relative_to(source)): path for path in source.rglob("*.rs") if "bin" not in path.parts}
        for at in files:
            self.modules[at] = Module("")
        for at, path in files.items():
            self.modules[at] = self.read(at, path.read_text())

    def read(self, at: Name, text: str) -> Module:
        code = without_tests(NOT_CODE.sub(" ", text))
        module = Module(USE.sub(" ", code), set(ITEM.findall(code)))
        for shared, tree in USE.findall(code):
            for path, alias in leaves(tree):
                full = self.absolute(at, path)
                if full and alias == "*":
                    module.everything.add(full)
                elif full:
                    (module.handed_on if shared else module.used)[alias] = full
        return module

    def absolute(self, at: Name, path: Name) -> Name:
        """From the top of the crate; empty if it leads out of it."""
        if path[0] == "crate":
            return "lib", *path[1:]
        while path[0] in ("self", "super"):
            at, path = at if path[0] == "self" else at[:-1], path[1:]
            if not path or path[0] not in ("self", "super"):
                return at + path
        return at + path if (*at, path[0]) in self.modules else ()

    def home(self, path: Name, seen: frozenset[Name] = frozenset()) -> Name | None:
        """The module that a path leads to, or that defines what it names; `None` if none does."""
        at = max((path[:n] for n in range(1, len(path) + 1) if path[:n] in self.modules), key=len)
        if at == path or path in seen:
            return at if at == path else None
        module, first = self.modules[at], path[len(at)]
        if first in module.items:
            return at
        origin = (module.handed_on | module.used).get(first)
        if origin:
            return self.home(origin, seen | {path})
        found = (self.home((*inside, first), seen | {path}) for inside in sorted(module.everything))
        return next(filter(None, found), None)

    def needs(self, at: Name) -> set[Name]:
        module = self.modules[at]
        words = set(re.findall(r"\w+", module.code))
        paths = {self.absolute(at, tuple(path.split("::"))) for path in PATH.findall(module.code)}
        paths |= set(module.used.values()) | {path for alias, path in module.handed_on.items() if alias in words}
        paths |= {(*inside, word) for inside in module.everything for word in words - module.items}
        return {home for home in map(self.home, paths - {()}) if home} - {at}

    def graph(self) -> dict[str, set[str]]:
        return {"::".join(at): {"::".join(home) for home in self.needs(at)} for at in self.modules}


def circle_of_modules(graph: dict[str, set[str]]) -> list[str]:
    outwards = {at: {home for home in homes if not home.startswith(f"{at}::")} for at, homes in graph.items()}
    inwards = {at: {home for home in homes if not at.startswith(f"{home}::")} for at, homes in graph.items()}
    return circle(outwards) or circle(inwards)


def name(path: Path) -> Name:
    parts = path.with_suffix("").parts
    return ("lib", *(parts[:-1] if parts[-1] in ("lib", "mod") else parts))


def without_tests(code: str) -> str:
    """Without the items under `#[cfg(test)]`, each of which ends with its braces or a semicolon."""
    while (start := code.find("#[cfg(test)]")) >= 0:
        depth = 0
        for end in re.finditer(r"[;{}]", code[start:]):
            depth += {"{": 1, "}": -1, ";": 0}[end[0]]
            if depth == 0:
                break
        code = code[:start] + code[start + end.end() :]
    return code


def leaves(tree: str, above: Name = ()) -> Iterator[tuple[Name, str]]:
    """The paths of a use, each with its name from then on, `*` for everything."""
    path, brace, inside = tree.strip().partition("{")
    if brace:
        above += tuple(part.strip() for part in path.split("::") if part.strip())
        depth, start, inside = 0, 0, inside.rpartition("}")[0] + ","
        for at, letter in enumerate(inside):
            depth += {"{": 1, "}": -1}.get(letter, 0)
            if letter == "," and depth == 0:
                yield from leaves(inside[start:at], above)
                start = at + 1
    elif path:
        path, _, alias = path.partition(" as ")
        parts = above + tuple(part.strip() for part in path.split("::") if part.strip())
        parts = parts[:-1] if len(parts) > 1 and parts[-1] == "self" else parts
        yield (parts[:-1], "*") if parts[-1] == "*" else (parts, alias.strip() or parts[-1])


def test_the_reader_sees_what_a_module_needs() -> None:
    transport = Crate(ROOT / "crates" / "transport" / "src").graph()
    assert transport["lib::tcp::flow"] >= {"lib::tcp::sender", "lib::tcp::params", "lib::flow"}
    assert "lib::tcp::flow" not in transport["lib::tcp"], "what is only handed on is not needed"


@pytest.mark.parametrize("crate", CRATES, ids=lambda path: path.parent.name)
def test_no_module_needs_itself_by_way_of_others(crate: Path) -> None:
    found = circle_of_modules(Crate(crate).graph())
    assert not found, "circle of modules: " + " <- ".join(found)


PLANTED = {
    "of a name": "use crate::page::Page;",
    "in braces": "use crate::{page::{self, Page}, table};",
    "from above": "use super::page::Page;",
    "under another name": "use crate::page::Page as Sheet;",
    "of everything": "use super::page::*;\nfn of(page: Page) {}",
    "without use": "fn of(page: &crate::page::Page) {}",
    "through the front": "use crate::Page;",
    "through the front, of everything": "use crate::*;\nfn of(page: Page) {}",
    "handed on and used": "pub use crate::page::Page;\nfn of(page: &Page) {}",
    "after the tests": "#[cfg(test)]\nmod tests {\n    fn a() { b(); }\n}\nuse crate::page::Page;",
    "in a function": "fn of() {\n    use crate::page::Page;\n}",
}
HARMLESS = {
    "nothing": "",
    "in a comment": "// use crate::page::Page;\n/* crate::page */",
    "in a text": "const A: &str = \"crate::page::Page;\"; const B: char = '\"'; /// crate::page\nfn of<'a>() {}",
    "for tests": "#[cfg(test)]\nmod tests {\n    use crate::page::Page;\n    fn a() { b(); }\n}",
    "of a name not used": "use super::*;\npub struct Table;",
    "handed on": "pub use crate::page::Page;",
}


@pytest.mark.parametrize("planted", [*PLANTED, *HARMLESS])
def test_a_circle_is_found_however_it_is_hidden(tmp_path: Path, planted: str) -> None:
    write(tmp_path, "lib", "mod page;\nmod table;\npub use page::Page;")
    write(tmp_path, "page", "use crate::table::Table;\npub struct Page(Table);")
    write(tmp_path, "table", f"pub struct Table;\n{(PLANTED | HARMLESS)[planted]}")
    found = set(circle_of_modules(Crate(tmp_path).graph()))
    assert found == ({"lib::page", "lib::table"} if planted in PLANTED else set())


@pytest.mark.parametrize("part", ["page/mod", "page"])
def test_a_circle_through_a_part_of_a_module_is_one(tmp_path: Path, part: str) -> None:
    write(tmp_path, "lib", "mod page;\nmod table;")
    write(tmp_path, part, "mod line;\npub struct Page;\nfn of() -> line::Line {}")
    write(tmp_path, "page/line", "use super::Page;\npub struct Line(Page);")
    write(tmp_path, "table", "pub struct Table;")
    assert circle_of_modules(Crate(tmp_path).graph()) == []
    write(tmp_path, "table", "use crate::page::Page;\npub struct Table(Page);")
    write(tmp_path, "page/line", "use crate::table::Table;\npub struct Line(Table);")
    assert {"lib::table", "lib::page::line"} <= set(circle_of_modules(Crate(tmp_path).graph()))


def write(source: Path, module: str, text: str) -> None:
    path = source / f"{module}.rs"
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
