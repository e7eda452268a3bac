"""Charts, as plain figures of Plotly; colours are left to the page and its themes."""

from __future__ import annotations

import html
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ..comparison.results import DEFAULT, EXACT, METHOD, TREES, Comparison, Entry
from . import text
from .finding import measured
from .styles import FRONT, Style, styles

MAX_TICKS = 8
PAD = 1.25
"""By how much an axis of features is longer than what it shows, at either end."""

Value = Callable[[Entry], "float | None"]
Trace = dict[str, Any]


@dataclass(frozen=True)
class Chart:
    """A chart: what it is called, what it shows in words, its traces and axes."""

    key: str
    title: str
    about: str
    data: list[Trace]
    layout: dict[str, Any]


@dataclass(frozen=True)
class Axis:
    """What an axis shows of an entry."""

    title: str
    value: Value
    deviation: Value | None = None
    log: bool = False

    def at(self, entry: Entry) -> float | None:
        """Where an entry stands; None where it has no place on the axis."""
        found = self.value(entry)
        if text.known(found) is None or found is None:
            return None
        return None if self.log and found <= 0 else float(found)

    def bar(self, entry: Entry) -> float | None:
        """Half of its error bar; None where that would reach below a log axis."""
        found = self.deviation(entry) if self.deviation else None
        value = self.at(entry)
        if text.known(found) is None or found is None or value is None:
            return None
        return None if self.log and found >= value else float(found)


def charts(comparison: Comparison) -> list[Chart]:
    """The charts that have something to show."""
    metric = comparison.metric
    score = _score_axis(metric)
    found = [
        _by_features(comparison, score, f"{metric} by number of features"),
        _by_cost(comparison, FIT, score, "fit", f"{metric} by time to fit"),
        _by_features(comparison, ERROR, "kernel error by number of features"),
        _by_cost(comparison, ROW, score, "row", f"{metric} by time to predict"),
    ]
    return [chart for chart in found if chart.data]


def _score_axis(metric: str) -> Axis:
    scale = 100.0 if metric == "accuracy" else 1.0

    def deviation(entry: Entry) -> float | None:
        found = entry.score.deviation
        return None if found is None else scale * found

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
    """Lines of methods over their sizes; scores also have level lines of the rest."""
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
    """Ticks at the sizes themselves."""
    shown = sizes[:: math.ceil(len(sizes) / MAX_TICKS)]
    return {
        "range": [math.log10(end) for end in ends],
        "tickvals": shown,
        "ticktext": [text.count(int(size)) for size in shown],
    }


def _by_cost(comparison: Comparison, x: Axis, y: Axis, key: str, title: str) -> Chart:
    """Every entry at its cost; beside times to fit also the front."""
    data = _contenders(comparison, x, y)
    about = "Up and left is better."
    if data and key == "fit":
        about += " Ringed: the Pareto front."
        data.insert(0, _front(comparison, x, y))
    return Chart(key, title, about, data, _layout(x, y, data))


def _contenders(
    comparison: Comparison, x: Axis, y: Axis, roles: set[str] | None = None
) -> list[Trace]:
    """A trace of every contender that has a place in the chart."""
    found = []
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
            found.append(_trace(comparison, shown, x, y, _look(chip, style)))
    return found


def _trace(
    comparison: Comparison, shown: list[Entry], x: Axis, y: Axis, look: Trace
) -> Trace:
    trace = look | {
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
    """Contenders that have no size, from end to end."""
    found = []
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
            found.append(_look(chip, style) | level)
    return found


def _level_label(entry: Entry, n: int) -> Trace:
    """A name at an end and a side of the line that no other level has.

    The exact kernel and the default learner are named on the left, where methods,
    which have few features there, are seldom near.
    """
    name, blank = _label(entry.name, 24), [""] * (n - 1)
    side = "bottom" if entry.role in (DEFAULT, TREES) else "top"
    if entry.role in (EXACT, DEFAULT):
        return {"text": ["\u00a0" + name, *blank], "textposition": f"{side} right"}
    return {"text": [*blank, name + "\u00a0"], "textposition": f"{side} left"}


def _front(comparison: Comparison, x: Axis, y: Axis) -> Trace:
    """Steps along the front, rings around its entries."""
    shown = [entry for entry in measured(comparison).front() if x.at(entry) is not None]
    chip = len(styles(comparison))
    look = _look(chip, FRONT) | {"hoverinfo": "skip", "mode": "lines+markers"}
    look["line"] = {"shape": "hv", "width": 1.5}
    look["marker"] = {"symbol": FRONT.symbol, "size": 17, "line": {"width": 1.5}}
    xs, ys = [x.at(entry) for entry in shown], [y.at(entry) for entry in shown]
    return look | {"x": xs, "y": ys}


def _look(chip: int, style: Style) -> Trace:
    """What all traces of a contender share; `meta` is for page.js."""
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
    """A name that Plotly, which reads tags in text, shows as it is."""
    return html.escape(text.short(name, length), quote=False)


def _layout(x: Axis, y: Axis, data: list[Trace]) -> dict[str, Any]:
    across = [value for trace in data for value in trace["x"]]
    along = [value for trace in data for value in trace["y"]]
    return {"xaxis": _axis(x, across), "yaxis": _axis(y, along)}


def _axis(axis: Axis, values: list[float]) -> dict[str, Any]:
    found: dict[str, Any] = {"title": {"text": axis.title}, "automargin": True}
    return found | {"type": "log"} | log_ticks(values) if axis.log else found


def log_ticks(values: list[float]) -> dict[str, Any]:
    """Ticks with all their digits, where Plotly would write a small 2 and 5."""
    first = math.floor(math.log10(min(values, default=1))) - 1
    last = math.ceil(math.log10(max(values, default=1))) + 1
    steps = (1, 2, 5) if last - first <= 4 else (1,)
    ticks = [float(f"{step}e{p}") for p in range(first, last + 1) for step in steps]
    return {"tickvals": ticks, "ticktext": [text.number(tick, 1) for tick in ticks]}
