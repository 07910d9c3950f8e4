"""What `explain --page` found is kept in the run directory, whole, and the page shows it."""

from __future__ import annotations

import base64
import errno
import json
import os
import random
import shutil
import signal
import subprocess
import time
import zlib
from pathlib import Path
from typing import Any

import pytest

import chromium
import faults
from backwater import Experiment, InputError, Results
from backwater.common import disk
from backwater.common.disk import sha256
from backwater.common.quantities import span, tenths
from backwater.runs import explain, kept, tables
from backwater.runs.run import Run
from backwater.show import explained as words
from backwater.show import flows, network, report
from conftest import ROOT, Cli
from test_report import embedded, series


@pytest.fixture
def copied(results: Results, tmp_path: Path) -> Path:
    return Path(shutil.copytree(results.path, tmp_path / "copied"))


@pytest.fixture(scope="module")
def linked(smoke: Path, tmp_path_factory: pytest.TempPathFactory) -> Results:
    """A run whose links were recorded, with its slowest tenth explained and kept."""
    place = tmp_path_factory.mktemp("runs") / "linked"
    done = Experiment(smoke, **{"measure.links": "7 us"}).simulate(place)
    kept.keep(place, [tail(done.runs[0], 90)])
    again = Results(place)
    page_of(again)
    return again


def tail(run: Run, percentile: float) -> explain.Explained:
    found = explain.slowest(run.table("flows"), percentile=percentile)
    return run.explain_flows(found)


def page_of(results: Results) -> Path:
    return results.report(formats=())


def unpacked(shown: dict[str, Any]) -> list[dict[str, Any]]:
    """What a page has of each flow."""
    return [
        flow for block in shown["details"] for flow in json.loads(zlib.decompress(base64.b64decode(block)).decode())
    ]


def parts_in(place: Path) -> list[str]:
    return sorted(path.name for path in place.iterdir() if kept.is_part(path.name))


def test_it_is_listed_and_hashed_and_shown(cli: Cli, copied: Path) -> None:
    done = cli("explain", copied, "--run", "DCTCP", "--percentile", 90, "--worst", 1, "--page")
    assert done.returncode == 0, done.stderr
    assert f"Report: {copied}/report.html" in done.stdout
    results = Results(copied)
    results.verify()
    files = results.run("DCTCP").entry.files
    names = parts_in(copied / "DCTCP")
    assert [name.split(".")[0] for name in names] == ["explained", "rates", "waits"]
    assert {name: files[name] for name in names} == {name: sha256(copied / "DCTCP" / name) for name in names}
    assert parts_in(copied / "BFC") == []
    found = kept.of(results.run("DCTCP"))
    assert found is not None
    assert found.waits.equals(results.run("DCTCP").table("waits"))
    assert f"{words.told(found)}\n" in done.stdout
    assert words.flow_lines(found, found.flows["flow"][0].as_py())[0] in done.stdout
    shown = {run["name"]: run["explained"] for run in embedded(copied / "report.html")["runs"]}
    assert shown["DCTCP"]["flow"] == found.flows["flow"].to_pylist()
    assert shown["BFC"] is None


def test_the_same_again_replaces_it_and_report_keeps_it(cli: Cli, copied: Path) -> None:
    for percentile in (90, 90, 99):
        assert cli("explain", copied, "--run", "BFC", "--percentile", percentile, "--page").returncode == 0
        assert len(parts_in(copied / "BFC")) == 3
    assert cli("explain", copied, "--run", "DCTCP", "--flow", 3, "--page").returncode == 0
    before = embedded(copied / "report.html")["runs"]
    assert before[0]["explained"]["told"].startswith("all classes, all sizes: p99 slowdown is ")
    assert before[1]["explained"]["told"].startswith("1 flow, selected by number: 1 flow spent its time as follows: ")
    (copied / "report.html").unlink()
    done = cli("report", copied)
    assert done.returncode == 0, done.stderr
    assert embedded(copied / "report.html")["runs"] == before
    counted = Results(copied).sql(
        "select label, count(distinct flow) as flows from waits group by label order by label"
    )
    assert counted["label"].to_pylist() == ["BFC", "DCTCP"], "of the third run nothing was explained"
    assert counted["flows"].to_pylist() == [len(before[0]["explained"]["flow"]), 1]


