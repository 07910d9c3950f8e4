"""Jobs of a run, from the table `phases`: how long iterations take, and what each rank does in them.

An iteration lasts from the start of its first rank to the end of its last. At each instant of it, a rank does one of
four things, the first of these that applies:

* `compute`: it is in the iteration and computes,
* `exposed`: it is in the iteration and does not compute (exposed communication),
* `other`: it is in another iteration only,
* `bubble`: no operation of its is ready or under way. It has not begun, or waits for nothing but other ranks' ends.

So the four sum to the time of the iteration, for each rank, to the picosecond. A rank that waits for a message has a
receive under way. The table does not say whether the message has been sent, so this wait counts as `exposed`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from backwater.common.arrays import Array, Floats, Integers, np, pc
from backwater.common.quantities import as_number
from backwater.runs.run import Run
from backwater.runs.tables import codes

if TYPE_CHECKING:
    from backwater.scenario.typed import Collective, Job

BUS: dict[str, Callable[[int], float]] = {
    "ring": lambda ranks: 2 * (ranks - 1) / ranks,
    "all-reduce": lambda ranks: 2 * (ranks - 1) / ranks,
    "reduce-scatter": lambda ranks: (ranks - 1) / ranks,
    "all-gather": lambda ranks: (ranks - 1) / ranks,
    "all-to-all": lambda ranks: (ranks - 1) / ranks,
    "broadcast": lambda ranks: 1.0,
    "reduce": lambda ranks: 1.0,
    "pipeline": lambda ranks: 1.0,
}
"""Bus bandwidth over algorithm bandwidth, as nccl-tests defines it."""

NEVER = 2**62
"""Later than any instant, picoseconds."""


@dataclass(frozen=True)
class Rows:
    """Rows of the table `phases` of one job, by rank, iteration and begin. Times are picoseconds."""

    rank: Integers
    """Place of the rank in `Work.ranks`."""
    iteration: Integers
    phase: Integers
    """Place of the phase in `Work.phases`."""
    begin: Integers
    end: Integers
    """-1 where the phase did not end."""
    compute: Integers
    sent: Integers


@dataclass(frozen=True)
class Last:
    """The rank that is last alone most often."""

    host: str
    times: int
    of: int
    """Iterations."""
    behind_ps: float
    """How much later than the median rank it ends then: mean."""


@dataclass(frozen=True)
class Parts:
    """What ranks do in iterations, `[iteration x rank]`, and what a row of the table adds to it. In picoseconds."""

    begin: Integers
    """Of the rank in the iteration."""
    end: Integers
    compute: Integers
    exposed: Integers
    other: Integers
    bubble: Integers
    sent: Integers
    own: Integers
    """`[row]`: time in the phase. Time in two phases of an iteration at once counts for the one that began first."""
    computing: Integers
    """`[row]`: of this, computation. The rest is exposed."""

    @property
    def time(self) -> Integers:
        """`[iteration]`: from the first rank's begin to the last rank's end."""
        return np.asarray(self.end.max(axis=1, initial=-1) - self.begin.min(axis=1, initial=NEVER))


@dataclass(frozen=True)
class Work:
    """One collective or job of one run."""

    workload: Collective | Job
    planned: int
    """Iterations that it has."""
    ranks: list[int]
    """Ranks with operations."""
    hosts: list[str]
    """The host of each."""
    phases: list[str]
    rows: Rows

    @property
    def name(self) -> str:
        """Its class."""
        return self.workload["class"]

    @property
    def kind(self) -> str:
        """The pattern of a collective, or `job`."""
        return "job" if self.workload["kind"] == "job" else self.workload["pattern"]

    @cached_property
    def numbers(self) -> list[int]:
        """Numbers of the iterations before the first that did not end at every rank."""
        return self.ended[0].tolist()

    @cached_property
    def ended(self) -> tuple[Integers, Integers]:
        """These numbers, and `[row]`: the place of the row's iteration among them, -1 where it is not."""
        rows = self.rows
        numbers, place = np.unique(rows.iteration, return_inverse=True)
        there, open_ = (np.zeros((len(numbers), len(self.ranks)), bool) for _ in range(2))
        there[place, rows.rank] = True
        open_[place[rows.end < 0], rows.rank[rows.end < 0]] = True
        complete = (there & ~open_).all(axis=1)
        n = len(numbers) if complete.all() else int(complete.argmin())
        return numbers[:n], np.where(place < n, place, -1)

    @cached_property
    def parts(self) -> Parts:
        """What each rank does in each iteration that ended."""
        rows, (numbers, place) = self.rows, self.ended
        known = place >= 0
        group = place * len(self.ranks) + rows.rank
        own = np.zeros(len(group), np.int64)
        computing = np.zeros(len(group), np.int64)
        own[known] = added(rows.begin[known], rows.end[known], group[known])
        computing[known] = fitted(rows.compute[known], own[known], group[known])
        shape = (len(numbers), len(self.ranks))

        def summed(values: Integers) -> Integers:
            found = np.zeros(shape, np.int64)
            np.add.at(found, (place[known], rows.rank[known]), values[known])
            return found

        begin, end = np.full(shape, NEVER), np.full(shape, -1)
        np.minimum.at(begin, (place[known], rows.rank[known]), rows.begin[known])
        np.maximum.at(end, (place[known], rows.rank[known]), rows.end[known])
        covered, compute = summed(own), summed(computing)
        inside = np.zeros(shape, np.int64)
        if len(numbers):
            first, last = begin.min(axis=1), end.max(axis=1)
            # Phases without an end are under way as long as anything is.
            until = np.where(rows.end < 0, max(int(rows.begin.max()), int(rows.end.max())), rows.end)
            ends = np.searchsorted(rows.rank, np.arange(len(self.ranks) + 1))
            for i in range(len(self.ranks)):
                mine = slice(ends[i], ends[i + 1])
                inside[:, i] = within(rows.begin[mine], until[mine], first, last)
        exposed, other, sent = covered - compute, inside - covered, summed(rows.sent)
        time = end.max(axis=1, initial=-1) - begin.min(axis=1, initial=NEVER)
        return Parts(begin, end, compute, exposed, other, time[:, None] - inside, sent, own, computing)

    @property
    def times(self) -> Integers:
        """Time per iteration, from the end of the one before: picoseconds. They sum to the time of all.

        Microbatches of a pipeline may overtake one another: an iteration counts once all before it have ended.
        """
        ends = np.maximum.accumulate(self.parts.end.max(axis=1, initial=-1))
        return np.diff(ends, prepend=round(1e12 * as_number(self.workload["start"], "workload.start")))

    @cached_property
    def lasts(self) -> tuple[list[int | None], Floats]:
        """The place of the rank that each iteration ended at, None where several ended at once; and how much later
        than the median rank: picoseconds."""
        end = self.parts.end
        if len(end) == 0:
            return [], np.zeros(0)
        latest = end.max(axis=1)
        alone = np.count_nonzero(end == latest[:, None], axis=1) == 1
        places = [i if one else None for i, one in zip(end.argmax(axis=1).tolist(), alone.tolist(), strict=True)]
        return places, latest - np.median(end, axis=1)

    @property
    def bandwidth(self) -> float | None:
        """Algorithm bandwidth: the bytes of a collective in its time per iteration, bits a second. A job has none."""
        if self.workload["kind"] == "job" or not self.numbers:
            return None
        return 8e12 * as_number(self.workload["bytes"], "workload.bytes") / float(self.times.mean())

    @property
    def bus_bandwidth(self) -> float | None:
        """Bits a second, as nccl-tests defines it; of a pipeline what goes over each of its links."""
        share, bandwidth = BUS.get(self.kind), self.bandwidth
        return None if share is None or bandwidth is None else bandwidth * share(len(self.ranks))


