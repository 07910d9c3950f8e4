"""`backwater lab top`: the ports of a running lab, live."""

from __future__ import annotations

import contextlib
import time
from typing import Annotated, Any

import typer

from backwater.cli.lab_shell import Lab
from backwater.cli.later import when_used
from backwater.cli.options import Json
from backwater.common import signals

with when_used():
    from backwater.cli import printing, terminal
    from backwater.common import quantities
    from backwater.lab import control, watching

PERIOD_S = 0.5
HEAD_LINES = 8
"""Lines of the screen that no port has."""


def top(
    lab: Lab = None,
    once: Annotated[
        bool, typer.Option("--once", help="Print one reading and end.", rich_help_panel="What to print")
    ] = False,
    as_json: Json = False,
) -> None:
    """Watch the queues, pauses and rates of a running lab.

    A row is a port, with the node at the far end of its link. Rates and pauses are those since the last reading, half a
    second before. The ports with the longest queues come first. It ends with the lab, or by Ctrl-C.

    Examples:
        backwater lab top
        backwater lab top --once
        backwater lab top --json
    """
    with control.choose(lab) as running:
        before = running.reading()
        time.sleep(PERIOD_S)
        now = running.reading()
        found = watching.between(before, now)
        if as_json:
            printing.print_json(found.to_json())
            return
        if once or not terminal.out.is_terminal:
            terminal.out.print(table(found, None))
            return
        # A signal ends this process at once, so the screen is not one that has to be left.
        shown = terminal.Live(table(found, room()), console=terminal.out, auto_refresh=False, transient=True)
        with signals.during(None, lambda: "the lab goes on"), contextlib.suppress(control.Ended), shown:
            while True:
                time.sleep(PERIOD_S)
                before, now = now, running.reading()
                shown.update(table(watching.between(before, now), room()), refresh=True)
    terminal.say("The lab has ended.")


def room() -> int:
    """Returns how many ports fit on the screen."""
    return max(1, terminal.out.size.height - HEAD_LINES)


def table(found: watching.Reading, most: int | None) -> Any:
    """Returns a table of the ports that do something, at most so many."""
    busy = [port for port in found.ports if port.is_busy]
    shown = busy[:most]
    idle = len(found.ports) - len(busy)
    left_out = f", {len(busy) - len(shown)} more" if len(shown) < len(busy) else ""
    made = terminal.Table(
        box=None,  # It fits into 80 columns.
        padding=(0, 2, 0, 0),
        title=f"{found.name}: {quantities.span(found.network_s)} of the scenario, "
        f"{found.frames_inside:,} frames inside, "
        f"{found.frames_dropped:,} dropped",
        title_justify="left",
        title_style="bold",
        caption=f"{quantities.some(idle, 'port')} idle{left_out}",
        caption_justify="left",
    )
    made.add_column("port", no_wrap=True)
    for heading in ("use", "rate", "waiting", "flows", "paused", "pauses", "drops"):
        made.add_column(heading, justify="right", no_wrap=True)
    for port in shown:
        made.add_row(
            f"{port.node} to {port.peer}",
            quantities.percent(port.use),
            f"{port.rate_bps / 1e6:.1f} Mb/s",
            "-" if port.queued_bytes is None else quantities.size(port.queued_bytes),
            "-" if port.active_flows is None else str(port.active_flows),
            paused(port),
            quantities.count(port.pauses) if port.pauses else "-",
            quantities.count(port.dropped) if port.dropped else "-",
        )
    return made


def paused(port: watching.Port) -> str:
    """Writes how many queues the far end paused, or for which share of the time all of the port."""
    if port.queues_paused:
        return f"{port.queues_paused:.1f} queues"
    return quantities.percent(port.paused) if port.paused else "-"
