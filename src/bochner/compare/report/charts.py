"""Charts as plain Plotly figures, and the colour, symbol and dash of contenders."""

from __future__ import annotations

import html
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ..results import DEFAULT, EXACT, LINEAR, METHOD, TREES, Comparison, Entry
from . import text
from .text import finite_entries

N_COLOURS = 7
DASHES = {
    "solid": "none",
    "dash": "5 3",
    "dot": "1.5 2.5",
    "longdash": "9 3",
    "dashdot": "6 2.5 1.5 2.5",
}
"""Dashes by their names in Plotly, as SVG dash arrays."""

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
"""Symbols by their names in Plotly, as SVG paths about ten units wide."""

METHOD_SHAPES = tuple(SHAPES)[:8]
SINGLE_STYLES = {
    LINEAR: ("ink", "bowtie", "dashdot"),
    EXACT: ("ink", "star-diamond", "longdash"),
    TREES: ("ink", "hourglass", "dot"),
    DEFAULT: ("own", "star", "solid"),
}
"""Colour, symbol and dash of roles without sizes; references are not coloured."""


@dataclass(frozen=True)
class Style:
    """Colour, symbol and dash of a contender."""

    colour: str  # a variable of style.css
    symbol: str  # a symbol of Plotly
    dash: str  # a dash of Plotly

    @property
    def is_single(self) -> bool:
        """Whether the contender has no sizes, and so one point in every chart."""
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
    """A style for every name in the order of the entries, methods last."""
    roles = {entry.name: entry.role for entry in comparison.entries}
    single = {n: Style(*SINGLE_STYLES[r]) for n, r in roles.items() if r != METHOD}
    methods = [name for name, role in roles.items() if role == METHOD]
    return single | {name: series_style(i) for i, name in enumerate(methods)}