def of_run(run: Run) -> list[Work]:
    """Returns the collectives and jobs of a run in the order of its workloads; none where it has none."""
    if not (summaries := run.summary.get("jobs")) or "phases" not in run.tables:
        return []
    workloads = [one for one in run.scenario["workload"] if one["kind"] == "collective" or one["kind"] == "job"]
    table = run.table("phases")
    found = []
    for workload, summary in zip(workloads, summaries, strict=True):
        mine = table.filter(pc.equal(table["class"], workload["class"]))
        ranks, first = np.unique(mine["rank"].to_numpy(), return_index=True)
        names, host = codes(mine["host"])
        phases, phase = codes(mine["phase"])
        used, phase = np.unique(phase, return_inverse=True)
        columns = [
            np.searchsorted(ranks, mine["rank"].to_numpy()),
            mine["iteration"].to_numpy(),
            phase,
            *(pc.fill_null(mine[name], -1).to_numpy() for name in ("begin_ps", "end_ps", "compute_ps", "sent_bytes")),
        ]
        rows = in_order(columns)
        hosts = [names[i] for i in host[first].tolist()]
        known = [phases[i] for i in used.tolist()]
        found.append(Work(workload, summary["iterations"], ranks.tolist(), hosts, known, rows))
    return found


def messages(run: Run, work: Work, places: Sequence[int]) -> list[tuple[Integers, Integers]] | None:
    """Returns for each of these ranks when a message of it was under way: begins and ends, in order and apart.

    A message is under way at its sender until the acknowledgement, and at its receiver until the last byte. Returns
    None if a host has several ranks, because the table `flows` names only hosts.
    """
    if len(set(work.hosts)) < len(work.hosts):
        return None
    at = {work.hosts[place]: i for i, place in enumerate(places)}
    spans: list[list[Integers]] = [[np.zeros((2, 0), np.int64)] for _ in places]
    last, met = run.summary["sim_time_ps"], False
    for batch in run.batches("flows", ["class", "src", "dst", "arrival_ps", "finish_rx_ps", "finish_tx_ps"]):
        ours = pc.equal(batch["class"], work.name)
        if met and not pc.any(ours).as_py():
            break  # Flows of a job have numbers that follow one another.
        mine = batch.filter(pc.and_(ours, pc.is_valid(batch["arrival_ps"])))
        met = met or len(mine) > 0
        begin = mine["arrival_ps"].to_numpy()
        for side, finish in (("src", "finish_tx_ps"), ("dst", "finish_rx_ps")):
            place = np.array([at.get(name, -1) for name in mine[side].dictionary.to_pylist()], np.int64)
            row = place[mine[side].indices.to_numpy()]
            order = np.argsort(row, kind="stable")
            found = np.stack([begin, pc.fill_null(mine[finish], last).to_numpy()])[:, order]
            ends = np.searchsorted(row[order], np.arange(len(places) + 1))
            for i in np.flatnonzero(np.diff(ends)).tolist():
                spans[i].append(found[:, ends[i] : ends[i + 1]])
    return [merged(*np.concatenate(one, axis=1)) for one in spans]


