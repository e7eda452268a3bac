"""The figure of `peers.json`: speed, kernel error, and error against time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from .peer_learning import finished, front, of_library
from .peers import OURS, TITLES

COLOURS = {
    # Okabe and Ito's, which the colour-blind tell apart
    OURS: "#D55E00",
    "scikit-learn": "#0072B2",
    "sklearn-extra": "#009E73",
    "xgpr": "#CC79A7",
    "rfflearn": "#7F7F7F",
}
MARKERS = {
    OURS: "o",
    "scikit-learn": "s",
    "sklearn-extra": "^",
    "xgpr": "D",
    "rfflearn": "v",
}
STROKES = ("-", "--", ":", "-.")


def draw(found: dict[str, Any], path: Path) -> None:
    """Two by three panels: speed, kernel error, and the four data sets."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(15, 9), layout="constrained")
    axes = figure.subplots(2, 3).ravel()
    _speed(axes[0], found["speed"])
    if found["error"]:
        _errors(axes[1], found["error"])
    for axis, data in zip(axes[2:], found["learning"], strict=False):
        _learning(axis, data)
    for axis in axes[2 + len(found["learning"]) :]:
        axis.axis("off")
    handles = [
        axes[0].plot([], [], color=COLOURS[key], marker=MARKERS[key], ls="")[0]
        for key in COLOURS
    ]
    labels = [TITLES.get(key, key) for key in COLOURS]
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels))
    figure.savefig(path, dpi=110)


def _library(name: str) -> tuple[str, str]:
    library, _, rest = name.partition(" ")
    return library, rest


def _line(axis: Any, x: Any, y: Any, library: str, stroke: str) -> None:
    ours = library == OURS
    axis.plot(
        x,
        y,
        stroke,
        color=COLOURS[library],
        marker=MARKERS[library],
        lw=3 if ours else 1.3,
        ms=6 if ours else 5,
        zorder=3 if ours else 2,
    )


def _curves(axis: Any, x: list[Any], curves: dict[str, list[float]]) -> None:
    """A line for every map, its name at the right end."""
    strokes: dict[str, int] = {}
    ends = []
    for name, y in curves.items():
        library, rest = _library(name)
        stroke = STROKES[strokes.setdefault(library, 0) % len(STROKES)]
        strokes[library] += 1
        _line(axis, x, y, library, stroke)
        ends.append((y[-1], rest, COLOURS[library]))
    for height, rest, colour in _apart(ends):
        axis.annotate(
            rest,
            (1.01, height),
            xycoords=("axes fraction", "data"),
            color=colour,
            fontsize=8,
            va="center",
        )


def _apart(ends: list[tuple[float, str, str]], gap: float = 1.16) -> list[Any]:
    """Labels on a logarithmic axis, pushed up until none covers the next."""
    placed: list[tuple[float, str, str]] = []
    for height, rest, colour in sorted(ends):
        low = placed[-1][0] * gap if placed else 0.0
        placed.append((max(height, low), rest, colour))
    return placed


def _speed(axis: Any, shapes: list[dict[str, Any]]) -> None:
    axis.set(yscale="log", ylabel="ns per output", title="transform, float32")
    names = {name: None for shape in shapes for name in shape["ns"]}
    ticks = list(range(len(shapes)))
    curves = {
        name: [shape["ns"].get(name, float("nan")) for shape in shapes]
        for name in names
    }
    _curves(axis, ticks, curves)
    axis.set_xticks(ticks, [f"d = {shape['d']}\nM = {shape['M']}" for shape in shapes])


def _errors(axis: Any, error: dict[str, Any]) -> None:
    axis.set(
        xscale="log",
        yscale="log",
        xlabel="columns M",
        ylabel="‖ZZᵀ − K‖ / ‖K‖",
        title=f"kernel error, {error['data']}",
    )
    sizes = error["sizes"]
    curves = {
        name: [curve[str(m)] for m in sizes] for name, curve in error["curves"].items()
    }
    _curves(axis, sizes, curves)
    axis.set_xticks(sizes, [str(m) for m in sizes])
    axis.minorticks_off()


def _learning(axis: Any, data: dict[str, Any]) -> None:
    """Error against seconds; every library's front is joined, open points lie above."""
    measure = "error, %" if data["task"] == "classify" else "1 − R²"
    axis.set(
        xscale="log", yscale="log", xlabel="fit and predict, seconds", ylabel=measure
    )
    axis.set_title(f"{data['data']}, {data['rows'][0]:,} rows")
    scale = 100 if data["task"] == "classify" else 1
    ended = finished(data["points"])
    ours = [point["score"] for point in of_library(ended, OURS)] or [0.0]
    top = 1.1 * scale * (1 - min(ours))
    last = max((point["seconds"] for point in ended), default=1.0)
    for library, colour in COLOURS.items():
        own = of_library(ended, library)
        mine = library == OURS
        for point in own:
            y = scale * (1 - point["score"])
            axis.plot(
                point["seconds"],
                min(y, top),
                color=colour,
                marker=MARKERS[library],
                mfc="none" if y > top else colour,
                ms=9 if mine else 6,
                zorder=3 if mine else 2,
            )
        steps = [(p["seconds"], min(scale * (1 - p["score"]), top)) for p in front(own)]
        if steps:
            steps.append((last, steps[-1][1]))  # its best holds from there on
            x, y = zip(*steps, strict=True)
            axis.step(x, y, where="post", color=colour, lw=3 if mine else 1.3)
    for ruler in (axis.xaxis, axis.yaxis):
        ruler.set_major_formatter("{x:g}")
    axis.yaxis.set_minor_formatter("{x:.3g}")
    axis.grid(alpha=0.3)
