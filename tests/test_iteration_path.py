"""Why an iteration took so long, on the page: stored paths, of which all that is shown sums to the iteration's time."""

from __future__ import annotations

import base64
import json
import shutil
import zlib
from pathlib import Path
from typing import Any

import pytest

import backwater
import chromium
from backwater import Results
from backwater.common.quantities import span, tenths
from backwater.runs import kept
from backwater.show import critical, paths, report
from test_critical_path import LEAF_SPINE, RING, STORAGE
from test_report import embedded


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Results:
    """A ring beside storage traffic, under three schemes of which one cannot be built. Nothing is explained."""
    schemes = {"BFC": "bfc", "DCQCN": "dcqcn", "Ideal": "ideal-fq"}
    experiment = backwater.Experiment(
        {
            "topology": LEAF_SPINE,
            "workload": [RING, STORAGE],
            "run": {"duration": "300 us", "warmup": "0 s", "drain": 1000.0},
            "measure": {"links": "20 us"},
            "variant": [{"name": name, "scheme": scheme} for name, scheme in schemes.items()],
        }
    )
    return experiment.simulate(tmp_path_factory.mktemp("made") / "runs")


@pytest.fixture(scope="module")
def stored(made: Results, tmp_path_factory: pytest.TempPathFactory) -> Results:
    """The same, with the path of iteration 1 stored of each run, and the page of it."""
    place = Path(shutil.copytree(made.path, tmp_path_factory.mktemp("stored") / "runs"))
    kept.keep(place, [run.critical_path(1, "ring") for run in made.runs])
    results = Results(place)
    results.report(formats=())
    return results


def unpacked(path: dict[str, Any]) -> list[dict[str, Any]]:
    return json.loads(zlib.decompress(base64.b64decode(path["pieces"])))


def shown(results: Results) -> dict[str, dict[str, Any]]:
    return {run["shown"]: run["path"] for run in embedded(results.path / "report.html")["runs"]}


def fills(path: dict[str, Any], steps: int, span_ps: int) -> list[dict[str, Any]]:
    """Checks that everything that is shown of a path sums to the time of its iteration. Returns its pieces."""
    pieces = unpacked(path)
    assert path["time"] == pytest.approx(span_ps * 1e-12)
    assert sum(row[3] for row in path["places"]) == pytest.approx(path["time"])
    assert sum(row[2] for row in path["places"]) == pytest.approx(1)
    assert sum(one["span"] for one in path["causes"]) == pytest.approx(path["time"])
    assert sum(piece["many"] for piece in pieces) == path["steps"] == steps
    begin, sums = 0, [0] * len(path["causes"])
    for piece in pieces:
        assert sum(ps for _, ps in piece["causes"]) == piece["end"] - begin
        for at, ps in piece["causes"]:
            sums[at] += ps
        begin = piece["end"]
    assert begin == span_ps
    assert [ps * 1e-12 for ps in sums] == pytest.approx([one["span"] for one in path["causes"]])
    return pieces


def test_what_is_shown_sums_to_the_iteration(stored: Results) -> None:
    for run in stored.runs:
        path = kept.path_of(run)
        assert path is not None
        data = shown(stored)[run.label]
        assert data["told"] == critical.told(path)
        times = [row["time_ps"] for row in run.summary["iterations"] or []]
        assert data["mean"] == pytest.approx(sum(times) / 3 * 1e-12)
        pieces = fills(data, len(path.steps), path.span_ps)
        assert len(pieces) == len(path.steps), "each step is drawn"
        for piece, step in zip(pieces, path.steps, strict=True):
            sender = step.rank if step.sender is None else step.sender
            assert (data["ranks"][piece["from"]], data["ranks"][piece["to"]]) == (sender, step.rank)
            assert ("hops" in piece) == (step.kind == "message")
            if "hops" not in piece:
                continue
            sums: dict[int, int] = {}
            for hop in piece["hops"]:
                assert sum(part[0] for part in hop["parts"]) == hop["span"]
                for ps, _, at in hop["parts"]:
                    sums[at] = sums.get(at, 0) + ps
            assert sums == dict(piece["causes"]), "hops and causes say the same"
            assert piece["way"][0].startswith(f"host{step.sender} to ")
            assert piece["way"][-1].endswith(f" to host{step.rank}")


def test_of_many_steps_the_longest_are_drawn_and_others_joined(stored: Results) -> None:
    path = kept.path_of(stored.run("BFC"))
    assert path is not None
    data: Any = paths.of_path(path, 20)
    pieces = fills(data, len(path.steps), path.span_ps)
    alone = [piece["step"] for piece in pieces if piece["many"] == 1 and "hops" in piece]
    assert len(pieces) <= 21
    assert set(critical.longest(path, 10)) <= set(alone)
    joined = [piece for piece in pieces if piece["many"] > 1]
    assert len(joined) > 3
    assert all(piece["words"].endswith(" short steps") and "hops" not in piece for piece in joined)
    assert len(paths.of_path(path, 20)["pieces"]) < len(paths.of_path(path, 1000)["pieces"]) * 0.6


