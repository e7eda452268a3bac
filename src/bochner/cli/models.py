"""`bochner predict`, `evaluate` and `export`: what a fitted model is for."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from .._atomic import check_writable
from ..execution.memory import readable
from ..jobs.evaluating import evaluate as evaluate_rows
from ..jobs.predicting import stream_predictions, write_predictions
from ..jobs.using import rows_for, unknown_columns
from ..onnx import export as export_onnx
from ..persistence import load
from . import options, show
from .console import out, print_json, reading, say, told

Model = Annotated[
    Path, typer.Argument(metavar="MODEL", help="A file that 'bochner fit' has written.")
]


def predict(
    model: Model,
    data: options.Data,
    out_file: Annotated[
        Path, typer.Option("--out", "-o", help="The CSV file to write; - prints it.")
    ],
    probabilities: Annotated[
        bool, typer.Option(help="Probabilities in place of scores.")
    ] = False,
    as_json: options.AsJson = False,
    debug: options.Debug = False,
) -> None:
    """Predict the rows of DATA, and write them to a CSV file.

    Its columns are prediction, then score_<class> of every class, or std. Of a data
    set by name, the rows held out for testing are predicted.
    """
    out_file = out_file.expanduser()
    to_terminal = str(out_file) == "-"
    left = "" if to_terminal else f"{out_file} was not written."
    with told(debug, lambda: left):
        if not to_terminal:
            check_writable("predict", out_file)
        fitted = load(model)
        rows = rows_for(fitted, data, None, supervised=False)
        with reading("predicting", rows.about_rows()) as bar:
            if to_terminal:
                file = sys.stdout.buffer
                n = stream_predictions(fitted, rows, file, probabilities, bar.rows)
                file.flush()
            else:
                n = write_predictions(
                    fitted, rows, out_file, probabilities=probabilities, read=bar.rows
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
    data: options.Data,
    target: options.Target = None,
    as_json: options.AsJson = False,
    debug: options.Debug = False,
) -> None:
    """Tell how good MODEL is on DATA, whose targets are known."""
    with told(debug, lambda: "Nothing was told."):
        fitted = load(model)
        rows = rows_for(fitted, data, target, supervised=True)
        with reading("evaluating", rows.about_rows()) as bar:
            found = evaluate_rows(fitted, rows, bar.rows)
        if as_json:
            print_json(found.to_dict())
            return
        for table in show.evaluation_tables(found):
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
    as_json: options.AsJson = False,
    debug: options.Debug = False,
) -> None:
    """Write MODEL as ONNX, for where there is no Python."""
    out_file = out_file.expanduser()
    with told(debug, lambda: f"{out_file} was not written."):
        if out_file.suffix != ".onnx":
            raise ValueError(
                f"export: {str(out_file)!r} must end in .onnx, the format it writes."
            )
        export_onnx(load(model), out_file, dtype=dtype, return_std=std)
        size = out_file.stat().st_size
        if as_json:
            print_json({"file": str(out_file), "bytes": size})
        else:
            say(f"{out_file}: {readable(size)}")
