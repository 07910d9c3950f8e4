"""The command line by convention: help, options that mean one thing everywhere, lists, and the forms of before."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
import webbrowser
from pathlib import Path
from typing import Any

import pytest

import backwater
from backwater import Experiment, InputError, Results, _core
from backwater.cli import catalogue, tree
from backwater.cli import command as commands
from backwater.cli.options import percentile, real, unpercented
from backwater.common import suggest, versions
from backwater.scenario import experiments, vary
from conftest import ROOT, Cli, command

TREE = dict(tree())
LEAVES = {name: one for name, one in TREE.items() if not isinstance(one, commands.Group)}
VERBS = {
    *("Add", "Call", "Change", "Compare", "Compute", "Configure", "Count", "Draw", "Explain", "Install", "Keep", "Let"),
    *("List", "Look", "Name", "Print", "Put", "Read", "Record", "Repeat", "Replace", "Reuse", "Run", "Set", "Show"),
    *("Simulate", "Start", "Store", "Take", "Use", "Write"),
}


def params(one: commands.Command) -> list[Any]:
    """Its arguments and options, with those of every command."""
    return one.get_params(one.make_context(one.name, [], resilient_parsing=True))


def test_the_list_of_commands_and_each_command_say_the_same() -> None:
    for name, one in LEAVES.items():
        family, _, inner = name.partition(" ")
        entry = catalogue.COMMANDS.get(name) or catalogue.COMMANDS[family]
        line = entry.entries[inner].line if isinstance(entry, catalogue.Family) else entry.line
        assert commands.parts(one.help)[0].split("\n\n")[0] == line
        assert len(line) <= 62, f"{name}: is cut off in a list of 80 columns"


@pytest.mark.parametrize("name", ["", *TREE])
def test_help_has_whole_sentences_and_an_example(cli: Cli, name: str) -> None:
    shown = cli(*name.split(), "-h")
    assert (shown.returncode, shown.stderr) == (0, "")
    assert shown.stdout == cli(*name.split(), "--help").stdout
    assert not re.search(r"<\w|\[\[|\{[A-Z]", shown.stdout), "no names of Python types, no doubled brackets"
    assert max(map(len, shown.stdout.splitlines())) <= 80
    for word in ("-q, --quiet", "--color WHEN", "-h, --help"):
        assert word in shown.stdout
    if name in LEAVES:
        sentences, examples = commands.parts(LEAVES[name].help)
        assert re.fullmatch(r"([^.!?]|\.(?=\w))*(?:[.!?](\s|$)([^.!?]|\.(?=\w))*)*", sentences)
        assert sentences.endswith(".")
        assert examples
        assert "Examples:\n  backwater " in shown.stdout


@pytest.mark.parametrize("name", LEAVES)
def test_examples_are_of_this_command_and_its_options(name: str) -> None:
    one = LEAVES[name]
    options = {option for param in params(one) for option in getattr(param, "opts", ())}
    for line in commands.parts(one.help)[1]:
        words = shlex.split(line.partition(" > ")[0])
        assert " ".join(words[1:]).startswith(name)
        assert {word for word in words if word.startswith("-")} <= options, line


@pytest.mark.parametrize("name", LEAVES)
def test_each_option_says_what_it_does(name: str) -> None:
    for param in params(LEAVES[name]):
        if param.hidden:
            continue
        text = re.sub(r" \[default: [^\]]*\]$", "", param.help or "")
        assert text.partition(" ")[0] in VERBS, f"{name} {param.name}: {text}"
        assert text.endswith("."), text
        assert getattr(param, "is_flag", False) or param.metavar, f"{name} {param.name} shows the name of a Python type"


def test_out_and_json_mean_one_thing() -> None:
    for name, one in LEAVES.items():
        options = {option: param for param in one.params for option in param.opts}
        assert options["--json"].is_flag, name
        if "--out" in options:
            assert options["--out"].opts == ["-o", "--out"], name
            assert options["--out"].metavar in ("DIR", "FILE", "FILE.toml"), name
            if options["--out"].metavar != "DIR":
                assert "--force" in options, f"{name} replaces files that exist"


HEAVY = (
    "numpy",
    "pyarrow",
    "rich",
    "scipy",
    "duckdb",
    "matplotlib",
    "backwater.experiment",
    "backwater.runs.directory",
)
"""These take longer to import than a help text may."""


@pytest.mark.parametrize("words", [["--version"], ["-h"], *([*name.split(), "-h"] for name in TREE)], ids=" ".join)
def test_version_and_help_import_little(words: list[str]) -> None:
    """A module that waits for its first use is no plain module yet, so it costs nothing."""
    code = (
        "import sys\nfrom types import ModuleType\nfrom backwater.cli import main\n"
        "try:\n    main()\nexcept SystemExit as leave:\n    code = leave.code\n"
        f"there = [name for name in {HEAVY} if type(sys.modules.get(name)) is ModuleType]\n"
        "print('exit', code, 'imported', there)"
    )
    done = subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True, timeout=60)
    assert done.stdout.splitlines()[-1] == "exit 0 imported []", done.stdout + done.stderr


def test_the_import_of_the_package_imports_little(tmp_path: Path) -> None:
    """Each of these takes longer than all that the package does before its first use."""
    code = (
        "import sys\nbefore = set(sys.modules)\nimport backwater\n"
        "print([name for name in ('typing', 're', 'json', 'pathlib') if name in sys.modules and name not in before])"
    )
    environment = {**os.environ, "BACKWATER_SCHEMES": str(tmp_path)}
    command = [sys.executable, "-S", "-c", f"import sys; sys.path.insert(0, {str(ROOT / 'python')!r})\n{code}"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)
    assert done.stdout == "[]\n", done.stdout + done.stderr


def test_a_run_starts_before_numpy_and_arrow_are_there(smoke: Path, tmp_path: Path) -> None:
    """Their import would take longer than a short run."""
    code = (
        "import sys\nfrom pathlib import Path\n"
        "from backwater import Experiment\nfrom backwater.execute import sweep\nfrom backwater.cli import experiment\n"
        "making = Experiment(sys.argv[1]).making(Path(sys.argv[2]))\nmaking.open(sweep.Watch())\n"
        "run = sweep.start(making.jobs[0])\n"
        "print([name for name in ('numpy', 'pyarrow') if name in sys.modules])"
    )
    words = [str(smoke), str(tmp_path / "run")]
    done = subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True, timeout=60)
    assert done.stdout == "[]\n", done.stdout + done.stderr


def test_everything_is_imported_before_a_command_works() -> None:
    """Threads must not meet in a module's first use."""
    code = (
        "import sys\nfrom types import ModuleType\nfrom backwater.cli import later, main\n"
        "try:\n    main()\nexcept SystemExit:\n    pass\n"
        "print('waiting', later.waiting)\n"
        "print([name for name, one in sys.modules.items() if type(one).__name__ == '_LazyModule'])\n"
        "print(type(sys.modules['backwater.cli.experiment']) is ModuleType)"
    )
    words = ["reproduce", "no-such-experiment"]
    done = subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True, timeout=60)
    assert done.stdout.splitlines()[-3:] == ["waiting []", "[]", "True"], done.stdout + done.stderr


