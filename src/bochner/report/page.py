"""The page: everything in one file of HTML."""

from __future__ import annotations

import base64
import hashlib
import json
from dataclasses import asdict
from datetime import datetime
from importlib import resources
from typing import Any

from .._atomic import new_file
from .._version import __version__
from ..comparison.results import OURS, Comparison
from . import tables, text
from .charts import Chart, charts
from .finding import best_of_ours, finding, measured, tiles
from .styles import FRONT, styles

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
        "headings": tables.headings(comparison),
        "rows": tables.rows(comparison),
        "classes": tables.classes(comparison),
        "columns": comparison.data.columns[: tables.MAX_COLUMNS],
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
