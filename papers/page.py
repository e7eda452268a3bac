"""The page: the papers' tables and figures, ours beside theirs, in one HTML file."""

from __future__ import annotations

from importlib import resources
from typing import Any

from bochner._core.atomic_files import new_file
from bochner.compare.report import text
from bochner.report import rendered

from .charts import figures
from .run import PAPERS, Reproduction


def write(found: Reproduction, path: Any) -> None:
    """Write a reproduction as one HTML file, which holds all that it needs."""
    shown = page(found).encode()
    with new_file("reproduce", path) as file:
        file.write(shown)


def page(found: Reproduction) -> str:
    """A reproduction as HTML; needs the extra: `pip install bochner[report]`."""
    drawn = figures(found)
    content = {
        "found": found,
        "papers": [_paper(found, name, drawn) for name in _papers(found)],
        "counts": found.counts(),
        "number": text.number,
        "took": text.seconds(found.seconds),
        "version": found.environment["bochner"],
    }
    template = resources.files(__package__) / "template.html.j2"
    charts = [figure.chart for figure in drawn]
    return rendered(template.read_text(encoding="utf-8"), charts, content)


def _papers(found: Reproduction) -> list[str]:
    names = [cell.table.paper for cell in found.cells]
    return list(dict.fromkeys([*names, *(curve.paper for curve in found.curves)]))


def _paper(found: Reproduction, name: str, drawn: list[Any]) -> dict[str, Any]:
    """What the template shows of one paper."""
    cells = [cell for cell in found.cells if cell.table.paper == name]
    return {
        "name": name,
        "title": PAPERS[name].TITLE,
        "figures": [figure for figure in drawn if figure.paper == name],
        "tables": [
            (table, [cell for cell in cells if cell.table == table])
            for table in dict.fromkeys(cell.table for cell in cells)
        ],
    }
