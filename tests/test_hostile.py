"""Every input ends in a refusal that says where, what and what is allowed, or in a run that finishes or can be stopped.

`hostile.py` makes the cases; each hangs on a seed and its number alone, and a failure prints them with the input.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

import hostile
from backwater import Experiment, InputError, Results
from backwater.cli import app
from backwater.hpcc import fct, importer
from backwater.judge import claims, panels
from backwater.runs import tables
from conftest import HPCC, ROOT, Cli

SEED = 14
FEW, MANY = 900, 20_000
FCT = "0b000001 0b000101 10000 100 1000 2000000000 8000 4000\n0b000201 0b000301 10000 100 2000 2000001000 9000 4100\n"


def scenarios(first: int, count: int) -> dict[str, int]:
    """How cases ended.

    # Errors
    An assertion with the first that ended badly.
    """
    done = subprocess.run(
        [sys.executable, hostile.__file__, str(SEED), str(first), str(count)],
        capture_output=True,
        text=True,
        check=True,
    )
    *bad, ends = map(json.loads, done.stdout.splitlines())
    assert not bad, json.dumps(bad[0], indent=1)
    return ends["ends"]


def test_hostile_scenarios_are_refused_or_run() -> None:
    ends = scenarios(0, FEW)
    assert ends["refused"] > FEW / 2
    assert ends["finished"] > FEW / 20


@pytest.mark.long
@pytest.mark.parametrize("part", range(20))
def test_many_hostile_scenarios_are_refused_or_run(part: int) -> None:
    scenarios(FEW + part * MANY // 20, MANY // 20)


def test_what_cases_are_made_of_is_valid(tmp_path: Path) -> None:
    core = hostile.core()
    for text in hostile.BASES:
        for shown in ("", hostile.SHOWN):
            assert hostile.end_of(core, hostile.Case(text + shown + hostile.TAIL), tmp_path).how == "finished"
    for kind, files in hostile.FILES.items():
        for beside in files:
            case = hostile.Case(hostile.BASES[0] + kind + hostile.TAIL, [], beside)
            assert hostile.end_of(core, case, tmp_path).how == "finished", beside


class Core:
    """A module that does as a case says."""

    InputError = InputError

    def __init__(self, load: Callable[[], object]) -> None:
        self.does = load

    def load(self, path: str, sets: list[str], scale: str | None) -> object:
        return self.does()


def test_whatever_a_case_does_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hostile, "SECONDS", 0)

    def refuse(message: str) -> object:
        raise InputError(message)

    for does, how in (
        (lambda: refuse("hostile.toml:3: seed = x: expected a whole number"), "took "),
        (lambda: refuse("something is wrong"), "mumbled"),
        (lambda: refuse("hostile.toml:3: expected\nmore"), "mumbled"),
        (lambda: 1 / 0, "fell over"),
        (lambda: bytearray(2 * hostile.MEMORY), "fell over"),
        (lambda: os.kill(os.getpid(), signal.SIGKILL), "signal SIGKILL"),
        (lambda: time.sleep(20), "signal SIGALRM"),
    ):
        assert hostile.end_of(Core(does), hostile.Case(""), tmp_path).how.startswith(how)


def test_what_the_parent_has_is_not_of_a_case(tmp_path: Path) -> None:
    before = bytearray(hostile.MEMORY)
    before[::4096] = b"x" * len(before[::4096])
    core = hostile.core()
    assert hostile.end_of(core, hostile.Case(hostile.BASES[0] + hostile.TAIL), tmp_path).how == "finished"
    taken = hostile.end_of(Core(lambda: len(b"x" * (hostile.MEMORY // 2)) / 0), hostile.Case(""), tmp_path)
    assert taken.how == "fell over"
    assert 0.4 * hostile.MEMORY < taken.bytes < 0.6 * hostile.MEMORY


def words(draw: random.Random, text: str) -> str:
    """A text file with some of its words replaced, left out or doubled."""
    if draw.random() < 0.5:
        return hostile.damaged(draw, text)
    parts = text.split(" ")
    for _ in range(draw.choice([1, 1, 2, 4])):
        at = draw.randrange(len(parts))
        other = draw.choice(
            [*hostile.SPLICES, str(draw.choice(hostile.WHOLE)), draw.choice(hostile.REAL), "", "10Gbps", "1us"]
        )
        parts[at] = draw.choice([other, parts[at] + other, f"{parts[at]} {parts[at]}"])
    return " ".join(parts)


@contextlib.contextmanager
def at_most(seconds: int) -> Iterator[None]:
    """An alarm, which ends what takes longer."""

    def late(*_: object) -> None:
        raise TimeoutError(f"took more than {seconds} s")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def files_of_hpcc(place: Path, seeds: range) -> int:
    """Reads mutations of its files; returns how many were taken."""
    valid = {name: (HPCC / f"{name}.txt").read_text() for name in ("topology", "flow", "config")} | {"fct": FCT}
    taken = 0
    for seed in seeds:
        draw = random.Random(f"{SEED} {seed}")
        broken = draw.choice(sorted(valid))
        texts = valid | {broken: words(draw, valid[broken])}
        paths = {name: place / f"{name}.txt" for name in texts}
        for name, text in texts.items():
            paths[name].write_text(text)
        transport = "dctcp"
        try:
            with at_most(hostile.SECONDS):
                if broken == "fct":
                    fct.read(paths["fct"])
                else:
                    read = importer.read(paths["topology"], paths["flow"], paths["config"], transport, "sample")
                    Experiment(importer.write(read, place / "sample.toml", force=True)[0])
            taken += 1
        except InputError as refusal:
            message = str(refusal)
            assert broken in message or "sample" in message, (seed, message, texts[broken])
            assert message.isprintable(), (seed, message, texts[broken])
        except Exception as error:
            raise AssertionError(f"case {seed}: {broken}.txt with\n{texts[broken]}") from error
    return taken


def test_mutations_of_files_of_hpcc_are_read_or_refused(tmp_path: Path) -> None:
    assert 5 < files_of_hpcc(tmp_path, range(100)) < 95


@pytest.mark.long
def test_many_mutations_of_files_of_hpcc_are_read_or_refused(tmp_path: Path) -> None:
    files_of_hpcc(tmp_path, range(100, 3000))


NUMBERS = [
    "0",
    "-1",
    "1e999999999",
    "nan",
    "inf",
    "1/0",
    "\u0661",
    "9" * 5000,
    "9" * 400,
    "1_0",
    "+1",
    "",
    " ",
    "0x10",
    "1e-9",
    "4",
    "1/2",
    "1,2",
]
QUANTITIES = [
    "80 us",
    "0 s",
    "1 TiB",
    "\u0661 us",
    "1e3 us",
    "9" * 4000 + " us",
    "1..5 us",
    "us",
    "1 us us",
    "100 Gbps",
    "1 MB",
    "-1 us",
]
OPTIONS = {
    "bcc": {
        **dict.fromkeys(["--rtt", "--h", "--rate", "--capacity", "--buffer", "--private"], QUANTITIES),
        **dict.fromkeys(
            ["--lambda", "--pmax", "--ports", "--alpha", "--alphas", "--queues", "--queue", "--kilo"], NUMBERS
        ),
        "--chip": ["tofino", "", "\U0001f30a"],
        "--name": ["x", "a b", "\u00e9", "x" * 1000, "a\nb"],
        "--interface": ["Ethernet1", "a\nb", "x" * 1000, "\U0001f30a", "$(reboot)"],
        "--config": ["all", "sai", "arista", "nothing"],
    },
    "flowsail": {
        **dict.fromkeys(["--rate", "--delay", "--hrtt"], QUANTITIES),
        **dict.fromkeys(
            ["--ports", "--queues", "--groups", "--flows", "--fingerprint", "--load-factor", "--packet"], NUMBERS
        ),
        **dict.fromkeys(["--isolation-queues", "--pauses-per-second", "--paused-flows"], NUMBERS),
    },
}


def refusal_of(arguments: list[str]) -> str:
    """What a command says of its arguments; nothing if it takes them, and nothing here of what Typer says itself."""
    try:
        with at_most(hostile.SECONDS):
            app(arguments, standalone_mode=False)
    except InputError as refusal:
        return str(refusal)
    except Exception as error:
        if not hasattr(error, "show"):
            raise AssertionError(arguments) from error
    return ""


@pytest.mark.parametrize("plan", OPTIONS)
def test_options_of_plans_are_refused_or_taken(plan: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Every option with every value, and some together."""
    draw = random.Random(SEED)
    alone = [[(option, one)] for option, values in OPTIONS[plan].items() for one in values]
    pairs = [
        [(option, draw.choice(values)) for option, values in OPTIONS[plan].items() if draw.random() < 0.2]
        for _ in range(60)
    ]
    for given in alone + pairs:
        arguments = ["plan", plan, *(f"{option}={one}" for option, one in given)]
        if plan == "bcc" and not any(option == "--rtt" for option, _ in given):
            arguments.append("--rtt=80 us")
        message = refusal_of(arguments)
        assert not message or re.search("expected|not with|at least one", message), (arguments, message)
        capsys.readouterr()


