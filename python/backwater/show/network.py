"""A network over time, as the page draws it: nodes in layers; what each link carried, what waited, and what held it."""

from __future__ import annotations

import base64
import zlib

from backwater.common.arrays import Array, np
from backwater.common.quantities import as_number
from backwater.runs.pause_trees import hosts_of, is_recorded
from backwater.runs.run import Run
from backwater.show.page import OverTime, Placed

CELLS = 1_500_000
"""Directed links times spans of all recorded runs of a page, five bytes each before they are compressed."""

SPANS_MIN = 20
USE_STEPS = 200
"""Steps of the utilisation: half a percent each."""


def over_time(run: Run, runs: int = 1) -> OverTime | None:
    """One of so many recorded runs of a page; None where its links were not recorded.

    Arrays are `[link][span]`, packed: `use` in steps of half a percent, `queue` and `held` in steps of what `most` says
    over 65,535. A span is one period of `measure.links`, or several where the page would be too large: their mean
    utilisation and what was held, and the longest queue. `held` is how much was held at a time: the port (PFC), queues
    (BFC) or flows (FlowSail).
    """
    if not is_recorded(run):
        return None
    table, ports = run.table("links"), run.table("ports")
    if len(table) == 0:
        return None
    sources, targets = ports["node"].to_pylist(), ports["peer"].to_pylist()
    number = {ends: i for i, ends in enumerate(zip(sources, targets, strict=True))}
    period = round(1e12 * as_number(run.scenario["measure"]["links"], "measure.links"))
    times = table["time_ps"].to_numpy()
    every = -(-int(times.max()) // period)
    grouped = -(-every // max(SPANS_MIN, CELLS // (runs * len(number))))
    spans = -(-every // grouped)
    link = np.array([number[ends] for ends in zip(table["node"].to_pylist(), table["peer"].to_pylist(), strict=True)])
    span = (-(-times.astype(np.int64) // period) - 1) // grouped
    ends = np.minimum(np.arange(1, spans + 1) * grouped * period, times.max())
    lasts = np.diff(ends, prepend=0)
    rates = ports["rate_bps"].to_numpy()

    def gathered(column: str, most: bool = False) -> Array:
        values = np.zeros((len(number), spans))
        (np.maximum if most else np.add).at(values, (link, span), table[column].to_numpy())
        return values

    use = gathered("sent_bytes") * 8e12 / lasts / rates[:, None]
    queue, held = gathered("queued_bytes", most=True), gathered("paused_ps") / lasts
    names = list(dict.fromkeys(sources))
    place = {name: i for i, name in enumerate(names)}
    return {
        "ends": (ends * 1e-12).tolist(),
        "nodes": placed(names, hosts_of(run), list(number)),
        "links": [[place[source], place[target]] for source, target in number],
        "rates": rates.tolist(),
        "most": {"queue": float(queue.max()), "held": float(held.max())},
        "use": packed(np.rint(np.minimum(use, 1) * USE_STEPS).astype(np.uint8)),
        "queue": packed(steps(queue)),
        "held": packed(steps(held)),
    }


def placed(names: list[str], hosts: set[str], links: list[tuple[str, str]]) -> list[Placed]:
    """Each node with its layer (links to the nearest host) and its place in it, 0 to 1; hosts below their switch."""
    peers: dict[str, list[str]] = {name: [] for name in names}
    for source, target in links:
        peers[source].append(target)
    layer = dict.fromkeys((name for name in names if name in hosts), 0)
    front = list(layer)
    while front:
        front = list(dict.fromkeys(peer for name in front for peer in peers[name] if peer not in layer))
        layer |= dict.fromkeys(front, max(layer.values()) + 1)
    members: dict[int, list[str]] = {}
    for name in names:
        members.setdefault(layer[name], []).append(name)
    across = {name: (i + 0.5) / len(row) for row in members.values() for i, name in enumerate(row)}
    if 0 in members:  # Hosts stand below their switch.
        members[0].sort(key=lambda name: across[peers[name][0]])
        across |= {name: (i + 0.5) / len(members[0]) for i, name in enumerate(members[0])}
    return [{"name": name, "layer": layer[name], "x": across[name]} for name in names]


def steps(values: Array) -> Array:
    """As 16-bit shares of the largest."""
    return np.rint(values * (65_535 / max(values.max(), 1e-300))).astype("<u2")


def packed(values: Array) -> str:
    """Compressed, in base 64."""
    return base64.b64encode(zlib.compress(values.tobytes(), 9)).decode("ascii")