def under_way(work: Work, spans: Sequence[tuple[Integers, Integers]]) -> Integers:
    """Returns how long these spans of each rank last within its phases of each iteration: `[iteration x rank]`."""
    rows, parts, place = work.rows, work.parts, work.ended[1]
    found = np.zeros(parts.begin.shape, np.int64)
    ends = np.searchsorted(rows.rank, np.arange(len(work.ranks) + 1))
    for i, (begin, end) in enumerate(spans):
        mine = ends[i] + np.flatnonzero((place[ends[i] : ends[i + 1]] >= 0) & (parts.own[ends[i] : ends[i + 1]] > 0))
        if len(begin) and len(mine):
            np.add.at(found[:, i], place[mine], within(begin, end, *own_spans(work, mine)))
    return found


def own_spans(work: Work, mine: Integers) -> tuple[Integers, Integers]:
    """Returns begin and end of the time that each of these rows of a rank adds to its iteration."""
    number = np.cumsum(np.diff(work.rows.iteration[mine], prepend=-1) != 0)
    end = running_max(work.rows.end[mine], number)
    return end - work.parts.own[mine], end


def in_order(columns: list[Array]) -> Rows:
    """Returns rows by rank, iteration and begin."""
    rank, iteration, _, begin, *_ = columns
    order = np.lexsort((begin, iteration, rank))
    return Rows(*(column[order].astype(np.int64) for column in columns))


