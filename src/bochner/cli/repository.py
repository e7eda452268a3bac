"""`bochner bench` and `bochner reproduce`: what a clone of the repository runs."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Annotated

import typer

from . import options
from .console import told


def bench(
    name: Annotated[
        str | None,
        typer.Argument(metavar="[NAME]", help="As transform; all: one by one."),
    ] = None,
    quick: Annotated[bool, typer.Option(help="Smaller, in seconds.")] = False,
    debug: options.Debug = False,
) -> None:
    """Run benchmarks of a clone of the repository, speed as ratios from one run."""
    with told(debug, lambda: ""):
        words = [name or "--help", *(["--quick"] if quick else [])]
        _run("bench", "benchmarks", words)


PASSED_ON = {"allow_extra_args": True, "ignore_unknown_options": True}
"""Settings of a command whose options another program reads."""


def reproduce(context: typer.Context) -> None:
    """Run the papers' experiments on the data in BOCHNER_DATA, beside their figures."""
    with told(False, lambda: ""):
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