def test_the_version_has_its_commit(cli: Cli) -> None:
    commit = versions.commit()
    assert cli("--version").stdout == f"backwater {_core.version}" + (f" ({commit})" if commit else "") + "\n"


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("schemes", "schemes: this is `backwater list schemes` now"),
        ("chips --json", "chips: this is `backwater list chips` now"),
        ("check x.toml --deadlock --failures 1", "check --deadlock: this is `backwater deadlock SCENARIO` now"),
        ("compare --fct a b", "compare --fct: this is `backwater compare-fct A B` now"),
        ("plan bfc --speed=25Gbps", "plan bfc --speed: this is `backwater plan bfc --rate` now"),
        ("plan flowsail --run x", "plan flowsail --run: this is `backwater plan flowsail --measured DIR` now"),
        ("explain x --json -", "--json -: --json prints to standard output now: `--json > FILE`"),
        ("reproduce fig9 --json c.json", "--json c.json: --json prints to standard output now: `--json > c.json`"),
    ],
)
def test_forms_of_before_are_answered_with_those_of_now(cli: Cli, words: str, says: str) -> None:
    done = cli(*words.split())
    assert (done.returncode, done.stdout, done.stderr) == (2, "", f"error: {says}\n")


def test_shells_complete_names_of_commands_and_options(tmp_path: Path) -> None:
    def completed(line: str) -> list[str]:
        words = line.split(" ")
        asked = {"_BACKWATER_COMPLETE": "complete_bash", "COMP_WORDS": line, "COMP_CWORD": str(len(words) - 1)}
        done = subprocess.run(
            command(), env={**os.environ, **asked}, cwd=tmp_path, capture_output=True, text=True, timeout=60
        )
        return done.stdout.split()

    assert completed("backwater comp") == ["compare", "compare-fct"]
    assert set(completed("backwater list ")) >= {"experiments", "runs"}
    assert set(completed("backwater run --se")) == {"--seeds", "--set"}


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("reproduce fig99", "fig99: no such experiment or paper; did you mean fig9, "),
        ("reproduce bfc-fg9", "bfc-fg9: no such experiment or paper; did you mean bfc-fig9, "),
        ("reproduce flowsial", "flowsial: no such experiment or paper; did you mean flowsail, "),
        ("list experiments bccc", "bccc: no such experiment or paper; did you mean bcc? "),
        ("run bfc-fg9", "bfc-fg9: no such file or published experiment; did you mean bfc-fig9, "),
        ("show tomahak", "show tomahak: no such name; did you mean tomahawk, "),
        ("new x --scheme dqcn", "--scheme dqcn: did you mean dcqcn, "),
        ("new x --workload gogle_rpc", "--workload gogle_rpc: did you mean google_rpc"),
        ("plan bcc --rtt 80us --chip tomahak", "--chip tomahak: did you mean tomahawk, "),
        ("plan bfc --chip tomahak", "--chip tomahak: did you mean tomahawk, "),
        ("plan bfc --workload gogle_rpc", "gogle_rpc: no such table of sizes or file; did you mean google_rpc"),
        ("schema flwos", "schema flwos: no such table; did you mean flows? "),
        ("check bfc-fig9 --set variant=bfcc", '--set variant=bfcc: unknown variant; did you mean "BFC"? '),
        ("check bfc-fig9 --scale smok", 'unknown scale "smok"; did you mean "smoke"? '),
        ("check bfc-fig9 --set switch.quues=3", 'unknown key; did you mean "queues"? '),
        ("check bfc-fig9 --set switch.chip=tomahak", 'unknown chip; did you mean "tomahawk"? '),
    ],
)
def test_a_slip_is_answered_with_the_nearest_names_in_few_words(cli: Cli, words: str, says: str) -> None:
    done = cli(*words.split())
    assert (done.returncode, done.stdout) == (2, "")
    assert says in done.stderr
    assert len(done.stderr) < 500, "and not with a hundred names"


