"""A congestion control in Python: its signals, what it sets, and the built-in DCTCP written again."""

from __future__ import annotations

import itertools
import math
from pathlib import Path
from typing import Any, ClassVar

import pytest

import backwater
from backwater import Experiment, InputError, Results, topology, units, workload
from backwater.show import report

NET = topology.leaf_spine(
    leaves=2, spines=2, hosts_per_leaf=4, host_rate=1e11, core_rate=1e11, host_delay=1e-6, core_delay=1e-6
)
TRAFFIC = [
    workload.background(sizes=backwater.sizes.table("fb_hadoop"), load=0.6, load_of="receivers"),
    workload.incast(degree=6, aggregate=600 * units.KB, period=100 * units.us),
]


class Dctcp(backwater.RateControl):
    """Rate-based DCTCP, as the built-in has it: called with every ACK, because the first mark cuts at once."""

    every = 1
    g: ClassVar[float] = 1 / 16
    additive_increase: ClassVar[float] = 961e6
    min_rate: ClassVar[float] = 100e6
    fields: ClassVar[dict[str, float]] = {"alpha": 1.0, "batch_end": 0, "batch": 0, "marked": 0, "reduced_until": -1}

    def on_ack(self, flow: int, signals: backwater.Signals) -> float:
        rate, marked = signals.rate, signals.marked > 0
        self.marked[flow] += marked
        new_batch = signals.seq > self.batch_end[flow]
        if new_batch:
            if self.batch_end[flow] == 0:
                self.batch[flow] = signals.next + 1
            else:
                share = min(1.0, self.marked[flow] / self.batch[flow])
                self.alpha[flow] = (1.0 - self.g) * self.alpha[flow] + self.g * share
                self.marked[flow] = 0
                self.batch[flow] = signals.next - signals.seq + 1
            self.batch_end[flow] = signals.next
        if 0 <= self.reduced_until[flow] < signals.seq:
            self.reduced_until[flow] = -1
        if self.reduced_until[flow] < 0:
            if marked:
                rate = max(self.min_rate, rate * (1.0 - self.alpha[flow] / 2.0))
                self.reduced_until[flow] = signals.next
            elif new_batch:
                rate = min(signals.line_rate, rate + self.additive_increase)
        return rate


def test_dctcp_in_python_has_the_digest_of_the_built_in(tmp_path: Path) -> None:
    done = Experiment.of(NET, TRAFFIC, schemes=["dctcp", Dctcp], duration=300 * units.us, seeds=2).simulate(
        tmp_path / "run"
    )
    ours, theirs = done["Dctcp"], done["dctcp"]
    for one, other in zip(ours, theirs, strict=True):
        assert one.digests == other.digests
        assert one.table("flows").equals(other.table("flows"))
    differing = Experiment.of(NET, TRAFFIC, schemes=Dctcp(g=1.0), duration=300 * units.us).simulate(tmp_path / "g")
    assert differing[0].digest != theirs[0].digest, "another weight is another result"


class Recorder(backwater.RateControl):
    """Keeps what it was told."""

    seen: ClassVar[list[dict[str, Any]]] = []
    fields: ClassVar[dict[str, float]] = {"calls": 7}

    def on_ack(self, flow: int, signals: backwater.Signals) -> None:
        names = (
            "now",
            "acks",
            "marked",
            "seq",
            "next",
            "rtt",
            "rate",
            "window",
            "line_rate",
            "base_rtt",
            "payload",
            "hops",
        )
        self.calls[flow] += 1
        self.seen.append({"flow": flow, "calls": self.calls[flow], **{name: getattr(signals, name) for name in names}})


def lone(control: Any, size: float = 2e6, **changes: Any) -> Results:
    """One flow on a path of two switches, under a control."""
    net = topology.dumbbell(left=2, right=2, rate=1e11, delay=1e-6, bottleneck_rate=1e11, bottleneck_delay=1e-6)
    one = workload.long_lived(count=1, from_=["host0"], to=["host2"], size=size)
    return Experiment.of(net, one, schemes=control, duration=1 * units.ms, **changes).simulate()


