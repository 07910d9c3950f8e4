"""Writes the types and builders of scenarios from their schema: `python tools/builders.py` (or `--check`).

`python/backwater/scenario/typed.py` has a `TypedDict` for every table of a scenario. `builders.py` beside it has a
function for every kind of topology, workload and flow sizes. `--check` compares them with the files and writes nothing.
"""

from __future__ import annotations

import json
import keyword
import re
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

from backwater import _core
from backwater.compute.registry import SCHEMAS

HOME = Path(__file__).parents[1] / "python" / "backwater" / "scenario"
QUANTITIES = {"Bytes": "B", "Duration": "s", "BitsPerSec": "bps"}
"""Definitions of the schema that are text with a unit, with the unit of a plain number."""
BUILT = {"Topology": "", "Workload": "", "Sizes": "sizes_"}
"""Definitions with a builder for each kind, and how the names of these begin."""
LINE = 120

TYPED_HEAD = '''"""The tables of a scenario as types, for editors and type checkers.

Made by tools/builders.py from the schema.
"""

from __future__ import annotations

from typing import Literal, NotRequired, TypedDict

from backwater.common.values import Table
from backwater.scenario.units import BitsPerSec, Bytes, Duration
'''
BUILDERS_HEAD = '''"""A function for every kind of topology, workload and flow sizes.

A rate may be text with a unit, a quantity of `backwater.units`, or a number in bit/s. A size may be a number in bytes,
and a time one in seconds. Made by tools/builders.py from the schema.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from backwater.scenario import typed
from backwater.scenario.units import BitsPerSec, Bytes, Duration, spelled


def given(kind: dict[str, str], **keys: Any) -> Any:
    """Returns the keys of a table that are not None."""
    return kind | {name: value for name, value in keys.items() if value is not None}
'''


class Types:
    """Python's types for the definitions of a schema."""

    def __init__(self, schema: dict[str, Any]) -> None:
        self.defs: dict[str, Any] = schema["$defs"]
        self.lines: dict[str, str] = {}
        for name, one in self.defs.items():
            if name not in QUANTITIES:
                self.define(name, one)
        self.table("Scenario", schema)

    def define(self, name: str, one: dict[str, Any]) -> None:
        """Writes a definition: a table, or an alias of other types."""
        if one.get("type") == "object" and "properties" in one:
            self.table(name, one)
            return
        self.lines[name] = f"{name} = {self.alias(name, one)}\n" + quoted(one.get("description", ""))

    def alias(self, name: str, one: dict[str, Any]) -> str:
        """Returns the type of a definition. Each of its tables becomes a type with a name of its own."""
        literals: list[str] = []
        parts: list[str] = []
        for choice in one.get("oneOf", one.get("anyOf", [one])):
            if "const" in choice:
                literals.append(repr(choice["const"]).replace("'", '"'))
            elif choice.get("type") == "object" and "properties" in choice:
                inner = self.named(name, choice)
                self.table(inner, choice)
                parts.append(inner)
            else:
                parts.append(self.of(choice, name))
        if literals:
            parts.insert(0, f"Literal[{', '.join(literals)}]")
        return " | ".join(dict.fromkeys(parts))

    def named(self, name: str, choice: dict[str, Any]) -> str:
        """Returns the name of one of several tables: by its kind, or by its only key."""
        kind = choice["properties"].get("kind", {}).get("const")
        word = kind or next(iter(choice["required"]), next(iter(choice["properties"])))
        return camel(word) if kind and name == "Topology" else camel(word) + ("" if kind else name)

    def table(self, name: str, one: dict[str, Any]) -> None:
        """Writes a table as a TypedDict."""
        required = set(one.get("required", []))
        keys = {
            key: self.of(inner, name) if key in required else f"NotRequired[{self.of(inner, name)}]"
            for key, inner in one["properties"].items()
        }
        told = one.get("description", "")
        if all(key.isidentifier() and not keyword.iskeyword(key) for key in keys):
            body = "".join(
                f"    {key}: {kind}\n" + textwrap.indent(quoted(one["properties"][key].get("description", "")), "    ")
                for key, kind in keys.items()
            )
            self.lines[name] = f"class {name}(TypedDict):\n" + textwrap.indent(quoted(told), "    ") + "\n" + body
            return
        body = "".join(f'        "{key}": {kind!r},\n' for key, kind in keys.items())
        self.lines[name] = f'{name} = TypedDict(\n    "{name}",\n    {{\n{body}    }},\n)\n' + quoted(told)

    def of(self, one: dict[str, Any] | bool, owner: str) -> str:
        """Returns the type of a value."""
        if isinstance(one, bool):
            return "Value"
        if "$ref" in one:
            return str(one["$ref"].rpartition("/")[2])
        if "const" in one:
            return f'Literal["{one["const"]}"]'
        if "enum" in one:
            return f"Literal[{', '.join(json.dumps(value) for value in one['enum'] if value is not None)}]"
        for several in ("anyOf", "oneOf"):
            if several in one:
                kinds = [self.of(choice, owner) for choice in one[several] if choice != {"type": "null"}]
                return " | ".join(dict.fromkeys(kinds)) or "Value"
        if "allOf" in one:
            return self.of(one["allOf"][0], owner)
        kinds = one.get("type", "any")
        names = [kinds] if isinstance(kinds, str) else kinds
        return " | ".join(self.plain(kind, one, owner) for kind in names if kind != "null") or "Value"

    def plain(self, kind: str, one: dict[str, Any], owner: str) -> str:
        if kind == "array":
            inner = [self.of(part, owner) for part in one.get("prefixItems", [one.get("items", True)])]
            return f"list[{' | '.join(dict.fromkeys(inner))}]"
        if kind == "object":
            inner = self.of(one.get("additionalProperties", True), owner)
            return "Table" if inner == "Value" else f"dict[str, {inner}]"
        return {"string": "str", "integer": "int", "number": "float", "boolean": "bool"}.get(kind, "Value")


