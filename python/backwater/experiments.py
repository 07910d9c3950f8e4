"""Finds the published experiments, in a checkout or in the installed package."""

from __future__ import annotations

from pathlib import Path

from backwater._core import InputError

HERE = Path(__file__).resolve().parent


def root() -> Path:
    """The directory with one directory a paper."""
    for candidate in (HERE / "experiments", HERE.parents[1] / "experiments"):
        if candidate.is_dir():
            return candidate
    raise InputError("the published experiments are not installed beside this package")


def known() -> dict[str, Path]:
    """`paper-figure` to its file, in order of name."""
    return {f"{path.parent.name}-{path.stem}": path for path in sorted(root().glob("*/*.toml"), key=in_order)}


def find(identifier: str) -> list[Path]:
    """`bfc-fig9`, `fig9` where one paper has it, or `bfc` for all of a paper.

    # Errors
    `InputError` with what there is.
    """
    everything = known()
    if identifier in everything:
        return [everything[identifier]]
    paper = [path for path in everything.values() if path.parent.name == identifier]
    if paper:
        return paper
    figure = {name: path for name, path in everything.items() if path.stem == identifier}
    if len(figure) == 1:
        return list(figure.values())
    if figure:
        raise InputError(f"reproduce {identifier}: several papers have it: {', '.join(figure)}")
    raise InputError(f"reproduce {identifier}: no such experiment; there is {', '.join(everything)}")


def in_order(path: Path) -> tuple[str, str, int]:
    """fig4 before fig10."""
    letters = path.stem.rstrip("0123456789")
    return path.parent.name, letters, int(path.stem[len(letters) :] or 0)
