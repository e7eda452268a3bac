"""`bochner reproduce`: the papers' experiments, our figures beside theirs."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Annotated

import typer
from rich import box
from rich.table import Table

from bochner import datasets
from bochner._core.atomic_files import new_file
from bochner.app import console as options
from bochner.app.console import (
    counting,
    facts,
    out,
    plain,
    reporting_errors,
    say,
    seconds,
)
from bochner.app.outputs import check_output
from bochner.report import check_installed

from . import BEATEN, MISSED, PAPERS, Reproduction, reproduce
from .cells import Cell, Finding
from .page import write

ALL = "all"
STATE = Path("reproduce.state.json")
STATUS_STYLES = {BEATEN: "green", MISSED: "yellow"}


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
    with reporting_errors(debug, lambda: _broken_off(found, kept)):
        for path in (json_file, page, kept):
            if path is not None:
                check_output("reproduce", path, os.environ.get(datasets.VARIABLE))
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
        for table in _tables(result):
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


def _tables(found: Reproduction) -> list[Table]:
    """A table for every one of a paper's, reasons under what is missed; a count."""
    titles = list(dict.fromkeys(cell.table for cell in found.cells))
    tables = []
    for title in titles:
        heading = f"{PAPERS[title.paper].TITLE}\n{title.title}"
        table = Table(title=plain(heading), box=box.SIMPLE_HEAD, title_justify="left")
        table.add_column("cell")
        for head in ("theirs", "ours"):
            table.add_column(head, justify="right", no_wrap=True)
        table.add_column(f"{title.what} ({title.better} is better)")
        for cell in found.cells:
            if cell.table == title:
                style = STATUS_STYLES.get(cell.status)
                shown = (f"{value:.4g}" for value in (cell.theirs, cell.ours))
                reporting_errors = plain(cell.verdict)
                table.add_row(plain(cell.cell), *shown, reporting_errors, style=style)
        tables.append(table)
    counts = ((status, str(n)) for status, n in found.counts().items())
    kind = "quick" if found.quick else "full"
    said = f"{len(found.cells)} cells, {kind} run, {seconds(found.seconds)}"
    return [*tables, facts(said, counts)]


app = typer.Typer(
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("reproduce")(reproduce_papers)

if __name__ == "__main__":
    app(prog_name="bochner reproduce")
