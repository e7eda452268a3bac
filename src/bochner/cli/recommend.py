"""`bochner recommend`: what to use on the user's data."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

from ..comparison.results import METHOD
from ..comparison.task import CLASSIFICATION
from ..jobs.rows import rows_at_hand
from ..recommend.recommend import recommend_rows
from ..recommend.results import Recommendation, Trial
from . import options, show
from .console import UNMET, counting, out, print_json, say, told

TARGETS = "What you want"
SHOWN = 5
"""Trials that are listed when a search is broken off."""


def recommend(
    data: options.Data,
    target: options.Target = None,
    within: Annotated[
        float | None,
        typer.Option(
            help="The fastest model within so many points of accuracy (hundredths of "
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
        typer.Option(
            help="Use at most so many rows, at random; 50,000 of larger data."
        ),
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
    """Search methods, sizes and bandwidths on DATA, and say what to use.

    Without a target: the best score. The default learner (plain 'bochner fit') takes
    part; scikit-learn's boosted trees are shown for comparison. The expected figures
    are of rows that had no part in the search. Exit code 3: nothing meets the target.
    """
    tried: list[Trial] = []
    with told(debug, lambda: _broken_off(tried)):
        asked = options.kinds_asked(numbers, categories, dates, drop)
        with counting(f"searching on {Path(data).name}") as step:
            given = rows_at_hand(data, target, asked, rows, seed)
            found = recommend_rows(
                given,
                within=within,
                kernel_error=kernel_error,
                microseconds=microseconds,
                megabytes=megabytes,
                methods=options.names(methods) or None,
                sizes=options.counts("sizes", sizes),
                task=task,
                loss=loss,
                columns=asked,
                progress=step,
                tried=tried.append,
                random_state=seed,
            )
        line = _fit_command(data, target, asked, found, seed)
        if as_json:
            print_json({**found.to_dict(), "command": line})
        else:
            _told(found, line)
        if not found.met:
            raise typer.Exit(UNMET)


def _told(found: Recommendation, line: str) -> None:
    out.print(show.trials_table(found))
    out.print(show.recommendation_table(found))
    lead = found.trees_lead()
    if lead is not None:
        out.print(lead, markup=False, style="bold")
    for note in found.data.notes:
        say(note)
    out.print("\nIn Python:\n", markup=False)
    out.print(found.code, markup=False, soft_wrap=True)
    out.print("\nIn the shell:\n", markup=False)
    out.print(line, markup=False, soft_wrap=True)


def _broken_off(tried: list[Trial]) -> str:
    """The best so far when the user breaks off, those on most rows first."""
    best = sorted(tried, key=lambda trial: (-trial.n_rows, -trial.score))
    lines = [
        f"{trial.contender.described}, on {trial.n_rows:,} rows: {trial.score:.4f}"
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
        words += [f"--{kind}", options.listed(columns)]
    return " ".join(shlex.quote(word) for word in [*words, "--out", "model.bochner"])
