"""The page of a comparison: charts and tables in one HTML file."""

from __future__ import annotations

import base64
import hashlib
import json
import os
from dataclasses import asdict, dataclass
from datetime import datetime
from importlib import resources
from typing import Any

from ..._core.atomic_files import new_file
from ..._core.version import __version__
from ..results import OURS, Comparison, Entry
from . import text
from .charts import FRONT, Chart, Style, charts, styles
from .text import best_of_ours, finding, finite_entries, tiles

MAX_CLASSES = 30
MAX_COLUMNS = 200
"""Most classes, and most columns of a table, that the page lists."""

UNSAFE_IN_SCRIPTS = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026"}
"""Characters that could end a <script>, and their escapes in JSON."""


@dataclass(frozen=True)
class Heading:
    """A column of the table of entries, and the direction in which it sorts first."""

    title: str
    first: str = "ascending"


@dataclass(frozen=True)
class Cell:
    """The text of a cell, and the number that it is sorted by; None is sorted last."""

    shown: str
    value: float | None


@dataclass(frozen=True)
class Row:
    """An entry as a row of the table."""

    name: str
    style: Style
    cells: list[Cell]
    on_front: bool
    code: str
    label: str


@dataclass(frozen=True)
class Class:
    """A class label, its rows, and its bar as a percentage of the longest bar."""

    label: str
    shown: str
    share: str
    width: float


def headings(comparison: Comparison) -> list[Heading]:
    """Columns of figures, between the contender and the mark of the Pareto front."""
    return [
        Heading("features"),
        Heading(text.metric_title(comparison.metric), "descending"),
        Heading("kernel error"),
        Heading("time to fit,\u00a0s"),
        Heading("µs per\u00a0row"),
        Heading("peak memory"),
        Heading("model size"),
        Heading("training rows", "descending"),
    ]


def rows(comparison: Comparison) -> list[Row]:
    """Entries as rows of the table, highest score first."""
    front = {id(entry) for entry in finite_entries(comparison).front()}
    style_of = styles(comparison)
    order = sorted(comparison.entries, key=_descending_score)
    return [
        Row(
            name=entry.name,
            style=style_of[entry.name],
            cells=_cells(entry, comparison.metric),
            on_front=id(entry) in front,
            code=entry.code,
            label=entry.label,
        )
        for entry in order
    ]


def classes(comparison: Comparison) -> list[Class]:
    """The first MAX_CLASSES classes with their bars."""
    counts = [n for _, n in comparison.data.classes]
    longest, total = max(counts, default=0) or 1, sum(counts) or 1
    return [
        Class(
            label, text.count(n), text.percent(n / total), round(100 * n / longest, 2)
        )
        for label, n in comparison.data.classes[:MAX_CLASSES]
    ]


def _descending_score(entry: Entry) -> float:
    score = text.finite(entry.score.mean)
    return float("inf") if score is None else -score


def _cells(entry: Entry, metric: str) -> list[Cell]:
    fit, row = entry.fit_seconds.mean, entry.row_seconds.mean
    error = None if entry.error is None else entry.error.mean
    return [
        Cell(text.count(entry.size), entry.size),
        Cell(text.plain_score(entry.score, metric), text.finite(entry.score.mean)),
        Cell(text.spread(entry.error), text.finite(error)),
        Cell(text.number(fit), text.finite(fit)),
        Cell(text.number(1e6 * row), text.finite(row)),
        Cell(text.size(entry.memory_bytes), entry.memory_bytes),
        Cell(text.size(entry.model_bytes), entry.model_bytes),
        Cell(text.count(entry.n_rows), entry.n_rows),
    ]


def write(comparison: Comparison, path: str | os.PathLike[str]) -> None:
    """Write a comparison as one HTML file that loads nothing else.

    The file replaces an existing one only when it is complete. It has about 5 MB.

    Parameters
    ----------
    comparison : Comparison
        The result of `compare`.
    path : str or path-like
        File to write, usually with the suffix `.html`.

    Raises
    ------
    ImportError
        If plotly or jinja2 is not installed (`pip install bochner[report]`).

    See Also
    --------
    page : The same HTML as a string.

    Examples
    --------
    >>> from bochner import compare, datasets, report
    >>> digits = datasets.load("digits")
    >>> comparison = compare(
    ...     digits.X_train, digits.y_train, methods=["sorf"], sizes=[64], repeats=1
    ... )  # doctest: +SKIP
    >>> report.write(comparison, "report.html")  # doctest: +SKIP
    """
    html = page(comparison).encode()
    with new_file("report", path) as file:
        file.write(html)


