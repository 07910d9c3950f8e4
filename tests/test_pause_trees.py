"""Trees of pauses are what the table `links` says: each held port is in one tree, whose root is not held."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import numpy as np
import pytest

import chromium
from backwater import Experiment, InputError, Results
from backwater.runs import derived, pause_trees
from backwater.show import pause_trees as shown
from backwater.show import report
from conftest import ROOT, Cli
from test_report import embedded

LENGTH = 1_000_000


def links_of(
    hosts: list[str], joined: list[tuple[str, str]], rows: list[tuple[int, str, str, int, int]]
) -> pause_trees.Links:
    """Links of a network; rows are period, node, peer, bytes queued and time paused in percent."""
    ends = [*joined, *((b, a) for a, b in joined)]
    nodes = list(dict.fromkeys(name for pair in ends for name in pair))
    is_host = np.array([name in hosts for name in nodes])
    node, peer = (np.array([nodes.index(pair[i]) for pair in ends]) for i in (0, 1))
    columns = [
        np.array([row[0] for row in rows]),
        np.array([ends.index(row[1:3]) for row in rows]),
        np.full(len(rows), 100),
        np.array([row[3] for row in rows]),
        np.array([row[4] * LENGTH // 100 for row in rows]),
    ]
    return pause_trees.Links(nodes, is_host, node, peer, pause_trees.turns(node, peer, is_host), LENGTH, *columns)


CLOS = [
    *(("h0", "l0"), ("h1", "l0"), ("h2", "l1"), ("h3", "l1")),
    *(("l0", "s0"), ("l0", "s1"), ("l1", "s0"), ("l1", "s1")),
]
HOSTS = ["h0", "h1", "h2", "h3"]


def found(links: pause_trees.Links) -> list[pause_trees.Growing]:
    return sorted(pause_trees.trees(links, pause_trees.follow(links)), key=lambda one: (one.first, one.root))


def names(links: pause_trees.Links, port: int) -> tuple[str, str]:
    return links.nodes[links.node[port]], links.nodes[links.peer[port]]


def test_a_tree_begins_at_the_longest_queue_that_is_not_held() -> None:
    rows = [
        (0, "s0", "l0", 900, 80),  # The first spine is held,
        (0, "s1", "l0", 800, 40),
        (0, "l1", "s0", 500, 60),  # and holds the other leaf,
        (0, "h2", "l1", 0, 50),  # which holds its hosts,
        (0, "h3", "l1", 0, 30),
        (0, "l0", "h0", 2000, 0),  # for a queue to h0.
        (0, "l0", "s0", 5000, 0),  # No packet that comes down from a spine goes up again.
        (0, "l1", "s1", 100, 0),
    ]
    links = links_of(HOSTS, CLOS, rows)
    (tree,) = found(links)
    assert names(links, tree.root) == ("l0", "h0")
    assert (tree.depth, tree.fan_out, tree.hosts, tree.switches, tree.queue) == (3, 2, 2, 3, 2000)
    assert tree.held_ps == 2.6 * LENGTH
    picture = shown.picture(pause_trees.Found(links, pause_trees.follow(links), [tree]), tree)
    assert [(one["node"], one["by"], one["number"], one["parent"]) for one in picture] == [
        ("s0", "l0", 1, None),
        ("s1", "l0", 1, None),
        ("l1", "s0", 1, 0),
        ("h2", "l1", 2, 2),
    ]
    assert picture[-1]["held"] == pytest.approx(0.8)


def test_periods_that_follow_one_another_are_one_tree() -> None:
    rows = [
        *((0, "s0", "l0", 900, 80), (0, "l0", "h0", 100, 0)),
        *((1, "h1", "l0", 0, 10), (1, "s1", "l0", 0, 30), (1, "l0", "h0", 700, 0)),
        *((2, "h1", "l0", 0, 10), (2, "l0", "h0", 10, 0), (2, "l0", "s0", 90, 0)),  # Now for the spine.
        *((4, "s0", "l0", 0, 10), (4, "l0", "h0", 300, 0)),
    ]
    links = links_of(HOSTS, CLOS, rows)
    trees = [(names(links, one.root), one.first, one.last, one.ports, one.at, one.queue) for one in found(links)]
    assert trees == [
        (("l0", "h0"), 0, 1, 2, 1, 700),
        (("l0", "s0"), 2, 2, 1, 2, 90),
        (("l0", "h0"), 4, 4, 1, 4, 300),
    ]


def test_pauses_that_wait_for_one_another_are_a_cycle() -> None:
    ring = [(f"s{i}", f"s{(i + 1) % 5}") for i in range(5)] + [(f"h{i}", f"s{i}") for i in range(5)]
    rows = [(0, f"s{i}", f"s{(i + 1) % 5}", 1000, 100) for i in range(5)] + [(0, "h2", "s2", 0, 100)]
    links = links_of([f"h{i}" for i in range(5)], ring, rows)
    (tree,) = found(links)
    assert tree.cycle
    assert (tree.hosts, tree.switches) == (1, 5)
    picture = shown.picture(pause_trees.Found(links, pause_trees.follow(links), [tree]), tree)
    assert len(picture) == 6
    for i, one in enumerate(picture):
        assert one["parent"] is None or one["parent"] < i, "a picture ends"


@pytest.fixture(scope="module")
def storm(tmp_path_factory: pytest.TempPathFactory) -> Results:
    """The storm of the guide, for a part of its time."""
    guide = (ROOT / "docs/guides/pfc-storms.md").read_text()
    text = guide.split('```toml title="storm.toml"\n')[1].partition("```")[0]
    sets = {"run.duration": "1200 us", "sweep.scheme": ["pfc", "bfc"]}
    return Experiment(tomllib.loads(text), sets=sets).simulate(tmp_path_factory.mktemp("runs") / "storm")


def test_each_held_port_is_in_one_tree(storm: Results) -> None:
    for run in storm.runs:
        links = pause_trees.links_of(run)
        followed = pause_trees.follow(links)
        paused = links.paused > 0
        assert sorted(followed.rows.tolist()) == np.flatnonzero(paused).tolist()
        assert not followed.cycle.any(), "a leaf-spine has no cycle of pauses"
        held = set(zip(links.period[paused].tolist(), links.port[paused].tolist(), strict=True))
        roots = set(zip(links.period[followed.rows].tolist(), followed.root.tolist(), strict=True))
        assert not roots & held
        assert sum(one.held_ps for one in found(links)) == links.paused.sum() > 0
        assert followed.depth.max() <= 3


def test_the_root_of_the_storm_is_the_port_of_the_incast(storm: Results) -> None:
    for run in storm.runs:
        trees = shown.of_run(run)
        assert trees is not None
        first = trees["trees"][0]
        assert (first["node"], first["towards"], first["depth"]) == ("leaf0", "host0", 3)
        assert first["begin"] >= 1e-3 - trees["period"], "the incast comes after a millisecond"
        assert first["hosts"] > 10
        assert len(trees["trees"]) == min(trees["number"], shown.TREES)


def test_runs_without_recorded_links_have_no_trees(results: Results, cli: Cli) -> None:
    assert all(shown.of_run(run) is None for run in results.runs)
    with pytest.raises(InputError, match=r"no run recorded its links: expected a period in `measure\.links`"):
        results.pause_trees()
    said = cli("compare", results.path)
    assert said.returncode == 0
    assert "Trees of pauses" not in said.stdout


def test_the_table_has_every_tree_of_every_run(storm: Results) -> None:
    table = storm.pause_trees()
    assert table.column_names[:5] == ["label", "variant", "scheme", "seed", "node"]
    assert all(field.metadata[b"description"] for field in table.schema)
    for run in storm.runs:
        rows = [row for row in table.to_pylist() if row["label"] == run.label]
        page = shown.of_run(run)
        assert page is not None
        assert len(rows) == page["number"] > 0
        assert [row["held_ps"] for row in rows] == sorted((row["held_ps"] for row in rows), reverse=True)
        assert sum(row["held_ps"] for row in rows) == sum(run.table("links")["paused_ps"].to_pylist())
        assert {row["period_ps"] for row in rows} == {20_000_000}
        for row, tree in zip(rows, page["trees"], strict=False):
            assert (row["node"], row["towards"], row["depth"]) == (tree["node"], tree["towards"], tree["depth"])
            assert (row["hosts"], row["switch_ports"]) == (tree["hosts"], tree["switches"])
            assert row["begin_ps"] * 1e-12 == pytest.approx(tree["begin"])
    alone = storm[0:1].pause_trees()
    assert alone["label"].unique().to_pylist() == [storm.runs[0].label]


def test_a_cycle_is_a_number_in_the_table() -> None:
    ring = [(f"s{i}", f"s{(i + 1) % 5}") for i in range(5)] + [(f"h{i}", f"s{i}") for i in range(5)]
    links = links_of([f"h{i}" for i in range(5)], ring, [(0, f"s{i}", f"s{(i + 1) % 5}", 9, 100) for i in range(5)])
    rows = pause_trees.Found(links, pause_trees.follow(links), found(links)).rows()
    columns = pause_trees.columns_of(rows)
    kinds = {one["name"]: derived.field_of(one).type for one in pause_trees.COLUMNS}
    made = {name: derived.typed(values, kinds[name]).to_pylist() for name, values in columns.items()}
    assert made["cycle"] == [1]
    assert [made["held_ps"], made["period_ps"]] == [[5 * LENGTH], [LENGTH]]


def test_compare_prints_the_largest_tree_of_each_run(storm: Results, cli: Cli) -> None:
    said = cli("compare", storm.path)
    assert said.returncode == 0, said.stderr
    table = said.stdout.partition("Trees of pauses")[2]
    cells = {
        line.split("│")[1].strip(): [cell.strip() for cell in line.split("│")[2:-1]]
        for line in table.splitlines()
        if line.startswith("│")
    }
    assert cells["root port"] == ["leaf0 to host0"] * 2
    assert cells["depth"] == ["3", "3"]
    pages = [shown.of_run(run) for run in storm.runs]
    assert cells["trees"] == [str(page["number"]) for page in pages if page]
    assert cells["hosts held"] == [str(page["trees"][0]["hosts"]) for page in pages if page]
    columns = json.loads(cli("compare", storm.path, "--json").stdout)
    assert [one["pause_trees"]["largest"]["node"] for one in columns] == ["leaf0", "leaf0"]


def test_browser_draws_the_tree_that_is_picked(browser: chromium.Page, storm: Results, tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    page.write_text(report.render(report.page_data([storm])))
    browser.open(page.as_uri())
    known = {run["shown"]: run["pause_trees"] for run in embedded(page)["runs"]}
    first = next(iter(known.values()))
    rows = "[...document.querySelectorAll('#pause-trees tbody th')].map((row) => row.innerText)"
    assert browser.evaluate(rows) == [f"{one['node']} to {one['towards']}" for one in first["trees"]]
    boxes = "document.querySelectorAll('#pause-trees svg g').length"
    assert browser.evaluate(boxes) == 1 + len(first["trees"][0]["ports"])
    assert "leaf0 → host0" in browser.evaluate("document.querySelector('#pause-trees svg').textContent")
    browser.evaluate("document.querySelectorAll('#pause-trees button.link')[1].click()")
    assert browser.evaluate(boxes) == 1 + len(first["trees"][1]["ports"])
    browser.evaluate(
        "(() => { const one = document.querySelector('#pause-trees select'); one.selectedIndex = 1; "
        "one.dispatchEvent(new Event('change')); })()"
    )
    assert browser.evaluate(rows) == [f"{one['node']} to {one['towards']}" for one in known["bfc"]["trees"]]
    assert browser.console == []
