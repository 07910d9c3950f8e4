"""The busiest links of runs and those that were paused longest, by name, from the table `ports`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from backwater.common.arrays import Floats, np
from backwater.judge.context import SEED
from backwater.runs.run import Run
from backwater.show.page import Hot

SHOWN = 10
"""Links of each order."""
Key = Literal["use", "pfc", "bfc"]
KEYS: tuple[Key, ...] = ("use", "pfc", "bfc")
ORDERS = ("utilisation", "pfc_paused_ps", "bfc_paused_queue_ps")


def hot(runs: Sequence[Run]) -> list[Hot]:
    """The first links of all these seeds, one direction each, by utilisation and by how long they were paused.

    `by` is the node at the far end, which pauses the link; `next` is where that node's busiest port leads. `pfc` is a
    share of the time, `bfc` the mean number of queues that were paused.
    """
    rows = [row for run in runs for row in hot_of(run)]
    chosen = [row for key in KEYS for row in first(rows, key)]
    return list({(row["link"], row["seed"]): row for row in chosen}.values())


def first(rows: list[Hot], key: Key) -> list[Hot]:
    return sorted((row for row in rows if row[key] > 0), key=lambda row: -row[key])[:SHOWN]


def hot_of(run: Run) -> list[Hot]:
    table = run.table("ports")
    nodes, peers = table["node"].to_pylist(), table["peer"].to_pylist()
    columns: dict[str, Floats] = {name: table[name].to_numpy().astype(float) for name in ORDERS}
    span_ps = run.summary["sim_time_ps"] or 1
    use = columns["utilisation"]
    busiest: dict[str, int] = {}
    for i, node in enumerate(nodes):
        if node not in busiest or use[i] > use[busiest[node]]:
            busiest[node] = i
    places = dict.fromkeys(int(i) for name in ORDERS for i in np.argsort(-columns[name], kind="stable")[:SHOWN])
    rows: list[Hot] = []
    for i in places:
        onward = busiest.get(peers[i])
        leads_on = onward is not None and peers[onward] != nodes[i]
        rows.append(
            {
                "link": f"{nodes[i]} to {peers[i]}",
                "seed": run.params.get(SEED),
                "use": float(use[i]),
                "pfc": float(columns["pfc_paused_ps"][i] / span_ps),
                "bfc": float(columns["bfc_paused_queue_ps"][i] / span_ps),
                "by": peers[i],
                "next": peers[onward] if onward is not None and leads_on else None,
                "next_use": float(use[onward]) if onward is not None and leads_on else None,
            }
        )
    return rows
