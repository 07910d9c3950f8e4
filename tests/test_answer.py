"""The sentences that a page begins with say who wins, by how much, and who is equal."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import chromium
from backwater import Experiment, Results
from backwater.show import answer, report
from conftest import Cli

WHAT = "p99 slowdown of flows up to 3 KB"
EXPRESSION = {"slowdown": "p99", "sizes": "<=3000"}
SCHEMES = {
    "Ideal-FQ": "ideal-fq",
    "BFC": "bfc",
    "HPCC": "hpcc",
    "DCTCP": "dctcp",
    "ExpressPass": "expresspass",
    "TIMELY": "timely",
}

Value = tuple[float, float, float] | float | None


def page(values: dict[str, Value], **more: Any) -> dict[str, Any]:
    """Data of a page whose panel has these values: with an interval, without one, or none."""
    shown = []
    for name, given in values.items():
        value, low, high = given if isinstance(given, tuple) else (given, None, None)
        shown.append({"variant": name, "slot": 0, "point": {}, "value": value, "low": low, "high": high})
    summary = {"flows": {"finished": 9, "counted": 10}, "drops": {"buffer": 2, "credit": 7}}
    runs = [
        {
            "name": name,
            "shown": name,
            "variant": name,
            "named": name,
            "scheme": SCHEMES[name],
            "point": {},
            "summary": summary,
        }
        | {"slowdown": {}, "left_out": False}
        for name in values
    ]
    panel = {"label": "p99, short", "value": EXPRESSION}
    return {"runs": runs, "figure": {"panels": [panel]}, "panels": [{"label": "p99, short", "runs": shown}]} | more


def test_a_clear_winner() -> None:
    told = answer.sentences(
        page(
            {
                "Ideal-FQ": (3.69, 3.4, 4.0),
                "BFC": (19.5, 13.0, 31.4),
                "DCTCP": (158.0, 140.0, 180.0),
                "HPCC": (134.6, 120.0, 150.0),
            }
        )
    )
    assert told == [
        f"BFC has the lowest {WHAT}: 19.5 (13 to 31.4).",
        "HPCC is 6.9 times as high and DCTCP 8.1 times.",
        "The ideal (Ideal-FQ) is 3.69 (3.4 to 4).",
    ]


def test_a_tie_within_intervals() -> None:
    values: dict[str, Value] = {"BFC": (20.0, 13.0, 31.0), "ExpressPass": (21.0, 15.0, 30.0)}
    assert answer.sentences(page(values)) == [
        f"No scheme has a lower {WHAT} than another, within the intervals; the lowest is BFC's, 20 (13 to 31).",
        "ExpressPass equals BFC within the intervals.",
    ]
    assert answer.sentences(page({**values, "HPCC": (200.0, 150.0, 250.0)})) == [
        f"BFC has the lowest {WHAT}: 20 (13 to 31).",
        "HPCC is 10 times as high.",
        "ExpressPass equals BFC within the intervals.",
    ]


def test_worse_than_the_ideal_only() -> None:
    told = answer.sentences(page({"Ideal-FQ": (3.0, 2.9, 3.1), "BFC": (6.0, 5.0, 7.0)}))
    assert told == [
        f"BFC has a {WHAT} of 6 (5 to 7); no other scheme that can be built was run.",
        "The ideal (Ideal-FQ) is 3 (2.9 to 3.1).",
    ]
    (_, ideal) = answer.sentences(page({"Ideal-FQ": (5.5, 5.0, 6.0), "BFC": (6.0, 5.0, 7.0)}))
    assert ideal == "The ideal (Ideal-FQ) is 5.5 (5 to 6), which equals BFC within the intervals."
    assert answer.sentences(page({"Ideal-FQ": 5.5, "BFC": None})) == [
        "The ideal (Ideal-FQ) is 5.5.",
        f"No scheme that can be built has a number for the {WHAT}.",
    ]


def test_a_scheme_without_a_number() -> None:
    told = answer.sentences(page({"BFC": (6.0, 5.0, 7.0), "HPCC": (60.0, 50.0, 70.0), "DCTCP": None}))
    assert told[-1] == "DCTCP finished too few such flows for a number."
    assert told[0].startswith("BFC has the lowest")


def test_one_seed_has_no_interval() -> None:
    assert answer.sentences(page({"BFC": 19.5, "HPCC": 39.0})) == [
        f"BFC has the lowest {WHAT}: 19.5.",
        "HPCC is 2 times as high.",
        "With one seed there is no interval, so small differences may be chance.",
    ]


def test_the_same_value_of_one_seed_is_no_multiple() -> None:
    values: dict[str, Value] = {"BFC": 19.5, "HPCC": 19.5}
    assert answer.sentences(page(values))[:2] == [
        f"No scheme has a lower {WHAT} than another; the lowest is BFC's, 19.5.",
        "HPCC equals BFC.",
    ]
    assert answer.sentences(page({**values, "DCTCP": 39.0}))[:3] == [
        f"BFC has the lowest {WHAT}: 19.5.",
        "DCTCP is 2 times as high.",
        "HPCC equals BFC.",
    ]


def test_a_multiple_of_one_is_told_as_a_difference() -> None:
    values: dict[str, Value] = {"BFC": 200.49, "HPCC": 202.3, "DCTCP": 200.51}
    assert answer.sentences(page(values))[1:3] == ["DCTCP is less than 0.1 % higher.", "HPCC is 1.01 times as high."]
    assert answer.sentences(page({**values, "HPCC": 200.5}))[1] == "HPCC and DCTCP are less than 0.1 % higher."


def test_what_is_left_out_cannot_win() -> None:
    data = page({"BFC": 19.5, "HPCC": 1.0})
    data["runs"][1]["left_out"] = True
    assert answer.sentences(data) == [f"BFC has a {WHAT} of 19.5; no other scheme that can be built was run."]


def unfinished(data: dict[str, Any], left: dict[str, int]) -> dict[str, Any]:
    """So many of 100 flows of 3 KB at most, by run."""
    for run in data["runs"]:
        n = left.get(run["name"], 0)
        short = {"size_low_bytes": 0, "size_high_bytes": 3000, "flows": 100 - n, "unfinished": n, "p99": 2.0}
        run["slowdown"] = {"background": [short], "incast": [short | {"unfinished": 100}]}
    return data


def test_flows_that_did_not_finish_are_mentioned() -> None:
    data = unfinished(page({"BFC": 2.0, "HPCC": 1.0}), {"HPCC": 10})
    told = "HPCC left 10.0 % of these flows unfinished; its number counts them with their age at the end."
    assert told in answer.sentences(data)
    data = unfinished(page({"BFC": 2.0, "HPCC": 1.0, "DCTCP": 3.0}), {"HPCC": 10, "DCTCP": 12})
    told = "HPCC left 10.0 % of these flows unfinished and DCTCP 12.0 %; their numbers count them with their age at the"
    assert f"{told} end." in answer.sentences(data)


def test_a_size_bin_is_of_those_that_finished() -> None:
    data = unfinished(page({"BFC": 2.0, "HPCC": 1.0}, figure={}), {"HPCC": 10})
    assert "HPCC left 10.0 % of these flows unfinished; its number leaves them out." in answer.sentences(data)


def test_many_that_did_not_finish_their_flows_are_counted() -> None:
    values = {name: 2.0 + i for i, name in enumerate(SCHEMES)}
    left = {name: 10 + i for i, name in enumerate(SCHEMES)}
    told = next(one for one in answer.sentences(unfinished(page(values), left)) if "unfinished" in one)
    assert told.startswith(
        f"{len(SCHEMES)} schemes left 10.0 % to {10 + len(SCHEMES) - 1}.0 % of these flows unfinished;"
    )


@pytest.fixture(scope="module")
def swept(smoke: Any, tmp_path_factory: pytest.TempPathFactory) -> Results:
    sets = {"sweep.workload.0.load": [0.2, 0.6], "sweep.scheme": ["bfc", "dctcp"]}
    return Experiment(smoke, sets=sets).simulate(tmp_path_factory.mktemp("runs") / "swept")


def test_a_sweep_says_who_wins_at_its_last_point_and_at_how_many(swept: Results) -> None:
    told = swept.answer
    assert "of background flows up to 1 KB at load 0.6: " in told[0]
    lowest = re.fullmatch(r"(\w+) is lowest at (all 2|1 of the 2) points(?: and (\w+) at 1)?\.", told[-1])
    assert lowest
    assert (lowest[2] == "all 2") == (lowest[3] is None)
    at_last = {
        run.scheme: next(row["p99"] for row in run.summary["slowdown"] if row["class"] == "background")
        for run in swept.runs
        if run.params["workload.0.load"] == 0.6
    }
    assert told[0].startswith(f"{min(at_last, key=at_last.__getitem__)} has the lowest")


def test_a_single_run_says_its_facts(smoke: Any) -> None:
    done = Experiment(smoke).simulate()
    flows = done.runs[0].summary["flows"]
    slowdown, finished = done.answer
    assert slowdown.startswith("The p99 slowdown of background flows up to 1 KB is ")
    assert finished.startswith(f"{flows['finished']:,} of {flows['counted']:,} counted flows finished, and ")


def test_runs_of_which_the_same_is_true_share_a_sentence() -> None:
    def run(name: str, finished: int, dropped: int) -> Any:
        summary = {"flows": {"counted": 9, "finished": finished}, "drops": {"buffer": dropped}}
        return {"shown": name, "summary": summary}

    one, other, third = run("BFC", 9, 0), run("HPCC", 9, 0), run("DCTCP", 8, 1)
    assert answer.facts_of_each([one, third, other]) == [
        "BFC and HPCC: 9 of 9 counted flows finished, and no packet was dropped.",
        "DCTCP: 8 of 9 counted flows finished, and 1 packet was dropped.",
    ]
    assert answer.facts_of_each([one] * 5 + [third])[0].startswith("5 runs: 9 of 9 ")


MADE_UP: dict[str, dict[str, Value]] = {
    "clear winner": {"Ideal-FQ": (3.6, 3.4, 4.0), "BFC": (19.5, 13.0, 31.4), "DCTCP": (158.0, 140.0, 180.0)},
    "tie within intervals": {"Ideal-FQ": (3.6, 3.4, 4.0), "BFC": (20.0, 13.0, 31.0), "DCTCP": (21.0, 15.0, 30.0)},
    "worse than the ideal only": {"Ideal-FQ": (3.0, 2.9, 3.1), "BFC": (6.0, 5.0, 7.0)},
    "missing scheme": {"Ideal-FQ": (3.0, 2.9, 3.1), "BFC": (6.0, 5.0, 7.0), "DCTCP": None},
    "one seed": {"Ideal-FQ": 3.0, "BFC": 19.5, "DCTCP": 39.0},
}


@pytest.mark.parametrize("name", MADE_UP)
def test_the_page_shows_it_for_five_made_up_results(
    name: str, results: Results, tmp_path: Path, browser: chromium.Page
) -> None:
    """The page of three schemes, with other numbers in its panel."""
    values = MADE_UP[name]
    data = report.page_data([results])
    data |= {key: value for key, value in page(values).items() if key in ("figure", "panels")}
    data["runs"] = [run for run in data["runs"] if run["name"] in values]
    told = answer.sentences(data)
    (tmp_path / "report.html").write_text(report.render({**data, "answer": told}))
    browser.open((tmp_path / "report.html").as_uri())
    assert browser.console == []
    assert browser.evaluate("document.getElementById('answer').innerText") == " ".join(told)
    first = {
        "clear winner": "BFC has the lowest p99 slowdown of flows up to 3 KB: 19.5 (13 to 31.4).",
        "tie within intervals": "No scheme has a lower p99 slowdown of flows up to 3 KB than another, within the",
        "worse than the ideal only": "BFC has a p99 slowdown of flows up to 3 KB of 6 (5 to 7); no other scheme",
        "missing scheme": "BFC has a p99 slowdown of flows up to 3 KB of 6 (5 to 7); no other scheme",
        "one seed": "BFC has the lowest p99 slowdown of flows up to 3 KB: 19.5.",
    }
    assert told[0].startswith(first[name])
    last = {"missing scheme": "DCTCP finished too few such flows for a number.", "one seed": "With one seed there is"}
    assert told[-1].startswith(last.get(name, "The ideal (Ideal-FQ) is"))
    dots = browser.evaluate("[...document.querySelectorAll('#panels .dot')].map((dot) => dot.textContent)")
    assert len(dots) == sum(value is not None for value in values.values()), "a dot for each number"
    hollow = browser.evaluate(
        "[...document.querySelectorAll('#panels .dot')]"
        ".filter((dot) => dot.getAttribute('fill') !== dot.getAttribute('stroke')).map((dot) => dot.textContent)"
    )
    assert [text.split(": ")[0].rpartition(", ")[2] for text in hollow] == ["Ideal-FQ"]


def test_the_page_and_the_command_begin_with_it(cli: Cli, smoke: Path, tmp_path: Path, browser: chromium.Page) -> None:
    done = cli("run", smoke, "--out", "here")
    assert done.returncode == 0, done.stderr
    told = Results(tmp_path / "here").answer
    assert told
    lines = done.stdout.splitlines()
    report = lines.index("Report: here/report.html")
    assert " ".join(lines[:report]).endswith(" ".join(told))
    browser.open((tmp_path / "here" / "report.html").as_uri())
    assert browser.evaluate("document.getElementById('answer').textContent") == " ".join(told)
