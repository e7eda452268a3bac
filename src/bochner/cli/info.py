"""`bochner info`: what is in a model, or on this machine."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from ..jobs.describing import describe_machine, describe_model
from ..persistence import load
from . import options, show
from .console import out, print_json, told


def info(
    model: Annotated[
        Path | None, typer.Argument(metavar="[MODEL]", help="A model's file.")
    ] = None,
    as_json: options.AsJson = False,
    debug: options.Debug = False,
) -> None:
    """Tell what is in MODEL, or without it the versions, extras and data sets here."""
    with told(debug, lambda: ""):
        if model is None:
            found, title = describe_machine(), "bochner"
        else:
            found, title = describe_model(load(model), model), str(model)
        if as_json:
            print_json(found)
            return
        rows = [(name, _text(value)) for name, value in found.items()]
        out.print(show.facts(title, [row for row in rows if row[1]]))


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
