"""Every reader of a run directory refuses a file that is not the one that was written, and names it."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from backwater import Experiment, InputError, Results
from backwater.runs import kept
from conftest import Cli

EXPECTS = """
extends = "{base}"
name = "judged"
description = "Claims that read every kind of file."

[[variant]]
name = "BFC"
scheme = "bfc"

[[variant]]
name = "DCTCP"
scheme = "dctcp"

[measure]
active_flows = true

[[expect]]
claim = "own-damage.1"
metric = "slowdown"
says = "Some flows are slowed down."
kind = "between"
variant = "DCTCP"
value = {{ slowdown = "p50", class = "background" }}
low = 1

[[expect]]
claim = "own-damage.2"
metric = "data on the links"
says = "There is some."
kind = "between"
variant = "BFC"
value = {{ ports = "data_bytes" }}
low = 1
"""


@pytest.fixture(scope="module")
def judged(smoke: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two runs with claims, which one seed leaves undecided, and of which the tail of one was explained and kept."""
    place = tmp_path_factory.mktemp("judged")
    (place / "judged.toml").write_text(EXPECTS.format(base=smoke))
    done = Experiment(place / "judged.toml", seed=7).simulate(place / "whole")
    kept.keep(done.path, [done.run("BFC").explain(1, 2)])
    return done.path


