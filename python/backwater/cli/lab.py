"""`backwater lab`: real programs across the switches of a scenario."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from backwater._core import InputError
from backwater.cli.exits import FAILED
from backwater.cli.later import when_used
from backwater.cli.options import HOW, WHAT, WHERE, Force, Json, OutDir, Scale, Seeds, Sets, all_sets, check_file, real
from backwater.common import signals, suggest

if TYPE_CHECKING:
    from backwater.scenario.typed import Scenario

with when_used():
    import json

    from backwater import experiment as api
    from backwater.cli import experiment as runner
    from backwater.cli import places as placing
    from backwater.cli import printing, terminal
    from backwater.common import quantities
    from backwater.lab import apart as aparts
    from backwater.lab import machine, outside, programs
    from backwater.lab import realtime as scheduling
    from backwater.runs import capture
    from backwater.scenario import network as networks
    from backwater.show import results


RATE_MBPS = 20.0
Captures = Sequence[tuple[Path, "Sequence[capture.Port]"]]
"""Files, each with the ports whose packets it gets."""
STDERR = 2


def lab(
    scenario: Annotated[Path, typer.Argument(metavar="SCENARIO", help="Name a scenario file or an experiment.")],
    execs: Annotated[
        list[str] | None,
        typer.Option(
            "--exec",
            metavar="'HOST COMMAND'",
            help="Run COMMAND on HOST, and end the lab when all of them have ended. Repeatable.",
            rich_help_panel=WHAT,
        ),
    ] = None,
    serves: Annotated[
        list[str] | None,
        typer.Option(
            "--serve",
            metavar="'HOST COMMAND'",
            help="Start COMMAND on HOST first, and end it with the lab. Repeatable.",
            rich_help_panel=WHAT,
        ),
    ] = None,
    run: Annotated[
        str | None,
        typer.Option(
            "--run",
            metavar="RUN",
            help="Use the network of this run, such as BFC. [default: the first]",
            rich_help_panel=WHAT,
        ),
    ] = None,
    sets: Sets = None,
    scale: Scale = None,
    seeds: Seeds = None,
    out_dir: OutDir = None,
    force: Force = False,
    rate: Annotated[
        float,
        typer.Option(
            "--rate",
            metavar="MBPS",
            parser=real,
            help="Let the fastest link have this rate, in Mb/s. [default: 20]",
            rich_help_panel=HOW,
            show_default=False,
        ),
    ] = RATE_MBPS,
    for_s: Annotated[
        float | None,
        typer.Option(
            "--for", metavar="SECONDS", parser=real, help="Keep the lab for this time at most.", rich_help_panel=HOW
        ),
    ] = None,
    logs: Annotated[
        list[str] | None,
        typer.Option(
            "--log",
            metavar="SWITCH=FILE",
            help="Write every call of SWITCH to FILE, for `backwater replay`. Repeatable.",
            rich_help_panel=WHERE,
        ),
    ] = None,
    pcap: Annotated[
        list[str] | None,
        typer.Option(
            "--pcap",
            metavar="PORT=FILE",
            help="Write the frames that cross PORT, such as leaf0:spine0 or host3, to FILE.pcapng. Repeatable.",
            rich_help_panel=WHERE,
        ),
    ] = None,
    dctcp: Annotated[
        bool,
        typer.Option(
            "--dctcp",
            help="Let TCP on the hosts be DCTCP, which the lab registers in the kernel. Root only.",
            rich_help_panel=HOW,
        ),
    ] = False,
    obey: Annotated[
        str | None,
        typer.Option(
            "--obey",
            metavar="WHAT",
            help="Let NICs of hosts ignore pauses: none. [default: as the scenario says]",
            rich_help_panel=HOW,
        ),
    ] = None,
    realtime: Annotated[
        bool,
        typer.Option(
            "--realtime",
            help="Run switches and NICs before all other processes, where the system allows it.",
            rich_help_panel=HOW,
        ),
    ] = False,
    processes: Annotated[
        bool,
        typer.Option(
            "--processes",
            help="Run each switch as a process, and the NICs as one. One that is killed starts again.",
            rich_help_panel=HOW,
        ),
    ] = False,
    watchdog: Annotated[
        str | None,
        typer.Option(
            "--watchdog",
            metavar="TIME[:ACTION]",
            help="Let a pause between processes end after TIME of the network, such as 200us:drop.",
            rich_help_panel=HOW,
        ),
    ] = None,
    unfaithful: Annotated[
        bool,
        typer.Option("--unfaithful", help="Use a rate at which this machine cannot keep time.", rich_help_panel=HOW),
    ] = False,
    as_json: Json = False,
) -> None:
    """Run programs on hosts joined by a scenario's switches.

    Every host is a network namespace. Its frames pass the switches and NICs that a simulation runs.
    Time is divided: with a link of 100 Gbps at 20 Mb/s, 5,000 seconds are one second of the scenario.
    Programs find other hosts by name. You need no root where user namespaces are allowed.
    Without programs, the lab sends the scenario's own flows and writes a run directory, as `run` does.

    Examples:
        backwater lab bfc-fig7 --scale smoke --seeds 1
        backwater lab x.toml --serve 'host1 iperf3 -s' --exec 'host0 iperf3 -c host1'
        backwater lab x.toml --exec 'host0 bash'
        backwater lab x.toml --for 600
    """
    if not 0.001 <= rate <= 10_000:
        raise InputError(f"--rate {rate:g}: expected 0.001 to 10,000 Mb/s")
    if rate * 1e6 > outside.FASTEST_BPS and not unfaithful:
        raise InputError(
            f"--rate {rate:g}: a machine keeps time up to about {outside.FASTEST_BPS / 1e6:g} Mb/s; "
            "add --unfaithful if you want no more than to see it run"
        )
    if for_s is not None and not 0 < for_s <= 1e6:
        raise InputError(f"--for {for_s:g}: expected a time above 0, in seconds")
    apart = apart_of(watchdog, processes=processes)
    experiment = api.Experiment.from_arguments(scenario, all_sets(sets, seeds), scale)
    if dctcp and os.geteuid() != 0:
        raise InputError(
            "--dctcp: the kernel takes a congestion control from root alone; run the lab by `sudo`, or leave it out"
        )
    if obey not in (None, "none"):
        raise InputError(f"--obey {obey}: expected none, or no --obey")
    for one in experiment.plan.runs if obey == "none" else ():
        programs.deafen(one.scenario)
    if for_s is None and (out_dir is not None or not (execs or serves)):
        if run is not None:
            raise InputError(f"--run {run}: for programs on hosts; expected --exec, --serve or --for with it")
        found = programs_of(experiment, serves or [], execs or [])
        experiment.invocation += ["--obey", obey] if obey is not None else []
        files = logs_of_one_run(experiment, logs or [], apart)
        captured = captures_of_one_run(experiment, pcap or [], apart)
        options = outside.Options(files, captured, dctcp=dctcp, realtime=realtime, apart=apart)
        warn_of_throttle(options, [run.scenario for run in experiment.plan.runs])
        raise typer.Exit(whole(experiment, rate, found, options, out_dir, force=force, as_json=as_json))
    for option, given in (("--out", out_dir), ("--force", force or None), ("--seeds", seeds)):
        if given is not None:
            raise InputError(f"{option}: for the scenario's own flows; expected no --exec, --serve or --for with it")
    network = json.dumps(chosen(experiment.networks, run))
    slower = outside.pace(network, rate * 1e6, own_flows=False)
    hosts, switches = nodes_of(network)
    captured = captured_files(pcap or [], network, run or experiment.name, apart)
    files = log_files(logs or [], switches, apart)
    options = outside.Options(files, captured, dctcp=dctcp, realtime=realtime, apart=apart)
    warn_of_throttle(options, [json.loads(network)])

    def ready(found: list[tuple[str, str]]) -> None:
        if not as_json:
            names = ", ".join(f"{name} {address}" for name, address in found[:4])
            more = f" and {len(found) - 4} more" if len(found) > 4 else ""
            terminal.say(f"{slower.divisor:,} seconds are one of the scenario. Hosts: {names}{more}")
            if dctcp:
                terminal.say("TCP on the hosts is DCTCP, and knows nothing of divided time.")

    given_programs = programs.read("--", serves or [], execs or [], hosts)
    stdout = STDERR if as_json else None
    result = outside.run(network, slower, given_programs, for_s, ready, stdout, options)
    if as_json:
        printing.print_json(result.to_json())
    else:
        tell(result)
    if (why := result.counts["unlogged"]) is not None:
        raise InputError(why)
    failed = [one for one in result.programs if not one["serves"] and one["exit_code"] != 0]
    raise typer.Exit(FAILED if failed else 0)


def apart_of(watchdog: str | None, *, processes: bool) -> aparts.Apart | None:
    """Returns how switches run as processes, if they are to."""
    if not processes:
        if watchdog is not None:
            raise InputError(f"--watchdog {watchdog}: looks at pauses between processes; expected --processes with it")
        return None
    return aparts.Apart(None if watchdog is None else aparts.read(watchdog))


def warn_of_throttle(options: outside.Options, scenarios: Sequence[Scenario]) -> None:
    """Says how long the kernel may stop real-time threads, if that may happen in any of these networks."""
    if not options.realtime:
        return
    switches = min(len(nodes_of(json.dumps(scenario))[1]) for scenario in scenarios)
    if (warning := scheduling.throttle(1 if options.apart is None else 1 + switches)) is not None:
        terminal.note(warning)


def programs_of(experiment: api.Experiment, serves: list[str], execs: list[str]) -> programs.Programs | None:
    """Returns the programs of every run: those of the options, or of the file beside the scenario. None without any."""
    hosts, _ = nodes_of(json.dumps(next(iter(experiment.networks.values()))))
    if serves or execs:
        words = [
            word for name, texts in (("--serve", serves), ("--exec", execs)) for text in texts for word in (name, text)
        ]
        experiment.invocation += words
        return programs.read("--", serves, execs, hosts)
    file = programs.beside(experiment.path)
    return None if file is None else programs.from_file(file, hosts)


def whole(
    experiment: api.Experiment,
    rate: float,
    found: programs.Programs | None,
    options: outside.Options,
    out_dir: Path | None,
    *,
    force: bool,
    as_json: bool,
) -> int:
    """Runs programs or the scenario's own flows, writes a run directory as `run` does, and returns the exit code."""
    dctcp = options.dctcp
    if dctcp and found is None:
        raise InputError("--dctcp: for programs on hosts; expected --exec or --serve with it")
    if found is not None:
        leave_out(experiment, dctcp=dctcp)
    if dctcp and not any(programs.needs_dctcp(run.scenario) for run in experiment.plan.runs):
        raise InputError('--dctcp: no run has host.transport = "dctcp"; leave it out')
    scenarios = [json.dumps(run.scenario) for run in experiment.plan.runs]
    runs = [outside.pace(scenario, rate * 1e6, own_flows=found is None) for scenario in scenarios]
    places = placing.destinations([experiment], out_dir)
    source, *words = experiment.invocation[1:]
    experiment.invocation = ["lab", source, *words, *(["--rate", f"{rate:g}"] if rate != RATE_MBPS else [])]
    for option, given in (("--dctcp", dctcp), ("--realtime", options.realtime)):
        experiment.invocation += [option] if given else []
    experiment.invocation += options.apart.words() if options.apart is not None else []
    if not as_json:
        took = quantities.span(sum(one.run_s for one in runs))
        longer = ", and longer for flows that end later" if found is None else ""
        terminal.say(f"{quantities.some(len(runs), 'run')} with real packets: {took}{longer}")
    on = machine.Machine(rate * 1e6, found, options)
    with printing.quietly(as_json):
        code = runner.run_all([runner.Chosen(experiment, places[0])], None, force, on=on)
    if signals.heard:
        return signals.code()
    if as_json:
        printing.print_results_json(places)
        return code
    for line in told_runs(results.Results(places[0])) if found is None else ():
        terminal.answer(line)
    return code


