"""Computations: their closed forms by independent means, and that files of them are checked, run, judged and drawn."""

from __future__ import annotations

import copy
import itertools
import json
import math
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import backwater
from backwater import Experiment, InputError, _core
from backwater.compute import bfc_switch, chip, fair_share, flow_sizes, fluid, hashed_queues, starvation
from backwater.compute import processor_sharing as sharing
from backwater.compute.registry import COMPUTATIONS
from backwater.compute.sizes import Sizes
from backwater.judge import claims
from backwater.scenario import experiments
from backwater.show import report
from conftest import Cli, alone, known, written

Quick = Callable[[str], backwater.Results]
SCALES = ("smoke", "quick", "paper")
COMPUTED = [name for name in experiments.known() if "compute" in written(name)]


# Files.


def test_every_computation_has_an_experiment() -> None:
    used = {run["compute"]["kind"] for name in COMPUTED for run in known(name).scenarios.values()}
    assert used == COMPUTATIONS.keys()
    assert len(COMPUTED) == 10


@pytest.mark.parametrize("name", COMPUTED)
def test_every_scale_loads_and_says_everything(name: str) -> None:
    for scale in SCALES:
        experiment = Experiment(experiments.known()[name], scale=scale)
        assert experiment.plan.description
        for scenario in experiment.scenarios.values():
            assert scenario.keys() == {"name", "description", "seed", "compute"}
            kind = COMPUTATIONS[scenario["compute"]["kind"]]
            assert scenario["compute"].keys() == {"kind", *kind.parameters}


def test_parameters_and_results_are_told() -> None:
    schema = json.loads(_core.scenario_schema(backwater.compute.registry.SCHEMAS))
    forms = {form["properties"]["kind"]["const"]: form for form in schema["properties"]["compute"]["oneOf"]}
    assert forms.keys() == COMPUTATIONS.keys()
    for kind, one in COMPUTATIONS.items():
        assert all(
            parameter["description"] for parameter in forms[kind]["properties"].values() if "const" not in parameter
        )
        assert set(one.facts) <= one.results.keys()


STARVATION = """
[compute]
kind = "starvation"
threshold = 1
slots = 50

[sweep]
"compute.ratio" = [1.5, 2, 3]

[figure]
panels = [{ label = "starved", value = { result = "starved" }, marks = { "worst" = 2 } }]

[[expect]]
claim = "mine.1"
kind = "equals"
variant = "starvation"
where = { "compute.ratio" = 2 }
scales = [""]
value = { result = "starved" }
expected = 0.2
"""


@pytest.mark.parametrize(
    ("old", "new", "parts"),
    [
        ("threshold = 1", "threshold = 0", ["bad.toml:4: compute.threshold = 0: expected a number, above 0"]),
        ("threshold = 1", "treshold = 1", ["bad.toml:4: compute.treshold = 1: unknown key", '"threshold"']),
        (
            '"starvation"\nth',
            '"starving"\nth',
            ["bad.toml:3: compute.kind", '"starvation"', "expected one of", '"chip"'],
        ),
        ("[1.5, 2, 3]", '[1.5, "x"]', ["compute.ratio", "expected a number", "starvation.ratio=x"]),
        ('result = "starved" }\nexp', 'result = "starve" }\nexp', ["bad.toml:19: expect.0.value.result", '"starved"']),
        ('result = "starved" }\nexp', 'slowdown = "p99" }\nexp', ["a computation has no slowdown"]),
        ("slots = 50", 'slots = 50\nrtt = "1 us"', ["bad.toml:6: compute.rtt", "unknown key"]),
        ("[compute]", 'scheme = "bfc"\n[compute]', ["bad.toml:2: scheme", "unknown key"]),
        ("2 } }", '"near" } }', ["figure.panels.0.marks.worst", "expected a number"]),
    ],
)
def test_files_are_refused_before_anything_runs(tmp_path: Path, old: str, new: str, parts: list[str]) -> None:
    assert old in STARVATION
    file = tmp_path / "bad.toml"
    file.write_text(STARVATION.replace(old, new, 1))
    with pytest.raises(InputError) as refusal:
        Experiment(file)
    for part in parts:
        assert part in str(refusal.value)