def test_a_damaged_file_is_refused_by_name(cli: Cli, copied: Path) -> None:
    assert cli("explain", copied, "--run", "BFC", "--page").returncode == 0
    for name in parts_in(copied / "BFC"):
        path = copied / "BFC" / name
        whole = path.read_bytes()
        path.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
        done = cli("report", copied)
        assert done.returncode == 2
        assert f"{path}: damaged" in done.stderr
        again = cli("explain", copied, "--run", "DCTCP", "--page")
        assert f"{path}: damaged" in again.stderr
        assert parts_in(copied / "DCTCP") == []
        path.write_bytes(whole)
    assert cli("report", copied).returncode == 0


@pytest.mark.parametrize("written", [0, 1, 4])
def test_what_cannot_be_written_leaves_what_stood_there(
    cli: Cli, copied: Path, monkeypatch: pytest.MonkeyPatch, written: int
) -> None:
    """The disk is full at the first file, at the second, or at the manifest, when three files have their names."""
    assert cli("explain", copied, "--run", "BFC", "--percentile", 90, "--page").returncode == 0
    before = {path: path.read_bytes() for path in copied.rglob("*") if path.is_file()}

    sync, synced = disk.sync, []

    def full(path: Path) -> None:
        if len(synced) == written:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        synced.append(path)
        sync(path)

    with monkeypatch.context() as patch:
        patch.setattr(disk, "sync", full)
        done = cli("explain", copied, "--run", "BFC", "--percentile", 50, "--page")
    assert done.returncode == 2
    assert done.stderr == f"error: {copied}: cannot be written: the disk is full\n"
    assert {path: path.read_bytes() for path in copied.rglob("*") if path.is_file()} == before


def test_files_that_may_not_grow(process: Cli, copied: Path) -> None:
    done = process("explain", copied, "--run", "BFC", "--page", preexec_fn=lambda: faults.limit_files(2000))
    assert done.returncode == 2
    assert f"{copied}: cannot be written: the disk is full" in done.stderr
    Results(copied).verify()
    assert parts_in(copied / "BFC") == []


@pytest.mark.skipif(os.geteuid() != 0, reason="mounts file systems")
def test_a_place_that_is_read_only_is_refused_before_the_run(cli: Cli, results: Results, tmp_path: Path) -> None:
    place = tmp_path / "disk"
    place.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "none", place], check=False, capture_output=True).returncode:
        pytest.skip("mounting is not permitted")
    try:
        shutil.copytree(results.path, place / "run")
        subprocess.run(["mount", "-o", "remount,ro", place], check=True)
        done = cli("explain", place / "run", "--run", "BFC", "--page")
        assert done.returncode == 2
        assert "cannot be written: Read-only file system" in done.stderr
        assert "the same run" not in done.stdout
        assert cli("explain", place / "run", "--run", "BFC").returncode == 0
    finally:
        subprocess.run(["umount", place], check=True)


def test_kills_leave_a_whole_directory(copied: Path, tmp_path: Path) -> None:
    """At any moment; then the next goes through, and takes away what nothing lists."""
    chance, digest = random.Random(1), Results(copied).digest
    words_of = ["explain", copied, "--run", "BFC", "--percentile"]
    began = time.monotonic()
    assert faults.start(tmp_path, *words_of, 90, "--page").wait(60) == 0
    whole_s = time.monotonic() - began
    for trial in range(6):
        process = faults.start(tmp_path, *words_of, 80 + trial, "--page")
        time.sleep(chance.uniform(0.3, 1) * whole_s)
        process.send_signal(signal.SIGKILL if trial % 2 else signal.SIGTERM)
        assert process.wait(60) in (0, 143, -signal.SIGKILL, -signal.SIGTERM)  # The last before it listens.
        after = Results(copied)
        after.verify()
        assert after.digest == digest
        assert kept.of(after.run("BFC")) is not None
    assert faults.start(tmp_path, *words_of, 99, "--page").wait(60) == 0
    assert len(parts_in(copied / "BFC")) == 3
    assert [path.name for path in copied.iterdir() if path.name.startswith(".manifest")] == []