def leave_out(experiment: api.Experiment, *, dctcp: bool) -> None:
    """Leaves out runs whose hosts need what this machine does not give, and says so.

    # Errors
    `InputError` if no run is left.
    """
    lacking = {run.label: programs.lacking(run.scenario, dctcp=dctcp) for run in experiment.plan.runs}
    for label, why in lacking.items():
        if why is not None:
            terminal.note(f"{label} is left out: {why}")
    experiment.plan.runs = [run for run in experiment.plan.runs if lacking[run.label] is None]
    if not experiment.plan.runs:
        raise InputError(f"{experiment.path}: no run is left: {next(iter(lacking.values()))}")


def told_runs(done: results.Results) -> Iterator[str]:
    """Yields a line for each run of own flows: its datagrams, and whether it is faithful."""
    for run in done.runs:
        found = run.summary["lab"]
        told = "faithful" if found["faithful"] else f"not faithful: {found['unfaithful_because']}"
        counts = {
            "sent": found["datagrams_sent"],
            "received": found["datagrams_received"],
            "altered": found["datagrams_altered"],
            "reordered": found["datagrams_reordered"],
            "duplicated": found["datagrams_duplicated"],
        }
        words = [f"{count:,} {name}" for name, count in counts.items() if count or name not in machine.WRONG]
        yield f"{run.label}: datagrams: {', '.join(words)}; {told}"


