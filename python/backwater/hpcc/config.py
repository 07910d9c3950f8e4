"""config.txt: `KEY value` in any order. The values of a key may span several lines.

Keys that matter to a run here are read. The summary of an import names all other keys, and unknown ones. SimAI's
simulator also sets attributes of ns-3, such as `ns3::RdmaHw::CcMode 1`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from backwater._core import InputError
from backwater.common.quantities import some
from backwater.hpcc import units
from backwater.hpcc.words import INTEGER, Words, are, number, wrong

T = TypeVar("T")

LONG = str(units.SECONDS_MAX)
"""What a longer stop time is cut to: SimAI's simulator stops after 4 x 10^13 s."""

USED = {
    *("CC_MODE", "PACKET_PAYLOAD_SIZE", "SIMULATOR_STOP_TIME", "ERROR_RATE_PER_LINK", "BUFFER_SIZE"),
    *("LINK_DOWN", "ACK_HIGH_PRIO", "HAS_WIN", "GLOBAL_T", "RATE_BOUND", "L2_ACK_INTERVAL", "L2_BACK_TO_ZERO"),
    *("L2_CHUNK_SIZE", "FIXED_WIN"),
}
USED_BY = {
    "dctcp": {
        *("EWMA_GAIN", "MIN_RATE", "DCTCP_RATE_AI", "VAR_WIN", "ENABLE_QCN", "KMAX_MAP", "KMIN_MAP", "PMAX_MAP"),
    },
    "hpcc": {
        *("U_TARGET", "MI_THRESH", "RATE_AI", "MIN_RATE", "FAST_REACT", "MULTI_RATE", "SAMPLE_FEEDBACK", "INT_MULTI"),
        "VAR_WIN",
    },
    "dcqcn": {
        *("ALPHA_RESUME_INTERVAL", "RATE_DECREASE_INTERVAL", "RP_TIMER", "FAST_RECOVERY_TIMES", "CLAMP_TARGET_RATE"),
        *("EWMA_GAIN", "RATE_AI", "RATE_HAI", "MIN_RATE", "VAR_WIN"),
        *("ENABLE_QCN", "KMAX_MAP", "KMIN_MAP", "PMAX_MAP"),
    },
    "timely": {"RATE_AI", "RATE_HAI", "MIN_RATE", "VAR_WIN"},
    "pint": {"U_TARGET", "MI_THRESH", "RATE_AI", "MIN_RATE", "PINT_LOG_BASE", "PINT_PROB", "VAR_WIN"},
}
"""Keys that one transport reads beside those."""
WITHOUT_EFFECT = {
    *("USE_DYNAMIC_PFC_THRESHOLD", "PAUSE_TIME", "DATA_RATE", "LINK_DELAY", "ENABLE_TRACE"),
    *("TOPOLOGY_FILE", "FLOW_FILE", "TRACE_FILE", "TRACE_OUTPUT_FILE", "FCT_OUTPUT_FILE", "PFC_OUTPUT_FILE"),
    *("QLEN_MON_FILE", "QLEN_MON_START", "QLEN_MON_END"),
}
"""Keys of the simulator that change no result under the schemes imported here, whatever their values."""
MUST_BE = {
    "L2_BACK_TO_ZERO": (0, "a host resends from the byte that was lost, not from the start of its chunk"),
    **dict.fromkeys(("ENABLE_PFC", "ENABLE_QBB"), (1, "that simulator's switches are not simulated without PFC")),
    "ENABLE_IRN": (0, "IRN is not simulated with that simulator's hosts"),
    "ENABLE_TLT": (0, "TLT is not simulated"),
    "LB_MODE": (0, "a flow keeps the path that ECMP gives it"),
    "PACKET_LEVEL_ECMP": (0, "a flow keeps the path that ECMP gives it"),
    "NO_CC_NODE": (0, "all hosts have the same congestion control"),
}
"""Keys, most of them of forks, that would change results here: the only value that is simulated, and why."""
NOT_READ = dict.fromkeys(
    ("KMAX", "KMIN", "PMAX"), "the settings of ns3-rdma are not read: expected those of HPCC, such as KMAX_MAP"
)
"""Keys of another simulator's configuration."""

