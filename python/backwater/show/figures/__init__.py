"""Figures in the papers' form: one file a row of panels, as PNG, SVG or PDF."""

from backwater.show.figures.compared import comparison, save_comparison
from backwater.show.figures.drawn import drawings, write
from backwater.show.figures.lines import places_of
from backwater.show.figures.panel import panels
from backwater.show.figures.sheets import into
from backwater.show.figures.style import COLOURS, MARKERS, STYLES, check_size, plain, styled

__all__ = [
    "COLOURS",
    "MARKERS",
    "STYLES",
    "check_size",
    "comparison",
    "drawings",
    "into",
    "panels",
    "places_of",
    "plain",
    "save_comparison",
    "styled",
    "write",
]