def nodes_of(network: str) -> tuple[list[str], list[str]]:
    """Returns the names of hosts and of switches."""
    nodes = networks.read(network).nodes
    hosts, switches = ([node.name for node in nodes if node.host is kind] for kind in (True, False))
    return hosts, switches


def chosen(known: dict[str, Scenario], name: str | None) -> Scenario:
    """Returns the scenario of the run with this name."""
    if name is None:
        return next(iter(known.values()))
    if name not in known:
        raise InputError(f"--run {name}: {suggest.expected(name, list(known))}")
    return known[name]


def logs_of_one_run(experiment: api.Experiment, texts: list[str], apart: aparts.Apart | None) -> dict[str, Path]:
    """Reads `--log` of a run directory, which has to have one run: a file holds the log of one."""
    runs = experiment.plan.runs
    if texts and len(runs) > 1:
        raise InputError(
            f"--log {texts[0]}: the scenario has {len(runs)} runs: expected one, "
            f"such as --set variant={runs[0].params.get('variant', 'NAME')} --seeds 1"
        )
    return log_files(texts, nodes_of(json.dumps(runs[0].scenario))[1], apart)


def captures_of_one_run(experiment: api.Experiment, texts: list[str], apart: aparts.Apart | None) -> Captures:
    """Reads `--pcap` of a run directory, which has to have one run: a file has the packets of one."""
    runs = experiment.plan.runs
    if texts and len(runs) > 1:
        raise InputError(
            f"--pcap {texts[0]}: the scenario has {len(runs)} runs: expected one, "
            f"such as --set variant={runs[0].params.get('variant', 'NAME')} --seeds 1"
        )
    return captured_files(texts, json.dumps(runs[0].scenario), runs[0].label, apart)


