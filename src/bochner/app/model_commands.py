"""`bochner fit`, `predict`, `evaluate`, `export` and `info`: models and their files."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Annotated, Any

import typer

from .._core.memory import readable
from ..export.onnx import export as export_onnx
from ..export.persistence import load, save
from ..methods import METHODS
from . import console
from .console import out, print_json, reading, reporting_errors, say
from .describing import describe_machine, describe_model
from .fitting import Fitted, Learning
from .fitting import fit as fit_data
from .opening import open_data
from .outputs import check_output, is_standard_output
from .predicting import evaluate as evaluate_rows
from .predicting import (
    last_step,
    rows_for,
    stream_predictions,
    unknown_columns,
    write_predictions,
)

MODEL = "The model"


def fit(
    data: console.Data,
    out_file: Annotated[
        Path, typer.Option("--out", "-o", help="The file to write, as model.bochner.")
    ],
    target: console.Target = None,
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
    task: console.Task = None,
    numbers: console.Numbers = None,
    categories: console.Categories = None,
    dates: console.Dates = None,
    drop: console.Drop = None,
    seed: console.Seed = 0,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Tell every step.")
    ] = False,
    as_json: console.AsJson = False,
    debug: console.Debug = False,
) -> None:
    """Fit a kernel machine on DATA, and write it to a file.

    As it comes, map, size, bandwidth and penalty are chosen from the data. Text,
    dates and missing values of tables are dealt with, and stored with the model. Rows
    that take more than 256 MiB are streamed.
    """
    out_file = out_file.expanduser()
    with reporting_errors(debug, lambda: f"{out_file} was not written."):
        start = time.perf_counter()
        check_output("fit", out_file, data, target, checkpoint)
        if checkpoint is not None:
            check_output("fit --checkpoint", checkpoint, data, target)
        learning = Learning(
            task=task,
            features=features,
            size=size,
            gamma=console.number_or_word(gamma),
            loss=loss,
            alpha=console.number_or_word(alpha),
            calibrate=calibrate,
            standardise=standardise,
            memory=memory,
            checkpoint=None if checkpoint is None else str(checkpoint),
            seed=seed,
            verbose=int(verbose),
            columns=console.kinds_asked(numbers, categories, dates, drop),
        )
        given = open_data(data, target=target, columns=learning.columns)
        with reading("reading", given.blocks.about_rows()) as bar:
            found = fit_data(given, learning, bar.say, bar.rows)
            bar.say("writing")
            save(found.model, out_file, seeds=seeds)
        _print_fit(found, out_file, time.perf_counter() - start, as_json)


def _print_fit(found: Fitted, path: Path, seconds: float, as_json: bool) -> None:
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
        ("time", console.seconds(seconds)),
        ("model", f"{path}, {readable(size)}"),
    ]
    out.print(console.facts("Fitted", rows))
    say(f"Next: bochner predict {path} DATA --out scores.csv")


Model = Annotated[
    Path, typer.Argument(metavar="MODEL", help="A file that 'bochner fit' has written.")
]


def predict(
    model: Model,
    data: console.Data,
    out_file: Annotated[
        Path, typer.Option("--out", "-o", help="The CSV file to write; - prints it.")
    ],
    probabilities: Annotated[
        bool, typer.Option(help="Probabilities in place of scores.")
    ] = False,
    escape_formulas: Annotated[
        bool,
        typer.Option(
            help="Write an apostrophe before labels that spreadsheets take for "
            "formulas (=, +, -, @)."
        ),
    ] = False,
    as_json: console.AsJson = False,
    debug: console.Debug = False,
) -> None:
    """Predict the rows of DATA, and write them to a CSV file.

    Its columns are prediction, then score_<class> of every class, or std. Of a data
    set by name, the rows held out for testing are predicted.
    """
    out_file = out_file.expanduser()
    to_terminal = is_standard_output(out_file)
    left = "" if to_terminal else f"{out_file} was not written."
    with reporting_errors(debug, lambda: left):
        if not to_terminal:
            check_output("predict", out_file, model, data)
        fitted = load(model)
        rows = rows_for(fitted, data, None, supervised=False)
        with reading("predicting", rows.about_rows()) as bar:
            if to_terminal:
                file = sys.stdout.buffer
                n = stream_predictions(
                    fitted, rows, file, probabilities, bar.rows, escape_formulas
                )
                file.flush()
            else:
                n = write_predictions(
                    fitted,
                    rows,
                    out_file,
                    probabilities=probabilities,
                    escape_formulas=escape_formulas,
                    read=bar.rows,
                )
        if as_json and not to_terminal:
            print_json({"rows": n, "file": str(out_file)})
            return
        unknown = unknown_columns(fitted, data)
        if unknown:
            say(f"Not known to the model, and left alone: {', '.join(unknown)}.")
        say(f"{n:,} rows predicted{'' if to_terminal else f': {out_file}'}")


def evaluate(
    model: Model,
    data: console.Data,
    target: console.Target = None,
    as_json: console.AsJson = False,
    debug: console.Debug = False,
) -> None:
    """Tell how good MODEL is on DATA, whose targets are known."""
    with reporting_errors(debug, lambda: "Nothing was told."):
        fitted = load(model)
        rows = rows_for(fitted, data, target, supervised=True)
        with reading("evaluating", rows.about_rows()) as bar:
            found = evaluate_rows(fitted, rows, bar.rows)
        if as_json:
            print_json(found.to_dict())
            return
        for table in console.evaluation_tables(found):
            out.print(table)


def export(
    model: Model,
    out_file: Annotated[
        Path, typer.Argument(metavar="OUT", help="The ONNX file to write.")
    ],
    dtype: Annotated[
        str | None,
        typer.Option(help="float32 or float64; by default as the model has it."),
    ] = None,
    std: Annotated[
        bool, typer.Option(help="Standard deviations of a regressor too.")
    ] = False,
    as_json: console.AsJson = False,
    debug: console.Debug = False,
) -> None:
    """Write MODEL as ONNX, for where there is no Python."""
    out_file = out_file.expanduser()
    with reporting_errors(debug, lambda: f"{out_file} was not written."):
        if out_file.suffix != ".onnx":
            raise ValueError(
                f"export: {str(out_file)!r} must end in .onnx, the format it writes."
            )
        check_output("export", out_file, model)
        export_onnx(load(model), out_file, dtype=dtype, return_std=std)
        size = out_file.stat().st_size
        if as_json:
            print_json({"file": str(out_file), "bytes": size})
        else:
            say(f"{out_file}: {readable(size)}")


def info(
    model: Annotated[
        Path | None, typer.Argument(metavar="[MODEL]", help="A model's file.")
    ] = None,
    as_json: console.AsJson = False,
    debug: console.Debug = False,
) -> None:
    """Tell what is in MODEL, or without it the versions, extras and data sets here."""
    with reporting_errors(debug, lambda: ""):
        if model is None:
            found, title = describe_machine(), "bochner"
        else:
            found, title = describe_model(load(model), model), str(model)
        if as_json:
            print_json(found)
            return
        rows = [(name, _text(value)) for name, value in found.items()]
        out.print(console.facts(title, [row for row in rows if row[1]]))


def _text(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name}: {_word(own)}" for name, own in value.items())
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return str(value)


def _word(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value)
