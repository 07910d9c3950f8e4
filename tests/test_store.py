"""What was run under another name is not run again, and what a store holds is what was written."""

from __future__ import annotations

import errno
import multiprocessing
import os
import random
import shutil
import signal
import time
from pathlib import Path

import pytest

import faults
from backwater import Experiment, InputError, Results
from backwater.execute import store as stores
from backwater.execute import sweep
from backwater.execute.store import RUN, STALE_S, Store, key_of
from backwater.scenario.vary import as_set
from conftest import Cli

SAME = """
extends = "{base}"
name = "same"
description = "As the other, by another name."
{more}
"""


class Ear(sweep.Watch):
    def __init__(self) -> None:
        self.found: list[str] = []
        self.started: list[str] = []

    def on_found(self, job: sweep.Job) -> None:
        self.found.append(job.label)

    def on_start(self, job: sweep.Job) -> None:
        self.started.append(job.label)


@pytest.fixture
def same(three: Path, tmp_path: Path) -> Path:
    path = tmp_path / "same.toml"
    path.write_text(SAME.format(base=three, more=""))
    return path


def hashes(results: Results) -> list[dict[str, str]]:
    return [run.entry.files for run in results.runs]


def entries(store: Path) -> list[Path]:
    return sorted(path for path in store.glob("*") if not path.name.startswith("."))


def test_what_was_run_under_another_name_is_not_run_again(three: Path, same: Path, tmp_path: Path) -> None:
    store = tmp_path / "store"
    one = Experiment(three).simulate(tmp_path / "one", store=store)
    ear = Ear()
    two = Experiment(same).simulate(tmp_path / "two", store=store, watch=ear)
    assert (ear.started, ear.found) == ([], ["BFC", "DCTCP", "Ideal-FQ"])
    two.verify()
    assert (two.complete, two.digest) == (True, one.digest)
    for first, second in zip(one.runs, two.runs, strict=True):
        assert second.scenario["name"] == "same"
        assert first.scenario["name"] == "three"
        names = first.entry.files.keys()
        assert names == second.entry.files.keys()
        differ = {name for name in names if first.entry.files[name] != second.entry.files[name]}
        assert differ == {"scenario.json"}
    alone = Experiment(same).simulate(tmp_path / "alone")
    assert hashes(alone) == hashes(two), "byte for byte what it is without a store"


@pytest.mark.parametrize(
    "sets", [{"seed": 2}, {"switch.buffer": "9 MB"}, {"run.duration": "101 us"}, {"scheme": "hpcc"}]
)
def test_another_run_is_another_entry(smoke: Path, tmp_path: Path, sets: dict[str, object]) -> None:
    store, ear = tmp_path / "store", Ear()
    Experiment(smoke).simulate(tmp_path / "one", store=store)
    Experiment(smoke, sets=sets).simulate(tmp_path / "two", store=store, watch=ear)
    assert len(ear.started) == 1
    assert len(entries(store)) == 2


def test_a_flipped_bit_is_found_and_the_run_is_made_again(smoke: Path, tmp_path: Path) -> None:
    whole = Experiment(smoke).simulate(tmp_path / "whole")
    store = tmp_path / "store"
    Experiment(smoke).simulate(tmp_path / "first", store=store)
    (entry,) = entries(store)
    files = sorted(path.name for path in entry.iterdir())
    assert RUN in files
    for number, name in enumerate(files):
        if name == "scenario.json":
            continue  # Each run directory has one of its own.
        data = (entry / name).read_bytes()
        (entry / name).unlink()  # Not the file that another run directory has.
        at = number * 7919 % len(data)
        (entry / name).write_bytes(data[:at] + bytes([data[at] ^ 1 << number % 8]) + data[at + 1 :])
        ear = Ear()
        again = Experiment(smoke).simulate(tmp_path / f"again{number}", store=store, watch=ear)
        assert len(ear.started) == 1, name
        assert hashes(again) == hashes(whole)
        ear = Ear()
        Experiment(smoke).simulate(tmp_path / f"after{number}", store=store, watch=ear)
        assert ear.found, "the entry is whole again"


@pytest.mark.parametrize("lost", ["flows.parquet", RUN])
def test_an_entry_that_lacks_a_file_is_made_again(smoke: Path, tmp_path: Path, lost: str) -> None:
    store = tmp_path / "store"
    Experiment(smoke).simulate(tmp_path / "first", store=store)
    (entry,) = entries(store)
    (entry / lost).unlink()
    ear = Ear()
    Experiment(smoke).simulate(tmp_path / "again", store=store, watch=ear)
    assert ear.started
    assert (entry / lost).exists()


def test_a_store_that_is_a_file_is_refused_before_a_run(smoke: Path, tmp_path: Path) -> None:
    (tmp_path / "store").write_text("a file")
    with pytest.raises(InputError, match="store is a file: expected a directory for the store"):
        Experiment(smoke).simulate(tmp_path / "here", store=tmp_path / "store")
    assert not (tmp_path / "here").exists()