def test_many_names_are_left_to_the_command_that_lists_them() -> None:
    names = [f"name-{i}" for i in range(100)]
    assert suggest.expected("nam-50", names, "backwater list names") == (
        "did you mean name-50, name-5 or name-0? expected one of the 100 names that `backwater list names` lists"
    )
    assert suggest.expected("zzz", names) == "expected one of 100 names, from name-0 to name-99"
    assert suggest.expected("BFC", ["bfc", "pfc"]) == "did you mean bfc or pfc? expected one of bfc, pfc"
    assert suggest.hint("x" * 10**6, names) == ""


# What is printed.


def test_a_run_ends_with_who_wins_where_the_report_is_and_what_to_try(cli: Cli, three: Path) -> None:
    done = cli("run", three, "--out", "here")
    assert done.returncode == 0, done.stderr
    answer, report, following = done.stdout.splitlines()[-3:]
    assert answer.startswith("BFC has the lowest")
    assert report == "Report: here/report.html"
    assert following == (
        "Next: `backwater compare here` prints all variants side by side; "
        "the report says where slow flows of BFC and DCTCP spent their time."
    )


def test_failed_claims_are_one_line_and_a_table_where_it_is_asked_for(cli: Cli, smoke: Path, tmp_path: Path) -> None:
    expects = (
        '[[expect]]\nclaim = "own.{n}"\nmetric = "flows"\nsays = "There are."\nkind = "between"\nvariant = "bfc"\n'
    )
    value = 'value = {{ scenario = "switch.queues" }}\nlow = {n}\n'
    text = "".join((expects + value).format(n=n) for n in (1, 10_000))
    (tmp_path / "mine.toml").write_text(f'extends = "{smoke}"\n{text}'.replace("kind =", "kind ="))
    done = cli("run", "mine.toml", "--out", "a", "--seeds", 2)
    assert done.returncode == 1, done.stdout
    assert (
        done.stdout.splitlines()[-1] == "Claims: 1 failed, 1 true by set-up. `backwater report a --claims` prints them."
    )
    assert "own.1" not in done.stdout
    asked = cli("run", "mine.toml", "--out", "b", "--seeds", 2, "--claims")
    assert asked.returncode == 1
    assert "own.10000" in asked.stdout


