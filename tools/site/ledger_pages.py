"""Writes the pages of the ledger, index.md and one for each paper: `python tools/site/ledger_pages.py docs/results`.

They are made from ledger.json in that directory. Only prose is typed by hand: preface.md beside it, summary.md and
findings.md of a paper's experiments, and the `finding` in the `[figure]` of an experiment.
"""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from typing import Any

from backwater.judge.claims import VERDICTS
from backwater.judge.estimate import MOST_SEEDS
from backwater.judge.settled import OVERLOADED
from backwater.ledger.book import LEDGER, OWN, Row, at_largest, read, size
from backwater.scenario import experiments

PREFACE = "preface.md"
UNTESTED = "Not tested for whether it has settled."
"""What stands beside the command of rows of older versions."""
SUMMARY = "summary.md"
"""Beside the experiments of a paper: what came of it, in one paragraph."""
FINDINGS = "findings.md"
"""Beside the experiments of a paper: what came out of them together, and why."""
BREAK = "<br>"
"""Begins a line within a cell of a table."""
HEADLINE = "-headline."
"""Claims of a paper's abstract and introduction have this in their name."""
HOPS_PER_SECOND = 4e6
"""Packet-hops that one core simulates in a second, with the network of figure 9 (docs/performance.md)."""


def render(place: Path) -> dict[str, str]:
    """Makes the pages of a ledger as Markdown, by file name: `index.md`, and one for each paper."""
    by_experiment: dict[str, list[Row]] = {}
    rows = read(place / LEDGER)
    for row in at_largest(rows):
        by_experiment.setdefault(row["experiment"], []).append(row)
    smaller: dict[str, list[Row]] = {}
    for row in rows:
        if row not in by_experiment.get(row["experiment"], []) and row["verdict"] != "not-run":
            smaller.setdefault(row["claim"], []).append(row)
    by_paper: dict[str, list[str]] = {}
    for name in by_experiment:
        by_paper.setdefault(experiments.paper_of(name), []).append(name)
    pages = {"index.md": [prose(place / PREFACE), counts(by_paper, by_experiment), moved(by_experiment)]}
    for paper, names in by_paper.items():
        sections = [section(name, by_experiment[name], smaller) for name in names]
        findings = prose(experiments.root() / paper / FINDINGS)
        summary = prose(experiments.root() / paper / SUMMARY)
        first = headlines([row for name in names for row in by_experiment[name]])
        title = f"# Results: {experiments.TITLES.get(paper, paper)}"
        pages[f"{paper}.md"] = [title, summary, first, findings, *sections]
    return {name: "\n\n".join(part for part in parts if part) + "\n" for name, parts in pages.items()}


def prose(path: Path) -> str:
    return path.read_text(encoding="utf-8").strip() if path.exists() else ""


def counts(by_paper: dict[str, list[str]], by_experiment: dict[str, list[Row]]) -> str:
    """Counts the verdicts of each page. Our own claims are counted apart."""
    lines = [f"| claims | {' | '.join(VERDICTS)} |", "|---" * (1 + len(VERDICTS)) + "|"]
    for paper, names in by_paper.items():
        listed = [row for name in names for row in by_experiment[name]]
        own = [row for row in listed if row["claim"].startswith(OWN)]
        published = [row for row in listed if not row["claim"].startswith(OWN)]
        page = f"[{experiments.TITLES.get(paper, paper)}]({paper}.md)"
        lines += [counted(title, group) for title, group in ((page, published), (f"{page}, our own", own)) if group]
    return "\n".join(lines)


def counted(title: str, listed: list[Row]) -> str:
    number = Counter(row["verdict"] for row in listed)
    return f"| {title} | {' | '.join(str(number[verdict]) for verdict in VERDICTS)} |"