def test_a_control_is_called_once_per_round_trip_with_what_the_sender_knows() -> None:
    Recorder.seen.clear()
    flow = lone(Recorder)[0].table("flows").to_pylist()[0]
    seen = Recorder.seen
    rtts = [one["rtt"] for one in seen]
    assert {one["flow"] for one in seen} == {0}
    assert [one["calls"] for one in seen] == list(range(8, 8 + len(seen)))
    assert all(after["seq"] > before["next"] for before, after in itertools.pairwise(seen))
    lasted = 1e-12 * (flow["finish_rx_ps"] - flow["arrival_ps"])
    assert len(seen) == pytest.approx(lasted / rtts[0], abs=1.5)
    assert all(one["line_rate"] == one["rate"] == 1e11 and one["payload"] == 1000 for one in seen)
    assert all(one["rtt"] == pytest.approx(one["base_rtt"], rel=0.2) for one in seen)
    assert sum(one["acks"] for one in seen) == seen[-1]["seq"]
    assert [len(one["hops"]) for one in seen] == [2] * len(seen), "two switches write telemetry"
    assert seen[1]["hops"][0].rate_bps == pytest.approx(1e11, rel=1e-3)
    assert seen[1]["hops"][0].sent_bps == pytest.approx(1e11, rel=0.05)


def test_it_is_called_after_so_many_acks() -> None:
    Recorder.seen.clear()
    lone(Recorder(every=100))
    assert {one["acks"] for one in Recorder.seen} == {100}
    assert [one["seq"] for one in Recorder.seen] == [100 * (i + 1) for i in range(len(Recorder.seen))]


def test_rate_window_and_timer_are_set() -> None:
    class Half(backwater.RateControl):
        start_rate = 0.5

    class Paused(backwater.RateControl):
        """Sets a rate by a timer alone."""

        times: ClassVar[list[float]] = []
        fields: ClassVar[dict[str, float]] = {"calls": 0}

        def on_ack(self, flow: int, signals: backwater.Signals) -> backwater.Set | None:
            self.calls[flow] += 1
            return backwater.Set(timer=20e-6) if self.calls[flow] == 1 else None

        def on_timer(self, flow: int, signals: backwater.Signals) -> backwater.Set:
            self.times.append(signals.now)
            return backwater.Set(rate=1e10, timer=30e-6 if len(self.times) < 3 else math.inf)

    class Window(backwater.RateControl):
        every = 1

        def on_ack(self, flow: int, signals: backwater.Signals) -> backwater.Set:
            return backwater.Set(window=1000)

    def fct(control: Any, size: float = 2e6) -> float:
        return 1e-12 * lone(control, size)[0].table("flows")["finish_rx_ps"][0].as_py()

    Recorder.seen.clear()
    plain = fct(Recorder)
    assert fct(Half) == pytest.approx(plain + 2e6 * 8 * 1.048 / 1e11, rel=0.03), "as long again at half the rate"
    slow = fct(Paused, 5e5)
    first, second, third = Paused.times
    assert (second - first, third - second) == (pytest.approx(30e-6), pytest.approx(30e-6))
    sent = 1e11 * Paused.times[0] / 8 / 1.048
    assert slow == pytest.approx(Paused.times[0] + (5e5 - sent) * 8 * 1.048 / 1e10, rel=0.1), "a tenth of the rate then"
    first = Recorder.seen[0]
    left = 180 - first["next"]
    assert fct(Window, size=1.8e5) == pytest.approx(left * first["base_rtt"], rel=0.05), "a packet for each round trip"


def test_losses_and_notifications_are_told() -> None:
    class Told(backwater.RateControl):
        cnp_interval = 50e-6
        heard: ClassVar[set[str]] = set()

        def on_cnp(self, flow: int, signals: backwater.Signals) -> float:
            self.heard.add("cnp")
            return signals.rate * 0.9

        def on_missed(self, flow: int, signals: backwater.Signals) -> None:
            self.heard.add("missed")

    losing = {"switch.buffer": "200 KB", "switch.backpressure": "none", "host.recovery": "selective"}
    Experiment.of(NET, TRAFFIC, schemes=Told, duration=200 * units.us, sets=losing).simulate()
    assert Told.heard == {"cnp", "missed"}


