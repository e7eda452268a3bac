"""Time of the automatic learners beside boosted trees and SVC, as ratios.

At least 20 data sets of BOCHNER_DATA, each contender with its default settings in a
process of its own, warm, in turn. `--cold` measures the first fit of a new process,
`--load` five sets while a loop keeps every core busy. See `field_run` for the options.
"""

from __future__ import annotations

import math
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from . import field_data
from .field_contenders import AUTOMATIC
from .field_run import (
    THREADS,
    Cell,
    Contender,
    Options,
    Store,
    mark_capped,
    measure,
    options,
    seconds,
)
from .timing import print_table

PART = "split"
QUICK = ("vehicle", "churn", "abalone_reg")
RIVALS = {"CatBoost": 0.35, "HGB": 2.0, "LightGBM": None}
"""Rivals of the geometric means, and the bar of each."""


def run(quick: bool = False, arguments: Sequence[str] = ()) -> None:
    """Measure what is missing and print the tables."""
    given = options("automatic", AUTOMATIC, list(arguments))
    store = Store(given.results)
    known = field_data.available()
    names = given.only or [name for name in field_data.AUTOMATIC if name in known]
    names = list(QUICK) if quick and not given.only else names
    if given.load:
        loaded(given, [n for n in field_data.LOADED if n in (given.only or known)])
        return
    if given.cold:
        cold(given, names)
        return
    if not given.table:
        repeats = 1 if quick else given.repeats
        measure(store, given, {name: [PART] for name in names}, repeats)
    print_times(store, names)


def print_times(store: Store, names: list[str]) -> None:
    """Seconds, scores, ratios and the bars."""
    cells = {name: {c: store.get(name, c, PART) for c in AUTOMATIC} for name in names}
    cells = {name: row for name, row in cells.items() if any(row.values())}
    for row in cells.values():
        mark_capped(row)
    rows = [
        [_label(name, row), *map(_time, row.values())] for name, row in cells.items()
    ]
    print_table(
        "fit + predict, seconds (> stopped, * fewer rows: no time)",
        ["data", *AUTOMATIC],
        rows,
    )
    rows = [[name, *map(_score, row.values())] for name, row in cells.items()]
    print_table("accuracy or R² (* fewer rows)", ["data", *AUTOMATIC], rows)
    rows = [[name, *map(_memory, row.values())] for name, row in cells.items()]
    print_table("peak memory, GiB", ["data", *AUTOMATIC], rows)
    print_table("ours / rival, time", RATIO_HEADER, ratios(cells))
    print("", *bars(cells), *sessions(cells), sep="\n")


RATIO_HEADER = ["rival", "sets", "geometric mean", "bar", "worst", "on"]


def ratios(cells: dict[str, dict[str, Cell | None]]) -> list[list[str]]:
    """Geometric mean and worst ratio of our time to each rival's."""
    lines = []
    for rival, bar in RIVALS.items():
        each = {name: ratio(row, rival) for name, row in cells.items()}
        known = {name: value for name, value in each.items() if value is not None}
        if known:
            mean = math.exp(sum(map(math.log, known.values())) / len(known))
            worst = max(known, key=lambda name: known[name])
            shown = "" if bar is None else f"{bar:g}"
            count = str(len(known))
            line = [rival, count, f"{mean:.2f}", shown, f"{known[worst]:.2f}", worst]
            lines.append(line)
    return lines


def ratio(row: dict[str, Cell | None], rival: str) -> float | None:
    """Our time over a rival's, at most that where the rival was stopped."""
    ours, theirs = seconds(row["ours"]), seconds(row[rival])
    return ours / theirs if ours and theirs else None


def bars(cells: dict[str, dict[str, Cell | None]]) -> list[str]:
    """How many sets keep the bars on time."""
    lines = []
    sized = {
        name: (int(row["ours"]["rows"]), seconds(row["ours"]))
        for name, row in cells.items()
        if row["ours"] and "rows" in row["ours"]
    }
    for title, low, high, bar in (
        ("below 5,000 rows", 0, 5000, 1.0),
        ("30,000 to 60,000 rows", 30_000, 60_001, 6.0),
    ):
        times = {
            name: time
            for name, (rows, time) in sized.items()
            if low <= rows < high and name not in field_data.IMAGES and time
        }
        lines.append(_bar(title, times, bar))
    for name, bar in (("covtype", 40.0), ("mnist", 15.0)):
        if name in sized:
            lines.append(_bar(name, {name: sized[name][1] or math.inf}, bar))
    slower = [n for n, row in cells.items() if (ratio(row, "CatBoost") or 0) > 1]
    lines.append(f"slower than CatBoost: {', '.join(slower) or 'nowhere'}")
    return lines


