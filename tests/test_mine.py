"""Schemes of your own in Rust: from a template to a run, and DCTCP written again equal to the built-in one."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from backwater import InputError
from backwater.common import module
from backwater.mine import building, starting
from backwater.mine.kinds import KINDS
from conftest import ROOT, alone

needs_cargo = pytest.mark.skipif(shutil.which("cargo") is None, reason="no cargo")
AGAIN = ROOT / "tests" / "data" / "dctcp_again"
NEW = [f"new_{kind}" for kind in KINDS]
Outside = Callable[..., subprocess.CompletedProcess[str]]

COMPARED = """
[topology]
kind = "leaf-spine"
leaves = 4
spines = 2
hosts_per_leaf = 4
host_rate = "100 Gbps"
core_rate = "100 Gbps"
host_delay = "1 us"
core_delay = "1 us"
[[workload]]
kind = "background"
sizes = { table = "fb_hadoop" }
load = 0.7
[[workload]]
kind = "incast"
degree = 8
aggregate = "800 KB"
period = "50 us"
[run]
duration = "200 us"
drain = 100.0
[seeds]
count = 2
[[variant]]
name = "outside"
scheme = "mine/dctcp_again"
[[variant]]
name = "built in"
scheme = "dctcp"
"""


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("schemes")


@pytest.fixture(scope="module")
def outside(place: Path) -> Outside:
    """Runs a command as somebody with schemes of their own does."""

    def run(*words: str, code: int = 0, package: str = "-mbackwater") -> subprocess.CompletedProcess[str]:
        environment = {**os.environ, module.VARIABLE: str(place / "built")}
        command = [sys.executable, package, *words]
        done = subprocess.run(command, cwd=place, env=environment, capture_output=True, text=True)
        assert done.returncode == code, done.stdout + done.stderr
        return done

    return run


@pytest.fixture(scope="module")
def built(place: Path, outside: Outside, shared: Path) -> Outside:
    """As `outside`, where a scheme of each kind was built as the guide says, and one more.

    They are compiled once for all processes, and each has its own module.
    """
    common = shared / "mine"
    common.mkdir(exist_ok=True)
    with alone(common):
        if (common / "schemes").exists():
            shutil.copytree(common / "schemes", place, dirs_exist_ok=True)
        else:
            for kind in KINDS:
                outside("new-scheme", f"new_{kind}", "--kind", kind)
            outside("build-scheme", *NEW, str(AGAIN))
            shutil.copytree(place, common / "schemes")
    (place / "compared.toml").write_text(COMPARED)
    (place / "alone.toml").write_text(COMPARED.partition("[[variant]]")[0])
    return outside


@needs_cargo
def test_a_scheme_of_ones_own_has_a_name_like_any_other(built: Outside, place: Path) -> None:
    listed = [one["name"] for one in json.loads(built("list", "schemes", "--json").stdout)]
    assert listed[-5:] == [*(f"mine/{name}" for name in NEW), "mine/dctcp_again"]
    short = ["--set", 'run.duration="20 us"', "--set", "seeds.count=1"]
    built("run", "new_rate/compare.toml", *short, "--out", "first")
    runs = json.loads((place / "first" / "manifest.json").read_text())["runs"]
    assert [run["label"] for run in runs] == ["new_rate", "BFC", "DCTCP"]
    resolved = json.loads((place / "first" / "new_rate" / "scenario.json").read_text())
    assert resolved["host"]["mine"] == {"new_rate": {"cut": 0.5, "increase": "1 Gbps", "min_rate": "100 Mbps"}}
    assert "mine" not in json.loads((place / "first" / "BFC" / "scenario.json").read_text())["host"]


@needs_cargo
@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_of_scheme_carries_all_its_flows(built: Outside, place: Path, kind: str) -> None:
    out = f"ran_{kind}"
    built("run", "alone.toml", "--set", f"scheme=mine/new_{kind}", "--out", out)
    for seed in (1, 2):
        label = f"mine-new_{kind}.seed={seed}"
        flows = json.loads((place / out / label / "summary.json").read_text())["flows"]
        assert flows["unfinished"] == 0
        assert flows["finished"] > 100


@needs_cargo
def test_dctcp_written_again_outside_has_the_results_of_the_built_in_one(built: Outside, place: Path) -> None:
    built("run", "compared.toml", "--out", "compared")
    runs = json.loads((place / "compared" / "manifest.json").read_text())["runs"]
    digests = {run["label"]: run["digest"] for run in runs}
    assert len(digests) == 4
    assert digests["outside.seed=1"] == digests["builtin.seed=1"] != digests["outside.seed=2"]
    assert digests["outside.seed=2"] == digests["builtin.seed=2"]


@needs_cargo
def test_the_engine_of_its_scheme_is_compiled_and_any_switch_works(built: Outside) -> None:
    code = (
        "import json, backwater; from backwater import _core\n"
        "one = backwater.Experiment('compared.toml', sets={'variant': 'outside'})\n"
        "print(_core.engine(json.dumps(next(iter(one.scenarios.values())))))"
    )
    first = built(code, package="-c").stdout.splitlines()[0]
    assert "dctcp_again::DctcpAgain" in first
    assert "dyn " not in first, "no dynamic dispatch"
    built("run", "compared.toml", "--set", "variant=outside", "--set", "switch.backpressure=none", "--out", "any")


@needs_cargo
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("host.mine.dctcp_again.g=2", "host.mine.dctcp_again.g=2: expected more than 0 and at most 1"),
        ("host.mine.dctcp_again.gg=1", "unknown key; "),
        ("host.mine.nothing.g=1", "allowed in host.mine: dctcp_again, new_rate, new_transport"),
        ("scheme=mine/nothing", "`backwater build-scheme` has built: mine/new_rate, "),
    ],
)
def test_wrong_values_are_refused_as_anywhere_else(built: Outside, change: str, message: str) -> None:
    sets = ["--set", "scheme=mine/dctcp_again", "--set", change]
    assert message in built("run", "alone.toml", *sets, "--out", "never", code=2).stderr


@needs_cargo
def test_a_run_without_it_is_the_same_to_the_store(built: Outside, place: Path) -> None:
    built("run", "compared.toml", "--store", "store", "--out", "stored", "-q")
    keys = (
        "import json, pathlib; from backwater.execute.store import key_of\n"
        "for name in ('outside.seed=1', 'builtin.seed=1'):\n"
        "    print(key_of(json.loads(pathlib.Path('stored', name, 'scenario.json').read_text())))"
    )
    with_own = built(keys, package="-c").stdout.split()
    own = place / "built" / module.FILE
    own.rename(place / "aside")
    try:
        without = built(keys, package="-c").stdout.split()
    finally:
        (place / "aside").rename(own)
    assert with_own[1] == without[1]
    assert with_own[0] != without[0]


@needs_cargo
def test_schemes_for_another_build_are_not_loaded(built: Outside, place: Path) -> None:
    facts = place / "built" / module.BUILT
    right = facts.read_text()
    wrong = json.loads(right)
    wrong["for"]["size"] += 1
    try:
        facts.write_text(json.dumps(wrong))
        message = built("run", "compared.toml", "--out", "never", code=2).stderr
    finally:
        facts.write_text(right)
    assert "expected one that `backwater build-scheme` has built: none is built for this version" in message


@needs_cargo
@pytest.mark.parametrize("damage", [lambda right: right[:1000], lambda right: bytes(len(right))])
def test_a_damaged_module_leaves_that_of_the_package(
    built: Outside, place: Path, damage: Callable[[bytes], bytes]
) -> None:
    own = place / "built" / module.FILE
    right = own.read_bytes()
    try:
        own.write_bytes(damage(right))
        listed = json.loads(built("list", "schemes", "--json").stdout)
    finally:
        own.write_bytes(right)
    assert "bfc" in [one["name"] for one in listed]
    assert not [one["name"] for one in listed if one["name"].startswith("mine/")]


@pytest.mark.long
@needs_cargo
def test_a_name_that_is_taken_is_refused_and_changes_nothing(built: Outside, place: Path) -> None:
    built("new-scheme", "twin", "--kind", "assignment")
    file = place / "twin" / "src" / "lib.rs"
    file.write_text(file.read_text().replace("mine/twin", "mine/new_assignment"))
    before = (place / "built" / module.FILE).stat()
    said = built("build-scheme", "twin", "new_assignment", "--only", code=2).stderr
    assert '"mine/new_assignment" is the name of two schemes or of two parts; rename one' in said
    assert (place / "built" / module.FILE).stat() == before
    shutil.rmtree(place / "twin")


@pytest.mark.long
@needs_cargo
def test_a_control_whose_packets_carry_metadata_is_compiled_with_its_switches(outside: Outside, place: Path) -> None:
    """AIMD with HPCC's telemetry on its packets, which it does not read, is AIMD."""
    for name in ("plain", "carrying"):
        outside("new-scheme", name)
    file = place / "carrying" / "src" / "lib.rs"
    text = file.read_text().replace(".control::<", ".carrying_control::<")
    text = text.replace("type Extension = ();", "type Extension = Int;").replace("ack: Ack)", "ack: Ack<Int>)")
    text = text.replace("Control, Site}", "Control, Int, Site}").replace("extension: (),", "extension: Int::default(),")
    file.write_text(text)
    outside("build-scheme", "plain", "carrying", "--only")
    (place / "alone.toml").write_text(COMPARED.partition("[[variant]]")[0])
    outside("sweep", "alone.toml", "--vary", "scheme=mine/plain,mine/carrying", "--out", "carried")
    runs = json.loads((place / "carried" / "manifest.json").read_text())["runs"]
    digests = {run["label"]: run["digest"] for run in runs}
    assert digests["mine-plain.seed=1"] == digests["mine-carrying.seed=1"]


