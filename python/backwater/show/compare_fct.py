"""What `backwater compare-fct` tells of two sets of completion times: tables, JSON and a picture."""

from __future__ import annotations

from pathlib import Path

from rich.table import Table

from backwater._core import InputError
from backwater.common import disk
from backwater.common.arrays import Integers, np
from backwater.common.quantities import count, some
from backwater.hpcc.comparison import PERCENTILES, Comparison, Estimate
from backwater.hpcc.fct import Finished
from backwater.show.compare import bin_name

PICTURES = (".svg", ".png", ".pdf")


def tables(done: Comparison) -> list[Table]:
    """What the terminal shows."""
    return [facts(done), *([worst_flows(done)] if len(done.worst) else []), slowdowns(done)]


def facts(done: Comparison) -> Table:
    table = Table(title="Flow by flow", title_justify="left", title_style="bold", show_header=False)
    table.add_column("")
    table.add_column("", overflow="fold")
    for letter, side, only in zip("AB", (done.a, done.b), done.only, strict=True):
        left = f"; {some(side.unfinished, 'other')} did not finish" if side.unfinished else ""
        left += f"; {some(side.endless, 'other')} without end" if side.endless else ""
        table.add_row(letter, f"{side.name}: {some(len(side), 'finished flow')}{left}")
        table.add_row(f"only in {letter}", f"{len(only):,}{examples(side, only)}")
    table.add_row("in both", f"{len(done.difference):,}, matched by {done.matched_by}")
    if statistics := done.statistics():
        table.add_row("equal to the nanosecond", f"{int((done.difference == 0).sum()):,}")
        table.add_row("difference of completion time", f"{percent(statistics['mean'], sign=True)} in the mean, B to A")
        table.add_row(
            "its size",
            f"median {percent(statistics['median_abs'])}, mean {percent(statistics['mean_abs'])}, "
            f"95th percentile {percent(statistics['p95_abs'])}, largest {percent(statistics['max_abs'])}",
        )
    return table


def examples(side: Finished, places: Integers) -> str:
    """The first few, by their ends and bytes."""
    if not len(places):
        return ""
    shown = [
        f"{side.src[i]}:{side.sport[i]} to {side.dst[i]}:{side.dport[i]}, {side.bytes[i]} B at {side.start_ns[i]} ns"
        for i in places[:3]
    ]
    return ": " + "; ".join(shown) + ("; ..." if len(places) > 3 else "")


def worst_flows(done: Comparison) -> Table:
    table = Table(title="Flows that differ most", title_justify="left", title_style="bold")
    for heading in ("source", "destination", "ports", "bytes", "start", "A", "B", "difference"):
        table.add_column(heading, justify="right")
    for i in done.worst:
        a, at, b, to = done.a, done.pairs[0][i], done.b, done.pairs[1][i]
        table.add_row(
            *(str(a.src[at]), str(a.dst[at]), f"{a.sport[at]} {a.dport[at]}", f"{a.bytes[at]:,}"),
            *(f"{a.start_ns[at]:,} ns", f"{a.fct_ns[at]:,} ns", f"{b.fct_ns[to]:,} ns"),
            percent(done.difference[i], sign=True),
        )
    return table


def slowdowns(done: Comparison) -> Table:
    table = Table(title="FCT slowdown, 1 at least, with standard errors", title_justify="left", title_style="bold")
    table.add_column("size")
    for letter in "AB":
        table.add_column(f"flows {letter}", justify="right")
    for name in PERCENTILES:
        for heading in (f"{name} A", f"{name} B", "difference", "in s.e."):
            table.add_column(heading, justify="right")
    for bin in done.bins:
        cells = []
        for name in PERCENTILES:
            cells += [f"{one.value:.3f} ± {one.error:.3f}" if one else "-" for one in bin.estimates[name]]
            apart = bin.difference(name)
            cells += ["-", "-"] if apart is None else [percent(apart[0], sign=True), f"{apart[1]:+.1f}"]
        table.add_row(bin_name(bin.low, bin.high), *(count(n) for n in bin.flows), *cells)
    return table


def percent(value: float, *, sign: bool = False) -> str:
    """With as many digits as it takes to see it."""
    digits = 3 if abs(value) < 0.001 else 2 if abs(value) < 0.1 else 1
    return f"{100 * value:{'+' if sign and value else ''}.{digits}f} %"


def as_json(done: Comparison) -> dict[str, object]:
    """Everything, for other programs."""

    def flow(side: Finished, place: int) -> dict[str, int]:
        keys = ("src", "dst", "sport", "dport", "bytes", "start_ns", "fct_ns")
        return {key: int(getattr(side, key)[place]) for key in keys}

    def estimate(one: Estimate | None) -> dict[str, float] | None:
        return None if one is None else {"value": one.value, "standard_error": one.error}

    sides = zip(("a", "b"), (done.a, done.b), done.only, strict=True)
    return {
        **{
            letter: {
                "name": side.name,
                "finished": len(side),
                "unfinished": side.unfinished,
                "endless": side.endless,
                "unmatched": len(only),
                "first_unmatched": [flow(side, int(place)) for place in only[:10]],
            }
            for letter, side, only in sides
        },
        "matched": len(done.difference),
        "matched_by": done.matched_by,
        "equal": int((done.difference == 0).sum()),
        "difference": done.statistics(),
        "worst": [
            {
                **flow(done.a, int(done.pairs[0][i])),
                "fct_b_ns": int(done.b.fct_ns[done.pairs[1][i]]),
                "difference": float(done.difference[i]),
            }
            for i in done.worst
        ],
        "slowdown": [
            {
                "size_low_bytes": bin.low,
                "size_high_bytes": bin.high,
                "flows": {"a": bin.flows[0], "b": bin.flows[1]},
                **{
                    name: {
                        "a": estimate(bin.estimates[name][0]),
                        "b": estimate(bin.estimates[name][1]),
                        **difference_json(bin.difference(name)),
                    }
                    for name in PERCENTILES
                },
            }
            for bin in done.bins
        ],
    }


def difference_json(apart: tuple[float, float] | None) -> dict[str, float | None]:
    """JSON has no infinity: none there."""
    if apart is None:
        return {"difference": None, "standard_errors": None}
    return {"difference": apart[0], "standard_errors": apart[1] if np.isfinite(apart[1]) else None}


def check_format(picture: Path) -> None:
    """Refuses a picture in a format that cannot be drawn."""
    if picture.suffix not in PICTURES:
        raise InputError(f"--out {picture}: expected a name that ends in {', '.join(PICTURES)}")


def draw(done: Comparison, picture: Path) -> None:
    """Draws the slowdowns of both."""
    from backwater.show import figures  # Matplotlib takes a third of a second to import: only where it draws.

    with disk.errors(picture):
        figures.save_comparison(done, picture)
