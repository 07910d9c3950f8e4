"""Every command by name: where its function is, and its first sentence, which `backwater --help` lists.

Only this table is read to print that list. A command's module is imported when the command is used or its own help is
asked for. A test holds the sentences here and those of the functions equal.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Entry:
    """A command: `module:function` below `backwater.cli`, its first sentence, and the panel that lists it."""

    home: str
    line: str
    panel: str = "Commands"


@dataclass(frozen=True)
class Family:
    """A command that only has commands."""

    line: str
    entries: Mapping[str, Entry]
    panel: str = "Commands"


EXPERIMENTS, RESULTS, OTHERS = "Run experiments", "Look at results", "Look things up and exchange files"

COMMANDS: Mapping[str, Entry | Family] = {
    "new": Entry("new:new", "Write a first scenario with a comment at each key.", EXPERIMENTS),
    "run": Entry("run:run", "Run scenarios and write tables and a report.", EXPERIMENTS),
    "sweep": Entry("sweep:sweep", "Run a scenario at every point of a sweep and write one table.", EXPERIMENTS),
    "tune": Entry("tune:tune", "Search for the values of keys with which a scheme does best.", EXPERIMENTS),
    "new-scheme": Entry("new_scheme:new_scheme", "Write a crate for a scheme of your own in Rust.", EXPERIMENTS),
    "build-scheme": Entry(
        "build_scheme:build_scheme", "Compile schemes of your own, so that scenarios can name them.", EXPERIMENTS
    ),
    "reproduce": Entry("reproduce:reproduce", "Run a published experiment and judge its claims.", EXPERIMENTS),
    "check": Entry("check:check", "Validate scenarios and estimate the cost of running them.", EXPERIMENTS),
    "lab": Entry("lab:lab", "Run programs on hosts joined by a scenario's switches.", EXPERIMENTS),
    "lab shell": Entry("lab_shell:shell", "Run a shell or a command on a host of a running lab.", EXPERIMENTS),
    "lab top": Entry("lab_top:top", "Watch the queues, pauses and rates of a running lab.", EXPERIMENTS),
    "deadlock": Entry("deadlock:deadlock", "Find cycles of pauses in scenarios.", EXPERIMENTS),
    "open": Entry("open:open_report", "Open a report in the browser.", RESULTS),
    "compare": Entry("compare:compare", "Print variants side by side.", RESULTS),
    "compare-fct": Entry("compare_fct:compare_fct", "Compare completion times flow by flow.", RESULTS),
    "explain": Entry("explain:explain", "Say where slow flows, or an iteration, spent their time.", RESULTS),
    "replay": Entry("replay:replay", "Compare a switch's log with the simulator's switch.", RESULTS),
    "report": Entry("report:report", "Write a report again, and draw its figures.", RESULTS),
    "list": Family(
        "List experiments, schemes, workloads, chips or runs.",
        {
            "experiments": Entry("lists:experiments", "List the published experiments."),
            "schemes": Entry("lists:schemes", "List the schemes with their sources."),
            "workloads": Entry("lists:workloads", "List the tables of flow sizes."),
            "chips": Entry("lists:chips", "List switching chips and their packet memory."),
            "runs": Entry("lists:runs", "List the run directories below a directory."),
        },
        OTHERS,
    ),
    "show": Entry("show:show", "Print an experiment, scheme, workload or chip.", OTHERS),
    "schema": Entry("schema:schema", "Print the columns of a table with their units.", OTHERS),
    "plan": Family(
        "Compute what a scheme asks of a switch, without a simulation.",
        {
            "bcc": Entry("plan_bcc:plan_bcc", "Compute BCC's thresholds for a switch."),
            "bfc": Entry("plan_bfc:plan_bfc", "Compute BFC's tables, thresholds and queues."),
            "flowsail": Entry("plan_flowsail:plan_flowsail", "Compute FlowSail's tables and thresholds."),
        },
        OTHERS,
    ),
    "import": Family(
        "Make a scenario from files of another simulator, or from a trace.",
        {
            "hpcc": Entry("files:import_hpcc", "Import files of HPCC's simulator as a scenario."),
            "goal": Entry("import_job:import_goal", "Import a GOAL trace of LogGOPSim or ATLAHS as a scenario."),
            "csv": Entry("import_job:import_csv", "Import a CSV of dependent messages as a scenario."),
            "htsim": Entry("import_job:import_htsim", "Import a connection matrix of htsim as a scenario."),
            "simai": Entry("import_job:import_simai", "Import a text workload of SimAI or ASTRA-sim as a scenario."),
            "chakra": Entry("import_job:import_chakra", "Import execution traces of Chakra as a scenario."),
        },
        OTHERS,
    ),
    "export": Family(
        "Write files of another simulator or for a viewer of traces.",
        {
            "hpcc": Entry("files:export_hpcc", "Write a scenario as files of HPCC's simulator."),
            "fct": Entry("files:export_fct", "Write completion times as HPCC's simulator does."),
            "perfetto": Entry("export_perfetto:export_perfetto", "Write iterations of jobs as a trace for Perfetto."),
            "goal": Entry("export_job:export_goal", "Write a job as a GOAL trace of LogGOPSim and ATLAHS."),
            "csv": Entry("export_job:export_csv", "Write a job as a CSV of dependent messages."),
            "htsim": Entry("export_job:export_htsim", "Write a job as a connection matrix of htsim."),
        },
        OTHERS,
    ),
    "doctor": Entry("doctor:doctor", "Print the version, the machine and where files go.", OTHERS),
}

MOVED = {
    "schemes": "list schemes",
    "chips": "list chips",
    "check --deadlock": "deadlock SCENARIO",
    "compare --fct": "compare-fct A B",
    "plan bfc --speed": "plan bfc --rate",
    "plan flowsail --run": "plan flowsail --measured DIR",
}
"""Commands and options of earlier versions, and what they are called now."""