@needs_cargo
def test_a_scheme_that_does_not_compile_changes_nothing(built: Outside, place: Path) -> None:
    built("new-scheme", "broken", "--kind", "assignment")
    file = place / "broken" / "src" / "lib.rs"
    file.write_text(file.read_text() + '\nfn wrong() -> u32 { "text" }\n')
    before = (place / "built" / module.FILE).stat()
    said = built("build-scheme", "broken", code=1).stderr
    assert "broken/src/lib.rs" in said, "the compiler names the file"
    assert "mismatched types" in said
    assert (place / "built" / module.FILE).stat() == before


@pytest.mark.parametrize("kind", KINDS)
def test_a_template_takes_the_name_of_its_directory(tmp_path: Path, kind: str) -> None:
    started = starting.start(tmp_path / "two_words", kind)
    text = "".join(path.read_text() for path in started.path.rglob("*") if path.is_file())
    assert f"my_{kind}" not in text
    assert f"My{kind.capitalize()}" not in text
    assert "pub struct TwoWords" in started.file.read_text()
    assert 'scheme = "mine/two_words"' in started.comparison.read_text()
    assert building.checked(started.path) == started.path.resolve()


def test_a_crate_that_is_none_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match='"Two-Words" cannot be the name of a scheme'):
        starting.start(tmp_path / "Two-Words", "rate")
    with pytest.raises(InputError, match="--kind rates: expected rate, backpressure, assignment, transport"):
        starting.start(tmp_path / "one", "rates")
    with pytest.raises(InputError, match=r"has no src/lib\.rs"):
        building.checked(tmp_path / "nothing")
    crate = starting.start(tmp_path / "one", "rate").path
    with pytest.raises(InputError, match="exists; name another directory"):
        starting.start(crate, "rate")
    preset = crate / starting.PRESET
    preset.write_text('[preset]\ntitle = "One"\n')
    with pytest.raises(InputError, match=r"preset\.summary: missing"):
        building.checked(crate)
    preset.write_text("[preset\n")
    with pytest.raises(InputError, match=r"preset\.toml: Expected"):
        building.checked(crate)


