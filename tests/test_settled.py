"""Measurements that drift are called unsettled, and those that do not are not."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from numpy.typing import NDArray

from backwater import Experiment, Results
from backwater.judge import courses, settled, words
from backwater.judge.columns import Columns
from backwater.judge.courses import Times
from backwater.judge.estimate import exact
from backwater.judge.settled import Course
from backwater.scenario.claims import Leaf

SEEDS = 5
QUEUES = 8
"""Of one network."""
FLOWS = 2000
"""Of each queue, in the counted window."""
WARM_UP = 1000
"""Flows of each queue before it. At a load of 0.7 some 40 of them pass until it does not matter that it was empty."""
AFTER = 1000
AT_ONCE = 100
"""Networks that are simulated together."""

Floats = NDArray[np.float64]


def networks(count: int, load: Callable[[float], float], warm_up: int, after: int) -> Iterator[tuple[Floats, Floats]]:
    """Yields arrivals and completions of each network, in ps, shape `[SEEDS, flows, QUEUES]`.

    Queues have one server each, and serve in order of arrival, 1 us on average. `load` is that at a share of the
    counted window.
    """
    rng = np.random.Generator(np.random.PCG64(39))
    steps, queues = warm_up + FLOWS + after, AT_ONCE * SEEDS * QUEUES
    for _ in range(count // AT_ONCE):
        arrivals, finishes = np.empty((2, steps, queues))
        now, free = np.zeros(queues), np.zeros(queues)
        for i in range(steps):
            now += rng.exponential(1e6 / load((i - warm_up) / FLOWS), queues)
            free = np.maximum(now, free) + rng.exponential(1e6, queues)
            arrivals[i], finishes[i] = now, free
        shape = (steps, AT_ONCE, SEEDS, QUEUES)
        yield from zip(*(times.reshape(shape).transpose(1, 2, 0, 3) for times in (arrivals, finishes)), strict=True)


def run_of(arrival: Floats, finish: Floats, warm_up: int) -> tuple[Times, Floats]:
    """When the flows of a run of one seed arrived and finished, and their slowdowns."""
    counted = np.zeros(arrival.shape, bool)
    counted[warm_up : warm_up + FLOWS] = True
    order = np.argsort(arrival, axis=None)
    arrival, finish, counted = (each.ravel()[order] for each in (arrival, finish, counted))
    window = int(arrival[counted][0]), int(arrival[counted][-1])
    middle = sum(window) // 2
    halves = (window[0], middle), (middle, window[1])
    backlog = [courses.mean_backlog(np.ones(len(arrival)), arrival, finish, *half) for half in halves]
    none = np.zeros(counted.sum(), bool)
    grown = courses.in_proportion(window, int(arrival[0]))
    at = Times(arrival[counted], finish[counted], none, ~none, window, int(arrival[-1]), np.array(backlog), grown)
    return at, (finish - arrival)[counted] / 1e6


def unsettled(count: int, load: Callable[[float], float], warm_up: int, after: int) -> dict[str, int]:
    """How many of so many networks are called unsettled, by statistics of the slowdown of their flows; how many of them
    overloaded.
    """
    found = {"mean": 0, "p99": 0}
    found_overloaded = 0
    for arrivals, finishes in networks(count, load, warm_up, after):
        runs = [run_of(arrival, finish, warm_up) for arrival, finish in zip(arrivals, finishes, strict=True)]
        for statistic in ("mean", "p99"):
            measured = [courses.of_flows(at, ~at.unfinished, slowdown, statistic) for at, slowdown in runs]
            of_all = [course for course in measured if course is not None]
            assert len(of_all) == SEEDS
            moved = settled.test(of_all, 1).moved
            found[statistic] += bool(moved)
        found_overloaded += settled.OVERLOADED in moved
    return found | {"overloaded": found_overloaded}


def test_bytes_in_progress_are_those_of_flows_that_are_there() -> None:
    """100 B for the last half of the time, 10 B for all of it, and 1,000 B that are gone before."""
    sizes, arrival, finish = np.array([100.0, 10.0, 1000.0]), np.array([15, 0, 2]), np.array([30, 40, 9])
    assert courses.mean_backlog(sizes, arrival, finish, 10, 20) == 60


def test_a_window_is_cut_by_arrival() -> None:
    """40 flows, of which the last 20 are three times as slow; nine of ten last at most a quarter of the window."""
    when, values = np.arange(40), np.repeat([1.0, 3.0], 20)
    assert {n: parts.tolist() for n, parts in courses.cut((0, 40), when, values, "mean", life=10).items()} == {
        2: [1, 3]
    }
    many = courses.cut((0, 400), np.arange(400), np.repeat([1.0, 3.0], 200), "mean", life=100)
    assert {n: parts.tolist() for n, parts in many.items()} == {2: [1, 3], 4: [1, 1, 3, 3]}
    assert courses.cut((0, 40), when, values, "max", life=10) == {}


def test_drift_is_between_parts_half_a_window_apart() -> None:
    found = settled.test([Course({4: np.array([1.0, 2.0, 2.0, 4.0])}, 0.0, 0.0, np.ones(2))] * 3, 1)
    assert (found.step, found.moved) == (exact(2.0), "the later half is 2 times the earlier (2 to 2)")


def test_the_network_is_asked_where_a_value_does_not_say() -> None:
    noisy = [Course({2: np.array([1.0, other])}, 0.0, 0.0, np.array([1.0, 2.0])) for other in (0.1, 10.0, 1.0)]
    assert "of the bytes in progress the later half is 2 times" in settled.test(noisy, 1).moved
    steady = [replace(course, backlog=np.ones(2)) for course in noisy]
    assert settled.test(steady, 1).moved == ""
    resolved = [replace(course, parts={2: np.ones(2)}) for course in noisy]
    assert settled.test(resolved, 1).moved == "", "a value that stays has settled, even if the network has not"


def test_what_has_no_course_of_its_own_is_told_by_the_bytes_in_progress() -> None:
    runs = [Course({}, 0.0, 0.0, np.array([1000.0, later])) for later in (1010.0, 990.0, 1005.0)]
    told = words.settling([("BFC's drops.buffer summary", settled.test(runs, 1))])
    assert told == "settled; of the bytes in progress the later half is 1 times the earlier (0.976 to 1.03)"
    alone = words.settling([("BFC's drops.buffer summary", settled.test(runs[:1], 1))])
    assert alone == "", "one run says nothing"


def test_buffers_have_a_course_of_their_own(results: Results) -> None:
    """A percentile of the bytes in all switches is one number of the run, and their samples are a table."""
    run = results.runs[0]
    found = courses.course(Columns(), [run], {"summary": "buffer.p95_bytes"})
    assert found is not None
    table = run.table("buffers")
    when, values = (table[name].to_numpy().astype(float) for name in ("time_ps", "buffered_bytes"))
    later = when >= (when.min() + when.max()) / 2
    halves = [np.percentile(values[half], 95, method="inverted_cdf") for half in (~later, later)]
    assert found.parts[2] == pytest.approx(halves, rel=0.02)


def test_what_drops_nothing_is_told_by_the_fullest_switch(
    three: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Packets that were dropped are told by the bytes in progress: a full buffer stays full."""
    run = Experiment(three, seed=7, sets={"measure.sample": "200 ns"}).simulate(tmp_path / "often").runs[0]
    assert run.summary["drops"]["buffer"] == 0
    found = courses.course(Columns(), [run], {"summary": "drops.buffer"})
    assert found is not None
    fullest: dict[int, int] = {}
    for sample in run.table("buffers").to_pylist():
        fullest[sample["time_ps"]] = max(fullest.get(sample["time_ps"], 0), sample["buffered_bytes"])
    middle = (min(fullest) + max(fullest)) / 2
    halves = [[most for at, most in fullest.items() if (at >= middle) == later] for later in (False, True)]
    expected = [np.percentile(half, 99, method="inverted_cdf") for half in halves]
    assert found.parts[2] == pytest.approx(expected, rel=0.02)
    monkeypatch.setitem(run.summary["drops"], "buffer", 1)
    dropped = courses.course(Columns(), [run], {"summary": "drops.buffer"})
    assert dropped is not None
    assert dropped.parts == {}


