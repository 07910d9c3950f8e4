"""The simulator with schemes of your own: compiled from their crates, tried, and put where Backwater looks for it.

Everything but the schemes is compiled before, by `make setup` in a checkout of Backwater. So only the schemes are
compiled, and a module is linked.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path

from backwater._core import InputError
from backwater.common import disk, module

NAMED = r"[a-z][a-z0-9_]*"
"""Names of schemes, which are also names of tables and of modules."""
CRATE = "backwater-mine"
VARIABLE = "BACKWATER_ENGINE"
ABOUT = ("title", "summary", "source")
TRY = """
import json, sys
from backwater import _core
schemes = [scheme["name"] for scheme in json.loads(_core.schemes()) if scheme["name"].startswith("mine/")]
for name in schemes:
    _core.load_text(json.loads(sys.argv[1]) % name, ".", name, [])
print(json.dumps(schemes))
"""
SMALLEST = """
scheme = "%s"
[topology]
kind = "single-switch"
hosts = 3
rate = "100 Gbps"
delay = "1 us"
[[workload]]
kind = "long-lived"
count = 2
to = ["host2"]
[run]
duration = "1 us"
"""


class CompilerError(Exception):
    """The schemes do not compile, or their tests fail. The compiler has said why."""


@dataclass(frozen=True)
class Built:
    """The simulator that was built."""

    path: Path
    schemes: list[str]


def build(crates: list[Path], *, only: bool = False, engine: Path | None = None) -> Built:
    """Builds the simulator with the schemes of `crates`, and of those that it has already unless `only`.

    # Errors
    `InputError` if a directory has no scheme, if one that was built before is gone, or if a scheme's preset is wrong;
    `CompilerError` if one does not compile.
    """
    directory = module.place()
    if directory is None:
        raise InputError(f"{module.VARIABLE} is empty: expected a directory, or no such variable")
    root = engine_at(engine)
    wanted = {crate.resolve().name: checked(crate) for crate in crates}
    if not only:
        wanted = {**{path.name: still_there(path) for path in known(directory) if path.name not in wanted}, **wanted}
    cargo(root, list(wanted.values()), "rustc", "--release", "--lib", "--", "-C", "strip=symbols")
    made = root / "target" / "release" / library()
    with disk.errors(directory):
        directory.mkdir(parents=True, exist_ok=True)
        with disk.scratch(directory / module.FILE) as scratch:
            shutil.copyfile(made, scratch / module.FILE)
            facts = {
                "for": module.mark(module.packaged()),
                "size": (scratch / module.FILE).stat().st_size,
                "schemes": [str(path) for path in wanted.values()],
            }
            disk.write_whole(scratch / module.BUILT, json.dumps(facts, indent=2) + "\n")
            schemes = tried(scratch)
            for name in (module.FILE, module.BUILT):
                (scratch / name).replace(directory / name)
    return Built(directory / module.FILE, schemes)


def run_tests(crates: list[Path], *, engine: Path | None = None) -> None:
    """Runs the schemes' own tests, and the conformance tests on them.

    # Errors
    As `build`; `CompilerError` if a test fails.
    """
    own = [checked(crate) for crate in crates]
    cargo(engine_at(engine), own, "test", "--profile", "bench", "--quiet", "--test", "schemes")


def checked(crate: Path) -> Path:
    """Returns a crate's directory, if there is a scheme in it."""
    path = crate.resolve()
    if not re.fullmatch(NAMED, path.name):
        raise InputError(f"{crate}: expected a directory that is named as its scheme, of small letters, digits and _")
    for name in ("src/lib.rs", "preset.toml"):
        if not (path / name).is_file():
            raise InputError(f"{crate}: has no {name}; `backwater new-scheme` writes a crate that has")
    preset = path / "preset.toml"
    try:
        about = tomllib.loads(preset.read_text(encoding="utf-8")).get("preset")
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{preset}: {error}") from error
    wrong = [key for key in ABOUT if not (isinstance(about, dict) and isinstance(about.get(key), str))]
    if wrong:
        raise InputError(f"{preset}: preset.{wrong[0]}: missing: expected a text in the table [preset]")
    return path


