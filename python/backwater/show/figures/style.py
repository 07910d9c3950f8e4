"""How figures look: sizes, fonts, colours, and the files that are written."""

from __future__ import annotations

import contextlib
import io
import os
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib
from matplotlib import rc_context
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from backwater._core import InputError


@dataclass(frozen=True)
class Size:
    """What a figure has to fit, in a paper of two columns."""

    width: float
    """Inches."""
    columns: int
    """Panels side by side, at most."""


SIZES = {
    "page": Size(7.0, 3),
    "column": Size(3.35, 1),
    "acm-column": Size(3.33, 1),
    "acm-page": Size(7.0, 3),
    "ieee-column": Size(3.5, 1),
    "ieee-page": Size(7.16, 3),
}
"""Across both columns, which is the default, or in one of them: ours, and those of two publishers' templates."""
FONT = matplotlib.RcParams(
    {
        "font.size": 8,
        "axes.labelsize": 7.5,
        "legend.fontsize": 7.5,
        "xtick.labelsize": 7.5,
        "ytick.labelsize": 7.5,
    }
)
"""Sizes that can be read where a figure is printed at the size it is drawn."""
TIMES = matplotlib.RcParams({"font.family": "STIXGeneral", "mathtext.fontset": "stix"})
"""The font of both publishers' templates, or one like it that Matplotlib brings along."""
STYLES = ("acm-column", "acm-page", "ieee-column", "ieee-page")
"""Styles that are also sizes."""
COLOURS = ("#1f5fbf", "#d1571c", "#1c8a5a", "#9b3fb5", "#a97a00", "#0f8fa3", "#c2327d", "#5d6b2e")
MARKERS = "osD^vP*X"
DPI = 300
SHOWN_DPI = 130
"""Dots per inch of a figure in a notebook."""
TRUETYPE = 42
"""The kind of fonts inside PDF and PostScript files. Publishers refuse Type 3 fonts, which are Matplotlib's default."""
STAMPS = {"png": {"Software": None}, "svg": {"Date": None}, "pdf": {"CreationDate": None}}
"""What would make files of the same figure differ."""


def check_size(size: str, named: str = "size") -> None:
    """Refuses a size that figures do not have.

    # Errors
    `InputError`, which calls the size `named`.
    """
    if size not in SIZES:
        raise InputError(f"{named} {size!r}: expected one of {', '.join(SIZES)}")


class Drawing(Figure):
    """A Matplotlib figure whose files have fonts that publishers accept, whatever Matplotlib is set to."""

    def savefig(self, *args: Any, **kwargs: Any) -> None:
        with rc_context({"pdf.fonttype": TRUETYPE, "ps.fonttype": TRUETYPE}):
            super().savefig(*args, **kwargs)

    def _repr_png_(self) -> bytes:
        """Shows the figure in a notebook, whether or not Matplotlib is set up for one."""
        FigureCanvasAgg(self)
        written = io.BytesIO()
        self.savefig(written, format="png", dpi=SHOWN_DPI)
        return written.getvalue()


@contextlib.contextmanager
def plain() -> Iterator[None]:
    """Figures look alike, whatever Matplotlib is set to."""
    with warnings.catch_warnings(), rc_context():
        warnings.simplefilter("ignore")  # Of signs that the font lacks: it draws boxes.
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(FONT)
        yield


@contextlib.contextmanager
def styled(style: str | os.PathLike[str] | None) -> Iterator[None]:
    """Figures have this style: one of `STYLES`, or a style sheet of Matplotlib by name or file.

    Without one, parameters of Matplotlib that you have changed win over ours.

    # Errors
    `InputError` if there is no such style.
    """
    changed = {key: value for key, value in matplotlib.rcParams.items() if value != matplotlib.rcParamsDefault[key]}
    with plain():
        if style is None:
            matplotlib.rcParams.update({key: value for key, value in changed.items() if key != "backend"})
        elif style in STYLES:
            matplotlib.rcParams.update(TIMES)
        else:
            from matplotlib import style as sheets

            try:
                sheets.use(str(style))
            except OSError:
                known = ", ".join([*STYLES, *sheets.available])
                raise InputError(f"style = {str(style)!r}: expected a file, or one of {known}") from None
        yield


def save(figure: Figure, path: Path) -> None:
    """In the format of its name; the same figure gives the same bytes."""
    FigureCanvasAgg(figure)
    with rc_context({"svg.hashsalt": path.name}):  # Without one, names in an SVG file are drawn at random.
        figure.savefig(path, dpi=DPI, metadata=STAMPS[path.suffix[1:]])


def colour(slot: int) -> str:
    return COLOURS[slot % len(COLOURS)]
