"""Why flows were slow, as text: a tree for each flow, and the causes of many flows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from rich.table import Table

from backwater.common.quantities import size, some, span, tenths
from backwater.runs.explain import Cause, Explained, ExplainedFlow, Wait

ROWS = 12
"""Most causes that are listed. The others share one line."""
LINKS = ("transmission", "propagation", "host-delay")
PLACES = {
    "source": "at the source",
    "way": "on the way",
    "last port": "at the port to the receiver",
    "links": "on links",
}


class Part(NamedTuple):
    """A part of a flow's time: at one port, with one cause."""

    span_ps: int
    what: str
    why: str
    whose: str | None = None
    """Class of the packets that were sent meanwhile, or for which it was paused."""


class Hop(NamedTuple):
    """A port on the path of a flow's completing packet, or its receiver."""

    node: str
    peer: str
    where: str
    receives: bool
    span_ps: int
    parts: list[Part]


def flow_lines(explained: Explained, number: int) -> list[str]:
    """Returns a tree: the flow, the ports on the path of its completing packet, and the causes of waiting at each."""
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
    return f"{hop.where}: {us(hop.span_ps)} ({tenths(hop.span_ps / whole)})"


def part_words(part: Part) -> str:
    return f"{us(part.span_ps)} {part.what}"


def hops(flow: ExplainedFlow) -> list[Hop]:
    """Returns hops from the source on. Each has its longest part first and its link last."""
    at: dict[int, list[Wait]] = {}
    for wait in flow["waits"]:
        at.setdefault(wait["hop"], []).append(wait)
    return [hop_of(hop, waits) for hop, waits in at.items()]


def hop_of(hop: int, waits: list[Wait]) -> Hop:
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


def grouped(waits: list[Wait]) -> Iterator[Part]:
    """Yields the spans at one port. Pauses by the same switch for the same class and place are one part."""
    pauses: dict[tuple[str | None, str | None, str | None], list[Wait]] = {}
    for wait in waits:
        if wait["why"] == "paused":
            pauses.setdefault((wait["by"], wait["whose"], wait["towards"]), []).append(wait)
        else:
            yield Part(wait["span_ps"], cause(wait), wait["why"], wait["whose"])
    for (by, whose, towards), same in pauses.items():
        longest = max(same, key=lambda wait: wait["span_ps"])["sake"]
        flows = f"flow {longest}" if len(same) == 1 else f"{len(same)} flows, most for flow {longest}"
        sake = "" if longest is None else f" for {flows} ({whose})"
        way = f", which waited there towards {towards}" if towards else ""
        yield Part(sum(wait["span_ps"] for wait in same), f"paused by {by}{sake}{way}", "paused", whose)


def cause(row: Wait | Cause, elsewhere: bool | None = None) -> str:
    """Returns the cause of a part of the time in words. A pause may have been for a flow to `elsewhere`."""
    return cause_of(row["why"], row["whose"], elsewhere)


def cause_of(why: str, whose: str | None, elsewhere: bool | None) -> str:
    """Returns a cause in words: of a wait, the class that it was for, and whether that went to another receiver."""
    match why:
        case "paused":
            to = {None: "", True: " to other receivers", False: " to the same receiver"}[elsewhere]
            return f"paused for {whose}{to}" if whose else "paused"
        case "queue":
            return f"behind {whose} in its queue"
        case "other-queues":
            return f"other queues' turns, {whose}"
        case "other-flows":
            return f"the NIC sent other flows, {whose}"
    return CAUSE[why]


CAUSE = {
    "own-packets": "packets of the flow itself",
    "acks-and-frames": "ACKs and control frames",
    "transport": "the sender may not send: window, pace, credits or grants",
    "recovery": "retransmission of lost or late packets",
    "idle": "the port sent nothing",
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
    "transport": "the sender may not send",
    "recovery": "retransmission",
    "idle": "the port sent nothing",
    "link": "on links",
}
"""Causes of the parts of a flow's time, in the fewest words."""


def lines(explained: Explained, worst: int) -> list[str | Table]:
    """Returns a tail as a sentence, a table of its causes and its slowest flows; of named flows a tree for each."""
    numbers = explained.flows["flow"].to_pylist()
    if explained.tail is None:
        return [line for number in numbers for line in flow_lines(explained, number)]
    table = cause_table(explained, f"{explained.label}: where these flows spent their time")
    slowest = [line for number in numbers[:worst] for line in flow_lines(explained, number)]
    return [told(explained), table, *slowest]


def cause_table(explained: Explained, title: str) -> Table:
    """Returns a table of the causes of all explained flows, by place, the largest first."""
    table = Table(title=title, title_justify="left", title_style="bold")
    for heading in ("where", "what"):
        table.add_column(heading)
    for heading in ("share", "mean"):
        table.add_column(heading, justify="right")
    for where, what, share, mean in cause_rows(explained):
        table.add_row(where, what, tenths(share), us(mean))
    return table


def cause_rows(explained: Explained) -> list[tuple[str, str, float, float]]:
    """Returns place, cause, share and mean in picoseconds, the largest first. Causes beyond `ROWS` share one row."""
    causes, flows = explained.causes(), explained.flows.num_rows
    rows = [
        (PLACES[row["place"]], cause(row, row["elsewhere"]), row["share"], row["span_ps"] / flows)
        for row in causes[:ROWS]
    ]
    if rest := causes[ROWS:]:
        share, mean = sum(row["share"] for row in rest), sum(row["span_ps"] for row in rest) / flows
        rows.append(("", some(len(rest), "other cause"), share, mean))
    return rows


def told(explained: Explained) -> str:
    """Returns a sentence on how slow a tail is and why; for flows that were named, only why."""
    n, tail = explained.flows.num_rows, explained.tail
    if tail is None:
        return f"{some(n, 'flow')} spent {'its' if n == 1 else 'their'} time as follows: {sentence(explained)}."
    left = f" ({tail.flows - n:,} of them are left out)" if tail.flows > n else ""
    slow = f"{some(tail.flows, 'flow')} {'is' if tail.flows == 1 else 'are'} at least this slow{left}"
    return f"p{tail.percentile:g} slowdown is {tail.slowdown:.2f}. {slow}. Their time: {sentence(explained)}."


def chosen(explained: Explained) -> str:
    """Returns which flows `told` describes."""
    tail = explained.tail
    if tail is None:
        return f"{some(explained.flows.num_rows, 'flow')}, selected by number"
    sizes = [f"above {size(tail.above)}"] if tail.above else []
    sizes += [f"up to {size(tail.below)}"] if tail.below is not None else []
    return ", ".join([tail.flow_class or "all classes", " and ".join(sizes) or "all sizes"])


def sentence(explained: Explained) -> str:
    """Returns the largest causes. Links and the flow's own packets come last."""
    rows = explained.causes()
    waits = [row for row in rows if row["place"] != "links" and row["why"] != "own-packets"]
    other = 1 - sum(row["share"] for row in waits)
    parts = [
        f"{tenths(row['share'])} {cause(row, row['elsewhere'])} {PLACES[row['place']]}"
        for row in waits[:3]
        if row["share"] >= 0.005
    ]
    beyond = sum(row["share"] for row in waits[3:])
    parts += [f"{tenths(beyond)} other waits"] if beyond >= 0.005 else []
    return "; ".join([*parts, f"{tenths(other)} own packets and links"])


def as_json(explained: Iterable[Explained], *, summary: bool) -> list[dict[str, object]]:
    """Returns the flows of each run with their parts, and with `summary` the causes of all flows."""
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