def test_a_scheme_that_was_moved_is_not_dropped_in_silence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that was built before is built again. If it is elsewhere now, its new place has to be named."""
    monkeypatch.setenv(module.VARIABLE, str(tmp_path / "built"))
    monkeypatch.setattr(building, "engine_at", lambda asked: tmp_path)
    asked: list[list[str]] = []

    def compiled(root: Path, crates: list[Path], *words: str) -> None:
        asked.append([path.name for path in crates])
        raise building.CompilerError

    monkeypatch.setattr(building, "cargo", compiled)
    before, other = (starting.start(tmp_path / name, "rate").path for name in ("before", "other"))
    (tmp_path / "built").mkdir()
    (tmp_path / "built" / module.BUILT).write_text(json.dumps({"schemes": [str(before)]}))
    moved = tmp_path / "elsewhere" / "before"
    moved.parent.mkdir()
    before.rename(moved)
    with pytest.raises(InputError, match=r"/before: is gone, and mine/before was built from it: .* --only"):
        building.build([other])
    assert not asked
    for crates, only in (([moved, other], False), ([other], True)):
        with pytest.raises(building.CompilerError):
            building.build(crates, only=only)
    assert asked == [["before", "other"], ["other"]]
    (moved / "src" / "lib.rs").unlink()
    moved.rename(before)
    with pytest.raises(InputError, match=r"/before: has no src/lib.rs; .* mine/before was built from it: .* --only"):
        building.build([other])


def test_an_engine_that_is_none_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"--engine .*: expected a checkout of Backwater"):
        building.engine_at(tmp_path)
