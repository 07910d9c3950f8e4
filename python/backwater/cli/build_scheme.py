"""`backwater build-scheme`: the simulator with schemes of your own."""

from __future__ import annotations

import shlex
import time
from pathlib import Path
from typing import Annotated

import typer

from backwater.cli import exits
from backwater.cli.later import when_used
from backwater.cli.options import Json

with when_used():
    from backwater.cli import printing, terminal
    from backwater.common import quantities
    from backwater.mine import building, starting


def build_scheme(
    crates: Annotated[list[Path], typer.Argument(metavar="DIR", help="Name the directories with the schemes.")],
    test: Annotated[
        bool, typer.Option("--test", help="Run their tests and the conformance tests, and install nothing.")
    ] = False,
    only: Annotated[bool, typer.Option("--only", help="Keep no scheme that was built before.")] = False,
    engine: Annotated[
        Path | None,
        typer.Option("--engine", metavar="DIR", help="Use this checkout of Backwater, in which `make setup` has run."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Compile schemes of your own, so that scenarios can name them.

    It needs Rust, and a checkout of Backwater in which `make setup` has run. Only the schemes are compiled, which takes
    seconds. Their names in scenarios are `mine/NAME`. `--test` compiles Backwater with its checks the first time, which
    takes minutes.

    Examples:
        backwater build-scheme aimd
        backwater build-scheme aimd --test
    """
    began = time.monotonic()
    try:
        with printing.quietly(as_json):
            if test:
                building.run_tests(crates, engine=engine)
                terminal.say(f"All tests pass, after {quantities.span(time.monotonic() - began)}.")
                return
            built = building.build(crates, only=only, engine=engine)
    except building.CompilerError as error:
        exits.fail(f"error: {error}; see above", exits.FAILED)
    if as_json:
        printing.print_json({"schemes": built.schemes, "module": str(built.path)})
        return
    took = quantities.span(time.monotonic() - began)
    terminal.say(f"{', '.join(built.schemes)}: built in {took}; `backwater list schemes` has them.")
    comparison = crates[0] / starting.COMPARISON
    if comparison.is_file():
        terminal.say(f"Next: backwater run {shlex.quote(str(comparison))}")