def series_style(i: int) -> Style:
    """The i-th style of a method. With 7 colours and 16 symbols, 112 are distinct."""
    suffix = "-open" if i // len(METHOD_SHAPES) % 2 else ""
    shape = METHOD_SHAPES[i % len(METHOD_SHAPES)]
    dash = ("solid", "dash", "dot")[i // N_COLOURS % 3]
    return Style(f"series-{i % N_COLOURS}", shape + suffix, dash)


MAX_TICKS = 8
PAD = 1.25
"""Factor by which the axis of features extends beyond the data at either end."""

Value = Callable[[Entry], "float | None"]
Trace = dict[str, Any]


@dataclass(frozen=True)
class Chart:
    """A chart: its key and title, a sentence about it, its traces and axes."""

    key: str
    title: str
    about: str
    data: list[Trace]
    layout: dict[str, Any]


@dataclass(frozen=True)
class Axis:
    """The title of an axis, and the figure of an entry that it shows."""

    title: str
    value: Value
    deviation: Value | None = None
    log: bool = False

    def at(self, entry: Entry) -> float | None:
        """The position of an entry; None if it cannot be shown on the axis."""
        value = text.finite(self.value(entry))
        if value is None or (self.log and value <= 0):
            return None
        return float(value)

    def bar(self, entry: Entry) -> float | None:
        """Half the error bar; None if it would reach zero or less on a log axis."""
        deviation = text.finite(self.deviation(entry)) if self.deviation else None
        value = self.at(entry)
        if deviation is None or value is None or (self.log and deviation >= value):
            return None
        return float(deviation)


def charts(comparison: Comparison) -> list[Chart]:
    """The charts of a comparison, without those that would be empty."""
    metric = comparison.metric
    score = _score_axis(metric)
    candidates = [
        _by_features(comparison, score, f"{metric} by number of features"),
        _by_cost(comparison, FIT, score, "fit", f"{metric} by time to fit"),
        _by_features(comparison, ERROR, "kernel error by number of features"),
        _by_cost(comparison, ROW, score, "row", f"{metric} by time to predict"),
    ]
    return [chart for chart in candidates if chart.data]


def _score_axis(metric: str) -> Axis:
    scale = 100.0 if metric == "accuracy" else 1.0

    def deviation(entry: Entry) -> float | None:
        unscaled = entry.score.deviation
        return None if unscaled is None else scale * unscaled

    title = text.metric_title(metric)
    return Axis(title, lambda entry: scale * entry.score.mean, deviation)


FEATURES = Axis("features", lambda entry: entry.size, log=True)
FIT = Axis("time to fit, seconds", lambda entry: entry.fit_seconds.mean, log=True)
ROW = Axis(
    "time to predict, µs per row", lambda entry: 1e6 * entry.row_seconds.mean, log=True
)
ERROR = Axis(
    "relative kernel error",
    lambda entry: entry.error.mean if entry.error else None,
    lambda entry: entry.error.deviation if entry.error else None,
    log=True,
)


def _by_features(comparison: Comparison, y: Axis, title: str) -> Chart:
    """Methods over their sizes; charts of scores show other contenders as levels."""
    data = _contenders(comparison, FEATURES, y, {METHOD})
    layout = _layout(FEATURES, y, data)
    about = "Lower is closer to the kernel." if y is ERROR else "Higher is better."
    if any("error_y" in trace for trace in data):
        about += " Bars: one standard deviation over repeats."
    if data:
        sizes = sorted({x for trace in data for x in trace["x"]})
        ends = sizes[0] / PAD, sizes[-1] * PAD
        layout["xaxis"] |= _size_ticks(sizes, ends)
        levels = (
            [] if y is ERROR else _levels(comparison, y, [ends[0], *sizes, ends[1]])
        )
        data = levels + data
    return Chart("error" if y is ERROR else "features", title, about, data, layout)


def _size_ticks(sizes: list[float], ends: tuple[float, float]) -> dict[str, Any]:
    """Ticks at the sizes of the methods."""
    shown = sizes[:: math.ceil(len(sizes) / MAX_TICKS)]
    return {
        "range": [math.log10(end) for end in ends],
        "tickvals": shown,
        "ticktext": [text.count(int(size)) for size in shown],
    }


def _by_cost(comparison: Comparison, x: Axis, y: Axis, key: str, title: str) -> Chart:
    """Scores of all entries over a cost; over times to fit also the Pareto front."""
    data = _contenders(comparison, x, y)
    about = "Up and left is better."
    if data and key == "fit":
        about += " Ringed: the Pareto front."
        data.insert(0, _front(comparison, x, y))
    return Chart(key, title, about, data, _layout(x, y, data))


def _contenders(
    comparison: Comparison, x: Axis, y: Axis, roles: set[str] | None = None
) -> list[Trace]:
    """A trace for every contender that can be shown in the chart."""
    traces = []
    for chip, (name, style) in enumerate(styles(comparison).items()):
        shown = [
            entry
            for entry in comparison.entries
            if entry.name == name
            and (roles is None or entry.role in roles)
            and x.at(entry) is not None
            and y.at(entry) is not None
        ]
        shown.sort(key=lambda entry: (entry.size or 0, x.at(entry) or 0))
        if shown:
            traces.append(_trace(comparison, shown, x, y, _base_trace(chip, style)))
    return traces


def _trace(
    comparison: Comparison, shown: list[Entry], x: Axis, y: Axis, base: Trace
) -> Trace:
    trace = base | {
        "x": [x.at(entry) for entry in shown],
        "y": [y.at(entry) for entry in shown],
        "mode": "lines+markers",
        "hovertext": [_hover(comparison, entry) for entry in shown],
    }
    bars = [y.bar(entry) for entry in shown]
    if any(bars):
        array = [bar or 0 for bar in bars]
        trace["error_y"] = {"type": "data", "array": array, "width": 2, "thickness": 1}
    return trace


def _levels(comparison: Comparison, y: Axis, across: list[float]) -> list[Trace]:
    """Horizontal lines for the contenders without sizes."""
    traces = []
    for chip, (name, style) in enumerate(styles(comparison).items()):
        for entry in comparison.entries:
            value = y.at(entry)
            if entry.name != name or entry.role == METHOD or value is None:
                continue
            level = {
                "x": across,
                "y": [value] * len(across),
                "mode": "lines+text",
                **_level_label(entry, len(across)),
                "hovertext": [_hover(comparison, entry)] * len(across),
            }
            traces.append(_base_trace(chip, style) | level)
    return traces


def _level_label(entry: Entry, n: int) -> Trace:
    """The name of a level, at an end and on a side that no other level uses.

    The exact kernel and the default learner are named on the left, where methods have
    few features and rarely score as high.
    """
    name, blank = _label(entry.name, 24), [""] * (n - 1)
    side = "bottom" if entry.role in (DEFAULT, TREES) else "top"
    if entry.role in (EXACT, DEFAULT):
        return {"text": ["\u00a0" + name, *blank], "textposition": f"{side} right"}
    return {"text": [*blank, name + "\u00a0"], "textposition": f"{side} left"}


def _front(comparison: Comparison, x: Axis, y: Axis) -> Trace:
    """Steps along the Pareto front, with rings around its entries."""
    front = finite_entries(comparison).front()
    shown = [entry for entry in front if x.at(entry) is not None]
    chip = len(styles(comparison))
    return _base_trace(chip, FRONT) | {
        "x": [x.at(entry) for entry in shown],
        "y": [y.at(entry) for entry in shown],
        "hoverinfo": "skip",
        "mode": "lines+markers",
        "line": {"shape": "hv", "width": 1.5},
        "marker": {"symbol": FRONT.symbol, "size": 17, "line": {"width": 1.5}},
    }


def _base_trace(chip: int, style: Style) -> Trace:
    """The parts that all traces of a contender share; page.js reads `meta`."""
    size = 12 if style.is_single else 9
    return {
        "type": "scatter",
        "hoverinfo": "text",
        "meta": {"chip": chip, "colour": style.colour},
        "line": {"dash": style.dash, "width": 1.75},
        "marker": {"symbol": style.symbol, "size": size, "line": {"width": 1.5}},
    }


def _hover(comparison: Comparison, entry: Entry) -> str:
    size = "" if entry.size is None else f", {text.count(entry.size)} features"
    lines = [
        f"<b>{_label(entry.name, 40)}{size}</b>",
        f"{comparison.metric} {text.score(entry.score, comparison.metric)}",
        f"time to fit {text.seconds(entry.fit_seconds.mean)}",
        f"{text.micros(entry.row_seconds.mean)} per row",
        f"model size {text.size(entry.model_bytes)}",
        f"peak memory {text.size(entry.memory_bytes)}",
    ]
    if entry.error is not None:
        lines.insert(2, f"kernel error {text.spread(entry.error)}")
    return "<br>".join(lines)


def _label(name: str, length: int) -> str:
    """A shortened name, escaped because Plotly interprets tags in text."""
    return html.escape(text.short(name, length), quote=False)


def _layout(x: Axis, y: Axis, data: list[Trace]) -> dict[str, Any]:
    xs = [value for trace in data for value in trace["x"]]
    ys = [value for trace in data for value in trace["y"]]
    return {"xaxis": _axis(x, xs), "yaxis": _axis(y, ys)}


def _axis(axis: Axis, values: list[float]) -> dict[str, Any]:
    layout: dict[str, Any] = {"title": {"text": axis.title}, "automargin": True}
    return layout | {"type": "log"} | log_ticks(values) if axis.log else layout


def log_ticks(values: list[float]) -> dict[str, Any]:
    """Ticks with all their digits; Plotly would label 20 and 50 as a small 2 and 5."""
    first = math.floor(math.log10(min(values, default=1))) - 1
    last = math.ceil(math.log10(max(values, default=1))) + 1
    steps = (1, 2, 5) if last - first <= 4 else (1,)
    ticks = [float(f"{step}e{p}") for p in range(first, last + 1) for step in steps]
    return {"tickvals": ticks, "ticktext": [text.number(tick, 1) for tick in ticks]}