def test_quiet_prints_nothing_but_errors(cli: Cli, smoke: Path, tmp_path: Path) -> None:
    for words in (["run", smoke, "-q", "--out", "a"], ["--quiet", "run", smoke, "--out", "b"]):
        done = cli(*words)
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert (tmp_path / "a" / "report.html").is_file()
    assert cli("run", smoke, "--out", "c").stdout != "", "and what comes after is not quiet"
    assert "p99" in cli("compare", "a", "-q").stdout, "what was asked for is printed"
    assert "absent" in cli("-q", "compare", "absent").stderr


def test_json_is_all_that_is_printed(cli: Cli, smoke: Path, tmp_path: Path) -> None:
    done = cli("run", smoke, "--out", "a", "--json")
    (one,) = json.loads(done.stdout)
    results = Results(tmp_path / "a")
    assert (one["path"], one["digest"], one["answer"]) == ("a", results.digest, results.answer)
    assert one["runs"][0]["summary"] == results.runs[0].summary
    for words in (
        ["compare", "a"],
        ["report", "a"],
        ["check", smoke],
        ["explain", "a", "--flow", 1],
        ["deadlock", smoke],
        ["doctor"],
        ["schema"],
        ["schema", "flows"],
        *(["list", kind] for kind in ("experiments", "schemes", "workloads", "chips")),
        ["list", "runs", "."],
        *(["show", name] for name in ("bfc-fig9", "dcqcn", "google_rpc", "tomahawk")),
    ):
        json.loads(cli(*words, "--json").stdout)