def test_another_run_that_stands_there_by_now_is_let_be(results: Results, copied: Path, tmp_path: Path) -> None:
    explained = tail(results.run("BFC"), 99)
    manifest = json.loads((copied / "manifest.json").read_text())
    place = tmp_path / "other"
    Experiment(ROOT / "experiments" / "smoke" / "bfc.toml", seed=9).simulate(place)
    with pytest.raises(InputError, match="no run 'BFC'"):
        kept.keep(place, [explained])
    manifest["runs"][0]["digest"] = "0" * 64
    del manifest["sha256"]
    from backwater.runs.manifest import sealed

    (copied / "manifest.json").write_text(sealed(manifest))
    with pytest.raises(InputError, match="another run of it stands there by now"):
        kept.keep(copied, [explained])


def test_parts_are_the_terminals_and_sum_to_the_completion_time(linked: Results) -> None:
    found = kept.of(linked.runs[0])
    shown = embedded(linked.path / "report.html")["runs"][0]["explained"]
    assert found is not None
    assert len(shown["flow"]) == found.flows.num_rows > 20
    for number, flow in zip(shown["flow"], unpacked(shown), strict=True):
        lines = words.flow_lines(found, number)[1:]
        tree = [
            text
            for hop in flow["hops"]
            for text in (
                f"{hop['where']}: {span(hop['span'])} ({tenths(hop['span'] / (flow['to'] - flow['from']))})",
                *(f"{span(part[0])} {part[1]}" for part in hop["parts"]),
            )
        ]
        assert [line.lstrip("|` -") for line in lines] == tree
        parts = [part for hop in flow["hops"] for part in hop["parts"]]
        assert sum(part[0] for part in parts) == pytest.approx(flow["to"] - flow["from"], abs=1e-13)
        assert {part[2] for part in parts} <= shown["kinds"].keys()
        assert flow["way"][0].startswith(f"{flow['src']} to ")
        assert flow["way"][-1].endswith(f" to {flow['dst']}")
        assert sum(flow["rate"]["bytes"]) == flow["size"]
        ends = flow["rate"]["end"]
        assert flow["from"] < ends[0] <= ends[-1]
        assert ends[-1] - flow["rate"]["span"] <= flow["to"] <= ends[-1] + 1e-12


def test_rates_are_documented(linked: Results) -> None:
    assert [(field.name, field.type) for field in linked.runs[0].table("rates").schema] == [
        (column["name"], tables.arrow_type(column["type"])) for column in tables.schemas()["rates"]
    ]