OF_CLASS = {"MellanoxDcqcn": "dcqcn", "Dctcp": "dctcp", "Hpcc": "hpcc", "HpccPint": "pint", "Timely": "timely"}
"""Transports whose attributes are in these classes of SimAI's simulator. Other classes are of all transports."""
ATTRIBUTES = {
    **{"QbbNetDevice::QcnEnabled": "ENABLE_QCN", "QbbNetDevice::DynamicThreshold": "USE_DYNAMIC_PFC_THRESHOLD"},
    **{"SwitchNode::PfcEnabled": "ENABLE_PFC", "RdmaHw::Mtu": "PACKET_PAYLOAD_SIZE", "RdmaHw::CcMode": "CC_MODE"},
    **{"RdmaHw::RateAI": "RATE_AI", "RdmaHw::RateHAI": "RATE_HAI", "RdmaHw::MinRate": "MIN_RATE"},
    **{"RdmaHw::L2ChunkSize": "L2_CHUNK_SIZE", "RdmaHw::L2AckInterval": "L2_ACK_INTERVAL"},
    **{"RdmaHw::L2BackToZero": "L2_BACK_TO_ZERO", "RdmaHw::VarWin": "VAR_WIN", "RdmaHw::RateBound": "RATE_BOUND"},
    **{"MellanoxDcqcn::AlphaResumInterval": "ALPHA_RESUME_INTERVAL", "MellanoxDcqcn::RPTimer": "RP_TIMER"},
    "MellanoxDcqcn::RateDecreaseInterval": "RATE_DECREASE_INTERVAL",
    **{"MellanoxDcqcn::ClampTargetRate": "CLAMP_TARGET_RATE", "MellanoxDcqcn::EwmaGain": "EWMA_GAIN"},
    **{"MellanoxDcqcn::FastRecoveryTimes": "FAST_RECOVERY_TIMES", "Dctcp::DctcpRateAI": "DCTCP_RATE_AI"},
    **{"Hpcc::FastReact": "FAST_REACT", "Hpcc::TargetUtil": "U_TARGET", "Hpcc::MiThresh": "MI_THRESH"},
    **{"Hpcc::MultiRate": "MULTI_RATE", "Hpcc::SampleFeedback": "SAMPLE_FEEDBACK", "HpccPint::PintProb": "PINT_PROB"},
}
"""Attributes of ns-3 that stand for a key, without the `ns3::` before them."""
TRUTH = {"true": "1", "false": "0"}
"""Values of attributes that are flags."""


@dataclass(frozen=True)
class Entry:
    """A key's values, the line of the key, and the key as the file has it."""

    values: tuple[str, ...]
    line: int
    written: str


@dataclass
class Config:
    """The entries of a config.txt. Without a file there are none."""

    path: Path | None = None
    entries: dict[str, Entry] = field(default_factory=dict)
    unknown: dict[str, int] = field(default_factory=dict)
    """Keys the simulator does not know, with their lines."""
    defaulted: dict[str, str] = field(default_factory=dict)
    """Keys that were asked for and are not there, with what they are taken to be."""
    notes: list[str] = field(default_factory=list)
    """What was left out in reading."""

    def where(self, key: str) -> str:
        """Returns where a value comes from, for a comment."""
        entry = self.entries.get(key)
        return f"{entry.written}, {self.path.name}:{entry.line}" if entry and self.path else f"{key}, default"

    def wrong(self, key: str, problem: str, word: str | None = None) -> InputError:
        """Makes an error about a value of `key`: about its first word, or about `word`."""
        entry = self.entries[key]
        assert self.path is not None, "there is an entry, so there is a file"
        return wrong(self.path, entry.line, entry.written, entry.values[0] if word is None else word, problem)

    def get(self, key: str, default: T, shown: str, read: Callable[[str], T | None], expected: str) -> T:
        """Returns the value of `key`, or `default` if the file has none."""
        entry = self.entries.get(key)
        if entry is None:
            self.defaulted[key] = shown
            return default
        word = entry.values[0]
        value = read(TRUTH.get(word, word) if entry.written.startswith("ns3::") else word)
        if value is None:
            raise self.wrong(key, f"expected {expected}")
        return value

    def whole(self, key: str, default: int, low: int = 0, high: int = 2**32 - 1) -> int:
        return self.get(key, default, str(default), whole(low, high), f"a whole number from {low} to {high}")

    def flag(self, key: str, default: bool) -> bool:
        """Returns whether a flag is set. In these files any value but 0 sets it."""
        return bool(self.whole(key, int(default)))

    def must_be(self, key: str, value: int, why: str) -> None:
        if key in self.entries and self.whole(key, value) != value:
            raise self.wrong(key, f"{why}: expected {value}")

    def rate(self, key: str, default: int, low: int = 1) -> int:
        def read(word: str) -> int | None:
            value = units.rate(word)
            return value if value is not None and value >= low else None

        return self.get(key, default, units.ns3_rate(default), read, units.RATE_FORMS)

    def share(self, key: str, default: float, expected: str, within: Callable[[float], bool]) -> float:
        def read(word: str) -> float | None:
            value = number(word)
            return value if value is not None and within(value) else None

        return self.get(key, default, f"{default:g}", read, expected)

    def microseconds(self, key: str, default: int) -> int:
        """Returns a period in microseconds without its fraction, which the simulator drops."""

        def read(word: str) -> int | None:
            value = number(word)
            return int(value) if value is not None and 1 <= value <= 10**6 else None

        return self.get(key, default, f"{default} us", read, "1 to 1000000 microseconds")

    def stop_ns(self) -> int | None:
        entry = self.entries.get("SIMULATOR_STOP_TIME")
        if entry is None:
            return None

        def read(word: str) -> int | None:
            value = number(word)
            return None if value is None else units.seconds_ns(word if value <= units.SECONDS_MAX else LONG)

        return self.get("SIMULATOR_STOP_TIME", 0, "", read, "seconds, such as 3.01")

    def by_rate(self, key: str, read: Callable[[str], T | None], expected: str) -> dict[int, T]:
        """Returns a map by link rate, in bit/s."""
        table: dict[int, T] = {}
        values = self.entries[key].values[1:]
        for first, second in zip(values[::2], values[1::2], strict=True):
            rate, value = whole(1, 2**63)(first), read(second)
            if rate is None:
                raise self.wrong(key, "expected a link rate in bit/s, such as 100000000000", first)
            if value is None:
                raise self.wrong(key, f"expected {expected}", second)
            if table.setdefault(rate, value) != value:
                raise self.wrong(key, f"{rate} has another value before: expected each rate once", second)
        return table


