"""Tables of jobs over several runs: a row for each job, each rank of an iteration, or each rank of a phase."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from backwater.common.arrays import Array, np, pa
from backwater.runs import jobs
from backwater.runs.derived import Columns
from backwater.runs.run import Run
from backwater.runs.tables import Column, column

CLASS = column("class", "cat", None, "workload")
FOUR = [
    column("compute_ps", "u64", "ps", "of this, time in which it computed"),
    column("exposed_ps", "u64", "ps", "time in which it was in the iteration and did not compute"),
    column("other_ps", "u64", "ps", "time in which it was in another iteration only"),
    column("bubble_ps", "u64", "ps", "the rest: no operation of its was ready or under way"),
]
JOBS: list[Column] = [
    CLASS,
    column("kind", "cat", None, "pattern of a collective, or job"),
    column("ranks", "u64", None, "ranks with operations"),
    column("iterations", "u64", None, "iterations that it has"),
    column("ended", "u64", None, "of these, before the first that did not end at every rank; all below is about them"),
    column("per_iteration_ps", "f64", "ps", "time from the end of one iteration to that of the next: mean"),
    column("p50_ps", "f64", "ps", "median of these times"),
    column("p95_ps", "f64", "ps", "95th percentile"),
    column("p99_ps", "f64", "ps", "99th percentile"),
    column("max_ps", "u64", "ps", "longest"),
    column("time_ps", "f64", "ps", "from the start of an iteration's first rank to the end of its last: mean"),
    *(column(one["name"], "f64", "ps", f"{one['description']}: mean of ranks") for one in FOUR),
    column("algbw_bps", "f64", "bit/s", "bytes of the collective in its time per iteration; none for a job"),
    column("busbw_bps", "f64", "bit/s", "bus bandwidth as nccl-tests defines it; none where it defines none"),
    column("sent_bytes", "u64", "B", "payload that the ranks sent"),
    column("slowest", "cat", None, "host of the rank that is last alone most often; none where none is"),
    column("slowest_times", "u64", None, "iterations in which it is last alone"),
    column("behind_ps", "f64", "ps", "how much later than the median rank it ends then: mean"),
]
RANKS: list[Column] = [
    CLASS,
    column("iteration", "u64", None, "iteration of the job, from 0"),
    column("rank", "u64", None, "rank"),
    column("host", "cat", None, "its host"),
    column("begin_ps", "u64", "ps", "when its first operation of the iteration was ready"),
    column("end_ps", "u64", "ps", "when its last operation of the iteration ended"),
    column("time_ps", "u64", "ps", "from the first rank's begin to the last rank's end: the sum of the next four"),
    *FOUR,
    column(
        "under_way_ps", "u64", "ps", "time in the iteration with a message of it under way; none if a host has several"
    ),
    column("sent_bytes", "u64", "B", "payload that it sent"),
]
STEPS: list[Column] = [
    *RANKS[:2],
    column("phase", "cat", None, "phase of the iteration; the job's class if it has no phases"),
    *RANKS[2:4],
    column("begin_ps", "u64", "ps", "when its first operation of the phase was ready"),
    column("end_ps", "u64", "ps", "when its last operation of the phase ended"),
    column("own_ps", "u64", "ps", "time in the phase; time in two phases counts for the one that began first"),
    column("compute_ps", "u64", "ps", "of this, time in which it computed"),
    column("exposed_ps", "u64", "ps", "the rest"),
    column("sent_bytes", "u64", "B", "payload that it sent"),
]


def of_jobs(run: Run) -> Iterator[Columns]:
    for work in jobs.of_run(run):
        parts, times, done = work.parts, work.times, bool(work.numbers)
        last = jobs.last([work])
        means = {
            name: float(values.mean()) if done else None
            for name, values in [
                ("per_iteration_ps", times),
                ("time_ps", parts.time),
                ("compute_ps", parts.compute),
                ("exposed_ps", parts.exposed),
                ("other_ps", parts.other),
                ("bubble_ps", parts.bubble),
            ]
        }
        percentiles = {f"p{p}_ps": float(np.percentile(times, p)) if done else None for p in (50, 95, 99)}
        row = {
            "class": work.name,
            "kind": work.kind,
            "ranks": len(work.ranks),
            "iterations": work.planned,
            "ended": len(work.numbers),
            **means,
            **percentiles,
            "max_ps": int(times.max()) if done else None,
            "algbw_bps": work.bandwidth,
            "busbw_bps": work.bus_bandwidth,
            "sent_bytes": int(parts.sent.sum()),
            "slowest": last and last.host,
            "slowest_times": last and last.times,
            "behind_ps": last and last.behind_ps,
        }
        yield {name: [value] for name, value in row.items()}


def of_ranks(run: Run) -> Iterator[Columns]:
    for work in jobs.of_run(run):
        parts, (n, many) = work.parts, work.parts.begin.shape
        spans = jobs.messages(run, work, range(many))
        host = coded(np.tile(np.arange(many), n), work.hosts)
        yield {
            "class": coded(np.zeros(n * many, np.int64), [work.name]),
            "iteration": np.repeat(np.array(work.numbers, np.int64), many),
            "rank": np.tile(np.array(work.ranks, np.int64), n),
            "host": host,
            "begin_ps": parts.begin.ravel(),
            "end_ps": parts.end.ravel(),
            "time_ps": np.repeat(parts.time, many),
            "compute_ps": parts.compute.ravel(),
            "exposed_ps": parts.exposed.ravel(),
            "other_ps": parts.other.ravel(),
            "bubble_ps": parts.bubble.ravel(),
            "under_way_ps": [None] * (n * many) if spans is None else jobs.under_way(work, spans).ravel(),
            "sent_bytes": parts.sent.ravel(),
        }


def of_steps(run: Run) -> Iterator[Columns]:
    for work in jobs.of_run(run):
        rows, parts = work.rows, work.parts
        known = np.flatnonzero(work.ended[1] >= 0)
        known = known[np.lexsort((rows.begin[known], rows.rank[known], rows.iteration[known]))]
        own, computing = parts.own[known], parts.computing[known]
        yield {
            "class": coded(np.zeros(len(known), np.int64), [work.name]),
            "iteration": rows.iteration[known],
            "phase": coded(rows.phase[known], work.phases),
            "rank": np.array(work.ranks, np.int64)[rows.rank[known]],
            "host": coded(rows.rank[known], work.hosts),
            "begin_ps": rows.begin[known],
            "end_ps": rows.end[known],
            "own_ps": own,
            "compute_ps": computing,
            "exposed_ps": own - computing,
            "sent_bytes": rows.sent[known],
        }


def coded(codes: Array, names: Sequence[str]) -> pa.Array:
    """Returns a column of text by the places of its values."""
    values = list(dict.fromkeys(names))
    place = np.array([values.index(name) for name in names] if len(values) < len(names) else range(len(names)))
    return pa.DictionaryArray.from_arrays(pa.array(place[codes].astype(np.int32)), pa.array(values, pa.string()))
