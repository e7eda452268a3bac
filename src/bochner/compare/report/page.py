"""The report: a comparison as tables and charts in one file of HTML."""

from __future__ import annotations

import base64
import hashlib
import json
from dataclasses import asdict, dataclass
from datetime import datetime
from importlib import resources
from typing import Any

from ..._core.atomic_files import new_file
from ..._core.version import __version__
from ..results import OURS, Comparison, Entry
from . import text
from .charts import FRONT, Chart, Style, charts, styles
from .text import best_of_ours, finding, measured, tiles

MAX_CLASSES = 30
MAX_COLUMNS = 200


@dataclass(frozen=True)
class Heading:
    """A column of the table of entries, and which end of it is shown first."""

    title: str
    first: str = "ascending"


@dataclass(frozen=True)
class Cell:
    """What a cell shows, and the number that it is sorted by; None goes last."""

    shown: str
    value: float | None


@dataclass(frozen=True)
class Row:
    """An entry in the table."""

    name: str
    style: Style
    cells: list[Cell]
    on_front: bool
    code: str
    label: str


@dataclass(frozen=True)
class Class:
    """A label, its rows, and its bar as a percentage of the longest."""

    label: str
    shown: str
    share: str
    width: float


def headings(comparison: Comparison) -> list[Heading]:
    """Titles of columns, between the contender and the mark of the front."""
    return [
        Heading("features"),
        Heading(text.metric_title(comparison.metric), "descending"),
        Heading("kernel error"),
        Heading("time to fit,\u00a0s"),
        Heading("µs per\u00a0row"),
        Heading("peak memory"),
        Heading("model size"),
        Heading("rows learned from", "descending"),
    ]


def rows(comparison: Comparison) -> list[Row]:
    """Entries, the highest score first."""
    front = {id(entry) for entry in measured(comparison).front()}
    looks = styles(comparison)
    order = sorted(comparison.entries, key=_falling_score)
    return [
        Row(
            name=entry.name,
            style=looks[entry.name],
            cells=_cells(entry, comparison.metric),
            on_front=id(entry) in front,
            code=entry.code,
            label=entry.label,
        )
        for entry in order
    ]


def classes(comparison: Comparison) -> list[Class]:
    """Classes in their order, as many as fit."""
    counts = [n for _, n in comparison.data.classes]
    longest, total = max(counts, default=0) or 1, sum(counts) or 1
    return [
        Class(
            label, text.count(n), text.percent(n / total), round(100 * n / longest, 2)
        )
        for label, n in comparison.data.classes[:MAX_CLASSES]
    ]


def _falling_score(entry: Entry) -> float:
    score = text.known(entry.score.mean)
    return float("inf") if score is None else -score


def _cells(entry: Entry, metric: str) -> list[Cell]:
    fit, row = entry.fit_seconds.mean, entry.row_seconds.mean
    error = None if entry.error is None else entry.error.mean
    return [
        Cell(text.count(entry.size), entry.size),
        Cell(text.plain_score(entry.score, metric), text.known(entry.score.mean)),
        Cell(text.spread(entry.error), text.known(error)),
        Cell(text.number(fit), text.known(fit)),
        Cell(text.number(1e6 * row), text.known(row)),
        Cell(text.size(entry.memory_bytes), entry.memory_bytes),
        Cell(text.size(entry.model_bytes), entry.model_bytes),
        Cell(text.count(entry.n_rows), entry.n_rows),
    ]


UNSAFE_IN_SCRIPTS = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026"}
"""Characters that could end a <script>; JSON reads what stands for them the same."""


def write(comparison: Comparison, path: Any) -> None:
    """Write a comparison as one HTML file, which holds all that it needs.

    Parameters
    ----------
    comparison : Comparison
    path : path
        By custom ending in `.html`; replaced as a whole.
    """
    shown = page(comparison).encode()
    with new_file("report", path) as file:
        file.write(shown)


def page(comparison: Comparison) -> str:
    """A comparison as HTML: charts, a table to sort, the data and how to repeat it.

    About 5 MB, most of it Plotly's. Needs the extra: `pip install bochner[report]`.
    """
    check_installed()
    content = _content(comparison)
    return rendered(_file("template.html.j2"), charts(comparison), content)


def rendered(template: str, drawn: list[Chart], content: dict[str, Any]) -> str:
    """A template with charts and the look of the report, as one page.

    Names from the data are shown as text, whatever is in them; the page may run only
    the scripts that were put into it here, and load nothing.
    """
    jinja2, library = _extras()
    environment = jinja2.Environment(
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    safe = jinja2.filters.Markup  # our own files, and JSON without tags
    script, now = _file("page.js"), datetime.now().astimezone()
    shown = environment.from_string(template).render(
        content,
        charts=drawn,
        count=text.count,
        made=now.isoformat(timespec="seconds"),
        made_shown=f"{now.day} {now:%B %Y, %H:%M %Z}",
        policy=_policy(library, script),
        css=safe(_file("style.css")),
        library=safe(library),
        figures=safe(_json(drawn)),
        script=safe(script),
    )
    # names of files may hold bytes that are not Unicode
    return shown.encode(errors="replace").decode()


def check_installed() -> None:
    """Refuse, before long work, to write a page without what draws it."""
    _extras()


def _extras() -> tuple[Any, str]:
    """jinja2, and plotly.js."""
    try:
        import jinja2
        import plotly.offline
    except ImportError as missing:
        raise ImportError(
            "bochner.report needs plotly and jinja2: pip install bochner[report]"
        ) from missing
    # as browsers read it: hashes are of text without carriage returns
    library = plotly.offline.get_plotlyjs()
    return jinja2, library.replace("\r\n", "\n").replace("\r", "\n")


def _content(comparison: Comparison) -> dict[str, Any]:
    """All that the template shows, charts aside."""
    found = measured(comparison)
    return {
        "comparison": comparison,
        "data": comparison.data,
        "finding": finding(comparison),
        "tiles": tiles(comparison),
        "best": best_of_ours(found),
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


def _json(drawn: list[Chart]) -> str:
    """Figures for page.js, without any character that HTML could take for a tag."""
    shown = json.dumps([asdict(chart) for chart in drawn], allow_nan=False)
    for character, escaped in UNSAFE_IN_SCRIPTS.items():
        shown = shown.replace(character, escaped)
    return shown


def _policy(*scripts: str) -> str:
    """Content-Security-Policy: these scripts and no others, no network."""
    hashes = [hashlib.sha256(script.encode()).digest() for script in scripts]
    allowed = " ".join(f"'sha256-{base64.b64encode(h).decode()}'" for h in hashes)
    return (
        f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; "
        "img-src data: blob:; base-uri 'none'; form-action 'none'"
    )


def _file(name: str) -> str:
    return (resources.files(__package__) / name).read_text(encoding="utf-8")
