"""Why a tail is slow is on the page by itself, where finding out costs little beside the runs."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import chromium
from backwater import Experiment, Results
from backwater.cli import printing
from backwater.runs import kept
from backwater.show import report, tails
from backwater.show.answer import Entry, Measurement
from conftest import Cli


@pytest.fixture(scope="module")
def fits(three: Path, tmp_path_factory: pytest.TempPathFactory) -> Results:
    """Three short runs: what a second one costs is little beside the report."""
    return Experiment(three, seed=7).run(tmp_path_factory.mktemp("runs") / "fits")


@pytest.fixture(scope="module")
def long(smoke: Path, tmp_path_factory: pytest.TempPathFactory) -> Results:
    """One run that costs more than a tenth of itself and its report."""
    return Experiment(smoke, **{"run.duration": "20 ms"}).run(tmp_path_factory.mktemp("runs") / "long")


def explained(done: Results) -> list[str]:
    return [run.label for run in done.runs if kept.of(run)]


def test_the_longest_and_the_best_tail_of_short_runs_are_explained(browser: chromium.Page, fits: Results) -> None:
    found = report.measured(fits)
    assert found is not None
    values = {entry.label: entry.known for entry in found.entries if entry.can_win}
    ranked = sorted(values, key=values.__getitem__)
    assert explained(fits) == sorted({ranked[0], ranked[-1]}) == ["BFC", "DCTCP"]
    for label in explained(fits):
        one = kept.of(fits.run(label))
        assert one is not None
        assert one.tail is not None
        assert (one.tail.percentile, one.tail.flow_class, one.tail.above, one.tail.below) == (
            99.0,
            found.flow_class,
            found.above,
            found.below,
        )
        assert one.tail.slowdown == pytest.approx(values[label]), "it is the tail that the first sentence compares"
    browser.open((fits.path / "report.html").as_uri())
    told = browser.evaluate("[...document.querySelectorAll('#why .finding')].map((one) => one.textContent)")
    assert [text.split(",")[0] for text in told] == ["BFC", "DCTCP"]
    assert all("Their time: " in text for text in told)
    assert browser.console == []


def test_of_a_long_run_the_command_stands_there(
    browser: chromium.Page, long: Results, tmp_path: Path, cli: Cli
) -> None:
    (run,) = long.runs
    assert tails.cost(run) > tails.budget(long)
    assert explained(long) == []
    browser.open((long.path / "report.html").as_uri())
    command = browser.evaluate("document.querySelector('#why pre').textContent")
    assert command.startswith(f"backwater explain {long.path} --run {run.label} --class background --below ")
    copied = Path(shutil.copytree(long.path, tmp_path / "copied"))
    done = cli(*command.replace(str(long.path), str(copied)).split()[1:])
    assert done.returncode == 0, done.stderr
    assert explained(Results(copied)) == [run.label]


def test_a_tenth_is_of_the_runs_and_their_report(long: Results, fits: Results) -> None:
    hops = long.runs[0].summary["packet_hops"]
    assert tails.budget(long) == pytest.approx(0.1 * (hops + tails.REPORT_HOPS))
    for done in (long, fits):
        spent = sum(tails.cost(done.run(label)) for label in explained(done))
        assert spent <= tails.budget(done)


def test_a_run_that_drops_packets_costs_more(fits: Results, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its packet-hops take longer: of BFC's run without pausing in figure 17, five times as long."""
    run = fits.runs[0]
    lossless = tails.cost(run)
    monkeypatch.setitem(run.summary["drops"], "buffer", run.summary["packet_hops"] // 5)
    assert tails.cost(run) == pytest.approx(5 * lossless, rel=1e-3)


def test_it_is_the_same_on_any_number_of_threads_and_from_the_command_line(
    fits: Results, three: Path, tmp_path: Path, cli: Cli
) -> None:
    assert cli("run", three, "--set", "seed=7", "--out", "here", "--threads", 1).returncode == 0
    other = Results(tmp_path / "here")
    assert [run.entry for run in other.runs] == [run.entry for run in fits.runs]
    other.verify()


def test_what_is_explained_already_stays(fits: Results) -> None:
    assert tails.explained(fits) == []


def test_a_run_that_this_version_makes_otherwise_is_left_out(
    three: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = Experiment(three, seed=7).simulate(tmp_path / "here")
    monkeypatch.setattr(done.run("DCTCP").entry, "digest", "0" * 64)
    assert [one.label for one in tails.explained(done)] == ["BFC"]


def test_a_computation_has_no_tail(tmp_path: Path) -> None:
    done = Experiment(Path("experiments/bfc/fig3.toml"), scale="smoke").simulate(tmp_path / "here")
    assert tails.explained(done) == []


def test_the_ends_are_of_schemes_that_can_be_built_at_the_last_point() -> None:
    def entry(name: str, value: float | None, load: float, scheme: str = "bfc") -> Entry:
        return Entry(name, value, scheme=scheme, point={"load": load}, label=f"{name}.load={load}")

    entries = [
        *(entry("A", 9.0, 0.2), entry("A", 2.0, 0.8), entry("B", 3.0, 0.8), entry("C", 4.0, 0.8)),
        *(entry("Ideal", 99.0, 0.8, "ideal-fq"), entry("D", None, 0.8)),
    ]
    assert [one.label for one in tails.ends(Measurement("p99", entries))] == ["C.load=0.8", "A.load=0.8"]
    assert [one.label for one in tails.ends(Measurement("p99", entries[:1]))] == ["A.load=0.2"]
    assert tails.ends(Measurement("p99", entries[-2:])) == []


def test_the_last_line_says_that_the_report_explains(fits: Results, long: Results) -> None:
    assert "the report says where slow flows of BFC and DCTCP spent their time" in printing.tried_next(fits)
    assert f"`backwater compare {fits.path}`" in printing.tried_next(fits)
    assert printing.tried_next(long).startswith(f"`backwater explain {long.path}` ")
