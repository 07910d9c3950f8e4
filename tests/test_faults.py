"""Nothing that was finished is lost: signals, full disks, damage, two at a time, and the same command again."""

from __future__ import annotations

import contextlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import faults
from backwater import Experiment, InputError, Results, _core, cli
from backwater.execute import sweep
from backwater.execute.store import NAME
from backwater.runs import writer
from backwater.runs.staging import Staging, partial, remove
from backwater.scenario import experiments
from backwater.show import figures
from backwater.show.figures import drawn as drawn_figures
from conftest import SMOKE, Cli, command

ENDLESS = """
extends = "{base}"
name = "endless"
variant = [{{ name = "short", scheme = "bfc" }}, {{ name = "long", scheme = "dctcp", "run.duration" = "10 s" }}]
"""


@pytest.fixture
def endless(tmp_path: Path) -> Path:
    """One run that ends at once, and one that does not."""
    path = tmp_path / "endless.toml"
    path.write_text(ENDLESS.format(base=SMOKE / "bfc.toml"))
    return path


def runs_of(place: Path) -> list[str]:
    found = Results(place)
    found.verify()
    return [run.label for run in found.runs if run.ending != "interrupted"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_keeps_what_was_finished(endless: Path, tmp_path: Path, number: signal.Signals) -> None:
    process = faults.start(tmp_path, "run", endless, "--out", "here", "--threads", 1)
    faults.wait_for(tmp_path / "output", "long: started", process)
    ended = faults.stop(process, tmp_path, number)
    assert ended.code == 128 + number
    assert ended.answer_s is not None
    assert ended.answer_s < 0.5
    assert "Traceback" not in ended.errors
    kept = Results(tmp_path / "here")
    kept.verify()
    assert not kept.complete
    assert kept.interrupted
    assert "short" in [run.label for run in kept.runs]
    assert "what was finished is in here" in (tmp_path / "output").read_text()
    assert not partial(tmp_path / "here").exists()


def test_after_sigkill_the_same_command_goes_on(endless: Path, tmp_path: Path, cli: Cli) -> None:
    process = faults.start(tmp_path, "run", endless, "--out", "here", "--threads", 1)
    faults.wait_for(tmp_path / "output", "short: done", process)
    process.kill()
    process.wait()
    left = partial(tmp_path / "here")
    assert runs_of(left) == ["short"], "what is left can be read"
    assert not (tmp_path / "here").exists()
    # Another experiment does not take its place without leave.
    other = cli("run", SMOKE / "bfc.toml", "--out", "here")
    assert other.returncode == 2
    assert "1 finished runs of another command" in other.stderr
    assert runs_of(left) == ["short"]
    process = faults.start(tmp_path, "run", endless, "--out", "here", "--threads", 1)
    faults.wait_for(tmp_path / "output", "long: started", process)
    faults.stop(process, tmp_path, signal.SIGINT)
    assert "short: finished before; not simulated again" in (tmp_path / "output").read_text()
    assert runs_of(tmp_path / "here") == ["short"]
    assert cli("run", SMOKE / "bfc.toml", "--out", "here", "--force").returncode == 0
    assert runs_of(tmp_path / "here") == ["bfc"]


class Interrupting(sweep.Watch):
    """Ctrl-C when the first run is done; tells which runs were found and done."""

    def __init__(self, *, after: int = 1) -> None:
        self.left = after
        self.found: list[str] = []
        self.done: list[str] = []

    def on_found(self, job: sweep.Job) -> None:
        self.found.append(job.label)

    def on_done(self, job: sweep.Job) -> None:
        self.done.append(job.label)
        self.left -= 1
        if self.left == 0:
            raise KeyboardInterrupt


def test_a_fragment_is_gone_on_from_to_the_same_digest(three: Path, tmp_path: Path) -> None:
    whole = Experiment(three).simulate(tmp_path / "whole", threads=1)
    watch = Interrupting()
    kept = Experiment(three).simulate(tmp_path / "here", threads=1, watch=watch)
    assert kept.interrupted
    assert runs_of(kept.path) == ["BFC"]
    again = Interrupting(after=9)
    done = Experiment(three).simulate(tmp_path / "here", threads=1, watch=again)
    assert (again.found, again.done) == (["BFC"], ["DCTCP", "Ideal-FQ"])
    assert done.complete
    assert done.digest == whole.digest
    assert [row["label"] for row in done.timing["runs"]] == ["BFC", "DCTCP", "Ideal-FQ"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["here", "whole"]


@pytest.mark.parametrize("change", ["seed", "version", "damage"])
def test_only_the_same_runs_are_taken_up(
    three: Path, tmp_path: Path, change: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    Experiment(three).simulate(tmp_path / "here", threads=1, watch=Interrupting())
    if change == "damage":
        flip(tmp_path / "here" / "BFC" / "flows.parquet", 1000)
    elif change == "version":
        monkeypatch.setattr(writer, "build", lambda **_: "another")
    experiment = Experiment(three, seed=2 if change == "seed" else None)
    if change != "damage":
        with pytest.raises(InputError, match="holds what was done of another run"):
            experiment.simulate(tmp_path / "here", threads=1)
    watch = Interrupting(after=9)
    assert experiment.simulate(tmp_path / "here", threads=1, watch=watch, force=True).complete
    assert watch.found == []


def test_force_replaces_a_complete_run_only_by_one_that_ended(three: Path, tmp_path: Path) -> None:
    old = Experiment(three, seed=7).simulate(tmp_path / "here").digest
    kept = Experiment(three).simulate(tmp_path / "here", threads=1, force=True, watch=Interrupting())
    assert Results(tmp_path / "here").digest == old
    assert kept.path == partial(tmp_path / "here")
    assert runs_of(kept.path) == ["BFC"]
    watch = Interrupting(after=9)
    new = Experiment(three).simulate(tmp_path / "here", threads=1, force=True, watch=watch)
    assert watch.found == ["BFC"]
    assert new.path == tmp_path / "here"
    assert Results(tmp_path / "here").digest == new.digest != old
    assert [path.name for path in tmp_path.iterdir()] == ["here"]


def test_a_finished_experiment_of_several_is_not_run_again(cli: Cli, smoke: Path, three: Path, tmp_path: Path) -> None:
    assert cli("run", smoke, "--out", "both/bfc").returncode == 0
    stamp = (tmp_path / "both/bfc/manifest.json").stat().st_mtime_ns
    done = cli("run", smoke, three, "--out", "both")
    assert done.returncode == 0, done.stderr
    assert "both/bfc: finished before; not run again" in done.stdout
    assert (tmp_path / "both/bfc/manifest.json").stat().st_mtime_ns == stamp
    assert cli("run", smoke, three, "--out", "both").returncode == 2, "when all are, nothing is left to go on with"


class Late(dict[str, bytes]):
    """Two tables of a run. The directory ends after so many of them, or with None before the first step."""

    def __init__(self, after: int | None, end: Callable[[], object]) -> None:
        super().__init__({"a.parquet": b"1", "b.parquet": b"2"})
        self.after, self.end = after, end

    def items(self) -> Iterator[tuple[str, bytes]]:  # type: ignore[override]
        for number, item in enumerate([*super().items(), None]):
            if number == self.after:
                self.end()
            if item is not None:
                yield item


class LateRun(writer.Shipped):
    files: Late

    def summary(self) -> str:
        if self.files.after is None:
            self.files.end()
        return super().summary()


@pytest.mark.parametrize("after", [None, 0, 1, 2])
@pytest.mark.parametrize("how", ["named", "discarded", "begun anew"])
def test_a_run_that_was_given_up_adds_nothing_later(tmp_path: Path, how: str, after: int | None) -> None:
    place = tmp_path / "here"
    made = writer.Writer(place, {"late": {}})
    others = []

    def end() -> None:
        if how == "named":
            made.commit(interrupted=True)
        else:
            made.close()
        if how == "begun anew":
            others.append(writer.Writer(place, {"late": {}}))

    with pytest.raises(InputError, match="here: "):
        made.write_run("late", {}, LateRun("", "{}", "{}", Late(after, end), 0.0))
    for other in others:
        other.write_run("late", {}, writer.Shipped("", "{}", "{}", {}, 0.0))
        other.commit(interrupted=True)
    left = {"named": ["here"], "discarded": [], "begun anew": ["here", "late", "scenario.json", "summary.json"]}
    assert sorted(path.name for path in tmp_path.rglob("*")) == left[how]


def test_a_directory_is_removed_while_a_thread_writes_into_it(tmp_path: Path) -> None:
    for trial in range(100):
        place = tmp_path / f"{trial}"
        place.mkdir()
        begun = threading.Event()

        def write(place: Path = place, begun: threading.Event = begun) -> None:
            with contextlib.suppress(FileNotFoundError):
                for number in range(10_000):
                    (place / f"{number}").touch()
                    begun.set()

        thread = threading.Thread(target=write)
        thread.start()
        begun.wait()
        remove(place)
        thread.join()
    assert list(tmp_path.iterdir()) == []


def test_without_a_name_the_same_command_goes_on_too(endless: Path, tmp_path: Path, cli: Cli) -> None:
    for trial in range(2):
        process = faults.start(tmp_path, "run", endless, "--threads", 1)
        faults.wait_for(tmp_path / "output", "long: started", process)
        faults.stop(process, tmp_path, signal.SIGINT)
        found = "short: finished before; not simulated again" in (tmp_path / "output").read_text()
        assert found == (trial > 0)
        assert runs_of(tmp_path / "runs/endless") == ["short"]

    def made() -> list[str]:
        # A process that has no time left when it is interrupted leaves its unfinished directory for the next.
        return sorted(path.name for path in (tmp_path / "runs").iterdir() if not path.name.startswith("."))

    assert made() == ["endless"]
    assert cli("run", endless, "--set", "variant=short", "--set", "seed=2").returncode == 0, "which is another command"
    assert made() == ["endless", "endless.2"]
    assert cli("run", endless, "--set", "variant=short", "--set", "seed=2").returncode == 0, (
        "and complete, so this is a new run"
    )
    assert made() == ["endless", "endless.2", "endless.3"]


def test_an_interrupted_reproduction_is_gone_on_from(tmp_path: Path, cli: Cli) -> None:
    names = list(experiments.find("deadlock"))
    words = [
        "reproduce",
        "deadlock",
        "--scale",
        "smoke",
        "--set",
        "run.duration=10 us",
        "--seeds",
        1,
        "--threads",
        1,
        "--ledger",
        "ledger.json",
    ]
    process = faults.start(tmp_path, *words)
    faults.wait_for(tmp_path / "output", "Report: ", process)
    ended = faults.stop(process, tmp_path, signal.SIGTERM)
    assert ended.code == 128 + signal.SIGTERM
    first = json.loads((tmp_path / "ledger.json").read_text())["rows"]
    done = cli(*words)
    assert f"runs/{names[0]}: finished before; not run again" in done.stdout, done.stdout
    both = json.loads((tmp_path / "ledger.json").read_text())["rows"]
    assert both[: len(first)] == first
    assert len(both) > len(first) > 0
    assert sorted(path.name for path in (tmp_path / "runs").iterdir()) == [NAME, *names]
    assert "not run again" not in cli(*words).stdout, "all of it anew"
    assert len(list((tmp_path / "runs").iterdir())) == 1 + 2 * len(names)


def test_one_directory_is_written_by_one_process(cli: Cli, smoke: Path, tmp_path: Path) -> None:
    held = Staging(tmp_path / "here")
    refused = cli("run", smoke, "--out", "here")
    assert refused.returncode == 2
    assert f"here: process {os.getpid()} is writing it" in refused.stderr
    assert not cli("run", smoke).returncode, "without --out it takes a name that is free"
    held.discard()
    assert cli("run", smoke, "--out", "here").returncode == 0


@pytest.mark.parametrize("out", [".", "..", "a" * 300, "a" * 250, "link", "dangling", "file", "/proc/x", "mount"])
@pytest.mark.parametrize("force", [False, True])
def test_what_cannot_take_its_name_is_refused_before_the_first_simulation(
    cli: Cli, smoke: Path, tmp_path: Path, out: str, force: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    (tmp_path / "dangling").symlink_to("nowhere")
    (tmp_path / "file").write_text("")
    if out == "mount":
        out = "/dev/shm" if not any(Path("/dev/shm").iterdir()) else "/proc"
    before = sorted(tmp_path.rglob("*"))
    monkeypatch.setattr(sweep._core, "start", lambda *_: pytest.fail("it simulates"))
    done = cli("run", smoke, "--out", out, *["--force"] * force)
    assert done.returncode == 2, done.stderr
    assert out in done.stderr
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize(
    "name", ["get/put", "[red]x[/y]", "$a_{$", "$x$", "_x", "\N{PILE OF POO}", "a\\u0001b", "x" * 400]
)
def test_any_name_can_be_drawn(smoke: Path, tmp_path: Path, name: str) -> None:
    data = {"panels": [], "runs": [run_named(name.replace("\\u0001", "\x01"))]}
    (drawn,) = figures.write(data, tmp_path / "figures")
    assert drawn.parent == tmp_path / "figures"
    assert drawn.stat().st_size > 10_000


def run_named(name: str) -> dict[str, object]:
    row = {"bin": "b", "at": 1e3, "mean": 2.0, "p50": 2.0, "p95": 3.0, "p99": 4.0}
    nothing = dict.fromkeys(("buffer", "active_flows", "pool", "queueing_delay", "isolated"))
    pause = {"pause": {"pfc_pauses": 0}}
    common = {
        "name": name,
        "shown": name,
        "variant": name,
        "point": {},
        "slot": 0,
        "left_out": False,
        "queues": [],
        "summary": pause,
        **nothing,
    }
    return {**common, "slowdown": {name: [row, {**row, "at": 1e4}]}, "slowdown_all": {}}


def test_a_figure_that_fails_leaves_the_rest(
    smoke: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise ValueError("no such colour")

    monkeypatch.setattr(drawn_figures, "slowdown", broken)
    place = Experiment(smoke).simulate(tmp_path / "here").path
    monkeypatch.setattr("sys.argv", ["backwater", "report", str(place)])
    with pytest.raises(SystemExit) as leave:
        cli.main()
    assert leave.value.code == cli.BUG
    assert "slowdown-background.png: ValueError: no such colour" in capsys.readouterr().err
    assert runs_of(tmp_path / "here") == ["bfc"]
    assert [path.name for path in (tmp_path / "here/figures").iterdir()]
    assert (tmp_path / "here/report.html").is_file()


def test_a_signal_while_drawing_keeps_all_runs(smoke: Path, tmp_path: Path) -> None:
    script = tmp_path / "slow.py"
    script.write_text(
        "import sys, time\nfrom backwater.show import report\nfrom backwater.__main__ import main\n"
        "def slow(*_):\n    print('drawing', flush=True)\n    time.sleep(60)\n"
        f"report.render = slow\nsys.argv = ['backwater', 'run', {str(smoke)!r}, '--out', 'here']\nmain()\n"
    )
    with (tmp_path / "output").open("wb") as output, (tmp_path / "errors").open("wb") as errors:
        process = subprocess.Popen([*command()[:1], script], cwd=tmp_path, stdout=output, stderr=errors)
    faults.wait_for(tmp_path / "output", "drawing", process)
    ended = faults.stop(process, tmp_path, signal.SIGTERM)
    assert ended.code == 143
    assert "the runs are in here; `backwater report here` writes what is missing" in ended.errors
    assert Results(tmp_path / "here").complete
    assert runs_of(tmp_path / "here") == ["bfc"]


def test_report_judges_again(cli: Cli, smoke: Path, tmp_path: Path) -> None:
    scenario = tmp_path / "judged.toml"
    scenario.write_text(
        f'extends = "{smoke}"\n[[expect]]\nclaim = "x.1"\nmetric = "m"\nsays = "s"\nkind = "approx"\nvariant = "bfc"\n'
        'value = { summary = "packet_hops" }\nexpected = 48788\ntolerance = 0.5\nscales = [""]\n'
    )
    assert cli("run", scenario, "--out", "here").returncode == 0
    claims = tmp_path / "here" / "claims.json"
    before = claims.read_bytes()
    for damage in (claims.unlink, lambda: claims.write_bytes(b"[")):
        damage()
        assert cli("report", "here").returncode == 0
        assert claims.read_bytes() == before


def test_output_that_cannot_be_written_ends_nothing(smoke: Path, tmp_path: Path) -> None:
    words = command("run", smoke, "--out", "here")
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(words, cwd=tmp_path, stdout=full, stderr=subprocess.PIPE, text=True, timeout=60)
    assert done.returncode == 2
    assert "standard output: cannot be written: No space left on device" in done.stderr
    assert (tmp_path / "here/report.html").is_file()
    read, write = os.pipe()
    os.close(read)
    words = command("run", smoke, "--out", "there")
    done = subprocess.run(words, cwd=tmp_path, stdout=write, stderr=subprocess.PIPE, text=True, timeout=60)
    os.close(write)
    assert (done.returncode, done.stderr) == (0, "")
    assert (tmp_path / "there/report.html").is_file()


def test_odd_terminals_and_words(process: Cli, smoke: Path, tmp_path: Path) -> None:
    odd = {**os.environ, "LC_ALL": "C", "PYTHONIOENCODING": "ascii", "MPLBACKEND": "bogus", "PYTHONUTF8": "0"}
    done = process("run", smoke, "--out", "here", "--set", "name=[red]\N{PILE OF POO} $x$", env=odd)
    assert done.returncode == 0, done.stderr
    assert "[red]\\U0001f4a9 $x$" in done.stdout
    done = process("run", os.fsdecode(b"caf\xe9.toml"))
    assert done.returncode == 2
    assert "argument caf\\xe9.toml: expected UTF-8" in done.stderr


def test_commands_do_not_import_pandas(process: Cli, smoke: Path, tmp_path: Path) -> None:
    """Arrow would, at its first array, and that takes a quarter of a second."""
    (tmp_path / "pandas.py").write_text("print('pandas is here')")
    there = {**os.environ, "PYTHONPATH": str(tmp_path)}
    arrow = [sys.executable, "-c", "import pyarrow; pyarrow.array([1])"]
    assert "pandas is here" in subprocess.run(arrow, env=there, capture_output=True, text=True).stdout
    for words in (("run", smoke, "--out", "here"), ("report", "here"), ("compare", "here"), ("explain", "here")):
        done = process(*words, env=there)
        assert done.returncode == 0, done.stderr
        assert "pandas is here" not in done.stdout, words


def flip(path: Path, bit: int) -> None:
    data = bytearray(path.read_bytes())
    data[bit // 8 % len(data)] ^= 1 << bit % 8
    path.write_bytes(data)


@pytest.fixture
def copied(results: Results, tmp_path: Path) -> Path:
    return Path(shutil.copytree(results.path, tmp_path / "copied"))


def damaged_bits(cli: Cli, whole: Path, place: Path, number: int) -> Iterator[str]:
    """Flips so many bits, one at a time, in files that compare, export and report read; tells what came out wrong."""
    chance = random.Random(1)
    names = [path.relative_to(whole) for path in sorted(whole.rglob("*")) if path.suffix in (".parquet", ".json")]
    commands = {"compare": ["compare", place], "export": ["export", "fct", place, "fct.txt", "--force"]}
    right = {name: cli(*words).stdout for name, words in commands.items()}
    for i in range(number):
        name = names[i % len(names)] if i % 3 else Path("manifest.json")
        data = (whole / name).read_bytes()
        bit = chance.randrange(8 * len(data))
        flip(place / name, bit)
        for what, words in commands.items():
            done = cli(*words)
            if done.returncode == 2:
                if name.name not in done.stderr:
                    yield f"{what}: bit {bit} of {name}: does not name it: {done.stderr}"
            elif done.returncode != 0 or done.stdout != right[what] or "Traceback" in done.stderr:
                yield f"{what}: bit {bit} of {name}: exit {done.returncode}: {done.stderr}"
        verified = cli("report", place, "--out", "page") if i % 20 == 0 else None
        if verified is not None and verified.returncode not in (0, 2):
            yield f"report: bit {bit} of {name}: exit {verified.returncode}: {verified.stderr}"
        (place / name).write_bytes(data)


def test_a_flipped_bit_is_found_before_it_is_read(cli: Cli, results: Results, copied: Path) -> None:
    assert list(damaged_bits(cli, results.path, copied, 60)) == []


@pytest.mark.long
def test_eight_hundred_flipped_bits(cli: Cli, results: Results, copied: Path) -> None:
    assert list(damaged_bits(cli, results.path, copied, 800)) == []


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('{"format": 99}', "format 99: expected 1 or 2"),
        ('{"format": true}', "format True"),
        ("[]", "not a manifest of ours"),
        ("{}", "not a manifest of ours"),
        ('{"format": 1, "runs": 5}', "not a manifest of ours"),
        ('{"format": 2, "runs": []}', "not a manifest of ours: it has no 'sha256'"),
        ("[" * 100_000, "damaged"),
        ("1" * 5000, "damaged"),
        ("\xff", "damaged"),
    ],
)
def test_what_is_no_manifest_is_refused(cli: Cli, copied: Path, text: str, says: str) -> None:
    (copied / "manifest.json").write_bytes(text.encode("latin-1"))
    for words in (["compare", copied], ["report", copied], ["export", "fct", copied, "x"]):
        done = cli(*words)
        assert done.returncode == 2
        assert f"manifest.json: {says}" in done.stderr


@pytest.mark.parametrize("threads", [-1, 0, 10**20, pytest.param(10**5000, id="huge"), True, 1.5, "2"])
def test_threads_are_a_number_of_threads(smoke: Path, tmp_path: Path, threads: object) -> None:
    with pytest.raises(InputError, match=r"threads = .*: expected a whole number from 1 to 1024"):
        Experiment(smoke).run(tmp_path / "here", threads=threads)
    assert not list(tmp_path.iterdir())


def test_the_default_is_the_processors_that_may_be_used() -> None:
    one = "import os; os.sched_setaffinity(0, [min(os.sched_getaffinity(0))])\nfrom backwater.execute import sweep\n"
    words = [*command()[:1], "-c", f"{one}print(sweep.threads_of(None), sweep.threads_of(64))"]
    assert subprocess.run(words, capture_output=True, text=True, timeout=60).stdout.split() == ["1", "4"]
    assert sweep.threads_of(None) == _core.processors()


def test_errors_have_parts(smoke: Path, tmp_path: Path) -> None:
    scenario = tmp_path / "bad.toml"
    scenario.write_text(f'extends = "{smoke}"\nswitch.buffer = "12 Mb"\n')
    with pytest.raises(InputError) as caught:
        Experiment(scenario)
    error = caught.value
    assert (error.file, error.place, error.key) == (str(scenario), f"{scenario}:2", "switch.buffer")
    assert error.value == '"12 Mb"'
    assert error.problem in str(error)
    with pytest.raises(InputError) as caught:
        Experiment(smoke, sets={"switch.queues": None})
    assert (caught.value.key, caught.value.value, caught.value.file) == ("switch.queues", "None", None)


@pytest.mark.parametrize(
    ("key", "value", "resolved"),
    [
        ("switch.ecn", {"kmin": "10 KB", "kmax": "20 KB", "pmax": 0.5}, None),
        ("workload", [{"kind": "background", "sizes": {"table": "google_rpc"}, "load": 0.1}], None),
        ("description", 'a "quoted" \\ \n\x7f \N{PILE OF POO}', 'a "quoted" \\ \n\x7f \N{PILE OF POO}'),
        ("switch.queues", 16, 16),
    ],
)
def test_sets_take_any_value_that_toml_has(smoke: Path, key: str, value: object, resolved: object) -> None:
    experiment = Experiment(smoke, sets={key: value})
    if resolved is not None:
        found = next(iter(experiment.scenarios.values()))
        for part in key.split("."):
            found = found[part]
        assert found == resolved


@pytest.mark.parametrize(
    "value",
    [
        None,
        {"a": None},
        [None],
        pytest.param(10**5000, id="huge"),
        2**63,
        {1: 2},
        b"x",
        pytest.param("\ud83d", id="half"),
    ],
)
def test_sets_refuse_what_toml_has_no_word_for(smoke: Path, value: object) -> None:
    with pytest.raises(InputError, match=r"switch\.ecn.* = .*: expected"):
        Experiment(smoke, sets={"switch.ecn": value})


@pytest.mark.parametrize("size", [10_000, 100_000, 200_000])
def test_files_that_may_not_grow_leave_no_fragment_unsaid(process: Cli, three: Path, tmp_path: Path, size: int) -> None:
    done = process("run", three, "--out", "here", preexec_fn=lambda: faults.limit_files(size))
    assert done.returncode in (0, 2)
    assert "bug" not in done.stderr
    assert faults.announced_in(done.stdout) <= faults.finished_in(tmp_path / "here")
    assert not partial(tmp_path / "here").exists()


# Trials of the whole, with other moments each time they are asked for another seed.

SEED = int(os.environ.get("BACKWATER_FAULT_SEED", "1"))
SHARE = float(os.environ.get("BACKWATER_FAULT_SHARE", "1"))
"""Of the trials, for a first look."""


@pytest.mark.long
def test_three_hundred_kills(three: Path, tmp_path: Path) -> None:
    """What was said to be done is there and verifies; a complete run stays complete; the same command ends well."""
    chance, wrong = random.Random(SEED), []
    whole_s = whole_time(three, tmp_path)
    complete = Experiment(three, seed=7).simulate(tmp_path / "forced").digest
    for trial in range(int(SHARE * 300)):
        forced = trial % 3 == 0
        out = "forced" if forced else "here"
        words = ["run", three, "--out", out, "--threads", chance.choice([1, 2]), *["--force"] * forced]
        process = faults.start(tmp_path, *words)
        time.sleep(faults.any_moment(chance, whole_s))
        process.kill()
        process.wait()
        place = tmp_path / out
        there = faults.finished_in(partial(place)) | (faults.finished_in(place) if not forced else set())
        replaced = forced and Results(place).digest != complete
        if not replaced and not faults.announced(tmp_path) <= there:
            wrong.append(f"{trial}: {faults.announced(tmp_path)} were done, {there} are there")
        if forced and len(faults.finished_in(place)) != 3:
            wrong.append(f"{trial}: the complete run is not complete")
        if trial % 10 == 9:  # The same command again, to its end.
            shutil.rmtree(tmp_path / "here", ignore_errors=True)
            done = subprocess.run(command("run", three, "--out", "here"), cwd=tmp_path, capture_output=True, text=True)
            if done.returncode != 0 or len(faults.finished_in(tmp_path / "here")) != 3:
                wrong.append(f"{trial}: the same command: exit {done.returncode}: {done.stderr}")
            shutil.rmtree(tmp_path / "here", ignore_errors=True)
        elif (tmp_path / "here/manifest.json").exists():
            shutil.rmtree(tmp_path / "here")
    assert wrong == []


@pytest.mark.long
def test_two_hundred_interrupts(three: Path, tmp_path: Path) -> None:
    """Each phase by chance: exit code, an answer in half a second, 200 ms of processor time, nothing lost."""
    chance, wrong, times = random.Random(SEED), [], []
    whole_s = whole_time(three, tmp_path)
    long = tmp_path / "long.toml"
    long.write_text(ENDLESS.format(base=SMOKE / "bfc.toml"))
    commands = [["run", three, "--out", "here"], ["check", three], ["run", long, "--out", "here", "--threads", "1"]]
    for trial in range(int(SHARE * 200)):
        shutil.rmtree(tmp_path / "here", ignore_errors=True)
        number = chance.choice([signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
        words = chance.choice(commands)
        process = faults.start(tmp_path, *words)
        time.sleep(chance.uniform(0.15, whole_s))
        if process.poll() is not None:
            continue
        ended = faults.stop(process, tmp_path, number)
        if ended.code == -number and not ended.errors:
            continue  # The interpreter itself had not started yet.
        kept = faults.finished_in(tmp_path / "here") | faults.finished_in(partial(tmp_path / "here"))
        if ended.code != 128 + number and not (ended.code in (0, 1) and ended.wall_s < 0.5):
            wrong.append(f"{trial}: {words[0]}: {number.name}: exit {ended.code}: {ended.errors}")
        if ended.code == 128 + number:
            times.append(ended.cpu_s)
            if ended.answer_s is None or ended.answer_s > 0.5:
                wrong.append(f"{trial}: answered after {ended.answer_s}")
            if ended.cpu_s > faults.SLOW_FROM_S:
                wrong.append(f"{trial}: {words[0]}: {ended.cpu_s:.3f} s of processor time")
        if not faults.announced(tmp_path) <= kept:
            wrong.append(f"{trial}: {faults.announced(tmp_path)} were done, {kept} are there")
        if "Traceback" in ended.errors or "bug" in ended.errors:
            wrong.append(f"{trial}: {ended.errors}")
        shutil.rmtree(partial(tmp_path / "here"), ignore_errors=True)
    times.sort()
    if times:
        shown = {p: f"{1e3 * times[min(len(times) - 1, int(len(times) * p))]:.0f} ms" for p in (0.5, 0.9, 0.99, 1.0)}
        print(f"{len(times)} signals: processor time to exit {shown}")
    assert wrong == []


def whole_time(scenario: Path, place: Path) -> float:
    """How long a run takes here."""
    began = time.monotonic()
    subprocess.run(command("run", scenario, "--out", "timed"), cwd=place, check=True, capture_output=True)
    return time.monotonic() - began


@pytest.mark.long
@pytest.mark.skipif(os.geteuid() != 0, reason="mounts file systems")
def test_fifty_disks_that_fill(three: Path, tmp_path: Path) -> None:
    """Whatever was done is there; what was complete before is complete."""
    wrong = []
    disk = tmp_path / "disk"
    disk.mkdir()
    for size_kb in range(40, 40 + 50 * 16, 16):
        if subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size_kb}k", "none", disk], check=False).returncode:
            pytest.skip("mounting is not permitted")
        try:
            done = subprocess.run(
                command("run", three, "--out", disk / "here", "--threads", 1),
                cwd=tmp_path,
                capture_output=True,
                text=True,
            )
            kept = faults.finished_in(disk / "here")
            if done.returncode not in (0, 2) or "bug" in done.stderr:
                wrong.append(f"{size_kb} KB: exit {done.returncode}: {done.stderr}")
            if not faults.announced_in(done.stdout) <= kept:
                wrong.append(f"{size_kb} KB: {faults.announced_in(done.stdout)} were done, {kept} are there")
            if done.returncode == 0 and not (disk / "here/report.html").exists():
                wrong.append(f"{size_kb} KB: exit 0 without a page")
        finally:
            subprocess.run(["umount", disk], check=True)
    assert wrong == []


@pytest.mark.long
@pytest.mark.parametrize("how", ["interrupted", "done"])
def test_a_disk_that_turns_read_only(endless: Path, three: Path, tmp_path: Path, how: str) -> None:
    """Nothing there can be changed from then on, the directory's name included."""
    disk = tmp_path / "disk"
    disk.mkdir()
    words = ["run", endless if how == "interrupted" else three, "--out", disk / "here", "--threads", 1]
    process = faults.start(tmp_path, *words)
    faults.wait_for(tmp_path / "output", "long: started" if how == "interrupted" else "BFC: done", process)
    frozen = [disk, partial(disk / "here")]
    if subprocess.run(["chattr", "+i", *frozen], check=False, capture_output=True).returncode:
        process.kill()
        pytest.skip("no such attribute here")
    try:
        if how == "interrupted":
            code, errors = (ended := faults.stop(process, tmp_path, signal.SIGTERM)).code, ended.errors
        else:
            code, errors = process.wait(60), (tmp_path / "errors").read_text()
        assert code == 2, errors
        assert "Traceback" not in errors
        assert "bug" not in errors
        assert f"what was finished is in {partial(disk / 'here')}" in errors
    finally:
        subprocess.run(["chattr", "-i", *frozen], check=True)
    assert faults.announced(tmp_path) <= faults.finished_in(partial(disk / "here"))
    assert faults.announced(tmp_path)


def test_a_manifest_says_what_it_was_made_by(results: Results) -> None:
    manifest = json.loads((results.path / "manifest.json").read_text())
    assert manifest["format"] == 2
    assert manifest["build"] == writer.build()
    assert manifest["interrupted"] is False
