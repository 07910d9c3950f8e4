"""`backwater new-scheme`: a crate for a scheme of your own."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

from backwater.cli.later import when_used
from backwater.cli.options import Force, Json
from backwater.mine.kinds import KINDS

with when_used():
    from backwater.cli import printing, terminal
    from backwater.mine import starting


def new_scheme(
    place: Annotated[Path, typer.Argument(metavar="DIR", help="Name the directory, which is the scheme's name too.")],
    kind: Annotated[str, typer.Option("--kind", metavar="KIND", help=f"Start with a {' or '.join(KINDS)}.")] = "rate",
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Write a crate for a scheme of your own in Rust.

    The crate has one file to change, `src/lib.rs`: a small scheme that works, with its parameters and tests. Its name
    in scenarios is `mine/NAME`, and NAME is that of the directory. `backwater build-scheme` compiles it.

    Examples:
        backwater new-scheme aimd
        backwater new-scheme stop_and_go --kind backpressure
    """
    started = starting.start(place, kind, force=force)
    command = f"backwater build-scheme {shlex.quote(str(place))}"
    if as_json:
        facts = {"scheme": f"mine/{started.name}", "file": str(started.file), "compare": str(started.comparison)}
        printing.print_json({**facts, "next": command})
        return
    terminal.say(f"{started.file}: mine/{started.name}, {KINDS[kind]}.")
    terminal.say(f"{started.comparison}: a comparison with BFC and DCTCP.")
    terminal.say(f"Next: {command}")