def test_claims_that_are_taken_are_judged(results: Results, three: Path, tmp_path: Path) -> None:
    """Whatever passes the checks before a run ends no run after it."""
    core = hostile.core()
    known = [
        pair
        for pair in hostile.keys(*[json.loads(core.scenario_schema())] * 2)
        if pair[0].startswith(("expect", "figure"))
    ]
    text = f'extends = "{three}"\n' + hostile.SHOWN[hostile.SHOWN.index("[figure]") :].replace("seed", "host.header")
    text = text.replace('"A"', '"BFC"').replace('"B"', '"DCTCP"').replace('over = ["host.header"]\n', "")
    text = text[: text.index('[[expect]]\nclaim = "c"')]
    judged = 0
    for number in range(2000):
        draw = random.Random(f"{SEED} {number}")
        path = tmp_path / "hostile.toml"
        path.write_text(hostile.rewritten(draw, text, *draw.choice(known)).replace(hostile.TAIL, ""))
        try:
            plan = json.loads(core.load(str(path), [], None))
        except core.InputError:
            continue
        judged += 1
        for row in claims.evaluate(plan["expect"], results):
            json.dumps(row)
        asked = replace(results.manifest, figure=plan["figure"])
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(results, "manifest", asked)
            json.dumps(panels.read(results))
    assert judged > 20


