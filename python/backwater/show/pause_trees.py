"""Trees of pauses, as the page shows them: the largest of a run, and what some of them held (`runs/pause_trees.py`)."""

from __future__ import annotations

from backwater.common.arrays import np
from backwater.runs import pause_trees
from backwater.runs.pause_trees import Found, Growing
from backwater.runs.run import Run
from backwater.show.page import Held, PauseTree, PauseTrees

TREES = 10
"""That the page has of a run: those that held ports longest, all ports together."""
DRAWN = 5
"""Of these, the first so many have a picture."""
ENTRIES = 60
"""Of a picture."""


def of_run(run: Run) -> PauseTrees | None:
    """The trees of a run; None where its links were not recorded."""
    if (found := pause_trees.of_run(run)) is None:
        return None
    return {
        "number": len(found.trees),
        "period": found.links.length_ps * 1e-12,
        "trees": [told(found, one, drawn=i < DRAWN) for i, one in enumerate(found.trees[:TREES])],
    }


def told(found: Found, tree: Growing, *, drawn: bool) -> PauseTree:
    row = found.row(tree)
    return {
        "node": row["node"],
        "towards": row["towards"],
        "cycle": row["cycle"],
        "begin": row["begin_ps"] * 1e-12,
        "end": row["end_ps"] * 1e-12,
        "depth": row["depth"],
        "fan_out": row["fan_out"],
        "hosts": row["hosts"],
        "switches": row["switch_ports"],
        "queue": row["queue_bytes"],
        "held": row["held_ps"] * 1e-12,
        "at": tree.at * found.links.length_ps * 1e-12,
        "ports": picture(found, tree) if drawn else [],
    }


def picture(found: Found, tree: Growing) -> list[Held]:
    """Held ports of a tree in the period in which it has most. Hosts of a switch are one entry.

    Of many, those that are near the root come first.
    """
    links, followed = found.links, found.followed
    mine = (followed.root == tree.root) & (followed.cycle == tree.cycle) & (links.period[followed.rows] == tree.at)
    rows, depth, onward = followed.rows[mine], followed.depth[mine], followed.onward[mine]
    held: list[Held] = []
    entries: dict[tuple[str | None, str, int | None], int] = {}
    entry_of: dict[int, int] = {}
    for i in np.lexsort((-links.paused[rows], depth)).tolist():
        port, row = links.port[rows[i]], int(rows[i])
        name, by = links.nodes[links.node[port]], links.nodes[links.peer[port]]
        is_host = bool(links.is_host[links.node[port]])
        parent = entry_of.get(int(onward[i]))
        entry = entries.setdefault((None if is_host else name, by, parent), len(held))
        if entry == len(held):
            held.append({"node": name, "by": by, "number": 0, "held": 0.0, "host": is_host, "parent": parent})
        held[entry]["number"] += 1
        held[entry]["held"] += float(links.paused[row]) / links.length_ps
        entry_of[row] = entry
    return held[:ENTRIES]
