"""`bochner reproduce`: the papers' experiments, our figures beside theirs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from .._atomic import check_writable, new_file
from ..report import check_installed
from ..reproduce import PAPERS, Reproduction, reproduce
from ..reproduce.cells import Cell, Finding
from ..reproduce.page import write
from . import options, show
from .console import counting, out, say, told

ALL = "all"
STATE = Path("reproduce.state.json")


def reproduce_papers(
    paper: Annotated[
        str, typer.Argument(metavar="[PAPER]", help=f"{', '.join(PAPERS)} or {ALL}.")
    ] = ALL,
    quick: Annotated[
        bool,
        typer.Option(
            "--quick", help="Fewer rows and draws: minutes in place of hours."
        ),
    ] = False,
    json_file: Annotated[
        Path | None, typer.Option("--json", help="Write the cells to this JSON file.")
    ] = None,
    page: Annotated[
        Path | None,
        typer.Option("--report", help="Write a page of it to this HTML file."),
    ] = None,
    state: Annotated[
        Path | None,
        typer.Option(
            help="Go on from this file, and keep what is done in it; by default "
            f"{STATE}, with --quick none."
        ),
    ] = None,
    debug: options.Debug = False,
) -> None:
    """Run the papers' experiments on the data in BOCHNER_DATA, beside their figures.

    Every figure is reached (within chance), beaten or missed; what is missed has a
    reason beside it. A run that is broken off goes on from its state.
    """
    found: list[Finding] = []
    kept = state if state is not None or quick else STATE
    with told(debug, lambda: _broken_off(found, kept)):
        for path in (json_file, page, kept):
            if path is not None:
                check_writable("reproduce", path)
        if page is not None:
            check_installed()
        with counting("reproducing") as step:
            result = reproduce(
                None if paper == ALL else [paper],
                quick=quick,
                state=kept,
                progress=step,
                found=found.append,
            )
        _check_any(result)
        for table in show.reproduction_tables(result):
            out.print(table)
        if result.kept:
            say(
                f"{result.kept} experiments are those of an earlier run, from {kept}; "
                "remove it to measure them anew."
            )
        for key, reason in result.left_out.items():
            say(f"{key} left out: {reason}.")
        if json_file is not None:
            text = json.dumps(result.to_list(), indent=2, ensure_ascii=False)
            with new_file("reproduce", json_file) as file:
                file.write(text.encode())
        if page is not None:
            write(result, page)
            say(f"Page: {page}")


def _check_any(result: Reproduction) -> None:
    """Refuse to call nothing a reproduction."""
    if not result.cells:
        reason = next(iter(result.left_out.values()), "no experiment was made")
        raise ValueError(f"reproduce: nothing could be measured: {reason}.")


def _broken_off(found: list[Finding], kept: Path | None) -> str:
    n = sum(isinstance(finding, Cell) for finding in found)
    way = f"; the next run goes on from {kept}" if kept is not None else ""
    return f"{n} cells were measured{way}."