def test_a_wrong_table_is_refused_by_its_line(tmp_path: Path) -> None:
    (tmp_path / "sizes.csv").write_text("size_bytes,cdf\n100,0.5\n90,1\n")
    (tmp_path / "mine.toml").write_text('[compute]\nkind = "flow-sizes"\nsizes = { file = "sizes.csv" }\n')
    with pytest.raises(InputError, match=r"sizes\.csv:3: size 90 after 100: expected sizes that do not fall"):
        Experiment(tmp_path / "mine.toml")
    (tmp_path / "sizes.csv").write_text("size_bytes,cdf\n100,0.5\n300,1\n")
    done = Experiment(tmp_path / "mine.toml").run()
    assert done.run("flow-sizes").summary["results"]["mean"] == 0.5 * 100 + 0.5 * 200


# Runs.


def test_a_run_is_written_read_and_judged(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(STARVATION)
    done = Experiment(file).run(tmp_path / "run")
    assert [run.label for run in done.runs] == ["starvation.ratio=1.5", "starvation.ratio=2", "starvation.ratio=3"]
    assert done.complete
    for run in done.runs:
        run.verify()
        assert run.tables == []
        assert run.scheme == "starvation"
        assert run.scenario["compute"]["slots"] == 50
        x = run.scenario["compute"]["ratio"]
        assert run.summary["results"]["starved"] == pytest.approx(starvation.starved(x, 1), rel=1e-11)
    assert [row["verdict"] for row in done.claims] == ["pass"]
    done.report()
    assert (tmp_path / "run" / "figures" / "panels.png").stat().st_size > 10_000
    data = report.page_data([done])
    assert data["panels"][0]["marks"] == {"worst": 2}
    assert [run["value"] for run in data["panels"][0]["runs"]] == [
        run.summary["results"]["starved"] for run in done.runs
    ]
    again = Experiment(file).run(threads=3)
    assert again.digest == done.digest
    assert Experiment(file, **{"compute.slots": 51}).run().digest != done.digest


def test_what_ended_is_not_computed_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(STARVATION)
    law = starvation.starved

    def breaks(x: float, a: float) -> float:
        if x == 3:
            raise RuntimeError("out of luck")
        return law(x, a)

    monkeypatch.setattr(starvation, "starved", breaks)
    with pytest.raises(
        backwater.execute.sweep.SimulatorError, match=r"run 'starvation.ratio=3': out of luck\n2 of 3 runs"
    ):
        Experiment(file).run(tmp_path / "run", threads=1)
    calls = []
    monkeypatch.setattr(starvation, "starved", lambda x, a: calls.append(x) or law(x, a))
    done = Experiment(file).run(tmp_path / "run", threads=1)
    assert calls == [3]
    assert done.complete
    assert len(done.runs) == 3


def test_the_command_line_takes_them_as_it_takes_others(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(STARVATION)
    done = cli("check", "mine.toml")
    assert (done.returncode, done.stdout) == (0, "mine.toml: valid. 3 computations of starvation.\n")
    done = cli("run", "mine.toml", "--out", "here", "--claims")
    assert done.returncode == 0, done.stderr
    assert "worst_ratio" in done.stdout
    assert "mine.1" in done.stdout
    assert "0 packet-hops" not in done.stdout
    page = (tmp_path / "here" / "report.html").read_text()
    assert '"starved":0.2' in page
    done = cli("compare", "here")
    assert done.returncode == 0, done.stderr
    assert "simulated_longest" in done.stdout
    assert cli("report", "here").returncode == 0
    changed = (tmp_path / "mine.toml").read_text().replace("expected = 0.2", "expected = 0.21")
    (tmp_path / "wrong.toml").write_text(changed)
    assert cli("run", "wrong.toml", "--out", "there").returncode == 1
    for words in (
        ("plan", "flowsail", "mine.toml"),
        ("export", "hpcc", "mine.toml", "out", "--run", "starvation.ratio=2"),
    ):
        done = cli(*words)
        assert done.returncode == 2
        assert "mine.toml: a computation: expected a scenario of a network" in done.stderr


# Claims.


SHORTER = {
    "bfc-fig3": {"compute.flows": 12_000},
    "bfc-sec2-3": {"compute.flows": 100_000},
    "bfc-sec3-2": {"compute.trials": 6_000},
}
"""Enough for claims to hold, and for those with other numbers to fail."""


@cache
def computed(name: str, shared: Path) -> backwater.Results:
    """With as few flows as do; what is drawn at random agrees with these seeds."""
    sets = SHORTER.get(name, {})
    place = shared / f"quick-{name}"
    place.mkdir(exist_ok=True)
    with alone(place):
        if (done := place / "done").exists():
            return backwater.Results(done)
        return Experiment(experiments.known()[name], scale="quick", sets=sets).simulate(done)


@pytest.fixture
def quick(shared: Path) -> Quick:
    """Runs an experiment that computes, at quick scale, once for all processes of the tests."""
    return lambda name: computed(name, shared)


FACTS = {
    *("bfc-fig1.1", "bfc-fig1.2", "bfc-fig1.3", "talk-fig1.1", "talk-sec1.1", "bfc-fig2.2", "bfc-fig2.3", "bfc-fig2.4"),
    *("bfc-sec2.3.2", "bfc-sec2.3.3", "bfc-sec2.3.4", "bfc-headline.5", "bfc-headline.6", "bfc-headline.7"),
    *(f"bfc-sec3.3.1.{n}" for n in (1, 3, 4, 5, 7, 8, 9, 10)),
    *("bfc-sec4.1", "bfc-fig7.5"),
}
NOT_RUN = {"own-bfc-sec2.3.3"}


@pytest.mark.parametrize("name", COMPUTED)
def test_every_claim_holds_or_is_a_fact(name: str, quick: Quick) -> None:
    for row in claims.of(quick(name)):
        wanted = "fact" if row["claim"] in FACTS else "not-run" if row["claim"] in NOT_RUN else "pass"
        assert row["verdict"] == wanted, row


def changed(expectation: dict[str, Any]) -> list[dict[str, Any]]:
    """The same claim with its numbers 5 % further off than it tolerates, and with its orders turned round."""
    cases = []
    for factor in (-1, 1):
        other = copy.deepcopy(expectation)
        room = 1 + factor * (0.05 + 2 * other.get("tolerance", 0))
        if "expected" in other:
            other["expected"] *= room
            cases.append(other)
    if "chains" in expectation:
        cases.append(expectation | {"chains": [chain[::-1] for chain in expectation["chains"]]})
    return cases


CHANGED = [
    (name, other) for name in COMPUTED for expectation in known(name).plan.expect for other in changed(expectation)
]


@pytest.mark.parametrize(("name", "expectation"), CHANGED, ids=[f"{n}:{e['claim']}" for n, e in CHANGED])
def test_a_claim_with_other_numbers_fails(name: str, expectation: dict[str, Any], quick: Quick) -> None:
    (row,) = claims.evaluate([expectation], quick(name))
    assert row["verdict"] == "fail"


def test_bounds_are_no_wider_than_five_percent_beyond_what_is_measured_where_they_are_the_papers(quick: Quick) -> None:
    """Of the claims with bounds: the same with results 5 % or more on the other side of them."""
    for name, claim, bound in (
        ("bfc-fig2", "bfc-fig2.1", {"low": 0.438 * 1.05}),
        ("bfc-sec3-3-1", "bfc-sec3.3.1.2", {"high": 0.00964 * 0.95}),
        ("bfc-fig30", "bfc-fig30.4", {"high": 0.83 * 0.78}),
        ("bfc-fig30", "own-bfc-fig30.1", {"low": 1.05, "high": 1.1}),
    ):
        (expectation,) = (e for e in quick(name).manifest.expect if e["claim"] == claim)
        (row,) = claims.evaluate([expectation | bound], quick(name))
        assert row["verdict"] in ("fail", "direction"), row


def test_a_fact_is_one_only_where_all_results_are(quick: Quick) -> None:
    done = quick("bfc-sec3-3-1")
    fact = {"claim": "a", "kind": "equals", "variant": "ToR", "value": {"result": "flow_entries"}, "expected": 76_800}
    computed = fact | {"value": {"quotient": [{"product": [{"result": "flow_bytes"}, 76_800]}, 384_000]}}
    both = fact | {"value": {"product": [{"result": "flow_entries"}, {"quotient": [{"result": "flow_bytes"}, 384e3]}]}}
    assert [row["verdict"] for row in claims.evaluate([fact, computed, both], done)] == ["fact", "pass", "pass"]


# Sizes.

EVERY_LAW = [
    *({"table": name} for name in _core.size_tables()),
    {"fixed": "10 KB"},
    {"uniform": ["1 B", "100 KB"]},
    {"exponential": "10 KB"},
    {"points": {"points": [[500, 0.2], [1000, 0.5], [1000, 0.7], [3500, 1.0]], "linear": True, "whole_packets": True}},
    {"points": {"points": [[500, 0.2], [1000, 0.5], [2000, 0.7], [3500, 1.0]], "linear": False, "whole_packets": True}},
]
LAWS = pytest.mark.parametrize("law", EVERY_LAW, ids=lambda law: str(next(iter(law.values())))[:30])


@LAWS
def test_moments_are_those_that_the_simulator_computes_loads_by(law: dict[str, Any]) -> None:
    if "table" in law:
        _, (mean, square) = json.loads(_core.size_table(law["table"]))
        assert Sizes(law).mean == pytest.approx(mean, rel=1e-9)
        assert Sizes(law).mean_square == pytest.approx(square, rel=1e-9)


@LAWS
def test_shares_are_those_of_sizes_drawn(law: dict[str, Any]) -> None:
    """One size in the middle of each of n parts of the distribution: means within what one part may hide."""
    sizes, n = Sizes(law), 1_000_000
    drawn = sizes.draw((np.arange(n) + 0.5) / n)
    slack = 2e-3 + 1 / sizes.mean
    assert drawn.mean() == pytest.approx(sizes.mean, rel=slack)
    assert np.ceil(drawn / 1000).mean() == pytest.approx(sizes.packets(1000), rel=slack)
    for share in (0.05, 0.3, 0.5, 0.9, 0.99):
        at = float(np.quantile(drawn, share, method="lower"))
        below = at + 1 - 1e-9  # What is less than a byte larger is drawn as this.
        assert sizes.flows_up_to(below) == pytest.approx((drawn <= at).mean(), abs=slack)
        assert sizes.bytes_up_to(below) == pytest.approx(drawn[drawn <= at].sum() / drawn.sum(), abs=slack)
    assert sizes.flows_up_to(1e13) == pytest.approx(1)
    assert sizes.bytes_up_to(1e13) == pytest.approx(1)


def test_shares_by_hand() -> None:
    half = Sizes({"points": {"points": [[0, 0.0], [100, 0.5], [300, 1.0]], "linear": True}})
    # Half of the flows are alike up to 100 B, the others from 100 to 300: means of 50 and 200.
    assert half.mean == 125
    assert half.flows_up_to(200) == 0.75
    assert half.bytes_up_to(100) == pytest.approx(0.5 * 50 / 125)
    assert half.bytes_up_to(200) == pytest.approx((0.5 * 50 + 0.25 * 150) / 125)
    found = flow_sizes.compute(sizes=half, size=100.0, rate=16e6, rtt=1e-4, seed=1)
    assert found["bdp"] == pytest.approx(200)
    assert found["flows_within_bdp"] == pytest.approx(0.75)


# Chips and switches.


def test_a_megabyte_is_counted_either_way() -> None:
    decimal = chip.compute(chip="trident2", megabyte="decimal", seed=1)
    assert (decimal["capacity"], decimal["memory"]) == (1.28e12, 12e6)
    assert decimal["time"] == pytest.approx(75e-6)
    assert chip.compute(chip="trident2", megabyte="binary", seed=1)["time"] == pytest.approx(78.6432e-6)
    assert chip.compute(chip="tomahawk3", megabyte="decimal", seed=1)["time"] == pytest.approx(40e-6)


def test_bits_hold_the_largest_number() -> None:
    assert [bfc_switch.bits_for(n) for n in (0, 1, 2, 3, 4, 31, 32, 255, 256)] == [1, 1, 2, 2, 3, 5, 6, 8, 9]
    switch = bfc_switch.Switch(ports=24)
    assert [field.bits for field in switch.fields] == [6, 18, 16]
    assert 2 ** switch.fields[1].bits > 12e6 / 64 > 2 ** (switch.fields[1].bits - 1)
    assert switch.register_bits == 8 + 32 + 16


# Hashed queues.


@pytest.mark.parametrize(("flows", "queues"), [(2, 1), (2, 3), (3, 4), (4, 5), (5, 3)])
def test_collisions_are_those_of_every_assignment(flows: int, queues: int) -> None:
    every = list(itertools.product(range(queues), repeat=flows))
    first = sum(chosen[0] in chosen[1:] for chosen in every) / len(every)
    anyone = sum(len(set(chosen)) < flows for chosen in every) / len(every)
    assert hashed_queues.flow_collides(flows, queues) == pytest.approx(first)
    assert hashed_queues.any_collide(flows, queues) == pytest.approx(anyone)


@pytest.mark.parametrize(("flows", "queues"), [(2, 1), (8, 5), (32, 32), (32, 3200)])
def test_collisions_drawn_agree_with_the_formulas(flows: int, queues: int) -> None:
    trials = 40_000
    share, error, any_share = hashed_queues.drawn(flows, queues, trials, seed=3)
    assert abs(share - hashed_queues.flow_collides(flows, queues)) <= 4 * error
    law = hashed_queues.any_collide(flows, queues)
    assert abs(any_share - law) <= 4 * math.sqrt(law * (1 - law) / trials) + 1e-12


@pytest.mark.parametrize("flows", [1, 2, 10, 32, 1000])
@pytest.mark.parametrize("target", [0.5, 0.1, 0.01, 1e-4])
def test_one_queue_fewer_is_too_few(flows: int, target: float) -> None:
    needed = hashed_queues.queues_for(flows, target)
    assert hashed_queues.flow_collides(flows, needed) <= target
    assert needed == 1 or hashed_queues.flow_collides(flows, needed - 1) > target


# Starvation.


@pytest.mark.parametrize("a", [0.25, 0.5, 1.0, 2.0, 4.0])
def test_the_worst_ratio_is_found_by_trying_all(a: float) -> None:
    ratios = np.linspace(1.01, 8, 200_000)
    shares = np.array([starvation.starved(x, a) for x in ratios])
    assert ratios[shares.argmax()] == pytest.approx(starvation.worst_ratio(a), abs=1e-3)
    assert shares.max() == pytest.approx(starvation.worst(a), rel=1e-6)


@pytest.mark.parametrize("a", [0.3, 1.0, 2.5])
@pytest.mark.parametrize("x", [1.1, 1.7, 2.0, 4.0])
def test_a_queue_in_slots_starves_as_the_formula_says(x: float, a: float) -> None:
    shares, longest = zip(*(starvation.slotted(x, a, slots) for slots in (100, 2000)), strict=True)
    law = starvation.starved(x, a)
    assert shares[1] == pytest.approx(law, rel=3e-3)
    assert longest[1] == pytest.approx(a + x - 1, rel=5e-3)
    # The three phases, one by one.
    assert law == pytest.approx(1 / (a / (x - 1) + 1 + a + (x - 1) + 1))


# Processor sharing.


def test_flows_share_a_link_by_hand() -> None:
    """At 0 one of 3, at 1 one of 1: the second leaves at 3, the first at 4. Another comes at 10, and the last at 11."""
    times, numbers = fluid.trajectory(np.array([0.0, 1.0, 9.0, 1.0]), np.array([3.0, 1.0, 2.0, 1.0]))
    assert list(zip(times.tolist(), numbers.tolist(), strict=True)) == [
        *((0, 0), (0, 1), (1, 2), (3, 1), (4, 0)),
        *((10, 1), (11, 2)),
    ]
    # Beside a flow that stays the first is served at a half, then at a third.
    times, numbers = fluid.trajectory(np.array([0.0, 2.0, 7.0]), np.array([2.0, 1.0, 1.0]), permanent=1)
    assert times.tolist() == [0, 0, 2, 5, 5, 9]
    assert numbers.tolist() == [0, 1, 2, 1, 0, 1]


def brute_force(gaps: list[float], sizes: list[float], step: float) -> float:
    """Mean number of flows, by small steps of time."""
    arrivals = list(np.cumsum(gaps))
    left: list[float] = []
    area = steps = 0
    now, end = 0.0, arrivals[-1]
    waiting = list(zip(arrivals, sizes, strict=True))
    while now < end:
        while waiting and waiting[0][0] <= now:
            left.append(waiting.pop(0)[1])
        area, steps = area + len(left), steps + 1
        left = [rest - step / len(left) for rest in left]
        left = [rest for rest in left if rest > 1e-12]
        now += step
    return area / steps


def test_the_trajectory_is_that_of_small_steps() -> None:
    random = np.random.default_rng(5)
    gaps, sizes = random.exponential(size=200), random.exponential(size=200) * 0.8
    times, numbers = fluid.trajectory(gaps, sizes)
    mean = float(np.sum(np.diff(times) * numbers[:-1]) / times[-1])
    assert mean == pytest.approx(brute_force(gaps.tolist(), sizes.tolist(), 2e-3), rel=0.01)


@pytest.mark.parametrize("law", [{"exponential": "10 KB"}, {"fixed": "10 KB"}, {"table": "fb_hadoop_bfc_authors"}])
@pytest.mark.parametrize("load", [0.5, 0.8])
def test_active_flows_do_not_depend_on_the_law_of_sizes(law: dict[str, Any], load: float) -> None:
    found = sharing.compute(sizes=Sizes(law), load=load, queues=8, flows=200_000, arrivals="poisson", sigma=2, seed=11)
    assert abs(found["deviation"] or 9) < 4
    assert found["simulated"] == pytest.approx(load / (1 - load), rel=0.1)
    assert abs((found["simulated_exceeds"] or 0) - load**9) < 4 * (found["exceeds_standard_error"] or 0)


def test_standard_errors_are_those_of_seeds() -> None:
    """The error that one run tells of itself, beside how far 30 of them stray."""
    runs = [
        sharing.simulated(random.standard_exponential(20_000), 0.7 * random.standard_exponential(20_000), 3)
        for random in map(np.random.default_rng, range(30))
    ]
    means, errors, shares, share_errors = np.array(runs).T
    assert np.std(means, ddof=1) == pytest.approx(errors.mean(), rel=0.35)
    assert np.std(shares, ddof=1) == pytest.approx(share_errors.mean(), rel=0.35)


def test_bursts_have_more_flows_than_queues() -> None:
    common = {
        "sizes": Sizes({"exponential": "10 KB"}),
        "load": 0.8,
        "queues": 16,
        "flows": 100_000,
        "sigma": 2,
        "seed": 1,
    }
    smooth, bursts = (sharing.compute(**common, arrivals=arrivals) for arrivals in fluid.ARRIVALS)
    assert (bursts["simulated_exceeds"] or 0) > 2 * (smooth["simulated_exceeds"] or 1)


def test_log_normal_gaps_have_a_mean_of_one() -> None:
    gaps = fluid.gaps("log-normal", 1.0, 1_000_000, np.random.default_rng(2))
    assert gaps.mean() == pytest.approx(1, rel=0.01)
    assert np.log(gaps).std() == pytest.approx(1, rel=0.01)


def test_a_run_too_short_says_nothing() -> None:
    found = sharing.compute(
        sizes=Sizes({"fixed": "1 KB"}), load=0.99, queues=32, flows=1000, arrivals="poisson", sigma=2, seed=1
    )
    assert found["simulated"] is None
    assert found["mean"] == pytest.approx(99)


# Fair share.


def test_the_change_of_the_fair_share_by_hand() -> None:
    """The long flow is alone but from 2 to 3, and counts from 1.1 to 10.5: half is lost by 2, and won back by 3."""
    times, numbers = np.array([0.0, 2.0, 3.0, 11.0]), np.array([0, 1, 0, 1])
    assert fair_share.change(times, numbers, 0.5) == pytest.approx((0.5 * 0.5 + 0.5 * 1) / (10.5 - 1.1))
    assert fair_share.change(times, numbers, 2.0) is None


def test_the_change_is_that_of_instants_drawn() -> None:
    times, numbers = fair_share.crossing(Sizes({"exponential": "10 KB"}), 1e9, 0.6, 50_000, "poisson", 2, 4)
    for interval in (1e-5, 1e-4, 1e-3):
        at = np.random.default_rng(1).uniform(0.1 * times[-1], times[-1] - interval, 400_000)
        now, then = (1 + numbers[np.searchsorted(times, when, side="right") - 1] for when in (at, at + interval))
        assert fair_share.change(times, numbers, interval) == pytest.approx(np.abs(now / then - 1).mean(), rel=0.02)


def test_a_link_twice_as_fast_changes_as_much_in_half_the_time() -> None:
    common = {"sizes": Sizes({"exponential": "10 KB"}), "load": 0.6, "flows": 20_000, "arrivals": "poisson", "sigma": 2}
    slow = fair_share.compute(**common, rate=10e9, interval=8e-6, seed=1)["change"]
    fast = fair_share.compute(**common, rate=20e9, interval=4e-6, seed=1)["change"]
    assert slow == pytest.approx(fast, rel=1e-6)


def test_long_intervals_have_forgotten_how_many_there_were() -> None:
    """Over a long time N and N' are independent: P(n) = (n + 1) (1 - rho)^2 rho^n beside one flow that stays."""
    rho = 0.5
    chances = np.array([(n + 1) * (1 - rho) ** 2 * rho**n for n in range(60)])
    ratio = np.abs(np.arange(1, 61)[:, None] / np.arange(1, 61)[None, :] - 1)
    law = float(chances @ ratio @ chances)
    times, numbers = fair_share.crossing(Sizes({"exponential": "10 KB"}), 1e9, rho, 300_000, "poisson", 2, 4)
    assert fair_share.change(times, numbers, 0.05) == pytest.approx(law, rel=0.03)