@pytest.fixture(scope="module")
def other(judged: Path, smoke: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same with another seed: files that are as valid."""
    place = tmp_path_factory.mktemp("other")
    done = Experiment(judged.parent / "judged.toml", seed=8).simulate(place / "other")
    kept.keep(done.path, [done.run("BFC").explain(2, 3)])
    return done.path


def flipped(data: bytes, other: bytes) -> bytes:
    """One bit in the middle is another."""
    middle = len(data) // 2
    return data[:middle] + bytes([data[middle] ^ 1]) + data[middle + 1 :]


def truncated(data: bytes, other: bytes) -> bytes:
    return data[: len(data) // 2]


def replaced(data: bytes, other: bytes) -> bytes:
    """The file of the other experiment, which can be parsed."""
    return other


DAMAGES: list[Callable[[bytes, bytes], bytes]] = [flipped, truncated, replaced]
ALL = ("manifest.json", "scenario.json", "summary.json", ".parquet", "explained.")
SUMMARIES = ("manifest.json", "summary.json")

READERS: dict[str, tuple[tuple[str, ...], Callable[[Path, Cli], object]]] = {
    "Results": (("manifest.json",), lambda place, _: Results(place).digest),
    "summary": (SUMMARIES, lambda place, _: Results(place).summary()),
    "scenario": (("manifest.json", "scenario.json"), lambda place, _: [run.scenario for run in Results(place).runs]),
    "claims": (ALL, lambda place, _: Results(place).claims),
    "verify": (ALL, lambda place, _: Results(place).verify()),
    "sql": (
        ("manifest.json", "scenario.json", "flows.parquet"),
        lambda place, _: Results(place).sql("select count(*), sum(slowdown) from flows").to_pylist(),
    ),
    "report": (ALL, lambda place, _: Results(place).report().read_text()),
    "explained": (
        ("manifest.json", "flows.parquet", "explained.", "waits.", "rates."),
        lambda place, _: kept.of(Results(place).run("BFC")).flows,
    ),
    "explain": (
        ("manifest.json", "scenario.json", "flows.parquet"),
        lambda place, _: [run.explain(1).waits for run in Results(place).runs],
    ),
    "backwater compare": (SUMMARIES, lambda place, cli: printed(cli("compare", place))),
    "backwater report": (ALL, lambda place, cli: printed(cli("report", place, "--out", place.with_name("page")))),
    "backwater explain": (
        ("manifest.json", "scenario.json", "flows.parquet"),
        lambda place, cli: printed(cli("explain", place, "--run", "BFC", "--run", "DCTCP", "--flow", 1)),
    ),
    "backwater explain --page": (
        ALL,
        lambda place, cli: printed(cli("explain", place, "--run", "BFC", "--flow", 1, "--page")),
    ),
    "backwater export fct": (
        ("manifest.json", "scenario.json", "flows.parquet"),
        lambda place, cli: printed(cli("export", "fct", place, place.with_name("fct.txt"), "--force")),
    ),
    "backwater compare-fct": (
        ("manifest.json", "flows.parquet"),
        lambda place, cli: printed(cli("compare-fct", place / "BFC", place / "DCTCP")),
    ),
}


def printed(done: object) -> str:
    """What a command says; its refusal as the error of the Python readers."""
    assert done.returncode in (0, 2), done.stderr
    assert "Traceback" not in done.stderr
    if done.returncode == 2:
        raise InputError(done.stderr)
    return done.stdout


FILES = (
    *("manifest.json", "scenario.json", "summary.json", "flows.parquet", "ports.parquet", "active_flows.parquet"),
    *("explained.*.json", "waits.*.parquet", "rates.*.parquet"),
)


def reads(files: tuple[str, ...], name: str) -> bool:
    """Whether one of these is the file, or what it begins or ends with."""
    return any(
        name == file or (file[-1] == "." and name.startswith(file)) or (file[0] == "." and name.endswith(file))
        for file in files
    )


def refusal(read: Callable[[Path, Cli], object], place: Path, cli: Cli) -> str:
    """What a reader refuses; nothing if it reads."""
    try:
        read(place, cli)
    except InputError as error:
        return str(error)
    return ""


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("pattern", FILES)
def test_every_reader_refuses_a_damaged_file_and_names_it(
    judged: Path, other: Path, cli: Cli, tmp_path: Path, pattern: str, damage: Callable[[bytes, bytes], bytes]
) -> None:
    place = Path(shutil.copytree(judged, tmp_path / "copied"))
    directory = "." if pattern == "manifest.json" else "BFC"
    (file,), (like,) = (list((at / directory).glob(pattern)) for at in (place, other))
    whole = file.read_bytes()
    file.write_bytes(damage(whole, like.read_bytes()))
    assert file.read_bytes() != whole
    readers = {name: read for name, (files, read) in READERS.items() if reads(files, file.name)}
    if file.suffix == ".parquet":
        table = file.name.partition(".")[0]
        readers["table of the run"] = lambda place, _: Results(place).run("BFC").table(table)
        readers["rows of a table"] = lambda place, _: Results(place).table(table, where="true")
        readers["batches"] = lambda place, _: list(Results(place).scan(table))
        readers["query"] = lambda place, _: Results(place).sql(f'select * from "{table}"')
        readers["data frame"] = lambda place, _: Results(place).to_pandas(table)
        if table not in ("waits", "rates"):  # The second run has none.
            readers["table"] = lambda place, _: Results(place).table(table)
    if file.name == "manifest.json" and damage is replaced:
        del readers["Results"]  # It is whole, of other runs: their files are not those that stand there.
    assert len(readers) >= 6
    named = f"{place}/" if damage is replaced and file.name == "manifest.json" else f"{file}: "
    refused = {name: refusal(read, place, cli) for name, read in readers.items()}
    assert [name for name, says in refused.items() if named not in says] == [], refused


@pytest.mark.parametrize("damage", [flipped, truncated])
def test_reports_refuse_a_damaged_timing(
    judged: Path, cli: Cli, tmp_path: Path, damage: Callable[[bytes, bytes], bytes]
) -> None:
    place = Path(shutil.copytree(judged, tmp_path / "copied"))
    file = place / "timing.json"
    file.write_bytes(damage(file.read_bytes(), b""))
    with pytest.raises(InputError, match=r"timing\.json: "):
        Results(place).report()
    done = cli("report", place)
    assert done.returncode == 2
    assert f"{file}: " in done.stderr


def test_a_whole_directory_is_read_by_all(judged: Path, cli: Cli, tmp_path: Path) -> None:
    place = Path(shutil.copytree(judged, tmp_path / "copied"))
    for _, read in READERS.values():
        read(place, cli)
    assert [row["verdict"] for row in Results(place).claims] == ["undecided", "undecided"]


def test_slowdowns_that_were_multiplied_in_place_are_not_judged(judged: Path, cli: Cli, tmp_path: Path) -> None:
    place = Path(shutil.copytree(judged, tmp_path / "copied"))
    file = place / "DCTCP" / "flows.parquet"
    table = pq.read_table(file)
    column = table.column_names.index("slowdown")
    pq.write_table(table.set_column(column, "slowdown", pc.multiply(table["slowdown"], 100.0)), file)
    for read in (lambda: Results(place).claims, lambda: Results(place).report()):
        with pytest.raises(InputError, match=r"flows\.parquet: damaged: its hash is not the one in manifest\.json"):
            read()


def test_a_file_that_is_replaced_after_it_was_checked_is_checked_again(
    judged: Path, other: Path, tmp_path: Path
) -> None:
    place = Path(shutil.copytree(judged, tmp_path / "copied"))
    run = Results(place).run("BFC")
    assert run.table("flows").num_rows > 0
    shutil.copy(other / "BFC" / "flows.parquet", place / "BFC" / "flows.parquet")
    with pytest.raises(InputError, match="damaged"):
        run.table("flows")


def test_claims_that_were_written_are_not_believed(judged: Path, tmp_path: Path) -> None:
    """`claims.json` follows from the rest: it is judged anew where a verdict decides."""
    place = Path(shutil.copytree(judged, tmp_path / "copied"))
    (place / "claims.json").write_text(json.dumps([{"claim": "own-damage.1", "verdict": "fail"}]))
    assert [row["verdict"] for row in Results(place).claims] == ["undecided", "undecided"]
