"""Scenarios as dictionaries, changes on top, and results as notebooks and other libraries take them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import matplotlib as mpl
import pyarrow as pa
import pytest
from matplotlib import pyplot

from backwater import Experiment, InputError, Results
from conftest import SMOKE

SCENARIO = {
    "name": "mine",
    "scheme": "bfc",
    "topology": {"kind": "single-switch", "hosts": 4, "rate": "100 Gbps", "delay": "1 us"},
    "workload": [
        {"kind": "background", "sizes": {"fixed": "10 KB"}, "load": 0.5, "load_of": "receivers"},
        {"kind": "incast", "class": "burst", "degree": 3, "aggregate": "30 KB", "period": "50 us"},
    ],
    "run": {"duration": "100 us"},
}


def test_a_scenario_is_a_file_or_a_dictionary(tmp_path) -> None:
    written = tmp_path / "mine.toml"
    written.write_text(
        'name = "mine"\nscheme = "bfc"\n'
        'topology = { kind = "single-switch", hosts = 4, rate = "100 Gbps", delay = "1 us" }\n'
        'run = { duration = "100 us" }\n[[workload]]\nkind = "background"\nsizes = { fixed = "10 KB" }\n'
        'load = 0.5\nload_of = "receivers"\n'
        '[[workload]]\nkind = "incast"\nclass = "burst"\ndegree = 3\naggregate = "30 KB"\nperiod = "50 us"\n'
    )
    assert Experiment(SCENARIO).scenarios == Experiment(written).scenarios
    assert Experiment(SCENARIO).name == "mine"


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"scheme": "bfg"}, 'the dictionary: scheme = "bfg": unknown scheme'),
        ({"workload": [{"kind": "background", "sizes": {"fixed": "10 KB"}, "load": 2.0}]}, "workload.0.load = 2"),
        ({"topology": None}, "topology = None: expected a text, a number, a truth, a list or a table"),
        ({3: 4}, "3 = 3: expected a text as key"),
        ({"extends": "none.toml"}, "none.toml"),
    ],
)
def test_what_is_wrong_in_a_dictionary_is_said(changes: dict, says: str) -> None:
    with pytest.raises(InputError) as refused:
        Experiment({**SCENARIO, **changes})
    assert says in str(refused.value)


def test_changes_are_on_top_of_earlier_ones() -> None:
    base = Experiment(SCENARIO, seed=3)
    other = base.with_({"burst.degree": 2}, scheme="dctcp")
    assert base.labels == ["bfc"]
    (scenario,) = other.scenarios.values()
    assert (scenario["scheme"], scenario["seed"], scenario["workload"][1]["degree"]) == ("dctcp", 3, 2)
    varied = other.with_(vary={"load": (0.2, 0.4)}, seeds=2)
    assert varied.labels == [f"dctcp.load={load}.seed={seed}" for load in (0.2, 0.4) for seed in (1, 2)]
    smoke = Experiment(SMOKE.parent / "bfc/fig9.toml", scale="smoke")
    assert smoke.with_(seed=2).scale == "smoke"
    assert smoke.with_(scale="paper").scale == "paper"


def test_a_dictionary_runs(tmp_path) -> None:
    done = Experiment(SCENARIO).run(tmp_path / "out")
    assert done.manifest.command.startswith("backwater run mine.toml")
    assert done.complete


def test_results_are_taken_by_other_libraries(results: Results) -> None:
    table = pa.table(results)
    assert table.equals(results.table("summary"))
    assert [row["label"] for row in table.to_pylist()] == ["BFC", "DCTCP", "Ideal-FQ"]
    assert results.__dataframe__().num_rows() == 3


def test_differences_of_times_may_be_negative(results: Results) -> None:
    answer = results.sql(
        "select min(arrival_ps - finish_rx_ps) as least, min(src_port) from flows".replace("src_port", "port")
    )
    assert answer["least"].to_pylist()[0] < 0
    kinds = {str(field.type) for run in results.runs for name in run.tables for field in run.table(name).schema}
    assert not any(kind.startswith("uint") for kind in kinds)


def test_notebooks_show_experiments_and_results(results: Results) -> None:
    shown = Experiment({**SCENARIO, "description": "<b>bold</b>"}, vary={"load": [0.1, 0.2]})._repr_html_()
    assert "2 runs" in shown
    assert "&lt;b&gt;bold" in shown
    page = results._repr_html_()
    assert page.count("<tr>") == 4
    assert "Ideal-FQ" in page
    many = Experiment(SCENARIO, seeds=40)._repr_html_()
    assert "and 10 more" in many


def test_figures_are_axes(results: Results) -> None:
    average, _, p99 = results.plot.slowdown()
    assert {line.get_label() for line in average.get_lines()} == {"BFC", "DCTCP", "Ideal-FQ"}
    assert p99.get_yscale() == "log"
    assert results.plot.active_flows()
    assert "slowdown-incast" in dir(results.plot)
    with pytest.raises(InputError, match="no figure 'panels'; there is slowdown-background"):
        results.plot.panels()


def test_slowdown_is_that_of_the_first_class_if_none_is_called_background(results: Results, tmp_path: Path) -> None:
    assert results.plot.slowdown()[0].get_xlabel() == "background flow size"
    web = {**SCENARIO, "workload": [{**SCENARIO["workload"][0], "class": "web"}, SCENARIO["workload"][1]]}
    plot = Experiment(web).run(tmp_path / "web").plot
    assert plot.slowdown()[0].get_xlabel() == "web flow size"
    assert plot.slowdown("burst")[0].get_xlabel() == "burst flow size"
    with pytest.raises(InputError, match="flow_class = 'background': expected one of web, burst"):
        plot.slowdown("background")


def test_a_figure_is_drawn_as_it_is_asked_for(results: Results, tmp_path: Path) -> None:
    two = results.plot.slowdown(variants=["BFC", "DCTCP"], log=True)
    assert all(len(axes.get_lines()) == 2 and axes.get_yscale() == "log" for axes in two)
    assert results.plot.slowdown(log=False)[0].get_yscale() == "linear"
    assert results.plot.buffer(variants="BFC")[0].get_lines()
    for style, width in (("acm-column", 3.33), ("ieee-column", 3.5), ("ieee-page", 7.16)):
        assert results.plot.slowdown(style=style)[0].figure.get_figwidth() == width
    sheet = tmp_path / "mine.mplstyle"
    sheet.write_text("lines.linewidth: 7\n")
    assert results.plot.slowdown(style=sheet)[0].title.get_fontsize() > 0
    with pytest.raises(InputError, match=r"variants: no variant 'HPCC'; there are BFC, DCTCP, Ideal-FQ"):
        results.plot.slowdown(variants=["HPCC"])
    with pytest.raises(InputError, match=r"style = 'acm': expected a file, or one of acm-column, .*, ggplot"):
        results.plot.slowdown(style="acm")


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (
            {"figsize": (3, 2)},
            r"^figsize: no such option; did you mean size\? expected one of size, style, variants, log, ax",
        ),
        ({"logg": True}, r"^logg: no such option; did you mean log\?"),
        ({"variants": []}, r"^variants = \[\]: expected one variant or more"),
        ({"ax": 3}, r"^ax = 3: expected axes of Matplotlib"),
        ({"ax": []}, r"^ax = \[\]: expected axes of Matplotlib"),
        ({"flow_class": "p99"}, r"^flow_class = 'p99': expected one of background, incast"),
    ],
)
def test_a_wrong_option_of_a_figure_is_refused(results: Results, options: dict, told: str) -> None:
    with pytest.raises(InputError, match=told):
        results.plot.slowdown(**options)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"formats": "png"}, r"^formats = 'png': expected a list of formats, such as \['png'\]$"),
        ({"formats": ["gif"]}, r"^formats: 'gif': expected one of png, svg, pdf$"),
        ({"size": "wide"}, r"^size 'wide': expected one of page, column, "),
    ],
)
def test_a_wrong_option_of_the_report_is_refused(results: Results, options: dict, told: str) -> None:
    with pytest.raises(InputError, match=told):
        results.report(**options)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (lambda: Experiment([1]), r"^source = \[1\]: expected a scenario file, the name of a published experiment"),
        (lambda: Experiment.of(3, {}, duration=1e-4), r"^topology: int: expected one of backwater\.topology, such as"),
        (lambda: Experiment.of({}, 3, duration=1e-4), r"^workload: int: expected one of backwater\.workload, such as"),
        (lambda: Experiment.of({}, [{}, 3], duration=1e-4), r"^workload: list: expected one of backwater\.workload"),
        (lambda: Experiment.of({}, {}, schemes=3, duration=1e-4), r"^schemes = 3: expected a scheme such as 'bfc'"),
    ],
)
def test_what_is_no_experiment_is_refused(given: Callable[[], Experiment], told: str) -> None:
    with pytest.raises(InputError, match=told):
        given()


def test_figures_say_shortly_what_they_are(results: Results) -> None:
    assert repr(results.plot).startswith(f"Plots('{results.path}': slowdown-background, ")


def test_a_figure_is_drawn_into_axes_of_yours(results: Results) -> None:
    figure, axes = pyplot.subplots(1, 3)
    assert results.plot.slowdown(ax=axes) == list(axes)
    assert all(one.get_lines() for one in axes)
    assert len(figure.axes) == 3
    with pytest.raises(InputError, match=r"ax: 1 axes: expected 3, one for each panel of this figure"):
        results.plot.slowdown(ax=axes[0])
    pyplot.close(figure)
    assert results.plot.slowdown()[0].figure is not figure, "the next figure is a new one"


def test_what_you_set_in_matplotlib_wins(results: Results) -> None:
    assert results.plot.slowdown()[0].yaxis.label.get_fontsize() == 7.5
    with mpl.rc_context({"axes.labelsize": 15, "axes.facecolor": "#eeeeee"}):
        label = results.plot.slowdown()[0]
        assert label.yaxis.label.get_fontsize() == 15
        assert mpl.colors.to_hex(label.get_facecolor()) == "#eeeeee"
    assert results.plot.slowdown()[0].yaxis.label.get_fontsize() == 7.5