def last(works: Sequence[Work]) -> Last | None:
    """Returns the rank that is last alone most often in runs of a job; None where none is."""
    ends = [(work.hosts[i], late) for work in works for i, late in zip(*work.lasts, strict=True) if i is not None]
    counted = Counter(host for host, _ in ends)
    if not counted:
        return None
    (host, times), *_ = counted.most_common(1)
    behind = [float(late) for name, late in ends if name == host]
    return Last(host, times, sum(len(work.numbers) for work in works), sum(behind) / len(behind))


# Spans that overlap.


def added(begin: Integers, end: Integers, group: Integers) -> Integers:
    """Returns what each span adds to those before it in its group. Groups are together, each in order of begins."""
    new = np.diff(group, prepend=-1) != 0
    reach = running_max(end, np.cumsum(new))
    before = np.where(new, begin, np.concatenate([[0], reach[:-1]])[: len(begin)])
    return np.maximum(end - np.maximum(begin, before), 0)


def running_max(values: Integers, number: Integers) -> Integers:
    """Returns the largest value so far in each group; groups have rising numbers."""
    # Of places among the values, so that the sum cannot overflow.
    known, code = np.unique(values, return_inverse=True)
    return known[np.maximum.accumulate(number * len(known) + code) - number * len(known)]


def fitted(compute: Integers, own: Integers, group: Integers) -> Integers:
    """Returns computation of spans that is at most their time, with the same sum in each group if its time allows it.

    The table counts time of two computations at once for the one that ends first. So a phase may have more of it than
    time of its own; the rest belongs to phases at the same time.
    """
    fit = np.minimum(compute, own)
    room = own - fit
    if len(group) == 0 or np.array_equal(fit, compute):
        return fit
    _, first, number = np.unique(group, return_index=True, return_inverse=True)
    excess = np.zeros(len(first), np.int64)
    np.add.at(excess, number, compute - fit)
    before = np.cumsum(room) - room
    starts = np.sort(first)
    order = np.searchsorted(starts, np.arange(len(group)), "right") - 1
    before -= before[starts][order]
    return fit + np.clip(excess[number] - before, 0, room)


def merged(begin: Integers, end: Integers) -> tuple[Integers, Integers]:
    """Returns the begins and ends of spans that are apart and cover the same time, in order."""
    order = np.argsort(begin, kind="stable")
    begin, reach = begin[order], np.maximum.accumulate(end[order])
    first = np.flatnonzero(np.concatenate([[True], begin[1:] > reach[:-1]])[: len(begin)])
    return begin[first], reach[np.append(first[1:] - 1, len(begin) - 1)[: len(first)]]


def within(begin: Integers, end: Integers, first: Integers, last: Integers) -> Integers:
    """Returns how long at least one of these spans lasts, between each pair of instants."""
    order = np.argsort(begin, kind="stable")
    begin, end = begin[order], end[order]
    reach = np.maximum.accumulate(end)
    total = np.cumsum(added(begin, end, np.zeros(len(begin), np.int64)))

    def until(instant: Integers) -> Integers:
        """Of spans that began by then, all time less what comes later, which is one span up to the latest end."""
        i = np.searchsorted(begin, instant, "right") - 1
        return np.where(i < 0, 0, total[i] - np.maximum(reach[i] - instant, 0))

    return np.asarray(until(last) - until(first))
