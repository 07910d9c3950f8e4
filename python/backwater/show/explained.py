"""Why flows were slow, in words: a tree for each flow, and the causes of many."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from rich.table import Table

from backwater.explain import Explained
from backwater.terminal import size, some, span

ROWS = 12
"""Of the causes, the others in one line."""
LINKS = ("transmission", "propagation", "host-delay")
PLACES = {
    "source": "at the source",
    "way": "on the way",
    "last port": "at the port to the receiver",
    "links": "on links",
}


def flow_lines(explained: Explained, number: int) -> list[str]:
    """A tree: the flow, the ports that its completing packet came by, what it waited for at each."""
    flow = explained.flow(number)
    whole = flow["fct_ps"]
    name = f"{flow['class']}, {size(flow['size_bytes'])}"
    lines = [
        f"flow {number} ({name}), {flow['src']} to {flow['dst']}: {us(whole)}, {flow['slowdown']:.1f} times the ideal "
        f"{us(flow['ideal_ps'])}"
    ]
    hops = list(dict.fromkeys(wait["hop"] for wait in flow["waits"]))
    for hop in hops:
        waits = [wait for wait in flow["waits"] if wait["hop"] == hop]
        node, peer = waits[0]["node"], waits[0]["peer"]
        at = f"{node} (receiver)" if waits[0]["why"] == "host-delay" else f"{node} to {peer}"
        queued = [wait for wait in waits if wait["why"] not in LINKS]
        in_queue = f", queue {queued[0]['queue']}" if queued and hop > 0 else ""
        last = hop == hops[-1]
        total = sum(wait["span_ps"] for wait in waits)
        lines.append(f"{'`-' if last else '|-'} {at}{in_queue}: {us(total)} ({total / whole:.0%})")
        stem = "  " if last else "| "
        lines += [f"{stem} |- {us(ps)} {what}" for ps, what in sorted(grouped(queued), reverse=True)]
        on_link = sum(wait["span_ps"] for wait in waits if wait["why"] in LINKS)
        lines.append(f"{stem} `- {us(on_link)} {'in the host' if waits[0]['why'] == 'host-delay' else 'on the link'}")
    return lines


def grouped(waits: list[dict[str, Any]]) -> Iterator[tuple[int, str]]:
    """Spans at one port in words; pauses by whom and for what, whatever their flows."""
    pauses: dict[tuple[str, str | None, str | None], list[dict[str, Any]]] = {}
    for wait in waits:
        if wait["why"] == "paused":
            pauses.setdefault((wait["by"], wait["whose"], wait["towards"]), []).append(wait)
        else:
            yield wait["span_ps"], cause(wait)
    for (by, whose, towards), same in pauses.items():
        longest = max(same, key=lambda wait: wait["span_ps"])["sake"]
        flows = f"flow {longest}" if len(same) == 1 else f"{len(same)} flows, most for flow {longest}"
        sake = "" if longest is None else f" for {flows} ({whose})"
        way = f", which waited there towards {towards}" if towards else ""
        yield sum(wait["span_ps"] for wait in same), f"paused by {by}{sake}{way}"


def cause(row: dict[str, Any]) -> str:
    """What a part of the time was for, or a cause of many flows."""
    whose = row["whose"]
    match row["why"]:
        case "paused":
            to = {None: "", True: " to other receivers", False: " to the same receiver"}[row.get("elsewhere")]
            return f"paused for {whose}{to}" if whose else "paused"
        case "queue":
            return f"behind {whose} in its queue"
        case "other-queues":
            return f"other queues' turns, {whose}"
        case "other-flows":
            return f"the NIC sent other flows, {whose}"
    return CAUSE[row["why"]]


CAUSE = {
    "own-packets": "packets of the flow itself",
    "acks-and-frames": "ACKs and control frames",
    "transport": "the sender might not send: window, pace, credits or grants",
    "recovery": "something was lost or late and was sent again",
    "idle": "nothing was sent",
    "transmission": "transmission",
    "propagation": "propagation",
    "host-delay": "in the receiving host",
}


def cause_table(explained: Explained, title: str) -> Table:
    """The causes of all flows explained, by place, the most first."""
    table = Table(title=title, title_justify="left", title_style="bold")
    for heading in ("where", "what"):
        table.add_column(heading)
    for heading in ("share", "mean"):
        table.add_column(heading, justify="right")
    rows = explained.causes()
    flows = explained.flows.num_rows
    for row in rows[:ROWS]:
        table.add_row(PLACES[row["place"]], cause(row), f"{row['share']:.1%}", us(row["span_ps"] / flows))
    if rest := rows[ROWS:]:
        share, mean = sum(row["share"] for row in rest), sum(row["span_ps"] for row in rest) / flows
        table.add_row("", some(len(rest), "other cause"), f"{share:.1%}", us(mean))
    return table


def sentence(explained: Explained) -> str:
    """The largest causes, links and the flow's own packets last."""
    rows = explained.causes()
    waits = [row for row in rows if row["place"] != "links" and row["why"] != "own-packets"]
    other = 1 - sum(row["share"] for row in waits)
    parts = [f"{row['share']:.0%} {cause(row)} {PLACES[row['place']]}" for row in waits[:3] if row["share"] >= 0.005]
    beyond = sum(row["share"] for row in waits[3:])
    parts += [f"{beyond:.0%} other waits"] if beyond >= 0.005 else []
    return ", ".join([*parts, f"{other:.0%} its own packets and links"])


def as_json(explained: Iterable[Explained], *, summary: bool) -> list[dict[str, Any]]:
    """A run's flows with their parts, and the causes of all where they were asked for."""
    return [
        {
            "run": one.label,
            "flows": [one.flow(number) for number in one.flows["flow"].to_pylist()],
            **({"causes": one.causes()} if summary else {}),
        }
        for one in explained
    ]


def us(ps: float) -> str:
    return span(ps * 1e-12)
