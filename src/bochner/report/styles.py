"""How contenders look: colour, symbol and dash, no two alike.

Colours are those of Okabe and Ito, which colour-blind people can tell apart, made
darker or lighter for contrast; `style.css` has them, once for light and once for dark.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..comparison.results import DEFAULT, EXACT, LINEAR, METHOD, TREES, Comparison

N_COLOURS = 7
DASHES = {
    "solid": "none",
    "dash": "5 3",
    "dot": "1.5 2.5",
    "longdash": "9 3",
    "dashdot": "6 2.5 1.5 2.5",
}
"""Names of Plotly, and what they are in SVG."""

SHAPES = {
    "circle": "M5 0A5 5 0 1 1-5 0A5 5 0 1 1 5 0Z",
    "square": "M-4.4-4.4H4.4V4.4H-4.4Z",
    "diamond": "M0-6 6 0 0 6-6 0Z",
    "triangle-up": "M0-5.5 5.5 4.2H-5.5Z",
    "x": "M-5.3-2.5-2.5-5.3 0-2.8 2.5-5.3 5.3-2.5 2.8 0 5.3 2.5 2.5 5.3 0 2.8"
    "-2.5 5.3-5.3 2.5-2.8 0Z",
    "pentagon": "M0-5.5 5.2-1.7 3.2 4.5H-3.2L-5.2-1.7Z",
    "triangle-down": "M0 5.5 5.5-4.2H-5.5Z",
    "cross": "M-2-5.5H2V-2H5.5V2H2V5.5H-2V2H-5.5V-2H-2Z",
    "bowtie": "M-5.5-4.5 5.5 4.5V-4.5L-5.5 4.5Z",
    "star-diamond": "M0-7 2-2 7 0 2 2 0 7-2 2-7 0-2-2Z",
    "hourglass": "M-4.5-5.5H4.5L-4.5 5.5H4.5Z",
    "star": "M0-6.6 1.6-2.2 6.3-2 2.6 .8 3.9 5.3 0 2.7-3.9 5.3-2.6 .8-6.3-2-1.6-2.2Z",
}
"""Symbols of Plotly as paths of SVG, ten units across."""

METHOD_SHAPES = tuple(SHAPES)[:8]
SINGLE_LOOKS = {
    LINEAR: ("ink", "bowtie", "dashdot"),
    EXACT: ("ink", "star-diamond", "longdash"),
    TREES: ("ink", "hourglass", "dot"),
    DEFAULT: ("own", "star", "solid"),
}
"""Colour, symbol and dash of roles that have no size; only what is ours is coloured."""


@dataclass(frozen=True)
class Style:
    """How a contender looks."""

    colour: str  # a variable of style.css
    symbol: str  # a symbol of Plotly
    dash: str  # a dash of Plotly

    @property
    def is_single(self) -> bool:
        """Whether it is of a contender without sizes, which has one point a chart."""
        return self.symbol.removesuffix("-open") not in METHOD_SHAPES

    @property
    def is_open(self) -> bool:
        return self.symbol.endswith("-open")

    @property
    def path(self) -> str:
        return SHAPES[self.symbol.removesuffix("-open")]

    @property
    def dashes(self) -> str:
        return DASHES[self.dash]


FRONT = Style("front", "circle-open", "solid")


def styles(comparison: Comparison) -> dict[str, Style]:
    """A style for every name, methods last, in the order of entries."""
    roles = {entry.name: entry.role for entry in comparison.entries}
    single = {n: Style(*SINGLE_LOOKS[r]) for n, r in roles.items() if r != METHOD}
    methods = [name for name, role in roles.items() if role == METHOD]
    return single | {name: series_style(i) for i, name in enumerate(methods)}


def series_style(i: int) -> Style:
    """The i-th: 7 colours and 16 symbols have no common factor, so 112 differ."""
    suffix = "-open" if i // len(METHOD_SHAPES) % 2 else ""
    shape = METHOD_SHAPES[i % len(METHOD_SHAPES)]
    dash = ("solid", "dash", "dot")[i // N_COLOURS % 3]
    return Style(f"series-{i % N_COLOURS}", shape + suffix, dash)