def whole(low: int, high: int) -> Callable[[str], int | None]:
    return lambda word: int(word) if INTEGER.fullmatch(word) and low <= int(word) <= high else None


def read(path: Path | None, transport: str) -> Config:
    """Reads all entries, and of attributes those that `transport` has. A key may stand twice with the same values.

    # Errors
    `InputError` naming line, key, word and what was expected.
    """
    config = Config(path)
    if path is None:
        return config
    words = Words(path)
    known = USED.union(WITHOUT_EFFECT, MUST_BE, NOT_READ, *USED_BY.values())
    while row := words.row():
        written = words.next("a key")
        key = key_of(written, transport)
        line = words.line
        if key not in known:
            config.unknown.setdefault(written, line)
            # The simulator looks at each word for a key it knows; so does this, on the line.
            for _ in row[1:]:
                if words.row()[0] in known:
                    break
                words.next("a value")
            continue
        entry = Entry(read_values(words, key), line, written)
        before = config.entries.setdefault(key, entry)
        if before.values != entry.values:
            was = " ".join(before.values)
            raise wrong(
                path,
                line,
                written,
                " ".join(entry.values),
                f'line {before.line} has "{was}": expected one value for a key',
            )
        if key.endswith("_MAP") or key == "NO_CC_NODE":
            skip_numbers(words, config, entry)
    return config


def key_of(written: str, transport: str) -> str:
    """Returns the key that a word stands for: itself, or that of an attribute of ns-3."""
    if not written.startswith("ns3::"):
        return written
    attribute = written.removeprefix("ns3::")
    of = OF_CLASS.get(attribute.split("::")[0], transport)
    return ATTRIBUTES.get(attribute, written) if of == transport else written


def skip_numbers(words: Words, config: Config, entry: Entry) -> None:
    """Leaves out the numbers behind a list, on its line: the simulators take them for keys that they do not know."""
    behind = 0
    while words.line == entry.line and (row := words.rest()) and number(row[0]) is not None:
        words.next("a number")
        behind += 1
    if behind and entry.written != "NO_CC_NODE":
        config.notes.append(
            f"{entry.written} counts {entry.values[0]}: {some(behind, 'word')} behind {are(behind)} left out, as there "
            f"({words.path.name}:{entry.line})"
        )


def read_values(words: Words, key: str) -> tuple[str, ...]:
    if key == "LINK_DOWN":
        return tuple(words.next(f"{key}: microseconds and two nodes") for _ in range(3))
    if not key.endswith("_MAP"):
        return (words.next(f"the value of {key}"),)
    count = words.next(f"{key}: the number of link rates")
    if whole(0, 1000)(count) is None:
        raise words.wrong(key, count, "expected the number of link rates that follow")
    return (count, *(words.next(f"{key}: {count} pairs of a link rate and a value") for _ in range(2 * int(count))))