def test_json_is_all_that_files_are_told_with(
    cli: Cli, smoke: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started = json.loads(cli("new", "lab", "--json").stdout)
    assert (started["scenario"], started["runs"]) == ("lab/scenario.toml", 6)
    assert started["next"] == "backwater run lab/scenario.toml"
    assert started["flows_each"] > 0
    (out,) = json.loads(cli("export", "hpcc", smoke, "theirs", "--json").stdout)
    assert (out["path"], out["files"]) == ("theirs", ["topology.txt", "flow.txt", "config.txt", "trace.txt"])
    files = ["--topology", "theirs/topology.txt", "--flows", "theirs/flow.txt", "--transport", "dctcp"]
    back = json.loads(cli("import", "hpcc", *files, "-o", "back.toml", "--json").stdout)
    assert back["scenario"] == "back.toml"
    assert all((tmp_path / name).is_file() for name in [back["scenario"], *back["flow_files"]])
    assert cli("run", smoke, "--out", "a", "-q").returncode == 0
    (written,) = json.loads(cli("export", "fct", "a", "fct.txt", "--json").stdout)
    unfinished = Results(tmp_path / "a").runs[0].summary["flows"]["unfinished"]
    assert (written["path"], written["unfinished"]) == ("fct.txt", unfinished)
    assert written["flows"] == len((tmp_path / "fct.txt").read_text().splitlines())
    monkeypatch.setattr(webbrowser, "open", lambda address: True)
    assert json.loads(cli("open", "a", "--json").stdout) == {"report": "a/report.html"}


def test_files_that_exist_are_replaced_only_by_force(cli: Cli, smoke: Path, tmp_path: Path) -> None:
    assert cli("run", smoke, "--out", "a", "-q").returncode == 0
    kept = tmp_path / "kept"
    for ending, words in (
        (".svg", ["compare-fct", "a", "a", "--out"]),
        (".toml", ["deadlock", ROOT / "experiments/deadlock/five.toml", "--set", "variant=bfc", "--out"]),
        (".txt", ["plan", "bcc", "--rtt", "80 us", "--config", "sonic", "--out"]),
        (".parquet", ["explain", "a", "--flow", 1, "--out"]),
    ):
        file = kept.with_suffix(ending)
        file.write_text("mine")
        refused = cli(*words, file.name)
        assert refused.returncode == 2, words
        assert refused.stderr == (f"error: --out {file.name}: exists; name another file, or replace it with --force\n")
        assert file.read_text() == "mine"
        assert cli(*words, file.name, "--force").returncode == (1 if words[0] == "deadlock" else 0)
        assert file.read_bytes() != b"mine"


def test_notes_are_left_out_by_quiet(cli: Cli, smoke: Path) -> None:
    words = ["run", smoke, "--threads", 1024, "--out"]
    assert "Note: --threads 1024: " in cli(*words, "a").stderr
    assert cli(*words, "b", "-q").stderr == ""


def test_figures_are_as_wide_as_asked(cli: Cli, process: Cli, smoke: Path, tmp_path: Path) -> None:
    assert cli("run", smoke, "--out", "a", "-q").returncode == 0
    widths = []
    for size in ("page", "column"):
        assert process("report", "a", "--format", "svg", "--size", size).returncode == 0
        drawn = (tmp_path / "a/figures/slowdown-background.svg").read_text()
        widths.append(float(re.search(r'width="([\d.]+)pt"', drawn)[1]) / 72)
    assert widths == [pytest.approx(7.0), pytest.approx(3.35)]
    refused = process("report", "a", "--size", "poster")
    assert (refused.returncode, refused.stderr) == (
        2,
        "error: --size 'poster': expected one of page, column, acm-column, acm-page, ieee-column, ieee-page\n",
    )


def test_color_is_as_asked(cli: Cli, results: Results) -> None:
    assert "\x1b[" not in cli("compare", results.path).stdout
    assert "\x1b[" in cli("compare", results.path, "--color", "always").stdout
    assert "\x1b[" not in cli("--color", "never", "compare", results.path).stdout
    assert "expected auto, always, never" in cli("compare", results.path, "--color", "sometimes").stderr


# Names and numbers.


def test_a_variant_is_all_its_seeds(cli: Cli, smoke: Path, tmp_path: Path) -> None:
    sweep = {"scheme": ["bfc", "dctcp"], "load": [0.2, 0.3]}
    done = Experiment(smoke, seeds=2, vary=sweep).simulate(tmp_path / "here")
    labels = [run.label for run in done.runs]
    assert [run.label for run in done.select("bfc")] == [label for label in labels if label.startswith("bfc")]
    assert [run.label for run in done.select("bfc.load=0.3")] == ["bfc.load=0.3.seed=1", "bfc.load=0.3.seed=2"]
    assert list(done.select("bfc.load=0.3.seed=2")) == [done.run("bfc.load=0.3.seed=2")]
    with pytest.raises(
        InputError, match=r"no run 'hpcc'; expected one of bfc, dctcp, bfc\.load=0\.2, dctcp\.load=0\.2, "
    ):
        done.select("hpcc")
    shown = cli("explain", "here", "--run", "dctcp.load=0.3", "--flow", 1).stdout
    assert [line.partition(":")[0] for line in shown.splitlines() if "the same run" in line] == [
        "dctcp.load=0.3.seed=1",
        "dctcp.load=0.3.seed=2",
    ]
    (tmp_path / "two.toml").write_text(f'extends = "{smoke}"\n[seeds]\ncount = 2\n')
    assert cli("export", "hpcc", "two.toml", "theirs", "--run", "bfc").returncode in (0, 2)


def test_percents_are_shares(smoke: Path) -> None:
    assert [unpercented(one) for one in ("load=60%", "load=[5 %, 62.5%]", 'name="60%"', "x=a60%", "load=0.6")] == [
        *("load=0.6", "load=[0.05, 0.625]", 'name="60%"', "x=a60%", "load=0.6"),
    ]
    assert vary.as_set(unpercented("load=20%:60%:20%")) == "sweep.load=[0.2, 0.4, 0.6]"
    assert (real("60%"), real("0.1%"), percentile("p99.9"), percentile("99"), percentile("99%")) == (
        *(0.6, 0.001, 99.9, 99.0, 99.0),
    )
    same = Experiment.from_arguments(smoke, [unpercented("load=60%")], None)
    assert same.plan.runs == Experiment.from_arguments(smoke, ["load=0.6"], None).plan.runs


def test_percents_are_taken_by_commands(cli: Cli, smoke: Path) -> None:
    shown = [cli("check", smoke, "--set", f"load={load}", "--json") for load in ("50%", "0.5")]
    flows = [json.loads(one.stdout)[0]["rows"][0]["flows"] for one in shown]
    assert flows[0] == flows[1]
    plans = [cli("plan", "bfc", "--workload", "google_rpc", "--load", load, "--json") for load in ("60%", "0.6")]
    assert plans[0].stdout == plans[1].stdout


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"vary": {"scheme": "bfc"}}, r"vary: scheme = 'bfc': expected a list of values, such as \['bfc'\]"),
        ({"vary": {"load": 0.5}}, r"vary: load = 0\.5: expected a list of values"),
        ({"seed": 1, "seeds": 3}, "seed=1, seeds=3: expected one of them"),
    ],
)
def test_python_refuses_what_it_would_misread(smoke: Path, arguments: dict[str, object], says: str) -> None:
    with pytest.raises(InputError, match=says):
        Experiment(smoke, **arguments)


