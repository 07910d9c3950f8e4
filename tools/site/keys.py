"""Reference pages of scenario keys: a page for each table of a scenario, from its JSON schema."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from backwater import _core
from backwater.compute import registry
from cells import cell

Node = dict[str, Any]
FOLDER = "reference/keys"
SCALARS = {"Bytes": "size", "Duration": "time", "BitsPerSec": "rate"}
INDEX = """# Every key

These pages are generated from the JSON schema of scenarios, so they are complete. [Scenario files](../../scenarios.md)
explains the keys, their ranges and how they work together.

*Size*, *time* and *rate* are strings with a unit, such as `"12 MB"`, `"1 us"` and `"100 Gbps"`.

`backwater schema scenario` prints the schema. An editor that knows it completes keys and marks wrong ones.

| table | what |
|---|---|
"""


def pages() -> dict[str, str]:
    """Each page by its place in the site: an index, the keys outside tables, and each table."""
    schema = json.loads(_core.scenario_schema(registry.SCHEMAS))
    # The reference of experiments alone describes these: they mean little without the rules of judging.
    judging = json.loads(_core.claims_schema())["properties"]
    reader = Reader(schema["$defs"])
    top: dict[str, Node] = {}
    made: dict[str, str] = {}
    rows = []
    for name, node in schema["properties"].items():
        if name in judging:
            continue
        title, table = reader.table(name, node)
        if table is None:
            top[name] = node
            continue
        made[f"{FOLDER}/{name}.md"] = "\n".join([f"# `{title}`", "", *reader.section(name, table, node)])
        rows.append(f"| [`{title}`]({name}.md) | {prose(node)} |")
    made[f"{FOLDER}/top.md"] = "\n".join(
        ["# Keys outside tables", "", *reader.rows("", top, schema.get("required", []))]
    )
    judging = "| `[figure]`, `[[expect]]`, `[without]` | [the reference of experiments](../experiments.md) |"
    listed = ["| [outside tables](top.md) | keys of the file itself |", *rows, judging]
    made[f"{FOLDER}/index.md"] = INDEX + "\n".join(listed) + "\n"
    return made


class Reader:
    """Reads a schema whose parts refer to definitions."""

    def __init__(self, definitions: dict[str, Node]) -> None:
        self.definitions = definitions

    def resolved(self, node: Node) -> Node:
        """Without a reference, and without the alternative of being absent."""
        alternatives = node.get("anyOf", [])
        present = [one for one in alternatives if one.get("type") != "null"]
        if len(present) == 1 and len(alternatives) > 1:
            return self.resolved({**present[0], **{k: v for k, v in node.items() if k != "anyOf"}})
        if "$ref" in node:
            return {**self.definitions[name_of(node)], **{k: v for k, v in node.items() if k != "$ref"}}
        return node

    def table(self, name: str, node: Node) -> tuple[str, Node | None]:
        """The heading of a table, `[switch]` or `[[workload]]`, and what it has; None for what is no table."""
        found = self.resolved(node)
        many = found.get("type") == "array"
        inner = self.resolved(found["items"]) if many and "items" in found else found
        kinds = [one for one in inner.get("oneOf", []) if "properties" in one]
        is_table = inner.get("properties") or kinds or (inner.get("type") == "object" and not many)
        return (f"[[{name}]]" if many else f"[{name}]"), inner if is_table else None

    def section(self, name: str, table: Node, node: Node, level: int = 2) -> Iterator[str]:
        """A table: its description, its keys, then the tables in it."""
        yield from (prose(node) or prose(table), "")
        kinds = [one for one in table.get("oneOf", []) if "properties" in one]
        for kind in kinds:
            constant = next((k for k, v in kind["properties"].items() if "const" in v), None)
            words = f'`{constant} = "{kind["properties"][constant]["const"]}"`' if constant else "Form"
            yield from (f"{'#' * level} {words}", "", prose(kind), "")
            keys = {key: one for key, one in kind["properties"].items() if key != constant}
            yield from self.rows(name, keys, kind.get("required", []))
        if not kinds:
            yield from self.rows(name, table.get("properties", {}), table.get("required", []))
        for key, one in table.get("properties", {}).items():
            title, inner = self.table(f"{name}.{key}", one)
            if inner and inner.get("properties"):
                yield from (f"{'#' * level} `{title}`", "")
                yield from self.section(f"{name}.{key}", inner, one, level + 1)

    def rows(self, name: str, keys: dict[str, Node], required: list[str]) -> Iterator[str]:
        """A table of keys, then the words that a key may have."""
        if not keys:
            return
        yield from ("| key | type | default | what |", "|---|---|---|---|")
        for key, node in keys.items():
            default = "required" if key in required else shown(node["default"]) if "default" in node else ""
            _, inner = self.table(key, node)
            if inner and inner.get("properties"):
                default = ""
            yield f"| `{key}` | {cell(self.type(node))} | {cell(default)} | {cell(prose(node))} |"
        yield ""
        for key, node in keys.items():
            found = self.resolved(node)
            words = [one for one in found.get("oneOf", []) if "const" in one]
            if any(prose(one) for one in words):
                yield from (f"**`{name}.{key}`**" if name else f"**`{key}`**", "")
                yield from (f'* `"{one["const"]}"`: {prose(one)}' for one in words)
                yield ""

    def type(self, node: Node) -> str:
        """The type of a value in a few words."""
        if "$ref" in node and name_of(node) in SCALARS:
            return SCALARS[name_of(node)]
        found = self.resolved(node)
        if "anyOf" in node and (present := [one for one in node["anyOf"] if one.get("type") != "null"]):
            return " or ".join(dict.fromkeys(self.type(one) for one in present))
        choices = found.get("oneOf") or found.get("anyOf")
        if choices:
            return ", ".join(dict.fromkeys(self.type(one) for one in choices))
        if "const" in found:
            return f'`"{found["const"]}"`'
        if "enum" in found:
            return ", ".join(f'`"{one}"`' for one in found["enum"])
        kinds = found.get("type", "any")
        kind = next((k for k in kinds if k != "null"), "any") if isinstance(kinds, list) else kinds
        if kind == "array":
            return f"list of {self.type(found['items'])}" if "items" in found else "list"
        if kind == "object":
            inner = found.get("properties", {})
            return f"`{{ {', '.join(inner)} }}`" if 0 < len(inner) <= 4 else "table"
        if kind == "string" and "$ref" in node and prose(self.definitions[name_of(node)]):
            return prose(self.definitions[name_of(node)])
        return {"integer": whole(found), "number": "number", "string": "text", "boolean": "true or false"}.get(
            kind, kind
        )


def whole(node: Node) -> str:
    """A whole number, with its bounds if they say more than the width of an integer."""
    low, high = node.get("minimum"), node.get("maximum")
    widths = {255, 65535, 2**32 - 1, 2**64 - 1}
    if high is not None and high not in widths:
        return f"whole number, {low} to {high}"
    return "whole number"


def name_of(node: Node) -> str:
    return node["$ref"].rpartition("/")[2]


def prose(node: Node) -> str:
    """A description on one line, without references to code and to the specification."""
    text = " ".join(node.get("description", "").split())
    text = re.sub(r"\[`(\w+)`\]", r"`\1`", text)
    return re.sub(r" \((spec|BFC-A|FS-A|BCC-A)[^)]*\)", "", text)


def shown(value: Any) -> str:
    return f"`{json.dumps(value)}`"
