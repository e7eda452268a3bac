"""`bochner compare` and `bochner recommend`: which map suits the user's data."""

from __future__ import annotations

import shlex
import sys
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from ..compare.compare import EXACT_ROWS, REPEATS, SIZES, compare_dataset
from ..compare.recommend import recommend_dataset
from ..compare.recommendation import Recommendation, Trial
from ..compare.report.page import check_installed, write
from ..compare.results import METHOD, Comparison, Entry
from ..compare.task import CLASSIFICATION
from . import console
from .console import UNMET, counting, out, print_json, reporting_errors, say
from .opening import load_rows
from .outputs import check_output


def compare(
    data: console.Data,
    target: console.Target = None,
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
        typer.Option(help="Use at most this many rows, at random (default 50,000)."),
    ] = None,
    exact_rows: Annotated[
        int, typer.Option(help="Rows for the exact kernel machine; 0 leaves it out.")
    ] = EXACT_ROWS,
    report: Annotated[
        Path | None, typer.Option(help="Write a page about it to this HTML file.")
    ] = None,
    task: console.Task = None,
    numbers: console.Numbers = None,
    categories: console.Categories = None,
    dates: console.Dates = None,
    drop: console.Drop = None,
    seed: console.Seed = 0,
    as_json: console.AsJson = False,
    debug: console.Debug = False,
) -> None:
    """Compare methods and sizes on DATA: how good, how fast, how large.

    The default learner (plain 'bochner fit') takes part. References: a linear model,
    boosted trees of scikit-learn and, on a subsample, the exact kernel machine.
    """
    found: list[Entry] = []
    done = lambda: _interrupted_comparison(found)  # noqa: E731
    with reporting_errors(debug, done):
        if report is not None:
            check_output("compare", report, data, target)
            check_installed()
        asked = console.kinds_asked(numbers, categories, dates, drop)
        with counting(f"comparing on {Path(data).name}") as step:
            given = load_rows(data, target, asked, rows, seed)
            result = compare_dataset(
                given,
                methods=console.names(methods) or None,
                sizes=console.counts("sizes", sizes) or (),
                repeats=repeats,
                task=task,
                loss=loss,
                exact_rows=exact_rows,
                columns=asked,
                progress=step,
                on_entry=found.append,
                random_state=seed,
            )
        result = replace(result, command=_command())
        _print_comparison(result, as_json)
        if report is not None:
            write(result, report)
            say(f"Report: {report}")


def _print_comparison(result: Comparison, as_json: bool) -> None:
    if as_json:
        print_json(result.to_dict())
        return
    out.print(console.comparison_table(result))
    lead = result.trees_lead()
    if lead is not None:
        out.print(lead, markup=False, style="bold")
    for failure in result.failures:
        size = "" if failure.size is None else f", {failure.size}"
        say(f"{failure.name}{size} left out: {failure.reason}")
    for note in result.data.notes:
        say(note)


def _interrupted_comparison(found: list[Entry]) -> str:
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


TARGETS = "What you want"
SHOWN = 5
"""Trials that are listed when a search is broken off."""


def recommend(
    data: console.Data,
    target: console.Target = None,
    within: Annotated[
        float | None,
        typer.Option(
            help="The fastest model within this many points of accuracy (hundredths of "
            "R²) of the best, the exact kernel machine included.",
            rich_help_panel=TARGETS,
        ),
    ] = None,
    kernel_error: Annotated[
        float | None,
        typer.Option(
            help="The fastest model whose relative kernel error is at most this.",
            rich_help_panel=TARGETS,
        ),
    ] = None,
    microseconds: Annotated[
        float | None,
        typer.Option(help="At most, to predict a row.", rich_help_panel=TARGETS),
    ] = None,
    megabytes: Annotated[
        float | None,
        typer.Option(help="At most, of the model's file.", rich_help_panel=TARGETS),
    ] = None,
    methods: Annotated[
        str | None,
        typer.Option("--methods", "-m", help="Names between commas; all by default."),
    ] = None,
    sizes: Annotated[
        str | None,
        typer.Option("--sizes", "-s", help="Numbers of features between commas."),
    ] = None,
    loss: Annotated[
        str, typer.Option(help="Of classifiers: squared (fast), hinge or log.")
    ] = "squared",
    rows: Annotated[
        int | None,
        typer.Option(help="Use at most this many rows, at random (default 50,000)."),
    ] = None,
    task: console.Task = None,
    numbers: console.Numbers = None,
    categories: console.Categories = None,
    dates: console.Dates = None,
    drop: console.Drop = None,
    seed: console.Seed = 0,
    as_json: console.AsJson = False,
    debug: console.Debug = False,
) -> None:
    """Search methods, sizes and bandwidths on DATA, and say what to use.

    Without a target: the best score. The default learner (plain 'bochner fit') takes
    part; scikit-learn's boosted trees are shown for comparison. The expected figures
    are of rows that had no part in the search. Exit code 3: nothing meets the target.
    """
    tried: list[Trial] = []
    with reporting_errors(debug, lambda: _interrupted_search(tried)):
        asked = console.kinds_asked(numbers, categories, dates, drop)
        with counting(f"searching on {Path(data).name}") as step:
            given = load_rows(data, target, asked, rows, seed)
            found = recommend_dataset(
                given,
                within=within,
                kernel_error=kernel_error,
                microseconds=microseconds,
                megabytes=megabytes,
                methods=console.names(methods) or None,
                sizes=console.counts("sizes", sizes),
                task=task,
                loss=loss,
                columns=asked,
                progress=step,
                on_trial=tried.append,
                random_state=seed,
            )
        line = _fit_command(data, target, asked, found, seed)
        if as_json:
            print_json({**found.to_dict(), "command": line})
        else:
            _print_recommendation(found, line)
        if not found.met:
            raise typer.Exit(UNMET)


def _print_recommendation(found: Recommendation, line: str) -> None:
    out.print(console.trials_table(found))
    out.print(console.recommendation_table(found))
    lead = found.trees_lead()
    if lead is not None:
        out.print(lead, markup=False, style="bold")
    for note in found.data.notes:
        say(note)
    out.print("\nIn Python:\n", markup=False)
    out.print(found.code, markup=False, soft_wrap=True)
    out.print("\nIn the shell:\n", markup=False)
    out.print(line, markup=False, soft_wrap=True)


def _interrupted_search(tried: list[Trial]) -> str:
    """The best so far when the user breaks off, those on most rows first."""
    best = sorted(tried, key=lambda trial: (-trial.n_rows, -trial.score))
    lines = [
        f"{trial.contender.description}, on {trial.n_rows:,} rows: {trial.score:.4f}"
        for trial in best[:SHOWN]
    ]
    return "\n".join([f"Nothing was chosen; {len(tried)} were tried.", *lines])


def _fit_command(
    data: str,
    target: str | None,
    asked: dict[str, list[str]],
    found: Recommendation,
    seed: int,
) -> str:
    """The same model by `bochner fit`."""
    choice = found.choice
    words = ["bochner", "fit", data]
    if choice.role == METHOD:
        words += ["--features", choice.name, "--size", str(choice.size)]
        words += ["--gamma", f"{choice.gamma:g}"]
    words += ["--seed", str(seed), "--task", found.data.task]
    if found.data.task == CLASSIFICATION:
        words += ["--loss", choice.loss]
    if found.standardised:
        words.append("--standardise")
    if target is not None:
        words += ["--target", target]
    for kind, columns in asked.items():
        words += [f"--{kind}", console.listed(columns)]
    return " ".join(shlex.quote(word) for word in [*words, "--out", "model.bochner"])