def test_a_switch_that_fills_is_found_before_it_drops() -> None:
    """One of eight switches fills, and nothing else changes: the bytes in progress are the same in both halves."""
    none = np.zeros(0)
    at = Times(none, none, none, none, (0, 1), 1, np.ones(2), 2.0)
    rng = np.random.Generator(np.random.PCG64(39))

    def moved(filling: float) -> str:
        tested = []
        for _ in range(SEEDS):
            level = rng.normal(4e6, 1e5, (4000, 8))
            level[:, 3] += 1e6 + filling * np.arange(4000)
            when, node = np.indices(level.shape).reshape(2, -1)
            columns = {"time_ps": when, "node": node, "buffered_bytes": level.ravel().astype(np.int64)}
            tested.append(courses.of_samples(at, courses.fullest(pa.table(columns)), "buffered_bytes", "p99"))
        return settled.test([course for course in tested if course is not None], 1).moved

    assert moved(0) == ""
    assert "the later half is" in moved(500)


def test_goodput_has_a_course_of_its_own(results: Results, monkeypatch: pytest.MonkeyPatch) -> None:
    """The summary has that of the earlier half. A run of before has not, and is told by the bytes in progress."""
    run = results.runs[0]
    row = run.summary["throughput"][0]
    leaf: Leaf = {"summary": "throughput[class].goodput_bps", "class": row["class"]}
    found = courses.course(Columns(), [run], leaf)
    assert found is not None
    early, late = found.parts[2]
    assert (early, (early + late) / 2) == pytest.approx((row["early_goodput_bps"], row["goodput_bps"]))
    monkeypatch.delitem(row, "early_goodput_bps")
    before = courses.course(Columns(), [run], leaf)
    assert before is not None
    assert before.parts == {}