def moved(by_experiment: dict[str, list[Row]]) -> str:
    """Tells how many verdicts have changed since a claim was judged before, and which way."""
    steps = Counter(
        (row["history"][-1]["verdict"], row["verdict"])
        for listed in by_experiment.values()
        for row in listed
        if row.get("history")
    )
    if not steps:
        return ""
    order = {verdict: i for i, verdict in enumerate(VERDICTS)}
    lines = ["## How verdicts have moved", "", "| before | now | claims |", "|---|---|---|"]
    for (before, now), count in sorted(steps.items(), key=lambda step: [order.get(one, 99) for one in step[0]]):
        lines.append(f"| {before} | {now} | {count} |")
    return "\n".join(lines)


def headlines(listed: list[Row]) -> str:
    """Makes the table of what a paper claims in its abstract and introduction, in the order of its claims.

    A fact follows from the set-up, so it says nothing of how well a scheme does.
    """
    found = {row["claim"]: row for row in listed if HEADLINE in row["claim"] and row["verdict"] != "fact"}
    if not found:
        return ""
    lines = ["## Headlines", ""]
    lines += ["| claim | as published | as written | as configured | verdict |", "|---|---|---|---|---|"]
    for _, row in sorted(found.items()):
        row = judged_by(row, listed)
        configured = row.get("configured", "").partition(": ")[2]
        published = row["expected"] if row["expected"] != row["says"] else "-"
        lines.append(line(row["says"], published, row["measured"], configured or "-", verdict(row)))
    return "\n".join(lines)


def judged_by(row: Row, listed: list[Row]) -> Row:
    """Returns the row of the claim that says the same as this one and is judged, with the words of this one."""
    if row["verdict"] != "refers":
        return row
    to = row["measured"].removeprefix("see ")
    other = next((one for one in listed if one["claim"] == to), None)
    return row if other is None else other | {"claim": row["claim"], "says": row["says"]}


def line(*cells: str) -> str:
    """Makes a line of a table."""
    return "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells) + " |"


def section(name: str, listed: list[Row], smaller: dict[str, list[Row]]) -> str:
    """Makes the section of an experiment: its commands, its result and the cause, and its claims.

    `smaller` has the rows of a claim at smaller scales.
    """
    runs = sorted(listed + [row for of in listed for row in smaller.get(of["claim"], [])], key=size)
    commands = "\n\n".join(dict.fromkeys(run_line(row) for row in runs))
    parts = [heading(name), commands, figure_of(name).get("finding", "").strip()]
    judged = [row for row in listed if row["verdict"] != "not-run"]
    if judged:
        table = ["| claim | what it says | expected | measured | verdict |", "|---|---|---|---|---|"]
        for row in judged:
            at = [
                f"scale {other['scale']}: {other['verdict']}, {other['measured']}"
                for other in smaller.get(row["claim"], [])
            ]
            values = BREAK.join([measured(row), *at])
            table.append(line(row["claim"], says(row), row["expected"], values, verdict(row)))
        parts.append("\n".join(table))
    parts.append(amendments(judged))
    reasons: dict[str, list[str]] = {}
    for row in listed:
        if row["verdict"] == "not-run":
            reasons.setdefault(row["measured"], []).append(row["claim"])
    parts += [f"Not judged ({reason}): {', '.join(claims)}." for reason, claims in reasons.items()]
    return "\n\n".join(part for part in parts if part)


def amendments(listed: list[Row]) -> str:
    """Lists what was changed after a result was seen, each change once, with its claims."""
    changed: dict[str, list[str]] = {}
    for row in listed:
        for why in row.get("amended", []):
            changed.setdefault(why, []).append(row["claim"])
    if not changed:
        return ""
    lines = [f"* {', '.join(claims)}: {why}" for why, claims in changed.items()]
    return "\n".join(["Changed after a result was seen (`*`):", "", *lines])


def heading(name: str) -> str:
    """Returns the heading of an experiment: the number of its figure, and its title."""
    figure = figure_of(name)
    number, title = figure.get("number", ""), figure.get("title", name)
    if number[:1].isdigit():
        return f"## Figure {number}: {title}"
    return f"## {number[:1].upper()}{number[1:]}: {title}" if number else f"## {title}"