def test_steps_of_numpy_have_the_names_that_were_meant(smoke: Path) -> None:
    numpy = pytest.importorskip("numpy")
    assert Experiment(smoke, vary={"load": numpy.arange(0.2, 0.9, 0.2)}).labels == [
        *("bfc.load=0.2", "bfc.load=0.4", "bfc.load=0.6", "bfc.load=0.8"),
    ]
    exact = 0.1234567890123
    assert Experiment(smoke, vary={"load": [exact, 0.5]}).labels[0] == f"bfc.load={exact}"


# Lists.


def test_everything_is_listed_and_shown(cli: Cli) -> None:
    listed = cli("list", "experiments").stdout
    for name in experiments.known():
        assert f"\n{name} " in listed
    assert "bfc-fig9" not in cli("list", "experiments", "flowsail").stdout
    text = cli("show", "fig9").stdout
    assert text == experiments.text("bfc-fig9")
    assert "host.transport" in cli("show", "dcqcn").stdout
    assert "google_rpc" in cli("list", "workloads").stdout
    assert "mean size" in cli("show", "google_rpc").stdout
    assert "tomahawk" in cli("show", "tomahawk").stdout
    refused = cli("show", "bfc-fig99")
    assert refused.returncode == 2
    assert "did you mean bfc-fig9" in refused.stderr


def test_runs_are_listed_and_the_newest_is_opened(
    cli: Cli, smoke: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str] = []
    monkeypatch.setattr(webbrowser, "open", lambda address: opened.append(address) is None)
    assert cli("open").returncode == 2
    assert cli("list", "runs").returncode == 2
    for name in ("a", "b"):
        assert cli("run", smoke, "--out", f"runs/{name}", "-q").returncode == 0
    os.utime(tmp_path / "runs/a/manifest.json")
    rows = json.loads(cli("list", "runs", "--json").stdout)
    assert [(row["path"], row["state"], row["runs"]) for row in rows] == [
        ("runs/b", "complete", 1),
        ("runs/a", "complete", 1),
    ]
    assert cli("open").returncode == 0
    assert cli("open", "runs/b").returncode == 0
    assert [address.rpartition("/runs/")[2] for address in opened] == ["a/report.html", "b/report.html"]
    (tmp_path / "runs/a/report.html").unlink()
    refused = cli("open", "runs/a")
    assert refused.returncode == 2
    assert "`backwater report runs/a` writes it" in refused.stderr


def test_the_doctor_knows_this_machine(cli: Cli) -> None:
    found = json.loads(cli("doctor", "--json").stdout)
    assert (found["version"], found["commit"]) == (_core.version, versions.commit())
    assert found["threads_by_default"] == _core.processors()
    assert found["disk_free_bytes"] > 0
    assert Path(found["package"]) == Path(backwater.__file__).parent
    assert "disk free" in cli("doctor").stdout
