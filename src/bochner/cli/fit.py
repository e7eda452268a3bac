"""`bochner fit`: learn a model and write it to a file."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer

from .._atomic import check_writable
from ..execution.memory import readable
from ..jobs.fitting import Fitted
from ..jobs.fitting import fit as fit_data
from ..jobs.learning import Learning
from ..jobs.opening import open_data
from ..jobs.using import last_step
from ..methods import METHODS
from ..persistence import save
from . import options, show
from .console import out, print_json, reading, say, told

MODEL = "The model"


def fit(
    data: options.Data,
    out_file: Annotated[
        Path, typer.Option("--out", "-o", help="The file to write, as model.bochner.")
    ],
    target: options.Target = None,
    features: Annotated[
        str | None,
        typer.Option(help=f"A method: {', '.join(METHODS)}.", rich_help_panel=MODEL),
    ] = None,
    size: Annotated[
        int | None, typer.Option(help="Number of features.", rich_help_panel=MODEL)
    ] = None,
    gamma: Annotated[
        str | None,
        typer.Option(
            help="Bandwidth: a number, or scale, median, knn, cnm.",
            rich_help_panel=MODEL,
        ),
    ] = None,
    loss: Annotated[
        str | None,
        typer.Option(
            help="hinge, squared or log; by default hinge, or where rows are streamed "
            "squared, which takes one pass.",
            rich_help_panel=MODEL,
        ),
    ] = None,
    alpha: Annotated[
        str, typer.Option(help="Penalty: a number, or auto.", rich_help_panel=MODEL)
    ] = "auto",
    calibrate: Annotated[
        bool, typer.Option(help="Learn probabilities too.", rich_help_panel=MODEL)
    ] = False,
    standardise: Annotated[
        bool, typer.Option(help="Scale all features.", rich_help_panel=MODEL)
    ] = False,
    memory: Annotated[
        str | None,
        typer.Option(help="Budget beside the data, as 1GiB.", rich_help_panel=MODEL),
    ] = None,
    checkpoint: Annotated[
        Path | None,
        typer.Option(
            help="Resume from this file, and write to it.", rich_help_panel=MODEL
        ),
    ] = None,
    seeds: Annotated[
        bool, typer.Option(help="Store seeds in place of random maps.")
    ] = False,
    task: options.Task = None,
    numbers: options.Numbers = None,
    categories: options.Categories = None,
    dates: options.Dates = None,
    drop: options.Drop = None,
    seed: options.Seed = 0,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Tell every step.")
    ] = False,
    as_json: options.AsJson = False,
    debug: options.Debug = False,
) -> None:
    """Fit a kernel machine on DATA, and write it to a file.

    As it comes, map, size, bandwidth and penalty are chosen from the data. Text,
    dates and missing values of tables are dealt with, and stored with the model. Rows
    that take more than 256 MiB are streamed.
    """
    out_file = out_file.expanduser()
    with told(debug, lambda: f"{out_file} was not written."):
        start = time.perf_counter()
        check_writable("fit", out_file)
        learning = Learning(
            task=task,
            features=features,
            size=size,
            gamma=options.number_or_word(gamma),
            loss=loss,
            alpha=options.number_or_word(alpha),
            calibrate=calibrate,
            standardise=standardise,
            memory=memory,
            checkpoint=None if checkpoint is None else str(checkpoint),
            seed=seed,
            verbose=int(verbose),
            columns=options.kinds_asked(numbers, categories, dates, drop),
        )
        given = open_data(data, target=target, columns=learning.columns)
        with reading("reading", given.blocks.about_rows()) as bar:
            found = fit_data(given, learning, bar.say, bar.rows)
            bar.say("writing")
            save(found.model, out_file, seeds=seeds)
        _told(found, out_file, time.perf_counter() - start, as_json)


def _told(found: Fitted, path: Path, seconds: float, as_json: bool) -> None:
    size = path.stat().st_size
    if as_json:
        told_of = {"model": str(path), "task": found.task, "rows": found.n_rows}
        more = {"streamed": found.streamed, "seconds": seconds, "bytes": size}
        print_json({**told_of, **more, "notes": list(found.notes)})
        return
    last = last_step(found.model)
    loss = f", loss {last.loss}" if hasattr(last, "loss") else ""
    rows = [
        ("task", f"{found.task}{loss}"),
        ("rows", f"{found.n_rows:,}{', streamed' if found.streamed else ''}"),
        *(("columns", note) for note in found.notes),
        ("time", show.seconds(seconds)),
        ("model", f"{path}, {readable(size)}"),
    ]
    out.print(show.facts("Fitted", rows))
    say(f"Next: bochner predict {path} DATA --out scores.csv")
