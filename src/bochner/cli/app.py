"""The commands, and what they have in common."""

from __future__ import annotations

from typing import Annotated

import typer

from .._version import __version__
from .compare import compare
from .fit import fit
from .info import info
from .models import evaluate, export, predict
from .recommend import recommend
from .repository import PASSED_ON, bench, reproduce

app = typer.Typer(
    name="bochner",
    help="Kernel machines at any scale: compare feature maps on your data, fit models, "
    "and use them.",
    epilog="DATA is a file (CSV, Parquet, npz, npy, svmlight; a folder or a pattern of "
    "them) or the name of a data set ('bochner info' lists them).",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)
for command in (compare, recommend, fit, predict, evaluate, export, info, bench):
    app.command()(command)
app.command(context_settings=PASSED_ON, add_help_option=False)(reproduce)


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"bochner {__version__}")
        raise typer.Exit


@app.callback()
def _common(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_version, is_eager=True, help="The version."
        ),
    ] = False,
) -> None:
    pass


def run() -> None:
    """The entry point."""
    app()
