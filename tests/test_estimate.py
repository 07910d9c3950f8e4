"""Intervals: what they are of a mean, that they cover the true value as often as they say, and their verdicts."""

from __future__ import annotations

import math
import shutil
from collections.abc import Callable
from pathlib import Path
from statistics import fmean

import numpy as np
import numpy.typing as npt
import pytest
from scipy import special, stats

from backwater import Experiment
from backwater.judge import laws
from backwater.judge.estimate import (
    CONFIDENCE,
    MOST_SEEDS,
    Estimate,
    exact,
    first_decided,
    jackknife,
    of_share,
    seeds_to_decide,
)

Array = npt.NDArray[np.float64]


def over(values: list[float], measure: Callable[[list[float]], float] = fmean, *, signed: bool = False) -> Estimate:
    """A measurement over seeds with these values."""
    return jackknife(
        measure(values), [measure(values[:i] + values[i + 1 :]) for i in range(len(values))], signed=signed
    )


def test_of_a_mean_it_is_students() -> None:
    values = [3.0, 1.0, 4.0, 1.5, 9.0]
    low, high = stats.t.interval(CONFIDENCE, 4, fmean(values), stats.sem(values))
    found = over(values, signed=True)
    assert (found.value, found.low, found.high) == pytest.approx((fmean(values), low, high))


@pytest.mark.parametrize("freedom", [1, 2, 3, 4, 9, 19, 63, 999])
def test_quantiles_of_students_t_are_those_of_scipy(freedom: int) -> None:
    for share in (0.51, 0.6, 0.95, 0.975, 0.9999):
        assert laws.students_t(freedom, share) == pytest.approx(special.stdtrit(freedom, share), rel=1e-11)