def numbers(value: Any, path: str = "") -> Iterator[str]:
    """Paths of all numbers."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from numbers(inner, f"{path}.{key}" if path else key)
    elif isinstance(value, list):
        for i, inner in enumerate(value):
            yield from numbers(inner, f"{path}.{i}")
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield path


def test_what_can_be_claimed_is_what_is_measured(results: Results, three: Path, tmp_path: Path) -> None:
    """The reader's lists of paths and columns are those of the tables and summaries."""
    definitions = json.loads(hostile.core().scenario_schema())["$defs"]
    forms = {(*form.get("required", ()), "")[0]: form for form in definitions["Expected"]["oneOf"]}
    for name in ("ports", "mmus"):
        words = {choice["const"] for choice in forms[name]["properties"][name]["oneOf"]}
        assert words == {column["name"] for column in tables.schemas()[name] if column["type"] != "cat"} - {"mmu"}
    claim = '[[expect]]\nclaim = "{i}"\nkind = "between"\nlow = 0\nvariant = "BFC"\nvalue = {{ summary = "{path}" }}\n'
    paths = sorted({path for run in results.runs for path in numbers(run.summary)})
    assert len(paths) > 50
    path = tmp_path / "all.toml"
    path.write_text(f'extends = "{three}"\n' + "".join(claim.format(i=i, path=path) for i, path in enumerate(paths)))
    assert len(Experiment(path).plan.expect) == len(paths)


def test_bytes_and_pipes_are_no_scenarios(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "bytes.toml").write_bytes(b"seed = 1\n\xff\xfe")
    os.mkfifo(tmp_path / "pipe.toml")
    for file in ("bytes.toml", "pipe.toml", ".", "/dev/zero", "x" * 300, "a\0b.toml"[:1] + ".toml"):
        done = cli("check", file)
        assert done.returncode == 2, (file, done)
        assert file in done.stderr, done.stderr
    for option in ("--topology", "--flows"):
        files = {"--topology": HPCC / "topology.txt", "--flows": HPCC / "flow.txt", option: "pipe.toml"}
        done = cli("import", "hpcc", *sum(files.items(), ()), "--transport", "dctcp", "-o", "x.toml")
        assert (done.returncode, done.stderr) == (2, "error: pipe.toml: is not a plain file\n")


def test_the_generator_is_the_same_again() -> None:
    core = hostile.core()
    schema = json.loads(core.scenario_schema())
    bases = [hostile.Base(text, [("seed", "integer")]) for text in hostile.BASES]
    once, again = (list(hostile.cases(schema, bases, SEED, 5, 50)) for _ in range(2))
    assert once == again
    assert once[10:] == list(hostile.cases(schema, bases, SEED, 15, 40))
    assert ROOT.is_dir()
