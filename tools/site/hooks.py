"""What the site has beside `docs/`: documents from elsewhere in the repository, generated pages, scenario files.

MkDocs calls `on_files`, `on_page_markdown` and `on_page_content` (www.mkdocs.org/dev-guide/plugins/#events). Links stay
as they are in the repository, where people read them too. Here they are turned to the page that the site has of a file.
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

import columns  # MkDocs looks beside its hook.
import commands
import gallery
import keys

ROOT = Path(__file__).parents[2]

OUTSIDE = {
    "ARCHITECTURE.md": "development/architecture.md",
    "CONTRIBUTING.md": "development/contributing.md",
    "CHANGELOG.md": "development/changelog.md",
    "experiments/README.md": "reference/experiments.md",
    "data/workloads/README.md": "reference/flow-sizes.md",
}
"""Documents outside `docs/`, and their pages."""
SCENARIOS = ("examples", "experiments")
"""Folders whose scenario files the site has as they are, to look at and to save."""
LINK = re.compile(r"(?<!!)\[(?P<text>[^\]]*)\]\((?P<target>[^)\s#:]+)(?P<anchor>#[^)\s]*)?\)")
TABLE = re.compile(r"<table>.*?</table>", re.DOTALL)
HEADING, ROW = re.compile(r"<th\b[^>]*>(.*?)</th>", re.DOTALL), re.compile(r"<tr>.*?</tr>", re.DOTALL)
CELL = re.compile(r"<td\b")
WIDE = 3
"""Columns from which on a table does not fit a phone."""
FENCE = re.compile(r"^( *```.*?^ *```$)", re.MULTILINE | re.DOTALL)


def on_files(files: Files, config: Any) -> Files:
    for source, page in OUTSIDE.items():
        files.append(File.generated(config, page, content=(ROOT / source).read_text(encoding="utf-8")))
    for page, text in generated().items():
        files.append(File.generated(config, page, content=text))
    for folder in SCENARIOS:
        for path in sorted((ROOT / folder).rglob("*.toml")):
            files.append(File.generated(config, path.relative_to(ROOT).as_posix(), abs_src_path=str(path)))
    return files


def generated() -> dict[str, str]:
    """Pages that are made from the schema, the tables, the commands and the ledger."""
    return {**keys.pages(), **columns.pages(), **commands.pages(), **gallery.pages()}


def on_page_markdown(markdown: str, page: Any, files: Files, **_: Any) -> str:
    """The text with links as the site needs them."""
    uri = page.file.src_uri
    if uri.startswith("results/"):
        page.meta["search"] = {"boost": 0.3}  # Hundreds of claims would hide the pages that explain.
    source = {page: source for source, page in OUTSIDE.items()}.get(uri, f"docs/{uri}")
    parts = FENCE.split(markdown)
    return "".join(part if i % 2 else relinked(part, source, uri, files) for i, part in enumerate(parts))


def relinked(text: str, source: str, uri: str, files: Files) -> str:
    """Links of a file of the repository, `source`, as links of the page `uri`."""

    def turned(link: re.Match[str]) -> str:
        target = posixpath.normpath(posixpath.join(posixpath.dirname(source), link["target"]))
        on_site = OUTSIDE.get(target, target.removeprefix("docs/"))
        if files.get_file_from_path(on_site):
            return f"[{link['text']}]({posixpath.relpath(on_site, posixpath.dirname(uri))}{link['anchor'] or ''})"
        if (ROOT / target).exists():  # A file of the repository that the site does not have: name it.
            return link["text"] if target in link["text"] else f"{link['text']} (`{target}`)"
        return link[0]  # MkDocs reports it.

    return LINK.sub(turned, text)


def on_page_content(html: str, **_: Any) -> str:
    """The page with the columns' names in the cells of wide tables: on a phone each row is a card (`site.css`)."""
    return TABLE.sub(lambda table: named(table[0]), html)


def named(table: str) -> str:
    names = [re.sub(r"<[^>]+>", "", heading) for heading in HEADING.findall(table)]
    if len(names) < WIDE:
        return table

    def row(match: re.Match[str]) -> str:
        left = iter(names)
        return CELL.sub(lambda cell: f'{cell[0]} data-name="{next(left, "")}"', match[0])

    return ROW.sub(row, table).replace("<table>", "<table data-wide>", 1)
