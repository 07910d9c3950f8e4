"""A congestion control of your own, as a class in Python.

A class that is derived from `RateControl` is called once per round trip of each flow, or after some ACKs. It gets the
signals that HPCC, TIMELY and DCQCN react to, and returns a rate. Its state is arrays with an element for each flow.
"""

from __future__ import annotations

import copy
import hashlib
import inspect
import math
from collections.abc import Mapping
from typing import Any, ClassVar, Literal, NamedTuple

from backwater._core import InputError
from backwater.common.arrays import np
from backwater.common.values import Value
from backwater.scenario.units import Bytes, Duration, spelled

EVENTS = ("on_ack", "on_cnp", "on_missed", "on_timeout", "on_timer")
"""Methods by the number of their event."""
UNKNOWN = "unknown"
"""The digest of a module whose code is not there, such as an interactive session."""
FIRST = 256
"""Flows that the arrays have room for at first."""


class Hop(NamedTuple):
    """Telemetry of one hop of the newest acknowledged packet, as HPCC has it."""

    queued_bytes: int
    """Bytes that waited at the port."""
    sent_bps: float
    """Rate at which the port sent since the last call. 0 at the first call."""
    rate_bps: float
    """Rate of the link."""


class Set(NamedTuple):
    """Values that a control sets. None leaves a value as it is."""

    rate: float | None = None
    """Rate, bit/s. It is kept between 1 bit/s and the rate of the line."""
    window: float | None = None
    """Payload bytes in flight, at most."""
    timer: float | None = None
    """Seconds until `on_timer` is called, instead of a timer that runs. `math.inf`: never."""


class Signals:
    """Signals that the sender of a flow has at a call. The next call uses the same object."""

    __slots__ = (
        "_hops",
        "acks",
        "base_rtt",
        "line_rate",
        "marked",
        "next",
        "now",
        "payload",
        "rate",
        "rtt",
        "seq",
        "window",
    )

    _hops: tuple[tuple[int, float, float], ...]
    now: float
    """Time, seconds."""
    acks: int
    """ACKs since the last `on_ack` of this flow."""
    marked: int
    """Marked ACKs among them."""
    seq: int
    """Next packet that the receiver expects, from 0."""
    next: int
    """Next packet that the sender will send."""
    rtt: float | None
    """Round trip of the newest acknowledged packet, seconds; None at events that are no ACKs."""
    rate: float
    """Rate of the flow, bit/s."""
    window: int | None
    """Its window, payload bytes; None if it has none."""
    line_rate: float
    """Rate of the NIC, bit/s."""
    base_rtt: float
    """Round trip of a full packet on an idle network, seconds."""
    payload: int
    """Payload of a full packet, bytes."""

    @property
    def hops(self) -> list[Hop]:
        """Telemetry of each hop. Empty at events that are no ACKs."""
        return [Hop(*one) for one in self._hops]


class RateControl:
    """A congestion control. Derive a class, and override `on_ack` and what else it reacts to.

    Every method gets the number of the flow, which indexes the arrays of `fields`, and its `Signals`. It returns a rate
    in bit/s, a `Set`, or None if nothing changes. An instance has the flows of one run.

    >>> class Halving(backwater.RateControl):
    ...     fields = {"cuts": 0}
    ...     def on_ack(self, flow, signals):
    ...         self.cuts[flow] += signals.marked > 0
    ...         return signals.rate / 2 if signals.marked else signals.rate + 1e9
    >>> net = backwater.topology.single_switch(hosts=4, rate="100 Gbps", delay="1 us")
    >>> traffic = backwater.workload.long_lived(count=3, from_=["host1", "host2", "host3"], to=["host0"])
    >>> done = Experiment.of(net, traffic, schemes=["dctcp", Halving], duration="200 us").run()
    >>> [run.variant for run in done]
    ['dctcp', 'Halving']
    """

    name: str = ""
    """Name in tables. By default that of the class."""
    switch: str = "dctcp"
    """Scheme whose switches and hosts the control runs on, in `Experiment.of`."""
    every: int | Literal["rtt"] = "rtt"
    """ACKs between calls of `on_ack`, or once per round trip. With 1, every ACK is a call, which takes long."""
    telemetry_bytes: Bytes = 0
    """Wire bytes on every packet for telemetry. `Signals.hops` is there in any case."""
    cnp_interval: Duration | None = None
    """Least time between two congestion notifications of a receiver (DCQCN). None: there are none."""
    start_rate: float = 1.0
    """Rate at which flows start, as a share of the line rate."""
    window_follows_rate: bool = True
    """The window is in proportion to the rate, unless it is set."""
    paced: bool = True
    """Packets are spaced by the rate. If not, only the window limits them."""
    fields: ClassVar[Mapping[str, float]] = {}
    """Arrays with an element for each flow, by name, with the value of a new flow. Each is an attribute."""
    _where_it_belongs: ClassVar[str] = (
        "the name of a scheme; a control in Python is given as control=, or as one of Experiment.of(..., schemes=[...])"
    )
    """What a message expects where a control is no value of a scenario."""

    def __init__(self, **parameters: Any) -> None:
        """Sets attributes of the class: `Mine(g=0.1)`.

        # Errors
        `InputError` if the class has no such attribute.
        """
        for name, value in parameters.items():
            if name.startswith("_") or not hasattr(type(self), name) or callable(getattr(type(self), name)):
                raise InputError(f"{type(self).__name__}: no parameter '{name}'")
            setattr(self, name, value)

    def on_ack(self, flow: int, signals: Signals) -> float | Set | None:
        """Reacts to the ACKs of a round trip, or to `every` ACKs."""

    def on_cnp(self, flow: int, signals: Signals) -> float | Set | None:
        """Reacts to a congestion notification."""

    def on_missed(self, flow: int, signals: Signals) -> float | Set | None:
        """Reacts to a loss that the receiver or a switch told of."""

    def on_timeout(self, flow: int, signals: Signals) -> float | Set | None:
        """Reacts to a retransmission timeout."""

    def on_timer(self, flow: int, signals: Signals) -> float | Set | None:
        """Reacts to the timer that it has set."""


