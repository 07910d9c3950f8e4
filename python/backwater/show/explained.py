"""Why flows were slow, in words: a tree for each flow, and the causes of many."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

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


class Part(NamedTuple):
    """Of a flow's time, at one port for one cause."""

    span_ps: int
    what: str
    why: str


class Hop(NamedTuple):
    """A port that a flow's completing packet came by, or its receiver."""

    node: str
    peer: str
    where: str
    receives: bool
    span_ps: int
    parts: list[Part]


def flow_lines(explained: Explained, number: int) -> list[str]:
    """A tree: the flow, the ports that its completing packet came by, what it waited for at each."""
    flow = explained.flow(number)
    whole = flow["fct_ps"]
    name = f"{flow['class']}, {size(flow['size_bytes'])}"
    lines = [
        f"flow {number} ({name}), {flow['src']} to {flow['dst']}: {us(whole)}, {flow['slowdown']:.1f} times the ideal "
        f"{us(flow['ideal_ps'])}"
    ]
    way = hops(flow)
    for hop in way:
        last = hop is way[-1]
        lines.append(f"{'`-' if last else '|-'} {hop_words(hop, whole)}")
        stem = "  " if last else "| "
        ends = ["|-"] * (len(hop.parts) - 1) + ["`-"]
        lines += [f"{stem} {end} {part_words(part)}" for end, part in zip(ends, hop.parts, strict=True)]
    return lines


def hop_words(hop: Hop, whole: int) -> str:
    return f"{hop.where}: {us(hop.span_ps)} ({hop.span_ps / whole:.0%})"


def part_words(part: Part) -> str:
    return f"{us(part.span_ps)} {part.what}"


def hops(flow: dict[str, Any]) -> list[Hop]:
    """From the source on; of each the longest part first, its link last."""
    at: dict[int, list[dict[str, Any]]] = {}
    for wait in flow["waits"]:
        at.setdefault(wait["hop"], []).append(wait)
    return [hop_of(hop, waits) for hop, waits in at.items()]


def hop_of(hop: int, waits: list[dict[str, Any]]) -> Hop:
    node, peer = waits[0]["node"], waits[0]["peer"]
    receives = waits[0]["why"] == "host-delay"
    queued = [wait for wait in waits if wait["why"] not in LINKS]
    in_queue = f", queue {queued[0]['queue']}" if queued and hop > 0 else ""
    on_link = sum(wait["span_ps"] for wait in waits if wait["why"] in LINKS)
    parts = [
        *sorted(grouped(queued), reverse=True),
        Part(on_link, "in the host" if receives else "on the link", "link"),
    ]
    where = f"{node} (receiver)" if receives else f"{node} to {peer}{in_queue}"
    return Hop(node, peer, where, receives, sum(part.span_ps for part in parts), parts)


def grouped(waits: list[dict[str, Any]]) -> Iterator[Part]:
    """Spans at one port in words; pauses by whom and for what, whatever their flows."""
    pauses: dict[tuple[str, str | None, str | None], list[dict[str, Any]]] = {}
    for wait in waits:
        if wait["why"] == "paused":
            pauses.setdefault((wait["by"], wait["whose"], wait["towards"]), []).append(wait)
        else:
            yield Part(wait["span_ps"], cause(wait), wait["why"])
    for (by, whose, towards), same in pauses.items():
        longest = max(same, key=lambda wait: wait["span_ps"])["sake"]
        flows = f"flow {longest}" if len(same) == 1 else f"{len(same)} flows, most for flow {longest}"
        sake = "" if longest is None else f" for {flows} ({whose})"
        way = f", which waited there towards {towards}" if towards else ""
        yield Part(sum(wait["span_ps"] for wait in same), f"paused by {by}{sake}{way}", "paused")


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


KINDS = {
    "paused": "paused",
    "queue": "others in its queue",
    "other-queues": "other queues' turns",
    "other-flows": "other flows at the NIC",
    "own-packets": "its own packets",
    "acks-and-frames": "ACKs and control frames",
    "transport": "the sender might not send",
    "recovery": "sent again",
    "idle": "nothing was sent",
    "link": "on links",
}
"""What parts of a flow's time are put down to, in the fewest words."""


def cause_table(explained: Explained, title: str) -> Table:
    """The causes of all flows explained, by place, the most first."""
    table = Table(title=title, title_justify="left", title_style="bold")
    for heading in ("where", "what"):
        table.add_column(heading)
    for heading in ("share", "mean"):
        table.add_column(heading, justify="right")
    for where, what, share, mean in cause_rows(explained):
        table.add_row(where, what, f"{share:.1%}", us(mean))
    return table


def cause_rows(explained: Explained) -> list[tuple[str, str, float, float]]:
    """Where, what, its share, and its mean in picoseconds; the most first, beyond `ROWS` in one."""
    causes, flows = explained.causes(), explained.flows.num_rows
    rows = [(PLACES[row["place"]], cause(row), row["share"], row["span_ps"] / flows) for row in causes[:ROWS]]
    if rest := causes[ROWS:]:
        share, mean = sum(row["share"] for row in rest), sum(row["span_ps"] for row in rest) / flows
        rows.append(("", some(len(rest), "other cause"), share, mean))
    return rows


def told(explained: Explained) -> str:
    """Of a tail how slow it is and why; of flows that were named, why."""
    n, tail = explained.flows.num_rows, explained.tail
    if tail is None:
        return f"Of the time of {some(n, 'flow')}: {sentence(explained)}."
    left = f" ({tail.flows - n:,} of them left out)" if tail.flows > n else ""
    slow = f"the {some(tail.flows, 'flow')} as slow or slower{left}"
    return f"p{tail.percentile:g} of slowdown is {tail.slowdown:.2f}. Of the time of {slow}: {sentence(explained)}."


def chosen(explained: Explained) -> str:
    """Which flows those are of which `told` tells."""
    tail = explained.tail
    if tail is None:
        return f"{some(explained.flows.num_rows, 'flow')}, named one by one"
    sizes = [f"above {size(tail.above)}"] if tail.above else []
    sizes += [f"up to {size(tail.below)}"] if tail.below is not None else []
    return ", ".join([tail.flow_class or "all classes", " and ".join(sizes) or "all sizes"])


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
