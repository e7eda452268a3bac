"""The commands of `bochner`, and those that a clone of the repository runs."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Annotated

import typer

from .._core.version import __version__
from . import console
from .compare_commands import compare, recommend
from .console import reporting_errors
from .model_commands import evaluate, export, fit, info, predict


def bench(
    name: Annotated[
        str | None,
        typer.Argument(metavar="[NAME]", help="As transform; all: one by one."),
    ] = None,
    quick: Annotated[bool, typer.Option(help="Smaller, in seconds.")] = False,
    debug: console.Debug = False,
) -> None:
    """Run benchmarks of a clone of the repository, speed as ratios from one run."""
    with reporting_errors(debug, lambda: ""):
        words = [name or "--help", *(["--quick"] if quick else [])]
        _run("bench", "benchmarks", words)


PASSED_ON = {"allow_extra_args": True, "ignore_unknown_options": True}
"""Settings of a command whose options another program reads."""


def reproduce(context: typer.Context) -> None:
    """Run the papers' experiments on the data in BOCHNER_DATA, beside their figures."""
    with reporting_errors(False, lambda: ""):
        _run("reproduce", "papers", context.args)


def _run(command: str, package: str, words: list[str]) -> None:
    """Run a package of the clone as a program, here."""
    path = [str(_clone(command, package)), os.environ.get("PYTHONPATH", "")]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, path))}
    done = subprocess.run([sys.executable, "-m", package, *words], env=environment)
    raise typer.Exit(done.returncode)


def _clone(command: str, package: str) -> Path:
    """The clone: around the package, or this folder."""
    for folder in (Path(__file__).parents[3], Path.cwd()):
        if (folder / package / "__main__.py").is_file():
            return folder
    raise FileNotFoundError(
        f"{command}: {package} is not part of the installed package; run this in a "
        "clone of bochner's repository."
    )


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