class Bound:
    """A control in one run: what the simulator calls."""

    def __init__(self, control: RateControl) -> None:
        self.control = copy.deepcopy(control)
        self.signals = Signals()
        self.handlers = [getattr(self.control, name) for name in EVENTS]
        self.flows: dict[int, int] = {}
        self.room = FIRST
        for name, value in self.control.fields.items():
            setattr(self.control, name, np.full(self.room, float(value)))

    def __call__(
        self,
        event: int,
        key: int,
        now: float,
        counts: tuple[int, int, int, int],
        rtt: float | None,
        held: tuple[float, int | None],
        site: tuple[float, float, int],
        hops: tuple[tuple[int, float, float], ...],
    ) -> tuple[float | None, float | None, float | None] | None:
        flow = self.flows.get(key)
        if flow is None:
            flow = self.add(key)
        signals = self.signals
        signals.now, signals.rtt, signals._hops = now, rtt, hops
        signals.acks, signals.marked, signals.seq, signals.next = counts
        signals.rate, signals.window = held
        signals.line_rate, signals.base_rtt, signals.payload = site
        found = self.handlers[event](flow, signals)
        if found is None:
            return None
        if isinstance(found, Set):
            return self.checked(event, found)
        return self.checked(event, Set(rate=found))

    def add(self, key: int) -> int:
        """Gives a new flow its number, and makes room for it."""
        flow = self.flows[key] = len(self.flows)
        if flow == self.room:
            for name, value in self.control.fields.items():
                more = np.full(self.room, float(value))
                setattr(self.control, name, np.concatenate([getattr(self.control, name), more]))
            self.room *= 2
        return flow

    def checked(self, event: int, found: Set) -> tuple[float | None, float | None, float | None]:
        """Returns what is set as numbers.

        # Errors
        `InputError` if one is no number of its kind.
        """
        method = f"{type(self.control).__name__}.{EVENTS[event]}"
        made = []
        for name, value in found._asdict().items():
            if value is not None:
                try:
                    value = float(value)
                except (TypeError, ValueError):
                    raise InputError(f"{method}: {name} = {value!r}: expected a number") from None
                if math.isnan(value) or value < 0 or (name != "timer" and math.isinf(value)):
                    raise InputError(f"{method}: {name} = {value}: expected a number, 0 or more")
                value = min(value, 1e15) if name == "window" else min(value, 1e9) if name == "timer" else value
            made.append(value)
        return made[0], made[1], made[2]


def keys_of(control: RateControl) -> dict[str, Value]:
    """Returns the keys of a scenario that has this control.

    # Errors
    `InputError` if `every` is wrong.
    """
    every = control.every
    if every != "rtt" and (isinstance(every, bool) or not isinstance(every, int) or every < 1):
        raise InputError(f"{type(control).__name__}: every = {every!r}: expected 'rtt', or a number of ACKs from 1 on")
    keys: dict[str, Value] = {
        "transport": "callback",
        "callback.name": name_of(control),
        "callback.code": digest_of(control),
        "callback.every": 0 if every == "rtt" else every,
        "callback.telemetry_bytes": spelled(control.telemetry_bytes, "B"),
        "callback.cnp_interval": spelled(control.cnp_interval, "s"),
        "callback.start_rate": float(control.start_rate),
        "callback.window_follows_rate": control.window_follows_rate,
        "callback.paced": control.paced,
    }
    return {f"host.{key}": value for key, value in keys.items() if value is not None}


def digest_of(control: RateControl) -> str:
    """Returns a digest of the module and the parameters of a control: 16 hex digits, or `UNKNOWN`.

    What the module imports is not in it.
    """
    module = inspect.getmodule(type(control))
    try:
        code = inspect.getsource(module) if module is not None else ""
    except (OSError, TypeError):
        return UNKNOWN
    state = sorted((name, repr(value)) for name, value in vars(control).items())
    return hashlib.sha256(repr((code, type(control).__qualname__, state)).encode()).hexdigest()[:16]


def name_of(control: RateControl) -> str:
    """Returns the name of a control in tables."""
    return control.name or type(control).__name__


def instance(control: RateControl | type[RateControl]) -> RateControl:
    """Returns a control, of a class or as it is.

    # Errors
    `InputError` for anything else.
    """
    made = control() if isinstance(control, type) and issubclass(control, RateControl) else control
    if not isinstance(made, RateControl):
        raise InputError(
            f"control = {control!r}: expected a class derived from backwater.RateControl, or one of its objects"
        )
    return made