@pytest.mark.parametrize("of", [1, 2, 5, 64, 1000])
def test_quantiles_of_the_beta_distribution_are_those_of_scipy(of: int) -> None:
    for a in {1, of // 2 + 1, of}:
        for share in (1e-6, 0.025, 0.5, 0.975):
            found, wanted = laws.beta(a, of - a + 1, share), special.betaincinv(a, of - a + 1, share)
            assert found == pytest.approx(wanted, rel=1e-11)
    assert (laws.beta_below(2, 3, 0.0), laws.beta_below(2, 3, 1.0)) == (0, 1)


def test_a_ratio_and_its_inverse_say_the_same() -> None:
    pairs = [(3.0, 1.0), (2.0, 1.5), (5.0, 2.0), (4.0, 1.0)]
    one, other = (
        jackknife(
            sum(pair[a] for pair in pairs) / sum(pair[b] for pair in pairs),
            [sum(p[a] for p in pairs if p is not q) / sum(p[b] for p in pairs if p is not q) for q in pairs],
        )
        for a, b in ((0, 1), (1, 0))
    )
    assert (1 / other.value, 1 / other.high, 1 / other.low) == pytest.approx((one.value, one.low, one.high))


def test_equal_values_are_exact() -> None:
    assert over([0.1] * 5) == exact(0.1)
    assert over([0.0] * 5) == exact(0.0)
    assert over([0.1, 0.1, 0.1 + 1e-9]).low < 0.1, "what differs beyond rounding is no rounding"


def test_what_is_positive_stays_so() -> None:
    found = over([1.0, 1.0, 1.0, 50.0])
    assert found.low > 0
    assert over([1.0, 1.0, 1.0, 50.0], signed=True).low < 0


@pytest.mark.parametrize("seeds", [3, 5, 10])
@pytest.mark.parametrize(
    ("draw", "true", "measure"),
    [
        (lambda rng: float(rng.normal(10, 3)), 10.0, fmean),
        (lambda rng: float(rng.exponential(1, 200).mean()), 1.0, fmean),
        # The 99th percentile of 2,000 flows, whose waits are exponential.
        (lambda rng: float(np.sort(rng.exponential(1, 2000))[1979]), math.log(100), fmean),
    ],
    ids=["normal", "mean of flows", "p99 of flows"],
)
def test_intervals_cover_the_true_value(
    seeds: int, draw: Callable[[np.random.Generator], float], true: float, measure: Callable[[list[float]], float]
) -> None:
    """Of 1,000 experiments 93 to 97 %; by chance alone 950 of them stray by 7."""
    rng = np.random.Generator(np.random.PCG64(16))
    found = [over([draw(rng) for _ in range(seeds)], measure) for _ in range(1000)]
    covered = sum(one.low <= true <= one.high for one in found)
    assert 930 <= covered <= 970
    # As narrow as can be: a Student interval half as wide would not do.
    halves = sum(abs(true - one.value) <= (one.high - one.low) / 4 for one in found)
    assert halves < 900


def test_intervals_of_a_ratio_over_common_traffic_cover_it() -> None:
    """Two schemes meet the same traffic: what the seed does to both leaves their ratio as it is."""
    rng = np.random.Generator(np.random.PCG64(17))
    covered = narrow = 0
    for _ in range(1000):
        luck = rng.lognormal(0, 0.5, 5)
        a, b = 3 * luck * rng.lognormal(-0.005, 0.1, 5), luck * rng.lognormal(-0.005, 0.1, 5)
        without = [(a.sum() - x) / (b.sum() - y) for x, y in zip(a, b, strict=True)]
        found = jackknife(float(a.sum() / b.sum()), [float(x) for x in without])
        covered += found.low <= 3 <= found.high
        narrow += found.high / found.low < 2
    assert 930 <= covered <= 970
    assert narrow > 950, "apart they would stray by half"


@pytest.mark.parametrize(("count", "of"), [(0, 5), (1, 5), (5, 5), (63, 64), (8, 64), (500, 1000)])
def test_a_share_has_the_exact_interval(count: int, of: int) -> None:
    found, wanted = of_share(count, of), stats.binomtest(count, of).proportion_ci(CONFIDENCE, "exact")
    assert (found.value, found.low, found.high) == pytest.approx((count / of, wanted.low, wanted.high))


@pytest.mark.parametrize("share", [0.01, 0.125, 0.5, 0.9])
def test_intervals_of_a_share_cover_it(share: float) -> None:
    """Exact ones cover at least as often as they say. The jackknife of a deviation, with rare events, does not."""
    rng = np.random.Generator(np.random.PCG64(18))
    found = [of_share(int(count), 64) for count in rng.binomial(64, share, 1000)]
    assert sum(one.low <= share <= one.high for one in found) >= 940
    assert fmean(one.high - one.low for one in found) < 0.26, "no wider than 64 runs need"


def test_a_control_variate_covers_the_value_at_the_configured_load() -> None:
    """A long flow gets 0.9 of what cross traffic leaves; its load strays by 7 %, and 60 % was asked."""
    rng = np.random.Generator(np.random.PCG64(19))
    covered = {"plain": 0, "controlled": 0}
    width = {"plain": 0.0, "controlled": 0.0}
    for _ in range(1000):
        load = 0.6 * rng.normal(1, 0.07, 5)
        gets = 0.9 * (1 - load) * rng.normal(1, 0.01, 5)
        rest = [np.delete(np.arange(5), i) for i in range(5)]
        for name, seeds in (("plain", None), ("controlled", 1 - load)):
            means = [gets[keep].mean() / (1 if seeds is None else seeds[keep].mean() / 0.4) for keep in rest]
            whole = gets.mean() / (1 if seeds is None else seeds.mean() / 0.4)
            found = jackknife(float(whole), [float(one) for one in means], signed=True)
            covered[name] += found.low <= 0.36 <= found.high
            width[name] += found.high - found.low
    assert 930 <= covered["plain"] <= 970
    assert 930 <= covered["controlled"] <= 970
    assert width["controlled"] < width["plain"] / 5


def test_what_is_never_negative_is_not_zero_if_it_was_above_once() -> None:
    counts = over([0.0, 0.0, 0.0, 0.0, 3.0])
    assert (counts.low, counts.above_zero) == (0.0, None), "an interval goes no further than what is possible"
    assert over([0.0, 0.0, 0.0, 0.0, 3.0], signed=True).low < 0
    rare = Estimate(0.6, 0.0, 2.3, above_zero=(1, 5))
    assert rare.within(0, 0) == rare.within(None, 0) == "fail"
    assert rare.within(None, 1) == "undecided"
    assert exact(0.0).within(None, 0) == "pass"


def test_a_number_says_with_how_many_seeds_it_would_be_decided() -> None:
    """2 +- 2.1 from five seeds: the bound of 1.4 is out of reach once the half-width is 0.6, by Student's t."""

    def seeds(measured: Estimate, bound: float) -> int | None:
        return seeds_to_decide(measured, 5, lambda narrower: narrower.within(bound, None))

    wide = Estimate(2.0, -0.1, 4.1)
    by_hand = next(n for n in range(5, 50) if 2.1 * reach(n) / reach(5) <= 0.6)
    assert seeds(wide, 1.4) in (by_hand, by_hand + 1)
    assert seeds(wide, 2.0) == MOST_SEEDS, "no interval that contains its bound is on one side of it"
    assert seeds(Estimate(2.0), 1.4) is None, "nothing is known of one seed"
    assert first_decided(64, lambda n: of_share(round(0.9 * n), n).within(0.84, None)) > 100


def test_another_look_has_its_price() -> None:
    """A true value that is the bound is decided by chance. More seeds are run where the first five leave it open."""
    rng = np.random.Generator(np.random.PCG64(39))
    count, most, by_chance = 2000, 300, [0, 0]

    def verdict(measured: Estimate) -> str:
        return measured.within(0, None)

    for values in rng.normal(size=(count, most)).tolist():
        found = over(values[:5], signed=True)
        by_chance[0] += verdict(found) != "undecided"
        seeds = (verdict(found) == "undecided" and seeds_to_decide(found, 5, verdict)) or 5
        by_chance[1] += seeds <= most and verdict(over(values[:seeds], signed=True)) != "undecided"
    print("decided by chance:", [f"{one / count:.1%}" for one in by_chance], "after one look and after two")
    assert 0.04 < by_chance[0] / count < 0.06
    assert 0.08 < by_chance[1] / count < 0.14


def reach(seeds: int) -> float:
    """Half of a mean's interval over the deviation of its values."""
    return float(stats.t.ppf(0.975, seeds - 1)) / math.sqrt(seeds)


@pytest.mark.parametrize(
    ("low", "high", "verdict"),
    [(1.0, 3.0, "pass"), (None, 3.0, "pass"), (2.2, 3.0, "undecided"), (2.6, None, "fail"), (None, 1.4, "fail")],
)
def test_verdicts_are_what_the_interval_allows(low: float | None, high: float | None, verdict: str) -> None:
    assert Estimate(2.0, 1.5, 2.5).within(low, high) == verdict
    assert Estimate(2.0).within(low, high) == "undecided", "nothing is known of one seed"


def test_what_is_exact_is_on_one_side_or_the_other() -> None:
    assert [exact(2.0).within(low, None) for low in (1.9, 2.0, 2.1)] == ["pass", "pass", "fail"]
    assert exact(math.inf).within(None, 100) == "fail", "a threshold that is never reached"


@pytest.mark.long
@pytest.mark.parametrize("statistic", ["mean", "p95"])
def test_intervals_of_small_simulations_cover_what_many_come_to(
    statistic: str, five_thousand: list[dict[str, float]]
) -> None:
    """1,000 experiments of five seeds each; the true value is the mean over all 5,000."""
    values = [row[statistic] for row in five_thousand]
    true = fmean(values)
    found = [over(values[i : i + 5]) for i in range(0, len(values), 5)]
    covered = sum(one.low <= true <= one.high for one in found)
    assert len(found) == 1000
    assert 930 <= covered <= 970


@pytest.fixture(scope="module")
def five_thousand(smoke: Path, tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, float]]:
    """Slowdowns of as many seeds of a small network at a load of 50 %, a millisecond each."""
    place = tmp_path_factory.mktemp("coverage")
    found = []
    for first in range(1, 5001, 1000):
        sets = ["workload.0.load=0.5", "run.duration=1 ms", "seeds.count=1000", f"seeds.first={first}"]
        results = Experiment.from_arguments(smoke, sets, None).run(place / str(first))
        for run in results.runs:
            (row,) = [row for row in run.summary["slowdown"] if row["bin"] == "all" and row["class"] == "background"]
            found.append({statistic: row[statistic] for statistic in ("mean", "p95")})
        shutil.rmtree(place / str(first))
    return found