def test_a_page_of_many_paths_has_fewer_steps_of_each(stored: Results, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paths, "STEPS", 60)
    runs = report.page_data([stored])["runs"]
    assert all(len(unpacked(run["path"])) <= 21 for run in runs)  # type: ignore[arg-type]


def test_runs_are_compared_and_differences_sum(stored: Results) -> None:
    found = shown(stored)
    (lines,) = {tuple(path["compared"]) for path in found.values()}
    able = {name: path["time"] for name, path in found.items() if name != "Ideal"}
    best = min(able, key=lambda name: able[name])
    assert lines[0] == f"Iteration 1 of ring takes least time under {best}: {span(able[best])}."
    assert len(lines) == 3
    for name in found.keys() - {best}:
        change = found[name]["time"] - found[best]["time"]
        start = f"{name} takes {span(found[name]['time'])}, {span(abs(change))} {'longer' if change > 0 else 'less'}: "
        (line,) = (line for line in lines if line.startswith(start))
        parts = [part.split(" ") for part in line.removeprefix(start).rstrip(".").split("; ")]
        units = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3}
        assert sum(float(part[0]) * units[part[1]] for part in parts) == pytest.approx(change, abs=5e-7)


def test_a_comparison_names_the_largest_differences() -> None:
    fast = {"computations": 2e-3, "own packets and links": 3e-3, "paused for a": 1e-3}
    slow = {"computations": 2e-3, "own packets and links": 3.2e-3, "behind b in queues": 4e-3, "idle": 1e-9}
    assert critical.compared("Iteration 3 of ring", {"X": slow, "Y": fast, "Z": dict(fast)}) == [
        "Iteration 3 of ring takes least time under Y: 6 ms.",
        "Z takes 6 ms, as long.",
        "X takes 9.2 ms, 3.2 ms longer: +4 ms behind b in queues; -1 ms paused for a; +200 us own packets and links.",
    ]
    assert critical.compared("Iteration 3 of ring", {"X": slow}) == []
    ideal = critical.compared("It", {"X": slow, "Y": fast}, frozenset("Y"))
    assert ideal[0] == "It takes least time under X: 9.2 ms."
    assert ideal[1].startswith("Y takes 6 ms, 3.2 ms less: -4 ms behind b in queues; ")


def test_without_a_path_the_page_has_the_command(made: Results, tmp_path: Path) -> None:
    runs = report.page_data([made])["runs"]
    (command,) = {run["path_command"]["command"] for run in runs}
    iteration = runs[0]["path_command"]["iteration"]
    named = "--run BFC --run DCQCN --run Ideal --class ring"
    assert command == f"backwater explain {made.path} {named} --iteration {iteration} --page"
    times = [{row["iteration"]: row["time_ps"] for row in run.summary["iterations"] or []} for run in made.runs]
    far = {n: max(abs(one[n] / (sum(one.values()) / 3) - 1) for one in times) for n in range(3)}
    assert far[int(iteration)] == min(far.values())
    place = Path(shutil.copytree(made.path, tmp_path / "some"))
    kept.keep(place, [made.run("BFC").critical_path(2, "ring")])
    bfc, *others = report.page_data([Results(place)])["runs"]
    assert "path_command" not in bfc
    (command,) = {run["path_command"]["command"] for run in others}
    assert command == f"backwater explain {place} --run DCQCN --run Ideal --class ring --iteration 2 --page"


def test_of_one_run_the_slowest_iteration_is_asked_for(tmp_path: Path) -> None:
    run = {"duration": "10 us", "warmup": "0 s", "drain": 1000.0}
    scenario = {"scheme": "bfc", "topology": LEAF_SPINE, "workload": [RING], "run": run}
    done = backwater.Experiment(scenario, seeds=2).simulate(tmp_path / "one")
    (shown_run,) = report.page_data([done])["runs"]
    words = shown_run["path_command"]["command"].split()
    assert words[2:] == [str(done.path), "--run", "bfc.seed=1", "--class", "ring", "--iteration", "slowest", "--page"]
    kept.keep(done.path, [done.run("bfc.seed=2").critical_path(1)])
    (shown_run,) = report.page_data([Results(done.path)])["runs"]
    assert "path_command" not in shown_run, "one seed is enough"
    assert [member["path"] is not None for member in shown_run["members"]] == [False, True]