def still_there(crate: Path) -> Path:
    """Returns the directory of a crate that was built before, if a scheme still is in it."""
    only = "use --only to build nothing but the schemes that you name"
    if not crate.is_dir():
        raise InputError(
            f"{crate}: is gone, and mine/{crate.name} was built from it: name the directory where it is now, or {only}"
        )
    try:
        return checked(crate)
    except InputError as error:
        raise InputError(f"{error}. mine/{crate.name} was built from it: mend it, or {only}") from error


def known(directory: Path) -> list[Path]:
    """Returns the crates that the present simulator was built from."""
    try:
        return [Path(path) for path in json.loads((directory / module.BUILT).read_bytes())["schemes"]]
    except (OSError, ValueError, KeyError, TypeError):
        return []


def engine_or_none() -> Path | None:
    """Returns a checkout of Backwater that can compile schemes: the one that is asked for, or that is installed."""
    asked = os.environ.get(VARIABLE)
    root = Path(asked) if asked else Path(__file__).parents[3]
    return root.resolve() if (root / "crates" / "mine" / "Cargo.toml").is_file() else None


def engine_at(asked: Path | None) -> Path:
    if asked is not None and not (asked / "crates" / "mine" / "Cargo.toml").is_file():
        raise InputError(f"--engine {asked}: expected a checkout of Backwater")
    root = asked.resolve() if asked is not None else engine_or_none()
    if root is None:
        raise InputError(
            "a scheme is compiled in a checkout of Backwater, in which `make setup` has run: name it by --engine DIR "
            f"or by the environment variable {VARIABLE}"
        )
    return root


def library() -> str:
    prefix, suffix = {"darwin": ("lib", ".dylib"), "win32": ("", ".dll")}.get(sys.platform, ("lib", ".so"))
    return f"{prefix}backwater_mine{suffix}"


def cargo(root: Path, crates: list[Path], *words: str) -> None:
    """Runs cargo on the crate that has these schemes. What it says goes to standard error."""
    if shutil.which("cargo") is None:
        raise InputError("cargo: not found; install Rust as https://rustup.rs says")
    environment = {**os.environ, **like_maturin(root), "BACKWATER_MINE": os.pathsep.join(map(str, crates))}
    command = ["cargo", words[0], "--locked", "--package", CRATE, *words[1:]]
    if subprocess.run(command, cwd=root, env=environment, stdout=sys.stderr).returncode != 0:
        what = "a test fails, or a scheme does not compile" if words[0] == "test" else "a scheme does not compile"
        raise CompilerError(what)


def like_maturin(root: Path) -> dict[str, str]:
    """Returns the variables with which `make setup` has compiled PyO3: with others it is compiled again."""
    python = root / ".venv" / "bin" / "python"
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    variables = {
        "PYO3_BUILD_EXTENSION_MODULE": "1",
        "PYO3_PYTHON": str(python if python.exists() else sys.executable),
        "PYO3_ENVIRONMENT_SIGNATURE": f"cpython-{version}-64bit",
    }
    configured = sorted((root / "target" / "maturin").glob("pyo3-config-*-abi3.txt"))
    return variables | ({"PYO3_CONFIG_FILE": str(configured[0])} if configured else {})


def tried(directory: Path) -> list[str]:
    """Loads the simulator of a directory in another process, and reads the smallest scenario of each scheme."""
    environment = {**os.environ, module.VARIABLE: str(directory)}
    command = [sys.executable, "-c", TRY, json.dumps(SMALLEST)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    if done.returncode != 0:
        *_, last = done.stderr.strip().splitlines() or ["it ended without a message"]
        raise InputError(f"a scheme does not work: {last.partition('Error: ')[2] or last.partition('Exception: ')[2]}")
    return list(json.loads(done.stdout))
