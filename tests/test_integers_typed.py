"""Every whole number that the command line takes: at both ends of its range, beyond them, and in other scripts."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from backwater import InputError, Results
from backwater.cli import command as commands
from backwater.cli import tree
from backwater.hpcc import comparison
from backwater.runs.directory import next_name
from conftest import ROOT, Cli

NO_NUMBERS = ["\u0663", "\u00b2", "\uff11", "1" * 5000, "1_0", "0x1", "1.0", "", " 1", "--1", "1e3", "\u0967\u0968"]
"""Arabic, superscript, fullwidth and Devanagari digits among what is none in ASCII digits."""
ENDS = {
    "--seeds": (1, 1000),
    "--threads": (1, 1024),
    "--worst": (1, 2**32 - 1),
    "--flow": (0, None),
    "--iteration": (0, None),
    "--events-max": (1, 10**8),
    "--pcap-max": (1, 10**8),
    "--trials": (1, 10_000),
    "--iterations": (1, 1_000_000),
    "--ranks-per-host": (1, 2**20),
    "--ranks": (1, 2**20),
    "--shrink": (1, 2**20),
    "--virtual-stages": (1, 1024),
    "--channels": (1, 64),
    "--first-dimension": (1, 2**20),
    "--stages": (1, 2**20),
    "--microbatches": (1, 2**16),
}
"""Of options outside `plan`, whose messages name their range; None where what exists is the end."""
WORDS = {
    "run": ["run", "{smoke}", "--out", "here", "--force", "--events", "e.json", "--pcap", "host0=p.pcapng"],
    "sweep": ["sweep", "{smoke}", "--out", "here", "--force"],
    "reproduce": ["reproduce", "smoke-bfc", "--out", "here", "--force"],
    "tune": ["tune", "{smoke}", "--over", "load=0.1..0.2", "--minimize", "packet_hops", "--out", "here", "--force"],
    "check": ["check", "{smoke}"],
    "lab": ["lab", "{smoke}", "--exec", "host0 true"],
    "explain": ["explain", "{run}", "--run", "BFC"],
    "import goal": ["import", "goal", "{jobs}/binary_tree_32.goal", "-o", "job.toml", "--force"],
    "import csv": ["import", "csv", "{jobs}/three.csv", "-o", "job.toml", "--force"],
    "import simai": ["import", "simai", "{jobs}/all_reduce.txt", "-o", "job.toml", "--force", "--shrink", "1000"],
    "import chakra": ["import", "chakra", "{jobs}/astra/all_reduce", "-o", "job.toml", "--force"],
    "plan bcc": ["plan", "bcc", "--rtt", "80 us", "--config", "sonic"],
    "plan bfc": ["plan", "bfc"],
    "plan flowsail": ["plan", "flowsail"],
}
DEAR = {
    ("run", "--seeds"): 3,
    ("sweep", "--seeds"): 3,
    ("reproduce", "--seeds"): 3,
    ("tune", "--seeds"): 1,
    ("tune", "--trials"): 1,
    ("plan bcc", "--flows"): 100,
    ("import simai", "--iterations"): 2,
    ("import simai", "--ranks"): 8,
    ("import simai", "--first-dimension"): 4,
    ("import simai", "--virtual-stages"): 1,
    ("import simai", "--stages"): 1,
    ("import simai", "--microbatches"): 1,
}
"""The largest that is run here where it takes as many simulations; `check` takes the end itself."""


def whole_numbers() -> Iterator[tuple[str, str]]:
    """Each command with each of its options that takes a whole number."""
    for name, one in tree():
        if not isinstance(one, commands.Group):
            for param in one.params:
                if param.metavar == "N":
                    yield name, param.opts[0]


OPTIONS = list(whole_numbers())


def words(name: str, option: str, smoke: Path, results: Results) -> list[str]:
    trial = ["--simulate", "--loads", "0.5"] if (name, option) == ("plan bcc", "--flows") else []
    trial += ["--ranks", "4"] if name == "import simai" and option != "--ranks" else []
    jobs = ROOT / "crates" / "jobs" / "tests" / "data"
    return [word.format(smoke=smoke, run=results.path, jobs=jobs) for word in WORDS[name] + trial]


def test_all_such_options_are_known() -> None:
    assert len(OPTIONS) >= 22
    assert {option for name, option in OPTIONS if not name.startswith("plan")} == set(ENDS)


@pytest.mark.parametrize(("name", "option"), OPTIONS)
def test_what_is_no_number_in_ascii_digits_is_refused(
    cli: Cli, smoke: Path, results: Results, tmp_path: Path, name: str, option: str
) -> None:
    for text in NO_NUMBERS:
        done = cli(*words(name, option, smoke, results), f"{option}={text}")
        assert done.returncode == 2, f"{option} {text[:20]!r}: {done.stdout}"
        assert option in done.stderr
        assert "expected a whole number" in done.stderr
        assert len(done.stderr) < 500, "it is not repeated in full"
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(("name", "option"), OPTIONS)
def test_both_ends_are_taken_and_what_is_beyond_is_refused(
    cli: Cli, smoke: Path, results: Results, name: str, option: str
) -> None:
    low, high = ends(cli, name, option, smoke, results)

    def outcome(number: int) -> tuple[int, str]:
        done = cli(*words(name, option, smoke, results), option, number)
        assert "Traceback" not in done.stderr
        assert done.returncode in (0, 1, 2), f"{option} {number}: {done.stderr}"
        return done.returncode, done.stderr

    for number in (low - 1, *(() if high is None else (high + 1,)), -(10**17), 10**17):
        code, says = outcome(number)
        assert (code, option in says) == (2, True), f"{option} {number}: {says}"
    taken = [low] if high is None else [low, high]
    for number in [min(number, DEAR.get((name, option), number)) for number in taken]:
        code, says = outcome(number)
        # A plan or a lab may refuse an end that does not go with its other values, in words; it never fails.
        # These runs have no job, and so no iterations.
        assert code in (0, 1) or name.startswith(("plan", "lab")) or option == "--iteration", says
        assert code != 2 or "expected" in says or option in says, says


def ends(cli: Cli, name: str, option: str, smoke: Path, results: Results) -> tuple[int, int | None]:
    if option in ENDS:
        return ENDS[option]
    says = cli(*words(name, option, smoke, results), option, -(10**17)).stderr
    found = re.search(rf"{option} -1\S*: expected (?:a whole number from )?(\d+) (?:to|or) (\d\S*)", says)
    assert found is not None, f"{name} {option} does not name its range: {says}"
    return int(found[1]), int(float(found[2]))


@pytest.mark.parametrize(
    "flow_class", ["port-\u00b2", "port-\u0663", f"port-{'1' * 5000}", "port-65536", "port--1", ""]
)
def test_ports_of_classes_are_ports(cli: Cli, results: Results, flow_class: str) -> None:
    done = cli("compare-fct", results.path / "BFC", results.path / "DCTCP", f"--class={flow_class}")
    assert done.returncode == 2
    assert "expected background (port 100), incast (port 200) or port-N, with N from 0 to 65535" in done.stderr
    assert len(done.stderr) < 300


def test_the_ends_of_ports_are_ports() -> None:
    assert (comparison.port_of("port-0"), comparison.port_of("port-65535")) == (0, 65_535)
    with pytest.raises(InputError):
        comparison.port_of("port-65536")


def test_a_directory_that_ends_in_a_superscript_is_a_name_like_others() -> None:
    assert next_name(Path("fig.\u00b2")) == Path("fig.\u00b2.2")
    assert next_name(Path("fig.2")) == Path("fig.3")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["reproduce", "smoke-bfc", "--until", "undecided=\u0663"], "--until"),
        (["reproduce", "smoke-bfc", "--until", "undecided=0", "--budget", "\u0663 min"], "--budget"),
        (["run", "{smoke}", "--on", "slurm:\u0663"], "--on"),
        (["run", "{smoke}", "--events", "e.json", "--events-span", "\u0661ms..2ms"], "--events-span"),
        (["explain", "{run}", "--run", "BFC", "--below", "\u0663KB"], "--below"),
        (["explain", "{run}", "--run", "BFC", "--percentile", "\u0669\u0669"], "--percentile"),
        (["compare", "{run}", "--percentile", "p\u00b2"], "--percentile"),
        (["sweep", "{smoke}", "--vary", "switch.queues=\u0668:16:8"], "--vary"),
        (["run", "{smoke}", "--set", "switch.queues=\u0668"], "--set"),
        (["plan", "bfc", "--rate", "\u0661 Gbps"], "--rate"),
        (["plan", "bfc", "--workload", "cache", "--load", "\u0665%"], "--load"),
        (["plan", "bcc", "--rtt", "80 us", "--simulate", "--loads", "0.4,\u0665%"], "--loads"),
    ],
)
def test_other_values_with_digits_are_ascii_too(
    cli: Cli, smoke: Path, results: Results, tmp_path: Path, arguments: list[str], says: str
) -> None:
    done = cli(*[argument.format(smoke=smoke, run=results.path) for argument in arguments])
    assert done.returncode == 2, done.stdout
    assert says in done.stderr
    assert not list(tmp_path.iterdir())