def says(row: Row) -> str:
    """Returns the text of a claim, with its note."""
    note = note_of(row)
    return row["says"] + (f"{BREAK}*{note}*" if note else "")


def note_of(row: Row) -> str:
    """Returns the note of a claim's file, where it is often written after the runs.

    A claim that reads something else by now, or is gone, keeps the note that its row has.
    """
    path = experiments.known().get(row["experiment"])
    expected = experiments.own_keys(path).get("expect", []) if path else []
    same = (one for one in expected if (one["claim"], one["metric"]) == (row["claim"], row["metric"]))
    claim = next(same, None)
    return row["note"] if claim is None else claim.get("note", "")


def measured(row: Row) -> str:
    """Returns the measured values, whether they have settled, and the results with other variants instead."""
    parts = [row["measured"], *(row.get(key, "") for key in ("settling", "configured", "without", "needs"))]
    return BREAK.join(part for part in (*parts, next_step(row)) if part)


def next_step(row: Row) -> str:
    """Returns what would decide a claim that is not decided, and what it costs."""
    if "hops_per_seed" not in row or len(row["seeds"]) < 2:
        return ""
    now, per_seed = len(row["seeds"]), row["hops_per_seed"]
    if row["verdict"] == "unsettled" and OVERLOADED in row.get("settling", ""):
        return f"next: runs four times as long, {cost(4 * now * per_seed)}, or none if it is overloaded"
    if row["verdict"] == "unsettled":
        return f"next: runs twice as long, {cost(2 * now * per_seed)}"
    if row["verdict"] != "undecided" or (seeds := row["seeds_to_decide"]) is None:
        return ""
    if seeds >= MOST_SEEDS:
        return f"next: nothing; its value is so near a bound that {MOST_SEEDS:,} seeds would not decide it"
    return f"next: about {seeds} seeds, {cost((seeds - now) * per_seed)}"


def cost(hops: int) -> str:
    """Returns how long two cores take for so many packet-hops."""
    seconds = hops / (2 * HOPS_PER_SECOND)
    if seconds < 90:
        return f"{max(seconds, 1):.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def verdict(row: Row) -> str:
    """Returns the verdict with the share that was judged. A star means that the claim was changed after a result."""
    coverage = f" ({row['coverage']})" if row.get("coverage") else ""
    before = f"; before: {row['history'][-1]['verdict']}" if row.get("history") else ""
    return row["verdict"] + "*" * bool(row.get("amended")) + coverage + before


def run_line(row: Row) -> str:
    """Returns the command of an experiment, and the version that ran it."""
    told = [f"scale {row['scale']}"] if row["scale"] else []
    if seeds := row["seeds"]:
        in_a_row = len(seeds) > 2 and seeds == list(range(seeds[0], seeds[-1] + 1))
        which = f"{seeds[0]} to {seeds[-1]}" if in_a_row else ", ".join(map(str, seeds))
        told.append(f"seed{'s' if len(seeds) > 1 else ''} {which}")
    told.append(f"version {row['version']}" + (f" at {row['commit']}" if row["commit"] else ""))
    untested = "" if "settling" in row else " " + UNTESTED
    return f"`{row['command']}` ({', '.join(told)}).{untested}"


def figure_of(name: str) -> dict[str, Any]:
    """Returns the `[figure]` of an experiment's own files. It is empty if the experiment does not exist any more."""
    path = experiments.known().get(name)
    figure: dict[str, Any] = experiments.own_keys(path).get("figure", {}) if path else {}
    return figure


def main(place: Path) -> None:
    if not (place / LEDGER).is_file():
        raise SystemExit(f"error: {place}: no {LEDGER} there")
    for name, text in render(place).items():
        (place / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "docs/results"))