def test_a_store_that_fails_later_stops_nothing(smoke: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(stores, "link_or_copy", full)
    assert Experiment(smoke).simulate(tmp_path / "here", store=tmp_path / "store").complete
    assert not any((tmp_path / "store").iterdir())


def simulate(scenario: Path, out: Path, store: Path) -> None:
    assert Experiment(scenario).simulate(out, store=store, threads=1).complete


def test_processes_share_a_store(three: Path, tmp_path: Path) -> None:
    store = tmp_path / "store"
    context = multiprocessing.get_context("spawn")
    places = [tmp_path / f"out{number}" for number in range(3)]
    processes = [context.Process(target=simulate, args=(three, place, store)) for place in places]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
        assert process.exitcode == 0
    first, *others = (Results(place) for place in places)
    assert all(hashes(first) == hashes(other) for other in others)
    assert len(entries(store)) == len(list(store.iterdir())) == 3, "nothing half-made is left"


def test_what_runs_at_the_moment_is_waited_for(three: Path, same: Path, tmp_path: Path, cli: Cli) -> None:
    done = cli("run", three, same, "--out", "both", "--store", "store", "--threads", 2)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count(": started") == 3
    assert done.stdout.count(": finished before; not simulated again") == 3
    assert "same: BFC: finished before" in done.stdout, "of several experiments each run is told with its own"
    assert hashes(Results(tmp_path / "both/same")) != hashes(Results(tmp_path / "both/three"))


def test_the_key_does_not_hang_on_names(smoke: Path, same: Path) -> None:
    (scenario,) = Experiment(smoke).scenarios.values()
    assert key_of(scenario) == key_of({**scenario, "name": "x", "description": "y"})
    assert key_of(scenario) != key_of({**scenario, "seed": scenario["seed"] + 1})


def test_what_a_process_that_died_had_half_made_goes(smoke: Path, tmp_path: Path) -> None:
    store = tmp_path / "store"
    for name, age in (("old", 2 * STALE_S), ("new", 0)):
        (store / f".{name}.1").mkdir(parents=True)
        os.utime(store / f".{name}.1", (time.time() - age,) * 2)
    Experiment(smoke).simulate(tmp_path / "one", store=store)
    assert [path.name for path in store.iterdir() if path.name.startswith(".")] == [".new.1"]
    assert len(entries(store)) == 1


def test_an_empty_store_has_nothing(smoke: Path, tmp_path: Path) -> None:
    (scenario,) = Experiment(smoke).scenarios.values()
    assert Store(tmp_path / "absent").take(key_of(scenario), scenario, tmp_path / "here") is None
    assert not (tmp_path / "here").exists()
    assert not (tmp_path / "absent").exists()


@pytest.mark.parametrize("bits", [250, pytest.param(1000, marks=pytest.mark.long)])
def test_flipped_bits_are_found(smoke: Path, tmp_path: Path, bits: int) -> None:
    """Each in a whole entry, at a random place: the entry goes, and the run that is made again is the same."""
    chance = random.Random(1)
    whole = Experiment(smoke).simulate(tmp_path / "whole", store=tmp_path / "kept")
    (entry,) = entries(tmp_path / "kept")
    scenario = next(iter(Experiment(smoke).scenarios.values()))
    store = Store(tmp_path / "store")
    files = [path.name for path in sorted(entry.iterdir()) if path.name != "scenario.json"]
    for _ in range(bits):
        place = tmp_path / "store" / entry.name
        shutil.copytree(entry, place)
        name = chance.choice(files)
        data = bytearray((place / name).read_bytes())
        bit = chance.randrange(8 * len(data))
        data[bit // 8] ^= 1 << bit % 8
        (place / name).write_bytes(data)
        assert store.take(entry.name, scenario, tmp_path / "taken") is None, f"{name}, bit {bit}"
        assert not place.exists()
        assert not (tmp_path / "taken").exists()
    again = Experiment(smoke).simulate(tmp_path / "again", store=tmp_path / "store")
    assert hashes(again) == hashes(whole)


@pytest.mark.long
def test_three_hundred_kills_leave_a_store_that_is_right(smoke: Path, tmp_path: Path) -> None:
    """Sweeps into one store, each killed at a random moment, two at a time; the table at the end is as of none."""
    chance = random.Random(1)
    words = [
        "sweep",
        smoke,
        "--vary",
        "background.load=0.1:0.8:0.1",
        "--vary",
        "scheme=bfc,dctcp,ideal-fq",
        "--seeds",
        4,
    ]
    words += ["--set", "run.duration=1 ms"]
    whole = Experiment.from_arguments(smoke, [*map(as_set, words[3:6:2]), "seeds.count=4", words[-1]], None)
    expected = whole.simulate(tmp_path / "whole").table("summary")
    in_flight = 0
    for trial in range(150):
        places = [tmp_path / f"process{n}" for n in range(2)]
        processes = []
        for n, place in enumerate(places):
            place.mkdir(exist_ok=True)
            processes.append(faults.start(place, *words, "--store", tmp_path / "store", "--out", f"out{trial}"))
            time.sleep(chance.uniform(0, 0.3) * n)
        time.sleep(chance.uniform(0.8, 3.0))
        for process in processes:
            process.kill()
            in_flight += process.wait() == -signal.SIGKILL
        for place in places:
            shutil.rmtree(place / f"out{trial}", ignore_errors=True)
            shutil.rmtree(place / f".out{trial}.partial", ignore_errors=True)
        for entry in chance.sample(entries(tmp_path / "store"), min(8, len(entries(tmp_path / "store")))):
            shutil.rmtree(entry)  # So that there is always something left to make.
    assert in_flight > 250, "most of them were killed before they were done"
    done = whole.simulate(tmp_path / "end", store=tmp_path / "store")
    assert done.table("summary").equals(expected)
    done.verify()
