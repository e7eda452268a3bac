"""`bochner bench`: the benchmarks of the repository."""

from __future__ import annotations

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
        done = subprocess.run([sys.executable, "-m", "benchmarks", *words], cwd=_root())
        raise typer.Exit(done.returncode)


def _root() -> Path:
    """The clone: around the package, or this folder."""
    for folder in (Path(__file__).parents[3], Path.cwd()):
        if (folder / "benchmarks" / "__main__.py").is_file():
            return folder
    raise FileNotFoundError(
        "bench: benchmarks are not part of the package; run this in a clone of "
        "bochner's repository."
    )
