"""The gallery: every published figure with our numbers beside the published ones, and the command that makes it."""

from __future__ import annotations

from pathlib import Path

import ledger_pages
from backwater.ledger import book as ledger
from backwater.scenario import experiments
from cells import cell

ROOT = Path(__file__).parents[2]
PICTURES = "assets/figures/gallery"
HEAD = """# Gallery: {title}

Each figure of the paper that we run, with the published numbers beside ours. The command prints the same numbers, and
draws the figure in `report.html`. [Results](../results/{paper}.md) has the reasons for each difference.
"""
INDEX = """# Gallery

Every published figure that Backwater runs has a command: `backwater reproduce bfc-fig9`. A run has one of three scales:

* `--scale smoke` takes seconds, for a first look.
* `--scale quick` is the default, with enough flows for the claims.
* `--scale paper` has the published length.

`backwater reproduce bfc` runs all of a paper, and `backwater reproduce all` runs everything. Both take many hours:
`backwater check bfc --scale quick` says how long on your machine.
[Experiments](../../experiments/README.md) lists every file, also those beyond the papers.

| paper | figures and tables |
|---|---|
"""


def pages() -> dict[str, str]:
    """An index, and a page for each paper."""
    rows: dict[str, list[ledger.Row]] = {}
    for row in ledger.at_largest(ledger.read(ROOT / "docs/results" / ledger.LEDGER)):
        if not row["claim"].startswith(ledger.OWN):
            rows.setdefault(row["experiment"], []).append(row)
    made = {}
    index = []
    for paper in experiments.PAPERS:
        title = experiments.TITLES[paper]
        names = [name for name in rows if experiments.paper_of(name) == paper]
        parts = [HEAD.format(title=title, paper=paper), *(figure(name, rows[name]) for name in names)]
        made[f"gallery/{paper}.md"] = "\n".join(parts)
        index.append(f"| [{title}]({paper}.md) | {len(names)} |")
    made["gallery/index.md"] = INDEX + "\n".join(index) + "\n"
    return made


def figure(name: str, rows: list[ledger.Row]) -> str:
    """One figure: its title, picture, command, and a line for each claim about it."""
    path = experiments.known()[name].resolve().relative_to(ROOT)
    lines = [ledger_pages.heading(name), ""]
    picture = ROOT / "docs" / PICTURES / f"{name}.svg"
    if picture.exists():
        lines += [f"![Our figure of {name}](../{PICTURES}/{name}.svg)", ""]
    lines += ["```console", f"$ {rows[0]['command']}", "```", "", f"Scenario: [{path}](../../{path})", ""]
    judged = [row for row in rows if row["verdict"] != "not-run"]
    if judged:
        lines += ["| measured quantity | published | ours | verdict |", "|---|---|---|---|"]
        cells = ((row["metric"], row["expected"], row["measured"], ledger_pages.verdict(row)) for row in judged)
        lines += ["| " + " | ".join(cell(text) for text in row) + " |" for row in cells]
    left = [row["claim"] for row in rows if row["verdict"] == "not-run"]
    if left:
        lines += ["", f"Not run at this scale or by this version: {', '.join(left)}."]
    return "\n".join([*lines, ""])
