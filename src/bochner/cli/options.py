"""Options that several commands have."""

from __future__ import annotations

import csv
import io
from typing import Annotated, Any

import typer

TABLES = "Columns of tables"

Data = Annotated[
    str, typer.Argument(metavar="DATA", help="A file, or the name of a data set.")
]
Target = Annotated[
    str | None,
    typer.Option(
        "--target", "-t", help="The column (or entry of an npz file) to predict."
    ),
]
Task = Annotated[
    str | None,
    typer.Option(help="classification or regression; by default as the target tells."),
]
Seed = Annotated[int, typer.Option(help="Fixes every random draw.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, for machines.")]
Debug = Annotated[bool, typer.Option("--debug", help="Show tracebacks of errors.")]
Numbers = Annotated[
    str | None,
    typer.Option(help="Columns to read as numbers.", rich_help_panel=TABLES),
]
Categories = Annotated[
    str | None,
    typer.Option(
        help="Columns to read as categories, such as codes.", rich_help_panel=TABLES
    ),
]
Dates = Annotated[
    str | None, typer.Option(help="Columns to read as dates.", rich_help_panel=TABLES)
]
Drop = Annotated[
    str | None, typer.Option(help="Columns to leave out.", rich_help_panel=TABLES)
]


def names(text: str | None) -> list[str]:
    """Names between commas, quoted where they have one."""
    rows = csv.reader([text or ""], skipinitialspace=True)
    return [part.strip() for row in rows for part in row if part.strip()]


def counts(option: str, text: str | None) -> list[int] | None:
    """Whole numbers between commas."""
    if text is None:
        return None
    try:
        return [int(part) for part in names(text)]
    except ValueError:
        raise ValueError(
            f"--{option} must be whole numbers between commas, as 64,256; got {text!r}."
        ) from None


def kinds_asked(
    numbers: str | None, categories: str | None, dates: str | None, drop: str | None
) -> dict[str, list[str]]:
    """Columns by what the user says they hold."""
    asked = {"numbers": numbers, "categories": categories, "dates": dates, "drop": drop}
    return {kind: names(text) for kind, text in asked.items() if text}


def listed(columns: list[str]) -> str:
    """What `names` reads as these columns."""
    file = io.StringIO()
    csv.writer(file, lineterminator="").writerow(columns)
    return file.getvalue()


def number_or_word(text: str | None) -> Any:
    """A number where it is one, else the word."""
    if text is None:
        return None
    try:
        return float(text)
    except ValueError:
        return text
