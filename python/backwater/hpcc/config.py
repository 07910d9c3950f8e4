"""config.txt: `KEY value` in any order. The values of a key may span several lines.

Keys that matter to a run here are read. The summary of an import names all other keys, and unknown ones.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from backwater._core import InputError
from backwater.hpcc import units
from backwater.hpcc.words import INTEGER, Words, number, wrong

T = TypeVar("T")

USED = {
    *("CC_MODE", "PACKET_PAYLOAD_SIZE", "SIMULATOR_STOP_TIME", "ERROR_RATE_PER_LINK", "BUFFER_SIZE"),
    *("LINK_DOWN", "ACK_HIGH_PRIO", "HAS_WIN", "GLOBAL_T", "RATE_BOUND", "L2_ACK_INTERVAL", "L2_BACK_TO_ZERO"),
    "L2_CHUNK_SIZE",
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


@dataclass(frozen=True)
class Entry:
    """A key's values, and the line of the key."""

    values: tuple[str, ...]
    line: int


@dataclass
class Config:
    """The entries of a config.txt. Without a file there are none."""

    path: Path | None = None
    entries: dict[str, Entry] = field(default_factory=dict)
    unknown: dict[str, int] = field(default_factory=dict)
    """Keys the simulator does not know, with their lines."""
    defaulted: dict[str, str] = field(default_factory=dict)
    """Keys that were asked for and are not there, with what they are taken to be."""

    def where(self, key: str) -> str:
        """Returns where a value comes from, for a comment."""
        entry = self.entries.get(key)
        return f"{key}, {self.path.name}:{entry.line}" if entry and self.path else f"{key}, default"

    def wrong(self, key: str, problem: str, word: str | None = None) -> InputError:
        """Makes an error about a value of `key`: about its first word, or about `word`."""
        entry = self.entries[key]
        assert self.path is not None, "there is an entry, so there is a file"
        return wrong(self.path, entry.line, key, entry.values[0] if word is None else word, problem)

    def get(self, key: str, default: T, shown: str, read: Callable[[str], T | None], expected: str) -> T:
        """Returns the value of `key`, or `default` if the file has none."""
        entry = self.entries.get(key)
        if entry is None:
            self.defaulted[key] = shown
            return default
        value = read(entry.values[0])
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
        return self.get("SIMULATOR_STOP_TIME", 0, "", units.seconds_ns, "seconds, such as 3.01")

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


def read(path: Path | None) -> Config:
    """Reads all entries. A key may stand twice if its values are the same.

    # Errors
    `InputError` naming line, key, word and what was expected.
    """
    config = Config(path)
    if path is None:
        return config
    words = Words(path)
    known = USED.union(WITHOUT_EFFECT, *USED_BY.values())
    while row := words.row():
        key = words.next("a key")
        line = words.line
        if key not in known:
            config.unknown.setdefault(key, line)
            # The simulator looks at each word for a key it knows; so does this, on the line.
            for _ in row[1:]:
                if words.row()[0] in known:
                    break
                words.next("a value")
            continue
        entry = Entry(read_values(words, key), line)
        before = config.entries.setdefault(key, entry)
        if before.values != entry.values:
            was = " ".join(before.values)
            raise wrong(
                path, line, key, " ".join(entry.values), f'line {before.line} has "{was}": expected one value for a key'
            )
    return config


def read_values(words: Words, key: str) -> tuple[str, ...]:
    if key == "LINK_DOWN":
        return tuple(words.next(f"{key}: microseconds and two nodes") for _ in range(3))
    if not key.endswith("_MAP"):
        return (words.next(f"the value of {key}"),)
    count = words.next(f"{key}: the number of link rates")
    if whole(0, 1000)(count) is None:
        raise words.wrong(key, count, "expected the number of link rates that follow")
    return (count, *(words.next(f"{key}: {count} pairs of a link rate and a value") for _ in range(2 * int(count))))
