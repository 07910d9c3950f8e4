"""Bad inputs of every kind end with exit code 2 and one message: the place, the value, what was expected."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

import faults
from backwater import Experiment
from conftest import Cli


@pytest.fixture(scope="module")
def made(smoke: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with a run, and with files that are not what they should be."""
    place = tmp_path_factory.mktemp("made")
    Experiment(smoke).simulate(place / "run")
    (place / "scenario.toml").write_text(smoke.read_text())
    (place / "binary.toml").write_bytes(b"\xff\xfe\x00bad")
    (place / "empty.toml").write_text("")
    (place / "half.toml").write_text("a = ")
    (place / "twice.toml").write_text('scheme = "bfc"\nscheme = "pfc"\n')
    (place / "directory.toml").mkdir()
    (place / "dangling.toml").symlink_to("nowhere.toml")
    (place / "page.json").write_text("{}")
    os.mkfifo(place / "fifo.toml")
    return place


@pytest.mark.parametrize(
    ("words", "says"),
    [
        # Files that are no scenarios.
        ("check binary.toml", "binary.toml:1: is not UTF-8 text"),
        ("check empty.toml", "empty.toml:1: scheme: missing: expected a text"),
        ("check half.toml", "half.toml:1: not TOML: "),
        ("check twice.toml", "twice.toml:2: not TOML: duplicate key"),
        ("check directory.toml", "directory.toml: is a directory: expected a file"),
        ("check dangling.toml", "dangling.toml: cannot be read: there is no such file"),
        ("check fifo.toml", "fifo.toml: is not a plain file"),
        ("check /dev/null", "/dev/null: is not a plain file"),
        # Values.
        ("check scenario.toml --set seed=-1", "--set seed=-1: expected a whole number from 0 to "),
        ("check scenario.toml --set seed=\u0661\u0662", "expected a whole number from 0 to "),
        ("check scenario.toml --set load=nan", "expected a number, and a finite one"),
        ("check scenario.toml --set load=101%", "expected more than 0 and at most 1"),
        ("check scenario.toml --set run.duration=inf", "expected a time with a unit"),
        ("check scenario.toml --set =3", "--set =3: expected KEY=VALUE"),
        ("check scenario.toml --set switch.queues=99999999999999999999", "expected a whole number from 0 to "),
        ("check scenario.toml --seeds \uff13", "expected a whole number from 1 to 1000"),
        ("check scenario.toml --threads 1.5", "expected a whole number from 1 to 1024"),
        ("sweep scenario.toml --vary load=", "--vary load=: expected KEY=VALUES"),
        ("sweep scenario.toml --vary load=0:1:1e-9", "1000000001 values; expected at most 10000"),
        ("explain run --above 1GB --below 1KB", "no counted flow of any class and above 1000000000 B and up to 1000 B"),
        ("explain run --flow 99999999", "flow 99999999: no such flow; there is 0 to "),
        ("plan bcc --rtt 80", "--rtt 80: expected a number and one of ps, ns, us, ms, s"),
        ("plan bfc --ports 0", "--ports 0: expected 1 to 1024"),
        # Directories and files that are not what they should be.
        ("compare scenario.toml", "scenario.toml: no such run directory"),
        ("compare .", ".: not a run directory: it has no manifest.json"),
        ("open page.json", "page.json: is not a report: expected a run directory, or its report.html"),
        ("new lab --workload binary.toml", "--workload binary.toml: is not UTF-8 text: expected a CSV file"),
        ("reproduce smoke-bfc --ledger half.toml", "half.toml: cannot be read as a ledger: "),
        ("reproduce smoke-bfc --ledger page.json", "page.json: not a ledger: expected a file that --ledger wrote"),
        ("import hpcc --topology half.toml --flows half.toml --transport hpcc -o x.toml", "half.toml:1: "),
        # Places where nothing can be written.
        ("new page.json", "page.json: cannot be written: a file is in the way: expected a directory"),
        ("run scenario.toml --out page.json", "page.json: exists and is not a directory"),
        ("run scenario.toml --out /proc/x/y", "/proc/x/y: cannot be written: "),
        (f"run scenario.toml --out {'a' * 300}", "cannot be written: File name too long"),
        ("run scenario.toml --store page.json", "page.json is a file: expected a directory for the store"),
        ("run scenario.toml --store page.json/x", "page.json is a file: expected a directory for the store"),
        ("run scenario.toml --store /proc/x", "/proc/x: cannot be written: "),
        ("run scenario.toml --fct absent/f.txt", "absent/f.txt: no such directory: absent"),
        ("run scenario.toml --events absent/e.json", "--events absent/e.json: no such directory: absent"),
        ("report run --out page.json", "page.json: cannot be written: a file is in the way: expected a directory"),
        ("report run run", "2 run directories: expected --out DIR with them, for the report of all"),
        ("compare-fct run run --out absent/x.svg", "--out absent/x.svg: no such directory: absent"),
        ("compare-fct run run --out x.gif", "--out x.gif: expected a name that ends in .svg, .png, .pdf"),
        ("deadlock scenario.toml --out absent/x.toml", "--out absent/x.toml: no such directory: absent"),
        ("export fct run absent/f.txt", "absent/f.txt: no such directory: absent"),
        ("export perfetto run absent/f.json", "absent/f.json: no such directory: absent"),
        ("export perfetto run f.json", "has no job: expected a run with a workload of kind 'job' or 'collective'"),
    ],
)
def test_it_is_refused_with_place_value_and_what_was_expected(
    cli: Cli, made: Path, tmp_path: Path, words: str, says: str
) -> None:
    shutil.copytree(made, tmp_path, symlinks=True, dirs_exist_ok=True, ignore=shutil.ignore_patterns("fifo.toml"))
    os.mkfifo(tmp_path / "fifo.toml")
    before = sorted(path.name for path in tmp_path.iterdir())
    done = cli(*words.split())
    assert done.returncode == 2, done.stdout
    assert says in done.stderr
    assert "bug" not in done.stderr
    assert "Error(" not in done.stderr, "names a Python exception"
    assert sorted(path.name for path in tmp_path.iterdir()) == before, "and nothing is left behind"


@pytest.mark.parametrize(
    "words",
    [
        "explain run --flow 1 --out x.parquet",
        "explain run --flow 1 --out x.arrow",
        "export fct run x.txt",
        "compare-fct run run --out x.svg",
        "plan bcc --rtt 80us --config sonic --out x.json",
        "new x",
        "report run --out x",
    ],
)
def test_a_disk_without_space_is_named_with_the_file(process: Cli, made: Path, tmp_path: Path, words: str) -> None:
    shutil.copytree(made / "run", tmp_path / "run")
    done = process(*words.split(), preexec_fn=lambda: faults.limit_files(100))
    assert done.returncode == 2, done.stderr
    assert "x" in done.stderr
    assert done.stderr.rstrip().endswith("cannot be written: the disk is full"), done.stderr
    left = [path for path in tmp_path.rglob("*") if path.is_file() and path.relative_to(tmp_path).parts[0] != "run"]
    assert left == []