def captured_files(texts: list[str], scenario_json: str, label: str, apart: aparts.Apart | None) -> Captures:
    """Reads `PORT=FILE`: files that are not there yet, in directories that are. Says so where one becomes several."""
    wanted = capture.of_run(capture.words(texts), json.loads(scenario_json), label, None).files
    files: Captures = wanted if apart is None else aparts.files_of(wanted)
    places = [place.absolute() for place, _ in files]
    for number, (place, _) in enumerate(files):
        capture.check(place, force=False)
        if places[number] in places[:number]:
            raise InputError(f"--pcap {place}: two captures have this file: expected another name for one")
    asked = {place for place, _ in wanted}
    if added := [str(place) for place, _ in files if place not in asked]:
        terminal.note(f"--pcap: each process writes a file: {', '.join(added)}")
    return [(place.absolute(), ports) for place, ports in files]


def log_files(texts: list[str], switches: list[str], apart: aparts.Apart | None) -> dict[str, Path]:
    """Reads `SWITCH=FILE`: files that are not there yet, in directories that are."""
    files: dict[str, Path] = {}
    for text in texts:
        switch, equals, name = text.partition("=")
        if not (equals and name):
            raise InputError(f"--log {text}: expected SWITCH=FILE, such as {switches[0]}={switches[0]}.log")
        if switch not in switches:
            raise InputError(f"--log {text}: {switch!r} is no switch: {suggest.expected(switch, switches)}")
        if switch in files:
            raise InputError(f"--log {text}: {switch} has a log already: {files[switch]}")
        path = Path(name).absolute()
        if path.exists() or path in files.values():
            raise InputError(f"--log {text}: {name} exists: expected a new file")
        if apart is not None and (second := aparts.log_after(path, 2)).exists():
            raise InputError(f"--log {text}: {second}, for the log after a restart, exists: expected another name")
        check_file("--log", path, force=False)
        files[switch] = path
    return files


def tell(result: outside.Result) -> None:
    """Prints what each host sent and got, how late frames were, and whether the run is faithful."""
    table = terminal.Table(
        title="Frames at the edge, and how late they were there", title_justify="left", title_style="bold"
    )
    table.add_column("host")
    for heading in ("sent", "got", "in, p99", "in, max", "out, p99", "out, max", "not carried"):
        table.add_column(heading, justify="right")
    idle = 0
    for host in result.counts["hosts"]:
        if not (host["frames_in"] or host["frames_out"] or host["refused"]):
            idle += 1
            continue
        lost = {**host["refused"], "ring full": host["overflowed"], "not taken": host["unsent"]}
        reasons = ", ".join(f"{count} {name}" for name, count in lost.items() if count)
        late = [seconds for one in (host["late_in"], host["late_out"]) for seconds in (one["p99_s"], one["max_s"])]
        table.add_row(
            host["host"],
            quantities.count(host["frames_in"]),
            quantities.count(host["frames_out"]),
            *(f"{1e3 * value:.2f} ms" for value in late),
            reasons or "-",
        )
    if table.row_count:
        terminal.out.print(table)
    if idle:
        terminal.say(f"{quantities.some(idle, 'host')} sent and got nothing.")
    for one in result.programs:
        if why := one["failure"]:
            terminal.answer(f"{one['host']}: {shlex.join(one['command'])}: {why}")
    for process in result.counts["processes"]:
        if len(process["logs"]) > 1:
            logs = ", ".join(process["logs"])
            terminal.answer(f"{process['name']} was started again; each start has a log: {logs}")
    dropped = result.counts["frames_dropped"]
    if dropped:
        terminal.answer(f"Switches and NICs dropped {quantities.some(dropped, 'frame')}.")
    hop = f"the shortest hop takes {1e3 * result.pace.hop_s:.2f} ms"
    why = result.unfaithful
    if idle == len(result.counts["hosts"]):
        return
    terminal.answer(f"Faithful: frames were on time, and {hop}." if why is None else f"Not faithful: {why}; {hop}.")
