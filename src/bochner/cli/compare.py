"""`bochner compare`: feature maps on the user's data."""

from __future__ import annotations

import shlex
import sys
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from .._atomic import check_writable
from ..comparison.compare import EXACT_ROWS, REPEATS, SIZES, compare_rows
from ..comparison.results import Comparison, Entry
from ..jobs.rows import rows_at_hand
from ..report import check_installed, write
from . import options, show
from .console import counting, out, print_json, say, told


def compare(
    data: options.Data,
    target: options.Target = None,
    methods: Annotated[
        str | None,
        typer.Option("--methods", "-m", help="Names between commas; all by default."),
    ] = None,
    sizes: Annotated[
        str, typer.Option("--sizes", "-s", help="Numbers of features between commas.")
    ] = ",".join(map(str, SIZES)),
    repeats: Annotated[
        int, typer.Option("--repeats", "-r", help="Draws of every random map.")
    ] = REPEATS,
    loss: Annotated[
        str, typer.Option(help="Of classifiers: squared (fast), hinge or log.")
    ] = "squared",
    rows: Annotated[
        int | None,
        typer.Option(
            help="Use at most so many rows, at random; 50,000 of larger data."
        ),
    ] = None,
    exact_rows: Annotated[
        int, typer.Option(help="Rows for the exact kernel machine; 0 leaves it out.")
    ] = EXACT_ROWS,
    report: Annotated[
        Path | None, typer.Option(help="Write a page about it to this HTML file.")
    ] = None,
    task: options.Task = None,
    numbers: options.Numbers = None,
    categories: options.Categories = None,
    dates: options.Dates = None,
    drop: options.Drop = None,
    seed: options.Seed = 0,
    as_json: options.AsJson = False,
    debug: options.Debug = False,
) -> None:
    """Compare methods and sizes on DATA: how good, how fast, how large.

    The default learner (plain 'bochner fit') takes part. References: a linear model,
    boosted trees of scikit-learn and, on a subsample, the exact kernel machine.
    """
    found: list[Entry] = []
    done = lambda: _broken_off(found)  # noqa: E731
    with told(debug, done):
        if report is not None:
            check_writable("compare", report)
            check_installed()
        asked = options.kinds_asked(numbers, categories, dates, drop)
        with counting(f"comparing on {Path(data).name}") as step:
            given = rows_at_hand(data, target, asked, rows, seed)
            result = compare_rows(
                given,
                methods=options.names(methods) or None,
                sizes=options.counts("sizes", sizes) or (),
                repeats=repeats,
                task=task,
                loss=loss,
                exact_rows=exact_rows,
                columns=asked,
                progress=step,
                found=found.append,
                random_state=seed,
            )
        result = replace(result, command=_command())
        _told(result, as_json)
        if report is not None:
            write(result, report)
            say(f"Report: {report}")


def _told(result: Comparison, as_json: bool) -> None:
    if as_json:
        print_json(result.to_dict())
        return
    out.print(show.comparison_table(result))
    lead = result.trees_lead()
    if lead is not None:
        out.print(lead, markup=False, style="bold")
    for failure in result.failures:
        size = "" if failure.size is None else f", {failure.size}"
        say(f"{failure.name}{size} left out: {failure.reason}")
    for note in result.data.notes:
        say(note)


def _broken_off(found: list[Entry]) -> str:
    """What there is when the user breaks off."""
    if not found:
        return "Nothing was measured."
    best = max(found, key=lambda entry: entry.score.mean)
    text = "\n".join(
        f"{e.label}: {e.score.mean:.4f}, fit {e.fit_seconds.mean:.2f} s" for e in found
    )
    return f"{len(found)} were measured, the best being {best.label}:\n{text}"


def _command() -> str:
    """What the user has typed."""
    return " ".join(["bochner", *map(shlex.quote, sys.argv[1:])])