def _bar(title: str, times: dict[str, float], bar: float) -> str:
    over = [f"{name} {time:.1f}" for name, time in times.items() if time > bar]
    kept = len(times) - len(over)
    return f"{title}: {kept} of {len(times)} within {bar:g} s" + (
        f"; not {', '.join(over)}" if over else ""
    )


def sessions(cells: dict[str, dict[str, Cell | None]]) -> list[str]:
    """A warning where contenders were not measured in one run, on one quiet machine."""
    measured = [cell for row in cells.values() for cell in row.values() if cell]
    lines = []
    if len({cell["session"] for cell in measured}) > 1:
        lines.append("not one run: times of some contenders are from an earlier one")
    limited = {cell["threads"] for cell in measured if "threads" in cell}
    if limited:
        lines.append(f"some cells ran with {THREADS}={'/'.join(sorted(limited))}")
    busy = max((cell["load"] for cell in measured), default=0.0)
    if busy > 1.5 * (os.cpu_count() or 1):
        lines.append(
            f"the machine was busy (load up to {busy:g}): times are indicative"
        )
    return lines


def _label(name: str, row: dict[str, Cell | None]) -> str:
    for cell in row.values():
        if cell and "columns" in cell and "stopped" not in cell:
            return f"{name}, {cell['rows']:,} × {cell['columns']}"
    return name


def _time(cell: Cell | None) -> str:
    value = seconds(cell)
    if value is None:
        return ("*" if "capped" in cell else "failed") if cell else ""
    return f"{'>' if cell and 'stopped' in cell else ''}{value:.2f}"


def _score(cell: Cell | None) -> str:
    if not cell or "score" not in cell:
        return "failed" if cell else ""
    return f"{cell['score']:.4f}{'*' if {'stopped', 'capped'} & cell.keys() else ''}"


def _memory(cell: Cell | None) -> str:
    return f"{cell['memory']:.2f}" if cell and "memory" in cell else ""


def cold(given: Options, names: list[str]) -> None:
    """Import, first fit and second fit of a new process, on at most 1,000 rows."""
    rows = []
    for name in names:
        for contender in given.contenders:
            with Contender(name, contender, PART, given.limit) as one:
                times = one.ask({"cold": True})
            cells = [f"{times[key]:.2f}" for key in ("import", "cold", "warm")]
            rows.append([f"{name} {contender}", *cells])
    header = ["new process", "import, s", "first fit, s", "second fit, s"]
    print_table("cold start, at most 1,000 rows", header, rows)


@contextmanager
def busy_cores() -> Iterator[list[subprocess.Popen[bytes]]]:
    """An endless loop of normal priority for every core."""
    loop = [sys.executable, "-c", "while True: pass"]
    loops = [subprocess.Popen(loop) for _ in range(os.cpu_count() or 1)]
    try:
        yield loops
    finally:
        for process in loops:
            process.kill()
            process.wait()


def loaded(given: Options, names: list[str]) -> None:
    """Time while every core is busy over the quiet time, ours and LightGBM's."""
    rows = []
    which = [c for c in given.contenders if c in ("ours", "LightGBM")]
    for name in names:
        line = [name]
        for contender in which:
            quiet, busy = _quiet_and_busy(given, name, contender)
            line += [f"{quiet:.2f}", f"{busy:.2f}", f"{busy / quiet:.1f}"]
        rows.append(line)
    header = [f"{c}, {what}" for c in which for what in ("quiet", "busy", "factor")]
    print_table("seconds beside a busy loop on every core", ["data", *header], rows)


def _quiet_and_busy(given: Options, name: str, contender: str) -> tuple[float, float]:
    with Contender(name, contender, PART, given.limit) as one:

        def best() -> float:
            runs: list[Any] = [one.ask({}) for _ in range(given.repeats)]
            return min(run["fit"] + run["predict"] for run in runs)

        quiet = best()
        with busy_cores():
            return quiet, best()
