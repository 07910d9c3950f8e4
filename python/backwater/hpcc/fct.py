"""fct.txt: a line for each finished flow, in order of completion.

sip dip sport dport bytes start_ns fct_ns standalone_ns

HPCC, PowerTCP, SimAI   addresses as 8 hexadecimal digits: 0x0b000001 + (id / 256 << 16) + (id % 256 << 8)
ConWeave                numbers of nodes
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from backwater._core import InputError
from backwater.common import disk
from backwater.common.arrays import Array, Integers, np, pa, pc
from backwater.hpcc.units import resolved
from backwater.hpcc.words import INTEGER, rows, wrong
from backwater.runs.directory import RunDirectory
from backwater.runs.manifest import MANIFEST
from backwater.runs.run import Run

ADDRESS = re.compile(r"[0-9a-fA-F]{8}")
FIRST_PORT = 10_000
"""Source port of the first flow between two hosts; each further one has the next."""
FIELDS = ("source", "destination", "source port", "destination port", "bytes", "start", "completion time", "standalone")
BOUNDS = ((0, 65_535), (0, 65_535), (0, 65_535), (0, 65_535), (1, 2**63), (0, 2**63), (0, 2**63), (0, 2**63))


@dataclass(frozen=True)
class Finished:
    """The finished flows in order of completion, one array per field, with times in nanoseconds."""

    name: str
    src: Integers
    dst: Integers
    sport: Integers
    dport: Integers
    bytes: Integers
    start_ns: Integers
    fct_ns: Integers
    standalone_ns: Integers
    unfinished: int = 0
    """Flows that did not finish, where that is known."""
    endless: int = 0
    """Flows without end, where that is known. They are neither finished nor unfinished."""

    def __len__(self) -> int:
        return len(self.src)

    def where(self, chosen: Array) -> Finished:
        """Returns only the chosen flows."""
        return of_columns(self.name, [column[chosen] for column in self.columns])

    @property
    def columns(self) -> tuple[Integers, ...]:
        return (
            *(self.src, self.dst, self.sport, self.dport),
            *(self.bytes, self.start_ns, self.fct_ns, self.standalone_ns),
        )


def open_any(path: Path) -> Finished:
    """Opens completion times: of a file, of the only run of a run directory, or of a run in one.

    # Errors
    `InputError` where it is none of these.
    """
    if not path.is_dir():
        return read(path)
    found = runs(path)
    if len(found) > 1:
        names = ", ".join(str(run.path) for run in found)
        raise InputError(f"{path}: holds {len(found)} runs: expected one of {names}")
    return of_run(found[0], str(path))


def runs(path: Path) -> list[Run]:
    """Returns the runs of a run directory, or the one run that `path` is."""
    if not (path / MANIFEST).is_file() and (path.parent / MANIFEST).is_file():
        inside = [run for run in RunDirectory(path.parent).runs if run.path.name == path.name]
        if inside:
            return inside
    found = RunDirectory(path).runs
    if not found:
        raise InputError(f"{path}: holds no finished run")
    return found


def read(path: Path) -> Finished:
    """Reads a file as the simulators write it.

    # Errors
    `InputError` naming line, word and what was expected.
    """
    table: list[list[int]] = []
    for line, words in rows(path):
        if len(words) != len(FIELDS):
            raise InputError(
                f"{path}:{line}: {len(words)} words: expected 8, sip dip sport dport bytes start_ns fct_ns "
                "standalone_ns"
            )
        values = [*map(node, words[:2]), *(int(w) if INTEGER.fullmatch(w) else -1 for w in words[2:])]
        for i, (low, high) in enumerate(BOUNDS):
            if not low <= values[i] < high + (i < 4):
                what = f"an address such as 0b000101 or a node up to {high}" if i < 2 else f"a whole number from {low}"
                raise wrong(
                    path, line, FIELDS[i], words[i], f"expected {what}" + (f" to {high}" if i in (2, 3) else "")
                )
        table.append(values)
    return of_columns(str(path), list(np.array(table, np.int64).reshape(-1, len(FIELDS)).T.copy()))


def of_columns(name: str, columns: list[Integers], unfinished: int = 0, endless: int = 0) -> Finished:
    src, dst, sport, dport, size, start_ns, fct_ns, standalone_ns = columns
    return Finished(name, src, dst, sport, dport, size, start_ns, fct_ns, standalone_ns, unfinished, endless)


def node(word: str) -> int:
    """Returns the node number in an address, or a plain number, or -1 for anything else."""
    if ADDRESS.fullmatch(word):
        address = int(word, 16)
        return (address >> 8) & 0xFFFF if address & 0xFF0000FF == 0x0B000001 else -1
    return int(word) if INTEGER.fullmatch(word) else -1


def address(node: int) -> str:
    return f"{0x0B000001 + (node // 256 << 16) + (node % 256 << 8):08x}"


def of_run(run: Run, name: str | None = None) -> Finished:
    """Returns the finished flows of a run. A flow is complete when its sender has the last ACK."""
    table = run.table("flows")
    if "port" not in table.column_names:
        raise InputError(f"{run.path}: its flows have no ports: it was made by an older version; run it again")
    numbers = node_numbers(run)
    src, dst = (numbers_of(table[column], numbers) for column in ("src", "dst"))
    sport = (FIRST_PORT + earlier(src, dst)) % 2**16
    done = np.asarray(pc.is_valid(table["finish_tx_ps"]))
    arrival, finish, ideal, size = (
        pc.fill_null(table[column], 0).to_numpy().astype(np.int64)
        for column in ("arrival_ps", "finish_tx_ps", "ideal_ps", "size_bytes")
    )
    order = np.argsort(finish, kind="stable")
    order = order[done[order]]
    origin = resolved(run.scenario["run"].get("origin", "0 s"))
    port = table["port"].to_numpy().astype(np.int64)
    times = ((origin + arrival) // 1000, (finish - arrival) // 1000, ideal // 1000)
    columns = [column[order] for column in (src, dst, sport, port, size, *times)]
    endless = table["size_bytes"].null_count
    return of_columns(name or str(run.path), columns, int((~done).sum()) - endless, endless)


def node_numbers(run: Run) -> dict[str, int]:
    """Returns the node number of each host by name, as in the simulator's files."""
    network = run.scenario["topology"]
    if network["kind"] != "graph":
        return {}
    return dict(zip(network["hosts"], network.get("ids") or range(len(network["hosts"])), strict=False))


