"""`backwater lab shell`: a shell on a host of a running lab."""

from __future__ import annotations

import os
import sys
from typing import Annotated

import typer

from backwater.cli.later import when_used
from backwater.cli.options import Json, whole

with when_used():
    from backwater.cli import printing, terminal
    from backwater.lab import control

Lab = Annotated[
    int | None,
    typer.Option(
        "--lab",
        metavar="PID",
        parser=whole(1),
        help="Use the lab that process PID has started, if several run.",
    ),
]


def shell(
    host: Annotated[str, typer.Argument(metavar="HOST", help="Name a host of the lab.")],
    command: Annotated[
        list[str] | None,
        typer.Argument(metavar="COMMAND", help="Run this in place of a shell; put -- before its options."),
    ] = None,
    lab: Lab = None,
    as_json: Json = False,
) -> None:
    """Run a shell or a command on a host of a running lab.

    Its programs use the host's network, and end with the lab. The exit code is that of the shell.
    With --json it runs nothing, and prints where the host is.

    Examples:
        backwater lab shell host0
        backwater lab shell host0 ip address
    """
    with control.choose(lab) as running:
        answer, descriptors = running.enter(host)
    if as_json:
        printing.print_json({"lab": running.found.process, **answer})
        return
    words = command or [os.environ.get("SHELL", "/bin/sh")]
    if not command:
        terminal.say(f"{answer['host']} is {answer['address']}. `exit` leaves it.")
        # A shell's own files may set another prompt.
        os.environ |= {"PS1": f"{host}$ ", "PROMPT_COMMAND": f"PS1='{host}:\\w\\$ '"}
    for one in descriptors:
        os.set_inheritable(one, True)
    sys.stdout.flush()
    numbers = ",".join(map(str, descriptors))
    # A process of one thread is needed, and this one listens for signals on another.
    os.execv(sys.executable, [sys.executable, "-m", "backwater.lab.enter", numbers, *words])
