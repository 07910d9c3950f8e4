"""The `backwater` command: what it consists of, and what becomes of all that goes wrong in it.

new   run   sweep   check, check_deadlock   compare   explain   report   reproduce   a file for each command
lists         schemes, chips, schema           files       import and export
plan_bcc, plan_bfc, plan_flowsail              plan: a file for each scheme
options       what options take                exits       exit codes, messages and signals
places        where experiments are written    experiment  one of them from its runs to its report
printing      what came out, as tables
"""

from __future__ import annotations

import os
import sys
import traceback
from typing import Annotated

import typer

from backwater import _core, signals
from backwater.cli import (
    check,
    compare,
    explain,
    files,
    lists,
    new,
    plan_bcc,
    plan_bfc,
    plan_flowsail,
    report,
    reproduce,
    run,
    sweep,
)
from backwater.cli.exits import BAD_INPUT, BUG, fail
from backwater.show.failures import Undrawn
from backwater.sweep import SimulatorError

app = typer.Typer(
    help="Packet-level simulator of flow control in datacenter networks.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

import_app = typer.Typer(help="Make a scenario from files of another simulator.", no_args_is_help=True)
export_app = typer.Typer(help="Write files of another simulator.", no_args_is_help=True)
plan_app = typer.Typer(help="Compute what a scheme asks of a switch, without a simulation.", no_args_is_help=True)
app.add_typer(import_app, name="import")
app.add_typer(export_app, name="export")
app.add_typer(plan_app, name="plan")

app.command("new")(new.new)
app.command("run")(run.run)
app.command("sweep")(sweep.sweep_command)
app.command("check")(check.check_command)
app.command("compare")(compare.compare_command)
app.command("explain")(explain.explain_command)
app.command("report")(report.report_command)
app.command("reproduce")(reproduce.reproduce)
app.command("schemes")(lists.schemes)
app.command("chips")(lists.chips_command)
app.command("schema")(lists.schema)
import_app.command("hpcc")(files.import_hpcc)
export_app.command("hpcc")(files.export_hpcc)
export_app.command("fct")(files.export_fct)
plan_app.command("flowsail")(plan_flowsail.plan_flowsail)
plan_app.command("bfc")(plan_bfc.plan_bfc)
plan_app.command("bcc")(plan_bcc.plan_bcc)


def show_version(wanted: bool) -> None:
    if wanted:
        print(f"backwater {_core.version}")
        raise typer.Exit


@app.callback()
def backwater(
    version: Annotated[
        bool, typer.Option("--version", callback=show_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    pass


def main() -> None:
    """Whatever goes wrong is one message on stderr, and an exit code."""
    try:
        sys.argv[1:] = texts(sys.argv[1:])
        sys.exit(app(standalone_mode=False) or 0)
    except _core.InputError as error:
        fail(f"error: {error}", BAD_INPUT)
    except (KeyboardInterrupt, typer.Abort):
        fail(f"{signals.name()}: nothing was finished", signals.code())
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    except UnicodeEncodeError as error:  # A path in letters that the locale's encoding lacks.
        fail(f"error: {error.object!a}: no name in the locale's {error.encoding}; LC_ALL=C.UTF-8 has all", BAD_INPUT)
    except OSError as error:  # A path that no file system takes, such as one of 300 characters.
        fail(f"error: {error.filename}: {error.strerror or error}", BAD_INPUT)
    except Exception as error:
        show = getattr(error, "show", None)  # What Typer says of wrong options, with usage.
        if show is not None:
            show()
            sys.exit(BAD_INPUT)
        bug(error)


def texts(words: list[str]) -> list[str]:
    """Arguments as text, whatever the locale; names of files and scenarios end up in documents that are.

    # Errors
    `InputError` on what is not UTF-8.
    """
    try:
        return [os.fsencode(word).decode() for word in words]
    except UnicodeDecodeError as error:
        shown = error.object.decode(errors="backslashreplace")
        raise _core.InputError(f"argument {shown}: expected UTF-8; a file may need another name") from None


def bug(error: Exception) -> None:
    """A failure that no input should cause."""
    if os.environ.get("BACKWATER_TRACEBACK"):
        traceback.print_exc()
    told = isinstance(error, SimulatorError | Undrawn)
    cause = str(error) if told else f"{type(error).__name__}: {error}"
    fail(
        f"bug in Backwater {_core.version}: {cause}\n"
        "This is our mistake, not yours. Please report it with the scenario and the command; "
        "BACKWATER_TRACEBACK=1 adds detail.",
        BUG,
    )