def numbers_of(names: Any, numbers: dict[str, int]) -> Integers:
    """Returns host numbers by name. If the topology names no hosts, they are `host0`, `host1`, and so on."""
    column = names.combine_chunks() if isinstance(names, pa.ChunkedArray) else names

    def number(name: str) -> int:
        return numbers.get(name, int(name[4:]) if not numbers and name.startswith("host") else 0)

    return np.array([number(name) for name in column.dictionary.to_pylist()], np.int64)[column.indices.to_numpy()]


def earlier(src: Integers, dst: Integers) -> Integers:
    """Returns for each flow how many earlier flows had the same source and destination."""
    pair = src * 65_536 + dst
    order = np.argsort(pair, kind="stable")
    first = np.flatnonzero(np.diff(pair[order], prepend=-1))
    counts = np.empty(len(pair), np.int64)
    counts[order] = np.arange(len(pair)) - np.repeat(first, np.diff(first, append=len(pair)))
    return counts


def text(finished: Finished) -> str:
    """Returns the text of the file in HPCC's dialect."""
    addresses = {node: address(node) for node in {*finished.src.tolist(), *finished.dst.tolist()}}
    lines = [
        f"{addresses[src]} {addresses[dst]} {sport} {dport} {size} {start} {fct} {standalone}"
        for src, dst, sport, dport, size, start, fct, standalone in zip(
            *(column.tolist() for column in finished.columns), strict=True
        )
    ]
    return "".join(f"{line}\n" for line in lines)


def destinations(file: Path, labels: list[str], *, force: bool) -> list[Path]:
    """Returns the file of each run: `file` for one run, `fct.LABEL.txt` for each of several.

    # Errors
    `InputError` where one stands already, or there is no directory for it.
    """
    places = [file] if len(labels) == 1 else [file.with_name(f"{file.stem}.{label}{file.suffix}") for label in labels]
    if not file.absolute().parent.is_dir():
        raise InputError(f"{file}: no such directory: {file.parent}")
    for place in places:
        if place.is_dir():
            raise InputError(f"{place}: is a directory: expected a file to write")
        if place.exists() and not force:
            raise InputError(f"{place}: exists; name another file, or replace it with --force")
    return places


def write(run: Run, place: Path) -> Finished:
    """Writes a run's completion times, whole or not at all."""
    finished = of_run(run)
    with disk.errors(place):
        disk.write_whole(place, text(finished))
    return finished