def test_a_page_of_several_directories_shows_the_path_of_each(stored: Results, made: Results, tmp_path: Path) -> None:
    place = Path(shutil.copytree(made.path, tmp_path / "other"))
    kept.keep(place, [made.run("BFC").critical_path(0, "ring")])
    runs = report.page_data([stored, Results(place)])["runs"]
    found = {run["name"]: run["path"]["iteration"] for run in runs if run["path"]}
    assert found == {"runs/BFC": 1, "runs/DCQCN": 1, "runs/Ideal": 1, "other/BFC": 0}
    (command,) = {run["path_command"]["command"] for run in runs if "path_command" in run}
    assert command == f"backwater explain {place} --run DCQCN --run Ideal --class ring --iteration 1 --page"


def look(browser: chromium.Page, page: Path) -> None:
    browser.open(page.as_uri())
    browser.evaluate(
        "new Promise((done) => { const look = () => !backwater.path || backwater.path().pieces"
        " ? done() : setTimeout(look, 5); look(); })"
    )
    assert browser.console == []


def test_browser_shows_the_path_and_the_hops_of_the_step_that_is_picked(
    browser: chromium.Page, stored: Results
) -> None:
    page = stored.path / "report.html"
    look(browser, page)
    path = shown(stored)["BFC"]
    pieces = unpacked(path)
    text = browser.evaluate("document.querySelector('#iteration-path').innerText")
    assert all(line in text for line in path["compared"])
    assert path["told"] in text
    assert browser.evaluate("document.querySelectorAll('#iteration-path svg .piece').length") == len(pieces)
    assert "#iteration-path" in browser.evaluate("[...document.querySelectorAll('nav a')].map((a) => a.hash)")
    assert browser.evaluate("document.querySelector('.why-iteration')") is None, "no command is needed"
    bars = "[...document.querySelectorAll('#iteration-path .timebar.thin')].map((one) => one.style.width)"
    longest = max(one["time"] for one in shown(stored).values())
    widths = [float(width.rstrip("%")) for width in browser.evaluate(bars)]
    assert widths == pytest.approx([100 * one["time"] / longest for one in shown(stored).values()], rel=1e-3)

    lengths = [piece["end"] - before for piece, before in zip(pieces, [0, *(p["end"] for p in pieces)], strict=False)]
    first = max(range(len(pieces)), key=lambda i: lengths[i])
    browser.click("#path-steps tbody button")
    assert browser.evaluate("backwater.path().at") == first
    tree = browser.evaluate("[...document.querySelectorAll('#path-tree li')].map((one) => one.firstChild.textContent)")
    hops = pieces[first]["hops"]
    assert [line for line in tree if line] == [
        f"{hop['where']}: {span(hop['span'] * 1e-12)} ({share})"
        for hop, share in zip(hops, shares(hops, lengths[first]), strict=True)
    ]
    browser.evaluate("new Promise((done) => setTimeout(done, 300))")
    assert browser.evaluate("backwater.network().way") == pieces[first]["way"], "the network shows its way"
    grow = "[...document.querySelectorAll('#path-step .timebar i')].map((one) => Number(one.style.flexGrow))"
    assert sum(browser.evaluate(grow)) == pytest.approx(1, abs=1e-4)

    middle = (pieces[5]["end"] - lengths[5] / 2) / pieces[-1]["end"]
    browser.evaluate(
        "(() => { const node = document.querySelector('#iteration-path svg'), box = node.getBoundingClientRect();"
        f" const [left, right] = node.ends, x = box.left + left + {middle} * (right - left);"
        " node.dispatchEvent(new MouseEvent('click', { clientX: x, clientY: box.top + 40, bubbles: true })); })()"
    )
    assert browser.evaluate("backwater.path().at") == 5, "a click picks the step of that time"
    browser.evaluate(
        "(() => { const one = document.querySelector('#iteration-path select'); one.value = 'DCQCN';"
        " one.dispatchEvent(new Event('change')); return new Promise((done) => setTimeout(done, 300)); })()"
    )
    assert browser.evaluate("backwater.path().run") == "DCQCN"
    assert browser.evaluate("location.hash") == "#iteration-path.run=DCQCN"
    assert shown(stored)["DCQCN"]["told"] in browser.evaluate("document.querySelector('#iteration-path').innerText")
    assert browser.console == []


def shares(hops: list[dict[str, Any]], whole: int) -> list[str]:
    return [tenths(hop["span"] / whole) for hop in hops]


def test_browser_shows_the_command_where_no_path_is_stored(
    browser: chromium.Page, made: Results, tmp_path: Path
) -> None:
    page = tmp_path / "report.html"
    data = report.page_data([made])
    page.write_text(report.render(data))
    look(browser, page)
    text = browser.evaluate("document.querySelector('#collectives').innerText")
    assert "Why does an iteration take so long? This command runs BFC, DCQCN and Ideal again" in text
    assert data["runs"][0]["path_command"]["command"] in text
    assert browser.evaluate("document.querySelector('#iteration-path')") is None