def builders(schema: dict[str, Any], types: Types) -> str:
    """Returns a function for each kind of each definition in `BUILT`."""
    parts = []
    for owner, prefix in BUILT.items():
        for choice in schema["$defs"][owner]["oneOf"]:
            parts.append(builder(owner, prefix, choice, types))
    return BUILDERS_HEAD + "\n\n" + "\n\n".join(parts)


def builder(owner: str, prefix: str, choice: dict[str, Any], types: Types) -> str:
    keys = {key: inner for key, inner in choice["properties"].items() if key not in ("kind", "rows", "ids")}
    kind = choice["properties"].get("kind", {}).get("const")
    required = [key for key in keys if key in choice["required"]]
    name = prefix + (kind or next(iter(keys))).replace("-", "_")
    order = [*required, *(key for key in keys if key not in required)]
    parameters, passed, told = [], [], []
    alone = len(keys) == 1
    for key in order:
        shown = f"{key}_" if keyword.iskeyword(key) else key
        kinds = " | ".join(
            f"typed.{part}" if part in types.lines else part for part in types.of(keys[key], owner).split(" | ")
        ).replace("list[", "Sequence[")
        kinds = re.sub(r"\[([A-Z]\w+)\]", lambda m: f"[typed.{m[1]}]" if m[1] in types.lines else m[0], kinds)
        parameters.append(f"{shown}: {kinds}" + ("" if key in required else " | None = None"))
        unit = QUANTITIES.get(types.of(keys[key], owner))
        if types.of(keys[key], owner) == "list[Bytes]":
            value = f'[spelled(one, "B") for one in {shown}]'
        elif kinds.startswith("Sequence["):
            value = f"list({shown})" if key in required else f"None if {shown} is None else list({shown})"
        else:
            value = f'spelled({shown}, "{unit}")' if unit else shown
        passed.append(f'"{key}": {value}')
        if text := keys[key].get("description", ""):
            told.append(f"* `{shown}`: {' '.join(text.split())}")
    star = "" if alone else "*, "
    result = f"typed.{types.named(owner, choice)}"
    fixed = f'{{"kind": "{kind}"}}' if kind else "{}"
    described = " ".join(choice.get("description", "").split())
    doc = described + ("" if alone or not told else "\n\n" + "\n".join(told) + "\n")
    body = f"    return given({fixed}, **{{{', '.join(passed)}}})\n"
    return f"def {name}({star}{', '.join(parameters)}) -> {result}:\n{textwrap.indent(quoted(doc), '    ')}{body}"


def camel(word: str) -> str:
    return "".join(part.capitalize() for part in re.split(r"[-_]", word))


def quoted(text: str) -> str:
    """Returns a docstring, with lines that are not too long."""
    if not text:
        return ""
    text = re.sub(r"\[(`[^`]*`)\]", r"\1", text)
    text = re.sub(r'"([^"]*)"', r"`\1`", text) if "`" not in text else text.replace('"', "'")
    lines = []
    for line in text.split("\n"):
        indent = "  " if line.startswith("* ") else ""
        lines += textwrap.wrap(line, LINE - 12, subsequent_indent=indent) or [""]
    joined = "\n".join(lines).replace("\\", "\\\\").rstrip("\n")
    end = "\n" if len(lines) > 1 else ""
    return f'"""{joined}{end}"""\n'


def formatted(text: str) -> str:
    """Formats Python as the rest of the code."""
    ruff = Path(sys.executable).parent / "ruff"
    made = subprocess.run([ruff, "format", "-"], input=text, stdout=subprocess.PIPE, text=True, check=True)
    return made.stdout


def in_order(lines: dict[str, str]) -> list[str]:
    """Returns the definitions: tables first, and each alias after those that it names."""
    done = {name: text for name, text in lines.items() if not text.startswith(f"{name} = ") or "TypedDict(" in text}
    left = {name: text for name, text in lines.items() if name not in done}
    while left:
        ready = [
            name
            for name, text in left.items()
            if not set(re.findall(r"\b[A-Z]\w+", text.partition("\n")[0].partition(" = ")[2])) & (left.keys() - {name})
        ]
        done |= {name: left.pop(name) for name in ready}
    return list(done.values())


def files() -> dict[Path, str]:
    schema = json.loads(_core.scenario_schema(SCHEMAS))
    types = Types(schema)
    typed = TYPED_HEAD + "\n" + "\n\n".join(in_order(types.lines))
    return {HOME / "typed.py": formatted(typed), HOME / "builders.py": formatted(builders(schema, types))}


def main(check: bool) -> int:
    changed = [path for path, text in files().items() if not path.exists() or path.read_text() != text]
    if not check:
        for path, text in files().items():
            path.write_text(text)
        return 0
    for path in changed:
        print(f"{path}: is not what tools/builders.py makes of the schema")
    return 1 if changed else 0


if __name__ == "__main__":
    sys.exit(main("--check" in sys.argv))