def test_what_it_raises_or_returns_wrongly_reaches_the_caller(tmp_path: Path) -> None:
    class Raises(backwater.RateControl):
        def on_ack(self, flow: int, signals: backwater.Signals) -> float:
            raise LookupError("no such thing")

    class Nonsense(backwater.RateControl):
        value: Any = None

        def on_ack(self, flow: int, signals: backwater.Signals) -> Any:
            return self.value

    with pytest.raises(LookupError, match="no such thing"):
        lone(Raises)
    for value, told in (
        (float("nan"), "rate = nan: expected a number, 0 or more"),
        ("fast", "rate = 'fast': expected a number"),
        (-1, "rate = -1"),
    ):
        with pytest.raises(InputError, match=f"Nonsense.on_ack: {told}"):
            lone(Nonsense(value=value))
    with pytest.raises(InputError, match="Nonsense: no parameter 'valeu'"):
        Nonsense(valeu=1)
    with pytest.raises(InputError, match="every = 0: expected 'rtt', or a number of ACKs from 1 on"):
        lone(Recorder(every=0))
    with pytest.raises(InputError, match=r"control = 3: expected a class derived from backwater\.RateControl"):
        Experiment("smoke-bfc", control=3)


def test_a_scenario_alone_has_no_control(tmp_path: Path) -> None:
    done = lone(Recorder)
    with pytest.raises(
        InputError, match=r"its control 'Recorder' is a class in Python: expected Experiment\(\.\.\., control="
    ):
        Experiment(done[0].scenario).simulate(tmp_path / "x")
    with pytest.raises(InputError, match="is a class in Python"):
        done[0].explain(0)


def test_a_control_replaces_that_of_a_published_experiment(tmp_path: Path) -> None:
    one = Experiment("smoke-bfc", control=Dctcp)
    host = one.simulate(tmp_path / "run", store=tmp_path / "store")[0].scenario["host"]
    assert (host["transport"], host["callback"]["name"], len(host["callback"]["code"])) == ("callback", "Dctcp", 16)
    other = Experiment("smoke-bfc", control=Dctcp(g=0.5)).simulate(tmp_path / "other")[0].scenario["host"]
    assert other["callback"]["code"] != host["callback"]["code"]
    again = Experiment("smoke-bfc").with_(control=Dctcp)
    assert again.scenarios == one.scenarios
    assert one.with_(control=Recorder).controls.keys() == {"Recorder"}


def test_a_store_knows_no_run_of_a_control(tmp_path: Path) -> None:
    """Code that the class calls elsewhere may have changed, and no digest would tell."""
    found = []

    class Found(backwater.Watch):
        def on_found(self, job: Any) -> None:
            found.append(job.label)

    both = Experiment.of(NET, TRAFFIC, schemes=["dctcp", Dctcp], duration=50 * units.us)
    for name in ("first", "second"):
        both.simulate(tmp_path / name, store=tmp_path / "store", watch=Found())
    assert found == ["dctcp"]


def test_a_class_may_stand_twice_under_two_names(tmp_path: Path) -> None:
    slow = Dctcp(additive_increase=1e6, name="slow")
    done = Experiment.of(NET, TRAFFIC, schemes=[Dctcp, slow], duration=300 * units.us).simulate(tmp_path / "run")
    assert [run.variant for run in done] == ["Dctcp", "slow"]
    assert done[0].digest != done[1].digest
    with pytest.raises(InputError, match=r"two are called 'Dctcp': expected different names, such as Dctcp\(name="):
        Experiment.of(NET, TRAFFIC, schemes=[Dctcp, Dctcp(g=0.5)], duration=300 * units.us)


@pytest.mark.parametrize(
    "given",
    [{"scheme": Dctcp}, {"scheme": Dctcp()}, {"sets": {"scheme": Dctcp}}, {"vary": {"scheme": iter(["bfc", Dctcp])}}],
)
def test_a_control_in_place_of_a_name_is_refused_with_the_way(given: dict[str, Any]) -> None:
    base = Experiment.of(NET, TRAFFIC, duration=50 * units.us).to_dict()
    with pytest.raises(
        InputError, match=r"scheme.* = .*Dctcp.*: expected the name of a scheme; .* control=, or as one"
    ):
        Experiment(base, **given)
    with pytest.raises(InputError, match=r"^scheme = .*: expected the name of a scheme; "):
        Experiment(base | {"scheme": Dctcp})


def test_the_page_says_that_python_ran(tmp_path: Path) -> None:
    done = Experiment.of(NET, TRAFFIC, schemes=["bfc", Dctcp], duration=100 * units.us).run(tmp_path / "run")
    (line,) = [line for line in report.left([done]) if "Python" in line]
    calls = done.timing["runs"][1]["control_calls"]
    assert line.startswith(f"Control in Python: Dctcp was called {calls:,} times in 1 run, which made it ")
    assert line in done.report().read_text()
