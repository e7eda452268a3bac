"""The papers' figures redrawn: ours in full lines, theirs dashed and open."""

from __future__ import annotations

import html
from dataclasses import dataclass
from typing import Any

from bochner.compare.report.charts import Chart, Style, log_ticks, series_style

from .cells import Cell
from .run import Reproduction

BESIDE = "Full lines: ours. Dashed, open: the paper's."


@dataclass(frozen=True)
class Figure:
    """A chart of a paper, and how its series look."""

    paper: str
    chart: Chart
    series: dict[str, Style]


def figures(found: Reproduction) -> list[Figure]:
    """One for every table with an axis, and one for every figure of curves."""
    drawn: list[Figure] = []
    for table in dict.fromkeys(cell.table for cell in found.cells if cell.table.x):
        cells = [cell for cell in found.cells if cell.table == table and cell.series]
        titles = table.x, table.what
        names = list(dict.fromkeys(cell.series for cell in cells))
        data = [
            trace
            for i, name in enumerate(names)
            for trace in _pair([c for c in cells if c.series == name], i)
        ]
        figure = _figure(len(drawn), table.title, BESIDE, data, titles)
        drawn.append(Figure(table.paper, figure, _looks(names)))
    for key in dict.fromkeys((curve.paper, curve.figure) for curve in found.curves):
        curves = [c for c in found.curves if (c.paper, c.figure) == key]
        first = curves[0]
        data = [
            _line(c.x, c.y, series_style(i), c.series) for i, c in enumerate(curves)
        ]
        titles = first.x_title, first.y_title
        figure = _figure(len(drawn), first.figure, "Ours.", data, titles, first.log)
        drawn.append(Figure(first.paper, figure, _looks([c.series for c in curves])))
    return drawn


def _looks(names: list[str]) -> dict[str, Style]:
    return {name: series_style(i) for i, name in enumerate(names)}


def _pair(cells: list[Cell], i: int) -> list[dict[str, Any]]:
    """Ours and theirs of one series, in the same colour."""
    style = series_style(i)
    symbol = style.symbol.removesuffix("-open")
    ours = Style(style.colour, symbol, "solid")
    theirs = Style(style.colour, f"{symbol}-open", "dash")
    known = sorted(cells, key=lambda cell: cell.x or 0)
    x = [float(cell.x or 0) for cell in known]
    name = cells[0].series
    return [
        _line(x, [cell.theirs for cell in known], theirs, f"{name}, theirs"),
        _line(x, [cell.ours for cell in known], ours, f"{name}, ours"),
    ]


def _line(x: Any, y: Any, style: Style, name: str) -> dict[str, Any]:
    shown, pairs = html.escape(name, quote=False), zip(x, y, strict=True)
    return {
        "type": "scatter",
        "mode": "lines+markers" if len(x) < 20 else "lines",
        "x": list(x),
        "y": list(y),
        "hoverinfo": "text",
        "hovertext": [f"<b>{shown}</b><br>{a:g}: {b:.4g}" for a, b in pairs],
        "meta": {"chip": 0, "colour": style.colour},
        "line": {"dash": style.dash, "width": 1.75},
        "marker": {"symbol": style.symbol, "size": 9, "line": {"width": 1.5}},
    }


def _figure(
    place: int,
    title: str,
    about: str,
    data: list[dict[str, Any]],
    titles: tuple[str, str],
    log: tuple[bool, bool] = (True, False),
) -> Chart:
    layout = {
        axis: {"title": {"text": words}, "automargin": True}
        | ({"type": "log"} | log_ticks(_values(data, axis[0])) if is_log else {})
        for axis, words, is_log in zip(("xaxis", "yaxis"), titles, log, strict=True)
    }
    return Chart(str(place), title, about, data, layout)


def _values(data: list[dict[str, Any]], axis: str) -> list[float]:
    return [value for trace in data for value in trace[axis] if value > 0]
