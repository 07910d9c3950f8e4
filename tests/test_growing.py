"""The page of a directory whose runs are being made: it grows, costs next to nothing, and goes at the end."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import chromium
from backwater import Experiment, InputError, Results
from backwater.cli import experiment as runner
from backwater.cli.terminal import Output
from backwater.common import signals
from backwater.common.signals import Stop
from backwater.execute import growing as beside
from backwater.execute import sweep
from backwater.execute.making import make
from backwater.runs.staging import partial
from backwater.runs.writer import PAGE, Writer
from backwater.show import growing
from conftest import Cli

SEEDS = 3


def seen(page: Path) -> str:
    """What the first line of a page says."""
    found = re.search(r"\d+ of \d+ runs are done", page.read_text()) if page.exists() else None
    return found[0] if found else ""


class Reader(sweep.Watch):
    """Waits after each run until the page has it, as a reader with a browser does."""

    def __init__(self, page: Path) -> None:
        self.page, self.pages = page, [seen(page)]
        self.ended = 0

    def on_tick(self, jobs: list[sweep.Job]) -> None: ...

    def on_done(self, job: sweep.Job) -> None:
        self.ended += 1
        until = time.monotonic() + 20
        while (now := seen(self.page)) != f"{self.ended} of {SEEDS} runs are done" and time.monotonic() < until:
            time.sleep(0.01)
        self.pages.append(now)


def made(smoke: Path, place: Path, page: Callable[[Path, int], str] | None) -> list[str]:
    """Makes some runs one by one. Returns what their page said after each."""
    making = Experiment(smoke, seeds=SEEDS).making(place, page=page)
    reader = Reader(partial(place) / PAGE)
    assert make([making], 1, reader, Stop())
    return reader.pages


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pages are not rationed."""
    monkeypatch.setattr(beside, "EVERY_S", 0.0)
    monkeypatch.setattr(beside, "SHARE", 1e9)


@pytest.mark.usefixtures("at_once")
def test_the_page_has_each_run_when_it_has_ended_and_goes_at_the_end(smoke: Path, tmp_path: Path) -> None:
    pages = made(smoke, tmp_path / "out", growing.page)
    assert pages == ["", *(f"{n} of {SEEDS} runs are done" for n in range(1, SEEDS + 1))]
    assert not (tmp_path / "out" / PAGE).exists(), "the report at the end is another"
    assert not partial(tmp_path / "out").exists()
    done = Results(tmp_path / "out")
    done.verify()
    assert not done.interrupted
    assert len(done.runs) == SEEDS


@pytest.mark.usefixtures("at_once")
def test_runs_are_the_same_with_a_page_and_without(smoke: Path, tmp_path: Path) -> None:
    def files(place: Path) -> dict[str, bytes]:
        return {
            str(path.relative_to(place)): path.read_bytes()
            for path in sorted(place.rglob("*"))
            if path.is_file() and path.name not in ("timing.json", "manifest.json")
        }

    made(smoke, tmp_path / "with", growing.page)
    Experiment(smoke, seeds=SEEDS).simulate(tmp_path / "without", threads=1)
    assert files(tmp_path / "with") == files(tmp_path / "without")
    runs = [Results(tmp_path / name).manifest.runs for name in ("with", "without")]
    assert runs[0] == runs[1]


def test_a_page_that_fails_stops_no_run(smoke: Path, tmp_path: Path) -> None:
    def fails(place: Path, runs: int) -> str:
        raise ZeroDivisionError(f"{place} {runs}")

    making = Experiment(smoke, seeds=2).making(tmp_path / "out", page=fails)
    assert make([making], 1, sweep.Watch(), Stop())
    assert len(Results(tmp_path / "out").runs) == 2


def test_a_signal_ends_a_page(results: Results, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(signals, "heard", [2])
    with pytest.raises(growing.Interrupted):
        growing.page(results.path, 30)


def test_a_page_that_is_late_is_not_written(tmp_path: Path) -> None:
    writer = Writer(tmp_path / "out", {})
    writer.write_page("in time")
    assert (writer.path / PAGE).read_text() == "in time"
    writer.commit(interrupted=False)
    assert not (tmp_path / "out" / PAGE).exists()
    with pytest.raises(InputError, match="has ended"):
        writer.write_page("late")


def test_pages_take_a_hundredth_of_the_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr(beside.time, "perf_counter", lambda: now[0])
    began: list[float] = []

    def page(place: Path, runs: int) -> str:
        began.append(now[0])
        now[0] += 0.1
        return ""

    writer = Writer(tmp_path / "out", {})
    pages = beside.Growing(writer, page, 1000)
    for recorded in range(1000):
        pages.look(recorded)
        if pages._thread is not None:
            pages._thread.join()
        now[0] += 0.1
    writer.close()
    assert began[0] >= beside.EVERY_S, "the first runs are not delayed"
    assert 9 <= len(began) <= 11, "of 100 s, with pages of 0.1 s"


@pytest.mark.parametrize("runs", [0, 1, 2])
def test_a_browser_shows_and_reloads_it(
    browser: chromium.Page, results: Results, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, runs: int
) -> None:
    part = Results(results.path)
    part.runs = part.runs[:runs]
    part.manifest.interrupted, part.manifest.complete = True, False
    monkeypatch.setattr(growing, "RunDirectory", lambda place: part)
    text = growing.page(results.path, 30)
    assert growing.RELOADS in text
    (tmp_path / PAGE).write_text(text)
    browser.open((tmp_path / PAGE).as_uri())
    assert browser.console == []
    shown = browser.evaluate("document.body.innerText")
    assert f"{runs} of 30 runs are done. This page reloads itself." in shown
    assert "Interrupted" not in shown
    assert [run.label in shown for run in results.runs] == [i < runs for i in range(len(results.runs))]


def test_a_browser_that_has_it_open_gets_the_next(
    browser: chromium.Page, results: Results, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(growing, "RELOADS", growing.RELOADS.replace("5", "1"))
    page, text = tmp_path / PAGE, growing.page(results.path, 30)
    page.write_text(text)
    browser.open(page.as_uri())
    page.write_text(text.replace("of 30 runs", "of 31 runs"))
    until, shown = time.monotonic() + 20, ""
    while "of 31 runs" not in shown and time.monotonic() < until:
        time.sleep(0.2)
        shown = browser.evaluate("document.body?.innerText ?? ''")
    assert "of 31 runs" in shown
    browser.open("about:blank")


def test_the_report_at_the_end_does_not_reload(results: Results) -> None:
    assert growing.RELOADS not in results.report().read_text()


def test_a_terminal_says_where_it_is(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    runner.tell_page([Path("runs/fig9")])
    assert capsys.readouterr().out == ""
    monkeypatch.setattr(Output, "is_terminal", True)
    said: list[str] = []
    monkeypatch.setattr(runner, "say", said.append)
    runner.tell_page([Path("runs/fig9"), Path("runs/fig10")])
    runner.tell_page([])
    assert said == ["Finished runs are on a page that grows: runs/.fig9.partial/report.html, and 1 more beside it"]


def test_a_command_leaves_the_report_alone(cli: Cli, smoke: Path, tmp_path: Path) -> None:
    done = cli("run", smoke, "--seeds", 2, "--out", "out")
    assert done.returncode == 0, done.stderr
    assert growing.RELOADS not in (tmp_path / "out" / PAGE).read_text()
    assert "grows" not in done.stdout