def page(comparison: Comparison) -> str:
    """A comparison as HTML: charts, a sortable table, the data and how to repeat it.

    The page has about 5 MB, most of them plotly.js.

    Parameters
    ----------
    comparison : Comparison
        The result of `compare`.

    Returns
    -------
    str
        The page.

    Raises
    ------
    ImportError
        If plotly or jinja2 is not installed (`pip install bochner[report]`).

    See Also
    --------
    write : Write the page to a file.
    """
    check_installed()
    content = _content(comparison)
    return rendered(_file("template.html.j2"), charts(comparison), content)


def rendered(template: str, charts: list[Chart], content: dict[str, Any]) -> str:
    """A page from a template, with the style sheet and the scripts of the report.

    Names from the data are escaped. The Content-Security-Policy allows the page to run
    only the scripts that are included here, and to load nothing.

    Parameters
    ----------
    template : str
        Text of a Jinja2 template.
    charts : list of Chart
        Charts that page.js draws.
    content : dict of str to object
        Further variables of the template.

    Returns
    -------
    str
        The page.
    """
    jinja2, library = _extras()
    environment = jinja2.Environment(
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    safe = jinja2.filters.Markup  # only for our own files and JSON without tags
    script, now = _file("page.js"), datetime.now().astimezone()
    html = environment.from_string(template).render(
        content,
        charts=charts,
        count=text.count,
        created=now.isoformat(timespec="seconds"),
        created_text=f"{now.day} {now:%B %Y, %H:%M %Z}",
        policy=_policy(library, script),
        css=safe(_file("style.css")),
        library=safe(library),
        figures=safe(_json(charts)),
        script=safe(script),
    )
    # file names may hold bytes that are not Unicode
    return html.encode(errors="replace").decode()


def check_installed() -> None:
    """Raise ImportError if plotly or jinja2 is missing; call this before long work."""
    _extras()


def _extras() -> tuple[Any, str]:
    """The module jinja2, and the text of plotly.js."""
    try:
        import jinja2
        import plotly.offline
    except ImportError as missing:
        raise ImportError(
            "bochner.report needs plotly and jinja2: pip install bochner[report]"
        ) from missing
    # browsers drop carriage returns before they hash a script
    library = plotly.offline.get_plotlyjs()
    return jinja2, library.replace("\r\n", "\n").replace("\r", "\n")


def _content(comparison: Comparison) -> dict[str, Any]:
    """Variables of the template, except the charts."""
    return {
        "comparison": comparison,
        "data": comparison.data,
        "finding": finding(comparison),
        "tiles": tiles(comparison),
        "best": best_of_ours(finite_entries(comparison)),
        "ours": OURS,
        "styles": styles(comparison),
        "front_style": FRONT,
        "headings": headings(comparison),
        "rows": rows(comparison),
        "classes": classes(comparison),
        "columns": comparison.data.columns[:MAX_COLUMNS],
        "took": text.seconds(comparison.seconds),
        "percent": text.percent,
        "version": comparison.environment.get("bochner", __version__),
    }


def _json(charts: list[Chart]) -> str:
    """Charts as JSON for page.js, without characters that could form an HTML tag."""
    figures = json.dumps([asdict(chart) for chart in charts], allow_nan=False)
    for character, escaped in UNSAFE_IN_SCRIPTS.items():
        figures = figures.replace(character, escaped)
    return figures


def _policy(*scripts: str) -> str:
    """A Content-Security-Policy that allows these scripts only, and no network."""
    hashes = [hashlib.sha256(script.encode()).digest() for script in scripts]
    allowed = " ".join(f"'sha256-{base64.b64encode(h).decode()}'" for h in hashes)
    return (
        f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; "
        "img-src data: blob:; base-uri 'none'; form-action 'none'"
    )


def _file(name: str) -> str:
    return (resources.files(__package__) / name).read_text(encoding="utf-8")