def test_ages_and_draining_are_told_to_three_digits() -> None:
    course = Course({}, 0.052, 0.0, np.ones(2))
    assert settled.test([course], 1).moved == "5.2 % of its flows' time is after the last arrival"
    aged = replace(course, drained=0.0, unfinished=0.4)
    assert settled.test([aged], 1).moved == "40 % of it is the age of flows that have not finished"


COUNT = pytest.mark.parametrize("count", [100, pytest.param(1000, marks=pytest.mark.long)])


@COUNT
def test_a_steady_network_has_settled(count: int) -> None:
    found = unsettled(count, lambda _: 0.7, WARM_UP, AFTER)
    print(f"of {count} steady networks are called unsettled: {found}")
    assert max(found.values()) <= count / 20
    assert found["overloaded"] == 0


@COUNT
@pytest.mark.parametrize(
    ("load", "warm_up", "after"),
    [
        pytest.param(lambda _: 1.1, WARM_UP, AFTER, id="overload"),
        pytest.param(lambda at: 0.7 + 0.2 * min(max(at, 0.0), 1.0), WARM_UP, AFTER, id="load that rises"),
        pytest.param(lambda _: 0.99, 0, AFTER, id="no warm-up"),
        pytest.param(lambda _: 1.2, WARM_UP, 0, id="draining"),
    ],
)
def test_a_network_that_drifts_has_not(load: Callable[[float], float], warm_up: int, after: int, count: int) -> None:
    found = unsettled(count, load, warm_up, after)
    print(f"of {count} that drift are called unsettled: {found}")
    assert min(found["mean"], found["p99"]) >= 0.95 * count
    if load(0.0) > 1:
        assert found["overloaded"] >= 0.95 * count
    elif warm_up == 0:
        assert found["overloaded"] <= 0.05 * count, "it fills, and stays full"