def test_of_many_flows_the_slowest_are_on_the_page(linked: Results, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(flows, "FLOWS", 21)
    shown = flows.explained(linked.runs[0], 2)
    found = kept.of(linked.runs[0])
    assert shown is not None
    assert found is not None
    assert shown["flow"] == found.flows["flow"].to_pylist()[:10]
    assert shown["left_out"] == found.flows.num_rows - 10
    assert len(unpacked(shown)) == 10


def test_a_run_that_was_not_explained_takes_no_share_of_the_flows(
    copied: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two of three runs are explained: each shows half of the flows."""
    kept.keep(copied, [tail(Results(copied).run(label), 90) for label in ("BFC", "DCTCP")])
    monkeypatch.setattr(flows, "FLOWS", 12)
    runs = report.page_data([Results(copied)])["runs"]
    assert [len(run["explained"]["flow"]) if run["explained"] else 0 for run in runs] == [6, 6, 0]


def test_a_run_that_was_not_recorded_takes_no_share_of_the_spans(
    smoke: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recorded = Experiment(smoke, **{"measure.links": "7 us"}, seeds=2).simulate(tmp_path / "recorded")
    bare = Experiment(smoke, seed=3).simulate(tmp_path / "bare")
    monkeypatch.setattr(network, "CELLS", 3 * recorded.runs[0].table("ports").num_rows)
    monkeypatch.setattr(network, "SPANS_MIN", 1)
    first, other = report.page_data([recorded, bare])["runs"]
    assert [len(one["network"]["ends"]) if one["network"] else 0 for one in first["members"]] == [3, 0]
    assert other["network"] is None


def test_another_seed_that_is_explained_is_on_the_page(
    browser: chromium.Page, cli: Cli, smoke: Path, tmp_path: Path
) -> None:
    Experiment(smoke, seeds=2).simulate(tmp_path / "seeds")
    assert cli("explain", "seeds", "--run", "bfc.seed=2", "--percentile", 90, "--page").returncode == 0
    page = tmp_path / "seeds" / "report.html"
    (run,) = embedded(page)["runs"]
    assert [one["explained"] is not None for one in run["members"]] == [False, True]
    open_page(browser, page)
    browser.click("#flow-list tbody button")
    wait(browser, "backwater.flow()")
    assert browser.evaluate("backwater.flow().flow") == run["members"][1]["explained"]["flow"][0]
    assert browser.evaluate("document.querySelector('#why .finding').innerText").startswith("bfc.seed=2, ")
    assert browser.console == []


def open_page(browser: chromium.Page, page: Path) -> None:
    browser.open(page.as_uri())
    wait(browser, "!backwater.network || document.querySelector('#network-links table')")
    assert browser.console == []


def wait(browser: chromium.Page, condition: str) -> None:
    browser.evaluate(
        f"new Promise((done, fail) => {{ const late = Date.now() + 20000; const look = () => {condition} ? done(1) : "
        "Date.now() > late ? fail(new Error('never')) : setTimeout(look, 5); look(); })"
    )


def press(browser: chromium.Page, kind: str, key: str) -> None:
    browser.call("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=13, text="\r")


def first_dot(browser: chromium.Page) -> tuple[float, float, int]:
    """Where it is in the window, and the number of its flow."""
    return browser.evaluate(
        "(() => { const u = backwater.charts.slowdown, box = u.over.getBoundingClientRect();"
        " const { x, y, i, run } = backwater.dots()[0];"
        " return [box.left + u.valToPos(x, 'x'), box.top + u.valToPos(y, 'y'), run.explained.flow[i]]; })()"
    )


def close(browser: chromium.Page) -> None:
    browser.evaluate("[...document.querySelectorAll('#flow button')].find((one) => one.innerText === 'Close').click()")


def number_of(browser: chromium.Page, text: str) -> None:
    """Writes into the field for it, and waits there."""
    field = "document.querySelector('form input')"
    browser.evaluate(f"{field}.value = {json.dumps(text)}; {field}.focus()")


def test_browser_shows_where_a_flows_time_went(browser: chromium.Page, linked: Results) -> None:
    open_page(browser, linked.path / "report.html")
    shown = embedded(linked.path / "report.html")["runs"][0]
    details = unpacked(shown["explained"])
    browser.click("#flow-list tbody button")
    wait(browser, "backwater.flow()")
    assert browser.evaluate("backwater.flow().flow") == shown["explained"]["flow"][0]
    tree = browser.evaluate("document.querySelector('#flow-tree').innerText")
    for hop in details[0]["hops"]:
        assert hop["where"] in tree
        assert all(part[1] in tree for part in hop["parts"])
    bar = browser.evaluate("[...document.querySelectorAll('.timebar i')].map((one) => Number(one.style.flexGrow))")
    assert sum(bar) == pytest.approx(1)
    browser.evaluate("document.querySelector('.timebar i').click()")
    assert details[0]["hops"][0]["parts"][0][1] in browser.evaluate("document.querySelector('.timebar + p').innerText")
    assert set(series(browser, "flow-rate")) == {f"flow {details[0]['flow']}"}
    state = browser.evaluate("backwater.network()")
    assert state["way"] == details[0]["way"]
    ends = [0, *shown["network"]["ends"]]
    assert ends[state["span"][0]] <= details[0]["from"] <= ends[state["span"][0] + 1]
    assert details[0]["to"] <= ends[state["span"][1] + 1] or state["span"][1] + 1 == state["spans"]
    axes = (
        "['flow-rate', 'network'].map((id) => [backwater.charts[id].scales.x.min, backwater.charts[id].scales.x.max])"
    )
    rate, links = browser.evaluate(axes)
    assert rate == links
    browser.evaluate("document.querySelector('#flow input[value=run]').click()")
    rate, links = browser.evaluate(axes)
    assert rate == links == [0, shown["network"]["ends"][-1]]
    assert browser.evaluate("document.documentElement.scrollWidth <= innerWidth")
    close(browser)
    assert browser.evaluate("[backwater.flow(), backwater.network().way, backwater.network().span]") == [
        None,
        [],
        [0, state["spans"] - 1],
    ]
    assert browser.console == []


def test_browser_picks_flows_by_dot_finger_number_and_keyboard(browser: chromium.Page, linked: Results) -> None:
    open_page(browser, linked.path / "report.html")
    numbers = embedded(linked.path / "report.html")["runs"][0]["explained"]["flow"]
    browser.evaluate("document.querySelector('#slowdown-controls').scrollIntoView()")
    x, y, number = first_dot(browser)
    mouse = {"x": x, "y": y, "button": "left", "clickCount": 1}
    for kind in ("mouseMoved", "mousePressed", "mouseReleased"):
        browser.call("Input.dispatchMouseEvent", type=kind, **mouse)
    wait(browser, "backwater.flow()")
    assert browser.evaluate("backwater.flow().flow") == number
    assert browser.evaluate("document.activeElement.innerText") == f"Flow {number}", (
        "what there is to read has the focus"
    )
    assert not browser.evaluate("document.querySelector('.ring').hidden")
    close(browser)
    browser.evaluate("document.querySelector('#slowdown-controls').scrollIntoView()")
    x, y, _ = first_dot(browser)
    browser.call("Input.dispatchTouchEvent", type="touchStart", touchPoints=[{"x": x + 8, "y": y}])
    browser.call("Input.dispatchTouchEvent", type="touchEnd", touchPoints=[])
    wait(browser, "backwater.flow()")
    for asked in (numbers[3], numbers[-1]):
        number_of(browser, f" {asked}")
        press(browser, "keyDown", "Enter")
        press(browser, "keyUp", "Enter")
        wait(browser, f"backwater.flow().flow === {asked}")
    assert f"{len(numbers)} of {len(numbers)}" in browser.evaluate(
        "document.querySelector('#flow-list + .player').innerText"
    )
    number_of(browser, "99999999")
    browser.click("form button")
    assert "--flow 99999999 --page" in browser.evaluate("document.querySelector('form output').innerText")
    assert browser.console == []


def test_browser_does_without_links_and_with_several_runs(browser: chromium.Page, copied: Path) -> None:
    results = Results(copied)
    kept.keep(copied, [tail(results.run(label), 95) for label in ("BFC", "DCTCP")])
    open_page(browser, page_of(Results(copied)))
    assert browser.evaluate("backwater.network") is None
    browser.evaluate(
        "(() => { const s = document.querySelector('#why select'); s.value = 'DCTCP';"
        " s.dispatchEvent(new Event('change')); })()"
    )
    browser.click("#flow-list tbody button")
    wait(browser, "backwater.flow()")
    numbers = embedded(copied / "report.html")["runs"][1]["explained"]["flow"]
    assert browser.evaluate("backwater.flow().flow") == numbers[0]
    assert browser.evaluate("document.querySelectorAll('#flow-tree > li').length") > 1
    assert len(series(browser, "flow-rate")) == 1
    assert browser.console == []


def test_names_are_text(browser: chromium.Page, smoke: Path, tmp_path: Path) -> None:
    name = "<b id=planted>x</b></script><script>planted()</script>"
    flow_list = '[{ start = "1 us", src = "host0", dst = "host1", bytes = "3000 B" }]'
    (tmp_path / "named.toml").write_text(
        'scheme = "bfc"\n[topology]\nkind = "single-switch"\nhosts = 2\nrate = "100 Gbps"\ndelay = "1 us"\n'
        '[run]\nduration = "5 us"\nwarmup = "0 s"\n[measure]\nlinks = "1 us"\n'
        f'[[workload]]\nkind = "flow-list"\nclass = "{name}"\nflows = {flow_list}\n'
    )
    done = Experiment(tmp_path / "named.toml").simulate(tmp_path / "run")
    kept.keep(done.path, [done.runs[0].explain(0)])
    page = page_of(Results(done.path))
    assert "<b id=planted>" not in page.read_text()
    open_page(browser, page)
    browser.click("#flow-list tbody button")
    wait(browser, "backwater.flow()")
    assert browser.evaluate("document.querySelector('#planted')") is None
    assert name in browser.evaluate("document.querySelector('#flow').innerText")
    assert browser.console == []


@pytest.mark.long
def test_a_large_page_is_small(tmp_path: Path) -> None:
    """A thousand links over 10 ms, and five hundred flows."""
    done = Experiment(ROOT / "tests" / "data" / "large.toml").simulate(tmp_path / "large")
    kept.keep(done.path, [tail(done.runs[0], 99)])
    page = page_of(Results(done.path))
    shown = embedded(page)["runs"][0]
    assert len(shown["network"]["links"]) >= 2 * 1000
    assert shown["network"]["ends"][-1] >= 10e-3
    assert len(shown["explained"]["flow"]) >= 500
    assert page.stat().st_size < 10_000_000
